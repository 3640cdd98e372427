//! Which databases were made where, kept on this machine for as long as they are there.
//!
//! A claim is a file that its run holds by a lock. A free one is of a run that is dead: the next
//! run on that server takes it over, with the token that proves the database to be that run's.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::error::{Result, Tried, breakdown};
use crate::study::endpoint::Address;

/// The folder of all claims.
#[derive(Debug, Clone)]
pub struct Claims {
    folder: PathBuf,
}

/// What is claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// `HOST:PORT`
    pub place: String,
    pub database: String,
    /// What the database's marker must hold.
    pub token: String,
}

/// A claim in our hands.
#[derive(Debug)]
pub struct Claim {
    pub left: Leftover,
    path: PathBuf,
    _lock: Flock<File>,
}

impl Claims {
    /// The claims of this machine's user, in a folder of the cache.
    ///
    /// # Errors
    /// A breakdown if the folder cannot be made.
    pub fn of(cache: &Path) -> Result<Claims> {
        let folder = cache.join("endpoints");
        fs::create_dir_all(&folder).tried(|| format!("make {}", folder.display()))?;
        Ok(Claims { folder })
    }

    /// Claims a database that is about to be made.
    ///
    /// # Errors
    /// A breakdown if the file cannot be written: then nothing may be made.
    pub fn make(&self, address: &Address, database: &str, token: &str) -> Result<Claim> {
        let _guard = self.guard()?;
        let left = Leftover {
            place: address.place(),
            database: database.to_owned(),
            token: token.to_owned(),
        };
        let path = self.folder.join(format!("{token}.json"));
        let tried = || format!("write {}", path.display());
        let mut options = OpenOptions::new();
        let file = options
            .create_new(true)
            .write(true)
            .open(&path)
            .tried(tried)?;
        let mut lock = locked(file).ok_or_else(|| breakdown(tried(), "it is locked"))?;
        let text = serde_json::to_string(&left).tried(tried)?;
        lock.write_all(text.as_bytes()).tried(tried)?;
        lock.sync_all().tried(tried)?;
        Ok(Claim {
            left,
            path,
            _lock: lock,
        })
    }

    /// Takes over all claims on a server whose runs are dead.
    ///
    /// # Errors
    /// A breakdown if the folder cannot be read.
    pub fn dead_at(&self, address: &Address) -> Result<Vec<Claim>> {
        let _guard = self.guard()?;
        let entries = fs::read_dir(&self.folder).tried(|| "list claims".to_owned())?;
        let paths = entries.flatten().map(|entry| entry.path());
        let claims = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let dead = claims.filter_map(dead);
        let place = address.place();
        Ok(dead.filter(|claim| claim.left.place == place).collect())
    }

    /// While it is held nobody makes a claim or takes one over: none is seen half.
    fn guard(&self) -> Result<Flock<File>> {
        let path = self.folder.join("lock");
        let tried = || format!("lock {}", path.display());
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let file = options.open(&path).tried(tried)?;
        Flock::lock(file, FlockArg::LockExclusive)
            .map_err(|(_, error)| breakdown(tried(), error.desc()))
    }
}

fn locked(file: File) -> Option<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// The claim in that file, if nobody holds it. One that was never finished claims nothing.
fn dead(path: PathBuf) -> Option<Claim> {
    let mut lock = locked(File::open(&path).ok()?)?;
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    match serde_json::from_str(&text) {
        Ok(left) => Some(Claim {
            left,
            path,
            _lock: lock,
        }),
        Err(_) => {
            let _ = fs::remove_file(&path);
            None
        }
    }
}

impl Claim {
    /// Nothing is there any more.
    pub fn let_go(self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str) -> Address {
        Address {
            user: "u".into(),
            host: host.into(),
            port: 3306,
        }
    }

    #[test]
    fn only_claims_of_the_dead_are_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims::of(folder.path()).unwrap();
        let held = claims.make(&address("db"), "acklab_a", "t1").unwrap();
        let elsewhere = claims.make(&address("other"), "acklab_b", "t2").unwrap();
        assert!(claims.dead_at(&address("db")).unwrap().is_empty());
        let expected = held.left.clone();
        drop((held, elsewhere)); // as a death would
        let mut dead = claims.dead_at(&address("db")).unwrap();
        assert_eq!(dead.len(), 1);
        let taken = dead.remove(0);
        assert_eq!(taken.left, expected);
        // Ours now: nobody else takes it over.
        assert!(claims.dead_at(&address("db")).unwrap().is_empty());
        taken.let_go();
        assert!(claims.dead_at(&address("db")).unwrap().is_empty());
        assert_eq!(claims.dead_at(&address("other")).unwrap().len(), 1);
    }

    #[test]
    fn half_a_claim_claims_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims::of(folder.path()).unwrap();
        let path = folder.path().join("endpoints/t.json");
        fs::write(&path, "{\"place\":\"db:3306\"").unwrap();
        assert!(claims.dead_at(&address("db")).unwrap().is_empty());
        assert!(!path.exists());
    }
}
