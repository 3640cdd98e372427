//! An article beside the study that asks its question again: what was reached against
//! connections, as such articles show it, what was published, and what became of its claims.

use super::entry::{Entry, Mark};
use super::group::{grouped, load_but};
use super::label;
use super::numbers::{Unit, digits};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::claims::{Article, Claim, Figure, Grid};
use crate::analysis::interval::median;
use crate::analysis::summary::{Axis, CellSummary, Value};

/// Below claims with such figures.
const SHARED: &str = "shared: a cell of this figure waited for the host's CPUs for more than 10 % \
                      of the time. It holds for servers that share a host so.";

const BOUNDS_KEPT: &str = "Bounds of all words, and the rules of all claims, are those that were \
                           set before the first measurement (the record holds their digest).";
const BOUNDS_CHANGED: &str = "The bounds of these claims were changed after this was measured: \
                              these verdicts are by the new ones.";

/// Nothing for a study that repeats no article.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let Some(article) = &summary.article else {
        return vec![];
    };
    let mut blocks = against_connections(summary);
    blocks.push(Block::Heading(format!(
        "The article: {} ({})",
        article.title, article.key
    )));
    blocks.push(Block::Facts(published(article)));
    blocks.extend(article.tables.iter().flat_map(grid));
    let heading = "Its claims, held against ratios and orders measured here".to_owned();
    blocks.push(Block::Heading(heading));
    let mut claims: Vec<String> = (summary.claims.iter())
        .flat_map(verdict_and_figures)
        .collect();
    let mut figures = summary.claims.iter().flat_map(|claim| &claim.figures);
    let is_shared = figures.any(|figure| figure.is_shared);
    claims.extend(is_shared.then(|| SHARED.to_owned()));
    let bounds = article.are_bounds_kept;
    let bounds = bounds.map(|kept| if kept { BOUNDS_KEPT } else { BOUNDS_CHANGED });
    claims.extend(bounds.map(str::to_owned));
    blocks.push(Block::Notes(claims));
    if !article.unseen.is_empty() {
        let heading = "What the article could not see, as measured here".to_owned();
        blocks.push(Block::Heading(heading));
        blocks.push(Block::Notes(article.unseen.clone()));
    }
    blocks
}

/// The article's own table: what was measured, and what was published below it.
fn grid(grid: &Grid) -> [Block; 2] {
    let has_notes = grid.rows.iter().any(|row| row.note.is_some());
    let notes = has_notes.then_some(("note", true));
    let titles: Vec<(&str, bool)> = std::iter::once((&grid.unit[..], true))
        .chain(grid.columns.iter().map(|name| (&name[..], false)))
        .chain(notes)
        .collect();
    let mut table = Table::new(&titles);
    for (place, row) in grid.rows.iter().enumerate() {
        let above = place.checked_sub(1).map(|above| &grid.rows[above].name);
        let name = match &row.published {
            Some(_) if above == Some(&row.name) => "  published".to_owned(),
            // Nothing was measured that it would stand below.
            Some(_) => format!("{}, published", row.name),
            None => row.name.clone(),
        };
        let mut cells = vec![Entry::Words(name)];
        let figures = (0..grid.columns.len()).map(|i| row.figures.get(i).copied().flatten());
        cells.extend(figures.map(|figure| or_nothing_of(figure, row.published.is_some())));
        cells.extend(has_notes.then(|| row.note.clone().unwrap_or_default().into()));
        table.rows.push(cells);
    }
    [Block::Heading(grid.title.clone()), Block::Table(table)]
}

/// A published figure often stands alone; one of ours without an interval says so.
fn or_nothing_of(figure: Option<Value>, is_published: bool) -> Entry {
    let decimals = |value: f64| match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        size if size >= 0.00995 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    };
    let Some(Value { value, low, high }) = figure else {
        return Entry::NOTHING;
    };
    let words = match (low, high) {
        // Asked or counted, not measured: there is nothing to doubt.
        (Some(low), Some(high)) if low == high && value.fract() == 0.0 => format!("{value:.0}"),
        // Published as a range alone.
        (Some(low), Some(high)) if is_published && value == low => {
            format!("{}–{}", decimals(low), decimals(high))
        }
        (Some(low), Some(high)) => {
            format!("{} {}–{}", decimals(value), decimals(low), decimals(high))
        }
        _ if is_published => decimals(value),
        _ => format!("{} ±?", decimals(value)),
    };
    Entry::Words(words)
}

fn published(article: &Article) -> Vec<(String, String)> {
    let fact = |name: &str, said: &str| (name.to_owned(), said.to_owned());
    let mut facts = vec![fact("ran on", &article.servers)];
    facts.extend(article.tool.iter().map(|tool| fact("under", tool)));
    facts.push(fact("measured", &article.measure));
    let figure = |name: &str, value: &str| {
        fact(
            "published",
            &format!("{name} {value} (another machine: not compared)"),
        )
    };
    let is_in_table = |name: &str| {
        let mut rows = article.tables.iter().flat_map(|grid| &grid.rows);
        rows.any(|row| row.published.as_deref() == Some(name))
    };
    let figures = article.figures.iter();
    let figures = figures.filter(|published| !is_in_table(&published.name));
    facts.extend(figures.map(|published| figure(&published.name, &published.value)));
    facts
}

