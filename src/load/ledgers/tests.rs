//! Crews against servers that are told what to answer.

mod toy;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::crew::Crew;
use super::memory::Memory;
use super::note::Note;
use super::plan::tests::example;
use super::plan::{ClientsPlan, Level, ReadersPlan, Role, Wait};
use crate::lab::link::realtime::now_ns;
use crate::record::history::{Answer, Look, Transfer};
use crate::study::faults::Finding;
use toy::{Reply, Toy, nap};

/// A plan for servers that are there.
fn plan(nodes: &[SocketAddr], finding: Finding) -> ClientsPlan {
    ClientsPlan {
        nodes: nodes.to_vec(),
        finding,
        reconnect_every: Duration::from_millis(1),
        slots: 100_000,
        ..example(1)
    }
}

fn crew(plan: &ClientsPlan, role: &Role) -> (Crew, Arc<Memory>) {
    let memory = Memory::create(plan.slots, 1 << 26, now_ns()).unwrap().1;
    let memory = Arc::new(memory);
    let crew = Crew::new(plan, role, Arc::clone(&memory)).unwrap();
    (crew, memory)
}

/// Turns until something holds. Whoever is at work makes events.
fn turn_until(crew: &mut Crew, holds: impl Fn() -> bool) {
    while !holds() {
        crew.turn().unwrap();
    }
}

/// Has it stop, and tells what clients did.
fn stop(mut crew: Crew, memory: &Memory) -> Vec<Transfer> {
    crew.begin_stop();
    while crew.is_busy() {
        crew.turn().unwrap();
    }
    memory.transfers(memory.now_us())
}

fn losses(memory: &Memory) -> BTreeMap<String, u64> {
    let mut losses = BTreeMap::new();
    for entry in memory.entries() {
        if let Some(Note::Loss(reason)) = Note::read(&entry) {
            *losses.entry(reason).or_insert(0) += 1;
        }
    }
    losses
}

#[test]
fn clients_ask_until_they_have_found_who_takes_their_writes() {
    let reader = Toy::start(|_| Reply::Rows(vec![vec!["1".into()]]));
    let without_quorum = Toy::start(|_| Reply::Error(1047));
    let writer = Toy::yes();
    // Nobody listens at the first.
    let gone = SocketAddr::from(([127, 0, 0, 1], 1));
    let nodes = [gone, reader.address, without_quorum.address, writer.address];
    let plan = ClientsPlan {
        sessions: 3,
        ..plan(&nodes, Finding::Asking)
    };
    let (mut crew, memory) = crew(&plan, &Role::Transfers);
    turn_until(&mut crew, || {
        memory.acknowledged() >= 20 && writer.logins() == 3
    });
    let transfers = stop(crew, &memory);
    assert!(transfers.len() >= 20);
    for one in &transfers {
        assert_eq!((one.node, one.answer), (3, Answer::Acknowledged));
        let commit_us = one.commit_us.unwrap();
        assert!(one.begun_us <= commit_us && commit_us <= one.ended_us);
    }
    assert!(transfers.is_sorted_by_key(|one| one.begun_us));
    assert_eq!((reader.logins(), writer.logins()), (3, 3));
    let losses = losses(&memory);
    let told = |word: &str| losses.iter().find(|(reason, _)| reason.contains(word));
    assert_eq!(told("refused").map(|(_, count)| *count), Some(3));
    assert_eq!(told("1047").map(|(_, count)| *count), Some(3));
}

