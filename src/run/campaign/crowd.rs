//! Clients and readers of a trial. Clients that stand in two sites are two drivers, whose histories
//! are one in the end, on the clock of the first. Where they find the writer by a proxy, each group
//! has one beside it.

use std::iter::repeat_with;
use std::net::{SocketAddr, SocketAddrV4};
use std::process::Command;
use std::time::Duration;

use super::front;
use super::posts::{Post, posts};
use super::subject::Subject;
use crate::error::{Result, breakdown};
use crate::lab::front::Front;
use crate::lab::health::Responder;
use crate::lab::servers::datadir::{DATABASE, PASSWORD, USER};
use crate::load::ledgers::{Clients, ClientsPlan, Level, RECONNECT_EVERY, ReadersPlan, SLOTS};
use crate::record::history::{History, Look, Transfer};
use crate::study::faults::Fault;

/// From one look of a reader to its next. As often as a driver can would take the CPUs that servers
/// and links need; each look shows what became of all commits of the last while.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// All of them. Dropped, they are ended at once.
pub struct Crowd {
    groups: Vec<Group>,
    /// One at each node, where a proxy asks them.
    responders: Vec<Responder>,
}

struct Group {
    clients: Clients,
    /// What they connect to, if they find the writer by a proxy.
    front: Option<Front>,
    /// So much later than the first group's began its clock.
    later_us: u64,
}

impl Crowd {
    /// Has clients begin to work as a fault wants them to, and a reader beside each node.
    ///
    /// # Errors
    /// A breakdown if a driver does not start, or a proxy finds nobody who takes writes.
    pub fn gather(subject: &Subject<'_>, fault: &Fault, seed: u64) -> Result<Crowd> {
        let posts = posts(fault, &subject.sites());
        let (responders, fronts) = match fault.finding.proxy() {
            Some(proxy) => front::raise(subject, proxy, &posts)?,
            None => (vec![], vec![]),
        };
        let mut crowd = Crowd {
            groups: vec![],
            responders,
        };
        let fronts = fronts.into_iter().map(Some).chain(repeat_with(|| None));
        for (at, (post, front)) in (0u64..).zip(posts.iter().zip(fronts)) {
            let proxy = front.as_ref().map(|front| front.route.listen);
            let plan = plan(subject, (fault, post), (seed.wrapping_add(at), proxy));
            // One reader at each node is enough, whoever asked for it.
            let readers = match at {
                0 => readers(subject, fault),
                _ => vec![],
            };
            let command = |site: &str| command(subject, site);
            let clients = Clients::start(command, &plan, &readers)?;
            let first = crowd.groups.first();
            let later_us = first.map_or(0, |first| clients.later_than_us(&first.clients));
            crowd.groups.push(Group {
                clients,
                front,
                later_us,
            });
        }
        Ok(crowd)
    }

    /// The history's clock.
    pub fn now_us(&self) -> u64 {
        let first = self.groups.first();
        first.map_or(0, |first| first.clients.now_us())
    }

    /// Transfers acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        let groups = self.groups.iter();
        groups.map(|group| group.clients.acknowledged()).sum()
    }

    /// When the newest acknowledgement came, and from which node, if that is known.
    pub fn newest(&self) -> Option<(u64, Option<usize>)> {
        let of = |group: &Group| {
            let at_us = group.clients.last_acknowledged_us()? + group.later_us;
            Some((at_us, group.clients.current_node().map(usize::from)))
        };
        let all = self.groups.iter().filter_map(of);
        all.max_by_key(|(at_us, _)| *at_us)
    }

    /// COMMITs sent and not answered.
    pub fn in_flight(&self) -> u32 {
        let groups = self.groups.iter();
        groups.map(|group| group.clients.in_flight()).sum()
    }

    /// A breakdown if a driver has ended, or what its clients connect to, or there is room for no
    /// more transfers.
    ///
    /// # Errors
    /// As said.
    pub fn check(&mut self) -> Result<()> {
        for responder in &mut self.responders {
            responder.check_alive()?;
        }
        for group in &mut self.groups {
            group.clients.check_alive()?;
            if let Some(front) = &mut group.front {
                front.check_alive("connect through")?;
            }
            if group.clients.is_full() {
                let status = format!("there is no room for more than {SLOTS} transfers");
                return Err(breakdown("go on with a trial", status));
            }
        }
        Ok(())
    }

    /// Ends all of them, and tells what they did and saw.
    ///
    /// # Errors
    /// A breakdown if nothing can be told of one of them.
    pub fn stop(&mut self) -> Result<History> {
        let groups = std::mem::take(&mut self.groups).into_iter();
        // A group's proxy goes after it.
        let stopped = groups.map(|group| Ok((group.clients.stop()?, group.later_us)));
        let stopped = stopped.collect::<Result<Vec<_>>>();
        self.responders.clear();
        Ok(joined(stopped?))
    }
}

