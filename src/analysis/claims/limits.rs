//! The first resource to saturate, found by moving it: what a stand-in uses of each, and what it
//! gains where it is given more of one.

use super::pick::Cells;
use super::unseen::short;
use super::{CellSummary, Figure, Verdict, ratio};

/// More of a resource moves a figure if it gains at least a tenth.
const GAIN: f64 = 1.1;

/// A resource of which there was more.
struct Moved {
    resource: &'static str,
    gain: Figure,
}

impl Moved {
    /// `step` says what stood for what.
    fn new(
        resource: &'static str,
        step: String,
        more: Option<&CellSummary>,
        less: &CellSummary,
    ) -> Option<Moved> {
        let gain = ratio(step, more?, less)?;
        Some(Moved { resource, gain })
    }

    /// `10000 IOPS for 3000: 1.02 times (0.98 to 1.06)`
    fn said(&self) -> String {
        let Figure { what, value, .. } = &self.gain;
        let [value, low, high] = [*value, self.gain.low, self.gain.high].map(short);
        format!("{what}: {value} times ({low} to {high})")
    }
}

/// A sentence for each stand-in and load, as far as it was measured.
pub fn said(cells: Cells, stand_ins: &[&str], loads: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    for load in loads {
        let of = stand_ins.iter();
        said.extend(of.filter_map(|label| of_one(cells, label, load)));
    }
    said.extend(narrow_link(cells));
    said
}

fn of_one(cells: Cells, label: &str, load: &str) -> Option<String> {
    let own = unwatched(cells, label, load)?;
    let moved = [
        other_connections(cells, own),
        more_iops(cells, own),
        faster_path(cells, own),
        instead(
            cells,
            own,
            "16 MB pool",
            "the buffer pool",
            "all rows for 16 MB of pool",
        ),
        instead(
            cells,
            own,
            "sync standby",
            "the copy's place",
            "no copy for one in another zone",
        ),
        instead(
            cells,
            own,
            "4 of 6",
            "the copies' places",
            "no copies for six in three zones",
        ),
        instead(
            cells,
            own,
            "async standby",
            "the standby",
            "none for one that follows",
        ),
    ];
    let moved: Vec<Moved> = moved.into_iter().flatten().collect();
    Some(format!("{}; {}.", used(own)?, verdict(&moved)))
}

/// In the study's first sweep that has it, and not watched after its load.
pub fn unwatched<'s>(cells: Cells<'s>, label: &str, load: &str) -> Option<&'s CellSummary> {
    cells.first(|cell| {
        (&cell.label[..], &cell.workload[..]) == (label, load) && cell.watch_after_s.is_none()
    })
}

/// More of them; where there are none, these against the next fewer: what they no longer gain.
fn other_connections(cells: Cells, own: &CellSummary) -> Option<Moved> {
    let is_alike = |cell: &CellSummary| {
        (&cell.label, &cell.workload, &cell.client_site)
            == (&own.label, &own.workload, &own.client_site)
            && (&cell.distances, &cell.disks) == (&own.distances, &own.disks)
            && cell.watch_after_s.is_none()
    };
    let alike = cells.with(is_alike);
    let most = alike.iter().copied().max_by_key(|cell| cell.connections)?;
    let fewer = alike
        .iter()
        .filter(|cell| cell.connections < own.connections);
    let fewer = fewer.copied().max_by_key(|cell| cell.connections);
    let (more, less) = match most.connections > own.connections {
        true => (most, own),
        false => (own, fewer?),
    };
    let step = format!("{} connections for {}", more.connections, less.connections);
    Moved::new("the number of connections", step, Some(more), less)
}

/// On a disk that differs in nothing else.
fn more_iops(cells: Cells, own: &CellSummary) -> Option<Moved> {
    let from = own.disks.as_deref()?;
    let to = from.replace("3000 IOPS", "10000 IOPS");
    let is_it = |cell: &CellSummary| {
        (&cell.label, &cell.workload) == (&own.label, &own.workload)
            && cell.disks.as_deref() == Some(&to[..])
            && to != from
    };
    let step = format!("{to} for {from}");
    Moved::new("IOPS", step, cells.first(is_it), own)
}

