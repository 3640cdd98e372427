//! What was asked of links, disks, CPUs and clients, and what was got.

use super::tables;
use super::texts::paragraph;
use crate::analysis::Summary;
use crate::analysis::summary::{Axis, CellSummary, PairOfSites};
use crate::report::columns::throughput;
use crate::report::entry::Entry;
use crate::report::ground::speed_got;
use crate::report::group::grouped;
use crate::report::markup::Element;
use crate::report::numbers::{NOTHING, Unit, count, middle, time};
use crate::report::page::Table;

/// More rows are counted.
const ROWS_MAX: usize = 120;
const CAPTION: &str = "Asked and got";

/// A table of all of it; nothing where nothing was measured.
pub fn elements(summary: &Summary) -> Vec<Element> {
    let plain = summary.cells.iter().filter(|cell| cell.moved.is_none());
    let measured: Vec<&CellSummary> = plain.filter(|cell| cell.rounds > 0).collect();
    let mut rows = links(&measured);
    rows.extend(flushes(&measured));
    rows.extend(speeds(&measured));
    rows.extend(rates(&measured));
    if rows.is_empty() {
        return vec![];
    }
    let more = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    let mut table = Table::new(&[
        ("what", true),
        ("asked", false),
        ("got", false),
        ("least to most", true),
    ]);
    table.rows = rows;
    let note = "Got: the middle one over cells, each the median of its rounds. A link's own floor \
                is taken off it; a disk's own floor is in what was got of a flush.";
    let mut elements = vec![paragraph(note), tables::element(&table, CAPTION)];
    if more > 0 {
        let rows = count(more as u64, "row");
        elements.push(paragraph(&format!(
            "{rows} more: `acklab report RECORD --format csv`."
        )));
    }
    elements
}

/// What was got over several cells.
fn row(what: String, asked: Option<f64>, got: &[f64]) -> Vec<Entry> {
    let least = got.iter().copied().reduce(f64::min);
    let most = got.iter().copied().reduce(f64::max);
    let ends = match least.zip(most) {
        Some((least, most)) => format!("{} to {}", time(least), time(most)),
        None => NOTHING.to_owned(),
    };
    vec![
        what.into(),
        Entry::number(asked, Unit::Time),
        Entry::number(middle(got.iter().copied()), Unit::Time),
        ends.into(),
    ]
}

fn links(measured: &[&CellSummary]) -> Vec<Vec<Entry>> {
    let groups = grouped(measured.iter().copied(), |cell| {
        cell.point.value(Axis::Distances)
    });
    let of_group = |cells: &Vec<&CellSummary>| {
        let pairs = cells.iter().find(|cell| !cell.rtts_us.is_empty());
        let pairs = pairs.map_or(&[][..], |cell| &cell.rtts_us[..]);
        let of_pair = |(index, pair): (usize, &PairOfSites)| {
            let got = cells.iter();
            let got = got.filter_map(|cell| cell.rtts_us.get(index)?.got);
            let got: Vec<f64> = got.collect();
            let (from, to) = (&pair.from_site, &pair.to_site);
            let what = format!("round trip {from}–{to}, {}", cells[0].distances);
            row(what, Some(pair.asked), &got)
        };
        pairs.iter().enumerate().map(of_pair).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

fn flushes(measured: &[&CellSummary]) -> Vec<Vec<Entry>> {
    let on_disks = measured.iter().copied();
    let on_disks = on_disks.filter(|cell| cell.disks.is_some());
    let groups = grouped(on_disks, |cell| cell.point.value(Axis::Disks));
    let of_group = |cells: &Vec<&CellSummary>| {
        let all = |pick: fn(&CellSummary) -> Option<f64>| -> Vec<f64> {
            cells.iter().filter_map(|cell| pick(cell)).collect()
        };
        let got = all(|cell| cell.flush_us_got);
        let floor = middle(all(|cell| cell.flush_us_floor).into_iter());
        let floor = floor.map(|us| format!(", floor {}", time(us)));
        let what = format!(
            "flush of the writer's disk, {}{}",
            cells[0].disks.as_deref().unwrap_or_default(),
            floor.unwrap_or_default()
        );
        row(what, cells[0].flush_us_asked, &got)
    };
    groups.iter().map(of_group).collect()
}

fn speeds(measured: &[&CellSummary]) -> Vec<Vec<Entry>> {
    let slowed = measured.iter().copied();
    let slowed = slowed.filter(|cell| !cell.cpu_speed.is_full());
    let groups = grouped(slowed, |cell| cell.point.value(Axis::CpuSpeed));
    let of_group = |cells: &Vec<&CellSummary>| {
        let got = speed_got(cells[0]);
        let got = got.trim_start_matches([',', ' ']).to_owned();
        vec![
            "slower CPUs".into(),
            cells[0].cpu_speed.words().into(),
            got.into(),
            Entry::NOTHING,
        ]
    };
    groups.iter().map(of_group).collect()
}

/// Of what was offered what was committed.
fn rates(measured: &[&CellSummary]) -> Vec<Vec<Entry>> {
    let offered = measured.iter();
    let row = |cell: &&CellSummary| {
        let offered = cell.offered_per_s?;
        Some(vec![
            format!("{}, transactions offered each second", cell.label).into(),
            Entry::number(Some(f64::from(offered)), Unit::Count),
            throughput(cell),
            Entry::NOTHING,
        ])
    };
    offered.filter_map(row).collect()
}
