//! A disk that is one of several copies: what its role says is done here.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::member::{Asked, Member, Speak};
use super::{Answer, Engine, Request, Work};
use crate::lab::disk::copies::promote::Survey;
use crate::lab::disk::copies::wire::Message;
use crate::lab::disk::copies::{Action, Link, Role, Ticket};
use crate::lab::disk::pace::Kind;
use crate::lab::disk::replica::{Lead, Standing};

/// A promise asked for by pid 1 comes by no connection; those are numbered from 0.
const OPERATOR: Link = Link::Caller(usize::MAX);

/// All of these do nothing on a disk without copies; answers are those of the writer's requests.
impl<R> Engine<R> {
    /// A blank copy from now on, which follows whoever leads.
    pub fn follow(&mut self) {
        self.member = Some(Member::new(self.store.bytes()));
    }

    /// Whether it is the head, and obeyed as far as it knows.
    pub fn leads(&self) -> bool {
        self.member.as_ref().is_some_and(Member::leads)
    }

    /// Leads from now on. All connections end; peers are to be called.
    ///
    /// # Errors
    /// Tells why it cannot.
    pub fn lead(&mut self, now: Duration, lead: &Lead) -> Result<Vec<(R, Answer)>, String> {
        let (terms, given) = (&lead.terms, lead.peers.len());
        if terms.peers != given {
            return Err(format!("it needs {} peers, not {given}", terms.peers));
        }
        let member = powered(&mut self.member, self.condition.fails())?;
        if member.role.book().promised() > lead.generation {
            let promised = member.role.book().promised();
            return Err(format!("it has promised generation {promised}"));
        }
        member.hang_up_all();
        member.fenced_by = None;
        let role = &mut member.role;
        role.promote(&mut self.store, now, terms.clone(), lead.generation);
        let actions = match role {
            Role::Head(head) if lead.is_alone => head.begin_alone(now),
            _ => Vec::new(),
        };
        let asked = std::mem::take(&mut member.asked);
        asked.into_values().for_each(|asked| self.fail(asked.reply));
        self.carry_out(now, actions);
        Ok(std::mem::take(&mut self.answers))
    }

    /// Obeys that generation or newer ones only.
    ///
    /// # Errors
    /// Tells why it does not promise that.
    pub fn promise(
        &mut self,
        now: Duration,
        generation: u64,
    ) -> Result<(Survey, Vec<(R, Answer)>), String> {
        let member = powered(&mut self.member, self.condition.fails())?;
        let message = Message::Promise { generation };
        let actions = member.role.heard(&mut self.store, now, OPERATOR, message);
        let promised = actions.iter().find_map(|action| match action {
            Action::Send {
                to: OPERATOR,
                message: Message::Promised(survey),
            } => Some(*survey),
            _ => None,
        });
        self.carry_out(now, actions);
        let answers = std::mem::take(&mut self.answers);
        let survey = promised.ok_or("it has promised as much or more before")?;
        Ok((survey, answers))
    }

    /// How it stands. What befell it is told once.
    ///
    /// # Errors
    /// On a disk without copies.
    pub fn standing(&mut self, now: Duration) -> Result<Standing, String> {
        let member = powered(&mut self.member, false)?;
        Ok(Standing {
            changes: std::mem::take(&mut member.changes),
            ..member.stands(now)
        })
    }

    /// A connection stands.
    pub fn connected(
        &mut self,
        now: Duration,
        link: Link,
        sender: Box<dyn Speak>,
    ) -> Vec<(R, Answer)> {
        match &mut self.member {
            Some(member) if !self.condition.fails() => {
                member.senders.insert(link, sender);
                let actions = member.role.connected(now, link);
                self.carry_out(now, actions);
            }
            _ => sender.hang_up(),
        }
        std::mem::take(&mut self.answers)
    }

    /// Something was said on a connection.
    pub fn heard(&mut self, now: Duration, link: Link, message: Message) -> Vec<(R, Answer)> {
        if let Some(member) = &mut self.member
            && member.senders.contains_key(&link)
        {
            let actions = member.role.heard(&mut self.store, now, link, message);
            self.carry_out(now, actions);
        }
        std::mem::take(&mut self.answers)
    }

    /// A connection has ended. One that was hung up here has done so before.
    pub fn lost(&mut self, now: Duration, link: Link) -> Vec<(R, Answer)> {
        if let Some(member) = &mut self.member
            && member.senders.remove(&link).is_some()
        {
            let actions = member.role.lost(now, link);
            self.carry_out(now, actions);
        }
        std::mem::take(&mut self.answers)
    }

