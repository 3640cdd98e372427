//! What an article could not see: figures that its tool has no word for, as sentences.

use super::figure::{Figure, host_bound_rounds, measured, scaled, value, words};
use super::rule::compared;
use super::screen;
use super::select::{Material, Points, axes};
use super::tell::{self, short};
use super::verdict::{Verdict, within, word};
use crate::analysis::summary::{Anatomy, CellSummary, Value};
use crate::study::articles::{Compared, Mover, Quantity, Unseen};

/// The sentences of one kind, as far as it was measured.
pub fn said(points: Points, material: &Material, unseen: &Unseen) -> Vec<String> {
    match unseen {
        Unseen::Each {
            say,
            of,
            figure,
            times,
        } => {
            let cells = first_of_rows(points.measured(of));
            let line = |quantity| each(points, &cells, say.as_deref(), quantity, *times);
            figure.iter().filter_map(line).collect()
        }
        Unseen::Ratios { say, pairs } => ratios(points, say, pairs).into_iter().collect(),
        Unseen::Moved { of, by } => of.iter().filter_map(|of| moved(points, of, by)).collect(),
        Unseen::RoundTrips {} => round_trips(material.anatomy).into_iter().collect(),
        Unseen::Effects { of } => {
            let design = screen::design(material.effects, &points.planned(of));
            design.map(screen::told).unwrap_or_default()
        }
        Unseen::Runs { of } => runs(&points.measured(of)).into_iter().collect(),
        Unseen::Words { of, say } => match points.measured(of).is_empty() {
            true => vec![],
            false => vec![say.clone()],
        },
        Unseen::HostBound {} => host_bound(material.cells).into_iter().collect(),
    }
}

/// A label stands once in a sentence.
fn first_of_rows(cells: Vec<&CellSummary>) -> Vec<&CellSummary> {
    let mut kept: Vec<&CellSummary> = Vec::new();
    for cell in cells {
        if !kept.iter().any(|other| other.point.row == cell.point.row) {
            kept.push(cell);
        }
    }
    kept.sort_by_key(|cell| cell.point.row);
    kept
}

/// `flushes per commit: group 1.05, async 0.02.`: one sentence if any cell has the figure, and it
/// is not zero in all of them.
fn each(
    points: Points,
    cells: &[&CellSummary],
    say: Option<&str>,
    quantity: &Quantity,
    times: Option<f64>,
) -> Option<String> {
    let figure = |cell: &&CellSummary| {
        let value = value(cell, quantity, points.cells)?;
        Some((
            cell.label.clone(),
            scaled(value, times.unwrap_or(1.0)).value,
        ))
    };
    let all: Vec<(String, f64)> = cells.iter().filter_map(figure).collect();
    let is_there = all.iter().any(|(_, value)| *value != 0.0);
    let said = all
        .iter()
        .map(|(label, value)| format!("{label} {}", short(*value)));
    let said: Vec<String> = said.collect();
    let what = say.unwrap_or(words(quantity).0);
    let tells = is_there || *quantity == Quantity::CatchUp;
    (tells && !said.is_empty()).then(|| format!("{what}: {}.", said.join(", ")))
}

/// One sentence if any of the pairs was measured with intervals.
fn ratios(points: Points, say: &str, pairs: &[Compared]) -> Option<String> {
    let figures = pairs.iter().flat_map(|pair| compared(points, pair, true));
    let said = figures.map(|figure| format!("{} {}", figure.what, figure.in_words()));
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| format!("{say}: {}.", said.join(", ")))
}

/// Of each mode that has them.
fn round_trips(all: &[Anatomy]) -> Option<String> {
    let said = |anatomy: &Anatomy| {
        let Value { value, low, high } = anatomy.round_trips?;
        let (low, high) = (short(low?), short(high?));
        Some(format!(
            "{} {} ({low} to {high})",
            anatomy.label,
            short(value)
        ))
    };
    let said: Vec<String> = all.iter().filter_map(said).collect();
    let said = (!said.is_empty()).then(|| said.join(", "))?;
    Some(format!(
        "round trips between sites that a commit waits for, at one connection: {said}."
    ))
}

/// What one run of each load is here: seconds of other numbers of rows and queries are no more
/// alike than those of other machines.
fn runs(cells: &[&CellSummary]) -> Option<String> {
    let mut runs: Vec<&str> = cells
        .iter()
        .map(|cell| &cell.workload_in_full[..])
        .collect();
    runs.dedup();
    let said = (!runs.is_empty()).then(|| runs.join("; "))?;
    Some(format!(
        "one run here, where the article's is as its tool was called: {said}."
    ))
}

