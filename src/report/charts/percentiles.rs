//! How latency is spread: a curve of percentiles for each mode, one chart for each point of the
//! axes.

use super::chart::{Chart, Subject, ends, file_name, groups, measured, named, told};
use crate::analysis::Summary;
use crate::analysis::interval::{Estimate, Risk};
use crate::analysis::latency::{CURVE, OnCurve, curve};
use crate::analysis::summary::CellSummary;
use crate::record::store::Record;
use crate::report::entry::{Entry, Mark};
use crate::report::label;
use crate::report::numbers::Unit;
use crate::report::page::Table;
use crate::report::picture::{Axis, Plot, Point, Series, Way};

const ACROSS: &str = "share that took no longer";

/// A mode's.
struct Curve<'s> {
    name: &'s str,
    points: Vec<OnCurve>,
}

/// Of all points at which there is more than a median.
pub fn charts(record: &Record, summary: &Summary) -> Vec<Chart> {
    groups(summary, &[])
        .iter()
        .filter_map(|cells| chart(record, summary, cells))
        .collect()
}

fn chart(record: &Record, summary: &Summary, cells: &[&CellSummary]) -> Option<Chart> {
    let risk = Risk::of(&record.header.study);
    let curves = cells.iter().map(|cell| Curve {
        name: &cell.label,
        points: curve(&measured(record, cell), risk),
    });
    let curves: Vec<Curve> = curves.filter(|it| it.points.len() > 1).collect();
    let first = cells[0];
    let (place, parts) = named(summary, first);
    let title = format!(
        "Latency of a {} by percentile: {place}",
        label::one(first.per)
    );
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    (!curves.is_empty()).then(|| Chart {
        name: file_name("percentiles", &parts),
        subject: Subject::Percentiles,
        picture: plot(&curves).picture(&title),
        table: table(&curves),
        title,
    })
}

/// `99.9 %`
fn share_words(share: f64) -> String {
    let digits = format!("{:.2}", share * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Where a share stands: of so many one is slower, and equal ratios are equally far apart.
fn across(share: f64) -> f64 {
    1.0 / (1.0 - share)
}

fn plot(curves: &[Curve]) -> Plot {
    let point = |it: &OnCurve| {
        let ms: Estimate = it.us.map(|us| us / 1e3);
        let least = if it.is_at_least { "at least " } else { "" };
        Point {
            across: across(it.share),
            up: ms.median,
            ends: ends(ms),
            told: format!("{}: {least}{} ms", share_words(it.share), told(ms)),
        }
    };
    let series = |of: &Curve| Series {
        name: of.name.to_owned(),
        way: Way::Line,
        points: of.points.iter().map(point).collect(),
    };
    let ticks = CURVE.map(|share| (across(share), share_words(share)));
    Plot {
        across: Axis {
            title: ACROSS.to_owned(),
            is_log: true,
            ticks: Some(ticks.into()),
            ..Axis::default()
        },
        up: Axis {
            title: "latency, ms".to_owned(),
            is_log: true,
            ..Axis::default()
        },
        series: curves.iter().map(series).collect(),
        ..Plot::default()
    }
}

fn table(curves: &[Curve]) -> Table {
    let names = CURVE.map(share_words);
    let mut columns = vec![("mode", true)];
    columns.extend(names.iter().map(|name| (&name[..], false)));
    let mut table = Table::new(&columns);
    let row = |of: &Curve| {
        let at = |share: f64| {
            let point = of.points.iter().find(|point| point.share == share);
            let is_at_least = point.is_some_and(|it| it.is_at_least);
            let entry = Entry::range(point.map(|it| it.us), Unit::Time);
            entry.marked(is_at_least, Mark::AtLeast)
        };
        let mut row = vec![Entry::from(of.name)];
        row.extend(CURVE.map(at));
        row
    };
    table.rows = curves.iter().map(row).collect();
    table.without_empty_columns()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::kept;
    use crate::analysis::summarise;

    #[test]
    fn a_curve_of_each_mode_ends_where_samples_do() {
        let record = kept("compare");
        let summary = summarise(&record);
        let charts = charts(&record, &summary);
        assert_eq!(charts.len(), 3, "a chart for each distance");
        for chart in &charts {
            let svg = chart.svg();
            assert_eq!(svg.matches("class=\"series\"").count(), 6);
            assert!(svg.contains(">99 %<"), "{svg}");
            assert_eq!(chart.table.rows.len(), 6);
            let titles: Vec<&str> = chart.table.columns.iter().map(|it| &it.title[..]).collect();
            assert_eq!(titles[..5], ["mode", "50 %", "75 %", "90 %", "95 %"]);
        }
        let mut none = record;
        none.measurements.clear();
        assert_eq!(super::charts(&none, &summarise(&none)), []);
    }

    #[test]
    fn shares_have_the_digits_that_tell_them_apart() {
        let words = CURVE.map(share_words);
        assert_eq!(words[..3], ["50 %", "75 %", "90 %"]);
        assert_eq!(words[6..], ["99.9 %", "99.95 %", "99.99 %"]);
    }
}
