//! Figures of cells by the names that claims have for them, and ratios paired by round.

use std::collections::BTreeMap;

use super::select::Points;
use crate::analysis::applied::BEHIND_SHARE;
use crate::analysis::contention::HOST_BOUND_CONTENTION;
use crate::analysis::effects::{Effect, Effects};
use crate::analysis::interval::{Noise, Risk, at_risk, estimate};
use crate::analysis::ladder::{Ladder, ladders};
use crate::analysis::rounds::over_rounds;
pub use crate::analysis::summary::claims::Figure;
use crate::analysis::summary::{CellSummary, Estimate, LagSummary, Value};
use crate::analysis::timeline::Dips;
use crate::plan::Axis;
use crate::record::Flag;
use crate::study::articles::Quantity;

/// Dips at random moments make so many gaps of about a minute in fewer than one of 200 cells, at
/// any number of dips; a test counts it.
const GAPS: usize = 4;
/// The share of all gaps that must be such.
const REGULAR_SHARE: f64 = 0.8;

impl Figure {
    /// `None` without a range.
    pub fn of(what: String, unit: &str, value: Value) -> Option<Figure> {
        Some(Figure {
            what,
            unit: unit.to_owned(),
            value: value.value,
            low: value.low?,
            high: value.high?,
            is_shared: false,
        })
    }
}

/// Whether a cell waited for the host's CPUs, and this figure of it is one that waiting changes.
pub fn is_shared(cell: &CellSummary, of: &Quantity) -> bool {
    let all = cell.contention.map_or(0.0, |contention| contention.all);
    all > HOST_BOUND_CONTENTION && is_slowed(of)
}

/// What is counted for each commit stays as it is, whoever waits.
fn is_slowed(of: &Quantity) -> bool {
    use Quantity as Q;
    let is_cpu = matches!(of, Q::CpuWriter | Q::CpuFront | Q::CpuReplicas);
    let is_host = matches!(of, Q::HostBusy | Q::HostBoundRounds | Q::HighestOffered);
    let is_count = matches!(of, Q::BytesBetween | Q::FlushesWriter | Q::ReadsWriter);
    // After the load nobody is left to wait for.
    let is_alone = matches!(of, Q::AppliedAlone | Q::CpuAppliedAlone);
    let is_other = matches!(of, Q::Counter(_) | Q::ErrorsPer1000(_));
    !(is_cpu || is_host || is_count || is_alone || is_other)
}

/// One cell's figure over another's, round by round, with the house's interval over the rounds that
/// both have: what slows down both in a round cancels. Where they share fewer than two rounds, the
/// medians' ratio with the range that both intervals together allow: wider than either, so slow to
/// decide. `None` without intervals, and where a round of either lacks the figure.
pub fn ratio(
    (of, above): (&CellSummary, &Quantity),
    (over, below): (&CellSummary, &Quantity),
    points: Points,
) -> Option<Value> {
    let (rounds, rounds_below) = (by_round(of, above)?, by_round(over, below)?);
    let are_whole = has_all_rounds(of, rounds) && has_all_rounds(over, rounds_below);
    let ratio = |(round, value): (&u32, &f64)| Some(value / rounds_below.get(round)?);
    let paired: Vec<f64> = rounds.iter().filter_map(ratio).collect();
    let paired = estimate(&paired, Noise::Multiplies, points.risk).map(Value::from);
    let paired = paired.filter(|all| all.low.is_some() && are_whole);
    paired.or_else(|| {
        let alone = |cell, figure| value(cell, figure, points);
        let (above, below) = (alone(of, above)?, alone(over, below)?);
        let (low, high) = (above.low? / below.high?, above.high? / below.low?);
        Some(ranged(above.value / below.value, low, high))
    })
}

/// Without a range where a round lacks the figure.
fn of_cell(cell: &CellSummary, by_round: &BTreeMap<u32, f64>, risk: Risk) -> Option<Value> {
    over_rounds(by_round, cell.rounds, Noise::Multiplies, risk).map(Value::from)
}

/// Whether each round with a sound measurement tells the figure.
fn has_all_rounds(cell: &CellSummary, of: &BTreeMap<u32, f64>) -> bool {
    of.len() >= cell.rounds as usize
}