/// In how many cells the host's CPUs were the limit.
fn host_bound(cells: &[CellSummary]) -> Option<String> {
    let measured = cells.iter().filter(|cell| cell.rounds > 0);
    let (of, bound) = measured.fold((0, 0), |(of, bound), cell| {
        (of + 1, bound + u32::from(host_bound_rounds(cell) > 0))
    });
    (bound > 0).then(|| {
        format!(
            "in {bound} of {of} cells all nodes together had used up this host's CPUs in some \
             round: there the host is the limit, as one may have been in the article."
        )
    })
}

/// What the first of these points reaches and uses, and what it gains by more of one thing at a
/// time.
fn moved(points: Points, of: &str, by: &[Mover]) -> Option<String> {
    let own = *points.measured(of).first()?;
    let gains = by.iter();
    let gains = gains.filter_map(|mover| Some((mover, gain(points, own, mover)?)));
    let gains: Vec<(&Mover, Figure)> = gains.collect();
    Some(format!("{}; {}.", used(own)?, limit(&gains)))
}

/// By the pair that this point is one of, or that differs from it in nothing else.
fn gain(points: Points, own: &CellSummary, mover: &Mover) -> Option<Figure> {
    let differ = axes(&mover.differ);
    let rest = own.point.without(&differ);
    let is_of_own = |less: &&&CellSummary| {
        less.point.row == own.point.row && less.point.without(&differ) == rest
    };
    let less = points.measured(&mover.less);
    let is_own = less.iter().find(|less| less.point == own.point);
    // The next fewer, for studies name less before more.
    let less = is_own.or_else(|| less.iter().rfind(is_of_own))?;
    let more = points.partner(&less.point, &mover.more, &differ)?;
    let both = (
        measured(more, &Quantity::Throughput)?,
        measured(less, &Quantity::Throughput)?,
    );
    tell::figure(
        mover.step.clone(),
        "times",
        both.0.over(&both.1)?.over_all().into(),
    )
}

/// What gained by more of it is the limit; what gained most, the first.
fn limit(gains: &[(&Mover, Figure)]) -> String {
    if gains.is_empty() {
        return "nothing was moved with intervals".to_owned();
    }
    let steps = gains.iter().map(|(_, gain)| {
        let [value, low, high] = [gain.value, gain.low, gain.high].map(short);
        format!("{}: {value} times ({low} to {high})", gain.what)
    });
    let steps: Vec<String> = steps.collect();
    let verdict = |gain: &Figure| within(&word("gains"), gain.low, gain.high);
    let of = |wanted| {
        gains
            .iter()
            .filter(move |(_, gain)| verdict(gain) == wanted)
    };
    let first = of(Verdict::Confirmed).max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let limit = match (first, of(Verdict::Undecided).next()) {
        (Some((mover, _)), _) => format!("what moves it most is {}", mover.resource),
        (None, Some(_)) => "whether any of what was moved is the limit is open".to_owned(),
        (None, None) => "none of what was moved is the limit".to_owned(),
    };
    format!("{}: {limit}", steps.join("; "))
}

/// What a point reaches, and what it takes from each resource meanwhile.
fn used(cell: &CellSummary) -> Option<String> {
    let rate = cell.throughput_per_s?;
    let each = |per_commit: Option<f64>| per_commit.map(|figure| figure * rate.median);
    let both = |reads: Option<f64>, writes: Option<f64>| each(Some(reads? + writes?));
    let [reads, writes] = [cell.reads_per_commit, cell.writes_per_commit].map(|of| of.writer);
    let bytes = [cell.bytes_read_per_commit, cell.bytes_written_per_commit].map(|of| of.writer);
    let cpu = each(cell.cpu_us_per_commit.writer);
    let link = each(cell.bytes_per_commit.client);
    let parts = [
        (cpu, 1e-6, " of a core for its server"),
        (both(reads, writes), 1.0, " IOPS"),
        (both(bytes[0], bytes[1]), 8e-6, " Mbit/s of its disk's path"),
        (cell.disk_busy_share, 100.0, " % of its disk's time"),
        (link, 8e-6, " Mbit/s of the client's link both ways"),
        (cell.host_busy, 100.0, " % of this host's CPUs"),
    ];
    let part =
        |(figure, factor, unit): (Option<f64>, f64, &str)| Some(short(figure? * factor) + unit);
    let parts: Vec<String> = parts.into_iter().filter_map(part).collect();
    let (label, workload, n) = (&cell.label, &cell.workload, cell.connections);
    let range = rate.low.zip(rate.high).map_or_else(
        || "no interval".to_owned(),
        |(low, high)| format!("{} to {}", short(low), short(high)),
    );
    let reached = format!(
        "{label}, {workload}, {n} connections: {}/s ({range})",
        short(rate.median)
    );
    match parts.is_empty() {
        true => Some(reached),
        false => Some(format!("{reached} with {}", parts.join(", "))),
    }
}
