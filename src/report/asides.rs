//! What is told of a cell in lines below its tables, for want of a column.

use super::entry::{APART_MAX, Quantity};
use super::label;
use super::numbers::{Unit, count, digits, or_nothing, percent, time};
use crate::analysis::applied::given_up;
use crate::analysis::summary::{CellSummary, Estimate};

/// Replicas that apply less than this share of what is committed are worth a line.
const FALLS_BEHIND: f64 = 0.95;

/// One line for each thing that there is to tell.
pub fn of(cell: &CellSummary) -> impl Iterator<Item = String> {
    let told = [
        with_void(cell),
        dropped(cell),
        p99(cell),
        handshakes(cell),
        counted(cell),
        applied(cell),
        applied_alone(cell),
        queue(cell),
        even(cell),
        price(cell),
        commit_time(cell),
        counters(cell),
    ];
    told.into_iter().flatten()
}

/// Where what is left out would have changed a main figure:
/// `ours, with 2 disturbed measurements: commits/s 812 instead of 905, p50 1.30 ms instead of
/// 1.10 ms`
fn with_void(cell: &CellSummary) -> Option<String> {
    let with = cell.with_void.as_ref()?;
    let median = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.median);
    let rate = [with.throughput_per_s, cell.throughput_per_s].map(median);
    let rate = rate.map(|per_s| or_nothing(per_s, |n| digits(n, 2)));
    let p50 = [with.latency_us.p50, cell.latency_us.p50].map(|us| or_nothing(us, time));
    let figures = [
        (with.throughput_is_outside, label::rate(cell.per), rate),
        (with.p50_is_outside, "p50", p50),
    ];
    let told = figures.iter().filter(|(is_told, ..)| *is_told);
    let told = told.map(|(_, what, [with, without])| format!("{what} {with} instead of {without}"));
    let told: Vec<String> = told.collect();
    let void = count(with.void.len() as u64, "disturbed measurement");
    (!told.is_empty()).then(|| format!("{}, with {void}: {}", cell.label, told.join(", ")))
}

/// What links did not carry is sent again later, which commits wait for: `ours, of 10200
/// packets its links lost 12 by chance and 3 for a full queue`
fn dropped(cell: &CellSummary) -> Option<String> {
    let dropped = cell.dropped_by_links?;
    let causes = [
        (dropped.lost, "by chance"),
        (dropped.queue_full, "for a full queue"),
    ];
    let causes = causes.iter().filter(|(packets, _)| *packets > 0);
    let causes: Vec<String> = causes
        .map(|(packets, why)| format!("{packets} {why}"))
        .collect();
    let (label, all) = (&cell.label, dropped.packets);
    Some(format!(
        "{label}, of {all} packets its links lost {}",
        causes.join(" and ")
    ))
}

/// At an offered rate, where latency is a queue's: `ours, p99 15.2 ms (14.0–16.9 ms)`
fn p99(cell: &CellSummary) -> Option<String> {
    let p99 = cell.p99_us.filter(|_| cell.offered_per_s.is_some())?;
    if cell.latency_us.at_least.p99 {
        // Of what is cut off nobody knows an upper end.
        return Some(format!("{}, p99 at least {}", cell.label, time(p99.median)));
    }
    let (low, high) = (p99.low?, p99.high?);
    let interval = match high > low * APART_MAX {
        true => "interval unknown".to_owned(),
        false => format!("{} to {}", time(low), time(high)),
    };
    Some(format!(
        "{}, p99 {} ({interval})",
        cell.label,
        time(p99.median)
    ))
}

/// `ours, TCP handshake: writer 310 µs (280 µs to 1.20 ms), replica 1 …`
fn handshakes(cell: &CellSummary) -> Option<String> {
    let each = cell.handshakes_us.iter().map(|made| {
        let (min, max) = (time(made.min), time(made.max));
        format!("{} {} ({min} to {max})", made.node, time(made.p50))
    });
    let each: Vec<String> = each.collect();
    let said = each.join(", ");
    (!each.is_empty()).then(|| format!("{}, TCP handshake: {said}", cell.label))
}

/// Of an endpoint's own counters, those that tell what a commit costs.
fn counted(cell: &CellSummary) -> Option<String> {
    let each = cell.counters_per_commit.iter();
    let figure = |n: &Option<f64>| or_nothing(*n, |n| digits(n, 2));
    let each: Vec<String> = each
        .map(|(name, n)| format!("{name} {}", figure(n)))
        .collect();
    let said = each.join(", ");
    (!each.is_empty()).then(|| format!("{}, its server's counters per commit: {said}", cell.label))
}

