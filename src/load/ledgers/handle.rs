//! The parent's side: clients and readers at work.

use std::collections::BTreeMap;
use std::iter;
use std::process::Command as Program;
use std::time::Duration;

use super::draw::{ACCOUNTS, START_BALANCE};
use super::memory::Memory;
use super::note::Note;
use super::plan::{ClientsPlan, Level, ReadersPlan, Role, Task, sessions};
use crate::error::{Error, Result, Tried, breakdown};
use crate::lab::child::{Child, Manner, hand_on};
use crate::lab::link::realtime::now_ns;
use crate::load::job::{Command, Reply};
use crate::record::history::{History, Reader, UNKNOWN_NODE};

/// What every command is part of.
const TRIED: &str = "keep a ledger";
/// Why connections were lost, at the clients: some 20,000 times.
const LOSSES_BYTES: usize = 4 << 20;
/// What is seen by the readers in one site: some millions of looks.
const LOOKS_BYTES: usize = 256 << 20;
/// A driver may take so much longer to stop than one of its connections may be silent.
const STOP_SPARE: Duration = Duration::from_secs(10);

/// Clients and readers at work: one driver for all transfers, one for the readers in each site.
/// Dropped, they are ended at once.
pub struct Clients {
    /// Of the one clock.
    start_ns: u64,
    transfers: Desk,
    /// With what they were to do.
    readers: Vec<(Desk, Vec<ReadersPlan>)>,
}

/// A driver, and what it notes.
struct Desk {
    child: Child,
    memory: Memory,
}

impl Clients {
    /// Starts clients, and readers beside nodes: `command` runs `acklab drive` in a site. They
    /// connect by themselves, and go on trying, for as long as they are not stopped.
    ///
    /// # Errors
    /// A breakdown if a plan cannot be followed, or if a driver does not start.
    pub fn start(
        mut command: impl FnMut(&str) -> Result<Program>,
        plan: &ClientsPlan,
        readers: &[ReadersPlan],
    ) -> Result<Clients> {
        plan.check()?;
        let start_ns = now_ns();
        let mut by_site: BTreeMap<&str, Vec<ReadersPlan>> = BTreeMap::new();
        for one in readers {
            by_site.entry(&one.site).or_default().push(one.clone());
        }
        let transfers = Desk::open(command(&plan.site)?, (plan, Role::Transfers), start_ns)?;
        let mut at_nodes = Vec::new();
        for (site, plans) in by_site {
            let role = Role::Readers(plans.clone());
            at_nodes.push((Desk::open(command(site)?, (plan, role), start_ns)?, plans));
        }
        let mut clients = Clients {
            start_ns,
            transfers,
            readers: at_nodes,
        };
        clients.desks().try_for_each(Desk::started)?;
        Ok(clients)
    }

    /// The history's clock: µs since the start.
    pub fn now_us(&self) -> u64 {
        now_ns().saturating_sub(self.start_ns) / 1_000
    }

    /// By how many µs its clock began after that of others.
    pub fn later_than_us(&self, others: &Clients) -> u64 {
        self.start_ns.saturating_sub(others.start_ns) / 1_000
    }