    /// Takes a request to a disk with copies: only the head's is of use.
    pub(super) fn submit_to_role(&mut self, now: Duration, request: Request, reply: R) {
        let Some(member) = &mut self.member else {
            return;
        };
        if !member.leads() {
            return self.fail(reply);
        }
        if let Request::Read { .. } = request {
            return self.take(now, request, reply);
        }
        member.requests += 1;
        let number = member.requests;
        let (kind, bytes, actions) = match request {
            Request::Write { offset, data } => {
                let actions = member.role.write(&mut self.store, number, offset, data);
                (Kind::Write, data.len() as u64, actions)
            }
            _ => {
                let actions = member.role.flush(&mut self.store, number);
                (Kind::Flush, 0, actions)
            }
        };
        let asked = Asked {
            arrived: now,
            kind,
            bytes,
            reply,
        };
        member.asked.insert(number, asked);
        self.carry_out(now, actions);
    }

    /// A request to the node's own disk is over.
    pub(super) fn own_over(&mut self, now: Duration, ticket: Ticket, kind: Kind, took: Duration) {
        let is_durable = kind == Kind::Write && !self.disk.write_cache;
        let Some(member) = &mut self.member else {
            return;
        };
        let is_head = member.role.is_head();
        let actions = member.role.over(&mut self.store, ticket, is_durable);
        if !is_head {
            self.count(kind, 0, took);
        }
        self.obey(now, actions);
    }

    /// Lets the role see that time has passed.
    pub(super) fn pass(&mut self, until: Duration, now: Duration) {
        if let Some(member) = &mut self.member
            && member.pass_due.is_some_and(|due| due <= until)
        {
            member.pass_due = None;
            let actions = member.role.passed(now);
            self.carry_out(now, actions);
        }
    }

    /// Without power nothing is heard or said, and what was asked comes to nothing.
    pub(super) fn fall_silent(&mut self) {
        self.hang_up();
        let Some(member) = &mut self.member else {
            return;
        };
        let asked = std::mem::take(&mut member.asked);
        asked.into_values().for_each(|asked| self.fail(asked.reply));
    }

    /// Nothing is heard or said any more.
    pub(super) fn hang_up(&mut self) {
        if let Some(member) = &mut self.member {
            member.hang_up_all();
            member.pass_due = None;
        }
    }

    /// Does what the role wants done, and what follows from it at once.
    fn carry_out(&mut self, now: Duration, actions: Vec<Action>) {
        self.obey(now, actions);
        self.finish_due(now, now);
        if let Some(member) = &mut self.member {
            let interval = member.role.interval();
            let due = interval.map(|interval| now + interval);
            member.pass_due = member.pass_due.filter(|_| due.is_some()).or(due);
        }
    }

    /// In order; what is over at once is left in the heap, so that messages go first.
    fn obey(&mut self, now: Duration, actions: Vec<Action>) {
        for action in actions {
            let Some(member) = &mut self.member else {
                return;
            };
            match action {
                Action::Send { to, message } => {
                    if let Some(sender) = member.senders.get(&to) {
                        sender.send(&message);
                    }
                }
                Action::HangUp { link } => {
                    if let Some(sender) = member.senders.remove(&link) {
                        sender.hang_up();
                    }
                }
                Action::Begin {
                    ticket,
                    kind,
                    bytes,
                } => self.begin_own(now, ticket, kind, bytes),
                Action::Complete { request } => self.conclude(now, request, true),
                Action::Fail { request } => self.conclude(now, request, false),
                Action::Report(change) => member.note(change),
            }
        }
    }

    /// The node's own disk begins its part of a request.
    fn begin_own(&mut self, now: Duration, ticket: Option<Ticket>, kind: Kind, bytes: u64) {
        let due = self.due_of(now, kind, bytes);
        let Some(member) = &mut self.member else {
            return;
        };
        let Some(ticket) = ticket else {
            member.written_at = member.written_at.max(due);
            return self.count(kind, bytes, Duration::ZERO);
        };
        let due = match kind {
            Kind::Flush => due.max(member.written_at),
            Kind::Read | Kind::Write => due,
        };
        let work = Work::Own(ticket, kind);
        let request = self.under_way(now, due, work);
        self.under_way.push(request);
    }

    fn conclude(&mut self, now: Duration, request: u64, is_done: bool) {
        let member = self.member.as_mut();
        let Some(asked) = member.and_then(|member| member.asked.remove(&request)) else {
            return;
        };
        if !is_done {
            return self.fail(asked.reply);
        }
        let took = now.saturating_sub(asked.arrived);
        self.count(asked.kind, asked.bytes, took);
        let answer = match asked.kind {
            Kind::Flush => Answer::Flushed,
            Kind::Read | Kind::Write => Answer::Written(asked.bytes as u32),
        };
        self.answers.push((asked.reply, answer));
    }
}

/// The member, if it is one and takes requests.
fn powered<R>(member: &mut Option<Member<R>>, is_out: bool) -> Result<&mut Member<R>, String> {
    match member {
        Some(_) if is_out => Err("it has no power, or its disk fails".to_owned()),
        Some(member) => Ok(member),
        None => Err("it has no copies".to_owned()),
    }
}
