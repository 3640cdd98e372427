//! A server that does nothing but answer, each statement at a time that is known: what a driver
//! measures of it can be told right from wrong. A process of its own, as real servers are, one
//! thread, an epoll loop; it is asked in JSON lines, as a driver is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Result, Tried};
use crate::record::histogram;

/// Protocol 4.1 with a database, transactions, a nonce and the name of a plugin.
const CAPABILITIES: u32 = 0x0028_a209;
/// One row changed; autocommit; no warnings.
pub const ONE_ROW: [u8; 7] = [0, 1, 0, 2, 0, 0, 0];
const BUFFER_BYTES: usize = 64 << 10;
const INPUT: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;
/// The kernel wakes a sleeper late by about so much: the rest is waited for awake.
const AWAKE: Duration = Duration::from_micros(1_500);

/// When a statement is answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// So long after it came, however many there are.
    After(Duration),
    /// One at a time, each served for a time drawn from an exponential distribution of this mean.
    OneAtATime { mean: Duration, seed: u64 },
    /// At once, but for the first `stall` of each `period`: what comes then is answered at its end.
    Stalling { stall: Duration, period: Duration },
}

/// A line that it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Serve so from now on, and count from nothing.
    Serve(Service),
    /// What was counted.
    Tell,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    pub port: u16,
    /// Statements that came, and were answered.
    pub came: u64,
    pub answered: u64,
    /// From reading a statement to having written its answer, in µs.
    pub took_us: String,
}

/// Serves until its input ends.
///
/// # Errors
/// A breakdown if there is no socket to be had.
pub fn serve(stdin: impl AsFd + Read, stdout: impl Write) -> Result<()> {
    let what = || "serve nothing".to_owned();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).tried(what)?;
    listener.set_nonblocking(true).tried(what)?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).tried(what)?;
    let readable = |token| EpollEvent::new(EpollFlags::EPOLLIN, token);
    epoll.add(&listener, readable(LISTENER)).tried(what)?;
    epoll.add(&stdin, readable(INPUT)).tried(what)?;
    let server = NullServer {
        port: listener.local_addr().map_or(0, |address| address.port()),
        listener,
        epoll,
        clients: Vec::new(),
        answers: BinaryHeap::new(),
        schedule: Times::of(Service::After(Duration::ZERO), Instant::now()),
        came: 0,
        answered: 0,
        took_us: histogram::empty(),
    };
    server.run(stdin, stdout).tried(what)
}

struct NullServer {
    port: u16,
    listener: TcpListener,
    epoll: Epoll,
    clients: Vec<Option<Client>>,
    /// When to answer whom, and since when that one waits.
    answers: BinaryHeap<Reverse<(Instant, usize, Instant)>>,
    schedule: Times,
    came: u64,
    answered: u64,
    took_us: Histogram<u64>,
}

struct Client {
    stream: TcpStream,
    is_logged_in: bool,
    /// Bytes of a packet that is not whole yet.
    rest: Vec<u8>,
}

/// When each statement is to be answered.
struct Times {
    service: Service,
    since: Instant,
    random: ChaCha8Rng,
    /// Until when the one server is at work.
    busy_until: Instant,
}

impl Times {
    fn of(service: Service, now: Instant) -> Times {
        let seed = match service {
            Service::OneAtATime { seed, .. } => seed,
            _ => 0,
        };
        Times {
            service,
            since: now,
            random: ChaCha8Rng::seed_from_u64(seed),
            busy_until: now,
        }
    }

    fn answer_at(&mut self, now: Instant) -> Instant {
        match self.service {
            Service::After(delay) => now + delay,
            Service::OneAtATime { mean, .. } => {
                let draw: f64 = self.random.random_range(f64::MIN_POSITIVE..1.0);
                self.busy_until = self.busy_until.max(now) + mean.mul_f64(-draw.ln());
                self.busy_until
            }
            Service::Stalling { stall, period } => {
                let into = (now - self.since).as_nanos() % period.as_nanos();
                let into = Duration::from_nanos(u64::try_from(into).unwrap_or(0));
                now + stall.saturating_sub(into)
            }
        }
    }
}

