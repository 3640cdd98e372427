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
    use crate::study::fault::Leaves;
    use crate::study::{Ack, Consistency, WaitPoint};

    const TIMEOUT: Duration = Duration::from_secs(1);

    fn semisync(wait_for: u32) -> Mode {
        Mode::Semisync {
            wait_for,
            wait_point: WaitPoint::AfterSync,
            timeout: TIMEOUT,
        }
    }

    fn quorum(write_quorum: u32) -> Mode {
        Mode::Quorum {
            copies: 6,
            write_quorum,
            ack: Ack::Write,
        }
    }

    fn mirror(when_short: WhenShort) -> Mode {
        Mode::Mirror {
            ack: Ack::Write,
            when_short,
            timeout: TIMEOUT,
        }
    }

    #[test]
    fn each_mode_promises_what_its_fault_leaves() {
        use Reason::*;
        let cut = |scope| Fault::power_cut(Leaves::Nothing, scope);
        let (node, site, all) = (cut(Scope::Node), cut(Scope::Site), cut(Scope::All));
        let (single, galera, kill) = (Mode::Single, Mode::Galera, Fault::KILL);
        let [block, degrade] = [WhenShort::Block, WhenShort::Degrade].map(mirror);
        let consistency = Consistency::Eventual;
        let given = [
            HandedOver,
            Flushed,
            ReceivedElsewhere,
            HeldByAllNodes,
            HeldElsewhere,
            ReceivedByCopy,
        ];
        let drbd = Mode::Mirror {
            ack: Ack::ProtocolC,
            when_short: WhenShort::Block,
            timeout: TIMEOUT,
        };
        // Nodes' sites are a letter each; settings are flush_log and sync_binlog.
        for (mode, sites, (flush_log, sync_binlog), fault, reason) in [
            (single, "a", (1, 1), node, Flushed),
            (single, "a", (2, 0), node, NotFlushed),
            (single, "a", (1, 0), node, NotFlushed),
            (single, "a", (1, 100), node, NotFlushed),
            (single, "a", (2, 1), node, NotFlushed),
            (single, "a", (1, 1), kill, HandedOver),
            (single, "a", (2, 0), kill, HandedOver),
            (single, "a", (0, 1), kill, NotHandedOver),
            (single, "a", (1, 1), all, NotBuilt),
            (Mode::Async, "abc", (2, 0), site, NotReceivedElsewhere),
            (semisync(1), "abc", (2, 0), site, ReceivedElsewhere),
            // The fourth stands beside the first.
            (semisync(1), "abca", (2, 0), site, NotReceivedElsewhere),
            (semisync(2), "abca", (2, 0), site, ReceivedElsewhere),
            (quorum(3), "abcabc", (1, 1), site, HeldElsewhere),
            (quorum(3), "abcabc", (2, 0), site, NotFlushed),
            (quorum(2), "abcabc", (1, 1), site, HeldInOneSite),
            (block, "ab", (1, 1), site, HeldElsewhere),
            (drbd, "ab", (1, 1), site, ReceivedByCopy),
            // What is not flushed need not have left the page cache, whatever the copy waits for.
            (drbd, "ab", (2, 0), site, NotFlushed),
            (degrade, "ab", (1, 1), site, HeldElsewhere),
            (galera, "abc", (2, 0), node, HeldByAllNodes),
            (galera, "abc", (1, 1), all, Flushed),
            (galera, "abc", (2, 0), all, NotFlushed),
            (Mode::Group { consistency }, "abc", (1, 1), node, NotBuilt),
        ] {
            let terms = Terms {
                mode,
                sites: sites.chars().map(String::from).collect(),
                durability: Durability {
                    flush_log,
                    sync_binlog,
                },
                has_binary_log: true,
            };
            let expected = Promise {
                is_given: given.contains(&reason),
                unless_alone: mode == degrade || matches!(mode, Mode::Semisync { .. }),
                reason,
            };
            assert_eq!(promise(&terms, fault), expected, "{terms:?} {fault:?}");
            let has_binary_log = false;
            let without_log = Terms {
                has_binary_log,
                ..terms
            };
            assert_eq!(without_log.flushes(), flush_log == 1);
        }
    }
}
