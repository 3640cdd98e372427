//! The servers' own counters: what changed over a window, and where commit time went.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::lab::sql::Ask;
use crate::record::SEMISYNC_WAIT;
pub use crate::record::counter::Counters;
use crate::record::counter::{self, common_name};

/// All numeric counters of a server, under their common names. `flush_times` is its dialect's
/// statement for the time spent in flushes, if it has one.
pub fn read(node: &mut impl Ask, flush_times: Option<&str>) -> Result<Counters> {
    let status = node.pairs("SHOW GLOBAL STATUS")?;
    let is_in_a_group = status.keys().any(|name| name.starts_with("Gr_"));
    let mut counters = numeric(status);
    if is_in_a_group {
        let sql = "SELECT 'Gr_conflicts_detected', SUM(COUNT_CONFLICTS_DETECTED) \
                   FROM performance_schema.replication_group_member_stats";
        counters.extend(numeric(node.pairs(sql)?));
    }
    if let Some(sql) = flush_times {
        counters.extend(numeric(node.pairs(sql)?));
    }
    Ok(counters)
}

fn numeric(pairs: BTreeMap<String, String>) -> Counters {
    let parsed = pairs
        .into_iter()
        .filter_map(|(name, text)| Some((common_name(&name).to_owned(), text.parse().ok()?)));
    parsed.collect()
}

/// Counters that changed, by how much.
pub fn changes(before: &Counters, after: &Counters) -> Counters {
    let changed = after.iter().filter_map(|(name, now)| {
        let change = now - before.get(name).copied().unwrap_or(0.0);
        (change != 0.0).then(|| (name.clone(), change))
    });
    changed.collect()
}

/// Commits of one server by its own count, from the changes of its counters; `None` where it does
/// not count them: without a binary log and without Galera.
fn own_commits(changes: &Counters) -> Option<f64> {
    let counted = [counter::LOGGED_COMMITS, counter::LOG_CACHE_TRANSACTIONS];
    let mut counted = counted
        .iter()
        .filter_map(|name| changes.get(*name).copied());
    counted.find(|commits| *commits > 0.0)
}

/// Where the writer's commit time went, in µs per commit, as far as its counters tell. Each name
/// says what was waited for. A counter's unit is that of its documentation.
///
/// Times and commits are the same server's, over the same span: the clients' count of commits
/// belongs to another one, and to all writers.
pub fn commit_time_us(changes: &Counters) -> BTreeMap<String, f64> {
    let mut parts = BTreeMap::new();
    let Some(commits) = own_commits(changes) else {
        return parts;
    };
    let mut add = |name: &str, sum_us: Option<f64>| {
        if let Some(sum_us) = sum_us {
            parts.insert(name.to_owned(), sum_us / commits);
        }
    };
    let get = |name: &str| changes.get(name).copied();
    // ps in the performance schema, whose file instruments count a flush as "miscellaneous".
    for log in ["redo log", "binary log"] {
        let sum_ps = get(&format!("flush {log}"));
        add(&format!("flush of the {log}"), sum_ps.map(|ps| ps / 1e6));
    }
    add(SEMISYNC_WAIT, get(counter::SEMISYNC_WAIT_US));
    add("group round trip", get(counter::GROUP_ROUND_TRIP_US));
    add("group consistency AFTER", get(counter::GROUP_AFTER_US));
    let paused_ns = get(counter::GALERA_PAUSED_NS);
    add("galera flow control", paused_ns.map(|ns| ns / 1000.0));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(pairs: &[(&str, f64)]) -> Counters {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    #[test]
    fn counters_have_names_that_no_version_changes() {
        let pairs = |names: [&str; 2]| names.map(|name| (name.to_owned(), "7".to_owned()));
        for name in ["Rpl_semi_sync_source_no_tx", "Rpl_semi_sync_master_no_tx"] {
            let read = numeric(pairs([name, "Uptime"]).into());
            let expected = [(counter::SEMISYNC_UNACKNOWLEDGED, 7.0), ("Uptime", 7.0)];
            assert_eq!(read, counters(&expected));
        }
    }

    #[test]
    fn only_what_changed_is_kept() {
        let before = counters(&[("Com_commit", 5.0), ("Threads_running", 2.0)]);
        let after = counters(&[("Com_commit", 9.0), ("Threads_running", 2.0), ("New", 1.0)]);
        assert_eq!(
            changes(&before, &after),
            counters(&[("Com_commit", 4.0), ("New", 1.0)])
        );
    }

    #[test]
    fn waiting_time_is_per_commit_of_the_servers_own_count_and_ns_become_us() {
        let waits = [
            (counter::SEMISYNC_WAIT_US, 3000.0),
            (counter::GALERA_PAUSED_NS, 5_000_000.0),
            ("flush binary log", 2_000_000_000.0),
        ];
        let with = |more: &[(&str, f64)]| commit_time_us(&counters(&[&waits, more].concat()));
        let parts = with(&[(counter::LOG_CACHE_TRANSACTIONS, 10.0)]);
        assert_eq!(parts[SEMISYNC_WAIT], 300.0);
        assert_eq!(parts["galera flow control"], 500.0);
        assert_eq!(parts["flush of the binary log"], 200.0);
        // Of both, the one that leaves out what was rolled back.
        let both = [
            (counter::LOG_CACHE_TRANSACTIONS, 12.0),
            (counter::LOGGED_COMMITS, 10.0),
        ];
        assert_eq!(with(&both), parts);
        assert!(with(&[("commit_statements", 10.0)]).is_empty());
    }
}
