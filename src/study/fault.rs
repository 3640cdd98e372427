//! What can befall a server, and what its settings promise of commits then.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk::PowerCut;
use super::{Mode, ModeSpec, WhenShort, nodes};

/// What ends a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// SIGKILL: what it has handed to the operating system stays.
    Kill,
    /// Its node loses power: what its disk has not flushed is at the mercy of [`Leaves`].
    PowerCut(Leaves),
    /// The site of a copied volume's server is cut off, a while later loses its power, and a copy
    /// in another site takes over.
    SiteLoss {
        leaves: Leaves,
        /// Whether so many copies hold each acknowledged flush that one of them is elsewhere.
        is_covered: bool,
    },
    /// The site of a source is cut off, a while later loses its power, and the replica elsewhere
    /// that has received most takes its place.
    SourceLoss {
        leaves: Leaves,
        /// Whether a replica elsewhere has received each commit that was acknowledged.
        is_covered: bool,
    },
    /// The node of a Galera cluster that takes the load loses its power, and the others are the
    /// cluster from then on.
    NodeLoss { leaves: Leaves },
    /// All nodes of a Galera cluster lose their power at once, and the one whose disk kept most
    /// begins the cluster anew.
    ClusterLoss { leaves: Leaves },
}

/// Fewer nodes than these are no majority without one of them.
const NODES_WITHOUT_ONE_MIN: u32 = 3;

impl Fault {
    /// What the loss of power can do to a mode; nothing if nobody here could take over.
    ///
    /// # Errors
    /// Says why no copy of the volume could take over.
    pub fn of_power(
        mode: &ModeSpec,
        sites: &[String],
        leaves: Leaves,
    ) -> Result<Vec<Fault>, String> {
        let in_one_site = most_in_one_site(mode, sites);
        let is_covered = match mode.mode {
            Mode::Single => return Ok(vec![Fault::PowerCut(leaves)]),
            Mode::Async | Mode::Semisync { .. } => {
                let is_covered = is_received_elsewhere(mode, sites);
                return Ok(vec![Fault::SourceLoss { leaves, is_covered }]);
            }
            Mode::Galera => return Ok(of_cluster(mode.nodes, leaves)),
            // A head that goes on alone soon may do so before its power goes.
            Mode::Mirror {
                when_short: WhenShort::Degrade,
                timeout,
                ..
            } => timeout >= ALONE_MIN,
            Mode::Mirror { .. } => true,
            Mode::Quorum { write_quorum, .. } => {
                let (left, needed) = (mode.nodes as usize - in_one_site, write_quorum as usize);
                if left < needed {
                    return Err(format!(
                        "the loss of a site can leave {left} of {} copies, and without \
                         {needed} none may take over: fewer than that in write_quorum, or more \
                         sites",
                        mode.nodes
                    ));
                }
                needed > in_one_site
            }
            _ => return Ok(vec![]),
        };
        Ok(vec![Fault::SiteLoss { leaves, is_covered }])
    }

    /// What tables call it.
    pub fn label(self) -> &'static str {
        match self {
            Fault::Kill => "SIGKILL",
            Fault::PowerCut(_) => "power cut",
            Fault::SiteLoss { .. } => "site loss",
            Fault::SourceLoss { .. } => "source loss",
            Fault::NodeLoss { .. } => "node loss",
            Fault::ClusterLoss { .. } => "cluster loss",
        }
    }
}

/// Of two nodes the one that is left takes itself for cut off, and serves nobody.
fn of_cluster(nodes: u32, leaves: Leaves) -> Vec<Fault> {
    let one = (nodes >= NODES_WITHOUT_ONE_MIN).then_some(Fault::NodeLoss { leaves });
    let all = Fault::ClusterLoss { leaves };
    one.into_iter().chain([all]).collect()
}

/// Whether semi-sync waits for more replicas than stand beside the source, and does not fall back
/// to asynchronous before the power goes.
fn is_received_elsewhere(mode: &ModeSpec, sites: &[String]) -> bool {
    let Mode::Semisync {
        wait_for, timeout, ..
    } = mode.mode
    else {
        return false;
    };
    let stand = nodes::sites_of(sites, mode.nodes);
    let beside = stand.iter().skip(1).filter(|site| **site == stand[0]);
    wait_for as usize > beside.count() && timeout >= ALONE_MIN
}

/// A mirror's head, or a semi-synchronous source, that waits for so long before it goes on alone
/// has lost its power by then.
const ALONE_MIN: Duration = Duration::from_secs(2);

