//! What a commit consists of: work and round trips.

use std::collections::BTreeSet;

use super::cells::client;
use super::numbers::{NOTHING, percent, plus_minus, time, time_plus_minus, trips};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::summary::{Anatomy, FlagCount, LackOfFit, Value};

/// Below this chance, and with at least [`BENT_SHARE`], the medians do not lie on a line.
const BENT_CHANCE: f64 = 0.05;
const BENT_SHARE: f64 = 0.05;

/// One table for each workload and client site that has a line.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let drawn: Vec<&Anatomy> = summary
        .anatomy
        .iter()
        .filter(|a| a.round_trips.is_some())
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
    let heading = format!(
        "Anatomy of a commit: median latency = work + round trips · RTT; {}, \
         1 connection, {client}",
        first.workload
    );
    let said = members
        .iter()
        .filter_map(|anatomy| said(anatomy))
        .collect::<Vec<_>>();
    let mut blocks = vec![Block::Heading(heading), Block::Table(table(members))];
    if !said.is_empty() {
        blocks.push(Block::Notes(said));
    }
    blocks
}

fn table(members: &[&Anatomy]) -> Table {
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
    let mut columns = vec![
        ("mode", true),
        ("round trips\nper commit", false),
        ("work", false),
        ("misfit", false),
        ("distances,\nrounds", false),
    ];
    columns.extend(titles.iter().map(|title| (&title[..], false)));
    columns.push(("waits\nfor", true));
    let mut table = Table::new(&columns);
    table.rows = members.iter().map(|anatomy| row(anatomy, &peers)).collect();
    table.without_empty_columns()
}

fn row(anatomy: &Anatomy, peers: &BTreeSet<&String>) -> Vec<String> {
    let nothing = || NOTHING.to_owned();
    let value = |value: Value| plus_minus(value, trips);
    let mark = if anatomy.flags.is_empty() { "" } else { " !" };
    let mut row = vec![
        format!("{}{mark}", anatomy.label),
        anatomy.round_trips.map_or_else(nothing, value),
        anatomy.work_us.map_or_else(nothing, time_plus_minus),
        anatomy.lack_of_fit.map_or_else(nothing, misfit),
        format!("{}, {}", anatomy.distances, anatomy.rounds),
    ];
    let of_peer = |peer: &&String| anatomy.per_peer.as_ref()?.get(*peer).copied();
    row.extend(
        peers
            .iter()
            .map(|peer| of_peer(peer).map_or_else(nothing, value)),
    );
    row.push(anatomy.waits_for.clone().unwrap_or_else(nothing));
    row
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
    let flag = |f: &FlagCount| format!("! {} {}/{}", f.flag.name(), f.rounds, f.of);
    let flags = anatomy.flags.iter().map(flag);
    let parts = waits
        .into_iter()
        .chain(bent.map(str::to_owned))
        .chain(flags);
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("{}: {}", anatomy.label, parts.join("; ")))
}
