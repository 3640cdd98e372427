//! What a commit consists of, by the lines of its anatomy: work, distance and flushes as parts of
//! one bar, for each mode.

use super::chart::{Chart, Subject, file_name};
use crate::analysis::Summary;
use crate::analysis::summary::{Anatomy, CellSummary, Value};
use crate::report::anatomy::{WITHIN, groups};
use crate::report::entry::Entry;
use crate::report::group::load_but;
use crate::report::label;
use crate::report::numbers::{Unit, digits, middle, time};
use crate::report::page::Table;
use crate::report::picture::{Bar, Bars};

/// Where the lines are read.
struct At {
    rtt_us: f64,
    /// `None` where no line was drawn over flush times: flushes are a part of the work.
    flush_us: Option<f64>,
}

/// One for each load that has a line.
pub fn charts(summary: &Summary) -> Vec<Chart> {
    groups(summary)
        .iter()
        .filter_map(|members| chart(summary, members))
        .collect()
}

fn chart(summary: &Summary, members: &[&Anatomy]) -> Option<Chart> {
    let at = at(summary, members)?;
    let whole = members.iter().filter(|one| one.work_us.is_some());
    let whole: Vec<&Anatomy> = whole.copied().collect();
    let point = &members[0].point;
    let load = label::workload(summary, point);
    let flushes = at.flush_us.map(|us| format!(", flushes of {}", time(us)));
    let title = format!(
        "What a commit consists of, by its lines, where sites are {} apart{}: {load}",
        time(at.rtt_us),
        flushes.unwrap_or_default()
    );
    let from = match summary.sites.first() == Some(&point.client_site) {
        true => "",
        false => &point.client_site[..],
    };
    (!whole.is_empty()).then(|| Chart {
        name: file_name("anatomy", &[&load, from]),
        subject: Subject::Anatomy,
        picture: bars(&at, &whole).picture(&title),
        table: table(&at, &whole),
        title,
    })
}

/// The middle one of the distances, and of the flush times, at which these were measured.
fn at(summary: &Summary, members: &[&Anatomy]) -> Option<At> {
    let rest = load_but(&members[0].point, &WITHIN);
    let cells = summary.cells.iter().filter(|cell| cell.moved.is_none());
    let own = cells.filter(|cell| cell.rounds > 0 && load_but(&cell.point, &WITHIN) == rest);
    let own: Vec<&CellSummary> = own.collect();
    let has_flushes = members.iter().any(|one| one.flushes.is_some());
    Some(At {
        rtt_us: middle(own.iter().filter_map(|cell| cell.rtt_us_asked))?,
        flush_us: match has_flushes {
            true => Some(middle(own.iter().filter_map(|cell| cell.flush_us_asked))?),
            false => None,
        },
    })
}

/// Of work, distance and flushes.
fn parts_us(at: &At, one: &Anatomy) -> Vec<f64> {
    let times = |slope: Option<Value>, us: f64| slope.map_or(0.0, |slope| slope.value * us);
    let work_us = one.work_us.map_or(0.0, |work| work.value);
    let mut parts = vec![work_us, times(one.round_trips, at.rtt_us)];
    parts.extend(at.flush_us.map(|us| times(one.flushes, us)));
    parts
}

fn bars(at: &At, members: &[&Anatomy]) -> Bars {
    let work = match at.flush_us {
        Some(_) => "work",
        None => "work, flushes among it",
    };
    let mut names = vec![work.to_owned(), "round trips × RTT".to_owned()];
    names.extend(at.flush_us.map(|_| "flushes × flush time".to_owned()));
    let bar = |one: &&Anatomy| {
        let parts_us = parts_us(at, one);
        let sum_ms = parts_us.iter().sum::<f64>() / 1e3;
        Bar {
            name: one.label.clone(),
            parts: parts_us.iter().map(|us| us / 1e3).collect(),
            ends: None,
            told: format!("{} ms", digits(sum_ms, 2)),
        }
    };
    Bars {
        unit: "ms of the median commit".to_owned(),
        parts: names,
        bars: members.iter().map(bar).collect(),
    }
}

fn table(at: &At, members: &[&Anatomy]) -> Table {
    let mut table = Table::new(&[
        ("mode", true),
        ("work", false),
        ("round trips", false),
        ("of RTT", false),
        ("flushes", false),
        ("of flush time", false),
        ("together", false),
    ]);
    let row = |one: &&Anatomy| {
        let parts_us = parts_us(at, one);
        let part = |place: usize| Entry::number(parts_us.get(place).copied(), Unit::Time);
        vec![
            one.label[..].into(),
            Entry::plus_minus(one.work_us, Unit::Time),
            Entry::plus_minus(one.round_trips, Unit::Trips),
            part(1),
            Entry::plus_minus(one.flushes, Unit::Trips),
            part(2),
            Entry::number(Some(parts_us.iter().sum()), Unit::Time),
        ]
    };
    table.rows = members.iter().map(row).collect();
    table.without_empty_columns()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;
    use crate::analysis::summarise;

    #[test]
    fn parts_are_work_round_trips_and_flushes_of_one_point() {
        let summary = summarise(&Example::anatomy().record());
        let charts = charts(&summary);
        assert_eq!(charts.len(), 1);
        let all = groups(&summary);
        let members = &all[0];
        let at = at(&summary, members).expect("a point");
        let group = members.iter().find(|one| one.label == "mysql group");
        let parts_us = parts_us(&at, group.expect("a mode"));
        assert_eq!(parts_us.len(), 3);
        // One and a half round trips and three flushes.
        let near = |got: f64, expected: f64| (got / expected - 1.0).abs() < 0.25;
        assert!(near(parts_us[1], 1.5 * at.rtt_us), "{parts_us:?}");
        let flush_us = at.flush_us.expect("a flush time");
        assert!(near(parts_us[2], 3.0 * flush_us), "{parts_us:?} {flush_us}");
        let svg = charts[0].svg();
        assert_eq!(
            svg.matches("class=\"part\"").count(),
            3 * charts[0].table.rows.len()
        );
        assert!(svg.contains(">flushes × flush time<"), "{svg}");
    }
}
