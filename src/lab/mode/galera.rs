//! MariaDB Galera Cluster.

use std::fs;
use std::time::{Duration, Instant};

use super::super::lab::{Lab, READY_LIMIT};
use super::super::options::Settings;
use super::component::{ASK, Component};
use super::gtids::Gtids;
use super::replication;
use crate::error::{Error, Result, Tried, breakdown};
use crate::lab::node::{Node, pause};
use crate::study::ModeSpec;

/// Longer than the largest write set takes to be applied.
const STANDS: Duration = Duration::from_secs(120);
/// A node that comes back applies for as long as it gets on, but not for ever.
const CATCHING_UP_LIMIT: Duration = Duration::from_secs(600);

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
        ("wsrep_node_name", own.name().to_owned()),
        ("wsrep_sst_method", "rsync".into()),
        ("wsrep_slave_threads", lab.spec.appliers.to_string()),
        ("innodb_autoinc_lock_mode", "2".into()),
        ("binlog_format", "ROW".into()),
        // Nodes do not follow each other's binary logs, whose ends may disagree after a crash.
        ("gtid_strict_mode", "OFF".into()),
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

/// What makes a server the first of a new cluster.
const NEW_CLUSTER: &str = "--wsrep-new-cluster";

/// The first node bootstraps the cluster; the others join.
pub fn form(lab: &mut Lab) -> Result<()> {
    begin(lab, 0, &[NEW_CLUSTER])?;
    let others: Vec<usize> = (1..lab.nodes.len()).collect();
    join(lab, &others)
}

/// The same on what the nodes' disks hold, which was all alike when their servers ended well.
pub(super) fn form_again(lab: &mut Lab) -> Result<()> {
    allow_bootstrap(&lab.nodes[0])?;
    form(lab)
}

/// Starts node `first` as a cluster of its own.
fn begin(lab: &mut Lab, first: usize, words: &[&str]) -> Result<()> {
    lab.start(first, words)?;
    lab.nodes[first].wait_accepting()?;
    wait_synced(&mut lab.nodes[first], 1)
}

/// Has these nodes, whose servers do not run, join the others: one by one, as state transfers do.
///
/// # Errors
/// A breakdown with the last log lines of a server that does not come up, or is not Synced in time.
pub fn join(lab: &mut Lab, joining: &[usize]) -> Result<()> {
    let all = lab.nodes.len();
    for (&i, size) in joining.iter().zip(all - joining.len() + 1..) {
        lab.start(i, &[])?;
        lab.nodes[i].wait_accepting()?;
        wait_synced(&mut lab.nodes[i], size)?;
    }
    lab.nodes
        .iter_mut()
        .try_for_each(|node| wait_synced(node, all))
}

fn begin_at(lab: &mut Lab, first: usize, position: &Position) -> Result<()> {
    allow_bootstrap(&lab.nodes[first])?;
    let from = format!("--wsrep-start-position={}", position.text);
    begin(lab, first, &[NEW_CLUSTER, &from])
}

/// Makes node `i` the beginning of a primary component: `None`, or why it refuses. One whose server
/// does not run begins a new cluster with what its disk kept, whatever others have. One that runs
/// in a component that may not commit makes that one primary, with all nodes in it.
///
/// # Errors
/// A breakdown with the last log lines if its server does not recover or come up, or is not Synced
/// in time.
pub fn bootstrap(lab: &mut Lab, i: usize) -> Result<Option<String>> {
    if !lab.nodes[i].is_up() {
        lab.nodes[i].kill();
        let position = recovered(lab, i)?;
        return begin_at(lab, i, &position).map(|()| None);
    }
    let node = &mut lab.nodes[i];
    if !component(node)?.is_primary {
        let refused = node.refusal_of("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=true'")?;
        if refused.is_some() {
            return Ok(refused);
        }
    }
    let what = "Synced in a component made primary";
    node.wait_until(what, READY_LIMIT, |node| {
        let component = heard(node, what)?;
        Ok(component.is_some_and(|component| component.is_synced()))
    })?;
    Ok(None)
}

