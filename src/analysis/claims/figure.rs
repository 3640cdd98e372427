//! Figures of cells by the names that claims have for them, and ratios paired by round.

use std::collections::BTreeMap;

use crate::analysis::applied::BEHIND_SHARE;
use crate::analysis::interval::{Estimate, Noise, estimate};
use crate::analysis::ladder::{Ladder, ladders};
pub use crate::analysis::summary::claims::Figure;
use crate::analysis::summary::{CellSummary, LagSummary, Value};
use crate::plan::Axis;
use crate::record::Flag;
use crate::study::articles::Quantity;

impl Figure {
    /// `1.24 times (1.20 to 1.28)`
    pub fn in_words(&self) -> String {
        let Figure {
            value,
            low,
            high,
            unit,
            ..
        } = self;
        format!("{value:.2} {unit} ({low:.2} to {high:.2})")
    }
}

/// One figure of a cell: over all its rounds, and in each of them.
#[derive(Clone)]
pub struct Measured {
    over_all: Estimate,
    by_round: BTreeMap<u32, f64>,
}

impl Measured {
    fn of(over_all: Option<Estimate>, by_round: &BTreeMap<u32, f64>) -> Option<Measured> {
        Some(Measured {
            over_all: over_all?,
            by_round: by_round.clone(),
        })
    }

    /// Over all rounds.
    pub fn over_all(&self) -> Estimate {
        self.over_all
    }

    /// One figure over another, round by round, with the house's interval over the rounds that both
    /// have: what slows down both in a round cancels. Where they share fewer than two rounds, the
    /// medians' ratio with the range that both intervals together allow: wider than either, so slow
    /// to decide. `None` without intervals.
    pub fn over(&self, below: &Measured) -> Option<Measured> {
        let ratio = |(round, value): (&u32, &f64)| {
            let below = below.by_round.get(round)?;
            Some((*round, value / below))
        };
        let by_round: BTreeMap<u32, f64> = self.by_round.iter().filter_map(ratio).collect();
        let paired = whole(&by_round).filter(|all| range(all).is_some());
        let over_all = paired.or_else(|| apart(&self.over_all, &below.over_all))?;
        Some(Measured { over_all, by_round })
    }
}

fn whole(by_round: &BTreeMap<u32, f64>) -> Option<Estimate> {
    let values: Vec<f64> = by_round.values().copied().collect();
    estimate(&values, Noise::Multiplies)
}

fn apart(above: &Estimate, below: &Estimate) -> Option<Estimate> {
    let ((above_low, above_high), (below_low, below_high)) = (range(above)?, range(below)?);
    Some(Estimate {
        median: above.median / below.median,
        low: Some(above_low / below_high),
        high: Some(above_high / below_low),
    })
}

/// The interval of a figure that has one.
pub fn range(estimate: &Estimate) -> Option<(f64, f64)> {
    Some((estimate.low?, estimate.high?))
}

/// A figure that has a value in each round; `None` of others.
pub fn measured(cell: &CellSummary, quantity: &Quantity) -> Option<Measured> {
    let rounds = &cell.by_round;
    match quantity {
        Quantity::Throughput => Measured::of(cell.throughput_per_s, &rounds.throughput_per_s),
        Quantity::Applied => Measured::of(cell.applied_per_s, &rounds.applied_per_s),
        Quantity::RunTime => Measured::of(cell.run_s, &rounds.run_s),
        Quantity::Unevenness => Measured::of(cell.unevenness, &rounds.unevenness),
        Quantity::P95 => Measured::of(whole(&rounds.p95_us), &rounds.p95_us),
        Quantity::CommittedOverApplied => {
            let applied = measured(cell, &Quantity::Applied)?;
            measured(cell, &Quantity::Throughput)?.over(&applied)
        }
        _ => None,
    }
}

/// A figure of one cell, in the unit of its [`words`]; `None` if it has none. `all` is what a
/// ladder's rungs are taken from.
pub fn value(cell: &CellSummary, quantity: &Quantity, all: &[CellSummary]) -> Option<Value> {
    let exact = |count: f64| Some(ranged(count, count, count));
    match quantity {
        Quantity::CommitsPerRoundTrip => {
            let rtt_s = cell.rtt_us_got? / 1e6;
            Some(scaled(cell.throughput_per_s?.into(), rtt_s))
        }
        Quantity::P95 => Some(scaled(measured(cell, quantity)?.over_all.into(), 1e-3)),
        Quantity::Unevenness => Some(scaled(cell.unevenness?.into(), 100.0)),
        Quantity::UsdPerMillion => cell.usd_per_million_queries.map(Value::from),
        Quantity::Iterations => cell.iterations_s.map(|s| ranged(s.mean, s.min, s.max)),
        // Its range is that of single seconds: a disk that rests in between is seen.
        Quantity::BusyAfterLoad => {
            let of = cell.after_load.first()?;
            let range = (of.busy_share_least?, of.busy_share_most?);
            Some(scaled(
                ranged(of.after.busy_share?, range.0, range.1),
                100.0,
            ))
        }
        Quantity::Dips => exact(cell.dips.as_ref()?.count.into()),
        Quantity::BoundedUpTo => exact(ladder(cell, all)?.bounded_up_to_per_s?.into()),
        Quantity::FirstBeyond => exact(ladder(cell, all)?.beyond_per_s?.into()),
        Quantity::HighestOffered => exact(ladder(cell, all)?.rungs.last()?.offered_per_s.into()),
        Quantity::HostBoundRounds => exact(host_bound_rounds(cell).into()),
        Quantity::Counter(name) => {
            exact(cell.server_counters.get(name).copied().unwrap_or_default())
        }
        Quantity::ErrorPerCommit(number) => exact(error_rate(cell, *number)?),
        _ => match measured(cell, quantity) {
            Some(measured) => Some(measured.over_all.into()),
            None => median(cell, quantity).map(|value| Value {
                value,
                low: None,
                high: None,
            }),
        },
    }
}

