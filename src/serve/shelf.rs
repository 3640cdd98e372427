//! A folder of records: which files there are, and what is read of them.
//!
//! A file is known by its name in the folder's own list: no name that anybody sends is ever joined
//! to a path. Links are left out, so that nothing outside the folder is read.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use super::told::{State, Told, What, sentence};
use crate::analysis;
use crate::error::{Error, Mistake, Result};
use crate::live::Recorded;
use crate::record::store::{Look, Record, has_mark, is_written};
use crate::report::html;

/// What records are called by themselves.
const ENDING: &str = "acklab";

/// By what a file is seen to have changed: inode, length, time of the last change.
pub type Stamp = (u64, u64, i64, i64);

/// The folder.
pub struct Shelf {
    folder: PathBuf,
    /// What was seen of each file, and when it was seen. Whoever holds it reads records: SQLite's
    /// locks are the process's, so that one reader could take another's.
    seen: Mutex<BTreeMap<PathBuf, (Stamp, Told)>>,
}

/// What came of a request for a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    Page(String),
    /// Nothing in it has been finished.
    Empty,
    /// Why it cannot be read.
    Unreadable(String),
}

impl Shelf {
    /// # Errors
    /// A mistake if it is no folder that can be read.
    pub fn of(folder: &Path) -> Result<Shelf> {
        let shown = folder.display();
        let wrong = |given: String, allowed: &str| {
            Error::from(Mistake::new("command line", "FOLDER", &given, allowed))
        };
        if folder.is_file() {
            let allowed = "is a file: name the folder that it is in";
            return Err(wrong(shown.to_string(), allowed));
        }
        let shelf = Shelf {
            folder: folder.to_owned(),
            seen: Mutex::default(),
        };
        match shelf.files() {
            Ok(_) => Ok(shelf),
            Err(error) => Err(wrong(
                format!("{shown} ({error})"),
                "name a folder that is there and can be read",
            )),
        }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        let whole = self.folder.canonicalize();
        whole.unwrap_or(self.folder.clone()).display().to_string()
    }

    /// Files that are records, or are called so.
    ///
    /// # Errors
    /// What the system says if the folder cannot be read.
    pub fn files(&self) -> std::io::Result<Vec<PathBuf>> {
        let _reading = self.reading();
        self.listed()
    }

    fn listed(&self) -> std::io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            // Gone by now, or a link: not ours to read.
            let is_file = path.symlink_metadata().is_ok_and(|it| it.is_file());
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_hidden = name.starts_with('.');
            let is_called_so = path.extension().is_some_and(|ending| ending == ENDING);
            if is_file && !is_hidden && (is_called_so || has_mark(&path)) {
                files.push(path);
            }
        }
        Ok(files)
    }

    /// All of them, the newest first.
    ///
    /// # Errors
    /// As for [`Shelf::files`].
    pub fn told(&self) -> std::io::Result<Vec<Told>> {
        let mut seen = self.reading();
        let files = self.listed()?;
        let mut now = BTreeMap::new();
        for path in files {
            let Ok(facts) = path.symlink_metadata() else {
                continue;
            };
            let stamp = stamp(&facts);
            let known = seen.remove(&path).filter(|(known, _)| *known == stamp);
            let told = known.map_or_else(|| told(&path, &facts), |(_, told)| told);
            now.insert(path, (stamp, told));
        }
        *seen = now;
        let all = seen.iter().map(|(path, (_, told))| Told {
            what: as_of_now(&told.what, path),
            ..told.clone()
        });
        let mut all: Vec<Told> = all.collect();
        all.sort_by(|one, other| (other.unix_ms, &one.name).cmp(&(one.unix_ms, &other.name)));
        Ok(all)
    }

    /// The file of that name; `None` where no record is called so.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let files = self.files().ok()?;
        let is_it = |path: &PathBuf| path.file_name().is_some_and(|own| own == name);
        files.into_iter().find(is_it)
    }

    /// The page of a record, worked out anew.
    pub fn page(&self, path: &Path) -> Found {
        let read = {
            let _reading = self.reading();
            Record::open_as_it_is(path)
        };
        match read {
            Err(error) => Found::Unreadable(why(&error)),
            Ok(record) => {
                let page = html::render(&record, &analysis::summarise(&record));
                page.map_or(Found::Empty, Found::Page)
            }
        }
    }

    /// Reads what has come.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn look(&self, into: &mut Recorded) -> std::result::Result<(), String> {
        let _reading = self.reading();
        into.look().map_err(|error| why(&error))
    }

    /// Whether a file is as it was, and whether somebody writes to it.
    pub fn state(&self, path: &Path) -> (Option<Stamp>, bool) {
        let _reading = self.reading();
        let facts = path.symlink_metadata().ok();
        (facts.map(|facts| stamp(&facts)), is_written(path))
    }

    fn reading(&self) -> MutexGuard<'_, BTreeMap<PathBuf, (Stamp, Told)>> {
        // What a panic left is only what was seen.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamp(facts: &Metadata) -> Stamp {
    (facts.ino(), facts.len(), facts.mtime(), facts.mtime_nsec())
}

/// What a run that was not through to its end does now.
fn as_of_now(what: &What, path: &Path) -> What {
    match what {
        What::Record {
            title,
            sentence,
            state: State::Open | State::Running,
        } => What::Record {
            title: title.clone(),
            sentence: sentence.clone(),
            state: match is_written(path) {
                true => State::Running,
                false => State::Open,
            },
        },
        other => other.clone(),
    }
}

fn told(path: &Path, facts: &Metadata) -> Told {
    let changed = facts.modified().ok();
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed_ms = changed.map_or(0, |since| since.as_millis() as u64);
    let name = path.file_name().unwrap_or_default();
    let Some(name) = name.to_str() else {
        let why = "its name is not UTF-8: give it another".to_owned();
        return Told {
            name: name.to_string_lossy().into_owned(),
            unix_ms: changed_ms,
            what: What::Unreadable(why),
        };
    };
    match Look::at(path) {
        Ok(look) => Told {
            name: name.to_owned(),
            unix_ms: look.header.started_unix_ms,
            what: What::Record {
                sentence: sentence(&look),
                state: match look.finished {
                    true => State::Finished,
                    false => State::Open,
                },
                title: look.header.study.title,
            },
        },
        Err(error) => Told {
            name: name.to_owned(),
            unix_ms: changed_ms,
            what: What::Unreadable(why(&error)),
        },
    }
}

/// Without the file's own name, which stands beside it.
fn why(error: &Error) -> String {
    match error {
        Error::Mistakes(mistakes) => {
            let said = mistakes.iter();
            let said: Vec<String> = said
                .map(|it| format!("{}: {}", it.given, it.allowed))
                .collect();
            said.join("; ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
