//! What a commit consists of: work, round trips and flushes.

use std::collections::BTreeSet;

use super::entry::{Entry, Mark, Quantity};
use super::group::{grouped, load_but};
use super::label;
use super::numbers::{Unit, time};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::summary::{Adds, Anatomy, Axis, LackOfFit, Sum, Value};

/// Below this chance, and with at least [`BENT_SHARE`], the medians do not lie on a line.
const BENT_CHANCE: f64 = 0.05;
const BENT_SHARE: f64 = 0.05;

/// What the rows of one table may differ in, besides the mode.
const WITHIN: [Axis; 4] = [Axis::Distances, Axis::Disks, Axis::Window, Axis::WatchAfter];

/// One table for each workload and client site that has a line, by name.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let drawn = summary.anatomy.iter().filter(|a| a.has_line());
    let mut groups = grouped(drawn, |anatomy| load_but(&anatomy.point, &WITHIN));
    groups.sort_by_key(|group| (&group[0].workload, &group[0].client_site));
    let sections = groups.iter();
    sections
        .flat_map(|members| section(summary, members))
        .collect()
}

fn section(summary: &Summary, members: &[&Anatomy]) -> Vec<Block> {
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
        ("work", false),
        ("misfit", false),
        ("distances,\nrounds", false),
    ];
    with_peers(&columns, members, |anatomy| {
        let counts = [anatomy.distances, anatomy.rounds].map(|count| count as usize);
        vec![
            marked(anatomy),
            Entry::plus_minus(anatomy.round_trips, Unit::Trips),
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
        ("flushes\nper commit", false),
        ("work", false),
        ("misfit\nRTT", false),
        ("misfit\nflush", false),
        ("both\nraised", true),
        (&log[..], true),
    ];
    with_peers(&columns, members, |anatomy| {
        let sums: Vec<Entry> = anatomy.adds.iter().map(sum_short).collect();
        vec![
            marked(anatomy),
            Entry::plus_minus(anatomy.round_trips, Unit::Trips),
            Entry::plus_minus(anatomy.flushes, Unit::Trips),
            Entry::plus_minus(anatomy.work_us, Unit::Time),
            anatomy.lack_of_fit.map_or(Entry::NOTHING, share),
            anatomy.flushes_lack_of_fit.map_or(Entry::NOTHING, share),
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
        let waits_for = anatomy.waits_for.as_deref();
        row.push(waits_for.map_or(Entry::NOTHING, Entry::from));
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

fn share(lack: LackOfFit) -> Entry {
    let share = Entry::number(Some(lack.share), Unit::Share);
    share.marked(is_bent(lack), Mark::Bent)
}

fn misfit(lack: LackOfFit) -> Entry {
    let residual = Entry::number(Some(lack.residual_us_max), Unit::Time);
    Entry::Several(vec![residual, share(lack)], " ")
}

fn is_bent(lack: LackOfFit) -> bool {
    lack.share >= BENT_SHARE && lack.p.is_some_and(|p| p < BENT_CHANCE)
}

/// In words, where unequal distances told something or the line does not fit.
fn in_words(anatomy: &Anatomy) -> Option<String> {
    let waits = match anatomy.waits_for.as_deref() {
        None => None,
        Some("nearest") => {
            Some("waits for the nearest peer (of three nodes: a majority)".to_owned())
        }
        Some("farthest") => Some("waits for the farthest peer, so for all".to_owned()),
        Some("both") => Some("each peer's distance counts, in its own share".to_owned()),
        Some("nobody") => Some("waits for nobody".to_owned()),
        Some("undecided") => Some("whom it waits for is undecided: no model fits best".to_owned()),
        Some(site) => Some(format!(
            "waits for the peer at site {site}, however far the other"
        )),
    };
    let bent = anatomy.lack_of_fit.filter(|lack| is_bent(*lack));
    let bent = bent.map(|_| "its latency is no straight line over RTT: trust no single slope");
    let bent_flushes = anatomy.flushes_lack_of_fit.filter(|lack| is_bent(*lack));
    let bent_flushes = bent_flushes
        .map(|_| "its latency is no straight line over flush time: trust no single slope");
    let flags = anatomy
        .flags
        .iter()
        .map(|count| format!("! {}", label::flag(count)));
    let parts = waits
        .into_iter()
        .chain(bent.map(str::to_owned))
        .chain(bent_flushes.map(str::to_owned))
        .chain(anatomy.adds.iter().filter_map(sum_in_words))
        .chain(by_site(anatomy))
        .chain(flags);
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("{}: {}", anatomy.label, parts.join("; ")))
}
