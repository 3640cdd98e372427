//! What is moved, and how far, to see what throughput depends on.

use serde::{Deserialize, Serialize};

/// A thing that a cell has otherwise than the last cell before it that is not moved; in all else
/// the two are the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    pub thing: Thing,
    /// Below 1: how fast it is, over what it was. Above 1: how much of it there is.
    pub speed: f64,
}

/// What can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Thing {
    /// Round-trip times between all sites.
    Distance,
    /// The rate of links between sites.
    LinkRate,
    /// What all emulated disks add to a read, to a write and to a flush.
    Read,
    Write,
    Flush,
    /// What they do in a second at most.
    Iops,
    Bandwidth,
    /// From the end of a connection's transaction to the beginning of its next.
    Pace,
    /// CPUs that the writer has for itself, and the replicas, and everybody else.
    WriterCpu,
    ReplicasCpu,
    RestCpu,
    /// CPUs that all share.
    SharedCpu,
    /// Parallel applier threads.
    Appliers,
    /// Schemas that the load is spread over: transactions meet each other's rows less often.
    Schemas,
    /// Client connections.
    Connections,
}

impl Thing {
    /// All, in the order in which they are measured.
    pub const ALL: [Thing; 15] = [
        Thing::Distance,
        Thing::LinkRate,
        Thing::Read,
        Thing::Write,
        Thing::Flush,
        Thing::Iops,
        Thing::Bandwidth,
        Thing::Pace,
        Thing::WriterCpu,
        Thing::ReplicasCpu,
        Thing::RestCpu,
        Thing::SharedCpu,
        Thing::Appliers,
        Thing::Schemas,
        Thing::Connections,
    ];

    /// As records write it.
    pub fn word(self) -> &'static str {
        match self {
            Thing::Distance => "distance",
            Thing::LinkRate => "link-rate",
            Thing::Read => "read",
            Thing::Write => "write",
            Thing::Flush => "flush",
            Thing::Pace => "pace",
            Thing::Iops => "iops",
            Thing::Bandwidth => "bandwidth",
            Thing::WriterCpu => "writer-cpu",
            Thing::ReplicasCpu => "replicas-cpu",
            Thing::RestCpu => "rest-cpu",
            Thing::SharedCpu => "shared-cpu",
            Thing::Appliers => "appliers",
            Thing::Schemas => "schemas",
            Thing::Connections => "connections",
        }
    }

    /// Whether it is a time, which is longer where it is slower.
    pub fn is_time(self) -> bool {
        matches!(
            self,
            Thing::Distance | Thing::Read | Thing::Write | Thing::Flush | Thing::Pace
        )
    }

    /// Whether it is a time or a capacity: with all of these together throughput scales. The others
    /// are a matter of how the load and its servers are laid out.
    pub fn scales(self) -> bool {
        !matches!(self, Thing::Appliers | Thing::Schemas | Thing::Connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_written_by_its_word() {
        for thing in Thing::ALL {
            let written = serde_json::to_value(thing).unwrap();
            assert_eq!(written, thing.word());
        }
    }

    #[test]
    fn every_time_scales() {
        assert!(
            Thing::ALL
                .iter()
                .all(|thing| thing.scales() || !thing.is_time())
        );
        assert_eq!(Thing::ALL.iter().filter(|thing| thing.scales()).count(), 12);
    }
}
