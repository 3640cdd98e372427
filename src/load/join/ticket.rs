//! What lets a driver into a run: a secret of the run, and by what its certificate is known.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::{Mistake, Result, Tried};
use crate::lab::endpoint::Secret;

/// The first word of a ticket's text, and the number of its form.
const HEAD: [&str; 2] = ["acklab-token", "1"];
/// Of a token and of a fingerprint, both hexadecimal.
const DIGITS: usize = 64;

/// A ticket to one run. Whoever has it may drive its load, and gets the password of its servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub token: Secret,
    /// SHA-256 of the run's certificate, hexadecimal.
    pub fingerprint: String,
}

impl Ticket {
    /// A new one, to whoever shows a certificate of that fingerprint.
    pub fn to(fingerprint: &str) -> Ticket {
        let token = format!(
            "{:032x}{:032x}",
            rand::random::<u128>(),
            rand::random::<u128>()
        );
        Ticket {
            token: token.into(),
            fingerprint: fingerprint.to_owned(),
        }
    }

    /// As one line.
    pub fn text(&self) -> String {
        let [word, form] = HEAD;
        format!("{word} {form} {} {}\n", &self.token[..], self.fingerprint)
    }

    /// The ticket that a text is, if it is one.
    pub fn read(text: &str) -> Option<Ticket> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [word, form, token, fingerprint] = words[..] else {
            return None;
        };
        let is_hex =
            |text: &str| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_ticket = [word, form] == HEAD && is_hex(token) && is_hex(fingerprint);
        is_ticket.then(|| Ticket {
            token: token.into(),
            fingerprint: fingerprint.to_owned(),
        })
    }
}

/// A ticket in a file that its owner alone can read; gone with this value, which holds its lock:
/// no other run puts another in its place.
#[derive(Debug)]
pub struct TicketFile {
    path: PathBuf,
    ticket: Ticket,
    /// `None` where the file system has no locks.
    _lock: Option<Flock<File>>,
}

impl TicketFile {
    /// Writes it, in place of one that a killed run has left.
    ///
    /// # Errors
    /// A mistake if something else is there, or the token of a run that still goes on, or the
    /// folder cannot be written to.
    pub fn write(path: &Path, ticket: &Ticket) -> Result<TicketFile> {
        let wrong = |allowed: String| {
            Mistake::new(
                "command line",
                "--token",
                &path.display().to_string(),
                &allowed,
            )
        };
        let is_other = fs::read_to_string(path).map(|text| Ticket::read(&text).is_none());
        if is_other.unwrap_or(path.exists()) {
            let allowed = "is there and holds no token: give a path where no file is yet";
            return Err(wrong(allowed.to_owned()).into());
        }
        if is_in_use(path) {
            let allowed = "is the token of a run that still goes on: give another path";
            return Err(wrong(allowed.to_owned()).into());
        }
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let unwritable = |error| {
            wrong(format!(
                "must be in a folder that can be written to: {error}"
            ))
        };
        // Made for its owner alone, and put there whole.
        let made = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(folder.unwrap_or(Path::new(".")));
        let mut made = made.map_err(unwritable)?;
        let tried = || format!("write {}", path.display());
        made.write_all(ticket.text().as_bytes()).tried(tried)?;
        let (file, made) = made.into_parts();
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        made.persist(path)
            .map_err(|error| unwritable(error.error))?;
        Ok(TicketFile {
            path: path.to_owned(),
            ticket: ticket.clone(),
            _lock: lock.ok(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TicketFile {
    fn drop(&mut self) {
        let there = fs::read_to_string(&self.path).ok();
        if there.and_then(|text| Ticket::read(&text)).as_ref() == Some(&self.ticket) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether somebody has the lock of a file that is there.
fn is_in_use(path: &Path) -> bool {
    // With the right to write: some file systems want it for such a lock.
    let file = File::options().read(true).write(true).open(path);
    let lock = file.map(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock));
    matches!(lock, Ok(Err((_, Errno::EWOULDBLOCK))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_survives_the_way_through_text_and_is_not_shown() {
        let fingerprint = "0f".repeat(32);
        let ticket = Ticket::to(&fingerprint);
        assert_eq!(Ticket::read(&ticket.text()), Some(ticket.clone()));
        assert_ne!(
            ticket,
            Ticket::to(&fingerprint),
            "each has a token of its own"
        );
        assert!(!format!("{ticket:?}").contains(&ticket.token[..]));
        for wrong in [
            String::new(),
            ticket.text().replace("acklab-token 1", "acklab-token 2"),
            ticket.text().replace(&fingerprint, ""),
            ticket.text().replace(&fingerprint, "zz"),
            format!("{}more", ticket.text()),
        ] {
            assert_eq!(Ticket::read(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn its_file_is_the_owners_alone_and_goes_with_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let ticket = Ticket::to(&"0f".repeat(32));
        let file = TicketFile::write(&path, &ticket).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_to_string(file.path()).unwrap(), ticket.text());
        drop(file);
        assert!(!path.exists());
        // As a killed run leaves it.
        fs::write(&path, ticket.text()).unwrap();
        drop(TicketFile::write(&path, &ticket).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn the_file_of_another_run_is_neither_overwritten_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let [first, second] = [0, 1].map(|_| Ticket::to(&"0f".repeat(32)));
        let file = TicketFile::write(&path, &first).unwrap();
        let told = TicketFile::write(&path, &second).unwrap_err();
        assert_eq!(told.exit_code(), 2);
        assert!(told.to_string().contains("still goes on"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), first.text());
        // As where the file system has no locks.
        fs::write(&path, second.text()).unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), second.text());
    }

    #[test]
    fn nothing_else_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.toml");
        fs::write(&path, "rounds = 2\n").unwrap();
        let ticket = Ticket::to(&"0f".repeat(32));
        let told = TicketFile::write(&path, &ticket).unwrap_err();
        assert_eq!(told.exit_code(), 2);
        assert!(told.to_string().contains("holds no token"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "rounds = 2\n");
        assert!(TicketFile::write(folder.path(), &ticket).is_err());
        let nowhere = folder.path().join("no/such/token");
        let told = TicketFile::write(&nowhere, &ticket).unwrap_err();
        assert!(told.to_string().contains("can be written to"), "{told}");
    }
}
