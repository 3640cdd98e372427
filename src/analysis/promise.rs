//! What a mode and its settings promise of acknowledged commits, fault by fault.

use super::summary::{Promise, Reason};
use crate::study::fault::{Cause, Durability, Fault, Scope};
use crate::study::{Ack, Mode, ModeSpec, WhenShort, nodes};

/// What a promise hangs on.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    pub mode: Mode,
    /// The site of each node, the writer's first.
    pub sites: Vec<String>,
    /// As the servers say that they are set.
    pub durability: Durability,
    pub has_binary_log: bool,
}

impl Terms {
    /// Those of a mode whose servers are set so.
    pub fn of(spec: &ModeSpec, sites: &[String], durability: Durability) -> Terms {
        Terms {
            mode: spec.mode,
            sites: nodes::sites_of(sites, spec.nodes),
            durability,
            has_binary_log: spec.binary_log,
        }
    }

    /// Whether all is flushed before a client is told. With a binary log both logs must be: a
    /// commit that recovery finds in the redo log alone, prepared only, is rolled back.
    fn flushes(&self) -> bool {
        let Durability {
            flush_log,
            sync_binlog,
        } = self.durability;
        flush_log == 1 && (sync_binlog == 1 || !self.has_binary_log)
    }

    /// How many of its other nodes stand in the writer's site.
    fn beside(&self) -> usize {
        let others = self.sites.iter().skip(1);
        others.filter(|site| **site == self.sites[0]).count()
    }

    fn most_in_one_site(&self) -> usize {
        nodes::most_in_one_site(&self.sites, self.sites.len() as u32)
    }
}

/// The promise of these terms for that fault.
pub fn promise(terms: &Terms, fault: Fault) -> Promise {
    match (fault.cause, fault.scope, terms.mode) {
        (Cause::Kill, ..) => either(
            terms.durability.flush_log > 0,
            (Reason::HandedOver, Reason::NotHandedOver),
        ),
        (_, Scope::Site, Mode::Async) => none(Reason::NotReceivedElsewhere),
        // Replicas are not lost: what they have received does not hang on what is flushed.
        (_, Scope::Site, Mode::Semisync { wait_for, .. }) => Promise {
            unless_alone: true,
            ..either(
                wait_for as usize > terms.beside(),
                (Reason::ReceivedElsewhere, Reason::NotReceivedElsewhere),
            )
        },
        (
            _,
            Scope::Site,
            Mode::Mirror {
                ack, when_short, ..
            },
        ) => Promise {
            unless_alone: when_short == WhenShort::Degrade,
            ..held_elsewhere(terms, terms.sites.len(), ack)
        },
        (
            _,
            Scope::Site,
            Mode::Quorum {
                write_quorum, ack, ..
            },
        ) => held_elsewhere(terms, write_quorum as usize, ack),
        (_, Scope::Node, Mode::Galera) => either(true, (Reason::HeldByAllNodes, Reason::NotBuilt)),
        (_, Scope::Node, Mode::Single) | (_, Scope::All, Mode::Galera) => {
            either(terms.flushes(), (Reason::Flushed, Reason::NotFlushed))
        }
        _ => none(Reason::NotBuilt),
    }
}

/// Of a volume with copies of which so many hold what is acknowledged. The copies that are left
/// keep their power: with DRBD's rule some of it is in their memory only, which is enough for
/// this fault, but not if they lose their power too.
fn held_elsewhere(terms: &Terms, write_quorum: usize, ack: Ack) -> Promise {
    if write_quorum <= terms.most_in_one_site() {
        return none(Reason::HeldInOneSite);
    }
    let held = match ack {
        Ack::Write | Ack::Flush => Reason::HeldElsewhere,
        Ack::ProtocolC => Reason::ReceivedByCopy,
    };
    either(terms.flushes(), (held, Reason::NotFlushed))
}

fn either(is_given: bool, (why, why_not): (Reason, Reason)) -> Promise {
    Promise {
        is_given,
        unless_alone: false,
        reason: if is_given { why } else { why_not },
    }
}

