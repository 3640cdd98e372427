//! Each cell over all its rounds.

use std::collections::BTreeMap;

use super::flags::{self, Asked};
use super::interval::{Noise, Risk, median, smallest_added, smallest_shown};
use super::lags::lags;
use super::latency::{latency, p50, p95, p99};
use super::rates::{per_commit, rate, throughput};
use super::rounds::{Figure, Rounds, numbers, over_rounds, paired};
use super::summary::{
    ByRound, CellSummary, CpuPerCommit, DroppedByLinks, Extremes, PairOfSites, ReplicaCpu, Traffic,
};
use super::{
    activity, applied, called, contention, disks, endpoints, speeds, terms, timeline, void,
};
use crate::plan::knee::Offered;
use crate::plan::{Cell, Point};
use crate::record::server_errors::ServerErrors;
use crate::record::store::Record;
use crate::record::{Header, Measurement, counter};
use crate::study::Apply;

/// Counters worth a place in the summary: conflicts, fall-backs, flow control.
const COUNTERS: [&str; 10] = [
    counter::SEMISYNC_UNACKNOWLEDGED,
    counter::SEMISYNC_FALL_BACKS,
    counter::GALERA_CERTIFICATION_FAILURES,
    counter::GALERA_BRUTE_FORCE_ABORTS,
    counter::GALERA_PAUSED_NS,
    counter::GALERA_PAUSES_SENT,
    counter::GALERA_PAUSES_RECEIVED,
    counter::GROUP_THROTTLED,
    counter::GROUP_THROTTLED_US,
    counter::GROUP_CONFLICTS,
];

/// All cells of the record, in the study's order; those not measured yet with no figures. Of a
/// search for a knee there are none.
pub fn summarise(record: &Record) -> Vec<CellSummary> {
    let cells = (0..).zip(&record.header.cells);
    let told = cells.filter(|(_, cell)| !cell.is_search());
    told.map(|(index, _)| cell(record, index)).collect()
}

fn cell(record: &Record, index: usize) -> CellSummary {
    let rounds = Rounds::of(record, index);
    let named = with_window(record, index, &rounds);
    let flush = disks::flush_times(&rounds.sound);
    let is_ours = record.header.endpoints.is_empty();
    let by_round = by_round(record, index, &rounds);
    let risk = Risk::of(&record.header.study);
    let count = rounds.count();
    let over = |of: &BTreeMap<u32, f64>| over_rounds(of, count, Noise::Multiplies, risk);
    let named = against_baseline(named, record, index, (&by_round, &rounds));
    CellSummary {
        rounds: count,
        measurements: rounds.sound.len() as u32,
        offered_per_s: named.offered_per_s.or_else(|| rounds.offered_per_s()),
        rounds_void: numbers(&rounds.all) - count,
        with_void: void::with_void((&rounds.all, rounds.per), &by_round, latency, risk),
        cpu_speed_got: speeds::got(&rounds.sound),
        rtt_us_got: rounds.median_of(mean_rtt_us),
        rtts_us: pairs(&rounds.sound),
        flush_us_asked: flush.asked,
        flush_us_got: flush.got,
        flush_us_floor: flush.floor,
        per: rounds.per,
        throughput_per_s: over(&by_round.throughput_per_s),
        applied_per_s: over(&by_round.applied_per_s),
        applied_share: over(&by_round.applied_share),
        applied_alone_per_s: over(&by_round.applied_alone_per_s),
        applied_alone_cpu_us: rounds.median_of(applied::alone_cpu_us),
        lag_state: applied::lag_state(&rounds.sound, rounds.per, rounds.warmup_s)
            .filter(|_| is_ours),
        unevenness: over(&by_round.unevenness),
        dips: timeline::dips_of_rounds(&rounds.all_steady()),
        usd_per_million_queries: over(&by_round.usd_per_million_queries),
        unchanged_per_s: rounds.median_of(|m| rate(m.unchanged, m.window_s)),
        latency_us: latency(&rounds.sound),
        p99_us: p99(&rounds.sound, risk),
        cpu_us_per_commit: cpu(&rounds),
        cpu_us_per_s_idle: medians_by_name(&rounds.sound, |m| m.cpu.idle_us_per_s.clone()),
        idle_watched_s: rounds.median_of(|m| m.cpu.idle_watched_s),
        bytes_per_commit: traffic(&rounds, |link| link.bytes),
        packets_per_commit: traffic(&rounds, |link| link.packets),
        dropped_by_links: dropped(&rounds.sound),
        flushes_per_commit: rounds.of_disks(|disk| disk.flushes as f64),
        commits_per_flush: disks::commits_per_flush(&rounds.sound, rounds.per),
        reads_per_commit: rounds.of_disks(|disk| disk.reads as f64),
        writes_per_commit: rounds.of_disks(|disk| disk.writes as f64),
        bytes_read_per_commit: rounds.of_disks(|disk| disk.bytes_read as f64),
        bytes_written_per_commit: rounds.of_disks(|disk| disk.bytes_written as f64),
        flush_time_us_per_commit: rounds.of_disks(|disk| disk.flush_time_us),
        disk_cpu_us_per_commit: rounds.of_disks(|disk| disk.cpu_us),
        disk_busy_share: rounds.median_of(disks::busy_share),
        degraded_s: disks::degraded_s(&rounds.sound),
        lag_ms: lags(&rounds.sound, named.measure_s),
        commit_time_us: medians_by_name(&rounds.sound, |m| m.commit_time_us.clone()),
        server_counters: counters(&rounds.sound),
        run_s: over(&by_round.run_s),
        iterations_s: extremes(&rounds.sound),
        connect_share: rounds
            .median_of(|m| median_of_iterations(m, |i| i.connect_seconds / i.seconds)),
        after_load: activity::after_load(&rounds.sound),
        handshakes_us: endpoints::handshakes(&rounds.sound),
        counters_per_commit: endpoints::counters(record, index, &rounds.sound, rounds.per),
        contention: contention::summarise(&rounds.sound),
        host_busy: rounds.median_of(|m| Some(flags::busy_share(m))),
        errors: errors(&rounds.sound),
        flags: flags::count(&rounds.all, Asked::of(&record.header, &named.point)),
        by_round,
        ..named
    }
}