/// `None` of figures that have no value in each round.
fn by_round<'c>(cell: &'c CellSummary, of: &Quantity) -> Option<&'c BTreeMap<u32, f64>> {
    let rounds = &cell.by_round;
    match of {
        Quantity::Throughput | Quantity::CommitsPerRoundTrip => Some(&rounds.throughput_per_s),
        Quantity::UsdPerMillion => Some(&rounds.usd_per_million_queries),
        Quantity::Applied => Some(&rounds.applied_per_s),
        Quantity::AppliedAlone => Some(&rounds.applied_alone_per_s),
        Quantity::RunTime => Some(&rounds.run_s),
        Quantity::Unevenness => Some(&rounds.unevenness),
        Quantity::P50 => Some(&rounds.p50_us),
        Quantity::P95 => Some(&rounds.p95_us),
        _ => None,
    }
}

/// A figure of one cell, in the unit of its [`words`]; `None` if it has none. Without a range where
/// there is no interval.
pub fn value(cell: &CellSummary, of: &Quantity, points: Points) -> Option<Value> {
    let is_stricter = points.risk != points.material.risk;
    let of_rounds = |own: Option<Estimate>| match by_round(cell, of) {
        Some(rounds) if is_stricter && !rounds.is_empty() => of_cell(cell, rounds, points.risk),
        _ => own.map(Value::from),
    };
    let exact = |count: f64| ranged(count, count, count);
    let ladder = || ladder(cell, points.material.cells);
    Some(match of {
        Quantity::Throughput => of_rounds(cell.throughput_per_s)?,
        Quantity::Applied => of_rounds(cell.applied_per_s)?,
        Quantity::AppliedAlone => of_rounds(cell.applied_alone_per_s)?,
        Quantity::RunTime => of_rounds(cell.run_s)?,
        Quantity::UsdPerMillion => of_rounds(cell.usd_per_million_queries)?,
        Quantity::P50 | Quantity::P95 => {
            scaled(of_cell(cell, by_round(cell, of)?, points.risk)?, 1e-3)
        }
        Quantity::Unevenness => scaled(of_rounds(cell.unevenness)?, 100.0),
        Quantity::CommittedOverApplied => {
            let (above, below) = (&Quantity::Throughput, &Quantity::Applied);
            ratio((cell, above), (cell, below), points)?
        }
        Quantity::CommittedOverAppliedAlone => {
            let (above, below) = (&Quantity::Throughput, &Quantity::AppliedAlone);
            ratio((cell, above), (cell, below), points)?
        }
        Quantity::CommitsPerRoundTrip => {
            scaled(of_rounds(cell.throughput_per_s)?, cell.rtt_us_got? / 1e6)
        }
        Quantity::Iterations => {
            let seconds = cell.iterations_s?;
            ranged(seconds.mean, seconds.min, seconds.max)
        }
        Quantity::BusyAfterLoad => scaled(busy_after_load(cell)?, 100.0),
        Quantity::DipGap => usual_gap(cell.dips.as_ref()?)?,
        Quantity::ErrorsPer1000(number) => errors_per_1000(cell, *number, points.risk)?,
        Quantity::GainsTogether => {
            let risks = (points.material.risk, points.risk);
            gains_together(cell, points.material.effects, risks)?
        }
        Quantity::Dips => exact(cell.dips.as_ref()?.count.into()),
        Quantity::DipsPerMinute => exact(most_per_minute(cell.dips.as_ref()?)),
        Quantity::BoundedUpTo => exact(ladder()?.bounded_up_to_per_s?.into()),
        Quantity::FirstBeyond => exact(ladder()?.beyond_per_s?.into()),
        Quantity::HighestOffered => exact(ladder()?.rungs.last()?.offered_per_s.into()),
        Quantity::HostBoundRounds => exact(host_bound_rounds(cell).into()),
        Quantity::Counter(name) => exact(cell.server_counters.get(name).copied().unwrap_or(0.0)),
        Quantity::ConnectShare => single(cell.connect_share? * 100.0),
        Quantity::HostBusy => single(cell.host_busy? * 100.0),
        Quantity::CpuWriter => single(cell.cpu_us_per_commit.writer?),
        Quantity::CpuFront => single(cell.cpu_us_per_commit.front?),
        Quantity::CpuReplicas => single(cpu_of_replicas(cell)?),
        Quantity::CpuAppliedAlone => single(cell.applied_alone_cpu_us?),
        Quantity::BytesBetween => single(
            cell.bytes_per_commit
                .replication
                .filter(|bytes| *bytes > 0.0)?,
        ),
        Quantity::CatchUp => single(catch_up_s(cell)?),
        Quantity::FlushesWriter => single(cell.flushes_per_commit.writer?),
        Quantity::ReadsWriter => single(cell.reads_per_commit.writer?),
    })
}

