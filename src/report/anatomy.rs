//! What a commit consists of: work, round trips and flushes.

use std::collections::BTreeSet;

use super::entry::{Entry, Mark, Quantity};
use super::group::{grouped, load_but};
use super::label;
use super::numbers::{Unit, time};
use super::page::{Block, Table};
use super::waits;
use crate::analysis::Summary;
use crate::analysis::summary::{Adds, Anatomy, Axis, Halves, LackOfFit, Shape, Sum, Value};

/// What the rows of one table may differ in, besides the mode.
pub const WITHIN: [Axis; 4] = [Axis::Distances, Axis::Disks, Axis::Window, Axis::WatchAfter];

/// One table for each workload and client site that has a line, by name.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let groups = groups(summary);
    let sections = groups.iter();
    sections
        .flat_map(|members| section(summary, members))
        .collect()
}

/// Those that stand in one table, by name.
pub fn groups(summary: &Summary) -> Vec<Vec<&Anatomy>> {
    let drawn = summary.anatomy.iter().filter(|a| a.has_line());
    let mut groups = grouped(drawn, |anatomy| load_but(&anatomy.point, &WITHIN));
    groups.sort_by_key(|group| (&group[0].workload, &group[0].client_site));
    groups
}

/// The table of a group, and what is told beside it.
pub fn section(summary: &Summary, members: &[&Anatomy]) -> Vec<Block> {
    let point = &members[0].point;
    let load = label::workload(summary, point);
    let client = label::client(summary, &point.client_site);
    let has_flushes = members.iter().any(|a| a.flushes.is_some());
    let flushes = if has_flushes {
        " + flushes · flush time"
    } else {
        ""
    };
    let heading = format!(
        "Anatomy of a commit: median latency = work + round trips · RTT{flushes}; {load}, \
         1 connection, {client}"
    );
    let said = members
        .iter()
        .filter_map(|anatomy| in_words(anatomy))
        .collect::<Vec<_>>();
    let table = match has_flushes {
        true => flush_table(members),
        false => table(members),
    };
    let mut blocks = vec![Block::Heading(heading), Block::Table(table)];
    if !said.is_empty() {
        blocks.push(Block::Notes(said));
    }
    if let Some(record) = &summary.beside {
        let heading = format!("The same beside {record}; {load}, 1 connection, {client}");
        blocks.push(Block::Heading(heading));
        blocks.push(Block::Table(beside_table(members, has_flushes)));
    }
    blocks
}

/// Each figure, and beside it that of the same row in another record.
fn beside_table(members: &[&Anatomy], has_flushes: bool) -> Table {
    let trips = [("round trips\nper commit", false), ("beside", false)];
    let flushes = [("flushes\nper commit", false), ("beside", false)];
    let flushes = flushes.iter().filter(|_| has_flushes);
    let columns = [("mode", true)].into_iter().chain(trips);
    let columns: Vec<(&str, bool)> = columns.chain(flushes.copied()).collect();
    let mut table = Table::new(&columns);
    let row = |anatomy: &&Anatomy| {
        let beside = anatomy.beside;
        let trips = [anatomy.round_trips, beside.and_then(|of| of.round_trips)];
        let flushes = [anatomy.flushes, beside.and_then(|of| of.flushes)];
        let flushes = flushes.into_iter().filter(|_| has_flushes);
        let figures = trips.into_iter().chain(flushes);
        let figures = figures.map(|value| Entry::plus_minus(value, Unit::Trips));
        [marked(anatomy)].into_iter().chain(figures).collect()
    };
    table.rows = members.iter().map(row).collect();
    table
}

fn table(members: &[&Anatomy]) -> Table {
    let columns = [
        ("mode", true),
        ("round trips\nper commit", false),
        ("sys", false),
        ("work", false),
        ("misfit", false),
        ("distances,\nrounds", false),
    ];
    with_peers(&columns, members, |anatomy| {
        let counts = [anatomy.distances, anatomy.rounds].map(|count| count as usize);
        let [trips, trips_off] = round_trips(anatomy);
        vec![
            marked(anatomy),
            trips,
            trips_off,
            Entry::plus_minus(anatomy.work_us, Unit::Time),
            anatomy.lack_of_fit.map_or(Entry::NOTHING, misfit),
            Entry::Several(counts.map(Entry::count).into(), ", "),
        ]
    })
}

