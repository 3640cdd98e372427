//! Drivers that join over TLS: threads here, and some that are made of lines alone.

use std::io::{BufRead, Write};
use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;
use crate::error::Result;
use crate::load::clock::Clock;
use crate::load::job::tests::example;
use crate::load::job::{Command, Reply, Snapshot, new_histogram};
use crate::load::join::enter::{Inside, enter};
use crate::load::join::hello::Hello;
use crate::record::histogram;

mod coming_in;
mod ends;
mod load;
mod lost;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
const STUDY: &str = "rounds = 2\n";

fn door() -> Door {
    let study = StudyName::of("ours.toml", STUDY);
    Door::open("127.0.0.1:0".parse().unwrap(), study).unwrap()
}

/// Where to come, and with what.
fn way_in(door: &Door) -> (String, Ticket) {
    (door.address().to_string(), door.ticket().clone())
}

fn joined(door: Door, drivers: u32, within: Duration) -> Joined {
    let command = "acklab drive --join …".to_owned();
    let patience = Patience {
        drivers,
        within,
        command,
    };
    Joined::new(door, patience)
}

fn entry(address: &str, ticket: &Ticket) -> Entry {
    Entry {
        address: address.to_owned(),
        ticket: TicketFrom::Variable(ticket.clone()),
        study: None,
        within: PATIENCE,
    }
}

/// A driver as it is, on a thread.
fn driver(entry: Entry) -> JoinHandle<Result<()>> {
    thread::spawn(move || join(&entry, &mut |_| {}))
}

/// Comes in. On a busy machine it says too late who it is: then it comes again, as a driver does.
fn come_in(mut socket: TcpStream, (address, ticket): (&str, &Ticket)) -> Inside {
    let hello = Hello::of(ticket, None);
    loop {
        match enter(socket, (address, PATIENCE), ticket, &hello).unwrap() {
            Ok(inside) => return inside,
            Err(_) => socket = TcpStream::connect(address).unwrap(),
        }
    }
}

/// Comes in, and then does with each command what it is told; it leaves where there is no answer.
/// It is at the door before this returns.
fn made(
    (address, ticket): &(String, Ticket),
    answer: impl Fn(Command) -> Option<Reply> + Send + 'static,
) -> JoinHandle<()> {
    let socket = TcpStream::connect(address).unwrap();
    let (address, ticket) = (address.clone(), ticket.clone());
    thread::spawn(move || {
        let mut inside = come_in(socket, (&address, &ticket));
        loop {
            let mut line = String::new();
            if inside.stream().read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let Some(reply) = answer(serde_json::from_str(&line).unwrap()) else {
                return;
            };
            let mut text = serde_json::to_string(&reply).unwrap();
            text.push('\n');
            inside
                .stream()
                .get_mut()
                .write_all(text.as_bytes())
                .unwrap();
        }
    })
}

/// Why it is not let in.
fn refused(address: &str, ticket: &Ticket, hello: &Hello) -> String {
    loop {
        let socket = TcpStream::connect(address).unwrap();
        if let Err(error) = enter(socket, (address, PATIENCE), ticket, hello) {
            return error.to_string();
        }
    }
}

/// What every driver says that is well.
fn well(command: &Command) -> Reply {
    match command {
        Command::Clock => Reply::Clock {
            heard_ns: 5,
            answered_ns: 5,
        },
        Command::Start(_) => Reply::Started { connected_s: 0.0 },
        Command::Begin { .. } => Reply::Begun { late_s: 0.0 },
        Command::Mark | Command::MarkAt { .. } | Command::Stop => {
            let mut latency = new_histogram();
            latency.record_n(1_000, 10).unwrap();
            Reply::Snapshot(Box::new(Snapshot {
                window_s: 1.0,
                commits: 10,
                latency_us: histogram::encode(&latency),
                ..Snapshot::default()
            }))
        }
        other => panic!("{other:?}"),
    }
}

fn gathered(joined: &mut Joined) -> (Result<()>, Vec<String>) {
    let mut told = Vec::new();
    let outcome = joined.gather(&mut |words| told.push(words));
    (outcome, told)
}

/// A load of so many connections.
fn job(connections: u32) -> crate::load::Job {
    crate::load::Job {
        connections,
        ..example()
    }
}
