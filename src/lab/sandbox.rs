//! A sandbox that cannot leak: pid 1 of new pid, mount and network namespaces.
//!
//! ```text
//! front end ──fork──> keeper (own session) ──fork──> pid 1 ──> servers, switch, driver
//!     └── lifeline: a pipe; a byte means "stop soon", end-of-file means "the front end is gone"
//! ```
//!
//! When pid 1 dies, even by SIGKILL, the kernel ends every process below it and takes down every
//! interface and mount. The keeper outlives it by a moment, to remove the run folder. A run folder
//! whose keeper died as well is removed by the next command: its lock is free.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::OFlag;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, pipe2, setsid};

use super::memory;
use super::relay::Relay;
use super::run_folder::{RunFolder, started_ticks_in};
use crate::error::{Result, Tried, breakdown};

/// Where everything of the lab is mounted inside the sandbox: a private tmpfs.
pub const INSIDE: &str = "/run/acklab";

/// User and group id that servers run as, outside the ranges that Debian hands out.
pub const SERVER_UID: u32 = 64_198;

/// Set when the user asked to stop.
static STOP_ASKED: AtomicBool = AtomicBool::new(false);

/// Set when the front end may go and the sandbox stays.
static RELEASED: AtomicBool = AtomicBool::new(false);

/// Whether the user asked to stop (Ctrl-C, SIGTERM).
pub fn stop_asked() -> bool {
    STOP_ASKED.load(Ordering::Relaxed)
}

/// Hears Ctrl-C and SIGTERM: the first asks to stop, and is handed on where there is a sandbox; the
/// second ends this process at once.
pub fn hear_requests_to_stop() {
    at_requests_to_stop(SigHandler::Handler(hand_on_stop));
}

fn at_requests_to_stop(handler: SigHandler) {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let action = SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty());
        // SAFETY: a handler here makes async-signal-safe system calls, or none.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

/// What is done before a second request to stop ends the front end at once.
static AT_ABRUPT_END: OnceLock<fn()> = OnceLock::new();

/// Has something done before a second request to stop ends everything at once. Only the first such
/// call counts. It is done in a signal's handler: it may only make system calls.
pub fn at_abrupt_end(act: fn()) {
    let _ = AT_ABRUPT_END.set(act);
}

/// How long the sandbox lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Ends with the front end.
    FrontEnd,
    /// Goes on after the front end has left, until `acklab down`.
    Detached,
}

/// What `work` is given inside the sandbox.
pub struct Inside {
    /// The run folder as seen inside.
    pub run: PathBuf,
    /// Tells the front end of a detached sandbox that it may leave, with this exit code.
    release: Option<File>,
}

impl Inside {
    /// Lets the front end of a detached sandbox leave with `code`.
    pub fn release_front_end(&mut self, code: u8) {
        if let Some(mut pipe) = self.release.take() {
            RELEASED.store(true, Ordering::SeqCst);
            let _ = pipe.write_all(&[code]);
        }
    }
}

/// Runs `work` as pid 1 of a new sandbox and returns its exit code.
///
/// Must be called before the process has started any thread. `cache` becomes visible inside as
/// `/run/acklab/cache`, the run folder as `/run/acklab/run`.
///
/// # Errors
/// A breakdown if the kernel refuses the namespaces or a mount.
pub fn run(cache: &Path, lifetime: Lifetime, work: impl FnOnce(&mut Inside) -> u8) -> Result<u8> {
    run_watched(cache, lifetime, work, || ())
}

/// The same, and the front end watches meanwhile: what it begins for that, which may be threads, is
/// dropped when the sandbox has ended.
///
/// # Errors
/// As above.
pub fn run_watched<T>(
    cache: &Path,
    lifetime: Lifetime,
    work: impl FnOnce(&mut Inside) -> u8,
    watch: impl FnOnce() -> T,
) -> Result<u8> {
    // Servers and other programs of the lab have no business with these.
    let lifeline = pipe2(OFlag::O_CLOEXEC).tried(|| "make a pipe".into())?;
    let verdict = pipe2(OFlag::O_CLOEXEC).tried(|| "make a pipe".into())?;
    LIFELINE.store(lifeline.1.as_raw_fd(), Ordering::Relaxed);
    // From before there is anything that could be left.
    hear_requests_to_stop();
    let folder = RunFolder::create(cache)?;
    let relay = (lifetime == Lifetime::Detached)
        .then(Relay::create)
        .transpose()?;
    // SAFETY: the process has a single thread, so the child may do anything.
    match unsafe { fork() }.tried(|| "fork the keeper".into())? {
        ForkResult::Child => {
            drop((lifeline.1, verdict.0, watch));
            let ends = KeeperEnds {
                lifeline: lifeline.0,
                verdict: verdict.1,
                relay,
            };
            std::process::exit(keep(cache, &folder, ends, work).into());
        }
        ForkResult::Parent { child } => {
            // Only the sandbox holds the work's own ends of pipes.
            drop((lifeline.0, verdict.1, work));
            let _watching = watch();
            Ok(front(child, lifeline.1, verdict.0, relay))
        }
    }
}

