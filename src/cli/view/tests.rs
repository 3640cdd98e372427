//! The view on a terminal of its own, in a process of its own.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, setsid};

use super::*;
use crate::lab::sandbox::hear_requests_to_stop;
use crate::run::{Event, Events};

const CHILD: &str = "ACKLAB_TEST_VIEW";
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
/// Nothing here takes so long.
const LIMIT: Duration = Duration::from_secs(60);

/// Not a test: the child of those below. It shows a run, until what it is told happens to it.
#[test]
fn child_that_shows() {
    let Ok(end) = std::env::var(CHILD) else {
        return;
    };
    assert!(Look::of(false).is_live && !Look::of(true).is_live);
    hear_requests_to_stop();
    let (mouth, ear) = pipes().unwrap();
    let start = Instant::now();
    let _watching = Prepared::of(ear).unwrap().begin(start);
    let _standing_in = mouth.stand_in().unwrap();
    let live = Live {
        title: "a study of two ways".to_owned(),
        ..Live::default()
    };
    let events = mouth.listener(live, start);
    eprintln!("a word aside");
    events.tell(Event::LoadingTables);
    await_frame();
    match &end[..] {
        "ends" => events.tell(Event::Finished),
        "panics" => panic!("as it was told"),
        "breaks down" => eprintln!("acklab: could not go on"),
        "quits" => raise(Signal::SIGQUIT).unwrap(),
        "is interrupted twice" => {
            raise(Signal::SIGINT).unwrap();
            raise(Signal::SIGINT).unwrap();
        }
        "rests" => {
            raise(Signal::SIGTSTP).unwrap();
            events.tell(Event::LoadingTables);
            await_frame();
        }
        other => panic!("{other}?"),
    }
}

fn await_frame() {
    let begin = Instant::now();
    while !terminal::is_taken() {
        assert!(begin.elapsed() < LIMIT, "no frame");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A child on a terminal that it is the only one at, and the other end of that.
fn begun(end: &str) -> (Child, File) {
    let size = Winsize {
        ws_row: 24,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(Some(&size), None).unwrap();
    let own = || pty.slave.try_clone().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = "cli::view::tests::child_that_shows";
    command
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, end);
    command.env("TERM", "xterm").env_remove("RUST_BACKTRACE");
    command.stdin(own()).stdout(own()).stderr(own());
    // SAFETY: both only make a system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    };
    (command.spawn().unwrap(), pty.master.into())
}

/// What the terminal got, and how the child ended.
fn ended(end: &str) -> (String, WaitStatus) {
    let (child, master) = begun(end);
    let shown = rest_of(&master);
    (shown, waitpid(pid(&child), None).unwrap())
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

fn rest_of(mut master: &File) -> String {
    let mut shown = Vec::new();
    // Fails when the other end is closed, which is when all has been read.
    let _ = master.read_to_end(&mut shown);
    String::from_utf8_lossy(&shown).into_owned()
}

/// Where it stands last.
fn last(shown: &str, part: &str) -> usize {
    shown
        .rfind(part)
        .unwrap_or_else(|| panic!("no {part:?} in {shown:?}"))
}

#[test]
fn what_is_said_comes_when_the_terminal_is_back() {
    for (end, said) in [("ends", "a word aside"), ("breaks down", "could not go on")] {
        let (shown, status) = ended(end);
        assert!(
            matches!(status, WaitStatus::Exited(_, 0)),
            "{end}: {status:?}"
        );
        let all = [ENTER, "a study of two ways", LEAVE, said];
        let places = all.map(|part| last(&shown, part));
        assert!(places.is_sorted(), "{end}: {places:?} in {shown:?}");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_seen() {
    let (shown, status) = ended("panics");
    assert!(matches!(status, WaitStatus::Exited(_, 101)), "{status:?}");
    let places = [ENTER, LEAVE, "as it was told"].map(|part| last(&shown, part));
    assert!(places.is_sorted(), "{places:?} in {shown:?}");
}

#[test]
fn signals_that_end_everything_give_it_back_first() {
    let (shown, status) = ended("is interrupted twice");
    assert!(matches!(status, WaitStatus::Exited(_, 130)), "{status:?}");
    assert!(last(&shown, ENTER) < last(&shown, LEAVE), "{shown:?}");
    let (shown, status) = ended("quits");
    let is_quit = matches!(status, WaitStatus::Signaled(_, Signal::SIGQUIT, _));
    assert!(is_quit, "{status:?}");
    assert!(last(&shown, ENTER) < last(&shown, LEAVE), "{shown:?}");
}

#[test]
fn whoever_rests_gives_it_back_and_takes_it_again() {
    let (child, master) = begun("rests");
    let status = waitpid(pid(&child), Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert!(
        matches!(status, WaitStatus::Stopped(_, Signal::SIGSTOP)),
        "{status:?}"
    );
    let settings = tcgetattr(&master).unwrap();
    assert!(settings.local_flags.contains(LocalFlags::ECHO));
    kill(pid(&child), Signal::SIGCONT).unwrap();
    let shown = rest_of(&master);
    let status = waitpid(pid(&child), None).unwrap();
    assert!(matches!(status, WaitStatus::Exited(_, 0)), "{status:?}");
    assert_eq!(
        (shown.matches(ENTER).count(), shown.matches(LEAVE).count()),
        (2, 2)
    );
}

/// Lines go to files and pipes.
#[test]
fn nobody_at_a_terminal_has_lines() {
    if std::env::var(CHILD).is_err() && !std::io::stderr().is_terminal() {
        assert!(!Look::of(false).is_live);
    }
}
