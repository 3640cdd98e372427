//! An article beside the study that asks its question again: what was reached against
//! connections, as such articles show it, what was published, and what became of its claims.

use super::numbers::{NOTHING, digits, or_nothing, time, with_interval};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::claims::{Article, Claim, Figure, Grid};
use crate::analysis::interval::median;
use crate::analysis::summary::{CellSummary, Per, Value};

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
    blocks.push(Block::Notes(summary.claims.iter().flat_map(said).collect()));
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
        let mut cells = vec![name];
        let figures = (0..grid.columns.len()).map(|i| row.figures.get(i).copied().flatten());
        cells.extend(figures.map(|figure| or_nothing_of(figure, row.published.is_some())));
        cells.extend(has_notes.then(|| row.note.clone().unwrap_or_default()));
        table.rows.push(cells);
    }
    [Block::Heading(grid.title.clone()), Block::Table(table)]
}

/// A published figure often stands alone; one of ours without an interval says so.
fn or_nothing_of(figure: Option<Value>, is_published: bool) -> String {
    let decimals = |value: f64| match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        size if size >= 0.00995 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    };
    let Some(Value { value, low, high }) = figure else {
        return NOTHING.to_owned();
    };
    match (low, high) {
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
    }
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
fn said(claim: &Claim) -> [String; 2] {
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
    format!("{}: {value} {} ({low} to {high})", figure.what, figure.unit)
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
    let mut sections: Vec<Section> = Vec::new();
    for cell in &summary.cells {
        match sections
            .iter_mut()
            .find(|section| is_alike(section.cells[0], cell))
        {
            Some(section) => section.cells.push(cell),
            None => sections.push(Section {
                cells: vec![cell],
                connections: vec![],
            }),
        }
    }
    for section in &mut sections {
        section.connections = section.cells.iter().map(|cell| cell.connections).collect();
        section.connections.sort_unstable();
        section.connections.dedup();
    }
    sections
}

fn is_alike(one: &CellSummary, other: &CellSummary) -> bool {
    (&one.workload, &one.disks, &one.client_site)
        == (&other.workload, &other.disks, &other.client_site)
        && (one.measure_s, one.watch_after_s) == (other.measure_s, other.watch_after_s)
}

impl<'s> Section<'s> {
    fn blocks(&self) -> Vec<Block> {
        let first = self.cells[0];
        let what = match first.per {
            Per::Commit => "commits",
            Per::Transaction => "transactions",
        };
        let disks = first
            .disks
            .as_ref()
            .map(|label| format!(", disks: {label}"));
        let heading = format!(
            "{what}/s against connections: {}, client at site {}{}",
            first.workload,
            first.client_site,
            disks.unwrap_or_default()
        );
        let shared = self.table(&format!("{what}\nper flush"), |cell| {
            or_nothing(cell.commits_per_flush, |n| digits(n, 2))
        });
        let mut blocks = vec![
            Block::Heading(heading),
            Block::Table(self.table(&format!("{what}/s"), throughput)),
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

    fn table(&self, title: &str, figure: impl Fn(&CellSummary) -> String) -> Table {
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
            let mut row = vec![line[0].label.clone(), or_nothing(median(&rtts), time)];
            row.extend(self.connections.iter().map(|connections| {
                let cell = line.iter().find(|cell| cell.connections == *connections);
                cell.map_or_else(|| NOTHING.to_owned(), |cell| figure(cell))
            }));
            row
        };
        table.rows = self.lines().iter().map(row).collect();
        table
    }

    /// By mode, then by distance, each in the order of the study.
    fn lines(&self) -> Vec<Vec<&'s CellSummary>> {
        let place = |label: &str| self.cells.iter().position(|cell| cell.label == label);
        let mut lines: Vec<Vec<&CellSummary>> = Vec::new();
        for cell in &self.cells {
            let is_it = |line: &&mut Vec<&CellSummary>| {
                (&line[0].label, &line[0].distances) == (&cell.label, &cell.distances)
            };
            match lines.iter_mut().find(is_it) {
                Some(line) => line.push(cell),
                None => lines.push(vec![cell]),
            }
        }
        lines.sort_by_key(|line| place(&line[0].label));
        lines
    }
}

/// `250 248–252`, with a mark where there is a doubt about it.
fn throughput(cell: &CellSummary) -> String {
    let Some(estimate) = cell.throughput_per_s else {
        return NOTHING.to_owned();
    };
    let mark = if cell.flags.is_empty() { "" } else { "!" };
    let decimals = usize::from(estimate.median < 100.0);
    with_interval(estimate, |rate| digits(rate, decimals)) + mark
}
