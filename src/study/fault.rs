//! What can befall servers. A *fault* has a cause and a scope; it is injected in *trials*, each at
//! a moment of its own.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk::PowerCut;
use super::{Mode, ModeSpec, nodes};

/// What is done to servers, and to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Fault {
    pub cause: Cause,
    pub scope: Scope,
}

/// What ends servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// SIGKILL: what they have handed to the operating system stays.
    Kill,
    /// Nodes fall silent and lose their power: what their disks have not flushed is at the mercy of
    /// [`Leaves`].
    PowerCut(Leaves),
}

/// Whom it befalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The node that takes the load.
    Node,
    /// All nodes in that node's site, which is cut off a while before.
    Site,
    /// All nodes at once.
    All,
}

/// When a fault is injected, and what chance makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// From the first acknowledged transaction until the fault begins.
    pub load: Duration,
    /// From the links' cut until the power goes: clients inside are still served then.
    pub isolated: Duration,
    /// Of what disks draw; each draws its own.
    pub seed: u64,
}

/// As records say it, now and before.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Now { cause: Cause, scope: Scope },
    Before(Before),
}

/// As records said it while each scope was a kind of its own.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Before {
    Kill,
    PowerCut(Leaves),
    SiteLoss { leaves: Leaves },
    SourceLoss { leaves: Leaves },
    NodeLoss { leaves: Leaves },
    ClusterLoss { leaves: Leaves },
}

impl From<Written> for Fault {
    fn from(written: Written) -> Fault {
        let before = match written {
            Written::Now { cause, scope } => return Fault { cause, scope },
            Written::Before(before) => before,
        };
        match before {
            Before::Kill => Fault::KILL,
            Before::PowerCut(leaves) | Before::NodeLoss { leaves } => {
                Fault::power_cut(leaves, Scope::Node)
            }
            Before::SiteLoss { leaves } | Before::SourceLoss { leaves } => {
                Fault::power_cut(leaves, Scope::Site)
            }
            Before::ClusterLoss { leaves } => Fault::power_cut(leaves, Scope::All),
        }
    }
}

/// Fewer nodes than these are no majority without one of them.
const NODES_WITHOUT_ONE_MIN: u32 = 3;

impl Fault {
    /// The death of the server alone.
    pub const KILL: Fault = Fault {
        cause: Cause::Kill,
        scope: Scope::Node,
    };

    /// The loss of power there.
    pub fn power_cut(leaves: Leaves, scope: Scope) -> Fault {
        let cause = Cause::PowerCut(leaves);
        Fault { cause, scope }
    }

    /// What the loss of power can do to a mode, as far as taking over from it is built.
    ///
    /// # Errors
    /// Says why no replica, or no copy of the volume, could take over.
    pub fn of_power(
        mode: &ModeSpec,
        sites: &[String],
        leaves: Leaves,
    ) -> Result<Vec<Fault>, String> {
        let of = |scope| Fault::power_cut(leaves, scope);
        let most = nodes::most_in_one_site(sites, mode.nodes);
        let left = mode.nodes as usize - most;
        Ok(match mode.mode {
            Mode::Single => vec![of(Scope::Node)],
            Mode::Async | Mode::Semisync { .. } | Mode::Mirror { .. } if left == 0 => {
                return Err("all its nodes stand in one site: more sites".to_owned());
            }
            Mode::Async | Mode::Semisync { .. } | Mode::Mirror { .. } => vec![of(Scope::Site)],
            // Of two nodes the one that is left takes itself for cut off, and serves nobody.
            Mode::Galera if mode.nodes < NODES_WITHOUT_ONE_MIN => vec![of(Scope::All)],
            Mode::Galera => vec![of(Scope::Node), of(Scope::All)],
            Mode::Quorum { write_quorum, .. } => {
                let needed = write_quorum as usize;
                if left < needed {
                    return Err(format!(
                        "the loss of a site can leave {left} of {} copies, and without \
                         {needed} none may take over: fewer than that in write_quorum, or more \
                         sites",
                        mode.nodes
                    ));
                }
                vec![of(Scope::Site)]
            }
            Mode::Group { .. } | Mode::GroupMulti { .. } | Mode::Endpoint => vec![],
        })
    }

