//! The parent's side of the switch.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::error::{Result, Tried, breakdown};
use crate::lab::child::{Child, Manner};
use crate::lab::netns::Netns;

use super::probe::{Probe, median};
use super::stream::{Kept, streams};
use super::wire::{Arguments, PortArgument, Reply, Request};
use super::{Keep, LinkSetting, PairSetting, SwitchCounters};

/// The switch answers within a millisecond unless it is stopped or starved.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
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
/// sees the end of its input.
#[derive(Debug)]
pub struct Switch {
    pid: u32,
    notes: Vec<String>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    child: Child,
    /// Where the switch keeps packets.
    kept: File,
    addresses: BTreeMap<String, Ipv4Addr>,
    settings: Vec<PairSetting>,
    floor: Duration,
}

impl Switch {
    /// Starts a switch between `nodes` and waits until it forwards packets; links do nothing at
    /// first. The nodes' devices are its own from now on, and go with it.
    ///
    /// # Errors
    /// A breakdown with the switch's last words if it does not come up.
    pub fn start_with(options: &SwitchOptions, nodes: Vec<LinkNode>) -> Result<Switch> {
        let tried = "start the link switch";
        let mut inner = Inner::spawn(options, &nodes)?;
        let notes = match inner.ask(tried, &Request::Hello)? {
            Reply::Ready(notes) => notes,
            other => return Err(inner.child.unexpected(tried, &other)),
        };
        Ok(Switch {
            pid: inner.child.pid(),
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

    /// A breakdown with its last words if the switch has died.
    pub fn check_alive(&self) -> Result<()> {
        self.lock().child.check_alive("let packets through")
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
        let tried = "read the link counters";
        let mut inner = self.lock();
        match inner.ask(tried, &Request::Counters)? {
            Reply::Counters(counters) => Ok(counters),
            other => Err(inner.child.unexpected(tried, &other)),
        }
    }

    /// Keeps what these streams hand over from now on, and no others; without any, nothing.
    ///
    /// # Errors
    /// A breakdown if a node is unknown (then nothing is kept) or the switch has died.
    pub fn keep(&self, wanted: &[Keep]) -> Result<()> {
        self.lock().keep(wanted)
    }

    /// What has been handed over to the devices of those who receive the streams, since they were
    /// asked to be kept. They are kept further.
    ///
    /// # Errors
    /// A breakdown if the switch has died.
    pub fn kept(&self) -> Result<Kept> {
        self.lock().kept()
    }

    /// The setting in force between two nodes, as asked.
    pub fn setting(&self, from: &str, to: &str) -> LinkSetting {
        self.lock().setting(from, to).setting
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
    fn spawn(options: &SwitchOptions, nodes: &[LinkNode]) -> Result<Inner> {
        let kept = memfd_create("acklab-kept", MFdFlags::MFD_CLOEXEC);
        let kept = kept.tried(|| "make room for what links carry".to_owned())?;
        let arguments = arguments(options.seed, &kept, nodes);
        let mut command = Command::new(&options.program);
        command.arg0("acklab").arg("switch");
        command.args(arguments.to_words());
        let tuns = arguments.ports.iter().map(|port| port.tun);
        inherit(&mut command, tuns.chain(arguments.kept).collect());
        let manner = Manner {
            name: "the link switch".to_owned(),
            answer_limit: Some(ANSWER_LIMIT),
            ends_itself: true,
        };
        Ok(Inner {
            child: Child::spawn(command, manner)?,
            kept: File::from(kept),
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

    fn keep(&mut self, wanted: &[Keep]) -> Result<()> {
        let tried = "keep what links carry";
        self.ask(tried, &Request::Keep(Vec::new()))?;
        // Giving back much memory takes a while, for which packets would wait in the switch.
        self.kept.set_len(0).tried(|| tried.to_owned())?;
        if !wanted.is_empty() {
            self.ask(tried, &Request::Keep(wanted.to_vec()))?;
        }
        Ok(())
    }

    fn kept(&mut self) -> Result<Kept> {
        let tried = "read what links carried";
        let (bytes, lost) = match self.ask(tried, &Request::Kept)? {
            Reply::Kept { bytes, lost } => (bytes, lost),
            other => return Err(self.child.unexpected(tried, &other)),
        };
        let mut packets = vec![0; bytes as usize];
        let read = self.kept.read_exact_at(&mut packets, 0);
        read.tried(|| tried.to_owned())?;
        Ok(Kept {
            streams: streams(&packets),
            lost,
        })
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
        match self.child.ask(tried, request)? {
            Reply::Refused(reason) => Err(breakdown(tried, reason)),
            reply => Ok(reply),
        }
    }
}

fn arguments(seed: u64, kept: &OwnedFd, nodes: &[LinkNode]) -> Arguments {
    let port = |node: &LinkNode| PortArgument {
        name: node.name.clone(),
        address: node.address,
        tun: node.tun.as_raw_fd(),
    };
    Arguments {
        seed,
        kept: Some(kept.as_raw_fd()),
        ports: nodes.iter().map(port).collect(),
    }
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
