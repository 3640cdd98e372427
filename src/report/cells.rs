//! The tables of cells: one group for each workload, number of connections, distances and client
//! site, with what was reached first and what it cost below.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{figures, is_measured};
use super::entry::{Entry, Mark};
use super::figure::{Figure, Part, Place, Title};
use super::group::grouped;
use super::numbers::{count, or_nothing, time};
use super::page::{Block, Column, Table};
use super::{activity, asides, ground, label};
use crate::analysis::Summary;
use crate::analysis::interval::median;
use crate::analysis::summary::CellSummary;
use crate::record::server_errors::ServerError;
use crate::study::units;

/// Heads the column where rows are held against different ones.
const BASELINE: &str = "baseline";
/// Of a server's text that tells what an error is.
const MESSAGE_CHARS_MAX: usize = 60;

/// Cells of one load.
type Load<'s> = Vec<&'s CellSummary>;

/// Cells that differ in nothing but the mode.
struct Group<'a> {
    summary: &'a Summary,
    figures: &'a [Figure<'a>],
    cells: Vec<&'a CellSummary>,
}

/// The tables of one load.
pub struct OfLoad<'s> {
    pub cells: Vec<&'s CellSummary>,
    /// A heading, tables, and what is told below them.
    pub blocks: Vec<Block>,
}

/// All groups with a measured cell.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let (measured, left) = by_load(summary);
    let mut blocks: Vec<Block> = measured.into_iter().flat_map(|one| one.blocks).collect();
    blocks.extend(left.map(Block::Heading));
    blocks
}

/// The tables of each load of which a cell is measured, and what is said of the others.
pub fn by_load(summary: &Summary) -> (Vec<OfLoad<'_>>, Option<String>) {
    let figures = figures(summary);
    // What is moved to find limits has a table of its own.
    let cells = summary.cells.iter().filter(|cell| cell.moved.is_none());
    let groups = grouped(cells, |cell| cell.point.load());
    let (measured, left): (Vec<Load>, Vec<Load>) = groups
        .into_iter()
        .partition(|cells| cells.iter().any(|cell| is_measured(cell)));
    let measured = measured.into_iter().map(|cells| {
        let blocks = of_group(summary, &figures, &cells);
        OfLoad { cells, blocks }
    });
    let left = (!left.is_empty()).then(|| {
        let tables = count(left.len() as u64, "table");
        format!("{tables} of this study left out: nothing of them is measured yet.")
    });
    (measured.collect(), left)
}

fn of_group(summary: &Summary, figures: &[Figure], cells: &[&CellSummary]) -> Vec<Block> {
    let group = Group {
        summary,
        figures,
        cells: cells.to_vec(),
    };
    group.blocks()
}

