//! Links in user space: every node has a TUN device into one switch, a child process of ours, which
//! delays, loses, slows and cuts per ordered pair of nodes, and counts.
//!
//! - here: what a link may be set to, and what is counted
//! - `layout`: distances of a study → settings of pairs; `change`: chosen links changed on top
//! - `handle`: the parent's side; `switch`: the child's; `wire`: what they say to each other
//! - `fabric`, `path`: packets on their way; `unread`: what they wait before that
//! - `keep`: packets kept as they are handed over; `stream`: what TCP carried in them
//! - `pace`: when to sleep and when to spin; `priority`: for how long it had none
//! - `probe`: round-trip time as got; `seen`: whether a change of links can be seen

pub mod change;
mod fabric;
pub mod handle;
mod keep;
pub mod layout;
pub mod pace;
pub mod path;
mod priority;
pub mod probe;
pub mod realtime;
pub mod seen;
pub mod stream;
pub mod switch;
mod unread;
pub mod wire;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use change::{Change, LinkChange};
pub use handle::{LinkNode, Switch, SwitchOptions};
pub use layout::pair_settings;
pub use probe::{Probe, median};
pub use seen::{CutEchoes, LinkSeen, Way};
pub use stream::{Kept, Stream};

/// A packet released later than this after its due time is *late*. Enough late packets void a cell.
pub const LATE_BOUND_US: u64 = 300;

/// What one direction of one link does to packets. The default does nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSetting {
    /// From leaving one node to reaching the other, half of the switch's own floor included.
    pub one_way_delay: Duration,
    /// Largest extra delay, drawn evenly from zero to this, and anew after a while; packets keep
    /// their order.
    pub jitter: Duration,
    /// Share of packets lost, 0 to 1.
    pub loss: f64,
    /// Packets follow each other at this rate; `None` for no limit. See [`path::QUEUE_WAIT_MAX`].
    pub rate_bits_per_s: Option<u64>,
    /// Nothing enters the link any more, at the sending node's end. What is already on its way
    /// still arrives.
    pub is_cut: bool,
}

/// The setting of one ordered pair of nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairSetting {
    pub from: String,
    pub to: String,
    pub setting: LinkSetting,
}

/// One direction of one link, of which the switch keeps what TCP connections carry from a port: a
/// server's answers, if that is where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    pub from: String,
    pub to: String,
    pub port_from: u16,
}

/// What one direction of one link has carried and dropped since the switch started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCounters {
    pub from: String,
    pub to: String,
    /// Packets that entered the link and were not dropped.
    pub packets: u64,
    /// Their IP bytes, headers included.
    pub bytes: u64,
    /// Packets handed over at the other end, and the sum of their one-way delays as got: from the
    /// stamp to the handing over, and half of the floor, which lies outside of the switch.
    pub released: u64,
    pub delay_ns_sum: u64,
    /// Packets dropped by the loss setting.
    pub dropped_by_loss: u64,
    /// Packets dropped because the link was cut.
    pub dropped_by_cut: u64,
    /// Packets that found the link's queue full.
    pub dropped_by_queue: u64,
}

/// All that the switch has counted since it started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchCounters {
    /// Every ordered pair of different nodes.
    pub pairs: Vec<PairCounters>,
    /// Packets released to their destinations.
    pub packets: u64,
    /// Of these, packets released more than [`LATE_BOUND_US`] after their due time, which counts
    /// from when the switch read them, with what they waited before that on the average.
    pub late_packets: u64,
    /// Largest lateness since the previous reading of the counters.
    pub lateness_us_max: u64,
    /// Sum over all released packets; one released early counts as 0.
    pub lateness_ns_sum: u64,
    /// Packets for addresses that no node has; dropped.
    pub unroutable_packets: u64,
    /// Packets that the destination's device refused; dropped.
    pub undelivered_packets: u64,
    /// The switch's CPU time, spinning included.
    pub cpu_ns: u64,
    /// The part of it spent spinning just before due times.
    pub spin_ns: u64,
    /// Time without real-time priority, which was refused or given up.
    pub without_priority_ns: u64,
}

