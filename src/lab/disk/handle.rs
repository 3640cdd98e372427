//! Pid 1's side of a volume: what a node's data directory stands on.
//!
//! ```text
//! data directory ── ext4 ── loop device ── image (FUSE) ── volume process ── copies elsewhere
//! ```
//!
//! Whoever dies, nothing is left: the process is a child and ends with its input; without it the
//! file system above gets errors, not silence; the loop device clears itself, and the FUSE mount is
//! nowhere.
//!
//! A volume may have copies, each the volume of a node of its own: see [`Volume::follow`].

mod image;
mod replica;
mod trouble;

use std::fs::{self, File};
use std::net::{SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::busy;
use super::copies::Change;
use super::counters::VolumeCounters;
use super::ext4;
use super::fuse::IMAGE;
use super::loop_device::LoopDevice;
use super::probe::{Samples, probe};
use super::process::Process;
use super::replica::COPY_PORT;
use super::store::CutReport;
use super::wire::{Opening, Reply, Request};
use crate::error::{Error, Result, Tried, breakdown};
use crate::lab::link::median;
use crate::lab::link::realtime::now_ns;
use crate::lab::netns::Place;
use crate::study::disk::{Disk, ImagePlace, PowerCut};

/// How long those who use the file system may take to go after they were told, or killed.
const UNMOUNT_LIMIT: Duration = Duration::from_secs(10);
/// Power that fails on several disks at once fails so long after they are told,
const HALT_AHEAD: Duration = Duration::from_millis(20);
/// and what is done at the same moment is begun so long before: it takes about as long.
const AT_ONCE: Duration = Duration::from_micros(500);
/// As [`UNMOUNT_LIMIT`], when nobody waits for the result.
const LEAVE_LIMIT: Duration = Duration::from_secs(1);

/// When disks lost their power, of each in µs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Halted {
    /// After the moment that was meant for all.
    pub late_us: Vec<u64>,
    /// After what was to be done at that moment was done; below 0 before it.
    pub after_us: Vec<i64>,
}

/// A volume to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeSpec {
    /// Size of the image.
    pub bytes: u64,
    /// Where the image is kept.
    pub images: ImagePlace,
    pub disk: Disk,
    /// Folder at which the file system is mounted; made if need be.
    pub mount_point: PathBuf,
    /// Of delays drawn by chance.
    pub seed: u64,
}

/// A node's volume. Dropped, it is unmounted and ended; who still uses it then gets errors.
#[derive(Debug)]
pub struct Volume {
    name: String,
    mount_point: PathBuf,
    pid: u32,
    notes: Vec<String>,
    /// Size of the image.
    bytes: u64,
    /// Where it listens, if it is one of several copies.
    address: Option<SocketAddr>,
    /// What befell it, not told yet.
    changes: Mutex<Vec<Change>>,
    /// Held while something is mounted or unmounted, which may take as long as the disk does.
    stand: Mutex<Stand>,
    /// Never held for longer than the process takes to answer, so that the power can always be cut.
    process: Mutex<Process>,
}

/// What stands on the image.
#[derive(Debug)]
struct Stand {
    is_mounted: bool,
}

impl Volume {
    /// Starts a volume of that place: makes the image and a file system on it, and mounts it. As
    /// [`Volume::start_with`] by this very program.
    pub fn start(spec: VolumeSpec, place: &Place) -> Result<Volume> {
        Volume::start_with(Path::new("/proc/self/exe"), spec, place)
    }

    /// The same by another acklab program; tests are none themselves.
    ///
    /// # Errors
    /// Mistakes if this machine has no free loop device or no mkfs.ext4 (see [`super::missing`]), a
    /// breakdown if anything else fails. Nothing is left then.
    pub fn start_with(program: &Path, spec: VolumeSpec, place: &Place) -> Result<Volume> {
        let volume = Volume::open(program, &spec, place, None)?;
        volume.show_new(&mut volume.stand())?;
        volume.set_upkeep(false)?;
        Ok(volume)
    }

    /// Starts the process, and has it make the image, in upkeep.
    fn open(
        program: &Path,
        spec: &VolumeSpec,
        place: &Place,
        address: Option<SocketAddrV4>,
    ) -> Result<Volume> {
        let mount_point = spec.mount_point.clone();
        fs::create_dir_all(&mount_point).tried(|| format!("make {}", mount_point.display()))?;
        let mut process = Process::spawn(program, place)?;
        let notes = open_image(&mut process, spec, address)?;
        Ok(Volume {
            name: place.name.clone(),
            mount_point,
            pid: process.pid(),
            notes,
            bytes: spec.bytes,
            address: address.map(SocketAddr::from),
            changes: Mutex::default(),
            stand: Mutex::new(Stand { is_mounted: false }),
            process: Mutex::new(process),
        })
    }

    /// Where the file system is.
    pub fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Its process, for CPU accounts.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What the kernel refused the volume (real-time priority, say), as whole sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Another pace, for requests that come from now on.
    ///
    /// # Errors
    /// A breakdown if the volume has ended.
    pub fn set(&self, disk: Disk) -> Result<()> {
        self.tell("set the disk", &Request::Set(disk))
    }

