//! What servers and disks do after the load, beside what they do under it and without any.

use super::interval::{Risk, median, student};
use super::summary::{AfterLoad, Doing};
use crate::record::{Activity, DiskUse, Measurement};

/// The end of a watch is this share of it.
const END_SHARE: f64 = 0.25;
/// Seconds depend on those before them, as a server writes back in bursts: spans of so many hardly.
const SPAN_S: f64 = 10.0;

/// One entry for each node that was watched, the writer's first.
pub fn after_load(measurements: &[&Measurement]) -> Vec<AfterLoad> {
    let mut nodes: Vec<&str> = Vec::new();
    for activity in measurements.iter().flat_map(|m| &m.activity) {
        if !nodes.contains(&&activity.node[..]) {
            nodes.push(&activity.node);
        }
    }
    let of_node = |node: &str| {
        let watched: Vec<Watched> = measurements
            .iter()
            .filter_map(|m| Watched::of(m, node))
            .collect();
        let kept = kept_busy(&watched);
        AfterLoad {
            node: node.to_owned(),
            watched_s: median_of(&watched, |w| Some(w.after.span_s)).unwrap_or_default(),
            idle: doing(&watched, |w| w.idle.clone()),
            window: doing(&watched, |w| Some(w.window.clone())),
            after: doing(&watched, |w| Some(w.after.clone())),
            end: doing(&watched, |w| Some(w.end.clone())),
            busy_share_least: median_of(&watched, |w| w.busiest(f64::min)),
            busy_share_most: median_of(&watched, |w| w.busiest(f64::max)),
            busy_share_low: kept.map(|(low, _)| low.max(0.0)),
            busy_share_high: kept.map(|(_, high)| high.min(1.0)),
        }
    };
    nodes.into_iter().map(of_node).collect()
}

/// What was done in a span.
#[derive(Debug, Clone, Default)]
struct Sum {
    span_s: f64,
    /// Unknown, or none, of a node without a server.
    cpu_us: Option<f64>,
    disk: Option<DiskUse>,
}

/// One node in one measurement.
struct Watched<'m> {
    idle: Option<Sum>,
    window: Sum,
    after: Sum,
    end: Sum,
    pieces: Vec<&'m Activity>,
}