/// The claim with its verdict, then what it was judged by.
fn verdict_and_figures(claim: &Claim) -> [String; 2] {
    let figures: Vec<String> = claim.figures.iter().map(figure).collect();
    let figures = match figures.is_empty() {
        true => String::new(),
        false => format!("{}; ", figures.join("; ")),
    };
    [
        format!("{}: {}", claim.verdict.name().to_uppercase(), claim.claim),
        format!("here: {figures}{}", claim.reason),
    ]
}

/// `mysql sync_binlog=0 over mysql sync_binlog=1: 2.00 times (1.98 to 2.03)`
fn figure(figure: &Figure) -> String {
    let [value, low, high] = [figure.value, figure.low, figure.high].map(|n| digits(n, 2));
    let shared = if figure.is_shared { ", shared" } else { "" };
    format!(
        "{}: {value} {} ({low} to {high}{shared})",
        figure.what, figure.unit
    )
}

/// Cells that differ in mode, distance and connections only.
struct Section<'s> {
    cells: Vec<&'s CellSummary>,
    connections: Vec<u32>,
}

/// What was reached, and how many commits shared a flush: one line for each mode and distance.
fn against_connections(summary: &Summary) -> Vec<Block> {
    let sections = sections(summary);
    let telling = sections
        .iter()
        .filter(|section| section.connections.len() > 1);
    telling.flat_map(Section::blocks).collect()
}

fn sections(summary: &Summary) -> Vec<Section<'_>> {
    let within = [Axis::Distances, Axis::Connections];
    let groups = grouped(&summary.cells, |cell| load_but(&cell.point, &within));
    groups.into_iter().map(Section::of).collect()
}

impl<'s> Section<'s> {
    fn of(cells: Vec<&'s CellSummary>) -> Section<'s> {
        let mut connections: Vec<u32> = cells.iter().map(|cell| cell.connections).collect();
        connections.sort_unstable();
        connections.dedup();
        Section { cells, connections }
    }

    fn blocks(&self) -> Vec<Block> {
        let first = self.cells[0];
        let rate = label::rate(first.per);
        let heading = format!(
            "{rate} against connections: {}, client at site {}{}",
            first.workload,
            first.client_site,
            label::disks(first.disks.as_ref())
        );
        let per_flush = format!("{}s\nper flush", label::one(first.per));
        let shared = self.table(&per_flush, |cell| {
            Entry::number(cell.commits_per_flush, Unit::Number(2))
        });
        let mut blocks = vec![
            Block::Heading(heading),
            Block::Table(self.table(rate, throughput)),
        ];
        if self
            .cells
            .iter()
            .any(|cell| cell.commits_per_flush.is_some())
        {
            blocks.extend([Block::Space, Block::Table(shared)]);
        }
        blocks
    }

    fn table(&self, title: &str, figure: impl Fn(&CellSummary) -> Entry) -> Table {
        let titles: Vec<String> = self
            .connections
            .iter()
            .map(|n| format!("{n}\nconn."))
            .collect();
        let mut columns = vec![(title, true), ("RTT\ngot", false)];
        columns.extend(titles.iter().map(|title| (&title[..], false)));
        let mut table = Table::new(&columns);
        let row = |line: &Vec<&CellSummary>| {
            let rtts: Vec<f64> = line.iter().filter_map(|cell| cell.rtt_us_got).collect();
            let rtt = Entry::number(median(&rtts), Unit::Time);
            let mut row = vec![line[0].label[..].into(), rtt];
            row.extend(self.connections.iter().map(|connections| {
                let cell = line.iter().find(|cell| cell.connections == *connections);
                cell.map_or(Entry::NOTHING, |cell| figure(cell))
            }));
            row
        };
        table.rows = self.lines().iter().map(row).collect();
        table
    }

    /// By mode, then by distance, each in the order of the study.
    fn lines(&self) -> Vec<Vec<&'s CellSummary>> {
        let rest = |cell: &'s CellSummary| cell.point.without(&[Axis::Connections]);
        let mut lines = grouped(self.cells.iter().copied(), rest);
        let place = |cell: &CellSummary| {
            let mut rows = self.cells.iter().map(|cell| cell.point.row);
            rows.position(|row| row == cell.point.row)
        };
        lines.sort_by_key(|line| place(line[0]));
        lines
    }
}

/// `250 248–252`, with a mark where there is a doubt about it.
fn throughput(cell: &CellSummary) -> Entry {
    let decimals = |median: f64| usize::from(median < 100.0);
    let decimals = cell
        .throughput_per_s
        .map_or(0, |rate| decimals(rate.median));
    let rate = Entry::range(cell.throughput_per_s, Unit::Number(decimals));
    let is_doubted = cell.throughput_per_s.is_some() && !cell.flags.is_empty();
    rate.marked(is_doubted, Mark::Doubt)
}