    /// In upkeep no request takes time, and none is counted. A volume that shows its file system is
    /// not in upkeep; one that follows begins in it, so that making the file system takes no time
    /// there either, and is to be taken out of it by whoever has made the whole volume.
    ///
    /// # Errors
    /// A breakdown if the volume has ended.
    pub fn set_upkeep(&self, is_upkeep: bool) -> Result<()> {
        self.tell("hand over the disk", &Request::Upkeep(is_upkeep))
    }

    /// All that was counted since the start, upkeep left out.
    ///
    /// # Errors
    /// A breakdown if the volume has ended.
    pub fn counters(&self) -> Result<VolumeCounters> {
        let counted = self.process().counters()?;
        let stand = self.stand();
        let mounted = stand.is_mounted.then_some(&self.mount_point);
        Ok(VolumeCounters {
            busy_ms: mounted.and_then(|at| busy::busy_ms(at)),
            ..counted
        })
    }

    /// A breakdown with its last words if the volume has ended.
    pub fn check_alive(&self) -> Result<()> {
        self.process().check_alive("use the disk")
    }

    /// Median times, in µs, of a direct 4 KiB overwrite and of the flush after it, as got by a
    /// user of the file system. For quiet moments; it counts as any other use.
    ///
    /// # Errors
    /// A breakdown if the disk fails, with the volume's last words if that is why.
    pub fn probe(&self, count: usize) -> Result<(f64, f64)> {
        let samples = self.samples(count)?;
        let middle = |us: &[f64]| median(us).unwrap_or_default();
        Ok((middle(&samples.write_us), middle(&samples.flush_us)))
    }

    /// The times of which [`Volume::probe`] tells the medians.
    ///
    /// # Errors
    /// As there; and if the disk stalls, on which a probe would wait for ever.
    pub fn samples(&self, count: usize) -> Result<Samples> {
        self.check_moves("probe the disk")?;
        // Without a lock: the disk may be slow, and the power may fail meanwhile.
        let probed = probe(&self.mount_point, count);
        probed.or_else(|error| {
            self.check_alive()?;
            Err(error).tried(|| format!("probe the disk of {}", self.name))
        })
    }

    /// The power fails: every request that is not answered yet, and every further one, gets an
    /// error. What has become durable by now is what a cut that drops all would leave. A copy hears
    /// and says nothing any more.
    ///
    /// # Errors
    /// A breakdown if the volume has ended.
    pub fn freeze(&self) -> Result<()> {
        self.tell("cut the power", &Request::Freeze)
    }

