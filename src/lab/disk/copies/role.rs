//! A node's part in a volume: it leads, or it follows.

use std::time::Duration;

use super::book::Book;
use super::copy::Copy;
use super::head::Head;
use super::wire::Message;
use super::{Action, Link, Terms, Ticket};
use crate::lab::disk::store::{CutReport, Store};
use crate::study::disk::PowerCut;

/// Either machine, and how one becomes the other. All calls are to be given the node's own store,
/// and times of one clock.
///
/// A head that is overruled fails its requests and follows the newer one: see [`Role::is_head`]
/// after each call, and call peers only as long as it is true.
#[derive(Debug)]
pub enum Role {
    Head(Head),
    Copy(Copy),
}

impl Role {
    /// A node that follows nobody yet.
    pub fn new(book: Book) -> Role {
        Role::Copy(Copy::new(book))
    }

    /// What the node knows of its copy.
    pub fn book(&self) -> &Book {
        match self {
            Role::Head(head) => head.book(),
            Role::Copy(copy) => copy.book(),
        }
    }

    pub fn is_head(&self) -> bool {
        matches!(self, Role::Head(_))
    }

    /// A call to a peer is answered.
    pub fn connected(&mut self, now: Duration, link: Link) -> Vec<Action> {
        match (self, link) {
            (Role::Head(head), Link::Peer(peer)) => head.connected(now, peer),
            (Role::Copy(_), Link::Peer(_)) => vec![Action::HangUp { link }],
            (_, Link::Caller(_)) => Vec::new(),
        }
    }

    /// A connection is gone.
    pub fn lost(&mut self, now: Duration, link: Link) -> Vec<Action> {
        match (self, link) {
            (Role::Head(head), Link::Peer(peer)) => return head.lost(now, peer),
            (Role::Copy(copy), Link::Caller(_)) => copy.lost(link),
            _ => (),
        }
        Vec::new()
    }

    /// Something was said.
    pub fn heard(
        &mut self,
        store: &mut Store,
        now: Duration,
        link: Link,
        message: Message,
    ) -> Vec<Action> {
        match (&mut *self, link) {
            (Role::Head(head), Link::Peer(peer)) => head.heard(store, now, peer, message),
            (Role::Copy(copy), Link::Caller(_)) => copy.heard(store, now, link, message),
            (Role::Copy(_), Link::Peer(_)) => Vec::new(),
            (Role::Head(_), Link::Caller(_)) => self.challenged(store, now, link, message),
        }
    }

    /// Somebody calls a head: it gives way to what is newer, and refuses the rest.
    fn challenged(
        &mut self,
        store: &mut Store,
        now: Duration,
        link: Link,
        message: Message,
    ) -> Vec<Action> {
        let newer = match &message {
            Message::Hello(hello) => hello.reign.generation,
            Message::Promise { generation } => *generation,
            _ => 0,
        };
        let promised = self.book().promised;
        if newer <= promised {
            let generation = promised;
            let message = Message::Refused { generation };
            return vec![Action::Send { to: link, message }, Action::HangUp { link }];
        }
        let mut actions = self.retire(now, newer);
        actions.extend(self.heard(store, now, link, message));
        actions
    }

    fn retire(&mut self, now: Duration, generation: u64) -> Vec<Action> {
        match std::mem::replace(self, Role::new(Book::blank(0))) {
            Role::Head(mut head) => {
                let actions = head.overruled(now, generation);
                *self = Role::Copy(Copy::new(head.retire()));
                actions
            }
            copy => {
                *self = copy;
                Vec::new()
            }
        }
    }

    /// How often [`Role::passed`] is to be called; `None` while there is nothing to wait for.
    pub fn interval(&self) -> Option<Duration> {
        match self {
            Role::Head(head) => Some(head.interval()),
            Role::Copy(copy) => copy.interval(),
        }
    }

    /// Time has passed: signs of life are asked for, and who is silent is given up.
    pub fn passed(&mut self, now: Duration) -> Vec<Action> {
        match self {
            Role::Head(head) => head.passed(now),
            Role::Copy(copy) => copy.passed(now),
        }
    }

    /// A request to the node's own disk is over; see [`Head::over`].
    pub fn over(&mut self, store: &mut Store, ticket: Ticket, is_durable: bool) -> Vec<Action> {
        match self {
            Role::Head(head) => head.over(store, ticket, is_durable),
            Role::Copy(copy) => copy.over(store, ticket),
        }
    }

    /// The node's writer writes; fails if the node does not lead.
    pub fn write(
        &mut self,
        store: &mut Store,
        request: u64,
        offset: u64,
        data: &[u8],
    ) -> Vec<Action> {
        match self {
            Role::Head(head) => head.write(store, request, offset, data),
            Role::Copy(_) => vec![Action::Fail { request }],
        }
    }

    /// The node's writer flushes; fails if the node does not lead.
    pub fn flush(&mut self, store: &mut Store, request: u64) -> Vec<Action> {
        match self {
            Role::Head(head) => head.flush(store, request),
            Role::Copy(_) => vec![Action::Fail { request }],
        }
    }

    /// The power goes at this node; see [`Copy::power_cut`]. A head is none any more.
    pub fn power_cut(&mut self, store: &mut Store, cut: PowerCut) -> CutReport {
        self.retire(Duration::ZERO, u64::MAX);
        match self {
            Role::Copy(copy) => copy.power_cut(store, cut),
            Role::Head(_) => CutReport::default(),
        }
    }

    /// Leads from now on; see [`Copy::promote`]. A head that leads already gives up its requests
    /// and begins anew.
    pub fn promote(&mut self, store: &mut Store, now: Duration, terms: Terms, generation: u64) {
        self.retire(now, generation);
        if let Role::Copy(copy) = std::mem::replace(self, Role::new(Book::blank(0))) {
            *self = Role::Head(copy.promote(store, now, terms, generation));
        }
    }
}