#[test]
fn a_connection_that_is_lost_is_made_again_and_nothing_is_sent_twice() {
    let tokens: Arc<Mutex<Vec<String>>> = Arc::default();
    let cases = [
        ("UPDATE", Answer::Refused),
        ("INSERT", Answer::Refused),
        ("COMMIT", Answer::Unanswered),
    ];
    for (word, expected) in cases {
        let (has_hung_up, sent) = (AtomicBool::new(false), Arc::clone(&tokens));
        let server = Toy::start(move |sql| {
            if sql.starts_with("INSERT") {
                sent.lock().unwrap().push(sql.to_owned());
            }
            match sql.starts_with(word) && !has_hung_up.swap(true, Ordering::SeqCst) {
                true => Reply::HangUp,
                false => Reply::Ok,
            }
        });
        let plan = plan(&[server.address], Finding::Staying);
        let (mut crew, memory) = crew(&plan, &Role::Transfers);
        turn_until(&mut crew, || memory.acknowledged() >= 5);
        let transfers = stop(crew, &memory);
        assert_eq!(transfers[0].answer, expected, "{word}");
        assert_eq!(transfers[0].commit_us.is_some(), word == "COMMIT");
        let mut others = transfers[1..].iter();
        assert!(others.all(|one| one.answer == Answer::Acknowledged));
        assert_eq!((server.logins(), memory.in_flight()), (2, 0));
        let mut sent = tokens.lock().unwrap();
        sent.sort();
        assert!(sent.windows(2).all(|two| two[0] != two[1]));
        sent.clear();
    }
}

#[test]
fn who_says_nothing_is_given_up_after_the_timeout() {
    for (word, expected) in [("INSERT", Answer::Refused), ("COMMIT", Answer::Unanswered)] {
        let is_silent = AtomicBool::new(true);
        let server = Toy::start(move |sql| {
            match sql.starts_with(word) && is_silent.swap(false, Ordering::SeqCst) {
                true => Reply::Silence,
                false => Reply::Ok,
            }
        });
        let plan = ClientsPlan {
            timeout: Duration::from_secs(1),
            ..plan(&[server.address], Finding::Staying)
        };
        let (mut crew, memory) = crew(&plan, &Role::Transfers);
        turn_until(&mut crew, || memory.acknowledged() >= 1);
        let transfers = stop(crew, &memory);
        let given_up = transfers[0];
        assert_eq!(given_up.answer, expected, "{word}");
        assert!(given_up.ended_us >= given_up.begun_us + 1_000_000);
        assert_eq!(losses(&memory).get("no answer in 1000 ms"), Some(&1));
    }
}

#[test]
fn a_server_that_takes_no_writes_any_more_is_left_for_the_next() {
    let is_read_only = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_read_only);
    let old = Toy::start(move |sql| match sql.starts_with("UPDATE") {
        true if told.load(Ordering::SeqCst) => Reply::Error(1290),
        _ => Reply::Ok,
    });
    let new = Toy::yes();
    let plan = plan(&[old.address, new.address], Finding::List);
    let (mut crew, memory) = crew(&plan, &Role::Transfers);
    turn_until(&mut crew, || memory.acknowledged() >= 3);
    assert_eq!(memory.newest().map(|(_, node)| node), Some(0));
    is_read_only.store(true, Ordering::SeqCst);
    let before = memory.acknowledged();
    turn_until(&mut crew, || {
        let node = memory.newest().map(|(_, node)| node);
        memory.acknowledged() > before && node == Some(1)
    });
    let transfers = stop(crew, &memory);
    let refused = transfers.iter().filter(|one| one.answer == Answer::Refused);
    let nodes: Vec<u8> = refused.map(|one| one.node).collect();
    assert_eq!(nodes, [0]);
    assert_eq!(old.logins(), 1);
}

#[test]
fn at_a_stop_what_is_under_way_may_end_and_what_does_not_is_unanswered() {
    let is_held = Arc::new(AtomicBool::new(true));
    let told = Arc::clone(&is_held);
    let slow = Toy::start(move |sql| {
        while sql == "COMMIT" && told.load(Ordering::SeqCst) {
            nap();
        }
        Reply::Ok
    });
    let held = plan(&[slow.address], Finding::Staying);
    let (mut crew, memory) = crew(&held, &Role::Transfers);
    turn_until(&mut crew, || memory.in_flight() == 1);
    crew.begin_stop();
    assert!(crew.is_busy());
    is_held.store(false, Ordering::SeqCst);
    let transfers = stop(crew, &memory);
    assert_eq!(transfers.len(), 1);
    assert_eq!(transfers[0].answer, Answer::Acknowledged);

    let silent = Toy::start(|sql| match sql {
        "COMMIT" => Reply::Silence,
        _ => Reply::Ok,
    });
    let plan = ClientsPlan {
        timeout: Duration::from_secs(1),
        ..plan(&[silent.address], Finding::Staying)
    };
    let (mut crew, memory) = self::crew(&plan, &Role::Transfers);
    turn_until(&mut crew, || memory.in_flight() == 1);
    let transfers = stop(crew, &memory);
    assert_eq!(transfers.len(), 1);
    assert_eq!(transfers[0].answer, Answer::Unanswered);
}