impl SwitchCounters {
    /// One direction of one link.
    pub fn pair(&self, from: &str, to: &str) -> Option<&PairCounters> {
        self.pairs.iter().find(|p| p.from == from && p.to == to)
    }

    /// CPU time spent on packets: without the spinning.
    pub fn work_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.spin_ns)
    }

    /// What was added since an earlier reading of the same switch.
    pub fn since(&self, earlier: &SwitchCounters) -> SwitchCounters {
        self.combined(earlier, |now, then| now - then)
    }

    /// Adds what another stretch of the same switch counted.
    pub fn add(&mut self, stretch: &SwitchCounters) {
        *self = self.combined(stretch, |own, other| own + other);
    }

    /// Every counter combined with its counterpart; the largest lateness stays.
    fn combined(&self, other: &SwitchCounters, by: fn(u64, u64) -> u64) -> SwitchCounters {
        let combined = |pair: &PairCounters| match other.pair(&pair.from, &pair.to) {
            Some(counterpart) => pair.combined(counterpart, by),
            None => pair.clone(),
        };
        SwitchCounters {
            pairs: self.pairs.iter().map(combined).collect(),
            packets: by(self.packets, other.packets),
            late_packets: by(self.late_packets, other.late_packets),
            lateness_us_max: self.lateness_us_max,
            lateness_ns_sum: by(self.lateness_ns_sum, other.lateness_ns_sum),
            unroutable_packets: by(self.unroutable_packets, other.unroutable_packets),
            undelivered_packets: by(self.undelivered_packets, other.undelivered_packets),
            cpu_ns: by(self.cpu_ns, other.cpu_ns),
            spin_ns: by(self.spin_ns, other.spin_ns),
            without_priority_ns: by(self.without_priority_ns, other.without_priority_ns),
        }
    }
}

impl PairCounters {
    /// Mean one-way delay as got, in µs; none if nothing was handed over.
    pub fn delay_us_mean(&self) -> Option<f64> {
        (self.released > 0).then(|| self.delay_ns_sum as f64 / 1e3 / self.released as f64)
    }

    fn combined(&self, other: &PairCounters, by: fn(u64, u64) -> u64) -> PairCounters {
        PairCounters {
            from: self.from.clone(),
            to: self.to.clone(),
            packets: by(self.packets, other.packets),
            bytes: by(self.bytes, other.bytes),
            released: by(self.released, other.released),
            delay_ns_sum: by(self.delay_ns_sum, other.delay_ns_sum),
            dropped_by_loss: by(self.dropped_by_loss, other.dropped_by_loss),
            dropped_by_cut: by(self.dropped_by_cut, other.dropped_by_cut),
            dropped_by_queue: by(self.dropped_by_queue, other.dropped_by_queue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(packets: u64, bytes: u64) -> SwitchCounters {
        let pair = PairCounters {
            from: "a".into(),
            to: "b".into(),
            packets,
            bytes,
            released: packets,
            delay_ns_sum: packets * 4_000_000,
            ..PairCounters::default()
        };
        SwitchCounters {
            pairs: vec![pair],
            packets,
            cpu_ns: packets * 9_000,
            spin_ns: packets * 1_000,
            without_priority_ns: packets * 500,
            lateness_us_max: 7,
            ..SwitchCounters::default()
        }
    }

    #[test]
    fn since_is_the_difference() {
        let added = counters(30, 3_000).since(&counters(10, 1_000));
        assert_eq!(added, counters(20, 2_000));
        assert_eq!(added.work_ns(), 160_000);
        assert_eq!(added.pairs[0].delay_us_mean(), Some(4_000.0));
    }

    #[test]
    fn a_mean_delay_needs_a_packet() {
        assert_eq!(PairCounters::default().delay_us_mean(), None);
    }

    #[test]
    fn a_stretch_is_added() {
        let mut begin = counters(10, 1_000);
        begin.add(&counters(30, 3_000).since(&counters(25, 2_500)));
        assert_eq!(begin, counters(15, 1_500));
    }

    #[test]
    fn a_pair_is_ordered() {
        let counters = counters(1, 100);
        assert!(counters.pair("a", "b").is_some());
        assert!(counters.pair("b", "a").is_none());
    }
}