fn none(reason: Reason) -> Promise {
    either(false, (reason, reason))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::study::WaitPoint;
    use crate::study::fault::Leaves;

    const STRICT: Durability = Durability::STRICT;
    const LOOSE: Durability = Durability::LOOSE;

    fn cut(scope: Scope) -> Fault {
        Fault::power_cut(Leaves::Nothing, scope)
    }

    /// With nodes in sites of these names, a letter each.
    fn terms(mode: Mode, sites: &str, durability: Durability) -> Terms {
        Terms {
            mode,
            sites: sites.chars().map(String::from).collect(),
            durability,
            has_binary_log: true,
        }
    }

    fn is_given(mode: Mode, sites: &str, durability: Durability, fault: Fault) -> bool {
        promise(&terms(mode, sites, durability), fault).is_given
    }

    #[test]
    fn one_server_promises_what_it_flushes() {
        let with = |flush_log, sync_binlog| Durability {
            flush_log,
            sync_binlog,
        };
        let given = |durability, fault| is_given(Mode::Single, "a", durability, fault);
        assert!(given(STRICT, cut(Scope::Node)) && given(STRICT, Fault::KILL));
        assert!(!given(LOOSE, cut(Scope::Node)) && given(LOOSE, Fault::KILL));
        for durability in [with(1, 0), with(1, 100), with(2, 1), with(0, 1)] {
            assert!(!given(durability, cut(Scope::Node)), "{durability:?}");
        }
        assert!(!given(with(0, 1), Fault::KILL));
        let without_log = Terms {
            has_binary_log: false,
            ..terms(Mode::Single, "a", with(1, 0))
        };
        assert!(promise(&without_log, cut(Scope::Node)).is_given);
        assert!(!given(STRICT, cut(Scope::All)), "nothing is built for it");
    }

    #[test]
    fn a_source_promises_what_a_replica_elsewhere_has_received() {
        let semisync = |wait_for| Mode::Semisync {
            wait_for,
            wait_point: WaitPoint::AfterSync,
            timeout: Duration::from_secs(1),
        };
        let given = |mode, sites| is_given(mode, sites, LOOSE, cut(Scope::Site));
        assert!(!given(Mode::Async, "abc"));
        assert!(given(semisync(1), "abc"));
        assert!(
            !given(semisync(1), "abca"),
            "the fourth stands beside the first"
        );
        assert!(given(semisync(2), "abca"));
        assert!(promise(&terms(semisync(1), "abc", LOOSE), cut(Scope::Site)).unless_alone);
    }

    #[test]
    fn a_volume_promises_what_copies_beyond_one_site_hold() {
        let quorum = |write_quorum| Mode::Quorum {
            copies: 6,
            write_quorum,
            ack: Ack::Write,
        };
        let of =
            |mode, sites, durability| promise(&terms(mode, sites, durability), cut(Scope::Site));
        assert!(of(quorum(3), "abcabc", STRICT).is_given);
        assert!(!of(quorum(3), "abcabc", LOOSE).is_given);
        let too_few = of(quorum(2), "abcabc", STRICT);
        assert_eq!(
            (too_few.is_given, too_few.reason),
            (false, Reason::HeldInOneSite)
        );
        for when_short in [WhenShort::Block, WhenShort::Degrade] {
            let mirror = Mode::Mirror {
                ack: Ack::Write,
                when_short,
                timeout: Duration::from_secs(1),
            };
            let promise = of(mirror, "ab", STRICT);
            let may_degrade = when_short == WhenShort::Degrade;
            assert_eq!(
                (promise.is_given, promise.unless_alone),
                (true, may_degrade)
            );
        }
    }

    #[test]
    fn drbds_rule_promises_what_a_copy_has_received() {
        let mirror = |ack| Mode::Mirror {
            ack,
            when_short: WhenShort::Block,
            timeout: Duration::from_secs(6),
        };
        let of = |ack, durability| {
            let promise = promise(&terms(mirror(ack), "ab", durability), cut(Scope::Site));
            (promise.is_given, promise.reason)
        };
        assert_eq!(of(Ack::Write, STRICT), (true, Reason::HeldElsewhere));
        assert_eq!(of(Ack::ProtocolC, STRICT), (true, Reason::ReceivedByCopy));
        // What is not flushed need not have left the page cache, whatever the copy waits for.
        assert_eq!(of(Ack::ProtocolC, LOOSE), (false, Reason::NotFlushed));
    }

    #[test]
    fn what_all_nodes_received_is_lost_with_all_of_them_only() {
        let given = |durability, scope| is_given(Mode::Galera, "abc", durability, cut(scope));
        assert!(given(STRICT, Scope::Node) && given(LOOSE, Scope::Node));
        assert!(given(STRICT, Scope::All) && !given(LOOSE, Scope::All));
        let consistency = crate::study::Consistency::Eventual;
        let group = Mode::Group { consistency };
        let promise = promise(&terms(group, "abc", STRICT), cut(Scope::Node));
        assert_eq!(
            (promise.is_given, promise.reason),
            (false, Reason::NotBuilt)
        );
    }
}
