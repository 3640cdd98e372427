//! A volume with copies, as whoever runs it knows it: what its head is told, what a node's copy
//! tells.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::copies::promote::{Rule, Touch};
use super::copies::{Change, Reach, Terms};

/// Where a node's copy listens, at the node's own address: one node, one volume.
pub const COPY_PORT: u16 = 7788;

/// Of one peer, for [`Terms::unanswered_bytes_max`]: as much as a loop device can have under way
/// (128 requests of 1 MiB), twice. While writes wait for copies, none is dropped for a burst then.
pub const UNANSWERED_BYTES_MAX: u64 = 256 << 20;

/// Where all copies of a volume are, and what they are held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopySet {
    /// [`Terms::peers`] is one less than there are members.
    pub terms: Terms,
    /// Where each copy listens ([`super::Volume::address`]): the head's own, and those out of reach
    /// too, for they may come back.
    pub members: Vec<SocketAddr>,
}

/// What makes a node's copy the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    pub terms: Terms,
    /// Where the other copies listen.
    pub peers: Vec<SocketAddr>,
    /// Greater than that of any head before; 1 for the first.
    pub generation: u64,
    /// The volume is blank: a file system is made. Else the one that is there is recovered.
    pub is_new: bool,
    /// A mirror's copy begins without the other one: see [`super::copies::promote::Choice`].
    pub is_alone: bool,
    /// How long enough copies may take to answer and to be whole. Only then anything is shown.
    pub limit: Duration,
}

/// How a node's copy stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub is_head: bool,
    /// Of a head.
    pub reach: Option<Reach>,
    /// Of a head: copies that have all, its own included.
    pub whole_copies: usize,
    /// Of a copy: whether it has all that its head has sent, and its durable layer is that head's.
    pub is_whole: bool,
    /// Of a copy: what it can show of not having been left behind by a head that may go on alone.
    pub touch: Option<Touch>,
    /// Heads of an older generation than this are not obeyed.
    pub promised: u64,
    /// Up to which epoch flushes were begun here, and up to which they are durable here.
    pub sealed_epoch: u64,
    pub durable_epoch: u64,
    /// It led, until this newer generation came. All its I/O has failed since.
    pub fenced_by: Option<u64>,
    /// What befell it as a head since this was last asked. Times are those of the machine's
    /// monotonic clock, the same in all processes.
    pub changes: Vec<Change>,
}

/// What whoever fails a volume over has to know besides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The generation of the last fail-over that let a mirror's copy begin alone
    /// ([`super::Takeover::is_alone`]); zero for none.
    pub alone_generation: u64,
    /// Takes the best copy that is there, though others may have had more: what was reported done
    /// may be lost then.
    pub is_forced: bool,
    /// Copies that are not asked, for they have lost what they were not sure of, and that will
    /// follow whoever leads.
    pub followers: usize,
}

impl CopySet {
    /// For the member at `own` to lead in that generation; not alone.
    pub fn lead(&self, own: SocketAddr, generation: u64, is_new: bool, limit: Duration) -> Lead {
        let others = self.members.iter().filter(|member| **member != own);
        Lead {
            terms: self.terms.clone(),
            peers: others.copied().collect(),
            generation,
            is_new,
            is_alone: false,
            limit,
        }
    }

    /// Which of its copies may take over.
    pub fn rule(&self, remembered: Remembered) -> Rule {
        Rule {
            volume: self.terms.volume,
            copies: self.members.len(),
            write_quorum: self.terms.write_quorum,
            ack: self.terms.ack,
            when_short: self.terms.when_short,
            alone_generation: remembered.alone_generation,
            is_forced: remembered.is_forced,
            followers: remembered.followers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::mode::{Ack, WhenShort};

    #[test]
    fn a_head_calls_all_others() {
        let members = [1, 2, 3].map(|last| SocketAddr::from(([198, 18, 0, last], COPY_PORT)));
        let group = CopySet {
            terms: Terms {
                volume: 7,
                peers: 2,
                write_quorum: 2,
                ack: Ack::Write,
                when_short: WhenShort::Block,
                timeout: Duration::from_secs(1),
                unanswered_bytes_max: 1 << 20,
            },
            members: members.to_vec(),
        };
        let lead = group.lead(members[1], 4, false, Duration::from_secs(9));
        assert_eq!(lead.peers, [members[0], members[2]]);
        assert_eq!((lead.generation, lead.is_alone), (4, false));
        let rule = group.rule(Remembered::default());
        assert_eq!((rule.copies, rule.write_quorum), (3, 2));
    }
}
