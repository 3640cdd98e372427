//! How far replicas are behind, beat by beat, and what flow control holds back for them.
//!
//! A record has both for each window, and neither by the second: heartbeats are sent when the
//! window is over and the load still runs, so that no count has their cost; servers count what flow
//! control took from the window's first moment to its last.

use super::chart::{Chart, Subject, ends, file_name, groups, measured, named, told};
use crate::analysis::Summary;
use crate::analysis::held_back::{HeldBack, held_back};
use crate::analysis::interval::{Estimate, Risk, median};
use crate::analysis::summary::CellSummary;
use crate::record::store::Record;
use crate::record::{LAG_LIMIT_S, Measurement};
use crate::report::entry::Entry;
use crate::report::numbers::Unit;
use crate::report::page::Table;
use crate::report::picture::{Axis, Bar, Bars, Plot, Point, Series, Way};

/// More beats are joined without marks.
const MARKS_MAX: usize = 20;
const BEAT: &str = "heartbeat, from the first after the window on";
const LAG: &str = "ms until the replica farthest behind shows it";
const HELD: &str = "% of the clients' time that flow control took";

/// Of each point of the axes: lag, then flow control, where there is any.
pub fn charts(record: &Record, summary: &Summary) -> Vec<Chart> {
    let groups = groups(summary, &[]);
    let both = |cells: &Vec<&CellSummary>| {
        let both = [
            lag_chart(record, summary, cells),
            held_chart(record, summary, cells),
        ];
        both.into_iter().flatten().collect::<Vec<_>>()
    };
    groups.iter().flat_map(both).collect()
}

/// One mode's beats, in their order: each round's lag of the replica farthest behind.
struct Beats<'s> {
    cell: &'s CellSummary,
    beats_ms: Vec<Vec<f64>>,
}

impl<'s> Beats<'s> {
    fn of(record: &Record, cell: &'s CellSummary) -> Beats<'s> {
        let rounds = measured(record, cell);
        let rounds: Vec<Vec<f64>> = rounds.into_iter().map(farthest_ms).collect();
        let count = rounds.iter().map(Vec::len).max().unwrap_or(0);
        let beat = |place: usize| {
            let rounds = rounds.iter();
            rounds
                .filter_map(|round| round.get(place).copied())
                .collect()
        };
        Beats {
            cell,
            beats_ms: (0..count).map(beat).collect(),
        }
    }

    fn points(&self) -> Vec<Point> {
        let limit_ms = self.limit_ms();
        let point = |(number, lags_ms): (usize, &Vec<f64>)| {
            let lag_ms = median(lags_ms)?;
            let least = lags_ms.iter().copied().fold(f64::INFINITY, f64::min);
            let most = lags_ms.iter().copied().fold(0.0, f64::max);
            let or_more = if most >= limit_ms { " or more" } else { "" };
            let [told, low, high] = [lag_ms, least, most].map(|ms| Unit::Number(2).digits(ms));
            Some(Point {
                across: (number + 1) as f64,
                up: lag_ms,
                ends: Some((least, most)),
                told: format!("beat {}: {told} ms ({low} to {high}{or_more})", number + 1),
            })
        };
        let beats = self.beats_ms.iter().enumerate();
        beats.filter_map(point).collect()
    }

    /// Longer no beat was waited for.
    fn limit_ms(&self) -> f64 {
        self.cell.measure_s.min(LAG_LIMIT_S as f64) * 1e3
    }
}

fn farthest_ms(measurement: &Measurement) -> Vec<f64> {
    let beats = measurement.lag.iter().map(|lag| lag.lag_ms.len()).max();
    let beat = |place: usize| {
        let replicas = measurement.lag.iter();
        let lags_ms = replicas.filter_map(|lag| lag.lag_ms.get(place).copied());
        lags_ms.fold(0.0, f64::max)
    };
    (0..beats.unwrap_or(0)).map(beat).collect()
}

fn lag_chart(record: &Record, summary: &Summary, cells: &[&CellSummary]) -> Option<Chart> {
    let all = cells.iter().map(|cell| Beats::of(record, cell));
    let all: Vec<Beats> = all.filter(|it| !it.beats_ms.is_empty()).collect();
    let (place, parts) = named(summary, cells[0]);
    let title = format!(
        "Lag behind the load, beat by beat, median of rounds, whiskers from least to most: {place}"
    );
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    (!all.is_empty()).then(|| Chart {
        name: file_name("lag", &parts),
        subject: Subject::Behind,
        picture: lag_plot(&all).picture(&title),
        table: lag_table(&all),
        title,
    })
}

fn lag_plot(all: &[Beats]) -> Plot {
    let series = |of: &Beats| {
        let points = of.points();
        Series {
            name: of.cell.label.clone(),
            way: match points.len() <= MARKS_MAX {
                true => Way::Line,
                false => Way::Thin,
            },
            points,
        }
    };
    let most = all.iter().map(|of| of.beats_ms.len()).max().unwrap_or(1);
    Plot {
        across: Axis {
            title: BEAT.to_owned(),
            range: Some((0.5, most as f64 + 0.5)),
            ..Axis::default()
        },
        up: Axis {
            title: LAG.to_owned(),
            ..Axis::default()
        },
        series: all.iter().map(series).collect(),
        ..Plot::default()
    }
}

/// All beats of a replica together.
fn lag_table(all: &[Beats]) -> Table {
    let mut table = Table::new(&[
        ("mode", true),
        ("replica", true),
        ("lag p50, ms", false),
        ("p95, ms", false),
        ("most, ms", false),
        ("beats", false),
        ("not seen in time", false),
        ("catch-up after the load, ms", false),
    ]);
    let number = |figure: Option<f64>| Entry::number(figure, Unit::Number(2));
    let rows = all.iter().flat_map(|of| {
        let replicas = of.cell.lag_ms.iter();
        replicas.map(move |lag| {
            vec![
                Entry::from(&of.cell.label[..]),
                Entry::from(&lag.node[..]),
                number(lag.p50),
                number(lag.p95),
                number(lag.max),
                Entry::count(lag.samples as usize),
                Entry::count(lag.beyond as usize),
                number(lag.catch_up),
            ]
        })
    });
    table.rows = rows.collect();
    table.without_empty_columns()
}

fn held_chart(record: &Record, summary: &Summary, cells: &[&CellSummary]) -> Option<Chart> {
    let risk = Risk::of(&record.header.study);
    let held = cells.iter().filter_map(|cell| {
        let held = held_back(&measured(record, cell), cell.connections, risk)?;
        Some((&cell.label[..], held))
    });
    let held: Vec<(&str, HeldBack)> = held.collect();
    let (place, parts) = named(summary, cells[0]);
    let title = format!("What flow control held back: {place}");
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    (!held.is_empty()).then(|| Chart {
        name: file_name("flow-control", &parts),
        subject: Subject::Behind,
        picture: held_bars(&held).picture(&title),
        table: held_table(&held),
        title,
    })
}

fn held_bars(all: &[(&str, HeldBack)]) -> Bars {
    let bar = |(name, held): &(&str, HeldBack)| {
        let percent: Estimate = held.share.map(|share| share * 100.0);
        Bar {
            name: (*name).to_owned(),
            parts: vec![percent.median],
            ends: ends(percent),
            told: format!("{} %", told(percent)),
        }
    };
    Bars {
        unit: HELD.to_owned(),
        parts: vec![],
        bars: all.iter().map(bar).collect(),
    }
}

fn held_table(all: &[(&str, HeldBack)]) -> Table {
    let mut table = Table::new(&[
        ("mode", true),
        ("of the clients' time", false),
        ("pauses asked for, by window", false),
        ("transactions held back, by window", false),
    ]);
    let row = |(name, held): &(&str, HeldBack)| {
        vec![
            Entry::from(*name),
            Entry::range(Some(held.share), Unit::Share),
            Entry::number(held.pauses, Unit::Count),
            Entry::number(held.throttled, Unit::Count),
        ]
    };
    table.rows = all.iter().map(row).collect();
    table.without_empty_columns()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, kept};
    use crate::analysis::summarise;
    use crate::record::counter;

