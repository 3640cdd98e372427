//! `sync-binlog-group-commit-2012`: what a commit costs on a mirrored volume without and with
//! group commit of the binary log.

use super::{
    CellSummary, Figure, Finding, Material, ModeToll, Said, Verdict, each_above, range, ratio,
    unseen,
};
use crate::analysis::promise::Reason;
use crate::record::ServerFacts;
use crate::study::fault::Scope;

/// The version that brought group commit of the binary log.
const GROUP_COMMIT_SINCE: [u32; 2] = [5, 6];

/// Verdicts and what stood beside them. The table is that of throughput against connections, which
/// the report has anyway.
pub fn said(material: &Material) -> Said {
    let rows = rows(material.servers, material.cells);
    Said {
        findings: vec![
            never_more_than_one_per_round_trip(&rows),
            rises_with_connections(&rows),
            saves_the_cost_and_loses_agreement(&rows, material.tolls),
            semisync_makes_safe(&rows, material.tolls),
        ],
        tables: vec![],
        unseen: could_not_see(&rows, material),
        ..Said::default()
    }
}

fn could_not_see(rows: &[Row], material: &Material) -> Vec<String> {
    let few: Vec<&CellSummary> = rows
        .iter()
        .filter_map(|row| row.cells.first().copied())
        .collect();
    let mut said = unseen::costs(&few);
    if let (Some(first), false) = (few.first(), said.is_empty()) {
        let n = first.connections;
        said.insert(
            0,
            format!("At the longest round trip and the fewest connections ({n}):"),
        );
    }
    said.extend(unseen::host_bound(material.cells));
    said
}

/// What semi-sync without flushes reaches against the mirrored volume with them.
fn semisync_instead(rows: &[Row]) -> Option<Figure> {
    let is = |row: &&Row, mode: &str| row.cells.first().is_some_and(|cell| cell.mode == mode);
    let mut free = rows.iter().filter(|row| !row.is_synced);
    let semisync = free.find(|row| is(row, "semisync"))?;
    let mut synced = rows
        .iter()
        .filter(|row| row.is_synced && row.server == semisync.server);
    let mirror = synced.find(|row| is(row, "mirror"))?;
    let (above, below) = (semisync.cells.last()?, mirror.cells.last()?);
    let what = format!("{} over {}", semisync.label, mirror.label);
    ratio(what, above, below)
}

/// One mode at its longest round trip, by rising connections.
struct Row<'s> {
    label: &'s str,
    server: &'s str,
    has_group_commit: bool,
    is_synced: bool,
    cells: Vec<&'s CellSummary>,
}

fn rows<'s>(servers: &[ServerFacts], cells: &'s [CellSummary]) -> Vec<Row<'s>> {
    let mut rows: Vec<Row> = Vec::new();
    for cell in alike(cells) {
        match rows.iter_mut().find(|row| row.label == cell.label) {
            Some(row) => row.cells.push(cell),
            None => rows.extend(row(servers, cell)),
        }
    }
    rows.iter_mut().for_each(keep_the_farthest);
    rows
}

/// Those that differ from the first in mode, round trip and connections only.
fn alike(cells: &[CellSummary]) -> impl Iterator<Item = &CellSummary> {
    let axes = |cell: &CellSummary| {
        let axes = (&cell.workload, &cell.client_site, &cell.disks);
        (axes.0.clone(), axes.1.clone(), axes.2.clone())
    };
    let first = cells.first().map(axes);
    cells
        .iter()
        .filter(move |cell| cell.rtt_us_asked.is_some() && Some(axes(cell)) == first)
}

fn row<'s>(servers: &[ServerFacts], cell: &'s CellSummary) -> Option<Row<'s>> {
    let facts = servers.iter().find(|facts| facts.name == cell.server)?;
    let numbers = facts.version.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u32> = numbers
        .map_while(|part| part.parse().ok())
        .take(2)
        .collect();
    let synced = cell.settings.get("sync_binlog").map(String::as_str);
    Some(Row {
        label: &cell.label,
        server: &cell.server,
        has_group_commit: numbers[..] >= GROUP_COMMIT_SINCE[..],
        is_synced: synced.unwrap_or("1") == "1",
        cells: vec![cell],
    })
}

fn keep_the_farthest(row: &mut Row) {
    let rtt = |cell: &CellSummary| cell.rtt_us_asked.unwrap_or(0.0);
    let longest = row.cells.iter().map(|cell| rtt(cell)).fold(0.0, f64::max);
    row.cells.retain(|cell| rtt(cell) >= longest);
    row.cells.sort_by_key(|cell| cell.connections);
}

