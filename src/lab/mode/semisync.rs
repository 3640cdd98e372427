//! Semi-sync at one server: as the source that waits, and as a replica that answers.

use super::super::servers::Dialect;
use crate::error::Result;
use crate::lab::node::Node;
use crate::study::Mode;

/// Has a source wait as `mode` wants it, or not at all where that is no semi-sync. A server without
/// semi-sync has nothing to set.
pub(super) fn set_source(node: &mut Node, dialect: &Dialect, mode: &Mode) -> Result<()> {
    let Some(source) = dialect.optional("semisync_source") else {
        return Ok(());
    };
    if let Mode::Semisync {
        wait_for,
        wait_point,
        timeout,
    } = mode
    {
        let timeout_ms = timeout.as_millis();
        node.run(&format!("SET GLOBAL {source}_timeout = {timeout_ms}"))?;
        let word = wait_point.word();
        node.run(&format!("SET GLOBAL {source}_wait_point = '{word}'"))?;
        if let Some(count) = dialect.optional("semisync_wait_for") {
            node.run(&format!("SET GLOBAL {count} = {wait_for}"))?;
        }
    }
    let switch = switch(mode);
    node.run(&format!("SET GLOBAL {source}_enabled = {switch}"))
}

/// Has a replica answer its source, from its receiver's next start on, or not.
pub(super) fn set_replica(node: &mut Node, dialect: &Dialect, mode: &Mode) -> Result<()> {
    if dialect.optional("semisync_source").is_none() {
        return Ok(());
    }
    let replica = dialect.word("semisync_replica");
    let switch = switch(mode);
    node.run(&format!("SET GLOBAL {replica}_enabled = {switch}"))
}

fn switch(mode: &Mode) -> &'static str {
    match mode {
        Mode::Semisync { .. } => "ON",
        _ => "OFF",
    }
}

/// What a new source waits for that is followed by so many: no more than there are, and nothing
/// where there are none. One that goes on waiting for replicas that are lost answers nobody.
pub(super) fn with_company(mode: &Mode, followers: usize) -> Mode {
    match *mode {
        Mode::Semisync { .. } if followers == 0 => Mode::Async,
        Mode::Semisync {
            wait_for,
            wait_point,
            timeout,
        } => Mode::Semisync {
            wait_for: wait_for.min(u32::try_from(followers).unwrap_or(u32::MAX)),
            wait_point,
            timeout,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::study::WaitPoint;

    #[test]
    fn a_new_source_waits_for_those_that_are_left() {
        let waiting = |wait_for| Mode::Semisync {
            wait_for,
            wait_point: WaitPoint::AfterSync,
            timeout: Duration::from_secs(10),
        };
        assert_eq!(with_company(&waiting(2), 3), waiting(2));
        assert_eq!(with_company(&waiting(2), 1), waiting(1));
        assert_eq!(with_company(&waiting(1), 0), Mode::Async);
        assert_eq!(with_company(&Mode::Async, 2), Mode::Async);
    }
}