/// Has node `i` come back into the component that goes on elsewhere: `None`, or its server's last
/// words if it ends instead. One that does not run is started; one that was cut off finds the
/// others by itself.
///
/// # Errors
/// A breakdown with its last log lines if it is not Synced there in time, or stands still.
pub fn rejoin(lab: &mut Lab, i: usize) -> Result<Option<String>> {
    if !lab.nodes[i].is_up() {
        lab.nodes[i].kill();
        lab.start(i, &[])?;
    }
    let node = &mut lab.nodes[i];
    match wait_joined(node) {
        Err(Error::Breakdown(told)) if !node.is_up() => Ok(Some(told.to_string())),
        told => told.map(|()| None),
    }
}

/// The same, but nobody waits for it.
///
/// # Errors
/// A breakdown if its server cannot be started.
pub(super) fn begin_rejoin(lab: &mut Lab, i: usize) -> Result<()> {
    if !lab.nodes[i].is_up() {
        lab.nodes[i].kill();
        lab.start(i, &[])?;
    }
    Ok(())
}

/// Clients go on beside it: with one applier it may get closer to the others by a few write sets a
/// second only.
fn wait_joined(node: &mut Node) -> Result<()> {
    const WAITING: &str = "wait until it is Synced with others";
    node.wait_accepting()?;
    let mut standing = Standing::default();
    node.wait_until("Synced with others", CATCHING_UP_LIMIT, |node| {
        let Some(component) = heard(node, WAITING)? else {
            return Ok(false);
        };
        if component.is_synced() && component.size > 1 {
            return Ok(true);
        }
        match answered(node, WAITING, last_committed)? {
            Some(last) => standing.see(node, last).map(|()| false),
            None => Ok(false),
        }
    })
}

/// What a node says of itself and its component.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn component(node: &mut Node) -> Result<Component> {
    Ok(Component::read(&node.pairs(ASK)?))
}

/// The same; `None` of one that does not answer, and lives.
fn heard(node: &mut Node, waiting: &str) -> Result<Option<Component>> {
    answered(node, waiting, component)
}

/// What it answers; `None` of one that gets what it missed, and closes the connections that it has.
fn answered<T>(
    node: &mut Node,
    waiting: &str,
    ask: impl FnOnce(&mut Node) -> Result<T>,
) -> Result<Option<T>> {
    match ask(node) {
        Err(Error::Breakdown(_)) => node.check_alive(waiting).map(|()| None),
        told => told.map(Some),
    }
}

/// What the disk of node `i`, whose server does not run, kept of the cluster's order.
///
/// # Errors
/// A breakdown if its server cannot recover it.
pub fn kept(lab: &Lab, i: usize) -> Result<Gtids> {
    let position = recovered(lab, i)?;
    let (history, _) = position.text.split_once(':').unwrap_or_default();
    let text = format!("{history}:1-{}", position.seqno);
    Ok(Gtids::read(&text))
}

/// How far a server came in the cluster's order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    seqno: i64,
    /// As the server says it.
    text: String,
}

/// What node `i`'s disk kept.
fn recovered(lab: &Lab, i: usize) -> Result<Position> {
    let said = lab.recover_only(i, &["--wsrep-recover"])?;
    let none = || {
        let tried = format!("find out what the disk of {} kept", lab.nodes[i].name());
        breakdown(tried, "its server names no recovered position")
    };
    position(&said).ok_or_else(none)
}

/// `Recovered position: 8bcf4a34-aedb-14e5-bcc3-d3e36277729f:1142`, behind which may stand a comma
/// and where that is in the binary log.
fn position(said: &str) -> Option<Position> {
    let mut lines = said.lines().rev();
    let (_, text) = lines.find_map(|line| line.split_once("Recovered position: "))?;
    let (_, seqno) = text.split(',').next()?.rsplit_once(':')?;
    Some(Position {
        seqno: seqno.trim().parse().ok()?,
        text: text.trim().to_owned(),
    })
}

/// Galera refuses to begin anew with a node that may not have been the last: an operator who knows
/// better says so in this file.
fn allow_bootstrap(node: &Node) -> Result<()> {
    let file = node.data().join("grastate.dat");
    let tried = || format!("allow a new cluster in {}", file.display());
    let text = fs::read_to_string(&file).tried(tried)?;
    let text = text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
    fs::write(&file, text).tried(tried)
}

/// Synced in a primary component of that size.
fn wait_synced(node: &mut Node, size: usize) -> Result<()> {
    let what = format!("Synced in a cluster of {size}");
    let waiting = format!("wait until {what}");
    node.wait_until(&what, READY_LIMIT, |node| {
        let component = heard(node, &waiting)?;
        Ok(component.is_some_and(|component| component.is_synced() && component.size == size))
    })
}

