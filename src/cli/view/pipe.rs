//! From a run to whoever shows it: its state, and all that it says.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::pipe2;

use crate::error::{Result, Tried};
use crate::live::Live;
use crate::run::{Event, Events};

/// The run's end.
pub struct Mouth {
    states: File,
    words: OwnedFd,
}

/// The view's end; what is closed is gone.
pub struct Ear {
    states: Option<File>,
    words: Option<File>,
}

/// Both ends. To be made before the fork.
///
/// # Errors
/// A breakdown if there are no descriptors left.
pub fn pipes() -> Result<(Mouth, Ear)> {
    let what = || "make a pipe".to_owned();
    let (states, to_states) = plain().tried(what)?;
    let (words, to_words) = plain().tried(what)?;
    for end in [states.as_fd(), words.as_fd(), to_states.as_fd()] {
        fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).tried(what)?;
    }
    let mouth = Mouth {
        states: to_states.into(),
        words: to_words,
    };
    let ear = Ear {
        states: Some(states.into()),
        words: Some(words.into()),
    };
    Ok((mouth, ear))
}

/// The end to read from, and the one to write to.
pub fn plain() -> nix::Result<(OwnedFd, OwnedFd)> {
    pipe2(OFlag::O_CLOEXEC)
}

impl Mouth {
    /// From here on what is said on standard error is heard there, until the value is dropped.
    ///
    /// # Errors
    /// A breakdown if there are no descriptors left.
    pub fn stand_in(&self) -> Result<StandIn> {
        let before = std::io::stderr().as_fd().try_clone_to_owned();
        let before = before.tried(|| "copy standard error".to_owned())?;
        set_standard_error(self.words.as_fd());
        Ok(StandIn { before })
    }

    /// Hears a run that began at `start`, and sends what is known of it.
    pub fn listener(self, live: Live, start: Instant) -> Sender {
        Sender {
            live: RefCell::new(live),
            start,
            latest: RefCell::new(Latest::to(self.states)),
        }
    }
}

/// Standard error as it was before, to be put back.
pub struct StandIn {
    before: OwnedFd,
}

impl Drop for StandIn {
    fn drop(&mut self) {
        set_standard_error(self.before.as_fd());
    }
}

fn set_standard_error(to: BorrowedFd) {
    // SAFETY: dup2(2) onto a descriptor that no Rust value owns.
    unsafe { libc::dup2(to.as_raw_fd(), libc::STDERR_FILENO) };
}

/// Sends the state of a run whenever something happens.
pub struct Sender {
    live: RefCell<Live>,
    start: Instant,
    latest: RefCell<Latest<File>>,
}

impl Events for Sender {
    fn tell(&self, event: Event) {
        let mut live = self.live.borrow_mut();
        live.take(&event, self.start.elapsed());
        if let Event::AlsoFailed(error) = &event {
            eprintln!("acklab: {error}");
        }
        if let Ok(mut state) = serde_json::to_vec(&*live) {
            state.push(b'\n');
            self.latest.borrow_mut().offer(state);
        }
    }
}

/// Sends the newest of what it is given, whole, and never waits: what nobody has taken when a newer
/// one comes is left out.
struct Latest<W> {
    to: W,
    /// What is left of the one that was begun.
    current: Vec<u8>,
    next: Option<Vec<u8>>,
}

impl<W: Write> Latest<W> {
    fn to(to: W) -> Latest<W> {
        Latest {
            to,
            current: vec![],
            next: None,
        }
    }