/// Copies of a volume in the site that has most of them.
fn most_in_one_site(mode: &ModeSpec, sites: &[String]) -> usize {
    let stand = nodes::sites_of(sites, mode.nodes);
    let in_one_site = |site| stand.iter().filter(|other| *other == site).count();
    stand.iter().map(in_one_site).max().unwrap_or(0)
}

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

    /// What tables call it.
    pub fn label(self) -> String {
        let Durability {
            flush_log,
            sync_binlog,
        } = self;
        format!("flush_log {flush_log}, sync_binlog {sync_binlog}")
    }

    /// Whether every acknowledged commit must be there after the fault, in the table and in the
    /// binary log.
    ///
    /// Both logs must be flushed: a commit that recovery finds in the redo log alone, prepared
    /// only, is rolled back.
    pub fn promises(self, fault: Fault) -> bool {
        match fault {
            Fault::Kill => self.flush_log > 0,
            Fault::PowerCut(_) => self == Durability::STRICT,
            Fault::SiteLoss { is_covered, .. } => is_covered && self == Durability::STRICT,
            // Replicas are not lost: what they have received does not hang on what is flushed.
            Fault::SourceLoss { is_covered, .. } => is_covered,
            // All nodes have received what one of them acknowledged.
            Fault::NodeLoss { .. } => true,
            // What none of them had flushed is nowhere any more.
            Fault::ClusterLoss { .. } => self == Durability::STRICT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::mode::Ack;

    #[test]
    fn every_cut_has_a_name_and_its_seed() {
        for (name, leaves) in Leaves::ALL {
            assert_eq!(Leaves::named(name), Some(leaves));
        }
        assert_eq!(Leaves::named("drop"), None);
        let torn = PowerCut::Torn {
            seed: 9,
            sector_bytes: 512,
        };
        assert_eq!(Leaves::Torn(512).cut(9), torn);
        assert_eq!(Leaves::Nothing.cut(9), PowerCut::DropAll);
    }

    #[test]
    fn a_site_is_covered_by_copies_beyond_it() {
        let sites = ["a", "b", "c"].map(str::to_owned);
        let of = |mode, nodes| {
            let spec = ModeSpec {
                label: "x".into(),
                server: "mysql".into(),
                mode,
                nodes,
                appliers: 4,
                binary_log: true,
                spread: false,
                front: None,
                memory_bytes: None,
                baseline: None,
                variables: Default::default(),
                node_variables: Default::default(),
                varied: None,
                endpoint: None,
                tls: None,
                price_usd_per_hour: None,
            };
            Fault::of_power(&spec, &sites, Leaves::Nothing)
        };
        let mirror = |timeout_s| Mode::Mirror {
            ack: Ack::Write,
            when_short: WhenShort::Degrade,
            timeout: Duration::from_secs(timeout_s),
        };
        let quorum = |write_quorum| Mode::Quorum {
            copies: 6,
            write_quorum,
            ack: Ack::Write,
        };
        let loss = |is_covered| {
            let leaves = Leaves::Nothing;
            Ok(vec![Fault::SiteLoss { leaves, is_covered }])
        };
        // Two copies stand in each site.
        assert_eq!(of(quorum(3), 6), loss(true));
        assert_eq!(of(quorum(2), 6), loss(false));
        let refused = of(quorum(5), 6).unwrap_err();
        assert!(refused.contains("can leave 4 of 6 copies"), "{refused}");
        assert_eq!(of(mirror(6), 2), loss(true));
        assert_eq!(of(mirror(1), 2), loss(false));
        let cut = Fault::PowerCut(Leaves::Nothing);
        assert_eq!(of(Mode::Single, 1), Ok(vec![cut]));
        let loss = |is_covered| {
            let leaves = Leaves::Nothing;
            Ok(vec![Fault::SourceLoss { leaves, is_covered }])
        };
        let semisync = |wait_for, timeout_s| Mode::Semisync {
            wait_for,
            wait_point: crate::study::WaitPoint::AfterSync,
            timeout: Duration::from_secs(timeout_s),
        };
        assert_eq!(of(Mode::Async, 3), loss(false));
        assert_eq!(of(semisync(1, 10), 3), loss(true));
        assert_eq!(of(semisync(1, 1), 3), loss(false), "asynchronous meanwhile");
        // The fourth node stands beside the first.
        assert_eq!(of(semisync(1, 10), 4), loss(false));
        assert_eq!(of(semisync(2, 10), 4), loss(true));
        let leaves = Leaves::Nothing;
        let (one, all) = (Fault::NodeLoss { leaves }, Fault::ClusterLoss { leaves });
        assert_eq!(of(Mode::Galera, 3), Ok(vec![one, all]));
        assert_eq!(of(Mode::Galera, 2), Ok(vec![all]), "one is no majority");
        let consistency = crate::study::Consistency::Eventual;
        assert_eq!(of(Mode::Group { consistency }, 3), Ok(vec![]));
    }

    #[test]
    fn what_all_nodes_received_is_lost_with_all_of_them_only() {
        let leaves = Leaves::Nothing;
        let (one, all) = (Fault::NodeLoss { leaves }, Fault::ClusterLoss { leaves });
        for durability in [Durability::STRICT, Durability::LOOSE] {
            assert!(durability.promises(one), "{durability:?}");
        }
        assert!(Durability::STRICT.promises(all) && !Durability::LOOSE.promises(all));
    }

    #[test]
    fn only_the_strictest_settings_promise_to_survive_a_power_cut() {
        let cut = Fault::PowerCut(Leaves::Nothing);
        let with = |flush_log, sync_binlog| Durability {
            flush_log,
            sync_binlog,
        };
        assert!(Durability::STRICT.promises(cut) && Durability::STRICT.promises(Fault::Kill));
        assert!(!Durability::LOOSE.promises(cut) && Durability::LOOSE.promises(Fault::Kill));
        assert!(!with(1, 0).promises(cut) && !with(1, 100).promises(cut));
        let site_loss = |is_covered| Fault::SiteLoss {
            leaves: Leaves::Nothing,
            is_covered,
        };
        assert!(Durability::STRICT.promises(site_loss(true)));
        assert!(!Durability::STRICT.promises(site_loss(false)));
        assert!(!Durability::LOOSE.promises(site_loss(true)));
        assert!(!with(2, 1).promises(cut) && !with(0, 1).promises(Fault::Kill));
    }
}