/// What is known of a cell beforehand, and how long its windows were where its rate decided that.
fn with_window(record: &Record, index: usize, rounds: &Rounds) -> CellSummary {
    let Header { study, cells, .. } = &record.header;
    let cell = &cells[index];
    let named = named(&record.header, cell);
    let offered = rounds.offered_per_s().map(|rate_per_s| Offered {
        rate_per_s,
        is_fine: true,
    });
    let window = offered.map(|offered| cell.at(study, offered).window(study));
    CellSummary {
        measure_s: window.map_or(named.measure_s, |window| window.as_secs_f64()),
        ..named
    }
}

/// With what it is over the baseline's.
fn against_baseline(
    named: CellSummary,
    record: &Record,
    index: usize,
    (by_round, rounds): (&ByRound, &Rounds),
) -> CellSummary {
    let risk = Risk::of(&record.header.study);
    let base = Rounds::of_baseline(record, index);
    let both = base.as_ref().map_or(0, |base| rounds.count_with(base));
    let over_both = |of: &BTreeMap<u32, f64>, noise| over_rounds(of, both, noise, risk);
    let ratio = over_both(&by_round.ratio, Noise::Multiplies);
    let waits = |rounds: &Rounds| contention::is_shared(&rounds.sound);
    let added_us = over_both(&by_round.added_us, Noise::Adds);
    // At a pace or an offered rate throughput tells of what was asked.
    let is_given = record.header.cells[index].is_given();
    let over = |own: f64, base: f64| (base > 0.0).then(|| own / base);
    let p50_of: Figure = |m, _| p50(m);
    let slower = paired(record, index, &by_round.p50_us, (p50_of, over));
    let held = match is_given {
        true => over_both(&slower, Noise::Multiplies),
        false => ratio,
    };
    let within = record.header.study.until;
    let shown = ratio.filter(|_| !is_given);
    let added = added_us.filter(|_| is_given);
    CellSummary {
        added_us,
        cpu_ratio: over_both(&by_round.cpu_ratio, Noise::Multiplies),
        difference_shown: ratio.and_then(|ratio| ratio.excludes(1.0)),
        is_alike: within
            .zip(held)
            .is_some_and(|(share, ratio)| ratio.is_within(share)),
        smallest_shown: shown.and_then(|of| smallest_shown(&of, by_round.ratio.len(), risk)),
        smallest_added_us: added.and_then(|of| smallest_added(&of, by_round.added_us.len(), risk)),
        is_ratio_shared: base.is_some_and(|base| waits(&base) || waits(rounds)),
        ratio,
        ..named
    }
}