    /// Transfers acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.transfers.memory.acknowledged()
    }

    /// When the newest acknowledgement came.
    pub fn last_acknowledged_us(&self) -> Option<u64> {
        self.transfers.memory.newest().map(|(at_us, _)| at_us)
    }

    /// Which node it came from, if that is known.
    pub fn current_node(&self) -> Option<u8> {
        let (_, node) = self.transfers.memory.newest()?;
        (node != UNKNOWN_NODE).then_some(node)
    }

    /// COMMITs sent and not answered.
    pub fn in_flight(&self) -> u32 {
        self.transfers.memory.in_flight()
    }

    /// Whether clients have ended because there is room for no more transfers: what follows is no
    /// want of service.
    pub fn is_full(&self) -> bool {
        self.transfers.memory.is_full()
    }

    /// Why connections were lost or refused so far, what else servers refused, and how often.
    pub fn losses(&self) -> BTreeMap<String, u64> {
        let mut losses: BTreeMap<String, u64> = BTreeMap::new();
        for memory in self.memories() {
            for note in notes(memory) {
                if let Note::Loss(reason) = note {
                    *losses.entry(reason).or_default() += 1;
                }
            }
            if memory.unkept() > 0 {
                let reason = "a note for which its memory had no room".to_owned();
                *losses.entry(reason).or_default() += memory.unkept();
            }
        }
        losses
    }

    /// Processes, for CPU accounts: the clients' first.
    pub fn pids(&self) -> Vec<u32> {
        let readers = self.readers.iter().map(|(desk, _)| desk.child.pid());
        iter::once(self.transfers.child.pid())
            .chain(readers)
            .collect()
    }

    /// A breakdown with its last words if a driver has ended.
    ///
    /// # Errors
    /// As said.
    pub fn check_alive(&mut self) -> Result<()> {
        self.desks()
            .try_for_each(|desk| desk.child.check_alive(TRIED))
    }

    /// Ends clients and readers, as far as they are there, and tells what they did and saw. What
    /// is under way has as long to end as an answer may take. A driver that does not answer any
    /// more is one of the history's losses.
    ///
    /// # Errors
    /// A breakdown if a driver does not answer and no transfer was ever begun.
    pub fn stop(mut self) -> Result<History> {
        let asked: Vec<Result<()>> = self.desks().map(Desk::ask_to_stop).collect();
        let stopped = self.desks().zip(asked);
        let stopped: Vec<Result<()>> = stopped
            .map(|(desk, asked)| asked.and_then(|()| desk.stopped()))
            .collect();
        let mut history = self.history();
        for error in stopped.into_iter().filter_map(Result::err) {
            if history.transfers.is_empty() {
                return Err(error);
            }
            *history.losses.entry(one_line(&error)).or_default() += 1;
        }
        Ok(history)
    }

    /// All that was noted so far.
    fn history(&self) -> History {
        let now_us = self.now_us();
        let seen = |(desk, plans): &(Desk, Vec<ReadersPlan>)| readers_of(&desk.memory, plans);
        History {
            start_balance: START_BALANCE,
            accounts: ACCOUNTS,
            transfers: self.transfers.memory.transfers(now_us),
            readers: self.readers.iter().flat_map(seen).collect(),
            losses: self.losses(),
        }
    }

    fn desks(&mut self) -> impl Iterator<Item = &mut Desk> {
        let readers = self.readers.iter_mut().map(|(desk, _)| desk);
        iter::once(&mut self.transfers).chain(readers)
    }

    fn memories(&self) -> impl Iterator<Item = &Memory> {
        let readers = self.readers.iter().map(|(desk, _)| &desk.memory);
        iter::once(&self.transfers.memory).chain(readers)
    }
}

impl Desk {
    /// Starts a driver and tells it what it is to do.
    fn open(
        mut program: Program,
        (plan, role): (&ClientsPlan, Role),
        start_ns: u64,
    ) -> Result<Desk> {
        let (slots, log_bytes) = match role {
            Role::Transfers => (plan.slots, LOSSES_BYTES),
            Role::Readers(_) => (0, LOOKS_BYTES),
        };
        let made = Memory::create(slots, log_bytes, start_ns);
        let (file, memory) = made.tried(|| "make the memory of a ledger".to_owned())?;
        let task = Task {
            memory: hand_on(&mut program, &file)?,
            plan: plan.clone(),
            role,
        };
        let manner = Manner {
            name: "a ledger's driver".to_owned(),
            answer_limit: Some(plan.timeout.saturating_add(STOP_SPARE)),
            ends_itself: false,
        };
        let mut child = Child::spawn(program, manner)?;
        child.send(TRIED, &Command::Ledger(Box::new(task)))?;
        Ok(Desk { child, memory })
    }