impl<'m> Watched<'m> {
    fn of(measurement: &'m Measurement, node: &str) -> Option<Watched<'m>> {
        let own = measurement.activity.iter().filter(|a| a.node == node);
        let (pieces, idle): (Vec<&Activity>, Vec<&Activity>) =
            own.partition(|a| a.from_s.is_some());
        let end_s = pieces.last().and_then(|a| Some(a.from_s? + a.span_s))?;
        let is_late = |a: &&&Activity| a.from_s >= Some(end_s * (1.0 - END_SHARE));
        let late: Vec<&Activity> = pieces.iter().filter(is_late).copied().collect();
        Some(Watched {
            idle: (!idle.is_empty()).then(|| sum(&idle)),
            window: in_window(measurement, node),
            after: sum(&pieces),
            end: sum(&late),
            pieces,
        })
    }

    fn busiest(&self, of_two: fn(f64, f64) -> f64) -> Option<f64> {
        let shares = self.pieces.iter().map(|a| busy_share(&sum(&[a])));
        let shares: Option<Vec<f64>> = shares.collect();
        shares?.into_iter().reduce(of_two)
    }

    /// In each whole span.
    fn busy_by_span(&self) -> Vec<f64> {
        let span = |piece: &&Activity| (piece.from_s.unwrap_or_default() / SPAN_S) as u64;
        let spans = self.pieces.chunk_by(|one, next| span(one) == span(next));
        let sums = spans.map(sum);
        let whole = sums.filter(|sum| sum.span_s > 0.75 * SPAN_S);
        whole.filter_map(|sum| busy_share(&sum)).collect()
    }
}

/// The interval of the share of time in which the disk was busy.
fn kept_busy(watched: &[Watched]) -> Option<(f64, f64)> {
    let spans: Vec<f64> = watched.iter().flat_map(Watched::busy_by_span).collect();
    student(&spans, Risk::ONE_LOOK)
}

fn sum(pieces: &[&Activity]) -> Sum {
    let disks: Option<Vec<&DiskUse>> = pieces.iter().map(|a| a.disk.as_ref()).collect();
    Sum {
        span_s: pieces.iter().map(|a| a.span_s).sum(),
        cpu_us: Some(pieces.iter().map(|a| a.cpu_us).sum()),
        disk: disks.filter(|disks| !disks.is_empty()).map(|d| added(&d)),
    }
}

/// The counts that are told here.
fn added(disks: &[&DiskUse]) -> DiskUse {
    let busy_us: Option<Vec<f64>> = disks.iter().map(|disk| disk.busy_us).collect();
    DiskUse {
        reads: disks.iter().map(|disk| disk.reads).sum(),
        writes: disks.iter().map(|disk| disk.writes).sum(),
        bytes_read: disks.iter().map(|disk| disk.bytes_read).sum(),
        bytes_written: disks.iter().map(|disk| disk.bytes_written).sum(),
        busy_us: busy_us.map(|all| all.iter().sum()),
        ..DiskUse::default()
    }
}

fn in_window(measurement: &Measurement, node: &str) -> Sum {
    let is_writer = measurement.activity.first().is_some_and(|a| a.node == node);
    let cpu = &measurement.cpu;
    Sum {
        span_s: measurement.window_s,
        cpu_us: match is_writer {
            true => cpu.writer_us,
            false => cpu.replicas_us.get(node).copied(),
        },
        disk: (measurement.disks.iter())
            .find(|disk| disk.node == node)
            .cloned(),
    }
}

fn median_of<T>(all: &[T], figure: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    median(&all.iter().filter_map(figure).collect::<Vec<f64>>())
}

/// Medians over rounds.
fn doing(watched: &[Watched], pick: impl Fn(&Watched) -> Option<Sum>) -> Doing {
    let sums: Vec<Sum> = watched.iter().filter_map(pick).collect();
    let sums: Vec<Sum> = sums.into_iter().filter(|sum| sum.span_s > 0.0).collect();
    let of_disk = |figure: fn(&DiskUse) -> u64| {
        median_of(&sums, |sum| {
            Some(figure(sum.disk.as_ref()?) as f64 / sum.span_s)
        })
    };
    Doing {
        cpu_s_per_s: median_of(&sums, |sum| Some(sum.cpu_us? / 1e6 / sum.span_s)),
        reads_per_s: of_disk(|disk| disk.reads),
        writes_per_s: of_disk(|disk| disk.writes),
        bytes_read_per_s: of_disk(|disk| disk.bytes_read),
        bytes_written_per_s: of_disk(|disk| disk.bytes_written),
        busy_share: median_of(&sums, busy_share),
    }
}

/// The kernel counts in whole ms, so that a short span may seem to hold more than itself.
fn busy_share(sum: &Sum) -> Option<f64> {
    let busy_us = sum.disk.as_ref()?.busy_us?;
    Some((busy_us / 1e6 / sum.span_s).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CpuUsed;

    fn disk(writes: u64, busy_us: Option<f64>) -> DiskUse {
        DiskUse {
            node: "a".into(),
            writes,
            bytes_written: writes * 4_096,
            busy_us,
            ..DiskUse::default()
        }
    }

    fn piece(from_s: Option<f64>, span_s: f64, writes: u64, busy_us: Option<f64>) -> Activity {
        Activity {
            node: "a".into(),
            from_s,
            span_s,
            cpu_us: 20_000.0,
            disk: Some(disk(writes, busy_us)),
        }
    }

    fn measurement(busy_us: Option<f64>) -> Measurement {
        Measurement {
            window_s: 2.0,
            cpu: CpuUsed {
                writer_us: Some(1_800_000.0),
                ..CpuUsed::default()
            },
            disks: vec![disk(5_000, Some(1_900_000.0))],
            activity: vec![
                piece(None, 0.5, 0, Some(0.0)),
                piece(Some(0.0), 1.0, 900, Some(600_000.0)),
                piece(Some(1.0), 1.0, 600, Some(400_000.0)),
                piece(Some(2.0), 1.0, 300, Some(100_000.0)),
                piece(Some(3.0), 1.0, 0, busy_us),
            ],
            ..Measurement::default()
        }
    }

    #[test]
    fn what_is_done_after_the_load_stands_beside_the_window_and_rest() {
        let told = after_load(&[&measurement(Some(0.0))]);
        let [one] = &told[..] else { panic!("{told:?}") };
        let rates = [&one.idle, &one.window, &one.after, &one.end].map(|of| of.writes_per_s);
        assert_eq!(rates, [0.0, 2_500.0, 450.0, 0.0].map(Some));
        let cpu = [&one.idle, &one.window, &one.after].map(|of| of.cpu_s_per_s);
        assert_eq!(cpu, [0.04, 0.9, 0.02].map(Some));
        assert_eq!((one.watched_s, one.after.busy_share), (4.0, Some(0.275)));
        let extremes = (one.busy_share_least, one.busy_share_most);
        assert_eq!(extremes, (Some(0.0), Some(0.6)));
    }

    #[test]
    fn what_a_disk_is_kept_busy_for_is_told_by_spans_of_ten_seconds() {
        // A burst of one second in each ten, and a bit: each span is busy for a tenth of it.
        let burst = |second: u32| if second % 10 == 3 { 1e6 } else { 0.0 };
        let seconds = (0..62).map(|second| piece(Some(second.into()), 1.0, 0, Some(burst(second))));
        let watched = Measurement {
            activity: seconds.collect(),
            ..measurement(None)
        };
        let one = &after_load(&[&watched])[0];
        let [low, high] = [one.busy_share_low, one.busy_share_high].map(Option::unwrap);
        assert!(
            (low - 0.1).abs() < 1e-9 && (high - 0.1).abs() < 1e-9,
            "{low} {high}"
        );
        assert_eq!(one.busy_share_most, Some(1.0));
        let short = &after_load(&[&measurement(Some(0.0))])[0];
        assert_eq!((short.busy_share_low, short.busy_share_high), (None, None));
    }

    #[test]
    fn what_the_kernel_did_not_tell_is_unknown() {
        let one = &after_load(&[&measurement(None)])[0];
        let unknown = (
            one.after.busy_share,
            one.busy_share_most,
            one.end.busy_share,
        );
        assert_eq!(unknown, (None, None, None));
        assert_eq!(one.after.writes_per_s, Some(450.0));
        assert!(after_load(&[&Measurement::default()]).is_empty());
    }
}