    #[test]
    fn lag_is_drawn_beat_by_beat_and_told_by_replica() {
        let record = kept("compare");
        let charts = charts(&record, &summarise(&record));
        let lag: Vec<&Chart> = charts
            .iter()
            .filter(|it| it.name.starts_with("lag-"))
            .collect();
        assert_eq!(lag.len(), 3, "a chart for each distance");
        let first = lag[0];
        // Single servers have no replica.
        assert_eq!(first.svg().matches("class=\"series\"").count(), 4);
        assert_eq!(first.table.rows.len(), 8, "two replicas of four modes");
        let columns = first.table.columns.iter();
        assert!(
            columns
                .clone()
                .any(|it| it.title == "catch-up after the load, ms")
        );
    }

    #[test]
    fn the_replica_farthest_behind_is_told_with_the_least_and_the_most_of_rounds() {
        let mut record = Example::default().record();
        for (round, measurement) in record.measurements.iter_mut().enumerate() {
            for (place, lag) in measurement.lag.iter_mut().enumerate() {
                lag.lag_ms = vec![1.0 + place as f64, 10.0 * (1 + round % 2) as f64];
            }
        }
        let summary = summarise(&record);
        let cell = summary
            .cells
            .iter()
            .find(|cell| cell.label == "mysql async")
            .unwrap();
        let points = Beats::of(&record, cell).points();
        assert_eq!(points.len(), 2);
        let replicas = cell.lag_ms.len() as f64;
        assert_eq!((points[0].up, points[0].across), (replicas, 1.0));
        assert!(points[1].told.starts_with("beat 2: "), "{}", points[1].told);
    }

    #[test]
    fn flow_control_is_drawn_where_it_held_something_back() {
        let mut record = Example::default().record();
        let name = |chart: &Chart| chart.name.starts_with("flow-control-");
        assert!(!charts(&record, &summarise(&record)).iter().any(name));
        let is_galera = |index: usize| record.header.study.modes[index].label == "mariadb galera";
        let cells: Vec<bool> = record
            .header
            .cells
            .iter()
            .map(|it| is_galera(it.mode))
            .collect();
        for measurement in record.measurements.iter_mut().filter(|m| cells[m.cell]) {
            let window_ns = measurement.window_s * 1e9;
            let paused = (counter::GALERA_PAUSED_NS.to_owned(), 0.25 * window_ns);
            measurement.status.insert("a".to_owned(), [paused].into());
        }
        let charts = charts(&record, &summarise(&record));
        let chart = charts.iter().find(|chart| name(chart)).expect("a chart");
        let svg = chart.svg();
        assert_eq!(svg.matches("class=\"bar\"").count(), 1, "{svg}");
        assert!(
            chart.table.rows[0][1].to_string().starts_with("25.0 %"),
            "{:?}",
            chart.table
        );
    }
}
