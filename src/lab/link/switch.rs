//! The switch's own process: fetch, release, obey, wait; until its parent is gone.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use libc::STDIN_FILENO;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike};

use crate::error::{Result, Tried, breakdown};

use super::SwitchCounters;
use super::fabric::{Fabric, Port};
use super::keep::{KEPT_BYTES_MAX, Keeper};
use super::pace::{Pace, Step, spin_share};
use super::priority::Priority;
use super::realtime::{
    DelayMeter, IdleMeter, SWITCH_PRIORITY, be_punctual, cpu_ns, now_ns, set_realtime,
};
use super::unread::SLEEP_NS_MIN;
use super::wire::{Arguments, PortArgument, Reply, Request};

/// How often idle time and the switch's own busyness are looked at.
const REVIEW_INTERVAL_NS: u64 = 200_000_000;
/// A parent that does not read its answers for this long is as good as gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs the switch as told by `words` (see [`Arguments`]), with the files named there inherited.
/// Its input is a socket, over which it answers too. Returns when the parent has closed that.
///
/// # Errors
/// A breakdown if the files are not what they should be, or a device fails.
pub fn serve(words: &[String]) -> Result<()> {
    let tried = || "run the link switch".to_owned();
    let arguments = Arguments::parse(words)
        .ok_or_else(|| breakdown(tried(), "it is started by acklab itself, not by hand"))?;
    let ports = arguments.ports.into_iter().map(adopt_port);
    let ports: Vec<Port> = ports.collect::<io::Result<_>>().tried(tried)?;
    let kept = arguments.kept.map(adopt).transpose().tried(tried)?;
    let keeper = Keeper::new(kept.map(File::from), KEPT_BYTES_MAX);
    let control = UnixStream::from(adopt(STDIN_FILENO).tried(tried)?);
    control.set_nonblocking(true).tried(tried)?;
    control
        .set_write_timeout(Some(ANSWER_TIMEOUT))
        .tried(tried)?;
    let mut server = Server::new(Fabric::new(ports, keeper, arguments.seed), control);
    server.run().tried(tried)
}

fn adopt_port(port: PortArgument) -> io::Result<Port> {
    Ok(Port {
        tun: adopt(port.tun)?,
        name: port.name,
        address: port.address,
    })
}

/// Takes over a file that the parent has left open for us.
fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only looked at here; asking about a closed descriptor is an error, not undefined.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    fcntl(borrowed, FcntlArg::F_GETFD)?;
    // SAFETY: it is open, and by the agreement of the command line nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What one wait ended with.
struct Woken {
    /// Ports with packets to fetch.
    ports: Vec<usize>,
    is_control_ready: bool,
}

struct Server {
    fabric: Fabric,
    control: UnixStream,
    /// The beginning of a request of which the rest has not come yet.
    unread: Vec<u8>,
    notes: Vec<String>,
    pace: Pace,
    review: Review,
    delays: DelayMeter,
    spin_ns: u64,
}

impl Server {
    fn new(fabric: Fabric, control: UnixStream) -> Server {
        Server {
            fabric,
            control,
            unread: Vec::new(),
            notes: be_punctual(),
            pace: Pace::new(now_ns()),
            review: Review::begin(),
            delays: DelayMeter::open(),
            spin_ns: 0,
        }
    }

    fn run(&mut self) -> io::Result<()> {
        loop {
            let woken = self.wait()?;
            for port in woken.ports {
                self.fabric.fetch(port)?;
            }
            if woken.is_control_ready && !self.obey()? {
                return Ok(());
            }
            if let Some(share) = self.review.look(now_ns()) {
                self.pace.allow(share);
            }
        }
    }

    /// Releases what is due, or waits for the next due time or packet, whichever comes first.
    fn wait(&mut self) -> io::Result<Woken> {
        let now_ns = now_ns();
        let Some(due_ns) = self.fabric.next_due_ns() else {
            return self.sleep_until_woken(now_ns, None);
        };
        match self.pace.step(now_ns, due_ns) {
            Step::Release => {
                self.fabric.release_due(due_ns.max(now_ns));
                self.look(now_ns)
            }
            Step::Spin => self.spin(now_ns, due_ns),
            Step::SleepUntil(wake_ns) => self.sleep(now_ns, wake_ns),
        }
    }

    fn sleep(&mut self, now_ns: u64, wake_ns: u64) -> io::Result<Woken> {
        let woken = self.sleep_until_woken(now_ns, Some(wake_ns.saturating_sub(now_ns)))?;
        if woken.is_empty() {
            self.pace.woke_late(self::now_ns().saturating_sub(wake_ns));
        }
        Ok(woken)
    }

    /// Waits for packets or requests, at most so long; `None` means for ever.
    fn sleep_until_woken(&mut self, now_ns: u64, at_most_ns: Option<u64>) -> io::Result<Woken> {
        if at_most_ns.is_none_or(|ns| ns > SLEEP_NS_MIN) {
            // What delayed it before is not this sleep's.
            self.delays.run_delay_ns();
        }
        let woken = self.poll(at_most_ns)?;
        let woken_ns = self::now_ns();
        if woken_ns - now_ns > SLEEP_NS_MIN {
            // If no packet woke it, none has waited.
            let delayed_ns = match woken.ports.is_empty() {
                true => 0,
                false => self.delays.run_delay_ns(),
            };
            self.fabric.unread.slept(now_ns, woken_ns, delayed_ns);
            self.note_empty(&woken, woken_ns);
        } else {
            self.note_empty(&woken, now_ns);
        }
        Ok(woken)
    }