#[test]
fn errors_are_told_with_how_often_they_came() {
    let commits = AtomicU64::new(0);
    let server = Toy::start(move |sql| match sql {
        "COMMIT" if commits.fetch_add(1, Ordering::SeqCst) < 4 => Reply::Error(1213),
        _ => Reply::Ok,
    });
    let plan = plan(&[server.address], Finding::Staying);
    let (mut crew, memory) = crew(&plan, &Role::Transfers);
    turn_until(&mut crew, || memory.acknowledged() >= 1);
    let transfers = stop(crew, &memory);
    let answers: Vec<Answer> = transfers.iter().map(|one| one.answer).collect();
    assert_eq!(answers[..4], [Answer::Refused; 4]);
    assert!(transfers[0].commit_us.is_some());
    let expected = [("1213 (HY000) as it was told".to_owned(), 4)];
    assert_eq!(losses(&memory), expected.into());
    assert_eq!(server.logins(), 1);
}

/// A table that a server shows to those who read it.
type Table = Arc<Mutex<BTreeMap<u64, u64>>>;

fn library(table: &Table) -> Toy {
    let table = Arc::clone(table);
    Toy::start(move |sql| {
        let Some((_, after)) = sql.split_once("id > ") else {
            return Reply::Ok;
        };
        let after: u64 = after.parse().unwrap();
        let table = table.lock().unwrap();
        let rows = table.range(after + 1..);
        let row = |(id, token): (&u64, &u64)| vec![id.to_string(), format!("{token:016x}")];
        Reply::Rows(rows.map(row).collect())
    })
}

#[test]
fn readers_see_what_comes_and_what_goes() {
    let table: Table = Arc::default();
    let server = library(&table);
    let readers = ReadersPlan {
        site: "a".into(),
        node: 0,
        target: server.address,
        levels: vec![Level::Plain, Level::Told("SET SESSION x = 1".into())],
        every: Duration::from_millis(1),
    };
    let plan = plan(&[server.address], Finding::Staying);
    let (mut crew, memory) = crew(&plan, &Role::Readers(vec![readers]));
    let looks = |number: u32| -> Vec<Look> {
        let notes = memory.entries().filter_map(|entry| Note::read(&entry));
        let of = |note: Note| match note {
            Note::Look(reader, look) => (reader == number).then_some(look),
            Note::Loss(reason) => panic!("{reason}"),
        };
        notes.filter_map(of).collect()
    };
    let both = |holds: &dyn Fn(&[Look]) -> bool| holds(&looks(0)) && holds(&looks(1));
    turn_until(&mut crew, || both(&|looks| looks.len() >= 3));
    table.lock().unwrap().extend([(1, 10), (2, 20)]);
    let has_seen = |looks: &[Look], token: u64| looks.iter().any(|one| one.new.contains(&token));
    turn_until(&mut crew, || both(&|looks| has_seen(looks, 20)));
    table.lock().unwrap().remove(&2);
    let misses = |looks: &[Look], token: u64| looks.iter().any(|one| one.gone.contains(&token));
    turn_until(&mut crew, || both(&|looks| misses(looks, 20)));
    crew.begin_stop();
    assert!(!crew.is_busy(), "nobody waits for a reader");
    for number in [0, 1] {
        let looks = looks(number);
        let new: Vec<u64> = looks.iter().flat_map(|look| look.new.clone()).collect();
        let gone: Vec<u64> = looks.iter().flat_map(|look| look.gone.clone()).collect();
        assert_eq!((new, gone), (vec![10, 20], vec![20]));
        assert!(looks.is_sorted_by_key(|look| look.begun_us));
        assert!(
            looks
                .iter()
                .all(|look| look.ended_us >= Some(look.begun_us))
        );
    }
}