/// Where replicas apply visibly less than is committed.
fn applied(cell: &CellSummary) -> Option<String> {
    let (applied, committed) = (cell.applied_per_s?, cell.throughput_per_s?);
    let said = Quantity::range(applied, Unit::Number(0));
    (applied.median < FALLS_BEHIND * committed.median).then(|| {
        let given_up = given_up(cell).map(|said| format!("; {said}"));
        format!(
            "{}, its replica farthest behind applies {said} per second: its CPU per commit is of \
             that part alone{}",
            cell.label,
            given_up.unwrap_or_default()
        )
    })
}

/// Where appliers rest under load: `1 applier, applied/s alone 812 (790–834), 1.20 ms of CPU each…`
fn applied_alone(cell: &CellSummary) -> Option<String> {
    let said = Quantity::range(cell.applied_alone_per_s?, Unit::Number(0));
    let cpu = cell.applied_alone_cpu_us;
    let cpu = cpu.map(|us| format!(", {} of CPU each", time(us)));
    Some(format!(
        "{}, applied/s alone, by its slowest replica after the load: {said}{}; under load its \
         appliers rest, and its CPU is that of receiving",
        cell.label,
        cpu.unwrap_or_default()
    ))
}

/// Where commits of several connections wait for each other.
fn queue(cell: &CellSummary) -> Option<String> {
    let factor = digits(cell.queue_factor?, 1);
    Some(format!(
        "{}: at {} connections a commit takes {factor} times as long as at one, and neither CPUs \
         nor disk are busy: commits wait for each other",
        cell.label, cell.connections
    ))
}

/// How even the seconds are, and what was seen of dips.
fn even(cell: &CellSummary) -> Option<String> {
    let scatter = Quantity::range(cell.unevenness?, Unit::Share);
    let dips = cell.dips.as_ref().map(|dips| {
        let depth = dips.depth.map(|share| format!(" by {}", percent(share)));
        let gap = dips.median_gap_s;
        let gap =
            gap.map(|s| format!(", half of them within {} s of the one before", digits(s, 0)));
        format!(
            "; {} in {} s{}{}",
            count(dips.count.into(), "dip"),
            dips.watched_s,
            depth.unwrap_or_default(),
            gap.unwrap_or_default()
        )
    });
    let dips = dips.unwrap_or_default();
    Some(format!(
        "{}, its seconds scatter by {scatter}{dips}",
        cell.label
    ))
}

fn price(cell: &CellSummary) -> Option<String> {
    let said = Quantity::range(cell.usd_per_million_queries?, Unit::Dollars);
    Some(format!(
        "{}, US dollars per million queries: {said}",
        cell.label
    ))
}

fn commit_time(cell: &CellSummary) -> Option<String> {
    let part = |(what, us): (&String, &f64)| format!("{what} {}", time(*us));
    let parts: Vec<String> = cell.commit_time_us.iter().map(part).collect();
    let said = parts.join(", ");
    (!parts.is_empty()).then(|| {
        format!(
            "{}, time per commit as its server tells: {said}",
            cell.label
        )
    })
}

fn counters(cell: &CellSummary) -> Option<String> {
    let changed = cell
        .server_counters
        .iter()
        .filter(|(_, change)| **change > 0.0);
    let said: Vec<String> = changed
        .map(|(name, change)| format!("{name} +{change}"))
        .collect();
    (!said.is_empty())
        .then(|| format!("{}, its servers' counters: {}", cell.label, said.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::DroppedByLinks;

    #[test]
    fn what_links_did_not_carry_is_told_by_its_cause() {
        let told = |lost, queue_full| {
            let cell = CellSummary {
                label: "ours".to_owned(),
                dropped_by_links: Some(DroppedByLinks {
                    lost,
                    queue_full,
                    packets: 10_200,
                }),
                ..CellSummary::default()
            };
            dropped(&cell)
        };
        let both = "ours, of 10200 packets its links lost 12 by chance and 3 for a full queue";
        assert_eq!(told(12, 3).as_deref(), Some(both));
        let one = "ours, of 10200 packets its links lost 3 for a full queue";
        assert_eq!(told(0, 3).as_deref(), Some(one));
        assert_eq!(dropped(&CellSummary::default()), None);
    }
}