/// From the disk with more IOPS, so that nothing but the rate differs.
fn faster_path(cells: Cells, own: &CellSummary) -> Option<Moved> {
    let on = |disks: &str| {
        cells.first(|cell| {
            (&cell.label, &cell.workload) == (&own.label, &own.workload)
                && cell.disks.as_deref() == Some(disks)
        })
    };
    let narrow = on("10000 IOPS, 450 Mbit/s")?;
    let step = "any rate of its path for 450 Mbit/s at 10000 IOPS".to_owned();
    Moved::new(
        "the rate of its path",
        step,
        on("10000 IOPS, any rate"),
        narrow,
    )
}

/// The plain server in place of that stand-in.
fn instead(
    cells: Cells,
    own: &CellSummary,
    label: &str,
    resource: &'static str,
    step: &str,
) -> Option<Moved> {
    let plain = unwatched(cells, "local volume", &own.workload);
    let plain = plain.filter(|_| own.label == label);
    Moved::new(resource, step.to_owned(), plain, own)
}

/// A link of 25 Mbit/s to the client, against one without a limit.
fn narrow_link(cells: Cells) -> Option<String> {
    let at = |distances: &str| cells.first(|cell| cell.distances == distances);
    let narrow = at("0.7 ms, 25 Mbit/s")?;
    let step = "any rate of the client's link for 25 Mbit/s each way".to_owned();
    let moved = Moved::new("the client's link", step, at("0.7 ms"), narrow)?;
    Some(format!("{}; {}.", used(narrow)?, verdict(&[moved])))
}

/// What a stand-in reaches, and what it takes from each resource meanwhile.
fn used(cell: &CellSummary) -> Option<String> {
    let rate = cell.throughput_per_s?;
    let each = |per_commit: Option<f64>| per_commit.map(|figure| figure * rate.median);
    let both = |reads: Option<f64>, writes: Option<f64>| each(Some(reads? + writes?));
    let [reads, writes] = [cell.reads_per_commit, cell.writes_per_commit].map(|of| of.writer);
    let bytes = [cell.bytes_read_per_commit, cell.bytes_written_per_commit].map(|of| of.writer);
    let parts = [
        part(
            each(cell.cpu_us_per_commit.writer),
            1e-6,
            " of a core for its server",
        ),
        part(both(reads, writes), 1.0, " IOPS"),
        part(both(bytes[0], bytes[1]), 8e-6, " Mbit/s of its disk's path"),
        part(cell.disk_busy_share, 100.0, " % of its disk's time"),
        part(
            each(cell.bytes_per_commit.client),
            8e-6,
            " Mbit/s of the client's link both ways",
        ),
        part(cell.host_busy, 100.0, " % of this host's CPUs"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let at = format!(
        "{}, {}, {} connections",
        cell.label, cell.workload, cell.connections
    );
    let range = rate.low.zip(rate.high).map_or_else(
        || "no interval".to_owned(),
        |(low, high)| format!("{} to {}", short(low), short(high)),
    );
    let reached = format!("{at}: {}/s ({range})", short(rate.median));
    match parts.is_empty() {
        true => Some(reached),
        false => Some(format!("{reached} with {}", parts.join(", "))),
    }
}

fn part(figure: Option<f64>, factor: f64, unit: &str) -> Option<String> {
    figure.map(|figure| short(figure * factor) + unit)
}

/// What gained by more of it is the limit; what gained most, the first.
fn verdict(moved: &[Moved]) -> String {
    if moved.is_empty() {
        return "nothing was moved with intervals".to_owned();
    }
    let steps: Vec<String> = moved.iter().map(Moved::said).collect();
    let gains = moved
        .iter()
        .filter(|m| m.gain.is_above(GAIN) == Verdict::Confirmed);
    let first = gains.max_by(|a, b| a.gain.value.total_cmp(&b.gain.value));
    let open = moved
        .iter()
        .any(|m| m.gain.is_above(GAIN) == Verdict::Undecided);
    let limit = match (first, open) {
        (Some(first), _) => format!("what moves it most is {}", first.resource),
        (None, true) => "whether any of what was moved is the limit is open".to_owned(),
        (None, false) => "none of what was moved is the limit".to_owned(),
    };
    format!("{}: {limit}", steps.join("; "))
}
