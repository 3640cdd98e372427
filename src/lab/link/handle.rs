//! The parent's side of the switch.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::error::{Breakdown, Error, Result, Tried, breakdown};
use crate::lab::netns::Netns;

use super::probe::{Probe, median};
use super::wire::{Arguments, PortArgument, Reply, Request};
use super::{LinkSetting, PairSetting, SwitchCounters};

/// The switch answers within a millisecond unless it is stopped or starved.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the switch may take to end once told to; then it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const LOG_LINES: usize = 10;
/// Echoes whose median gives the floor (after some that let the switch learn how late it wakes up),
/// the time between them, and the delay they get.
const FLOOR_ECHOES: usize = 101;
const FLOOR_ECHOES_UNUSED: usize = 50;
const FLOOR_INTERVAL: Duration = Duration::from_millis(4);
const FLOOR_DELAY: Duration = Duration::from_millis(1);

/// A node to be linked.
#[derive(Debug)]
pub struct LinkNode {
    pub name: String,
    pub address: Ipv4Addr,
    /// Of [`Netns::open_tun`].
    pub tun: OwnedFd,
}

/// How the switch is started.
#[derive(Debug, Clone)]
pub struct SwitchOptions {
    /// The acklab program. By default this very process's; tests are another program.
    pub program: PathBuf,
    /// Of losses and jitter.
    pub seed: u64,
}

impl Default for SwitchOptions {
    fn default() -> Self {
        SwitchOptions {
            program: PathBuf::from("/proc/self/exe"),
            seed: 0,
        }
    }
}

/// A running switch. It ends when this is dropped, and also when this process dies in any way: it
/// sees the end of its control socket.
#[derive(Debug)]
pub struct Switch {
    pid: u32,
    notes: Vec<String>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    child: Child,
    /// `None` once the switch has been told to end.
    control: Option<BufReader<UnixStream>>,
    log: File,
    addresses: BTreeMap<String, Ipv4Addr>,
    settings: Vec<PairSetting>,
    floor: Duration,
}

impl Switch {
    /// Starts a switch between `nodes`; links do nothing at first. As [`Switch::start_with`] by
    /// default options.
    pub fn start(nodes: Vec<LinkNode>) -> Result<Switch> {
        Switch::start_with(&SwitchOptions::default(), nodes)
    }

    /// Starts a switch and waits until it forwards packets. The nodes' devices are its own from
    /// now on, and go with it.
    ///
    /// # Errors
    /// A breakdown with the switch's last words if it does not come up.
    pub fn start_with(options: &SwitchOptions, nodes: Vec<LinkNode>) -> Result<Switch> {
        let tried = "start the link switch";
        let mut inner = Inner::spawn(options, &nodes).tried(|| tried.to_owned())?;
        let Reply::Ready(notes) = inner.ask(tried, &Request::Hello)? else {
            return Err(breakdown(
                tried,
                "it answered something else than that it is ready",
            ));
        };
        Ok(Switch {
            pid: inner.child.id(),
            notes,
            inner: Mutex::new(inner),
        })
    }

    /// Its process, for CPU accounts.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What the kernel refused the switch (real-time priority, say), as whole sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Changes the settings of some ordered pairs; the others stay.
    ///
    /// # Errors
    /// A breakdown if a node is unknown (then nothing is changed) or the switch has died.
    pub fn set(&self, settings: &[PairSetting]) -> Result<()> {
        self.lock().set(settings)
    }

    /// All that was counted since the start.
    pub fn counters(&self) -> Result<SwitchCounters> {
        match self
            .lock()
            .ask("read the link counters", &Request::Counters)?
        {
            Reply::Counters(counters) => Ok(counters),
            other => Err(breakdown("read the link counters", format!("{other:?}"))),
        }
    }

    /// What the switch itself adds to a round trip, as last measured; zero before.
    pub fn floor(&self) -> Duration {
        self.lock().floor
    }