    fn offer(&mut self, one: Vec<u8>) {
        self.next = Some(one);
        loop {
            if self.current.is_empty() {
                let Some(next) = self.next.take() else { return };
                self.current = next;
            }
            match self.to.write(&self.current) {
                Ok(count) => drop(self.current.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // There is no room; or nobody is there any more, and then never again.
                Err(_) => return,
            }
        }
    }
}

impl Ear {
    /// What more may come from.
    pub fn open_ends(&self) -> (Option<BorrowedFd<'_>>, Option<BorrowedFd<'_>>) {
        let (states, words) = (self.states.as_ref(), self.words.as_ref());
        (states.map(AsFd::as_fd), words.map(AsFd::as_fd))
    }
}

/// All that was heard so far.
#[derive(Default)]
pub struct Heard {
    /// The newest state.
    pub live: Option<Live>,
    /// What was said on standard error.
    pub words: Vec<u8>,
    /// Of states: what has no end yet.
    part: Vec<u8>,
}

impl Heard {
    /// Takes in what is there by now.
    pub fn take_in(&mut self, ear: &mut Ear) {
        let is_open = |end: &mut Option<File>, into: &mut Vec<u8>| {
            let more = end.as_mut().is_some_and(|end| read_all(end, into));
            if !more {
                *end = None;
            }
        };
        is_open(&mut ear.states, &mut self.part);
        is_open(&mut ear.words, &mut self.words);
        self.newest();
    }

    /// Of several states the last whole one counts.
    fn newest(&mut self) {
        let Some(end) = self.part.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let whole: Vec<u8> = self.part.drain(..=end).collect();
        let last = whole[..end].rsplit(|byte| *byte == b'\n').next();
        let live = last.and_then(|line| serde_json::from_slice(line).ok());
        self.live = live.or(self.live.take());
    }
}

/// All that is there by now; whether more may come.
fn read_all(from: &mut impl Read, into: &mut Vec<u8>) -> bool {
    let mut part = [0; 4096];
    loop {
        match from.read(&mut part) {
            Ok(0) => return false,
            Ok(count) => into.extend(&part[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes, then none until it is told to.
    struct Narrow {
        room: usize,
        got: Vec<u8>,
    }

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let count = bytes.len().min(self.room);
            if count == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            self.room -= count;
            self.got.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_does_not_read_gets_whole_states_and_the_newest() {
        let mut latest = Latest::to(Narrow {
            room: 3,
            got: vec![],
        });
        for state in ["one\n", "two\n", "three\n"] {
            latest.offer(state.into());
        }
        assert_eq!(latest.to.got, b"one");
        latest.to.room = 100;
        latest.offer(b"four\n".to_vec());
        assert_eq!(latest.to.got, b"one\nfour\n");
    }

    fn line(title: &str) -> Vec<u8> {
        let live = Live {
            title: title.to_owned(),
            ..Live::default()
        };
        let mut line = serde_json::to_vec(&live).unwrap();
        line.push(b'\n');
        line
    }

    #[test]
    fn the_last_whole_state_counts() {
        let title = |heard: &Heard| heard.live.as_ref().map(|live| live.title.clone());
        let mut heard = Heard::default();
        let second = line("two");
        heard.part.extend(line("one"));
        heard.part.extend(&second[..5]);
        heard.newest();
        assert_eq!(title(&heard).as_deref(), Some("one"));
        heard.part.extend(&second[5..]);
        heard.part.extend(line("three"));
        heard.newest();
        assert_eq!(title(&heard).as_deref(), Some("three"));
        heard.part.extend(b"no state\n");
        heard.newest();
        assert_eq!(
            title(&heard).as_deref(),
            Some("three"),
            "what was known stays"
        );
        assert!(heard.part.is_empty());
    }

    #[test]
    fn what_is_said_and_known_is_heard_until_both_are_closed() {
        let (mouth, mut ear) = pipes().unwrap();
        let mut heard = Heard::default();
        File::from(mouth.words).write_all(b"a word\n").unwrap();
        Latest::to(mouth.states).offer(line("one"));
        heard.take_in(&mut ear);
        assert_eq!(heard.words, b"a word\n");
        assert!(heard.live.is_some());
        assert!(ear.states.is_none() && ear.words.is_none());
    }
}
