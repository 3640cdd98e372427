//! What faults and settings have to do with flushes: what a loss of power leaves of what was not
//! flushed, and when a commit is.

use serde::{Deserialize, Serialize};

use super::disk::PowerCut;

/// What a power cut leaves of writes that were never flushed: [`PowerCut`] without its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaves {
    Nothing,
    Everything,
    Random,
    /// Random, torn at this size in bytes.
    Torn(u32),
}

impl Leaves {
    /// All of them, with the names that a command line takes.
    pub const ALL: [(&str, Leaves); 5] = [
        ("drop-all", Leaves::Nothing),
        ("keep-all", Leaves::Everything),
        ("random", Leaves::Random),
        ("torn-512", Leaves::Torn(512)),
        ("torn-4k", Leaves::Torn(4096)),
    ];

    /// The one of that name.
    pub fn named(name: &str) -> Option<Leaves> {
        let mut all = Leaves::ALL.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, leaves)| *leaves)
    }

    /// Its name on a command line; empty of a size that no command line takes.
    pub fn name(self) -> &'static str {
        let mut all = Leaves::ALL.iter();
        all.find(|(_, known)| *known == self)
            .map_or("", |(name, _)| name)
    }

    /// A cut of this kind; `seed` is of what it draws by chance.
    pub fn cut(self, seed: u64) -> PowerCut {
        match self {
            Leaves::Nothing => PowerCut::DropAll,
            Leaves::Everything => PowerCut::KeepAll,
            Leaves::Random => PowerCut::Random { seed },
            Leaves::Torn(sector_bytes) => PowerCut::Torn { seed, sector_bytes },
        }
    }
}

/// The two settings that decide when a commit is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// `innodb_flush_log_at_trx_commit`: 1 flushes the redo log at each commit, 2 hands it to the
    /// operating system only, 0 does neither.
    pub flush_log: u32,
    /// `sync_binlog`: the binary log is flushed at each so many groups of commits; 0 is never.
    pub sync_binlog: u32,
}

impl Durability {
    /// As fast as it gets without losing anything to the death of the server alone.
    pub const LOOSE: Durability = Durability {
        flush_log: 2,
        sync_binlog: 0,
    };
    /// Everything is flushed before a client is told.
    pub const STRICT: Durability = Durability {
        flush_log: 1,
        sync_binlog: 1,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_has_a_name_and_its_seed() {
        for (name, leaves) in Leaves::ALL {
            assert_eq!(Leaves::named(name), Some(leaves));
            assert_eq!(leaves.name(), name);
        }
        assert_eq!(Leaves::named("drop"), None);
        let torn = PowerCut::Torn {
            seed: 9,
            sector_bytes: 512,
        };
        assert_eq!(Leaves::Torn(512).cut(9), torn);
        assert_eq!(Leaves::Nothing.cut(9), PowerCut::DropAll);
    }
}
