//! A pool whose sessions rest, against a server that says yes to everything.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::*;
use crate::load::workload::{UniqueNumbers, script};
use crate::self_test::null_server::{ONE_ROW, greeting};
use crate::study::SysbenchLoad;

/// Longer than any test runs.
const HOUR: Duration = Duration::from_secs(3_600);

/// When a server hangs up.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Never,
    /// With the first statement unanswered, and never again.
    BeforeFirstAnswer,
    /// While its client rests, and knows of the answer.
    AfterFirstAnswer,
}

/// What a server has seen.
#[derive(Default)]
struct Seen {
    logins: AtomicU64,
    statements: AtomicU64,
    /// The client has what it was answered.
    is_answered: AtomicBool,
}

impl Seen {
    fn logins(&self) -> u64 {
        self.logins.load(Ordering::SeqCst)
    }

    fn statements(&self) -> u64 {
        self.statements.load(Ordering::SeqCst)
    }
}

/// Answers all connections, until its test is over.
fn server(cut: Cut) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Arc::<Seen>::default());
    let told = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(std::result::Result::ok) {
            let told = Arc::clone(&told);
            // It ends with its connection.
            thread::spawn(move || serve(stream, &told, cut));
        }
    });
    (address, seen)
}

fn serve(mut stream: TcpStream, seen: &Seen, cut: Cut) -> std::io::Result<()> {
    send(&mut stream, 0, &greeting())?;
    receive(&mut stream)?;
    send(&mut stream, 2, &ONE_ROW)?;
    seen.logins.fetch_add(1, Ordering::SeqCst);
    loop {
        receive(&mut stream)?;
        let is_first = seen.statements.fetch_add(1, Ordering::SeqCst) == 0;
        if is_first && cut == Cut::BeforeFirstAnswer {
            return Ok(());
        }
        send(&mut stream, 1, &ONE_ROW)?;
        if is_first && cut == Cut::AfterFirstAnswer {
            while !seen.is_answered.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            return Ok(());
        }
    }
}

fn send(stream: &mut TcpStream, sequence: u8, payload: &[u8]) -> std::io::Result<()> {
    let head = [payload.len() as u8, 0, 0, sequence];
    stream.write_all(&[&head[..], payload].concat())
}

fn receive(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    stream.read_exact(&mut vec![0; length as usize])
}

fn pool(target: SocketAddr, connections: u32, pace: Duration) -> Pool {
    pool_of(&Job {
        pace: Some(pace),
        ..job(target, connections)
    })
}

fn pool_of(job: &Job) -> Pool {
    let unique = UniqueNumbers {
        from: 0,
        driver: 0,
        drivers: 1,
    };
    let script = script(&job.workload, unique).unwrap();
    Pool::new(job, script, None, Instant::now()).unwrap()
}

fn job(target: SocketAddr, connections: u32) -> Job {
    let workload = Workload::Sysbench {
        load: SysbenchLoad::UpdateIndex,
        tables: 1,
        table_size: 10,
        prepared: false,
    };
    Job {
        targets: vec![target],
        user: "u".into(),
        password: "".into(),
        databases: vec!["d".into()],
        tls: false,
        workload,
        connections,
        seed: 1,
        driver: 0,
        drivers: 1,
        unique_from: 0,
        rate_per_s: None,
        pace: None,
        slowdown: None,
        waits: false,
        guest: None,
    }
}

/// Moves the pool until something holds.
fn turn_until(pool: &mut Pool, holds: impl Fn(&Pool) -> bool) {
    while !holds(pool) {
        let soon = Instant::now() + Duration::from_millis(20);
        pool.turn(Some(soon)).unwrap();
        let failure = pool.take_failure().map(|failure| failure.to_string());
        assert_eq!(failure, None);
    }
}

