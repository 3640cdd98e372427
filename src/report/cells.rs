//! The tables of cells: one group for each workload, number of connections, distances and client
//! site, with what was reached first and what it cost below.

use super::numbers::{
    NOTHING, bytes, count, digits, or_nothing, percent, plus_minus_short, ratio, seconds, time,
    trips, with_interval,
};
use super::page::{Block, Table};
use super::{activity, asides, disks};
use crate::analysis::Summary;
use crate::analysis::interval::median;
use crate::analysis::summary::{Anatomy, CellSummary, FlagCount, LagSummary, Per};
use crate::record::server_errors::ServerError;

/// Heads the column where rows are held against different ones.
const BASELINE: &str = "baseline";
/// Of a server's text that tells what an error is.
const MESSAGE_CHARS_MAX: usize = 60;

/// Cells that differ in nothing but the mode.
struct Group<'a> {
    summary: &'a Summary,
    cells: Vec<&'a CellSummary>,
}

/// All groups with a measured cell.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let groups = groups(summary);
    let (measured, left): (Vec<&Group>, Vec<&Group>) = groups
        .iter()
        .partition(|group| group.cells.iter().any(|cell| is_measured(cell)));
    let mut blocks: Vec<Block> = measured.iter().flat_map(|group| group.blocks()).collect();
    if !left.is_empty() {
        let tables = count(left.len() as u64, "table");
        let note = format!("{tables} of this study left out: nothing of them is measured yet.");
        blocks.push(Block::Heading(note));
    }
    blocks
}

fn groups(summary: &Summary) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for cell in &summary.cells {
        match groups
            .iter_mut()
            .find(|group| is_alike(group.cells[0], cell))
        {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group {
                summary,
                cells: vec![cell],
            }),
        }
    }
    groups
}

fn is_alike(one: &CellSummary, other: &CellSummary) -> bool {
    one.workload == other.workload
        && one.workload_in_full == other.workload_in_full
        && one.connections == other.connections
        && one.distances == other.distances
        && one.disks == other.disks
        && one.client_site == other.client_site
        && (one.measure_s, one.watch_after_s) == (other.measure_s, other.watch_after_s)
}

fn is_measured(cell: &CellSummary) -> bool {
    cell.rounds + cell.rounds_void > 0
}

/// `mysqlslap write`, or with what tells it from another one of that name.
pub fn workload<'s>(summary: &Summary, cell: &'s CellSummary) -> &'s str {
    let is_other = |other: &CellSummary| {
        other.workload == cell.workload && other.workload_in_full != cell.workload_in_full
    };
    match summary.cells.iter().any(is_other) {
        true => &cell.workload_in_full,
        false => &cell.workload,
    }
}

/// `client beside the writer (250 µs)`
pub fn client(summary: &Summary, site: &str) -> String {
    if !summary.endpoints.is_empty() {
        return "client on this host".to_owned();
    }
    match summary.sites.first() {
        Some(writer) if writer == site => {
            format!(
                "client beside the writer ({})",
                time(summary.rtt_us_within_site)
            )
        }
        _ => format!("client at site {site}"),
    }
}