impl Group<'_> {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Heading(self.heading()), Block::Table(self.reached())];
        let doubts = self.cells.iter().filter_map(|cell| doubt(cell));
        blocks.extend(notes(self.baselines().into_iter().chain(doubts).collect()));
        blocks.extend(self.runs());
        blocks.push(Block::Space);
        blocks.push(Block::Table(self.costs()));
        let cpus = self.cpus().map(Block::Table);
        blocks.extend(cpus.into_iter().flat_map(|table| [Block::Space, table]));
        let on_disk = self.on_disk().map(Block::Table);
        blocks.extend(on_disk.into_iter().flat_map(|table| [Block::Space, table]));
        blocks.extend(notes(self.asides()));
        blocks
    }

    fn heading(&self) -> String {
        let cell = self.cells[0];
        let rounds = self.cells.iter().map(|cell| cell.rounds);
        let (least, most) = (rounds.clone().min().unwrap_or(0), rounds.max().unwrap_or(0));
        let rounds = match least == most {
            true => count(most.into(), "round"),
            false => format!("{least} to {most} rounds"),
        };
        format!(
            "{}, {}{}, {}{}{}{}; {rounds}{}",
            label::workload(self.summary, &cell.point),
            label::connections(cell.connections),
            self.pace(),
            label::client(self.summary, &cell.client_site),
            self.distances(),
            self.disks(),
            self.speed_got(),
            self.window()
        )
    }

    /// Where connections rest.
    fn pace(&self) -> String {
        let pace = self.cells[0].point.pace.map(units::show);
        pace.map(|pace| format!(" (each begins {pace} after the last one's end)"))
            .unwrap_or_default()
    }

    /// The measured window, where it is not the study's, and what follows it.
    fn window(&self) -> String {
        let window = match self.cells[0].measure_s {
            own if own == self.summary.measure_s => String::new(),
            own => format!(" of {own} s"),
        };
        let watched = self.cells[0].watch_after_s;
        let watched = watched.map(|s| format!(", watched for {s} s after the load"));
        let applied = match self.cells[0].applied_after {
            true => ", replicas apply after the load",
            false => "",
        };
        window + &watched.unwrap_or_default() + applied
    }

    /// Asked and got, where disks are emulated: `, disks: flush 1 ms (got 1.24 ms, floor 240 µs)`.
    fn disks(&self) -> String {
        let Some(disks) = &self.cells[0].disks else {
            return String::new();
        };
        let got = self.typical(|cell| cell.flush_us_got);
        let floor = self.typical(|cell| cell.flush_us_floor);
        let disks = label::disks(Some(disks));
        format!("{disks} (flush got {got}, floor {floor})")
    }

    /// Of the first cell that has it: all were asked for the same.
    fn speed_got(&self) -> String {
        let told = self.cells.iter().find(|cell| cell.cpu_speed_got.is_some());
        told.map(|cell| ground::speed_got(cell)).unwrap_or_default()
    }

    /// Asked and got.
    fn distances(&self) -> String {
        if !self.summary.endpoints.is_empty() {
            return String::new();
        }
        let cell = self.cells[0];
        if cell.rtt_us_asked.is_some() {
            let got = self.typical(|cell| cell.rtt_us_got);
            return format!(", sites {} apart (got {got})", cell.distances);
        }
        let one = self.cells.iter().find(|cell| !cell.rtts_us.is_empty());
        let pairs = one.map_or(&[][..], |cell| &cell.rtts_us);
        let pair = |index: usize| {
            let pair = &pairs[index];
            let got = self.typical(|cell| cell.rtts_us.get(index)?.got);
            format!("{}–{} {got}", pair.from_site, pair.to_site)
        };
        let pairs: Vec<String> = (0..pairs.len()).map(pair).collect();
        format!(
            ", sites apart: {} (got {})",
            cell.distances,
            pairs.join(", ")
        )
    }

    /// The median of a time in µs over all modes.
    fn typical(&self, pick: impl Fn(&CellSummary) -> Option<f64>) -> String {
        let all: Vec<f64> = self.cells.iter().filter_map(|cell| pick(cell)).collect();
        or_nothing(median(&all), time)
    }

    /// A table of some figures: a row for each cell that is to have one.
    fn table(
        &self,
        part: Part,
        name: (&str, fn(&CellSummary) -> Entry),
        has_row: impl Fn(&CellSummary) -> bool,
    ) -> Table {
        let are_held = self.cells.iter().any(|cell| cell.baseline.is_some());
        let is_told_above =
            |figure: &Figure| part == Part::Costs && self.is_paced() && is_in(figure, Part::Paced);
        let needs_baseline = |place: &Place| matches!(place.title, Title::Versus | Title::Adds);
        let is_meant = |place: &Place| are_held || !needs_baseline(place);
        let placed = self.figures.iter().filter(|figure| !is_told_above(figure));
        let placed = placed.filter_map(|figure| Some((figure, figure.place(part)?)));
        let mut placed: Vec<(&Figure, &Place)> =
            placed.filter(|(_, place)| is_meant(place)).collect();
        placed.sort_by_key(|(_, place)| place.column);
        let row = |cell: &&CellSummary| {
            let entries = placed.iter().map(|(figure, _)| (figure.entry)(cell));
            std::iter::once(name.1(cell)).chain(entries).collect()
        };
        let cells = self.cells.iter().filter(|cell| has_row(cell));
        let rows: Vec<Vec<Entry>> = cells.map(row).collect();
        let are_words = |column: usize| {
            let mut entries = rows.iter().map(|row| row[column].plain());
            entries.any(|entry| matches!(entry, Entry::Words(_)))
        };
        let mut table = Table::new(&[(name.0, true)]);
        table
            .columns
            .extend((1..).zip(&placed).map(|(at, (_, place))| Column {
                title: self.title(&place.title),
                is_words: are_words(at),
            }));
        table.rows = rows;
        table.without_empty_columns()
    }

    fn title(&self, title: &Title) -> String {
        let word = || self.baseline_word().unwrap_or(BASELINE.to_owned());
        match title {
            Title::Is(title) => title.clone(),
            Title::Rate => label::rate(self.cells[0].per).to_owned(),
            Title::Versus => format!("vs {}", word()),
            Title::Adds => format!("adds to\n{}", word()),
        }
    }

    /// Commits come one at a time onto idle machines: latency is what tells.
    fn is_paced(&self) -> bool {
        self.cells[0].point.pace.is_some()
    }

    fn reached(&self) -> Table {
        let name = |cell: &CellSummary| {
            Entry::from(&cell.label[..]).marked(!cell.flags.is_empty(), Mark::Doubt)
        };
        let part = match self.is_paced() {
            true => Part::Paced,
            false => Part::Reached,
        };
        self.table(part, ("mode", name), |_| true)
    }

    /// Which row is held against which, where it is not the same one: `vs baseline: b, c over a`.
    fn baselines(&self) -> Option<String> {
        if self.baseline_word().is_some() {
            return None;
        }
        let mut against: Vec<(&str, Vec<&str>)> = Vec::new();
        for cell in &self.cells {
            let Some(baseline) = cell.baseline.as_deref() else {
                continue;
            };
            match against.iter_mut().find(|(label, _)| *label == baseline) {
                Some((_, rows)) => rows.push(&cell.label),
                None => against.push((baseline, vec![&cell.label])),
            }
        }
        let each = against.iter();
        let each = each.map(|(baseline, rows)| format!("{} over {baseline}", rows.join(", ")));
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| format!("vs {BASELINE}: {}", each.join("; ")))
    }

    /// What all rows are held against, where a word tells: `single`, if that is the mode of each
    /// server's one baseline, and not of all rows; else the label of the only baseline.
    fn baseline_word(&self) -> Option<String> {
        let held = || self.cells.iter().filter(|cell| cell.baseline.is_some());
        let labels: BTreeSet<&String> = held().filter_map(|cell| cell.baseline.as_ref()).collect();
        let all = self.summary.cells.iter();
        let baselines = || all.clone().filter(|cell| labels.contains(&cell.label));
        let mode = baselines().next()?.point.mode.title();
        let servers: BTreeSet<&String> = baselines().map(|cell| &cell.point.server).collect();
        let are_of_it = baselines().all(|cell| cell.point.mode.title() == mode);
        let tells = held().any(|cell| cell.point.mode.title() != mode);
        match labels.len() {
            rows if are_of_it && tells && rows == servers.len() => Some(mode.to_owned()),
            1 => labels.first().map(|label| (*label).clone()),
            _ => None,
        }
    }

    /// In mysqlslap's manner.
    fn runs(&self) -> Vec<Block> {
        let table = self.table(Part::Runs, ("mode", plain), |cell| cell.run_s.is_some());
        match table.rows.is_empty() {
            true => vec![],
            false => vec![Block::Space, Block::Table(table)],
        }
    }

    fn costs(&self) -> Table {
        let per = format!("per {}", label::one(self.cells[0].per));
        self.table(Part::Costs, (&per, plain), |_| true)
    }

    /// `None` where nobody looked who waits for a CPU.
    fn cpus(&self) -> Option<Table> {
        let is_told = |cell: &CellSummary| cell.contention.is_some();
        let told = self.cells.iter().filter_map(|cell| cell.contention);
        let title = match told.map(|told| told.own_cpus).min()? {
            Some(1) => "CPU waited for, nodes with 1 CPU of their own".to_owned(),
            Some(own) => format!("CPU waited for, nodes with {own} CPUs of their own"),
            None => "CPU waited for, shared".to_owned(),
        };
        Some(self.table(Part::Cpus, (&title, plain), is_told))
    }

    /// `None` where no disk is emulated or measured.
    fn on_disk(&self) -> Option<Table> {
        let is_told = |cell: &CellSummary| cell.flushes_per_commit.writer.is_some();
        let first = self.cells.iter().find(|cell| is_told(cell))?;
        let title = format!("on disk, per {}", label::one(first.per));
        Some(self.table(Part::OnDisk, (&title, plain), is_told))
    }

    /// What has no column.
    fn asides(&self) -> Vec<String> {
        let told = self.cells.iter().flat_map(|cell| asides::of(cell));
        let after = self.cells.iter().flat_map(|cell| activity::asides(cell));
        let idle = [self.idle(), self.idle_by_server()];
        told.chain(after)
            .chain(idle.into_iter().flatten())
            .collect()
    }

    /// `CPU per second while idle: mysql single, mysql async: a 13.1 ms, b 9.80 ms; …`: modes on
    /// the same servers have the same figures.
    fn idle_by_server(&self) -> Option<String> {
        let mut alike: Vec<(&BTreeMap<String, f64>, Vec<&str>)> = Vec::new();
        let watched = |cell: &&&CellSummary| cell.idle_watched_s.is_some();
        for cell in self.cells.iter().filter(watched) {
            let idle = &cell.cpu_us_per_s_idle;
            match alike.iter_mut().find(|(known, _)| *known == idle) {
                Some((_, labels)) => labels.push(&cell.label),
                None => alike.push((idle, vec![&cell.label])),
            }
        }
        let server = |(node, us_per_s): (&String, &f64)| format!("{node} {}", time(*us_per_s));
        let each = alike.iter().map(|(idle, labels)| {
            let servers: Vec<String> = idle.iter().map(server).collect();
            format!("{}: {}", labels.join(", "), servers.join(", "))
        });
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| format!("CPU per second while idle: {}", each.join("; ")))
    }

    /// Of a record in which each server was watched for too short a time: all together.
    fn idle(&self) -> Option<String> {
        let has_sum = |cell: &&&CellSummary| {
            cell.idle_watched_s.is_none() && !cell.cpu_us_per_s_idle.is_empty()
        };
        let each = self.cells.iter().filter(has_sum).map(|cell| {
            let us_per_s: f64 = cell.cpu_us_per_s_idle.values().sum();
            format!("{} {}", cell.label, time(us_per_s))
        });
        let each: Vec<String> = each.collect();
        let said = each.join(", ");
        (!each.is_empty()).then(|| format!("CPU per second of all servers while idle: {said}"))
    }
}