/// What a figure is called in sentences, and its unit where it is no ratio.
pub fn words(quantity: &Quantity) -> (&str, &'static str) {
    use Quantity as Q;
    match quantity {
        Q::Throughput => ("commits/s", "a second"),
        Q::Applied => ("applied", "a second"),
        Q::CommittedOverApplied => ("committed over applied", "times"),
        Q::AppliedAlone => ("applied alone", "a second"),
        Q::CommittedOverAppliedAlone => ("committed over applied alone", "times"),
        Q::CpuAppliedAlone => (
            "CPU of a replica per commit that it applies alone, µs",
            "µs",
        ),
        Q::CommitsPerRoundTrip => ("commits", "commits per round trip"),
        Q::RunTime => ("time", "s"),
        Q::Iterations => ("iterations", "s"),
        Q::ConnectShare => ("per cent of the time that went into connecting", "per cent"),
        Q::P50 => ("median", "ms"),
        Q::P95 => ("95th percentile", "ms"),
        Q::Unevenness => ("scatter of the seconds", "per cent of the mean"),
        Q::Dips => ("dips", "dips"),
        Q::DipsPerMinute => ("dips", "a minute at most"),
        Q::DipGap => ("median gap between dips", "s"),
        Q::BusyAfterLoad => ("time in which the disk was busy after the load", "per cent"),
        Q::UsdPerMillion => ("$ per million", "$"),
        Q::BoundedUpTo => ("lag bounded up to", "a second"),
        Q::FirstBeyond => ("first rate beyond", "a second"),
        Q::HighestOffered => ("highest rate offered", "a second"),
        Q::CpuWriter => ("CPU of the writer per commit, µs", "µs"),
        Q::CpuFront => ("CPU of the front per commit, µs", "µs"),
        Q::CpuReplicas => (
            "CPU of all replicas together per commit, µs, where they keep up",
            "µs",
        ),
        Q::BytesBetween => ("bytes between the servers per commit", "bytes"),
        Q::CatchUp => ("seconds until the last replica had caught up", "s"),
        Q::FlushesWriter => ("flushes of the writer's disk per commit", "flushes"),
        Q::ReadsWriter => ("reads of the writer's disk per commit", "reads"),
        Q::HostBusy => ("per cent of all CPUs that were busy", "per cent"),
        Q::HostBoundRounds => ("rounds in which the host's CPUs were used up", "rounds"),
        Q::Counter(name) => (name, "times"),
        Q::ErrorsPer1000(_) => ("errors", "per 1000 commits"),
        Q::GainsTogether => ("product of both gains reached by the two greatest", "times"),
    }
}

/// Rounds in which all nodes together had used up this host's CPUs.
fn host_bound_rounds(cell: &CellSummary) -> u32 {
    let flags = cell.flags.iter();
    let bound = flags.filter(|count| count.flag == Flag::HostBound);
    bound.map(|count| count.rounds).sum()
}

fn busy_after_load(cell: &CellSummary) -> Option<Value> {
    let of = cell.after_load.first()?;
    let (low, high) = (of.busy_share_low?, of.busy_share_high?);
    Some(ranged(of.after.busy_share?, low, high))
}

/// The median gap, and the narrowest range that four fifths of all gaps lie in; no range where
/// fewer than four do.
pub fn usual_gap(dips: &Dips) -> Option<Value> {
    let mut gaps_s = dips.gaps_s.clone();
    gaps_s.sort_unstable();
    let most = GAPS.max((REGULAR_SHARE * gaps_s.len() as f64).ceil() as usize);
    let ranges = gaps_s.windows(most).map(|gaps| (gaps[0], gaps[most - 1]));
    let narrowest = ranges.min_by_key(|(low, high)| high - low);
    Some(Value {
        value: dips.median_gap_s?,
        low: narrowest.map(|(low, _)| low.into()),
        high: narrowest.map(|(_, high)| high.into()),
    })
}

/// With one more in each round than was seen, for it may have begun or ended just beside it.
fn most_per_minute(dips: &Dips) -> f64 {
    let rounds = dips.watched_s / dips.longest_round_s.max(1);
    f64::from((dips.count + rounds) * 60) / f64::from(dips.watched_s.max(1))
}

/// Errors of that number for 1000 commits of all rounds, with a range as if each error came alone:
/// the root of a count scatters by a half, whatever the count. `None` without commits.
fn errors_per_1000(cell: &CellSummary, number: u16, risk: Risk) -> Option<Value> {
    let windows = f64::from(cell.measurements.max(cell.rounds));
    let commits = cell.throughput_per_s?.median * cell.measure_s * windows;
    let errors = cell.errors.of(number) as f64;
    let half = risk.normal() / 2.0;
    let (low, high) = (
        (errors.sqrt() - half).max(0.0),
        (errors + 1.0).sqrt() + half,
    );
    let all = ranged(errors, low * low, high * high);
    (commits > 0.0).then(|| scaled(all, 1e3 / commits))
}

