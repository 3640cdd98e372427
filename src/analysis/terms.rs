//! On what terms a mode was measured: its settings, what a peer holds at the acknowledgement, and
//! the server variables that decide what a commit costs.

use std::collections::BTreeMap;

use super::summary::Per;
use crate::record::{Header, LabFacts};
use crate::study::units::show_percent;
use crate::study::{Ack, Consistency, EndpointSpec, Flavour, Mode, ModeSpec, Variables, Workload};

/// Server variables whose effective values every report prints, alike or not.
pub const PRINTED: [&str; 15] = [
    "log_bin",
    "sync_binlog",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_io_capacity",
    "innodb_buffer_pool_size",
    "log_slave_updates",
    "log_replica_updates",
    "binlog_format",
    "performance_schema",
    "sync_relay_log",
    "wsrep_retry_autocommit",
    "auto_increment_increment",
    "tls_version",
];

/// A variable that MariaDB alone has.
pub const OF_MARIADB: &str = "gtid_domain_id";

/// Which of both families the servers of a lab are of, by what they have.
pub fn flavour(lab: &LabFacts) -> Flavour {
    let has = |of_node: &Variables| of_node.contains_key(OF_MARIADB);
    match lab.variables.values().any(has) {
        true => Flavour::Mariadb,
        false => Flavour::Mysql,
    }
}

/// That of a mode's servers; `None` of servers that somebody else runs.
pub fn flavour_of(header: &Header, spec: &ModeSpec) -> Option<Flavour> {
    let mut labs = header.labs.iter();
    let lab = labs.find(|lab| lab.modes.contains(&spec.label));
    lab.map(flavour)
}

/// A mode's settings, by name.
pub fn settings(spec: &ModeSpec) -> BTreeMap<String, String> {
    if let Some(endpoint) = &spec.endpoint {
        return endpoint_settings(endpoint);
    }
    let mut settings = Variables::from([
        ("nodes".to_owned(), spec.nodes.to_string()),
        ("appliers".to_owned(), appliers(spec)),
        ("binary_log".to_owned(), on_or_off(spec.binary_log)),
        ("spread".to_owned(), on_or_off(spec.spread)),
    ]);
    settings.extend(spec.tls.map(|is_on| ("tls".to_owned(), on_or_off(is_on))));
    let slowdown = spec.slowdown.map(show_percent);
    settings.extend(slowdown.map(|share| ("slowdown".to_owned(), share)));
    settings.extend(mode_settings(&spec.mode));
    settings.extend(around_settings(spec));
    settings.extend(spec.variables.clone());
    for (node, variables) in &spec.node_variables {
        let named = |(name, value): (&String, &String)| (format!("{node}.{name}"), value.clone());
        settings.extend(variables.iter().map(named));
    }
    settings
}

/// Threads that apply what others wrote; a variant may have another number than its mode.
fn appliers(spec: &ModeSpec) -> String {
    let own = spec.variables.get("wsrep_slave_threads");
    let own = own.filter(|_| spec.mode == Mode::Galera);
    own.cloned().unwrap_or_else(|| spec.appliers.to_string())
}