fn by_round(record: &Record, index: usize, rounds: &Rounds) -> ByRound {
    // Of replicas that somebody else runs nobody has seen whether they count what they apply.
    let is_ours = record.header.endpoints.is_empty();
    let applied_per_s = |m: &Measurement| applied::per_s(m, rounds.per, rounds.warmup_s);
    let throughput_per_s = rounds.by_round(|m| throughput(m, rounds.per));
    let p50_us = rounds.by_round(p50);
    let over = |own: f64, base: f64| (base > 0.0).then(|| own / base);
    let less = |own: f64, base: f64| Some(own - base);
    let cpu_sums = rounds.by_round(|m| contention::cpu_sum(m, rounds.per));
    let p50_of: Figure = |m, _| p50(m);
    ByRound {
        applied_per_s: rounds.by_round(|m| applied_per_s(m).filter(|_| is_ours)),
        applied_share: rounds.by_round(|m| applied::share(m, rounds.per).filter(|_| is_ours)),
        applied_alone_per_s: rounds.by_round(applied::alone_per_s),
        unevenness: rounds.by_round(|m| timeline::unevenness(&rounds.steady(m))),
        usd_per_million_queries: rounds.by_round(|m| usd_per_million(record, index, m)),
        ratio: paired(record, index, &throughput_per_s, (throughput, over)),
        cpu_ratio: paired(record, index, &cpu_sums, (contention::cpu_sum, over)),
        added_us: paired(record, index, &p50_us, (p50_of, less)),
        run_s: rounds.by_round(|m| median_of_iterations(m, |i| i.seconds)),
        p95_us: rounds.by_round(p95),
        throughput_per_s,
        p50_us,
    }
}

/// What is known of a cell before it is measured.
fn named(header: &Header, cell: &Cell) -> CellSummary {
    let spec = &header.study.modes[cell.mode];
    let point = Point::of(&header.study, cell);
    CellSummary {
        id: cell.id.clone(),
        label: spec.label.clone(),
        server: spec.server.clone(),
        mode: spec.mode.name().to_owned(),
        settings: terms::settings(spec),
        baseline: spec.baseline.clone(),
        peer_at_ack: terms::peer_at_ack(spec),
        client_site: cell.client_site.clone(),
        workload: called::workload(&point),
        connections: cell.connections,
        rounds_asked: cell.rounds(&header.study),
        offered_per_s: cell.rate_per_s,
        pace_us: cell.pace.map(|pace| pace.as_secs_f64() * 1e6),
        distances: cell.distances.label.clone(),
        disks: cell.disks.as_ref().map(|disks| disks.label.clone()),
        measure_s: cell.window(&header.study).as_secs_f64(),
        watch_after_s: cell.watch_after.map(|span| span.as_secs_f64()),
        applied_after: cell.apply == Apply::After,
        cpu_speed: point.cpu_speed,
        schemas: point.schemas,
        moved: cell.moved,
        rtt_us_asked: cell
            .distances
            .equal_rtt()
            .map(|rtt| rtt.as_secs_f64() * 1e6),
        point,
        ..CellSummary::default()
    }
}

/// What a million queries cost at the rate of one measurement, if the study gives a price.
fn usd_per_million(record: &Record, index: usize, measurement: &Measurement) -> Option<f64> {
    let mode = record.header.cells[index].mode;
    let usd_per_hour = record.header.study.modes[mode].price_usd_per_hour?;
    let per_s = rate(measurement.statements, measurement.window_s)?;
    (per_s > 0.0).then(|| usd_per_hour / 3_600.0 / per_s * 1e6)
}

fn extremes(measurements: &[&Measurement]) -> Option<Extremes> {
    let iterations = measurements.iter().flat_map(|m| &m.iterations);
    let seconds: Vec<f64> = iterations.map(|iteration| iteration.seconds).collect();
    let sum: f64 = seconds.iter().sum();
    (!seconds.is_empty()).then(|| Extremes {
        mean: sum / seconds.len() as f64,
        min: seconds.iter().copied().fold(f64::INFINITY, f64::min),
        max: seconds.iter().copied().fold(0.0, f64::max),
        count: seconds.len() as u32,
    })
}

fn cpu(rounds: &Rounds) -> CpuPerCommit {
    let share = |figure: fn(&Measurement) -> Option<f64>| {
        rounds.median_of(|m| per_commit(m, rounds.per, figure(m)?))
    };
    let replicas = medians_by_name(&rounds.sound, |m| {
        let used = m.cpu.replicas_us.iter();
        let shares = used.filter_map(|(n, us)| Some((n.clone(), per_commit(m, rounds.per, *us)?)));
        shares.collect()
    });
    let replica = |(node, cpu_us)| ReplicaCpu { node, cpu_us };
    CpuPerCommit {
        writer: share(|m| m.cpu.writer_us),
        replicas: replicas.into_iter().map(replica).collect(),
        client: share(|m| Some(m.cpu.client_us)),
        front: rounds.median_of(|m| per_commit(m, rounds.per, m.cpu.front_us?)),
        links: share(|m| m.cpu.links_us),
        links_spin: share(|m| m.cpu.links_spin_us),
    }
}