impl Group<'_> {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Heading(self.heading()), Block::Table(self.reached())];
        let doubts = self.cells.iter().filter_map(|cell| doubt(cell));
        blocks.extend(notes(self.baselines().into_iter().chain(doubts).collect()));
        blocks.extend(self.runs());
        blocks.push(Block::Space);
        blocks.push(Block::Table(self.costs()));
        let on_disk = disks::table(&self.cells);
        blocks.extend(
            on_disk
                .into_iter()
                .flat_map(|table| [Block::Space, Block::Table(table)]),
        );
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
        let connections = count(cell.connections.into(), "connection");
        let client = client(self.summary, &cell.client_site);
        format!(
            "{}, {connections}, {client}{}{}; {rounds}{}",
            workload(self.summary, cell),
            self.distances(),
            self.disks(),
            self.window()
        )
    }

    /// The measured window, where it is not the study's, and what follows it.
    fn window(&self) -> String {
        let window = match self.cells[0].measure_s {
            own if own == self.summary.measure_s => String::new(),
            own => format!(" of {own} s"),
        };
        let watched = self.cells[0].watch_after_s;
        let watched = watched.map(|s| format!(", watched for {s} s after the load"));
        window + &watched.unwrap_or_default()
    }

    /// Asked and got, where disks are emulated: `, disks: flush 1 ms (got 1.24 ms, floor 240 µs)`.
    fn disks(&self) -> String {
        let Some(label) = &self.cells[0].disks else {
            return String::new();
        };
        let typical = |pick: fn(&CellSummary) -> Option<f64>| {
            let all: Vec<f64> = self.cells.iter().filter_map(|cell| pick(cell)).collect();
            or_nothing(median(&all), time)
        };
        let got = typical(|cell| cell.flush_us_got);
        let floor = typical(|cell| cell.flush_us_floor);
        format!(", disks: {label} (flush got {got}, floor {floor})")
    }

    /// Asked and got.
    fn distances(&self) -> String {
        if !self.summary.endpoints.is_empty() {
            return String::new();
        }
        let cell = self.cells[0];
        let got = |pick: &dyn Fn(&CellSummary) -> Option<f64>| {
            let all: Vec<f64> = self.cells.iter().filter_map(|cell| pick(cell)).collect();
            or_nothing(median(&all), time)
        };
        if cell.rtt_us_asked.is_some() {
            let got = got(&|cell| cell.rtt_us_got);
            return format!(", sites {} apart (got {got})", cell.distances);
        }
        let one = self.cells.iter().find(|cell| !cell.rtts_us.is_empty());
        let pairs = one.map_or(&[][..], |cell| &cell.rtts_us);
        let pair = |index: usize| {
            let pair = &pairs[index];
            let got = got(&|cell| cell.rtts_us.get(index)?.got);
            format!("{}–{} {got}", pair.from_site, pair.to_site)
        };
        let pairs: Vec<String> = (0..pairs.len()).map(pair).collect();
        format!(
            ", sites apart: {} (got {})",
            cell.distances,
            pairs.join(", ")
        )
    }

    fn reached(&self) -> Table {
        let per = match self.cells[0].per {
            Per::Commit => "commits/s",
            Per::Transaction => "transactions/s",
        };
        let versus = format!("vs {}", self.baseline_word());
        let mut table = Table::new(&[
            ("mode", true),
            ("a peer has at ack", true),
            (per, false),
            (&versus, false),
            ("p50", false),
            ("p99", false),
        ]);
        let has_baseline = self.cells.iter().any(|cell| cell.baseline.is_some());
        let row = |cell: &&CellSummary| {
            let mut row = reached_row(cell);
            if !has_baseline {
                row[3] = NOTHING.to_owned();
            }
            row
        };
        table.rows = self.cells.iter().map(row).collect();
        table.without_empty_columns()
    }

    /// Which row is held against which, where it is not the same one: `vs baseline: b, c over a`.
    fn baselines(&self) -> Option<String> {
        if self.baseline_word() != BASELINE {
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

    /// `single`, if every baseline's label ends so.
    fn baseline_word(&self) -> String {
        let labels = self.cells.iter().filter_map(|cell| cell.baseline.as_ref());
        let mut words = labels.map(|label| label.split(' ').next_back().unwrap_or(label));
        match words.next() {
            Some(first) if words.all(|word| word == first) => first.to_owned(),
            _ => BASELINE.to_owned(),
        }
    }

    /// In mysqlslap's manner.
    fn runs(&self) -> Vec<Block> {
        let mut table = Table::new(&[
            ("mode", true),
            ("to run all queries", false),
            ("of which connecting", false),
        ]);
        let row = |cell: &&CellSummary| {
            let run = seconds(cell.run_s?);
            Some(vec![
                cell.label.clone(),
                run,
                or_nothing(cell.connect_share, percent),
            ])
        };
        table.rows = self.cells.iter().filter_map(row).collect();
        match table.rows.is_empty() {
            true => vec![],
            false => vec![Block::Space, Block::Table(table)],
        }
    }

    fn costs(&self) -> Table {
        let per = match self.cells[0].per {
            Per::Commit => "per commit",
            Per::Transaction => "per transaction",
        };
        let mut table = Table::new(&[
            (per, true),
            ("round\ntrips", false),
            ("CPU\nwriter", false),
            ("CPU\nreplica", false),
            ("CPU\nclient", false),
            ("CPU\nfront", false),
            ("CPU\nlinks", false),
            ("bytes\nrepl.", false),
            ("packets\nrepl.", false),
            ("lag\np50", false),
            ("lag\nmax", false),
        ]);
        table.rows = self.cells.iter().map(|cell| self.costs_row(cell)).collect();
        table.without_empty_columns()
    }

    fn costs_row(&self, cell: &CellSummary) -> Vec<String> {
        let cpu = &cell.cpu_us_per_commit;
        let replicas: Vec<f64> = cpu.replicas.iter().map(|replica| replica.cpu_us).collect();
        let replicated = |figure: Option<f64>, format: &dyn Fn(f64) -> String| {
            or_nothing(figure.filter(|figure| *figure > 0.0), format)
        };
        vec![
            cell.label.clone(),
            self.round_trips(cell),
            self.cpu(cpu.writer),
            match cell.settings.get("replicas").map(String::as_str) {
                Some("0") => NOTHING.to_owned(),
                _ => self.cpu(mean(&replicas)),
            },
            or_nothing(cpu.client, time),
            or_nothing(cpu.front, time),
            or_nothing(cpu.links, time),
            replicated(cell.bytes_per_commit.replication, &bytes),
            replicated(cell.packets_per_commit.replication, &|n| digits(n, 2)),
            worst_lag(cell, |lag| lag.p50),
            worst_lag(cell, |lag| lag.max),
        ]
    }

    /// Of servers that somebody else runs nobody knows it here, which is said.
    fn cpu(&self, us: Option<f64>) -> String {
        match (us, self.summary.endpoints.is_empty()) {
            (None, false) => "unknown".to_owned(),
            (us, _) => or_nothing(us, time),
        }
    }

    fn round_trips(&self, cell: &CellSummary) -> String {
        let is_it = |anatomy: &&Anatomy| {
            anatomy.label == cell.label
                && anatomy.workload == cell.workload
                && anatomy.client_site == cell.client_site
        };
        let anatomy = self.summary.anatomy.iter().find(is_it);
        let anatomy = anatomy.filter(|_| cell.connections == 1 && is_measured(cell));
        let round_trips = anatomy.and_then(|anatomy| anatomy.round_trips);
        let short = |value| plus_minus_short(value, trips);
        round_trips.map_or_else(|| NOTHING.to_owned(), short)
    }

    /// What has no column.
    fn asides(&self) -> Vec<String> {
        let told = self.cells.iter().flat_map(|cell| asides::of(cell));
        let after = self.cells.iter().flat_map(|cell| activity::asides(cell));
        told.chain(after).chain(self.idle()).collect()
    }

    fn idle(&self) -> Option<String> {
        let cells = self
            .cells
            .iter()
            .filter(|cell| !cell.cpu_us_per_s_idle.is_empty());
        let each = cells.map(|cell| {
            let us_per_s: f64 = cell.cpu_us_per_s_idle.values().sum();
            format!("{} {}", cell.label, time(us_per_s))
        });
        let each: Vec<String> = each.collect();
        let said = each.join(", ");
        (!each.is_empty()).then(|| format!("CPU per second of all servers while idle: {said}"))
    }
}

/// Of the replica farthest behind; `≥` where a beat was not seen for as long as it was waited for.
fn worst_lag(cell: &CellSummary, figure: impl Fn(&LagSummary) -> Option<f64>) -> String {
    let lags = cell.lag_ms.iter();
    let lags = lags.filter_map(|lag| Some((figure(lag)?, lag)));
    let worst = lags.max_by(|(one, _), (other, _)| one.total_cmp(other));
    let Some((ms, lag)) = worst else {
        return NOTHING.to_owned();
    };
    let is_beyond = lag.beyond > 0 && Some(ms) == lag.max;
    format!("{}{}", if is_beyond { "≥" } else { "" }, time(ms * 1e3))
}

fn notes(notes: Vec<String>) -> Option<Block> {
    (!notes.is_empty()).then_some(Block::Notes(notes))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn reached_row(cell: &CellSummary) -> Vec<String> {
    let mark = if cell.flags.is_empty() { "" } else { " !" };
    let throughput = match cell.throughput_per_s {
        Some(estimate) => with_interval(estimate, |rate| digits(rate, 2)),
        None if is_measured(cell) => "void".to_owned(),
        None => "not measured".to_owned(),
    };
    vec![
        format!("{}{mark}", cell.label),
        cell.peer_at_ack.clone(),
        throughput,
        versus(cell),
        or_nothing(cell.latency_us.p50, time),
        or_nothing(cell.latency_us.p99, time),
    ]
}

fn versus(cell: &CellSummary) -> String {
    match (&cell.baseline, cell.ratio) {
        (None, _) => "1".to_owned(),
        (_, None) => NOTHING.to_owned(),
        (_, Some(estimate)) => {
            let mark = if cell.difference_shown == Some(false) {
                " ~"
            } else {
                ""
            };
            with_interval(estimate, ratio) + mark
        }
    }
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
    let flag = |f: &FlagCount| format!("{} {}/{}", f.flag.name(), f.rounds, f.of);
    let flags: Vec<String> = cell.flags.iter().map(flag).collect();
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