/// With flushes beside round trips, and what they belong to.
fn flush_table(members: &[&Anatomy]) -> Table {
    let file_system = members.iter().find_map(|a| a.file_system.as_deref());
    let log = format!("log on\n{}", file_system.unwrap_or("disk"));
    let columns = [
        ("mode", true),
        ("round trips\nper commit", false),
        ("sys", false),
        ("flushes\nper commit", false),
        ("sys", false),
        ("counted\non disk", false),
        ("work", false),
        ("both\nraised", true),
        (&log[..], true),
    ];
    with_peers(&columns, members, |anatomy| {
        let sums: Vec<Entry> = anatomy.adds.iter().map(sum_short).collect();
        let ([trips, trips_off], [flushes, flushes_off]) = (round_trips(anatomy), flushes(anatomy));
        vec![
            marked(anatomy),
            trips,
            trips_off,
            flushes,
            flushes_off,
            counted(anatomy),
            Entry::plus_minus(anatomy.work_us, Unit::Time),
            match sums.is_empty() {
                true => Entry::NOTHING,
                false => Entry::Several(sums, ", "),
            },
            anatomy.log_layout[..].into(),
        ]
    })
}

/// The columns, and those that only unequal distances fill.
fn with_peers(
    columns: &[(&str, bool)],
    members: &[&Anatomy],
    row: impl Fn(&Anatomy) -> Vec<Entry>,
) -> Table {
    let peers: BTreeSet<&String> = members
        .iter()
        .flat_map(|a| &a.per_peer)
        .flatten()
        .map(|p| p.0)
        .collect();
    let titles: Vec<String> = peers
        .iter()
        .map(|peer| format!("of peer\n{peer}"))
        .collect();
    let mut columns = columns.to_vec();
    columns.extend(titles.iter().map(|title| (&title[..], false)));
    columns.push(("waits\nfor", true));
    let mut table = Table::new(&columns);
    let whole_row = |anatomy: &&Anatomy| {
        let mut row = row(anatomy);
        let of_peer = |peer: &&String| anatomy.per_peer.as_ref()?.get(*peer).copied();
        let of_peers = peers.iter().map(of_peer);
        row.extend(of_peers.map(|value| Entry::plus_minus(value, Unit::Trips)));
        let whom = anatomy.waits_for.as_ref();
        row.push(whom.map_or(Entry::NOTHING, |whom| waits::in_short(whom).into()));
        row
    };
    table.rows = members.iter().map(whole_row).collect();
    table.without_empty_columns()
}

fn marked(anatomy: &Anatomy) -> Entry {
    Entry::from(&anatomy.label[..]).marked(!anatomy.flags.is_empty(), Mark::Doubt)
}

/// `adds`, `−1.20 ms`, `~`
fn sum_short(adds: &Adds) -> Entry {
    let difference = Entry::number(Some(adds.difference_us.value.abs()), Unit::Time);
    match adds.verdict {
        None => "no interval".into(),
        Some(Sum::Adds) => "adds".into(),
        Some(Sum::NoDifferenceShown) => "~".into(),
        Some(Sum::Overlaps) => difference.marked(true, Mark::Less),
        Some(Sum::Exceeds) => difference.marked(true, Mark::More),
    }
}

/// In words, where the sum does not hold.
fn sum_in_words(adds: &Adds) -> Option<String> {
    let (what, word) = match adds.verdict? {
        Sum::Overlaps => ("round trips and flushes overlap", "less"),
        Sum::Exceeds => ("both cost more than each alone", "more"),
        Sum::Adds | Sum::NoDifferenceShown => return None,
    };
    let difference = adds.difference_us;
    let (low, high) = (difference.low?.abs(), difference.high?.abs());
    let size = Value {
        value: difference.value.abs(),
        low: Some(low.min(high)),
        high: Some(low.max(high)),
    };
    Some(format!(
        "at {} and {} {what}: {} got, {} {word} than the sum of both ({})",
        adds.distances,
        adds.disks,
        time(adds.got_us),
        Quantity::plus_minus(size, Unit::Time),
        time(adds.sum_us)
    ))
}