/// What a server is given, and what stands before it; nothing where that is nothing.
fn around_settings(spec: &ModeSpec) -> Vec<(String, String)> {
    let front = spec.front.map(|front| {
        let (proxy, at) = (front.proxy.name(), front.at.word());
        [("front", proxy.to_owned()), ("front_at", at.to_owned())]
    });
    let memory = spec.memory_bytes;
    let memory = memory.map(|bytes| ("memory_bytes", bytes.to_string()));
    let image = spec.image_bytes;
    let image = image.map(|bytes| ("image_bytes", bytes.to_string()));
    let all = front.into_iter().flatten().chain(memory).chain(image);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// All that a study can choose of servers that somebody else runs.
fn endpoint_settings(endpoint: &EndpointSpec) -> BTreeMap<String, String> {
    let settings = [
        ("writer", endpoint.writer.place()),
        ("replicas", endpoint.replicas.len().to_string()),
        ("tls", endpoint.tls.word().to_owned()),
    ];
    settings
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

fn on_or_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// Settings that only this mode has.
pub fn mode_settings(mode: &Mode) -> Vec<(String, String)> {
    let named = |name: &str, value: String| (name.to_owned(), value);
    match mode {
        Mode::Single | Mode::Async | Mode::Galera | Mode::Endpoint => vec![],
        Mode::Semisync {
            wait_for,
            wait_point,
            timeout,
        } => vec![
            named("wait_for", wait_for.to_string()),
            named("wait_point", wait_point.word().to_owned()),
            named("timeout_ms", timeout.as_millis().to_string()),
        ],
        Mode::Group { consistency } | Mode::GroupMulti { consistency } => {
            vec![named("consistency", consistency.word().to_owned())]
        }
        Mode::Mirror {
            ack,
            when_short,
            timeout,
        } => vec![
            named("ack", ack.word().to_owned()),
            named("when_short", when_short.word().to_owned()),
            named("timeout_ms", timeout.as_millis().to_string()),
        ],
        Mode::Quorum {
            copies,
            write_quorum,
            ack,
        } => vec![
            named("copies", copies.to_string()),
            named("write_quorum", write_quorum.to_string()),
            named("ack", ack.word().to_owned()),
        ],
    }
}

/// What a peer holds of a commit when the client is told "done".
pub fn peer_at_ack(spec: &ModeSpec) -> String {
    match spec.mode {
        Mode::Single => "–".to_owned(),
        Mode::Async => "nothing".to_owned(),
        Mode::Semisync { wait_for, .. } => relay_log(wait_for, are_relay_logs_flushed(spec)),
        Mode::Group { consistency } | Mode::GroupMulti { consistency } => match consistency {
            Consistency::After | Consistency::BeforeAndAfter => "prepared on all".to_owned(),
            _ => "memory of a majority".to_owned(),
        },
        Mode::Galera => "memory of all".to_owned(),
        Mode::Endpoint => "unknown".to_owned(),
        Mode::Mirror { ack, .. } => blocks(ack).to_owned(),
        Mode::Quorum {
            copies,
            write_quorum,
            ack,
        } => format!("{write_quorum} of {copies}: {}", blocks(ack)),
    }
}

/// Blocks of the volume, of which a commit is made durable as the server's settings say.
fn blocks(ack: Ack) -> &'static str {
    match ack {
        Ack::Write => "every write, on disk if flushed",
        Ack::Flush => "every flushed write, on disk",
        Ack::ProtocolC => "every write, on disk if flushed by the journal",
    }
}

/// How the log that a commit waits for lies on the file system: an appended one makes the file
/// system commit its journal too.
pub fn log_layout(spec: &ModeSpec) -> &'static str {
    if spec.mode == Mode::Endpoint {
        "unknown"
    } else if spec.binary_log {
        "binlog appended"
    } else {
        "no binlog"
    }
}

fn relay_log(wait_for: u32, are_flushed: bool) -> String {
    let whose = match wait_for {
        0 | 1 => String::new(),
        2 => " of two".to_owned(),
        3 => " of three".to_owned(),
        more => format!(" of {more}"),
    };
    let flushed = if are_flushed { "flushed" } else { "unflushed" };
    format!("relay log{whose}, {flushed}")
}

/// Whether each relay log is flushed with each commit; servers do so for every 10,000th by default.
/// A node that has its own value may be one that acknowledges: all of them must flush.
fn are_relay_logs_flushed(spec: &ModeSpec) -> bool {
    let of_all = relay_log_flush(&spec.variables);
    let own = spec.node_variables.values().filter_map(relay_log_flush);
    let own: Vec<&str> = own.collect();
    let all_own = own.iter().all(|value| *value == "1");
    match of_all {
        Some(value) => value == "1" && all_own,
        None => all_own && !own.is_empty() && own.len() as u32 + 1 >= spec.nodes,
    }
}

fn relay_log_flush(variables: &Variables) -> Option<&str> {
    let is_it = |name: &str| name.replace('-', "_") == "sync_relay_log";
    let found = variables.iter().find(|(name, _)| is_it(name));
    found.map(|(_, value)| value.trim())
}

/// Whether a workload counts commits, or transactions because it only reads.
pub fn per(workload: &Workload) -> Per {
    if workload.only_reads() {
        Per::Transaction
    } else {
        Per::Commit
    }
}

