//! MySQL Group Replication: `group` (one primary) and `group-multi` (all are primaries).

use std::time::Duration;

use super::super::lab::{Lab, READY_LIMIT};
use super::super::options::Settings;
use super::super::servers::datadir::PASSWORD;
use super::replication;
use crate::error::Result;
use crate::lab::node::Node;
use crate::lab::redo;
use crate::study::{Consistency, Mode, ModeSpec};

/// Port of the group communication.
const GROUP_PORT: u16 = 33061;
/// Any fixed UUID: groups of different sandboxes never meet.
const GROUP_NAME: &str = "ac1ab000-0000-4000-8000-000000000001";

const MEMBERS: &str = "performance_schema.replication_group_members";

/// The plugin, its addresses, and an allow-list that names the range of the lab.
pub fn settings(lab: &Lab, i: usize) -> Settings {
    let seeds: Vec<String> = lab.nodes.iter().map(group_address).collect();
    let mut settings = replication::base_settings(lab);
    settings.load_plugin("group_replication.so");
    let ssl = if lab.spec.tls { "REQUIRED" } else { "DISABLED" };
    let pairs = [
        ("group_name", GROUP_NAME.to_owned()),
        ("local_address", seeds[i].clone()),
        ("group_seeds", seeds.join(",")),
        ("ip_allowlist", "198.18.0.0/15".into()),
        ("ssl_mode", ssl.into()),
        ("start_on_boot", "OFF".into()),
        ("bootstrap_group", "OFF".into()),
        (
            "recovery_use_ssl",
            if lab.spec.tls { "ON" } else { "OFF" }.into(),
        ),
        ("recovery_get_public_key", "ON".into()),
        // With one writer ids run 1, 2, 3…; all members must agree on the step.
        (
            "auto_increment_increment",
            lab.spec.auto_increment_step().to_string(),
        ),
    ];
    for (name, value) in pairs {
        settings.set(&format!("group_replication_{name}"), value);
    }
    settings
}

/// Where a member talks to the others.
pub(super) fn group_address(node: &Node) -> String {
    format!("{}:{GROUP_PORT}", node.place.address)
}

/// The first node bootstraps the group; the others join one by one. A member that meets another on
/// its way in is turned away, and tries again after 5 s only.
pub fn form(lab: &mut Lab) -> Result<()> {
    for i in 0..lab.nodes.len() {
        lab.start(i, &[])?;
    }
    let values = [("user", "repl"), ("password", PASSWORD)];
    let recovery = lab.program.dialect().fill("connect_recovery", &values);
    let flow_control = lab
        .program
        .dialect()
        .optional("group_flow_control")
        .map(str::to_owned);
    for node in &mut lab.nodes {
        node.wait_accepting()?;
        redo::use_once(node)?;
        node.run(&recovery)?;
        if let Some(component) = &flow_control {
            install(node, component)?;
        }
    }
    let first = &mut lab.nodes[0];
    first.run("SET GLOBAL group_replication_bootstrap_group = ON")?;
    first.run("START GROUP_REPLICATION")?;
    first.run("SET GLOBAL group_replication_bootstrap_group = OFF")?;
    for node in &mut lab.nodes[1..] {
        node.run("START GROUP_REPLICATION")?;
    }
    wait_online(lab)
}

/// How often the group throttles its members; without this component nobody counts. A server that
/// is started anew has it already.
fn install(node: &mut Node, component: &str) -> Result<()> {
    let sql = format!("SELECT COUNT(*) FROM mysql.component WHERE component_urn = '{component}'");
    if node.value(&sql)?.as_deref() != Some("0") {
        return Ok(());
    }
    node.run("SET SESSION sql_log_bin = 0")?;
    node.run(&format!("INSTALL COMPONENT '{component}'"))?;
    node.run("SET SESSION sql_log_bin = 1")
}

/// Every member sees every member ONLINE.
fn wait_online(lab: &mut Lab) -> Result<()> {
    let all = lab.nodes.len().to_string();
    let sql = format!("SELECT COUNT(*) FROM {MEMBERS} WHERE MEMBER_STATE = 'ONLINE'");
    for node in &mut lab.nodes {
        node.wait_until("all members are ONLINE", READY_LIMIT, |node| {
            Ok(node.value(&sql)?.as_deref() == Some(all.as_str()))
        })?;
    }
    Ok(())
}

/// Sets the number of primaries and the consistency level under the running group.
pub fn enter(lab: &mut Lab, spec: &ModeSpec) -> Result<()> {
    wait_online(lab)?;
    let primaries = lab.nodes[0].value(&format!(
        "SELECT COUNT(*) FROM {MEMBERS} WHERE MEMBER_ROLE = 'PRIMARY'"
    ))?;
    let is_multi = primaries.as_deref() != Some("1");
    let consistency = match spec.mode {
        Mode::GroupMulti { consistency } => {
            if !is_multi {
                lab.nodes[0].value("SELECT group_replication_switch_to_multi_primary_mode()")?;
            }
            consistency
        }
        Mode::Group { consistency } => {
            if is_multi {
                let own = lab.nodes[0]
                    .value("SELECT @@server_uuid")?
                    .unwrap_or_default();
                lab.nodes[0].value(&format!(
                    "SELECT group_replication_switch_to_single_primary_mode('{own}')"
                ))?;
            }
            consistency
        }
        _ => unreachable!("the family of a lab is its modes' family"),
    };
    let mut nodes = lab.nodes.iter_mut();
    nodes.try_for_each(|node| set_consistency(node, consistency))
}

/// Sets the consistency level of sessions that begin from now on.
pub(super) fn set_consistency(node: &mut Node, consistency: Consistency) -> Result<()> {
    let word = consistency.word();
    node.run(&format!(
        "SET GLOBAL group_replication_consistency = '{word}'"
    ))
}

/// Waits until member `i` has applied all that any of them has committed.
pub fn catch_up(lab: &mut Lab, i: usize, limit: Duration) -> Result<bool> {
    for other in (0..lab.nodes.len()).filter(|other| *other != i) {
        if !replication::follow(lab, i, other, limit)? {
            return Ok(false);
        }
    }
    Ok(true)
}
