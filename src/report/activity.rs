//! What servers and their disks still do when the load has ended.

use super::numbers::{bytes, digits, or_nothing, percent};
use crate::analysis::summary::{AfterLoad, CellSummary, Doing};

/// One figure of what is done.
type OfDoing = fn(&Doing) -> Option<f64>;

/// One line for each watched node that runs a server.
pub fn asides(cell: &CellSummary) -> Vec<String> {
    let has_server = |of: &&AfterLoad| of.window.cpu_s_per_s.is_some();
    let watched = cell.after_load.iter().enumerate();
    let watched = watched.filter(|(i, of)| *i == 0 || has_server(of));
    watched.map(|(_, of)| aside(cell, of)).collect()
}

/// `mine, node a for 60 s after the load (under it; idle): CPU of a core 3.1 % (88.0 %; 0.5 %), …`
fn aside(cell: &CellSummary, of: &AfterLoad) -> String {
    let rate = |rate: f64| format!("{}/s", digits(rate, 1));
    let written = |rate: f64| format!("{}/s", bytes(rate));
    let parts = [
        after_under_and_idle(of, "CPU of a core", |of| of.cpu_s_per_s, percent),
        after_under_and_idle(of, "writes", |of| of.writes_per_s, rate),
        after_under_and_idle(of, "written", |of| of.bytes_written_per_s, written),
        after_under_and_idle(of, "disk busy", |of| of.busy_share, percent),
        extremes(of),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!(
        "{}, node {} for {} s after the load (under it; idle): {}",
        cell.label,
        of.node,
        digits(of.watched_s, 0),
        parts.join(", ")
    )
}

fn after_under_and_idle(
    of: &AfterLoad,
    what: &str,
    figure: OfDoing,
    format: impl Fn(f64) -> String,
) -> Option<String> {
    let after = format(figure(&of.after)?);
    let [under, idle] = [&of.window, &of.idle].map(|of| or_nothing(figure(of), &format));
    Some(format!("{what} {after} ({under}; {idle})"))
}

fn extremes(of: &AfterLoad) -> Option<String> {
    let (least, most) = (of.busy_share_least?, of.busy_share_most?);
    let end = or_nothing(of.end.busy_share, percent);
    Some(format!(
        "{} to {} by the second, {end} in the last quarter",
        percent(least),
        percent(most)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doing(cpu_s_per_s: f64, writes_per_s: f64, busy_share: f64) -> Doing {
        Doing {
            cpu_s_per_s: Some(cpu_s_per_s),
            writes_per_s: Some(writes_per_s),
            bytes_written_per_s: Some(writes_per_s * 16_384.0),
            busy_share: Some(busy_share),
            ..Doing::default()
        }
    }

    fn watched(node: &str, window: Doing) -> AfterLoad {
        AfterLoad {
            node: node.into(),
            watched_s: 60.01,
            idle: doing(0.005, 0.0, 0.0),
            window,
            after: doing(0.031, 120.0, 0.123),
            end: doing(0.005, 0.0, 0.0),
            busy_share_least: Some(0.0),
            busy_share_most: Some(0.41),
            ..AfterLoad::default()
        }
    }

    #[test]
    fn servers_are_told_and_copies_of_a_volume_are_not() {
        let cell = CellSummary {
            label: "sync standby".into(),
            after_load: vec![
                watched("a", doing(0.88, 2_900.0, 0.7)),
                watched("b", Doing::default()),
            ],
            ..CellSummary::default()
        };
        let told = asides(&cell);
        insta::assert_snapshot!(told.join("\n"), @"sync standby, node a for 60 s after the load (under it; idle): CPU of a core 3.1 % (88.0 %; 0.5 %), writes 120/s (2900/s; 0.0/s), written 1.97 MB/s (47.5 MB/s; 0.00 B/s), disk busy 12.3 % (70.0 %; 0.0 %), 0.0 % to 41.0 % by the second, 0.0 % in the last quarter");
        let quiet = CellSummary::default();
        assert!(asides(&quiet).is_empty());
    }

    #[test]
    fn without_an_emulated_disk_only_the_server_is_told() {
        let cpu_alone = |cpu_s_per_s| Doing {
            cpu_s_per_s: Some(cpu_s_per_s),
            ..Doing::default()
        };
        let cell = CellSummary {
            label: "mysql single".into(),
            after_load: vec![AfterLoad {
                node: "a".into(),
                watched_s: 1.0,
                window: cpu_alone(0.5),
                after: cpu_alone(0.25),
                ..AfterLoad::default()
            }],
            ..CellSummary::default()
        };
        insta::assert_snapshot!(asides(&cell).join("\n"), @"mysql single, node a for 1 s after the load (under it; idle): CPU of a core 25.0 % (50.0 %; –)");
    }
}
