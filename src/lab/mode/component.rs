//! What a node of Galera says of itself, and of the component of the cluster that it is in.

use std::collections::BTreeMap;

use super::gtids::Gtids;

/// What is asked of a node; one without a cluster answers that, too.
pub const ASK: &str = "SHOW GLOBAL STATUS LIKE 'wsrep%'";

/// A node and its component, by its own account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Component {
    /// What the node is doing, in Galera's words: `Synced`, `Donor/Desynced`, `Initialized` …
    pub state: String,
    /// The component may commit: it holds the majority of the one before it, or was made primary.
    pub is_primary: bool,
    /// The node takes clients' statements.
    pub is_ready: bool,
    /// How many nodes the component has.
    pub size: usize,
    /// The history that its write sets are numbered in.
    pub history: String,
    /// The last write set that it committed; 0 of none.
    pub last_committed: u64,
    /// Write sets that it has received and not applied yet.
    pub waiting: u64,
}

impl Component {
    /// From what a node answers to [`ASK`].
    pub fn read(status: &BTreeMap<String, String>) -> Component {
        let said = |name: &str| status.get(name).map_or("", String::as_str);
        let number = |name: &str| said(name).parse::<u64>().ok();
        Component {
            state: said("wsrep_local_state_comment").to_owned(),
            is_primary: said("wsrep_cluster_status") == "Primary",
            is_ready: said("wsrep_ready") == "ON",
            size: said("wsrep_cluster_size").parse().unwrap_or(0),
            history: said("wsrep_cluster_state_uuid").to_owned(),
            // One that has none yet says -1, or the largest number that there is.
            last_committed: number("wsrep_last_committed")
                .filter(|&last| last < u64::MAX)
                .unwrap_or(0),
            waiting: number("wsrep_local_recv_queue").unwrap_or(0),
        }
    }

    /// Whether the node has all that its component had when it joined, and takes statements.
    pub fn is_synced(&self) -> bool {
        self.state == "Synced" && self.is_primary && self.is_ready
    }

    /// Whether it gives its state to another node. One that takes it answers nobody.
    pub fn is_donor(&self) -> bool {
        self.state.starts_with("Donor")
    }

    /// Why it does not go on with so many nodes, itself among them; `None` if it does.
    pub fn why_no_whole_of(&self, nodes: usize) -> Option<String> {
        if !self.is_primary {
            return Some("its component may not commit".to_owned());
        }
        let size = self.size;
        let told = format!("its component counts {size} nodes, and not {nodes}");
        (size != nodes).then_some(told)
    }

    /// Its write sets as a set of transactions: those that it has committed.
    pub fn executed(&self) -> Gtids {
        self.up_to(self.last_committed)
    }

    /// The same with those that it has only received.
    pub fn received(&self) -> Gtids {
        self.up_to(self.last_committed + self.waiting)
    }

    fn up_to(&self, last: u64) -> Gtids {
        match last {
            0 => Gtids::default(),
            last => Gtids::read(&format!("{}:1-{last}", self.history)),
        }
    }
}

/// Whether a primary component goes on without one node, by what all others say that answer: those
/// of them that are in it are as many as it counts.
pub fn go_on_without(others: &[Component]) -> bool {
    let is_in = |one: &&Component| one.is_primary;
    let inside: Vec<&Component> = others.iter().filter(is_in).collect();
    inside.iter().any(|one| one.size <= inside.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "8bcf4a34-aedb-14e5-bcc3-d3e36277729f";

    fn component(changed: &[(&str, &str)]) -> Component {
        let whole = [
            ("wsrep_local_state_comment", "Synced"),
            ("wsrep_cluster_status", "Primary"),
            ("wsrep_ready", "ON"),
            ("wsrep_cluster_size", "3"),
            ("wsrep_cluster_state_uuid", UUID),
            ("wsrep_last_committed", "100"),
            ("wsrep_local_recv_queue", "0"),
        ];
        let all = whole.iter().chain(changed);
        let all = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Component::read(&all.collect())
    }

    #[test]
    fn a_node_is_synced_where_its_component_may_commit() {
        let whole = component(&[]);
        assert!(whole.is_synced());
        assert_eq!((whole.size, whole.executed().count()), (3, 100));
        for changed in [
            ("wsrep_local_state_comment", "Donor/Desynced"),
            ("wsrep_cluster_status", "non-Primary"),
            ("wsrep_ready", "OFF"),
        ] {
            assert!(!component(&[changed]).is_synced(), "{changed:?}");
        }
        assert!(!Component::read(&BTreeMap::new()).is_synced());
    }

    #[test]
    fn a_component_that_was_forced_is_primary_and_counts_its_nodes() {
        let of = |size: &str| component(&[("wsrep_cluster_size", size)]);
        assert_eq!(of("1").why_no_whole_of(1), None);
        let words = of("3").why_no_whole_of(1).unwrap();
        assert_eq!(words, "its component counts 3 nodes, and not 1");
        let lost = component(&[("wsrep_cluster_status", "non-Primary")]);
        assert!(lost.why_no_whole_of(3).is_some());
    }

    #[test]
    fn who_gives_its_state_says_so() {
        let donor = component(&[("wsrep_local_state_comment", "Donor/Desynced")]);
        assert!(donor.is_donor() && !donor.is_synced());
        assert!(!component(&[]).is_donor());
    }

    #[test]
    fn what_waits_was_received_and_is_not_committed() {
        let behind = component(&[("wsrep_local_recv_queue", "7")]);
        assert_eq!(behind.received().missing_in(&behind.executed()), 7);
        let other = component(&[("wsrep_last_committed", "107")]);
        assert_eq!(behind.received(), other.executed());
        for none in ["-1", "18446744073709551615", "0"] {
            let none = component(&[("wsrep_last_committed", none)]);
            assert_eq!(none.executed(), Gtids::default());
        }
    }

    #[test]
    fn who_was_put_out_is_counted_no_more() {
        let of = |size: &str| component(&[("wsrep_cluster_size", size)]);
        assert!(!go_on_without(&[of("3"), of("3")]), "not noticed yet");
        assert!(go_on_without(&[of("2"), of("2")]));
        let lost = component(&[
            ("wsrep_cluster_status", "non-Primary"),
            ("wsrep_cluster_size", "1"),
        ]);
        assert!(
            !go_on_without(std::slice::from_ref(&lost)),
            "nobody goes on"
        );
        assert!(go_on_without(&[of("1"), lost]));
        assert!(!go_on_without(&[]));
    }
}