#[test]
fn a_reader_that_loses_its_server_goes_on_with_what_it_knew() {
    let table: Table = Arc::default();
    table.lock().unwrap().insert(1, 10);
    let shown = Arc::clone(&table);
    let looked = AtomicU64::new(0);
    let server = Toy::start(move |_| {
        if looked.fetch_add(1, Ordering::SeqCst) == 2 {
            return Reply::HangUp;
        }
        let table = shown.lock().unwrap();
        let rows = table.iter();
        let row = |(id, token): (&u64, &u64)| vec![id.to_string(), format!("{token:016x}")];
        Reply::Rows(rows.map(row).collect())
    });
    let readers = ReadersPlan {
        site: "a".into(),
        node: 0,
        target: server.address,
        levels: vec![Level::Plain],
        every: Duration::ZERO,
    };
    let plan = plan(&[server.address], Finding::Staying);
    let (mut crew, memory) = crew(&plan, &Role::Readers(vec![readers]));
    let looks = || -> Vec<Look> {
        let notes = memory.entries().filter_map(|entry| Note::read(&entry));
        let look = |note: Note| match note {
            Note::Look(_, look) => Some(look),
            Note::Loss(_) => None,
        };
        notes.filter_map(look).collect()
    };
    turn_until(&mut crew, || looks().len() >= 5);
    let looks = looks();
    let new: Vec<usize> = looks[..5].iter().map(|look| look.new.len()).collect();
    assert_eq!(new, [1, 0, 0, 0, 0]);
    let failed: Vec<bool> = looks[..5]
        .iter()
        .map(|look| look.ended_us.is_none())
        .collect();
    assert_eq!(failed, [false, false, true, false, false]);
    assert_eq!(server.logins(), 2);
}

/// A reader that has its node wait for the writer speaks to both, in one session.
#[test]
fn a_reader_speaks_to_two_servers() {
    let table: Table = Arc::default();
    table.lock().unwrap().insert(1, 10);
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&asked);
    let shown = Arc::clone(&table);
    let node = Toy::start(move |sql| match sql.starts_with("SELECT wait") {
        true => {
            told.lock().unwrap().push(sql.to_owned());
            Reply::Rows(vec![vec!["0".into()]])
        }
        false => {
            let table = shown.lock().unwrap();
            let row = |(id, token): (&u64, &u64)| vec![id.to_string(), format!("{token:016x}")];
            Reply::Rows(table.iter().map(row).collect())
        }
    });
    let answers = AtomicU64::new(0);
    let writer = Toy::start(move |_| match answers.fetch_add(1, Ordering::SeqCst) {
        2 => Reply::HangUp,
        number => Reply::Rows(vec![vec![format!("x:{number}")]]),
    });
    let wait = Wait {
        at: writer.address,
        executed: "SELECT how far".into(),
        wait: "SELECT wait('{gtids}')".into(),
        good: "0".into(),
    };
    let readers = ReadersPlan {
        site: "b".into(),
        node: 1,
        target: node.address,
        levels: vec![Level::Awaited(wait)],
        every: Duration::ZERO,
    };
    let plan = plan(&[writer.address, node.address], Finding::Staying);
    let (mut crew, _memory) = crew(&plan, &Role::Readers(vec![readers]));
    turn_until(&mut crew, || asked.lock().unwrap().len() >= 4);
    let asked = asked.lock().unwrap();
    let expected = [0, 1, 3, 4].map(|number| format!("SELECT wait('x:{number}')"));
    assert_eq!(asked[..4], expected);
    // Both connections are lost together.
    assert_eq!((node.logins(), writer.logins()), (2, 2));
}

#[test]
fn a_crew_without_work_ends_at_once() {
    let plan = plan(&[SocketAddr::from(([127, 0, 0, 1], 1))], Finding::Staying);
    let (mut crew, memory) = crew(&plan, &Role::Readers(vec![]));
    assert!(!crew.is_busy());
    crew.begin_stop();
    assert!(!crew.is_busy() && memory.entries().next().is_none());
    let nobody = ClientsPlan {
        nodes: vec![],
        ..plan
    };
    assert!(Crew::new(&nobody, &Role::Transfers, memory).is_err());
}