    fn started(&mut self) -> Result<()> {
        match self.receive()? {
            Reply::Started { .. } => Ok(()),
            other => Err(self.child.unexpected(TRIED, &other)),
        }
    }

    fn ask_to_stop(&mut self) -> Result<()> {
        self.child.send(TRIED, &Command::Stop)
    }

    fn stopped(&mut self) -> Result<()> {
        match self.receive()? {
            Reply::Stopped => Ok(()),
            other => Err(self.child.unexpected(TRIED, &other)),
        }
    }

    fn receive(&mut self) -> Result<Reply> {
        match self.child.receive(TRIED)? {
            Reply::Failed { tried, status } => Err(breakdown(tried, status)),
            reply => Ok(reply),
        }
    }
}

/// What the readers of a driver saw.
fn readers_of(memory: &Memory, plans: &[ReadersPlan]) -> Vec<Reader> {
    let reader = |(plan, level): (&ReadersPlan, &Level)| {
        let (node, beside) = match level {
            Level::Elsewhere { node, .. } => (*node, Some(plan.node)),
            _ => (plan.node, None),
        };
        Reader {
            node,
            beside,
            level: level.statement().map(str::to_owned),
            looks: Vec::new(),
        }
    };
    let mut readers: Vec<Reader> = sessions(plans).map(reader).collect();
    for note in notes(memory) {
        let Note::Look(number, look) = note else {
            continue;
        };
        if let Some(reader) = readers.get_mut(number as usize) {
            reader.looks.push(look);
        }
    }
    readers
}

fn notes(memory: &Memory) -> impl Iterator<Item = Note> {
    memory.entries().filter_map(|entry| Note::read(&entry))
}

