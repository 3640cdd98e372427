//! What a cell's emulated disks were asked to be, were, and did.

use std::collections::BTreeMap;

use super::interval::median;
use super::summary::{ByRole, Per};
use super::{flags, rates};
use crate::record::{Degraded, DiskGot, DiskRole, DiskUse, Measurement};
use crate::study::Disks;

/// The flush time that is added on most disks, in µs; the median where it is drawn.
pub fn flush_us_asked(disks: &Disks) -> f64 {
    disks.all.flush.median().as_secs_f64() * 1e6
}

/// The mean of what was got before and after.
fn flush_us_got(disk: &DiskGot) -> f64 {
    (disk.flush_us_before + disk.flush_us_after) / 2.0
}

/// What was got on the writer's disk.
pub fn flush_us_of_writer(measurement: &Measurement) -> Option<f64> {
    measurement.disks_got.first().map(flush_us_got)
}

/// What the writer's disk did in the window.
pub fn writer(measurement: &Measurement) -> Option<&DiskUse> {
    let mut disks = measurement.disks.iter();
    disks.find(|disk| disk.role == DiskRole::Writer)
}

/// What was got in each site, over all disks there.
pub fn flush_us_by_site(measurement: &Measurement) -> BTreeMap<String, f64> {
    let mut by_site: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for disk in &measurement.disks_got {
        let all = by_site.entry(disk.site.clone()).or_default();
        all.push(flush_us_got(disk));
    }
    let means = by_site.into_iter();
    means
        .map(|(site, all)| (site, all.iter().sum::<f64>() / all.len() as f64))
        .collect()
}

/// Flush times of the writer's disk: asked, got, and the floor below what was asked.
pub struct FlushTimes {
    pub asked: Option<f64>,
    pub got: Option<f64>,
    pub floor: Option<f64>,
}

/// Medians over rounds.
pub fn flush_times(measurements: &[&Measurement]) -> FlushTimes {
    let of = |figure: fn(&DiskGot) -> f64| {
        let writers = measurements.iter().filter_map(|m| m.disks_got.first());
        median(&writers.map(figure).collect::<Vec<f64>>())
    };
    FlushTimes {
        asked: of(|disk| disk.flush_us_asked),
        got: of(flush_us_got),
        floor: of(|disk| disk.flush_us_floor),
    }
}

/// A count of the disks, per commit.
pub fn per_commit(
    measurements: &[&Measurement],
    per: Per,
    figure: impl Fn(&DiskUse) -> f64,
) -> ByRole {
    let side = |is_writer: bool| {
        let each = measurements.iter().filter_map(|m| {
            let mean = mean_over(&m.disks, is_writer, &figure)?;
            rates::per_commit(m, per, mean)
        });
        median(&each.collect::<Vec<f64>>())
    };
    ByRole {
        writer: side(true),
        replica: side(false),
    }
}

fn mean_over(disks: &[DiskUse], is_writer: bool, figure: &impl Fn(&DiskUse) -> f64) -> Option<f64> {
    let side = disks
        .iter()
        .filter(|disk| (disk.role == DiskRole::Writer) == is_writer);
    let figures: Vec<f64> = side.map(figure).collect();
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// Commits for each flush of the writer's disk: above one where commits share a flush.
pub fn commits_per_flush(measurements: &[&Measurement], per: Per) -> Option<f64> {
    let flushes = per_commit(measurements, per, |disk| disk.flushes as f64);
    let flushes = flushes.writer.filter(|flushes| *flushes > 0.0);
    flushes.map(|flushes| 1.0 / flushes)
}

/// Share of the window in which the writer's disk had a request under way, if the kernel told.
pub fn busy_share(measurement: &Measurement) -> Option<f64> {
    let busy_us = writer(measurement)?.busy_us?;
    (measurement.window_s > 0.0).then(|| (busy_us / 1e6 / measurement.window_s).min(1.0))
}

/// Seconds over all rounds for which a volume had too few of its copies; `None` if it never was so.
pub fn degraded_s(measurements: &[&Measurement]) -> Option<f64> {
    let told = measurements.iter().filter(|m| flags::is_degraded(m));
    let spans: Vec<f64> = told.map(|m| degraded_ms(m) / 1e3).collect();
    (!spans.is_empty()).then(|| spans.iter().sum())
}

fn degraded_ms(measurement: &Measurement) -> f64 {
    let last = measurement.timeline.iter().map(|second| second.second + 1);
    let end_ms = u64::from(last.max().unwrap_or(0)) * 1_000;
    let span = |span: &Degraded| span.to_ms.unwrap_or(end_ms).saturating_sub(span.from_ms);
    measurement.degraded.iter().map(span).sum::<u64>() as f64
}
