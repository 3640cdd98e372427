//! What a mode is called if its study does not say.

use super::copies;
use super::defaults::{
    CONSISTENCIES, DEFAULT_APPLIERS, DEFAULT_CONSISTENCY, DEFAULT_NODES, DEFAULT_TIMEOUT,
};
use crate::study::{Front, Mode, ModeSpec, WaitPoint, units};

/// Server and mode, plus whatever differs from the defaults.
pub fn of(spec: &ModeSpec) -> String {
    let mut words = vec![format!("{} {}", spec.server, spec.mode.title())];
    match spec.mode {
        Mode::Semisync {
            wait_for,
            wait_point,
            timeout,
        } => {
            if wait_for != 1 {
                words.push(format!("{wait_for}/{}", spec.nodes - 1));
            }
            if wait_point == WaitPoint::AfterCommit {
                words.push("AFTER_COMMIT".to_owned());
            }
            if timeout != DEFAULT_TIMEOUT {
                words.push(format!("timeout {}", units::show(timeout)));
            }
        }
        Mode::Group { consistency } | Mode::GroupMulti { consistency } => {
            let name = CONSISTENCIES
                .iter()
                .find(|(_, value)| *value == consistency);
            words.extend(
                name.filter(|_| consistency != DEFAULT_CONSISTENCY)
                    .map(|(name, _)| name.to_string()),
            );
        }
        Mode::Mirror { .. } | Mode::Quorum { .. } => words.extend(copies::words(&spec.mode)),
        Mode::Single | Mode::Async | Mode::Galera | Mode::Endpoint => {}
    }
    words.extend(common_words(spec));
    words.join(" ")
}

/// `1 applier`, `16 appliers`
pub fn appliers(count: u32) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} applier{plural}")
}

/// What differs from the defaults that all modes share.
fn common_words(spec: &ModeSpec) -> Vec<String> {
    let mut words = Vec::new();
    if spec.nodes != DEFAULT_NODES && !spec.mode.has_one_server() {
        words.push(format!("{} nodes", spec.nodes));
    }
    if spec.appliers != DEFAULT_APPLIERS {
        words.push(appliers(spec.appliers));
    }
    if !spec.binary_log {
        words.push("no binlog".to_owned());
    }
    if spec.spread {
        words.push("spread".to_owned());
    }
    words.extend(spec.front.map(Front::words));
    let memory = spec.memory_bytes.map(units::show_bytes);
    words.extend(memory.map(|size| format!("in {size}")));
    if let Some(is_on) = spec.tls {
        words.push(if is_on { "TLS" } else { "no TLS" }.to_owned());
    }
    let slowdown = spec.slowdown.map(units::show_percent);
    words.extend(slowdown.map(|share| format!("slowed {share}")));
    words.extend(
        spec.variables
            .iter()
            .map(|(name, value)| format!("{name}={value}")),
    );
    for (site, variables) in &spec.node_variables {
        words.extend(
            variables
                .iter()
                .map(|(name, value)| format!("{site}:{name}={value}")),
        );
    }
    words
}