/// The median over rounds of each name's figure.
fn medians_by_name(
    measurements: &[&Measurement],
    figures: impl Fn(&Measurement) -> BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, value) in measurements.iter().flat_map(|m| figures(m)) {
        values.entry(name).or_default().push(value);
    }
    let medians = values.into_iter();
    medians
        .filter_map(|(name, all)| Some((name, median(&all)?)))
        .collect()
}

fn traffic(rounds: &Rounds, figure: fn(&crate::record::LinkTraffic) -> u64) -> Traffic {
    let side = |is_client: bool| {
        rounds.median_of(|m| {
            // Without a single packet nobody looked at the links: they are somebody else's.
            m.links.first()?;
            let links = m.links.iter().filter(|link| link.is_client == is_client);
            per_commit(m, rounds.per, links.map(figure).sum::<u64>() as f64)
        })
    };
    Traffic {
        client: side(true),
        replication: side(false),
    }
}

/// `None` where links carried all that came.
fn dropped(measurements: &[&Measurement]) -> Option<DroppedByLinks> {
    let mut all = DroppedByLinks::default();
    for link in measurements.iter().flat_map(|m| &m.links) {
        all.lost += link.lost_packets;
        all.queue_full += link.queue_full_packets;
        all.packets += link.packets + link.lost_packets + link.queue_full_packets;
    }
    (all.lost + all.queue_full > 0).then_some(all)
}

fn counters(measurements: &[&Measurement]) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    let changes = measurements
        .iter()
        .flat_map(|m| m.status.values())
        .flatten();
    for (name, change) in changes {
        if COUNTERS.contains(&name.as_str()) {
            *sums.entry(name.clone()).or_default() += change;
        }
    }
    sums
}

fn median_of_iterations(
    measurement: &Measurement,
    figure: fn(&crate::record::Iteration) -> f64,
) -> Option<f64> {
    let figures: Vec<f64> = measurement.iterations.iter().map(figure).collect();
    median(&figures)
}

fn errors(measurements: &[&Measurement]) -> ServerErrors {
    let mut errors = ServerErrors::default();
    for measurement in measurements {
        errors.add_all(&measurement.errors);
    }
    errors
}

/// What was asked and got between two sites in one measurement, over both probes and all pairs of
/// nodes there.
pub(super) fn rtts_by_site(measurement: &Measurement) -> BTreeMap<(String, String), (f64, f64)> {
    let mut pairs: BTreeMap<(String, String), Vec<(f64, f64)>> = BTreeMap::new();
    for rtt in measurement
        .rtts
        .iter()
        .filter(|rtt| rtt.from_site != rtt.to_site)
    {
        let (one, two) = (rtt.from_site.clone(), rtt.to_site.clone());
        let pair = if one < two { (one, two) } else { (two, one) };
        let got = (rtt.rtt_us_before + rtt.rtt_us_after) / 2.0;
        pairs.entry(pair).or_default().push((rtt.rtt_us_asked, got));
    }
    let mean = |all: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64| {
        all.iter().map(pick).sum::<f64>() / all.len() as f64
    };
    let means = pairs.into_iter();
    means
        .map(|(pair, all)| (pair, (mean(&all, |r| r.0), mean(&all, |r| r.1))))
        .collect()
}

/// The mean round-trip time got over all pairs of sites, if they were asked to be alike.
pub(super) fn mean_rtt_us(measurement: &Measurement) -> Option<f64> {
    let pairs = rtts_by_site(measurement);
    let (first, _) = pairs.values().next()?;
    let are_alike = pairs.values().all(|(asked, _)| (asked - first).abs() < 0.5);
    let sum: f64 = pairs.values().map(|(_, got)| got).sum();
    are_alike.then(|| sum / pairs.len() as f64)
}

fn pairs(measurements: &[&Measurement]) -> Vec<PairOfSites> {
    let mut pairs: BTreeMap<(String, String), (f64, Vec<f64>)> = BTreeMap::new();
    for (pair, (asked, got)) in measurements.iter().flat_map(|m| rtts_by_site(m)) {
        pairs.entry(pair).or_insert((asked, vec![])).1.push(got);
    }
    let pair =
        |((from_site, to_site), (asked, got)): ((String, String), (f64, Vec<f64>))| PairOfSites {
            from_site,
            to_site,
            asked,
            got: median(&got),
        };
    pairs.into_iter().map(pair).collect()
}