/// The front end: waits for the exit code.
fn front(keeper: Pid, lifeline: OwnedFd, verdict: OwnedFd, mut relay: Option<Relay>) -> u8 {
    if let Some(relay) = &mut relay {
        pass_on_until_heard(relay, &verdict);
    }
    let mut code = [4u8];
    let heard = File::from(verdict).read(&mut code).unwrap_or(0);
    if heard == 0 {
        // The keeper ended without a word: wait so that its folder is gone when we are.
        let _ = waitpid(keeper, None);
        return 4;
    }
    let stays = relay.is_some() && code[0] == 0;
    let _ = waitpid(keeper, stays.then_some(WaitPidFlag::WNOHANG));
    drop(lifeline);
    code[0]
}

/// Prints what the sandbox says until there is a verdict, or nobody left to give one.
fn pass_on_until_heard(relay: &mut Relay, verdict: &OwnedFd) {
    let mut is_heard = false;
    while !is_heard {
        let mut fds = [PollFd::new(verdict.as_fd(), PollFlags::POLLIN)];
        // Also left by a signal, whose handler has been run then.
        is_heard = poll(&mut fds, PollTimeout::from(100u8)).is_ok_and(|count| count > 0);
        relay.pass_on();
    }
}

static LIFELINE: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(-1);

/// The first request ends the run in order, at its next step; the second ends everything at once.
extern "C" fn hand_on_stop(_signal: libc::c_int) {
    if STOP_ASKED.swap(true, Ordering::Relaxed) {
        if let Some(act) = AT_ABRUPT_END.get() {
            act();
        }
        // SAFETY: _exit(2) is async-signal-safe.
        unsafe { libc::_exit(130) };
    }
    let byte = [b's'];
    // SAFETY: write(2) on a descriptor that stays open as long as the handler is installed.
    unsafe { libc::write(LIFELINE.load(Ordering::Relaxed), byte.as_ptr().cast(), 1) };
}

/// Whoever ends a job of a scheduler sends SIGTERM to all its processes. The front end hands that
/// on; the keeper stays to clean up.
extern "C" fn outlive(_signal: libc::c_int) {}

struct KeeperEnds {
    lifeline: OwnedFd,
    verdict: OwnedFd,
    /// Only a detached sandbox has one.
    relay: Option<Relay>,
}

/// The keeper: makes the namespaces, waits for pid 1, removes the folder, tells the exit code.
fn keep(
    cache: &Path,
    folder: &RunFolder,
    ends: KeeperEnds,
    work: impl FnOnce(&mut Inside) -> u8,
) -> u8 {
    let _ = setsid();
    at_requests_to_stop(SigHandler::Handler(outlive));
    let mut verdict = File::from(ends.verdict);
    if let Some(relay) = &ends.relay {
        relay.stand_in();
    }
    let is_detached = ends.relay.is_some();
    let outcome = launch(cache, folder, ends.lifeline, &verdict, is_detached, work);
    let code = match outcome {
        Ok(pid) => {
            let code = wait_for(pid);
            let _ = let_go_of_mounts();
            code
        }
        Err(error) => {
            eprintln!("acklab: {error}");
            error.exit_code()
        }
    };
    if memory::sweep(&folder.path, memory::patience()) {
        let _ = fs::remove_dir_all(&folder.path);
    }
    let _ = verdict.write_all(&[code]);
    code
}

/// The keeper shares pid 1's mounts, and outlives it: a killed pid 1 leaves them, and a folder on
/// which a disk is mounted cannot be removed.
fn let_go_of_mounts() -> nix::Result<()> {
    if !Path::new(INSIDE).exists() {
        // It died before it had mounted anything.
        return Ok(());
    }
    // Whatever has been done by now: the host's own mounts must be out of reach.
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    umount2("/run", MntFlags::MNT_DETACH)
}

fn wait_for(pid: Pid) -> u8 {
    loop {
        match waitpid(pid, None) {
            Ok(WaitStatus::Exited(_, code)) => return u8::try_from(code).unwrap_or(4),
            Ok(WaitStatus::Signaled(..)) | Err(nix::errno::Errno::ECHILD) => return 4,
            _ => {}
        }
    }
}

fn launch(
    cache: &Path,
    folder: &RunFolder,
    lifeline: OwnedFd,
    verdict: &File,
    is_detached: bool,
    work: impl FnOnce(&mut Inside) -> u8,
) -> Result<Pid> {
    let flags = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET;
    // Pid 1 shares our mounts, and may cover `/proc` before we have looked at it there.
    let proc = File::open("/proc").tried(|| "open /proc".into())?;
    unshare(flags)
        .tried(|| "make new pid, mount and network namespaces (root is needed)".into())?;
    // SAFETY: still a single thread.
    match unsafe { fork() }.tried(|| "fork pid 1".into())? {
        ForkResult::Parent { child } => {
            let unseen = || breakdown("see pid 1 of the sandbox", "/proc does not show it");
            let ticks = started_ticks_in(&proc, child.as_raw()).ok_or_else(unseen)?;
            fs::write(folder.path.join("pid"), format!("{child} {ticks}"))
                .tried(|| "write the sandbox's pid".into())?;
            Ok(child)
        }
        ForkResult::Child => {
            drop(proc);
            // The kernel keeps such signals from a pid 1 without handlers.
            at_requests_to_stop(SigHandler::SigDfl);
            // The keeper has one thread, so that its death and that thread's are the same.
            let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
            let code = inside(cache, folder, lifeline, verdict, is_detached, work).unwrap_or_else(
                |error| {
                    eprintln!("acklab: {error}");
                    error.exit_code()
                },
            );
            std::process::exit(code.into());
        }
    }
}

