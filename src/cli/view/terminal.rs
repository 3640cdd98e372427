//! The terminal: taken for frames, and given back in every case.
//!
//! What gives it back may be called by a signal's handler: it only makes system calls.

use std::fs::File;
use std::io::Result;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::{getpgrp, tcgetpgrp};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::lab::sandbox::at_abrupt_end;
use crate::live::{Live, draw};

/// A second screen; an empty one without a cursor; and back: whatever was begun is ended first.
const ENTER: &[u8] = b"\x1b[?1049h";
const CLEAR: &[u8] = b"\x1b[0m\x1b[?25l\x1b[2J";
const LEAVE: &[u8] = b"\x18\x1b[0m\x1b[?25h\x1b[?1049l";

/// The terminal's descriptor, a copy of our own; -1 before there is one.
static TERMINAL: AtomicI32 = AtomicI32::new(-1);
/// Its settings as they were.
static SETTINGS: OnceLock<libc::termios> = OnceLock::new();
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether all ends at once.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back, if it was taken.
pub fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    write(LEAVE);
    if let Some(settings) = SETTINGS.get() {
        // SAFETY: the settings are whole, and the descriptor is never closed.
        unsafe { libc::tcsetattr(TERMINAL.load(Ordering::SeqCst), libc::TCSANOW, settings) };
    }
}

/// Whether frames stand on it.
#[cfg(test)]
pub fn is_taken() -> bool {
    IS_TAKEN.load(Ordering::SeqCst)
}

/// Takes it for frames; whether it was not taken before.
fn take() -> bool {
    if IS_TAKEN.swap(true, Ordering::SeqCst) {
        return false;
    }
    if let Some(mut settings) = SETTINGS.get().copied() {
        // What somebody types must not stand among the figures. Ctrl-C is heard all the same.
        settings.c_lflag &= !libc::ECHO;
        // SAFETY: as above.
        unsafe { libc::tcsetattr(TERMINAL.load(Ordering::SeqCst), libc::TCSANOW, &settings) };
    }
    write(ENTER);
    true
}

fn write(bytes: &[u8]) {
    // SAFETY: write(2) of bytes that are there, on a descriptor that is never closed.
    unsafe {
        libc::write(
            TERMINAL.load(Ordering::SeqCst),
            bytes.as_ptr().cast(),
            bytes.len(),
        )
    };
}

/// Whether what stands on the terminal is ours to change. Where it is not the one that commands
/// are typed at, nobody else has it.
pub fn is_in_foreground() -> bool {
    let ours = own().unwrap_or(libc::STDERR_FILENO);
    // SAFETY: neither is ever closed.
    let terminal = unsafe { BorrowedFd::borrow_raw(ours) };
    tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
}

fn own() -> Option<i32> {
    let own = TERMINAL.load(Ordering::SeqCst);
    (own >= 0).then_some(own)
}

/// Frames on the terminal.
pub struct Screen {
    /// Where they are written to.
    copy: File,
    /// From the first frame on, and in this place.
    frames: Option<Terminal<CrosstermBackend<File>>>,
    area: Rect,
    /// What these signals did before.
    before: Vec<(Signal, SigAction)>,
}

impl Screen {
    /// Standard error's terminal, which is not taken yet.
    pub fn prepare() -> Result<Screen> {
        let copy = std::io::stderr().as_fd().try_clone_to_owned()?;
        if own().is_none() {
            let own = copy.try_clone()?.into_raw_fd();
            TERMINAL.store(own, Ordering::SeqCst);
            keep_settings(own);
            give_back_when_all_ends();
        }
        Ok(Screen {
            copy: copy.into(),
            frames: None,
            area: Rect::default(),
            before: hear_signals(),
        })
    }

    /// Draws what is known at that moment, where the terminal is ours.
    pub fn draw(&mut self, live: &Live, now: Duration, is_stopping: bool) -> Result<()> {
        if IS_OVER.load(Ordering::SeqCst) || !is_in_foreground() {
            return Ok(());
        }
        let area = size();
        if take() || area != self.area {
            // From nothing: where the cursor stands must not be asked, for nobody reads the answer.
            self.frames = None;
            write(CLEAR);
            self.area = area;
        }
        let frames = match self.frames.take() {
            Some(frames) => frames,
            None => {
                let backend = CrosstermBackend::new(self.copy.try_clone()?);
                let viewport = Viewport::Fixed(area);
                Terminal::with_options(backend, TerminalOptions { viewport })?
            }
        };
        let frames = self.frames.insert(frames);
        let drawn = frames.draw(|frame| draw(frame, live, now, is_stopping));
        drawn.map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
        for (signal, action) in &self.before {
            // SAFETY: what stood there before.
            let _ = unsafe { sigaction(*signal, action) };
        }
    }
}

fn keep_settings(fd: i32) {
    // SAFETY: tcgetattr(3) writes whole settings, or fails.
    let settings = unsafe {
        let mut settings = std::mem::zeroed::<libc::termios>();
        (libc::tcgetattr(fd, &mut settings) == 0).then_some(settings)
    };
    if let Some(settings) = settings {
        let _ = SETTINGS.set(settings);
    }
}

/// Nothing is drawn any more.
fn give_back_for_good() {
    IS_OVER.store(true, Ordering::SeqCst);
    give_back();
}

/// A second Ctrl-C, and a panic: its message is to be seen.
fn give_back_when_all_ends() {
    at_abrupt_end(give_back_for_good);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        before(panic);
    }));
}

/// In columns and rows.
fn size() -> Rect {
    let own = TERMINAL.load(Ordering::SeqCst);
    // SAFETY: the ioctl writes a whole value, or fails.
    let size = unsafe {
        let mut size = std::mem::zeroed::<libc::winsize>();
        (libc::ioctl(own, libc::TIOCGWINSZ, &mut size) == 0).then_some(size)
    };
    let (columns, rows) = size.map_or((0, 0), |size| (size.ws_col, size.ws_row));
    match columns > 0 && rows > 0 {
        true => Rect::new(0, 0, columns, rows),
        false => Rect::new(0, 0, 80, 24),
    }
}

/// Ctrl-Z and Ctrl-\ give the terminal back first; what they did before.
fn hear_signals() -> Vec<(Signal, SigAction)> {
    let heard: [(Signal, extern "C" fn(libc::c_int)); 2] =
        [(Signal::SIGTSTP, rest), (Signal::SIGQUIT, quit)];
    let hear = |(signal, handler): (Signal, extern "C" fn(libc::c_int))| {
        let handler = SigHandler::Handler(handler);
        let action = SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty());
        // SAFETY: the handlers only make system calls.
        let before = unsafe { sigaction(signal, &action) };
        before.ok().map(|before| (signal, before))
    };
    heard.into_iter().filter_map(hear).collect()
}

/// Stands still until it goes on; the next frame takes the terminal again.
extern "C" fn rest(_signal: libc::c_int) {
    give_back();
    // SAFETY: raise(3) is async-signal-safe.
    unsafe { libc::raise(libc::SIGSTOP) };
}

extern "C" fn quit(signal: libc::c_int) {
    give_back_for_good();
    // SAFETY: both are async-signal-safe; the signal comes when this one has been handled.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