/// Galera has one mode only: waits until it is whole.
pub fn enter(lab: &mut Lab, _spec: &ModeSpec) -> Result<()> {
    let size = lab.nodes.len();
    lab.nodes
        .iter_mut()
        .try_for_each(|node| wait_synced(node, size))
}

/// Waits until node `i` has committed the last write set that any of them has.
pub fn catch_up(lab: &mut Lab, i: usize, limit: Duration) -> Result<bool> {
    let mut target = 0;
    for node in &mut lab.nodes {
        target = target.max(last_committed(node)?);
    }
    let start = Instant::now();
    while last_committed(&mut lab.nodes[i])? < target {
        if start.elapsed() > limit {
            return Ok(false);
        }
        pause(Duration::from_millis(5))?;
    }
    Ok(true)
}

/// Since when a node that is behind has committed nothing. One that has left its cluster, or whose
/// applier waits for itself, goes on answering.
#[derive(Default)]
pub struct Standing {
    at: Option<(u64, Instant)>,
}

impl Standing {
    /// Looks once more.
    ///
    /// # Errors
    /// A breakdown, with what the node says of itself, if it has stood still for [`STANDS`].
    pub fn look(&mut self, node: &mut Node) -> Result<()> {
        let last = last_committed(node)?;
        self.see(node, last)
    }

    /// The same of the last write set that it has committed.
    fn see(&mut self, node: &mut Node, last: u64) -> Result<()> {
        if !self.is_over(last, Instant::now()) {
            return Ok(());
        }
        let said = heard(node, "ask why nothing is applied")?;
        let status = format!("nothing since {last} for {} s: {said:?}", STANDS.as_secs());
        Err(node.breakdown("apply what others committed", &status))
    }

    /// Whether it has been at this one for too long.
    fn is_over(&mut self, last: u64, now: Instant) -> bool {
        match self.at {
            Some((before, since)) if before == last => now.duration_since(since) >= STANDS,
            _ => {
                self.at = Some((last, now));
                false
            }
        }
    }
}

fn last_committed(node: &mut Node) -> Result<u64> {
    let status = node.pairs("SHOW GLOBAL STATUS LIKE 'wsrep_last_committed'")?;
    let text = status
        .get("wsrep_last_committed")
        .cloned()
        .unwrap_or_default();
    match text.parse() {
        // One that has none yet says the largest number that there is.
        Ok(u64::MAX) => Ok(0),
        Ok(last) => Ok(last),
        Err(_) => Err(node.breakdown("read wsrep_last_committed", &format!("got `{text}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "8bcf4a34-aedb-14e5-bcc3-d3e36277729f";

    #[test]
    fn a_node_stands_still_if_it_commits_nothing_for_long() {
        let mut standing = Standing::default();
        let begin = Instant::now();
        let mut after =
            |seconds: u64, last: u64| standing.is_over(last, begin + Duration::from_secs(seconds));
        let limit = STANDS.as_secs();
        assert!(!after(0, 7));
        assert!(!after(limit - 1, 7));
        assert!(!after(limit, 8), "it went on");
        assert!(!after(2 * limit - 1, 8));
        assert!(after(2 * limit, 8));
    }

    #[test]
    fn a_recovered_position_is_read_from_what_the_server_says() {
        let said = |text: &str| {
            let line = |text: &str| format!("2026-11-21  8:24:23 0 [Note] WSREP: {text}\n");
            line("Recovered position: of another start:1") + &line(text) + &line("bye")
        };
        let found = position(&said(&format!("Recovered position: {UUID}:1142")));
        let expected = Position {
            seqno: 1142,
            text: format!("{UUID}:1142"),
        };
        assert_eq!(found, Some(expected));
        let logged = position(&said(&format!("Recovered position: {UUID}:17,0-1-4"))).unwrap();
        assert_eq!(
            (logged.seqno, logged.text),
            (17, format!("{UUID}:17,0-1-4"))
        );
        let undefined = "Recovered position: 00000000-0000-0000-0000-000000000000:-1";
        assert_eq!(position(&said(undefined)).unwrap().seqno, -1);
        assert_eq!(position("InnoDB: Starting crash recovery."), None);
        assert_eq!(position(&format!("Recovered position: {UUID}:many")), None);
    }
}