    /// Measures how much a round trip between two nodes takes longer than the delays set, from
    /// inside the first one's namespace, and takes half of it off every one-way delay from now on.
    /// The settings of these two are suspended meanwhile, so that this is for quiet moments.
    ///
    /// It is measured at a delay, not without: a packet that waits makes the switch sleep, and
    /// waking up costs more than all the rest.
    pub fn measure_floor(&self, netns: &Netns, from: &str, to: &str) -> Result<Duration> {
        let mut inner = self.lock();
        let before = [inner.setting(from, to), inner.setting(to, from)];
        let delayed = before.clone().map(|pair| PairSetting {
            setting: LinkSetting {
                one_way_delay: FLOOR_DELAY,
                ..LinkSetting::default()
            },
            ..pair
        });
        inner.set_floor(Duration::ZERO)?;
        inner.set(&delayed)?;
        let probed = inner.probe(netns, from, to);
        inner.set(&before)?;
        let floor = probed?.saturating_sub(2 * FLOOR_DELAY);
        inner.set_floor(floor)?;
        Ok(floor)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn spawn(options: &SwitchOptions, nodes: &[LinkNode]) -> io::Result<Inner> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        ours.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let log = File::from(memfd_create("acklab-switch-log", MFdFlags::MFD_CLOEXEC)?);
        let arguments = arguments(options.seed, &theirs, nodes);
        let mut command = Command::new(&options.program);
        command
            .arg0("acklab")
            .arg("switch")
            .args(arguments.to_words())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.try_clone()?)
            // A Ctrl-C at the terminal is for acklab, which then takes its time to finish.
            .process_group(0);
        inherit(&mut command, inherited(&arguments));
        Ok(Inner {
            child: command.spawn()?,
            control: Some(BufReader::new(ours)),
            log,
            addresses: nodes
                .iter()
                .map(|node| (node.name.clone(), node.address))
                .collect(),
            settings: Vec::new(),
            floor: Duration::ZERO,
        })
    }

    fn set(&mut self, settings: &[PairSetting]) -> Result<()> {
        self.ask("set the links", &Request::Set(settings.to_vec()))?;
        for new in settings {
            self.settings
                .retain(|old| (&old.from, &old.to) != (&new.from, &new.to));
            self.settings.push(new.clone());
        }
        Ok(())
    }

    fn setting(&self, from: &str, to: &str) -> PairSetting {
        let mut known = self.settings.iter();
        let found = known.find(|pair| pair.from == from && pair.to == to);
        found.cloned().unwrap_or_else(|| PairSetting {
            from: from.to_owned(),
            to: to.to_owned(),
            setting: LinkSetting::default(),
        })
    }

    fn set_floor(&mut self, floor: Duration) -> Result<()> {
        self.ask("correct the links for their floor", &Request::Floor(floor))?;
        self.floor = floor;
        Ok(())
    }

    /// The median round trip between two nodes, as the links are.
    fn probe(&self, netns: &Netns, from: &str, to: &str) -> Result<Duration> {
        let address = self.addresses.get(to).ok_or_else(|| {
            breakdown("measure the links' floor", format!("there is no node {to}"))
        })?;
        let probe = Probe::new(netns, from)?;
        probe.rtts_us(*address, FLOOR_ECHOES_UNUSED, FLOOR_INTERVAL)?;
        let rtts_us = probe.rtts_us(*address, FLOOR_ECHOES, FLOOR_INTERVAL)?;
        let rtt_us = median(&rtts_us).unwrap_or_default();
        Ok(Duration::from_nanos((rtt_us * 1_000.0) as u64))
    }

    fn ask(&mut self, tried: &str, request: &Request) -> Result<Reply> {
        match self.converse(request) {
            Ok(Reply::Refused(reason)) => Err(breakdown(tried, reason)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.explain(tried, &error)),
        }
    }

    fn converse(&mut self, request: &Request) -> io::Result<Reply> {
        let ended = || io::Error::other("the switch has ended");
        let control = self.control.as_mut().ok_or_else(ended)?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        control.get_mut().write_all(&line)?;
        let mut answer = String::new();
        if control.read_line(&mut answer)? == 0 {
            return Err(ended());
        }
        Ok(serde_json::from_str(&answer)?)
    }

    /// What became of a switch that did not answer. It is ended if it still runs: a late answer
    /// would be taken for the answer to the next request.
    fn explain(&mut self, tried: &str, error: &io::Error) -> Error {
        let pid = self.child.id();
        let is_silent = matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        );
        let patience = if is_silent {
            Duration::ZERO
        } else {
            END_TIMEOUT
        };
        let status = match self.end(patience) {
            _ if is_silent => format!("no answer in {} s", ANSWER_TIMEOUT.as_secs()),
            Some(status) => format!("it has ended, {status}"),
            None => error.to_string(),
        };
        Error::from(Breakdown {
            tried: tried.to_owned(),
            status: format!("the link switch (process {pid}): {status}"),
            log: self.last_words(),
        })
    }

    /// Ends the switch if it still runs, in the end by force, and reaps it.
    fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.control = None;
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) => return Some(status),
                Err(_) => return None,
            }
        }
        let _ = self.child.kill();
        self.child.wait().ok()
    }

    fn last_words(&mut self) -> Vec<String> {
        let mut text = String::new();
        let read = self.log.seek(SeekFrom::Start(0));
        if read
            .and_then(|_| self.log.read_to_string(&mut text))
            .is_err()
        {
            return Vec::new();
        }
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].to_vec()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end(END_TIMEOUT);
    }
}

fn arguments(seed: u64, control: &UnixStream, nodes: &[LinkNode]) -> Arguments {
    let port = |node: &LinkNode| PortArgument {
        name: node.name.clone(),
        address: node.address,
        tun: node.tun.as_raw_fd(),
    };
    Arguments {
        seed,
        control: control.as_raw_fd(),
        ports: nodes.iter().map(port).collect(),
    }
}

fn inherited(arguments: &Arguments) -> Vec<RawFd> {
    let tuns = arguments.ports.iter().map(|port| port.tun);
    tuns.chain([arguments.control]).collect()
}

/// Leaves these files, and no others, open in the command's program. They stay close-on-exec in
/// this process, so that a server started at the same moment on another thread gets none of them.
fn inherit(command: &mut Command, files: Vec<RawFd>) {
    let keep_open = move || {
        for file in &files {
            // SAFETY: the caller keeps them open until the command has been spawned.
            let file = unsafe { BorrowedFd::borrow_raw(*file) };
            fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        Ok(())
    };
    // SAFETY: only system calls that are allowed between fork and exec; nothing is allocated.
    unsafe {
        command.pre_exec(keep_open);
    }
}
