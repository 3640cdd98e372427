//! The two kinds of bad news that end a command. A *finding* is never an error: it is a result.
//!
//! A [`Mistake`] is something the user can mend; all mistakes of one input are reported at once.
//! A [`Breakdown`] is something the lab could not do; it carries what was tried and what the server
//! last said.

use std::fmt;

/// Something that the user gave and can mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it stands: a file, a command-line option, an environment variable; empty where the
    /// command itself is well given.
    pub place: String,
    /// The key or argument concerned, in full (`mode[2].appliers`); may be empty.
    pub key: String,
    /// What was given.
    pub given: String,
    /// What is allowed, or what to do instead.
    pub allowed: String,
}

impl Mistake {
    /// A mistake at `place`: `key` was `given`, while `allowed` tells what it may be.
    pub fn new(place: &str, key: &str, given: &str, allowed: &str) -> Self {
        let owned = |text: &str| text.to_owned();
        Mistake {
            place: owned(place),
            key: owned(key),
            given: owned(given),
            allowed: owned(allowed),
        }
    }

    /// Nothing given is wrong, but things are not as the command needs them: a whole sentence.
    pub fn state(sentence: &str) -> Self {
        Mistake::new("", "", "", sentence)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.place, &self.key] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        if !self.given.is_empty() {
            write!(f, "given {}; ", self.given)?;
        }
        write!(f, "{}", self.allowed)
    }
}

/// Something that the lab could not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown {
    /// What was tried, with the names of node, file or program.
    pub tried: String,
    /// What came of it: an error text, an exit status.
    pub status: String,
    /// The last lines of the log of the server or program concerned; may be empty.
    pub log: Vec<String>,
}

impl fmt::Display for Breakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not {}: {}", self.tried, self.status)?;
        for line in &self.log {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

/// What ends a command early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Exit code 2.
    Mistakes(Vec<Mistake>),
    /// Exit code 4.
    Breakdown(Box<Breakdown>),
    /// The user asked to stop (Ctrl-C). What was finished is kept.
    Interrupted,
}

/// The result of everything that can end a command.
pub type Result<T> = std::result::Result<T, Error>;

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Self {
        Error::Mistakes(vec![mistake])
    }
}

impl From<Breakdown> for Error {
    fn from(breakdown: Breakdown) -> Self {
        Error::Breakdown(Box::new(breakdown))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Breakdown(breakdown) => write!(f, "{breakdown}"),
            Error::Interrupted => write!(f, "stopped on request; finished cells are kept"),
            Error::Mistakes(mistakes) => {
                let lines: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
                write!(f, "{}", lines.join("\n"))
            }
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The process exit code: 2 for mistakes, 4 for breakdowns, 130 for an interruption.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Mistakes(_) => 2,
            Error::Breakdown(_) => 4,
            Error::Interrupted => 130,
        }
    }
}

/// Names what was tried when something fails, turning any error into a [`Breakdown`].
pub trait Tried<T> {
    /// `what` completes the sentence "could not …".
    fn tried(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Tried<T> for std::result::Result<T, E> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| breakdown(what(), error.to_string()))
    }
}

/// A breakdown without a log.
pub fn breakdown(tried: impl Into<String>, status: impl Into<String>) -> Error {
    Breakdown {
        tried: tried.into(),
        status: status.into(),
        log: Vec::new(),
    }
    .into()
}