/// An error without its program's last words.
fn one_line(error: &Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::draw::Drawn;
    use super::super::plan::tests::example;
    use super::*;
    use crate::record::history::{Answer, Look};

    /// A driver that says that it has started, and does as the script says.
    fn driver(script: &str) -> Result<Program> {
        let mut program = Program::new("sh");
        let started = r#"read line; echo '{"started":{"connected_s":0}}'"#;
        program.args(["-c", &format!("{started}; {script}")]);
        Ok(program)
    }

    /// Waits for its end, and says that all has stopped.
    const OBEDIENT: &str = r#"read line; echo '"stopped"'; exec cat"#;

    fn drawn(token: u64) -> Drawn {
        Drawn {
            token,
            from: 1,
            to: 2,
            amount: 3,
        }
    }

    fn readers(site: &str, node: u8, levels: usize) -> ReadersPlan {
        let level = |number| match number {
            0 => Level::Plain,
            _ => Level::Told(format!("level {number}")),
        };
        let levels = (0..levels).map(level);
        ReadersPlan {
            site: site.into(),
            node,
            target: example(3).nodes[usize::from(node)],
            levels: levels.collect(),
            every: Duration::from_millis(1),
        }
    }

    /// As its driver would.
    fn note(desk: &Desk, reader: u32, begun_us: u64) {
        let look = Look {
            begun_us,
            ended_us: Some(begun_us + 1),
            new: vec![begun_us],
            gone: vec![],
        };
        desk.memory.append(&Note::Look(reader, look).words());
    }

    #[test]
    fn what_clients_are_told_is_seen_while_they_work() {
        let mut clients = Clients::start(|_| driver(OBEDIENT), &example(3), &[]).unwrap();
        assert!(clients.check_alive().is_ok());
        let memory = &clients.transfers.memory;
        let counts = (clients.acknowledged(), clients.last_acknowledged_us());
        assert_eq!((counts, clients.current_node()), ((0, None), None));
        let slot = memory.begin(&drawn(1), 2, 5).unwrap();
        memory.commit(slot, 6);
        assert_eq!(clients.in_flight(), 1);
        memory.end(slot, Answer::Acknowledged, 7);
        let counts = (clients.acknowledged(), clients.last_acknowledged_us());
        assert_eq!((counts, clients.current_node()), ((1, Some(7)), Some(2)));
        let slot = memory.begin(&drawn(2), UNKNOWN_NODE, 8).unwrap();
        memory.end(slot, Answer::Acknowledged, 9);
        assert_eq!((clients.acknowledged(), clients.current_node()), (2, None));
        assert!(!clients.is_full() && clients.in_flight() == 0);
        let history = clients.stop().unwrap();
        assert_eq!(history.accounts, 64);
        assert_eq!(history.start_balance, 1_000_000_000);
        assert_eq!((history.transfers.len(), history.losses.len()), (2, 0));
    }

    #[test]
    fn each_site_has_one_driver_for_its_readers() {
        let mut started = Vec::new();
        let plans = [readers("b", 1, 2), readers("a", 0, 1), readers("b", 2, 1)];
        let command = |site: &str| {
            started.push(site.to_owned());
            driver(OBEDIENT)
        };
        let clients = Clients::start(command, &example(3), &plans).unwrap();
        assert_eq!(started, ["a", "a", "b"]);
        assert_eq!(clients.pids().len(), 3);
        note(&clients.readers[1].0, 2, 30);
        note(&clients.readers[1].0, 1, 10);
        note(&clients.readers[1].0, 2, 40);
        note(&clients.readers[0].0, 0, 20);
        // Of nobody.
        note(&clients.readers[0].0, 1, 50);
        let readers = clients.stop().unwrap().readers;
        let told = |one: &Reader| {
            let begun = one.looks.iter().map(|look| look.begun_us);
            (one.node, one.level.is_some(), begun.collect::<Vec<u64>>())
        };
        let expected = [
            (0, false, vec![20]),
            (1, false, vec![]),
            (1, true, vec![10]),
            (2, false, vec![30, 40]),
        ];
        assert_eq!(readers.iter().map(told).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_known_outlives_the_driver() {
        let mut clients = Clients::start(|_| driver("exit 7"), &example(3), &[]).unwrap();
        // As it would have done before.
        let memory = &clients.transfers.memory;
        let slot = memory.begin(&drawn(1), 0, 5).unwrap();
        memory.commit(slot, 6);
        memory.end(slot, Answer::Acknowledged, 7);
        let slot = memory.begin(&drawn(2), 0, 8).unwrap();
        memory.commit(slot, 9);
        memory.begin(&drawn(3), 0, 8).unwrap();
        memory.append(&Note::Loss("closed".into()).words());
        memory.append(&Note::Loss("closed".into()).words());
        while clients.check_alive().is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let history = clients.stop().unwrap();
        let told: Vec<Answer> = history.transfers.iter().map(|one| one.answer).collect();
        let expected = [Answer::Acknowledged, Answer::Unanswered, Answer::Refused];
        assert_eq!(told, expected);
        assert_eq!(history.losses.get("closed"), Some(&2));
        let ended = history
            .losses
            .keys()
            .find(|reason| reason.contains("driver"));
        assert!(ended.is_some(), "{:?}", history.losses);
    }

    #[test]
    fn a_driver_that_does_nothing_is_a_breakdown() {
        let nobody = |_: &str| Ok(Program::new("/nonexistent/acklab"));
        assert!(Clients::start(nobody, &example(3), &[]).is_err());
        let refusing = |_: &str| {
            let mut program = Program::new("sh");
            let answer = r#"read line; echo '{"failed":{"tried":"map","status":"no"}}'"#;
            program.args(["-c", answer]);
            Ok(program)
        };
        let error = Clients::start(refusing, &example(3), &[]).err().unwrap();
        assert_eq!(error.to_string(), "could not map: no");
        let clients = Clients::start(|_| driver("exit 7"), &example(3), &[]).unwrap();
        assert_eq!(clients.stop().unwrap_err().exit_code(), 4);
        // And nobody is asked to do what cannot be done.
        let unwanted = |_: &str| panic!("a driver for nothing");
        assert!(Clients::start(unwanted, &example(0), &[]).is_err());
    }
}