impl<'s> Row<'s> {
    /// With the fewest and with the most connections; `None` if these are the same.
    fn ends(&self) -> Option<(&'s CellSummary, &'s CellSummary)> {
        let (few, many) = (*self.cells.first()?, *self.cells.last()?);
        (few.connections < many.connections).then_some((few, many))
    }

    /// What more connections are worth, if that was measured with intervals.
    fn rise(&self) -> Option<Figure> {
        let (few, many) = self.ends()?;
        let (from, to) = (few.connections, many.connections);
        ratio(
            format!("{}, {to} connections over {from}", self.label),
            many,
            few,
        )
    }
}

/// "At 4 ms round trip never more than 250 commits/s however many connections."
fn never_more_than_one_per_round_trip(rows: &[Row]) -> Finding {
    let without = rows
        .iter()
        .filter(|row| !row.has_group_commit && row.is_synced);
    let several = without.filter(|row| row.ends().is_some());
    let cells: Vec<&CellSummary> = several.flat_map(|row| row.cells.clone()).collect();
    let figures: Option<Vec<Figure>> = cells.iter().map(|cell| per_round_trip(cell)).collect();
    let Some(figures) = figures.filter(|figures| !figures.is_empty()) else {
        return Finding::undecided(
            "no server without group commit was measured at sync_binlog=1 with intervals, at \
             several numbers of connections",
        );
    };
    let verdicts: Vec<Verdict> = figures
        .iter()
        .map(|figure| figure.is_at_most(1.0))
        .collect();
    let rtt_us = cells.iter().filter_map(|cell| cell.rtt_us_got);
    let rtt_us = rtt_us.fold(0.0, f64::max);
    let most = figures.into_iter().max_by(|a, b| a.high.total_cmp(&b.high));
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures: most.into_iter().collect(),
        reason: format!(
            "the cell whose interval reaches highest; at the longest round trip, {:.2} ms, one \
             commit in each would be {:.0} commits/s",
            rtt_us / 1e3,
            1e6 / rtt_us
        ),
    }
}

fn per_round_trip(cell: &CellSummary) -> Option<Figure> {
    let throughput = cell.throughput_per_s?;
    let (low, high) = range(&throughput)?;
    let rtt_s = cell.rtt_us_got? / 1e6;
    let (rate, connections) = (throughput.median, cell.connections);
    Some(Figure {
        what: format!(
            "{}, {connections} connections: {rate:.0} commits/s",
            cell.label
        ),
        unit: "commits per round trip".to_owned(),
        value: rate * rtt_s,
        low: low * rtt_s,
        high: high * rtt_s,
    })
}

/// "With group commit throughput rises with connections at sync_binlog=1."
fn rises_with_connections(rows: &[Row]) -> Finding {
    let synced = rows.iter().filter(|row| row.is_synced);
    let (with, without): (Vec<&Row>, Vec<&Row>) = synced.partition(|row| row.has_group_commit);
    let rises: Option<Vec<Figure>> = with.iter().map(|row| row.rise()).collect();
    let Some(rises) = rises.filter(|rises| !rises.is_empty()) else {
        return Finding::undecided(
            "not every server with group commit was measured at sync_binlog=1 with intervals, \
             at several numbers of connections",
        );
    };
    let verdicts: Vec<Verdict> = rises.iter().map(|figure| figure.is_above(1.0)).collect();
    let beside = without.iter().filter_map(|row| row.rise());
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures: rises.into_iter().chain(beside).collect(),
        reason: "commits/s at the longest round trip; servers without group commit stand beside, \
                 and decide nothing"
            .to_owned(),
    }
}

/// Rows without flushes of the binary log, each with the one that differs in nothing else.
fn without_and_with<'r, 's>(rows: &'r [Row<'s>]) -> Vec<(&'r Row<'s>, &'r Row<'s>)> {
    let mode = |row: &Row| row.cells.first().map(|cell| cell.mode.clone());
    let pair = |free: &'r Row<'s>| {
        let is_its =
            |row: &&Row| row.is_synced && row.server == free.server && mode(row) == mode(free);
        Some((free, rows.iter().find(is_its)?))
    };
    let free = rows.iter().filter(|row| !row.is_synced);
    free.filter_map(pair).collect()
}