impl NullServer {
    fn run(mut self, mut stdin: impl AsFd + Read, mut stdout: impl Write) -> io::Result<()> {
        let mut events = vec![EpollEvent::empty(); 256];
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut input = Vec::new();
        loop {
            self.answer_due()?;
            let count = self.epoll.wait(&mut events, self.timeout())?;
            for event in &events[..count] {
                match event.data() {
                    INPUT => {
                        let read = stdin.read(&mut buffer)?;
                        if read == 0 {
                            return Ok(());
                        }
                        input.extend_from_slice(&buffer[..read]);
                        while let Some(end) = input.iter().position(|byte| *byte == b'\n') {
                            let line: Vec<u8> = input.drain(..=end).collect();
                            self.obey(serde_json::from_slice(&line)?);
                            let mut told = serde_json::to_vec(&self.told())?;
                            told.push(b'\n');
                            stdout.write_all(&told)?;
                            stdout.flush()?;
                        }
                    }
                    LISTENER => self.accept()?,
                    index => self.hear(index as usize, &mut buffer),
                }
            }
        }
    }

    /// Nothing is slept for when something is due soon: a sleeper is woken late.
    fn timeout(&self) -> EpollTimeout {
        let next = self.answers.peek().map(|Reverse((due, ..))| *due);
        let Some(next) = next else {
            return EpollTimeout::NONE;
        };
        let left = next.saturating_duration_since(Instant::now());
        let ms = left.saturating_sub(AWAKE).as_millis().min(1_000) as u16;
        EpollTimeout::from(ms)
    }

    fn obey(&mut self, request: Request) {
        if let Request::Serve(service) = request {
            self.schedule = Times::of(service, Instant::now());
            (self.came, self.answered) = (0, 0);
            self.took_us.reset();
        }
    }

    fn told(&self) -> Told {
        Told {
            port: self.port,
            came: self.came,
            answered: self.answered,
            took_us: histogram::encode(&self.took_us),
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let (mut stream, _) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            // No place is used twice: an answer may still be due to who was there.
            let event = EpollEvent::new(EpollFlags::EPOLLIN, self.clients.len() as u64);
            self.epoll.add(&stream, event)?;
            // One that has gone already is noticed as it is heard.
            let _ = stream.write_all(&packet(0, &greeting()));
            self.clients.push(Some(Client {
                stream,
                is_logged_in: false,
                rest: Vec::new(),
            }));
        }
    }

