//! A ledger whose driver, a process of its own, is killed at work: what its clients were told and
//! what its readers saw is still known.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use acklab::error::Result;
use acklab::load::ledgers::{Clients, ClientsPlan, Level, ReadersPlan};
use acklab::record::history::{Answer, History};
use acklab::self_test::null_server::{ONE_ROW, greeting};
use acklab::study::faults::{Finding, Writing};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const SESSIONS: u32 = 3;
/// COMMITs that a server answers; it is silent about those that follow.
const ANSWERED: u64 = 50;
const LIMIT: Duration = Duration::from_secs(60);

fn send(stream: &mut TcpStream, payload: &[u8]) -> io::Result<()> {
    let head = [payload.len() as u8, 0, 0, 0];
    stream.write_all(&[&head[..], payload].concat())
}

fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// What a server has been asked.
#[derive(Default)]
struct Asked {
    commits: AtomicU64,
    looks: AtomicU64,
}

/// Says yes to everything until its COMMITs are used up.
fn serve(mut stream: TcpStream, asked: &Asked) -> io::Result<()> {
    send(&mut stream, &greeting())?;
    receive(&mut stream)?;
    send(&mut stream, &ONE_ROW)?;
    loop {
        let command = receive(&mut stream)?;
        let is_commit = command == b"\x03COMMIT";
        if command.starts_with(b"\x03SELECT") {
            asked.looks.fetch_add(1, Ordering::SeqCst);
        }
        if !is_commit || asked.commits.fetch_add(1, Ordering::SeqCst) < ANSWERED {
            send(&mut stream, &ONE_ROW)?;
        }
    }
}

fn server() -> (SocketAddr, Arc<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = listener.local_addr().expect("its address");
    let asked = Arc::<Asked>::default();
    let counted = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(std::result::Result::ok) {
            let counted = Arc::clone(&counted);
            thread::spawn(move || serve(stream, &counted));
        }
    });
    (address, asked)
}

fn start(server: SocketAddr) -> Clients {
    let plan = ClientsPlan {
        site: "a".into(),
        nodes: vec![server],
        first_writer: 0,
        writing: Writing::InPlace,
        finding: Finding::Staying,
        proxy: None,
        user: "u".into(),
        password: "p".into(),
        database: "d".into(),
        tls: false,
        sessions: SESSIONS,
        accounts: 0..64,
        timeout: Duration::from_secs(5),
        reconnect_every: Duration::from_millis(10),
        seed: 7,
        slots: 1_000,
    };
    let readers = ReadersPlan {
        site: "a".into(),
        node: 0,
        target: server,
        levels: vec![Level::Plain],
        every: Duration::from_millis(1),
    };
    let driver = |_: &str| -> Result<Command> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
        command.arg("drive");
        Ok(command)
    };
    Clients::start(driver, &plan, &[readers]).expect("clients")
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn count(history: &History, answer: Answer) -> u64 {
    let such = history.transfers.iter().filter(|one| one.answer == answer);
    such.count() as u64
}

/// Starts, waits until all that will be answered is, does something, and stops.
fn history_after(happens: impl FnOnce(&mut Clients)) -> History {
    let (address, asked) = server();
    let mut clients = start(address);
    wait_until("too little is acknowledged", || {
        clients.acknowledged() == ANSWERED && clients.in_flight() == SESSIONS
    });
    // Each is noted before the next is begun.
    wait_until("nobody looks", || asked.looks.load(Ordering::SeqCst) > 1);
    assert_eq!(clients.current_node(), Some(0));
    assert!(clients.last_acknowledged_us() <= Some(clients.now_us()));
    happens(&mut clients);
    clients.stop().expect("a history")
}

#[test]
fn outcomes_outlive_a_driver_that_is_killed() {
    let history = history_after(|clients| {
        for pid in clients.pids() {
            let pid = Pid::from_raw(pid.try_into().expect("a process"));
            kill(pid, Signal::SIGKILL).expect("it runs");
        }
        let begin = Instant::now();
        while clients.check_alive().is_ok() {
            assert!(begin.elapsed() < LIMIT, "a killed driver lives");
        }
    });
    assert_eq!(count(&history, Answer::Acknowledged), ANSWERED);
    assert_eq!(count(&history, Answer::Unanswered), u64::from(SESSIONS));
    assert_eq!(count(&history, Answer::Refused), 0);
    let driver = |reason: &&String| reason.contains("driver");
    assert_eq!(history.losses.keys().filter(driver).count(), 2);
    let looks = &history.readers[0].looks;
    assert!(looks.iter().any(|look| look.ended_us.is_some()));
}

#[test]
fn clients_that_are_stopped_wait_for_what_is_under_way_and_no_longer_than_their_timeout() {
    let begin = Instant::now();
    let history = history_after(|_| {});
    assert!(begin.elapsed() >= Duration::from_secs(5));
    assert_eq!(count(&history, Answer::Acknowledged), ANSWERED);
    assert_eq!(count(&history, Answer::Unanswered), u64::from(SESSIONS));
    let given_up = history.losses.get("no answer in 5000 ms");
    assert_eq!(given_up, Some(&u64::from(SESSIONS)));
    for one in &history.transfers {
        assert!(one.begun_us <= one.ended_us);
    }
}
