//! MariaDB Galera Cluster.

use std::time::{Duration, Instant};

use super::super::lab::Lab;
use super::super::options::Settings;
use super::{READY_LIMIT, replication};
use crate::error::{Result, breakdown};
use crate::lab::node::{Node, pause};
use crate::study::ModeSpec;

/// The provider, its addresses, and what Galera demands of InnoDB.
pub fn settings(lab: &Lab, i: usize) -> Settings {
    let addresses: Vec<String> = lab
        .nodes
        .iter()
        .map(|n| n.place.address.to_string())
        .collect();
    let provider = lab
        .program
        .galera
        .as_ref()
        .map(|path| path.display().to_string());
    let mut settings = replication::base_settings(lab);
    let own = &lab.nodes[i];
    let pairs = [
        ("wsrep_on", "ON".to_owned()),
        ("wsrep_provider", provider.unwrap_or_default()),
        ("wsrep_cluster_name", "acklab".into()),
        (
            "wsrep_cluster_address",
            format!("gcomm://{}", addresses.join(",")),
        ),
        ("wsrep_node_address", addresses[i].clone()),
        ("wsrep_node_name", own.site().to_owned()),
        ("wsrep_sst_method", "rsync".into()),
        ("wsrep_slave_threads", lab.spec.appliers.to_string()),
        ("innodb_autoinc_lock_mode", "2".into()),
        ("binlog_format", "ROW".into()),
    ];
    for (name, value) in pairs {
        settings.set(name, value);
    }
    let control = if lab.spec.auto_increment_step() > 1 {
        "ON"
    } else {
        "OFF"
    };
    settings.set("wsrep_auto_increment_control", control);
    if lab.spec.binary_log {
        // The nodes' binary logs then agree on who wrote what.
        settings.set("wsrep_gtid_mode", "ON");
    }
    settings
}

/// The first node bootstraps the cluster; the others join one by one, as state transfers do.
pub fn form(lab: &mut Lab) -> Result<()> {
    lab.start(0, &["--wsrep-new-cluster"])?;
    lab.nodes[0].wait_accepting()?;
    wait_synced(&mut lab.nodes[0], 1)?;
    for i in 1..lab.nodes.len() {
        lab.start(i, &[])?;
        lab.nodes[i].wait_accepting()?;
        wait_synced(&mut lab.nodes[i], i + 1)?;
    }
    let size = lab.nodes.len();
    lab.nodes
        .iter_mut()
        .try_for_each(|node| wait_synced(node, size))
}

/// Synced in a primary component of that size.
fn wait_synced(node: &mut Node, size: usize) -> Result<()> {
    let what = format!("Synced in a cluster of {size}");
    node.wait_until(&what, READY_LIMIT, |node| {
        let status = node.pairs("SHOW GLOBAL STATUS LIKE 'wsrep%'")?;
        let holds = |name: &str, value: &str| status.get(name).is_some_and(|got| got == value);
        Ok(holds("wsrep_local_state_comment", "Synced")
            && holds("wsrep_cluster_status", "Primary")
            && holds("wsrep_ready", "ON")
            && holds("wsrep_cluster_size", &size.to_string()))
    })
}

/// Galera has one mode only: waits until it is whole.
pub fn enter(lab: &mut Lab, _spec: &ModeSpec) -> Result<()> {
    let size = lab.nodes.len();
    lab.nodes
        .iter_mut()
        .try_for_each(|node| wait_synced(node, size))?;
    for i in 1..size {
        if !catch_up(lab, i, READY_LIMIT)? {
            return Err(breakdown("catch up with the cluster", lab.nodes[i].site()));
        }
    }
    Ok(())
}

/// Waits until node `i` has committed the writer's last write set.
pub fn catch_up(lab: &mut Lab, i: usize, limit: Duration) -> Result<bool> {
    let target = last_committed(&mut lab.nodes[0])?;
    let start = Instant::now();
    while last_committed(&mut lab.nodes[i])? < target {
        if start.elapsed() > limit {
            return Ok(false);
        }
        pause(Duration::from_millis(5))?;
    }
    Ok(true)
}

fn last_committed(node: &mut Node) -> Result<u64> {
    let status = node.pairs("SHOW GLOBAL STATUS LIKE 'wsrep_last_committed'")?;
    let text = status
        .get("wsrep_last_committed")
        .cloned()
        .unwrap_or_default();
    let parsed = text.parse();
    parsed.map_err(|_| node.breakdown("read wsrep_last_committed", &format!("got `{text}`")))
}