/// The printed variables of all labs: name → value → the labs where it is so, or the nodes where
/// those of a lab differ; and the modes in whose variants it is so for a while.
pub fn effective(
    labs: &[LabFacts],
    modes: &[ModeSpec],
) -> BTreeMap<String, BTreeMap<String, Vec<String>>> {
    let mut terms: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for name in PRINTED {
        let of_labs = labs.iter().flat_map(|lab| places(lab, name));
        let of_variants = modes.iter().filter_map(|spec| while_varied(spec, name));
        for (value, place) in of_labs.chain(of_variants) {
            let places = terms
                .entry(name.to_owned())
                .or_default()
                .entry(value)
                .or_default();
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    terms
}

/// A value, as it was asked, and whose variants have it.
fn while_varied(spec: &ModeSpec, name: &str) -> Option<(String, String)> {
    let varied = spec.varied.as_ref()?;
    let value = varied.changed.get(name)?;
    Some((value.clone(), format!("{}, varied", varied.of)))
}

fn places(lab: &LabFacts, name: &str) -> Vec<(String, String)> {
    let nodes = lab.variables.iter();
    let values: Vec<(&String, &String)> = nodes
        .filter_map(|(node, variables)| Some((node, variables.get(name)?)))
        .collect();
    match values.first() {
        None => vec![],
        Some((_, first)) if values.iter().all(|(_, value)| value == first) => {
            vec![(first.to_string(), lab.family.clone())]
        }
        Some(_) => {
            let place = |(node, value): &(&String, &String)| {
                (value.to_string(), format!("{} {node}", lab.family))
            };
            values.iter().map(place).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn spec(mode: Mode) -> ModeSpec {
        ModeSpec {
            server: "mysql".into(),
            mode,
            nodes: 3,
            binary_log: true,
            ..ModeSpec::default()
        }
    }

    fn semisync(wait_for: u32) -> ModeSpec {
        spec(Mode::Semisync {
            wait_for,
            wait_point: crate::study::WaitPoint::AfterSync,
            timeout: Duration::from_secs(10),
        })
    }

    #[test]
    fn a_planted_slowdown_is_among_the_settings() {
        let slowdown = |slowdown| {
            let spec = ModeSpec {
                slowdown,
                ..spec(Mode::Single)
            };
            settings(&spec).get("slowdown").cloned()
        };
        assert_eq!(slowdown(Some(0.05)).as_deref(), Some("5%"));
        assert_eq!(slowdown(None), None);
    }

    #[test]
    fn each_mode_says_what_a_peer_holds() {
        let group = |consistency| spec(Mode::Group { consistency });
        let mirror = |ack| {
            spec(Mode::Mirror {
                ack,
                when_short: crate::study::WhenShort::Block,
                timeout: Duration::from_secs(6),
            })
        };
        let quorum = spec(Mode::Quorum {
            copies: 6,
            write_quorum: 4,
            ack: Ack::Write,
        });
        let written = "every write, on disk if flushed";
        for (spec, held) in [
            (spec(Mode::Single), "–"),
            (spec(Mode::Async), "nothing"),
            (group(Consistency::Eventual), "memory of a majority"),
            (group(Consistency::After), "prepared on all"),
            (spec(Mode::Galera), "memory of all"),
            (semisync(1), "relay log, unflushed"),
            (semisync(2), "relay log of two, unflushed"),
            (mirror(Ack::Write), written),
            (mirror(Ack::Flush), "every flushed write, on disk"),
            (
                mirror(Ack::ProtocolC),
                "every write, on disk if flushed by the journal",
            ),
            (quorum, &format!("4 of 6: {written}")),
        ] {
            assert_eq!(peer_at_ack(&spec), held);
        }
    }

    #[test]
    fn a_relay_log_is_flushed_only_if_every_peer_flushes() {
        let flush = |value: &str| Variables::from([("sync-relay-log".into(), value.into())]);
        let mut one = semisync(1);
        one.variables = flush("1");
        assert_eq!(peer_at_ack(&one), "relay log, flushed");
        one.node_variables.insert("c".into(), flush("10000"));
        assert_eq!(peer_at_ack(&one), "relay log, unflushed");
        let mut own = semisync(1);
        own.node_variables.insert("b".into(), flush("1"));
        assert_eq!(peer_at_ack(&own), "relay log, unflushed");
        own.node_variables.insert("c".into(), flush("1"));
        assert_eq!(peer_at_ack(&own), "relay log, flushed");
    }

    #[test]
    fn variables_are_told_by_lab_or_by_node_where_nodes_differ() {
        let node = |value: &str| BTreeMap::from([("sync_binlog".to_owned(), value.to_owned())]);
        let lab = |family: &str, b: &str| LabFacts {
            family: family.into(),
            modes: vec![],
            ready_seconds: 1.0,
            overridden: vec![],
            variables: [("a".into(), node("1")), ("b".into(), node(b))].into(),
        };
        let mut variant = spec(Mode::Single);
        variant.varied = Some(crate::study::Varied {
            of: "x".into(),
            changed: Variables::from([("sync_binlog".into(), "9".into())]),
        });
        let terms = effective(
            &[lab("one", "1"), lab("two", "0")],
            &[spec(Mode::Single), variant.clone(), variant],
        );
        assert_eq!(terms["sync_binlog"]["9"], ["x, varied"]);
        assert_eq!(terms["sync_binlog"]["1"], ["one", "two a"]);
        assert_eq!(terms["sync_binlog"]["0"], ["two b"]);
    }
}