    /// What tables call it.
    pub fn label(self) -> &'static str {
        match (self.cause, self.scope) {
            (Cause::Kill, _) => "SIGKILL",
            (Cause::PowerCut(_), Scope::Node) => "power cut",
            (Cause::PowerCut(_), Scope::Site) => "site loss",
            (Cause::PowerCut(_), Scope::All) => "cluster loss",
        }
    }

    /// What a power cut leaves; `None` of another fault.
    pub fn leaves(self) -> Option<Leaves> {
        match self.cause {
            Cause::Kill => None,
            Cause::PowerCut(leaves) => Some(leaves),
        }
    }
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

    /// What tables call it.
    pub fn label(self) -> String {
        let Durability {
            flush_log,
            sync_binlog,
        } = self;
        format!("flush_log {flush_log}, sync_binlog {sync_binlog}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::mode::{Ack, WhenShort};

    const NOTHING: Leaves = Leaves::Nothing;

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

    #[test]
    fn faults_of_older_records_are_read() {
        let read = |text: &str| serde_json::from_str::<Fault>(text).expect("a fault");
        let of = |scope| Fault::power_cut(NOTHING, scope);
        let covered = r#"{"leaves":"nothing","is_covered":true}"#;
        assert_eq!(read(r#""kill""#), Fault::KILL);
        assert_eq!(read(r#"{"power-cut":"nothing"}"#), of(Scope::Node));
        let (site, source) = ("site-loss", "source-loss");
        for name in [site, source] {
            assert_eq!(read(&format!("{{\"{name}\":{covered}}}")), of(Scope::Site));
        }
        let torn = r#"{"node-loss":{"leaves":{"torn":512}}}"#;
        let fault = Fault::power_cut(Leaves::Torn(512), Scope::Node);
        assert_eq!(read(torn), fault);
        let cluster = r#"{"cluster-loss":{"leaves":"nothing"}}"#;
        assert_eq!(read(cluster), of(Scope::All));
        for fault in [Fault::KILL, fault, of(Scope::Site), of(Scope::All)] {
            let text = serde_json::to_string(&fault).expect("plain");
            assert_eq!(read(&text), fault, "{text}");
        }
    }

    #[test]
    fn a_mode_has_the_faults_that_taking_over_is_built_for() {
        let sites = ["a", "b", "c"].map(str::to_owned);
        let in_sites = |sites: &[String], mode, nodes| {
            let spec = ModeSpec {
                mode,
                nodes,
                ..ModeSpec::default()
            };
            let faults = Fault::of_power(&spec, sites, NOTHING)?;
            Ok::<_, String>(faults.iter().map(|fault| fault.scope).collect::<Vec<_>>())
        };
        let of = |mode, nodes| in_sites(&sites, mode, nodes);
        let mirror = Mode::Mirror {
            ack: Ack::Write,
            when_short: WhenShort::Degrade,
            timeout: Duration::from_secs(6),
        };
        let quorum = |write_quorum| Mode::Quorum {
            copies: 6,
            write_quorum,
            ack: Ack::Write,
        };
        assert_eq!(of(Mode::Single, 1), Ok(vec![Scope::Node]));
        assert_eq!(of(Mode::Async, 3), Ok(vec![Scope::Site]));
        assert_eq!(of(mirror, 2), Ok(vec![Scope::Site]));
        assert!(
            in_sites(&sites[..1], Mode::Async, 2).is_err(),
            "nobody elsewhere"
        );
        assert_eq!(of(quorum(2), 6), Ok(vec![Scope::Site]));
        // Two copies stand in each site.
        let refused = of(quorum(5), 6).unwrap_err();
        assert!(refused.contains("can leave 4 of 6 copies"), "{refused}");
        assert_eq!(of(Mode::Galera, 3), Ok(vec![Scope::Node, Scope::All]));
        assert_eq!(of(Mode::Galera, 2), Ok(vec![Scope::All]), "no majority");
        let consistency = crate::study::Consistency::Eventual;
        assert_eq!(of(Mode::Group { consistency }, 3), Ok(vec![]));
    }
}