/// Pid 1.
fn inside(
    cache: &Path,
    folder: &RunFolder,
    lifeline: OwnedFd,
    verdict: &File,
    is_detached: bool,
    work: impl FnOnce(&mut Inside) -> u8,
) -> Result<u8> {
    arrange_mounts(cache, folder)?;
    let release = verdict.try_clone().tried(|| "copy a descriptor".into())?;
    let mut inside = Inside {
        run: Path::new(INSIDE).join("run"),
        release: is_detached.then_some(release),
    };
    raise_file_limit();
    watch_lifeline(File::from(lifeline));
    Ok(work(&mut inside))
}

/// Thousands of clients need thousands of descriptors, in the servers and in the driver.
fn raise_file_limit() {
    use nix::sys::resource::{Resource, setrlimit};
    let _ = setrlimit(Resource::RLIMIT_NOFILE, 65_536, 65_536);
}

/// A byte asks to stop soon; end-of-file ends pid 1, and with it everything in the sandbox.
fn watch_lifeline(mut lifeline: File) {
    std::thread::spawn(move || {
        let mut byte = [0u8];
        while lifeline.read(&mut byte).unwrap_or(0) == 1 {
            STOP_ASKED.store(true, Ordering::Relaxed);
        }
        if !RELEASED.load(Ordering::SeqCst) {
            std::process::exit(4);
        }
    });
}

/// `/proc` of the new pid namespace, a private `/run`, cache and run folder where an ordinary user
/// can read them, and a passwd file in which that user has a name.
fn arrange_mounts(cache: &Path, folder: &RunFolder) -> Result<()> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .tried(|| "make mounts private".into())?;
    // Held open first: the tmpfs may cover the very folders.
    let cache_fd = File::open(cache).tried(|| format!("open {}", cache.display()))?;
    let run_fd = File::open(&folder.path).tried(|| format!("open {}", folder.path.display()))?;
    let inside = Path::new(INSIDE);
    mount(
        Some("tmpfs"),
        "/run",
        Some("tmpfs"),
        MsFlags::MS_NOSUID,
        Some("mode=0755"),
    )
    .tried(|| "mount a private /run".into())?;
    for (fd, name) in [(&cache_fd, "cache"), (&run_fd, "run")] {
        let target = inside.join(name);
        fs::create_dir_all(&target).tried(|| format!("make {}", target.display()))?;
        let source = PathBuf::from(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd()));
        // With whatever is mounted inside: servers may lie on a disk of their own.
        mount(
            Some(&source),
            &target,
            none,
            MsFlags::MS_BIND | MsFlags::MS_REC,
            none,
        )
        .tried(|| format!("bind {} into the sandbox", target.display()))?;
    }
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none)
        .tried(|| "mount /proc".into())?;
    name_server_user(inside)
}

fn name_server_user(inside: &Path) -> Result<()> {
    let lines = [
        (
            "/etc/passwd",
            format!("acklab:x:{SERVER_UID}:{SERVER_UID}::/nonexistent:/bin/sh\n"),
        ),
        ("/etc/group", format!("acklab:x:{SERVER_UID}:\n")),
    ];
    for (path, line) in lines {
        let name = Path::new(path).file_name().unwrap_or_default();
        let copy = inside.join(name);
        let text = fs::read_to_string(path).unwrap_or_default();
        fs::write(&copy, text + &line).tried(|| format!("write {}", copy.display()))?;
        let none: Option<&str> = None;
        mount(Some(&copy), path, none, MsFlags::MS_BIND, none)
            .tried(|| format!("bind {path} into the sandbox"))?;
    }
    Ok(())
}

/// Makes `command` run as the lab's own user. Must be the last preparation: entering a namespace
/// needs root, and preparations run in the order in which they were made.
///
/// The caller's own temporary folder may be closed to that user: servers would not start.
pub fn drop_to_server_user(command: &mut Command) {
    command.env_remove("TMPDIR");
    // SAFETY: only async-signal-safe system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let failed = libc::setgroups(0, std::ptr::null()) != 0
                || libc::setgid(SERVER_UID) != 0
                || libc::setuid(SERVER_UID) != 0;
            if failed {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// Whatever a new data directory is made by runs as the lab's own user.
pub fn as_server_user(command: &mut Command) -> &mut Command {
    drop_to_server_user(command);
    command.env("HOME", "/nonexistent")
}