fn is_in(figure: &Figure, part: Part) -> bool {
    figure.place(part).is_some()
}

fn plain(cell: &CellSummary) -> Entry {
    cell.label[..].into()
}

fn notes(notes: Vec<String>) -> Option<Block> {
    (!notes.is_empty()).then_some(Block::Notes(notes))
}

/// With so much of its text as tells it from others.
fn error(error: &ServerError) -> String {
    let (message, rest) = match error.message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => (&error.message[..end], "…"),
        None => (&error.message[..], ""),
    };
    let message = format!("{}{rest}", message.trim_end());
    let short = ServerError {
        message,
        ..error.clone()
    };
    format!("{short}: {}", error.count)
}

/// `! mysql group: host-bound 2/4, errors 1/4 (error codes 1213 (40001) Deadlock found…: 12)`
fn doubt(cell: &CellSummary) -> Option<String> {
    if cell.flags.is_empty() {
        return None;
    }
    let flags: Vec<String> = cell.flags.iter().map(label::flag).collect();
    let errors: Vec<String> = cell.errors.iter().map(error).collect();
    let errors = match errors.is_empty() {
        true => String::new(),
        false => format!(" (error codes {})", errors.join(", ")),
    };
    let alone = cell
        .degraded_s
        .map(|s| format!(" (without its copy for {} in all)", time(s * 1e6)));
    let alone = alone.unwrap_or_default();
    Some(format!(
        "! {}: {}{errors}{alone}",
        cell.label,
        flags.join(", ")
    ))
}