/// "sync_binlog=0 avoids the cost but loses the agreement of the logs after a crash."
fn saves_the_cost_and_loses_agreement(rows: &[Row], tolls: &[ModeToll]) -> Finding {
    let saved = |(free, synced): (&Row, &Row)| {
        let what = format!("{} over {}", free.label, synced.label);
        ratio(what, free.cells.last()?, synced.cells.last()?)
    };
    let pairs = without_and_with(rows).into_iter();
    let figures: Vec<Option<Figure>> = pairs.map(saved).collect();
    if figures.iter().all(Option::is_none) {
        return Finding::undecided("sync_binlog=0 was not measured with intervals");
    }
    // One server for which it saves is enough for "avoids the cost".
    let saves = Verdict::of_any(&each_above(&figures, 1.0));
    let (loses, crashes) = loses_agreement(tolls);
    Finding {
        verdict: Verdict::of_all(&[saves, loses]),
        figures: figures.into_iter().flatten().collect(),
        reason: format!(
            "commits/s at the longest round trip and the most connections: what sync_binlog=0 \
             saves, for which one server is enough; {crashes}"
        ),
    }
}

/// Whether the binary log and the table disagreed after the power was lost with sync_binlog=0, and
/// never did with 1. That none was seen to disagree shows nothing: the moments were drawn.
fn loses_agreement(tolls: &[ModeToll]) -> (Verdict, String) {
    // Both logs are looked at only where all else was flushed and is still there.
    let is_telling = |toll: &&ModeToll| {
        let strict = toll.toll.durability.flush_log == 1 && toll.toll.apart().is_some();
        strict && toll.toll.promise.reason != Reason::HeldInOneSite
    };
    let tolls: Vec<&ModeToll> = tolls.iter().filter(is_telling).collect();
    if tolls.is_empty() {
        let reason = "whether the logs agree after a crash was not looked at";
        return (Verdict::Undecided, reason.to_owned());
    }
    let apart = |toll: &ModeToll| toll.toll.apart().unwrap_or(0);
    let is_synced = |toll: &&ModeToll| toll.toll.durability.sync_binlog == 1;
    let (synced, free): (Vec<&ModeToll>, Vec<&ModeToll>) =
        tolls.iter().copied().partition(is_synced);
    let told: Vec<String> = tolls
        .iter()
        .map(|toll| format!("{} {} in {}", toll.label, apart(toll), toll.toll.cuts))
        .collect();
    let are_apart = |tolls: &[&ModeToll]| tolls.iter().any(|toll| apart(toll) > 0);
    let verdict = match (are_apart(&free), are_apart(&synced)) {
        (_, true) => Verdict::Contradicted,
        (true, false) => Verdict::Confirmed,
        (false, false) => Verdict::Undecided,
    };
    let reason = format!(
        "commits in the table or in the binary log only, after so many losses of power: {}",
        told.join(", ")
    );
    (verdict, reason)
}

/// "Semi-synchronous replication with a failover manager makes sync_binlog=0 safe against the loss
/// of the source." That nothing was lost shows something only where asynchronous replication, under
/// the same losses, lost something.
fn semisync_makes_safe(rows: &[Row], tolls: &[ModeToll]) -> Finding {
    let is_loss = |toll: &&ModeToll| {
        let is_of_source = ["async", "semisync"].contains(&toll.mode.as_str());
        let is_of_site = toll.toll.fault.scope == Scope::Site;
        is_of_source && is_of_site && toll.toll.durability.sync_binlog == 0
    };
    let tolls: Vec<&ModeToll> = tolls.iter().filter(is_loss).collect();
    let lost = |mode: &str| {
        let of_mode = tolls.iter().filter(|toll| toll.mode == mode);
        let each: Vec<usize> = of_mode.map(|toll| toll.toll.lost).collect();
        (!each.is_empty()).then(|| each.iter().sum::<usize>())
    };
    let Some(with_semisync) = lost("semisync") else {
        return Finding {
            figures: semisync_instead(rows).into_iter().collect(),
            ..Finding::undecided("no source with a semi-sync replica and sync_binlog=0 is lost")
        };
    };
    let verdict = match (with_semisync, lost("async")) {
        (1.., _) => Verdict::Contradicted,
        (0, Some(1..)) => Verdict::Confirmed,
        (0, _) => Verdict::Undecided,
    };
    let told = tolls.iter().map(|of| {
        let (toll, label) = (&of.toll, &of.label);
        let (lost, all, times) = (toll.lost, toll.acknowledged, toll.cuts);
        format!("{label} {lost} of {all} in {times}")
    });
    let told: Vec<String> = told.collect();
    Finding {
        verdict,
        figures: semisync_instead(rows).into_iter().collect(),
        reason: format!(
            "acknowledged commits that the replica lacks that takes the source's place, after so \
             many losses of its site: {}",
            told.join(", ")
        ),
    }
}