/// What the two variables that gain most by a screening design of this row reach together, over the
/// product of what each gains alone: only these, for of many pairs some would differ by chance.
/// `None` where no two gain, or another effect hides in theirs. Told at one risk, judged at
/// another.
fn gains_together(cell: &CellSummary, all: &[Effects], (from, to): (Risk, Risk)) -> Option<Value> {
    let is_of_row = |effects: &&Effects| {
        let is_same = |axis| effects.point.is_same_in(&cell.point, axis);
        effects.rounds > 0 && is_same(Axis::Row) && is_same(Axis::Workload)
    };
    let effects = all.iter().find(is_of_row)?;
    let median = |effect: &Effect| effect.ratio.map_or(1.0, |ratio| ratio.median);
    let gains = |effect: &&Effect| effect.shown == Some(true) && median(effect) > 1.0;
    let mut gains: Vec<&Effect> = effects.main.iter().filter(gains).collect();
    gains.sort_by(|one, other| median(other).total_cmp(&median(one)));
    let two = gains.get(..2)?;
    let is_of_two = |pair: &&Effect| {
        let holds = |one: &&Effect| {
            one.factors
                .iter()
                .all(|factor| pair.factors.contains(factor))
        };
        pair.aliases.is_empty() && two.iter().all(holds)
    };
    let pair = effects.interactions.iter().find(is_of_two)?;
    Some(at_risk(pair.ratio?, effects.rounds as usize, (from, to)).into())
}

/// The ladder that a cell is a rung of.
fn ladder(cell: &CellSummary, all: &[CellSummary]) -> Option<Ladder> {
    let foot = cell.point.without(&[Axis::Rate]);
    let rungs = all
        .iter()
        .filter(|one| one.point.without(&[Axis::Rate]) == foot);
    let rungs: Vec<CellSummary> = rungs.cloned().collect();
    ladders(&rungs).into_iter().next()
}

/// Of one that lags it is known only what the part took that it has applied.
fn cpu_of_replicas(cell: &CellSummary) -> Option<f64> {
    let share = cell.applied_share.map(|share| share.median);
    let keeps_up = share.is_none_or(|share| share >= 1.0 - BEHIND_SHARE);
    let used = cell.cpu_us_per_commit.replicas.iter().map(|r| r.cpu_us);
    Some(used.sum::<f64>()).filter(|sum| *sum > 0.0 && keeps_up)
}

/// One that was given up is behind by nobody knows how much.
fn catch_up_s(cell: &CellSummary) -> Option<f64> {
    let of = |lag: &LagSummary| lag.catch_up.filter(|_| lag.not_caught_up == 0);
    let all: Option<Vec<f64>> = cell.lag_ms.iter().map(of).collect();
    all?.into_iter().reduce(f64::max).map(|ms| ms / 1e3)
}

fn ranged(value: f64, low: f64, high: f64) -> Value {
    Value {
        value,
        low: Some(low),
        high: Some(high),
    }
}

/// In another unit.
pub fn scaled(of: Value, by: f64) -> Value {
    Value {
        value: of.value * by,
        low: of.low.map(|low| low * by),
        high: of.high.map(|high| high * by),
    }
}

fn single(value: f64) -> Value {
    Value {
        value,
        low: None,
        high: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::screened;
    use crate::analysis::summarise;
    use crate::plan::Point;

    /// a and b hinder each other there, so that b and e are the two that gain most.
    #[test]
    fn the_two_that_gain_most_are_told_together_and_of_their_own_row() {
        let effects = summarise(&screened(16)).effects;
        let of_row = |row| {
            let cell = CellSummary {
                point: Point {
                    row,
                    ..effects[0].point.clone()
                },
                ..CellSummary::default()
            };
            gains_together(&cell, &effects, (Risk::ONE_LOOK, Risk::ONE_LOOK))
        };
        let mut pairs = effects[0].interactions.iter();
        let pair = pairs
            .find(|pair| pair.of == "be")
            .and_then(|pair| pair.ratio);
        let row = effects[0].point.row;
        let told = of_row(row).map(|value| value.value);
        assert_eq!(told, Some(pair.expect("its ratio").median));
        assert_eq!(of_row(row + 1), None);
    }
}