/// `flushes in series at a 2.00 ±0.02, at b 0.00 ±0.01`
fn by_site(anatomy: &Anatomy) -> Option<String> {
    let each = anatomy.flushes_by_site.as_ref()?.iter();
    let trips = |value: &Value| Quantity::plus_minus(*value, Unit::Trips);
    let each = each.map(|(site, value)| format!("at {site} {}", trips(value)));
    let each: Vec<String> = each.collect();
    Some(format!("flushes in series {}", each.join(", ")))
}

fn misfit(lack: LackOfFit) -> Entry {
    let residual = Entry::number(Some(lack.residual_us_max), Unit::Time);
    let share = Entry::number(Some(lack.share), Unit::Share);
    Entry::Several(vec![residual, share], " ")
}

/// `3.00 ±0.01` and what it may be off by all the same; marked where it is no slope at all.
fn slope(value: Option<Value>, systematic: Option<f64>, halves: Option<Halves>) -> [Entry; 2] {
    let is_bent = halves.is_some_and(|halves| halves.shape == Some(Shape::Bent));
    let slope = Entry::plus_minus(value, Unit::Trips);
    let systematic = value.and(systematic);
    [
        slope.marked(is_bent, Mark::Bent),
        systematic.map_or(Entry::NOTHING, trips),
    ]
}

fn trips(number: f64) -> Entry {
    Entry::number(Some(number), Unit::Trips)
}

fn round_trips(anatomy: &Anatomy) -> [Entry; 2] {
    slope(
        anatomy.round_trips,
        anatomy.round_trips_systematic,
        anatomy.halves,
    )
}

fn flushes(anatomy: &Anatomy) -> [Entry; 2] {
    slope(
        anatomy.flushes,
        anatomy.flushes_systematic,
        anatomy.flushes_halves,
    )
}

fn counted(anatomy: &Anatomy) -> Entry {
    let count = anatomy.flushes_counted;
    let is_off = count.is_some_and(|count| count.agrees == Some(false));
    Entry::number(count.map(|count| count.per_commit.value), Unit::Trips)
        .marked(is_off, Mark::Doubt)
}

/// In words, where a server's own disk counts other flushes than the slope has.
fn count_in_words(anatomy: &Anatomy) -> Option<String> {
    let count = anatomy
        .flushes_counted
        .filter(|count| count.agrees == Some(false))?;
    let off = anatomy.flushes?.value - count.per_commit.value;
    Some(format!(
        "its disk counts {} flushes per commit, the slope is off by {}",
        Quantity::plus_minus(count.per_commit, Unit::Trips),
        trips(off)
    ))
}

/// In words, where unequal distances told something or the line does not fit.
fn in_words(anatomy: &Anatomy) -> Option<String> {
    let waits = anatomy.waits_for.as_ref();
    let bent = |halves: Option<Halves>, over: &str| {
        let halves = halves.filter(|halves| halves.shape == Some(Shape::Bent))?;
        let trips = |value: Value| Quantity::plus_minus(value, Unit::Trips).to_string();
        Some(format!(
            "its latency is no straight line over {over} (slope {} in the near half, {} in the \
             far): trust no single slope",
            trips(halves.near),
            trips(halves.far)
        ))
    };
    let flags = anatomy
        .flags
        .iter()
        .map(|count| format!("! {}", label::flag(count)));
    let parts = waits
        .map(waits::in_words)
        .into_iter()
        .chain(bent(anatomy.halves, "RTT"))
        .chain(bent(anatomy.flushes_halves, "flush time"))
        .chain(count_in_words(anatomy))
        .chain(anatomy.adds.iter().filter_map(sum_in_words))
        .chain(by_site(anatomy))
        .chain(flags);
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("{}: {}", anatomy.label, parts.join("; ")))
}