    /// The power of several fails at one moment, and nobody is told: whoever asks waits, as for a
    /// machine that is gone, until [`Volume::freeze`]. `at_once` is done at the same moment.
    ///
    /// # Errors
    /// As there, and those of `at_once`.
    pub fn halt_all(volumes: &[&Volume], at_once: impl FnOnce() -> Result<()>) -> Result<Halted> {
        let at_ns = now_ns() + HALT_AHEAD.as_nanos() as u64;
        std::thread::scope(|scope| {
            let halt = |volume| scope.spawn(move || Volume::halt_at(volume, at_ns));
            let halting: Vec<_> = volumes.iter().map(|volume| halt(*volume)).collect();
            let begin_ns = at_ns - AT_ONCE.as_nanos() as u64;
            std::thread::sleep(Duration::from_nanos(begin_ns.saturating_sub(now_ns())));
            let done = at_once().map(|()| now_ns());
            let ended = |thread: std::thread::ScopedJoinHandle<'_, Result<u64>>| {
                let none = |_| Err(breakdown("cut the power", "a thread has panicked"));
                thread.join().unwrap_or_else(none)
            };
            let halted_ns: Vec<u64> = halting.into_iter().map(ended).collect::<Result<_>>()?;
            let done_ns = done?;
            let after_us = |ns: &u64| (*ns as i64 - done_ns as i64) / 1_000;
            Ok(Halted {
                late_us: halted_ns
                    .iter()
                    .map(|ns| ns.saturating_sub(at_ns) / 1_000)
                    .collect(),
                after_us: halted_ns.iter().map(after_us).collect(),
            })
        })
    }

    /// At that time of the machine's monotonic clock, which all processes share, in ns; when it
    /// was.
    fn halt_at(&self, at_ns: u64) -> Result<u64> {
        self.ask(
            "cut the power",
            &Request::HaltAt(at_ns),
            |reply| match reply {
                Reply::Halted(halted_ns) => Ok(halted_ns),
                other => Err(other),
            },
        )
    }

    /// Cuts the power, if [`Volume::freeze`] has not, decides what survives, and mounts that: the
    /// journal is replayed, the file system checked. To be called when the server has been killed;
    /// whoever still has files open is waited for.
    ///
    /// One of several copies follows afterwards, and shows nothing, even if it was the head.
    ///
    /// # Errors
    /// A breakdown if files stay open, if the journal cannot be replayed, or if e2fsck finds
    /// anything afterwards. The volume is of no use then.
    pub fn cut_power(&self, cut: PowerCut) -> Result<CutReport> {
        self.freeze()?;
        let mut stand = self.stand();
        if stand.is_mounted {
            self.unmount(&mut stand, UNMOUNT_LIMIT)?;
        }
        let report = self.cut(cut)?;
        if self.address.is_none() {
            self.show_recovered(&mut stand)?;
        }
        self.set_upkeep(false)?;
        Ok(report)
    }

    fn stand(&self) -> MutexGuard<'_, Stand> {
        self.stand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, Vec<Change>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, tried: &str, request: &Request) -> Result<()> {
        self.process().tell(tried, request)
    }

    /// Shows a new file system.
    fn show_new(&self, stand: &mut Stand) -> Result<()> {
        let device = self.attach()?;
        self.blame(ext4::make(device.path(), self.bytes))?;
        self.mount(stand, &device)
    }

    /// Shows the file system that is there, as after a crash.
    fn show_recovered(&self, stand: &mut Stand) -> Result<()> {
        let device = self.attach()?;
        // Replays the journal.
        self.mount(stand, &device)?;
        self.unmount(stand, UNMOUNT_LIMIT)?;
        self.blame(ext4::check(device.path()))?;
        self.mount(stand, &device)
    }

    /// Has the image served, and attaches a loop device to it.
    ///
    /// The file is opened here, not by the volume: a process killed while it waits for itself can
    /// never end.
    fn attach(&self) -> Result<LoopDevice> {
        let tried = "serve the image of a disk";
        let mount_fd = self.ask(tried, &Request::Serve, |reply| match reply {
            Reply::Serving(mount_fd) => Ok(mount_fd),
            other => Err(other),
        })?;
        let path = format!("/proc/{}/fd/{mount_fd}/{IMAGE}", self.pid);
        let image = File::options().read(true).write(true).open(&path);
        let image =
            self.blame(image.tried(|| format!("open {path}, the image of {}", self.name)))?;
        self.tell(tried, &Request::LetGo)?;
        self.blame(LoopDevice::attach(&image, &format!("acklab {}", self.name)))
    }

    fn mount(&self, stand: &mut Stand, device: &LoopDevice) -> Result<()> {
        self.blame(ext4::mount(device.path(), &self.mount_point))?;
        stand.is_mounted = true;
        Ok(())
    }

    fn unmount(&self, stand: &mut Stand, patience: Duration) -> Result<()> {
        self.blame(ext4::unmount(&self.mount_point, patience))?;
        stand.is_mounted = false;
        Ok(())
    }

    fn cut(&self, cut: PowerCut) -> Result<CutReport> {
        let tried = "decide what survives the power cut";
        self.ask(tried, &Request::Cut(cut), |reply| match reply {
            Reply::Cut(report) => Ok(report),
            other => Err(other),
        })
    }

    /// Asks for a reply of one kind.
    fn ask<T>(
        &self,
        tried: &str,
        request: &Request,
        of_kind: impl FnOnce(Reply) -> std::result::Result<T, Reply>,
    ) -> Result<T> {
        let mut process = self.process();
        let reply = process.ask(tried, request)?;
        of_kind(reply).map_err(|other| process.unexpected(tried, &other))
    }

    /// If something failed and the volume has ended, that is why.
    fn blame<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|error: Error| self.check_alive().err().unwrap_or(error))
    }
}

/// Makes the image; what the kernel refused comes back.
fn open_image(
    process: &mut Process,
    spec: &VolumeSpec,
    listen: Option<SocketAddrV4>,
) -> Result<Vec<String>> {
    // The volume has another current folder than we.
    let absolute =
        |folder: &String| std::path::absolute(folder).tried(|| format!("find the folder {folder}"));
    let folder = match &spec.images {
        ImagePlace::Memory => None,
        ImagePlace::Folder(folder) => Some(absolute(folder)?),
    };
    let opening = Opening {
        bytes: spec.bytes,
        folder,
        disk: spec.disk,
        seed: spec.seed,
        listen,
    };
    let tried = "make the image of a disk";
    match process.ask(tried, &Request::Open(opening))? {
        Reply::Ready(notes) => Ok(notes),
        other => Err(process.unexpected(tried, &other)),
    }
}

impl Drop for Volume {
    /// In order, so that nothing is written to a disk that has gone: but in a hurry, for nobody
    /// will read it. With copies, which may be out of reach, not even that is waited for.
    fn drop(&mut self) {
        let mut stand = self.stand();
        if !stand.is_mounted {
            return;
        }
        let _ = match self.address {
            Some(_) => self.freeze(),
            None => self.go_on().and_then(|()| self.set_upkeep(true)),
        };
        if self.unmount(&mut stand, LEAVE_LIMIT).is_err() {
            ext4::detach(&self.mount_point);
        }
    }
}
