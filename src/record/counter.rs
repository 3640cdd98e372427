//! What servers count, under names of ours: servers and their versions have others for the same.
//! A counter that is not in the table keeps its server's name.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Counters of one server by name, or their changes.
pub type Counters = BTreeMap<String, f64>;

/// Commits that a semi-synchronous source did not wait for, or in vain.
pub const SEMISYNC_UNACKNOWLEDGED: &str = "semisync_unacknowledged_commits";
/// How often it went on asynchronously.
pub const SEMISYNC_FALL_BACKS: &str = "semisync_fall_backs";
/// Time that commits waited for a replica's acknowledgement, µs.
pub const SEMISYNC_WAIT_US: &str = "semisync_wait_us";
/// Transactions that Galera's certification refused.
pub const GALERA_CERTIFICATION_FAILURES: &str = "galera_certification_failures";
/// Transactions under way that gave way to one that was certified elsewhere.
pub const GALERA_BRUTE_FORCE_ABORTS: &str = "galera_brute_force_aborts";
/// Time in which senders were paused by flow control, ns.
pub const GALERA_PAUSED_NS: &str = "galera_flow_control_paused_ns";
/// Pauses that a node asked for.
pub const GALERA_PAUSES_SENT: &str = "galera_flow_control_sent";
/// Pauses that a node was asked for.
pub const GALERA_PAUSES_RECEIVED: &str = "galera_flow_control_received";
/// Transactions that a group's flow control held back.
pub const GROUP_THROTTLED: &str = "group_flow_control_throttled";
/// For how long, µs.
pub const GROUP_THROTTLED_US: &str = "group_flow_control_throttled_us";
/// Transactions that a group's certification refused.
pub const GROUP_CONFLICTS: &str = "group_conflicts";
/// From handing transactions to the group until they were delivered in order, µs.
pub const GROUP_ROUND_TRIP_US: &str = "group_round_trip_us";
/// Waits of commits with consistency AFTER for the others, µs.
pub const GROUP_AFTER_US: &str = "group_consistency_after_us";
/// Rows updated in tables of users.
pub const ROWS_UPDATED: &str = "rows_updated";
/// Rows updated in all tables, a replica's own notes among them.
pub const ROWS_UPDATED_ANYWHERE: &str = "rows_updated_anywhere";
/// COMMIT statements.
pub const COMMIT_STATEMENTS: &str = "commit_statements";
/// Commits inside the storage engines.
pub const ENGINE_COMMITS: &str = "engine_commits";
/// Commits that were written to the binary log.
pub const LOGGED_COMMITS: &str = "logged_commits";
/// Transactions that were collected for the binary log, whether or not the server keeps one.
pub const LOG_CACHE_TRANSACTIONS: &str = "log_cache_transactions";
/// Writes of data files and of the redo log.
pub const DATA_WRITES: &str = "data_writes";
/// Bytes of them.
pub const DATA_WRITTEN_BYTES: &str = "data_written_bytes";
/// Flushes of data files and of the redo log.
pub const DATA_FLUSHES: &str = "data_flushes";
/// Flushes of the redo log.
pub const REDO_LOG_FLUSHES: &str = "redo_log_flushes";
/// Bytes written to the redo log.
pub const REDO_LOG_WRITTEN_BYTES: &str = "redo_log_written_bytes";
/// Bytes to clients.
pub const SENT_BYTES: &str = "sent_bytes";
/// Bytes from clients.
pub const RECEIVED_BYTES: &str = "received_bytes";