    /// One whose client has gone is forgotten.
    fn hear(&mut self, index: usize, buffer: &mut [u8]) {
        let Some(Some(client)) = self.clients.get_mut(index) else {
            return;
        };
        match client.stream.read(buffer) {
            Ok(0) => self.clients[index] = None,
            Ok(count) => {
                let now = Instant::now();
                client.rest.extend_from_slice(&buffer[..count]);
                while let Some(command) = self.clients[index].as_mut().and_then(Client::next) {
                    self.take(index, command, now);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.clients[index] = None,
        }
    }

    fn take(&mut self, index: usize, command: u8, now: Instant) {
        const QUIT: u8 = 1;
        let Some(client) = &mut self.clients[index] else {
            return;
        };
        match command {
            _ if !client.is_logged_in => {
                client.is_logged_in = client.stream.write_all(&packet(2, &ONE_ROW)).is_ok();
            }
            QUIT => self.clients[index] = None,
            _ => {
                self.came += 1;
                let due = self.schedule.answer_at(now);
                self.answers.push(Reverse((due, index, now)));
            }
        }
    }

    fn answer_due(&mut self) -> io::Result<()> {
        while let Some(Reverse((due, index, since))) = self.answers.peek().copied() {
            if due > Instant::now() {
                return Ok(());
            }
            self.answers.pop();
            let Some(Some(client)) = self.clients.get_mut(index) else {
                continue;
            };
            if client.stream.write_all(&packet(1, &ONE_ROW)).is_ok() {
                self.answered += 1;
                let took_us = since.elapsed().as_micros() as u64;
                // It grows as needed.
                let _ = self.took_us.record(took_us.max(1));
            }
        }
        Ok(())
    }
}

impl Client {
    /// The first byte of the next whole packet, which is what it commands.
    fn next(&mut self) -> Option<u8> {
        let [low, middle, high, _, ..] = self.rest[..] else {
            return None;
        };
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        if self.rest.len() < 4 + length {
            return None;
        }
        let command = self.rest.get(4).copied();
        self.rest.drain(..4 + length);
        command
    }
}

/// What it says first.
pub fn greeting() -> Vec<u8> {
    let [low_a, low_b, high_a, high_b] = CAPABILITIES.to_le_bytes();
    let parts: [&[u8]; 7] = [
        b"\x0a9.9.9\0\x01\0\0\0abcdefgh\0",
        &[low_a, low_b],
        &[8, 2, 0],
        &[high_a, high_b, 21],
        &[0; 10],
        b"ijklmnopqrst\0",
        b"mysql_native_password\0",
    ];
    parts.concat()
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let head = [payload.len() as u8, 0, 0, sequence];
    [&head[..], payload].concat()
}

/// A command that it answers, as a client sends it.
pub fn statement() -> Vec<u8> {
    packet(0, b"\x03SELECT 1")
}

/// What a client sends to log in: any will do.
pub fn login() -> Vec<u8> {
    packet(1, b"acklab")
}

/// How long the answer to either is.
pub const ANSWER_BYTES: usize = 4 + ONE_ROW.len();

/// Where it listens.
pub fn address(told: &Told) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, told.port).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(service: Service, at_ms: &[u64]) -> Vec<Duration> {
        let begin = Instant::now();
        let mut times = Times::of(service, begin);
        let wait = |ms: &u64| {
            let now = begin + Duration::from_millis(*ms);
            times.answer_at(now) - now
        };
        at_ms.iter().map(wait).collect()
    }

    #[test]
    fn a_stall_holds_up_what_comes_in_it_and_nothing_else() {
        let stalling = Service::Stalling {
            stall: Duration::from_secs(1),
            period: Duration::from_secs(10),
        };
        let ms = Duration::from_millis;
        let waits = times(stalling, &[0, 250, 999, 1_000, 9_999, 10_500]);
        assert_eq!(waits, [ms(1_000), ms(750), ms(1), ms(0), ms(0), ms(500)]);
    }

    #[test]
    fn one_at_a_time_waits_for_those_before_it() {
        let queue = Service::OneAtATime {
            mean: Duration::from_millis(1),
            seed: 7,
        };
        let waits = times(queue, &[0, 0, 0, 100_000]);
        assert!(waits[0] < waits[1] && waits[1] < waits[2]);
        assert!(
            waits[3] < Duration::from_millis(20),
            "it had long been idle"
        );
        let many = times(queue, &vec![0; 20_000]);
        let mean_ms = many[many.len() - 1].as_secs_f64() * 1e3 / many.len() as f64;
        assert!((mean_ms - 1.0).abs() < 0.03, "{mean_ms}");
    }

    #[test]
    fn packets_are_taken_whole_and_one_by_one() {
        let (stream, _other) = {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (stream, listener.accept().unwrap())
        };
        let mut client = Client {
            stream,
            is_logged_in: true,
            rest: [packet(0, b"\x03SELECT 1"), packet(0, b"\x01")].concat(),
        };
        let cut = client.rest.split_off(15);
        assert_eq!(client.next(), Some(3));
        client.rest.extend(cut);
        assert_eq!((client.next(), client.next()), (Some(1), None));
    }
}