/// What the clients of a post do. Groups draw from seeds of their own: transfers of two of them
/// have the same token once in some 10,000 trials, which would be told.
fn plan(
    subject: &Subject<'_>,
    (fault, post): (&Fault, &Post),
    (seed, proxy): (u64, Option<SocketAddrV4>),
) -> ClientsPlan {
    ClientsPlan {
        site: post.site.clone(),
        nodes: subject.addresses(),
        first_writer: post.first_writer,
        writing: fault.writing,
        finding: fault.finding,
        proxy: proxy.map(SocketAddr::from),
        user: USER.to_owned(),
        password: PASSWORD.into(),
        database: DATABASE.to_owned(),
        tls: subject.study.has_tls(subject.spec),
        sessions: post.sessions,
        accounts: post.accounts.clone(),
        timeout: fault.client_timeout,
        reconnect_every: RECONNECT_EVERY,
        seed,
        slots: SLOTS,
    }
}

/// Where nothing is done, fresh looks are taken beside plain ones: what they cost is seen there.
fn readers(subject: &Subject<'_>, fault: &Fault) -> Vec<ReadersPlan> {
    let fresh = |node: u8| match fault.steps.is_empty() {
        true => subject.fresh_levels(usize::from(node), fault.client_timeout),
        false => vec![],
    };
    let nodes = (0u8..).zip(subject.sites()).zip(subject.addresses());
    let plan = |((node, site), target)| ReadersPlan {
        site,
        node,
        target,
        levels: [Level::Plain].into_iter().chain(fresh(node)).collect(),
        every: LOOK_EVERY,
    };
    nodes.map(plan).collect()
}

/// Runs a driver in a site.
fn command(subject: &Subject<'_>, site: &str) -> Result<Command> {
    let place = subject.rig.network.clients.get(site);
    let none = || breakdown(format!("start clients in {site}"), "no place is for them");
    let mut command = Command::new("/proc/self/exe");
    command.arg("drive");
    place.ok_or_else(none)?.enter(&mut command)?;
    Ok(command)
}

/// One history of several, each with how much later than the first its clock began.
fn joined(histories: Vec<(History, u64)>) -> History {
    let mut histories = histories.into_iter();
    let mut all = histories.next().unwrap_or_default().0;
    for (next, later_us) in histories {
        let transfers = next.transfers.into_iter();
        all.transfers
            .extend(transfers.map(|one| later(one, later_us)));
        for mut reader in next.readers {
            reader
                .looks
                .iter_mut()
                .for_each(|look| delay(look, later_us));
            all.readers.push(reader);
        }
        for (reason, count) in next.losses {
            *all.losses.entry(reason).or_default() += count;
        }
    }
    all.transfers.sort_by_key(|transfer| transfer.begun_us);
    all
}

fn later(transfer: Transfer, us: u64) -> Transfer {
    Transfer {
        begun_us: transfer.begun_us + us,
        commit_us: transfer.commit_us.map(|at_us| at_us + us),
        ended_us: transfer.ended_us + us,
        ..transfer
    }
}

fn delay(look: &mut Look, us: u64) {
    look.begun_us += us;
    look.ended_us = look.ended_us.map(|at_us| at_us + us);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::history::{Answer, Reader};

    fn transfer(token: u64, begun_us: u64, commit_us: Option<u64>) -> Transfer {
        Transfer {
            token,
            from: 0,
            to: 1,
            amount: 1,
            node: 0,
            begun_us,
            commit_us,
            ended_us: begun_us + 9,
            answer: Answer::Refused,
        }
    }

    fn history(transfers: Vec<Transfer>, looked_us: u64, lost: u64) -> History {
        let look = Look {
            begun_us: looked_us,
            ended_us: Some(looked_us + 1),
            new: vec![],
            gone: vec![],
        };
        History {
            start_balance: 5,
            accounts: 2,
            transfers,
            readers: vec![Reader {
                looks: vec![look],
                ..Reader::default()
            }],
            losses: [("closed".to_owned(), lost)].into(),
        }
    }

    #[test]
    fn two_histories_are_one_on_the_clock_of_the_first() {
        let first = history(
            vec![transfer(1, 100, Some(105)), transfer(2, 300, None)],
            10,
            2,
        );
        let second = history(
            vec![transfer(3, 50, Some(55)), transfer(4, 260, None)],
            20,
            3,
        );
        let all = joined(vec![(first, 0), (second, 70)]);
        let told = all.transfers.iter();
        let told: Vec<_> = told
            .map(|one| (one.token, one.begun_us, one.commit_us, one.ended_us))
            .collect();
        assert_eq!(
            told,
            [
                (1, 100, Some(105), 109),
                (3, 120, Some(125), 129),
                (2, 300, None, 309),
                (4, 330, None, 339),
            ]
        );
        let looks: Vec<u64> = (all.readers.iter())
            .map(|reader| reader.looks[0].begun_us)
            .collect();
        assert_eq!(looks, [10, 90]);
        assert_eq!(all.readers[1].looks[0].ended_us, Some(91));
        assert_eq!(all.losses.get("closed"), Some(&5));
        assert_eq!((all.start_balance, all.accounts), (5, 2));
    }

    #[test]
    fn of_nobody_there_is_no_history() {
        assert_eq!(joined(vec![]), History::default());
    }
}