    /// Looks for packets and requests without waiting.
    fn look(&mut self, now_ns: u64) -> io::Result<Woken> {
        let woken = self.poll(Some(0))?;
        self.note_empty(&woken, now_ns);
        Ok(woken)
    }

    /// Where no packet was found there was none at that time either, which came before.
    fn note_empty(&mut self, woken: &Woken, now_ns: u64) {
        let mut ready = woken.ports.iter().peekable();
        for port in 0..self.fabric.port_count() {
            if ready.next_if_eq(&&port).is_none() {
                self.fabric.unread.seen_empty(port, now_ns);
            }
        }
    }

    /// Looks for packets until the due time has come. What it finds is work, and ends the spin.
    fn spin(&mut self, began_ns: u64, due_ns: u64) -> io::Result<Woken> {
        let mut now_ns = began_ns;
        loop {
            let woken = self.look(now_ns)?;
            now_ns = self::now_ns();
            if woken.is_empty() && now_ns < due_ns {
                continue;
            }
            let spun_ns = now_ns - began_ns;
            self.spin_ns += spun_ns;
            self.pace.spend(spun_ns);
            return Ok(woken);
        }
    }

    /// Waits for packets or requests, at most so long; `None` means for ever.
    fn poll(&self, at_most_ns: Option<u64>) -> io::Result<Woken> {
        let files = self.fabric.files().chain([self.control.as_fd()]);
        let mut files: Vec<PollFd> = files.map(|f| PollFd::new(f, PollFlags::POLLIN)).collect();
        let timeout = at_most_ns.map(|ns| TimeSpec::nanoseconds(ns as i64));
        match ppoll(&mut files, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => (),
            Err(error) => return Err(error.into()),
        }
        let is_ready = |file: &PollFd| file.any().unwrap_or(true);
        let control = files.pop();
        Ok(Woken {
            ports: (0..files.len())
                .filter(|at| is_ready(&files[*at]))
                .collect(),
            is_control_ready: control.as_ref().is_some_and(is_ready),
        })
    }

    /// Reads and answers requests. False when the parent has gone.
    fn obey(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 16_384];
        match self.control.read(&mut chunk) {
            Ok(0) => return Ok(false),
            Ok(bytes) => self.unread.extend_from_slice(&chunk[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(error),
        }
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            let reply = match serde_json::from_slice(&line) {
                Ok(request) => self.answer(request),
                Err(error) => Reply::Refused(error.to_string()),
            };
            self.send(&reply)?;
        }
        Ok(true)
    }

    fn answer(&mut self, request: Request) -> Reply {
        match request {
            Request::Hello => Reply::Ready(self.notes.clone()),
            Request::Counters => Reply::Counters(self.read_counters()),
            Request::Floor(floor) => {
                self.fabric.set_floor(floor);
                Reply::Done
            }
            Request::Set(settings) => done(self.fabric.set(&settings)),
            Request::Keep(wanted) => done(self.fabric.keep(&wanted)),
            Request::Kept => {
                let (bytes, lost) = self.fabric.kept();
                Reply::Kept { bytes, lost }
            }
        }
    }

    fn read_counters(&mut self) -> SwitchCounters {
        SwitchCounters {
            cpu_ns: cpu_ns(),
            spin_ns: self.spin_ns,
            without_priority_ns: self.review.priority.without_ns(now_ns()),
            ..self.fabric.read_counters()
        }
    }

    /// Answers are few and short, so this may block, for a bounded time.
    fn send(&mut self, reply: &Reply) -> io::Result<()> {
        let mut line = serde_json::to_vec(reply)?;
        line.push(b'\n');
        self.control.set_nonblocking(false)?;
        let sent = self.control.write_all(&line);
        self.control.set_nonblocking(true)?;
        sent
    }
}

fn done(outcome: std::result::Result<(), String>) -> Reply {
    match outcome {
        Ok(()) => Reply::Done,
        Err(reason) => Reply::Refused(reason),
    }
}

impl Woken {
    fn is_empty(&self) -> bool {
        self.ports.is_empty() && !self.is_control_ready
    }
}

/// Looks now and then whether the switch is a burden to the machine.
struct Review {
    idle: IdleMeter,
    cpus: usize,
    began_ns: u64,
    cpu_ns: u64,
    priority: Priority,
}

impl Review {
    fn begin() -> Review {
        let mut idle = IdleMeter::open();
        idle.idle_cpus();
        Review {
            idle,
            cpus: thread::available_parallelism().map_or(1, usize::from),
            began_ns: now_ns(),
            cpu_ns: cpu_ns(),
            priority: Priority::begin(set_realtime(Some(SWITCH_PRIORITY)).is_ok(), now_ns()),
        }
    }

    /// When a review is due: the share of one CPU that may go into spinning from now on. Also
    /// gives up or takes back real-time priority.
    fn look(&mut self, now_ns: u64) -> Option<f64> {
        let elapsed_ns = now_ns - self.began_ns;
        if elapsed_ns < REVIEW_INTERVAL_NS {
            return None;
        }
        let busy_share = (cpu_ns() - self.cpu_ns) as f64 / elapsed_ns as f64;
        let ask = |wanted: bool| set_realtime(wanted.then_some(SWITCH_PRIORITY)).is_ok();
        self.priority.reconsider(busy_share, now_ns, ask);
        self.began_ns = now_ns;
        self.cpu_ns = cpu_ns();
        Some(spin_share(self.cpus, self.idle.idle_cpus()))
    }
}
