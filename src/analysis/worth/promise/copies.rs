//! Where an acknowledged commit is held at least, and what takes it away.

use std::collections::BTreeSet;

use crate::analysis::worth::promised::PromiseTerms;

/// How safely a node holds a commit. What takes one away takes those before it too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    #[default]
    Nothing,
    /// In the server's memory: until the server ends.
    Memory,
    /// With the operating system, or in a disk's cache: until the power goes. Whatever a power cut
    /// leaves of a disk's cache, the operating system's own is gone.
    HandedOver,
    /// On the disk.
    Flushed,
}

impl Hold {
    /// What the server that acknowledges holds itself.
    pub fn own(terms: &PromiseTerms) -> Hold {
        match terms.durability.flush_log {
            0 => Hold::Memory,
            _ if terms.flushes() => Hold::Flushed,
            _ => Hold::HandedOver,
        }
    }
}

/// So many of these nodes hold it at least; nobody knows which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Several {
    pub at_least: usize,
    pub among: BTreeSet<usize>,
    pub hold: Hold,
}

impl Several {
    /// These nodes hold it no more: each may be one that did.
    pub fn drop_at(&mut self, nodes: impl IntoIterator<Item = usize>) {
        for node in nodes {
            if self.among.remove(&node) {
                self.at_least = self.at_least.saturating_sub(1);
            }
        }
    }

    /// A minority of them may hold it no more, nobody knows which.
    pub fn lose_minority(&mut self) {
        let minority = self.among.len().saturating_sub(1) / 2;
        self.at_least = self.at_least.saturating_sub(minority);
    }

    /// How many of those that are at hand hold it at least.
    pub fn left_in(&self, at_hand: &BTreeSet<usize>) -> usize {
        let missing = self.among.difference(at_hand).count();
        self.at_least.saturating_sub(missing)
    }
}

/// Where a commit is held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copies {
    /// What each node holds for sure, by index.
    pub sure: Vec<Hold>,
    pub several: Several,
}

impl Copies {
    /// At one of so many nodes.
    pub fn at(nodes: usize, node: usize, hold: Hold) -> Copies {
        let of = |other| if other == node { hold } else { Hold::Nothing };
        Copies {
            sure: (0..nodes).map(of).collect(),
            several: Several::default(),
        }
    }

    pub fn at_node(&self, node: usize) -> Hold {
        self.sure.get(node).copied().unwrap_or_default()
    }

    pub fn is_at(&self, node: usize) -> bool {
        self.at_node(node) > Hold::Nothing
    }

    /// These nodes lose what they hold less safely than that.
    pub fn lose_below(&mut self, least: Hold, nodes: &[usize]) {
        for &node in nodes {
            if self.at_node(node) < least {
                self.lose_at(node);
            }
        }
        if self.several.hold < least {
            self.several.drop_at(nodes.iter().copied());
        }
    }

    /// These nodes lose all.
    pub fn lose_all(&mut self, nodes: &[usize]) {
        nodes.iter().for_each(|&node| self.lose_at(node));
        self.several.drop_at(nodes.iter().copied());
    }

    fn lose_at(&mut self, node: usize) {
        if let Some(hold) = self.sure.get_mut(node) {
            *hold = Hold::Nothing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_takes_what_is_held_less_safely() {
        let mut copies = Copies::at(3, 0, Hold::HandedOver);
        copies.several = Several {
            at_least: 2,
            among: [1, 2].into(),
            hold: Hold::Memory,
        };
        copies.lose_below(Hold::HandedOver, &[0, 1]);
        assert!(copies.is_at(0), "a kill leaves what was handed over");
        assert_eq!(copies.several.at_least, 1, "and takes memory");
        copies.lose_below(Hold::Flushed, &[0, 9]);
        assert!(!copies.is_at(0) && !copies.is_at(9));
        copies.lose_all(&[2]);
        assert_eq!(copies.several.at_least, 0);
    }

    /// Of two that hold it among three, one that is not at hand may be one of them.
    #[test]
    fn whoever_is_missing_may_have_held_it() {
        let mut several = Several {
            at_least: 2,
            among: [1, 2, 3].into(),
            hold: Hold::Flushed,
        };
        assert_eq!(several.left_in(&[1, 2, 3, 7].into()), 2);
        assert_eq!(several.left_in(&[1, 2].into()), 1);
        assert_eq!(several.left_in(&[7].into()), 0);
        several.drop_at([1, 1, 8]);
        assert_eq!((several.at_least, several.among), (1, [2, 3].into()));
    }
}