/// Figures without intervals.
fn median(cell: &CellSummary, quantity: &Quantity) -> Option<f64> {
    let percent = |share: f64| share * 100.0;
    match quantity {
        Quantity::ConnectShare => cell.connect_share.map(percent),
        Quantity::DipDepth => cell.dips.as_ref()?.depth.map(percent),
        Quantity::DipGap => cell.dips.as_ref()?.median_gap_s,
        Quantity::CpuWriter => cell.cpu_us_per_commit.writer,
        Quantity::CpuFront => cell.cpu_us_per_commit.front,
        Quantity::CpuReplicas => cpu_of_replicas(cell),
        Quantity::BytesBetween => cell
            .bytes_per_commit
            .replication
            .filter(|bytes| *bytes > 0.0),
        Quantity::CatchUp => catch_up_s(cell),
        Quantity::FlushesWriter => cell.flushes_per_commit.writer,
        Quantity::ReadsWriter => cell.reads_per_commit.writer,
        Quantity::HostBusy => cell.host_busy.map(percent),
        _ => None,
    }
}

/// What a figure is called in sentences, and its unit where it is no ratio.
pub fn words(quantity: &Quantity) -> (&str, &'static str) {
    match quantity {
        Quantity::Throughput => ("commits/s", "a second"),
        Quantity::Applied => ("applied", "a second"),
        Quantity::CommittedOverApplied => ("committed over applied", "times"),
        Quantity::CommitsPerRoundTrip => ("commits", "commits per round trip"),
        Quantity::RunTime => ("time", "s"),
        Quantity::Iterations => ("iterations", "s"),
        Quantity::ConnectShare => ("per cent of the time that went into connecting", "per cent"),
        Quantity::P95 => ("95th percentile", "ms"),
        Quantity::Unevenness => ("scatter of the seconds", "per cent of the mean"),
        Quantity::Dips => ("dips", "dips"),
        Quantity::DipDepth => ("depth of dips", "per cent"),
        Quantity::DipGap => ("median gap between dips", "s"),
        Quantity::BusyAfterLoad => ("time in which the disk was busy after the load", "per cent"),
        Quantity::UsdPerMillion => ("$ per million", "$"),
        Quantity::BoundedUpTo => ("lag bounded up to", "a second"),
        Quantity::FirstBeyond => ("first rate beyond", "a second"),
        Quantity::HighestOffered => ("highest rate offered", "a second"),
        Quantity::CpuWriter => ("CPU of the writer per commit, µs", "µs"),
        Quantity::CpuFront => ("CPU of the front per commit, µs", "µs"),
        Quantity::CpuReplicas => (
            "CPU of all replicas together per commit, µs, where they keep up",
            "µs",
        ),
        Quantity::BytesBetween => ("bytes between the servers per commit", "bytes"),
        Quantity::CatchUp => ("seconds until the last replica had caught up", "s"),
        Quantity::FlushesWriter => ("flushes of the writer's disk per commit", "flushes"),
        Quantity::ReadsWriter => ("reads of the writer's disk per commit", "reads"),
        Quantity::HostBusy => ("per cent of all CPUs that were busy", "per cent"),
        Quantity::HostBoundRounds => ("rounds in which the host's CPUs were used up", "rounds"),
        Quantity::Counter(name) => (name, "times"),
        Quantity::ErrorPerCommit(_) => ("errors", "errors per commit"),
    }
}

/// Rounds in which all nodes together had used up this host's CPUs.
pub fn host_bound_rounds(cell: &CellSummary) -> u32 {
    let flags = cell.flags.iter();
    let bound = flags.filter(|count| count.flag == Flag::HostBound);
    bound.map(|count| count.rounds).sum()
}

/// The ladder that a cell is a rung of.
pub fn ladder(cell: &CellSummary, all: &[CellSummary]) -> Option<Ladder> {
    let foot = cell.point.without(&[Axis::Rate]);
    let rungs = all
        .iter()
        .filter(|one| one.point.without(&[Axis::Rate]) == foot);
    let rungs: Vec<CellSummary> = rungs.cloned().collect();
    ladders(&rungs).into_iter().next()
}

/// Errors of that number over all rounds.
pub fn errors(cell: &CellSummary, number: u16) -> u64 {
    cell.errors.of(number)
}

/// About so many in all rounds.
pub fn commits(cell: &CellSummary) -> f64 {
    let rate = cell.throughput_per_s.map_or(0.0, |rate| rate.median);
    rate * cell.measure_s * f64::from(cell.rounds)
}

/// Errors over commits; `None` without commits.
pub fn error_rate(cell: &CellSummary, number: u16) -> Option<f64> {
    let commits = commits(cell);
    (commits > 0.0).then(|| errors(cell, number) as f64 / commits)
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
