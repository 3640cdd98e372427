//! What a commit consists of: work, round trips and flushes.

use std::collections::BTreeSet;

use super::cells::client;
use super::numbers::{NOTHING, percent, plus_minus, time, time_plus_minus, trips};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::summary::{Adds, Anatomy, FlagCount, LackOfFit, Sum, Value};

/// Below this chance, and with at least [`BENT_SHARE`], the medians do not lie on a line.
const BENT_CHANCE: f64 = 0.05;
const BENT_SHARE: f64 = 0.05;

/// One table for each workload and client site that has a line.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let drawn: Vec<&Anatomy> = summary
        .anatomy
        .iter()
        .filter(|a| a.round_trips.is_some() || a.flushes.is_some())
        .collect();
    let groups: BTreeSet<(&str, &str)> = drawn
        .iter()
        .map(|a| (&a.workload[..], &a.client_site[..]))
        .collect();
    let group = |(workload, site)| {
        let is_in = |a: &&&Anatomy| a.workload == workload && a.client_site == site;
        let members: Vec<&Anatomy> = drawn.iter().filter(is_in).copied().collect();
        section(summary, &members)
    };
    groups.into_iter().flat_map(group).collect()
}

fn section(summary: &Summary, members: &[&Anatomy]) -> Vec<Block> {
    let first = members[0];
    let client = client(summary, &first.client_site);
    let has_flushes = members.iter().any(|a| a.flushes.is_some());
    let flushes = if has_flushes {
        " + flushes · flush time"
    } else {
        ""
    };
    let heading = format!(
        "Anatomy of a commit: median latency = work + round trips · RTT{flushes}; {}, \
         1 connection, {client}",
        first.workload
    );
    let said = members
        .iter()
        .filter_map(|anatomy| said(anatomy))
        .collect::<Vec<_>>();
    let table = match has_flushes {
        true => flush_table(members),
        false => table(members),
    };
    let mut blocks = vec![Block::Heading(heading), Block::Table(table)];
    if !said.is_empty() {
        blocks.push(Block::Notes(said));
    }
    blocks
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
        vec![
            marked(anatomy),
            of_line(anatomy.round_trips, trips),
            anatomy.work_us.map_or_else(nothing, time_plus_minus),
            anatomy.lack_of_fit.map_or_else(nothing, misfit),
            format!("{}, {}", anatomy.distances, anatomy.rounds),
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
        let sums: Vec<String> = anatomy.adds.iter().map(sum_short).collect();
        vec![
            marked(anatomy),
            of_line(anatomy.round_trips, trips),
            of_line(anatomy.flushes, trips),
            anatomy.work_us.map_or_else(nothing, time_plus_minus),
            anatomy.lack_of_fit.map_or_else(nothing, misfit_share),
            anatomy
                .flushes_lack_of_fit
                .map_or_else(nothing, misfit_share),
            if sums.is_empty() {
                nothing()
            } else {
                sums.join(", ")
            },
            anatomy.log_layout.clone(),
        ]
    })
}

/// The columns, and those that only unequal distances fill.
fn with_peers(
    columns: &[(&str, bool)],
    members: &[&Anatomy],
    row: impl Fn(&Anatomy) -> Vec<String>,
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
        row.extend(peers.iter().map(|peer| of_line(of_peer(peer), trips)));
        row.push(anatomy.waits_for.clone().unwrap_or_else(nothing));
        row
    };
    table.rows = members.iter().map(whole_row).collect();
    table.without_empty_columns()
}

fn nothing() -> String {
    NOTHING.to_owned()
}

fn marked(anatomy: &Anatomy) -> String {
    let mark = if anatomy.flags.is_empty() { "" } else { " !" };
    format!("{}{mark}", anatomy.label)
}

fn of_line(value: Option<Value>, format: fn(f64) -> String) -> String {
    value.map_or_else(nothing, |value| plus_minus(value, format))
}

/// `adds`, `−1.20 ms`, `~`
fn sum_short(adds: &Adds) -> String {
    match adds.verdict {
        None => "no interval".to_owned(),
        Some(Sum::Adds) => "adds".to_owned(),
        Some(Sum::NoDifferenceShown) => "~".to_owned(),
        Some(Sum::Overlaps) => format!("−{}", time(adds.difference_us.value.abs())),
        Some(Sum::Exceeds) => format!("+{}", time(adds.difference_us.value)),
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
        time_plus_minus(size),
        time(adds.sum_us)
    ))
}

/// `flushes in series at a 2.00 ±0.02, at b 0.00 ±0.01`
fn by_site(anatomy: &Anatomy) -> Option<String> {
    let each = anatomy.flushes_by_site.as_ref()?.iter();
    let each = each.map(|(site, value)| format!("at {site} {}", plus_minus(*value, trips)));
    let each: Vec<String> = each.collect();
    Some(format!("flushes in series {}", each.join(", ")))
}

fn misfit_share(lack: LackOfFit) -> String {
    let bent = if is_bent(lack) { " bent" } else { "" };
    format!("{}{bent}", percent(lack.share))
}

fn misfit(lack: LackOfFit) -> String {
    let bent = if is_bent(lack) { " bent" } else { "" };
    format!(
        "{} {}{bent}",
        time(lack.residual_us_max),
        percent(lack.share)
    )
}

fn is_bent(lack: LackOfFit) -> bool {
    lack.share >= BENT_SHARE && lack.p.is_some_and(|p| p < BENT_CHANCE)
}

/// In words, where unequal distances told something or the line does not fit.
fn said(anatomy: &Anatomy) -> Option<String> {
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
    let flag = |f: &FlagCount| format!("! {} {}/{}", f.flag.name(), f.rounds, f.of);
    let flags = anatomy.flags.iter().map(flag);
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