/// The servers' names, and ours.
const NAMES: [(&str, &str); 29] = [
    ("Rpl_semi_sync_source_no_tx", SEMISYNC_UNACKNOWLEDGED),
    ("Rpl_semi_sync_master_no_tx", SEMISYNC_UNACKNOWLEDGED),
    ("Rpl_semi_sync_source_no_times", SEMISYNC_FALL_BACKS),
    ("Rpl_semi_sync_master_no_times", SEMISYNC_FALL_BACKS),
    ("Rpl_semi_sync_source_tx_wait_time", SEMISYNC_WAIT_US),
    ("Rpl_semi_sync_master_tx_wait_time", SEMISYNC_WAIT_US),
    ("wsrep_local_cert_failures", GALERA_CERTIFICATION_FAILURES),
    ("wsrep_local_bf_aborts", GALERA_BRUTE_FORCE_ABORTS),
    ("wsrep_flow_control_paused_ns", GALERA_PAUSED_NS),
    ("wsrep_flow_control_sent", GALERA_PAUSES_SENT),
    ("wsrep_flow_control_recv", GALERA_PAUSES_RECEIVED),
    ("Gr_flow_control_throttle_count", GROUP_THROTTLED),
    ("Gr_flow_control_throttle_time_sum", GROUP_THROTTLED_US),
    ("Gr_conflicts_detected", GROUP_CONFLICTS),
    (
        "Gr_data_messages_sent_roundtrip_time_sum",
        GROUP_ROUND_TRIP_US,
    ),
    (
        "Gr_transactions_consistency_after_termination_time_sum",
        GROUP_AFTER_US,
    ),
    ("Innodb_rows_updated", ROWS_UPDATED),
    ("Handler_update", ROWS_UPDATED_ANYWHERE),
    ("Com_commit", COMMIT_STATEMENTS),
    ("Handler_commit", ENGINE_COMMITS),
    ("Binlog_commits", LOGGED_COMMITS),
    ("Binlog_cache_use", LOG_CACHE_TRANSACTIONS),
    ("Innodb_data_writes", DATA_WRITES),
    ("Innodb_data_written", DATA_WRITTEN_BYTES),
    ("Innodb_data_fsyncs", DATA_FLUSHES),
    ("Innodb_os_log_fsyncs", REDO_LOG_FLUSHES),
    ("Innodb_os_log_written", REDO_LOG_WRITTEN_BYTES),
    ("Bytes_sent", SENT_BYTES),
    ("Bytes_received", RECEIVED_BYTES),
];

/// What a server's counter is called here: its own name if the table has no other.
pub fn common_name(name: &str) -> &str {
    let row = NAMES
        .iter()
        .find(|(theirs, _)| theirs.eq_ignore_ascii_case(name));
    row.map_or(name, |(_, ours)| ours)
}

/// Counters of a node, or of each node, in a record that may have the servers' names.
pub(super) fn by_common_names<'de, D, V>(from: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    let kept = BTreeMap::<String, V>::deserialize(from)?;
    let renamed = kept.into_iter();
    Ok(renamed
        .map(|(name, v)| (common_name(&name).to_owned(), v))
        .collect())
}

/// The same for each node.
pub(super) fn of_nodes<'de, D>(from: D) -> Result<BTreeMap<String, Counters>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    struct Node(#[serde(deserialize_with = "by_common_names")] Counters);
    let kept = BTreeMap::<String, Node>::deserialize(from)?;
    Ok(kept
        .into_iter()
        .map(|(node, counters)| (node, counters.0))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{EndpointFacts, Measurement};

    #[test]
    fn a_record_with_the_servers_names_is_read_by_ours() {
        let mut body = serde_json::to_value(Measurement::default()).unwrap();
        body["status"] = serde_json::json!({
            "a": {"Rpl_semi_sync_master_no_tx": 4.0, "Threads_running": 1.0},
            "b": {"Innodb_rows_updated": 2.0},
        });
        let read: Measurement = serde_json::from_value(body).unwrap();
        let a = [(SEMISYNC_UNACKNOWLEDGED, 4.0), ("Threads_running", 1.0)];
        assert_eq!(
            read.status["a"],
            a.map(|(name, n)| (name.to_owned(), n)).into()
        );
        assert_eq!(read.status["b"][ROWS_UPDATED], 2.0);
        // What is written now is read as it is.
        let again = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Measurement>(&again).unwrap(), read);

        let mut facts = serde_json::to_value(EndpointFacts::default()).unwrap();
        facts["counters"] = serde_json::json!({"Innodb_data_writes": false});
        let read: EndpointFacts = serde_json::from_value(facts).unwrap();
        assert_eq!(read.counters, [(DATA_WRITES.to_owned(), false)].into());
    }

    #[test]
    fn names_of_servers_are_known_in_any_case_and_names_of_ours_stay() {
        assert_eq!(
            common_name("WSREP_LOCAL_BF_ABORTS"),
            GALERA_BRUTE_FORCE_ABORTS
        );
        assert_eq!(common_name("Uptime"), "Uptime");
        for (_, ours) in NAMES {
            assert_eq!(common_name(ours), ours);
        }
    }
}