#[test]
fn sessions_rest_and_do_not_come_all_at_once() {
    let (address, seen) = server(Cut::Never);
    let mut pool = pool(address, 3, HOUR);
    // The first begins at once, the others a third of the pace apart.
    turn_until(&mut pool, |pool| pool.answered() == 1);
    for _ in 0..5 {
        pool.turn(Some(Instant::now())).unwrap();
        assert!(pool.sessions.iter().all(Session::is_held));
    }
    assert!(pool.all_connected());
    assert_eq!(seen.statements(), 1);
    let ends: Vec<Instant> = pool.sessions.iter().map(Session::rests_until).collect();
    assert_eq!(ends[2] - ends[1], HOUR / 3);
    // It rests a whole pace from its end on, which came after the load had begun.
    assert!(ends[0] > ends[2]);
    assert_eq!(pool.rests.next(), Some(ends[1]));
    // Whoever rests need not be waited for.
    pool.begin_stop();
    assert!(!pool.is_busy());
    assert_eq!(pool.mark().commits, 1);
}

#[test]
fn a_session_begins_again_a_pace_after_its_last_end() {
    let pace = Duration::from_millis(2);
    let (address, seen) = server(Cut::Never);
    let begin = Instant::now();
    let mut pool = pool(address, 1, pace);
    turn_until(&mut pool, |pool| pool.answered() == 20);
    assert!(begin.elapsed() >= pace * 19);
    let snapshot = pool.mark();
    assert_eq!((snapshot.commits, snapshot.statements), (20, 20));
    // Nothing was queued, and no second account is kept.
    assert_eq!((snapshot.due, snapshot.service_us), (0, None));
    assert_eq!(seen.statements(), 20);
}

#[test]
fn a_slowed_session_is_at_work_for_the_rest_of_the_time_only() {
    let (address, seen) = server(Cut::Never);
    let mut pool = pool_of(&Job {
        slowdown: Some(0.9),
        ..job(address, 1)
    });
    turn_until(&mut pool, |pool| pool.answered() == 20);
    let snapshot = pool.mark();
    let took_us = crate::record::histogram::decode(&snapshot.latency_us).unwrap();
    // After the last it has not rested yet; a histogram has three digits.
    let at_work_us = took_us.mean() * 20.0 - took_us.max() as f64;
    let whole_us = snapshot.window_s * 1e6;
    assert!(
        at_work_us * 10.0 < whole_us * 1.01,
        "{at_work_us} of {whole_us}"
    );
    assert_eq!(snapshot.commits, 20);
    // On a busy machine the next may have begun by then.
    assert!((20..=21).contains(&seen.statements()));
}

#[test]
fn who_comes_back_to_a_lost_connection_rests_on() {
    for (cut, answered) in [(Cut::BeforeFirstAnswer, 0), (Cut::AfterFirstAnswer, 1)] {
        let (address, seen) = server(cut);
        let begin = Instant::now();
        let mut pool = pool(address, 1, HOUR);
        turn_until(&mut pool, |pool| {
            let is_answered = pool.answered() == 1;
            seen.is_answered.store(is_answered, Ordering::SeqCst);
            seen.logins() == 2 && pool.sessions[0].is_held()
        });
        pool.turn(Some(Instant::now())).unwrap();
        assert!(pool.sessions[0].is_held());
        assert!(pool.sessions[0].rests_until() >= begin + HOUR);
        assert_eq!((seen.statements(), pool.mark().commits), (1, answered));
    }
}

#[test]
fn databases_are_dealt_out_in_turn_and_drivers_begin_one_after_another() {
    let dealt = |driver: u32, count: usize| -> Vec<usize> {
        let job = Job {
            driver,
            databases: vec!["d".into(); count],
            ..job(SocketAddr::from(([127, 0, 0, 1], 1)), 4)
        };
        (0..4).map(|session| database_of(&job, session)).collect()
    };
    assert_eq!(dealt(0, 1), [0, 0, 0, 0]);
    assert_eq!(dealt(0, 3), [0, 1, 2, 0]);
    assert_eq!(dealt(1, 2), [1, 0, 1, 0]);
}

#[test]
fn a_load_without_a_database_is_told() {
    let job = Job {
        databases: vec![],
        ..job(SocketAddr::from(([127, 0, 0, 1], 1)), 1)
    };
    let unique = UniqueNumbers {
        from: 0,
        driver: 0,
        drivers: 1,
    };
    let script = script(&job.workload, unique).unwrap();
    let told = Pool::new(&job, script, None, Instant::now()).err();
    assert!(told.is_some_and(|error| error.to_string().contains("no database")));
}
