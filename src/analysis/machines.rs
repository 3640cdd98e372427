//! Rounds of several machines: what each machine came to, whether they differ, and what a typical
//! one gives. docs/method/intervals.md says how.

use std::collections::{BTreeMap, BTreeSet};

use super::interval::machines::{chance_if_alike, of_one, over_machines};
use super::interval::{Noise, Risk, holm};
use super::latency::p99_in_round;
use super::rounds::Rounds;
use super::summary::{
    Adds, Anatomy, CellSummary, Effect, Effects, Machine, MachineFigure, Machines, Of, Value, What,
};
use super::{anatomy, effects};
use crate::record::Header;
use crate::record::store::Record;

/// A figure of one kind, by the number of the round.
type ByRound = BTreeMap<u32, f64>;

/// What is told of a record whose rounds were measured by several machines; `None` of one machine.
pub fn summarise(record: &Record, cells: &[CellSummary], anatomy: &[Anatomy]) -> Option<Machines> {
    let machines = machines(record);
    if machines.len() < 2 {
        return None;
    }
    let rounds = || machines.iter().flat_map(|machine| &machine.rounds);
    // Where all but one ran trials alone, its figures are the record's.
    let are_several = machines.iter().filter(|one| !one.rounds.is_empty()).count() > 1;
    let mut seen = BTreeSet::new();
    let split: BTreeSet<u32> = rounds()
        .filter(|round| !seen.insert(**round))
        .copied()
        .collect();
    let mut by_round = of_cells(record, cells);
    by_round.extend(of_lines(record, anatomy, &seen));
    let mut figures: Vec<MachineFigure> = by_round
        .into_iter()
        .filter(|(_, _, by_round)| are_several && !by_round.is_empty())
        .map(|figure| held(figure, &machines, &split, Risk::of(&record.header.study)))
        .collect();
    judge(&mut figures, Risk::of(&record.header.study));
    Some(Machines {
        machines,
        rounds_split: split.into_iter().collect(),
        figures,
    })
}

/// What one machine did.
#[derive(Default)]
struct Done {
    rounds: BTreeSet<u32>,
    trials: usize,
}

/// Those that measured anything, or ran a trial, each once.
fn machines(record: &Record) -> Vec<Machine> {
    let header = &record.header;
    let mut done: BTreeMap<usize, Done> = BTreeMap::new();
    let hosts = header.hosts();
    for (round, places) in header.places_by_round(&record.measurements) {
        for place in places {
            done.entry(place).or_default().rounds.insert(round);
        }
    }
    let campaigns = record.campaigns.values().flatten();
    for trial in campaigns.flat_map(|campaign| &campaign.light.trials) {
        let host = header.host_of_trial(trial);
        if let Some(place) = host.and_then(|host| header.place_of(host)) {
            done.entry(place).or_default().trials += 1;
        }
    }
    let machine = |(number, (place, done)): (u32, (usize, Done))| {
        let begun = header.parts.iter();
        let begun = begun.filter(|one| one.host.is_same_machine(hosts[place]));
        Machine {
            number,
            host: hosts[place].clone(),
            parts: begun.map(|one| one.part).collect(),
            rounds: done.rounds.into_iter().collect(),
            trials: done.trials,
        }
    };
    (1..).zip(done).map(machine).collect()
}

type Figure = (Of, What, ByRound);

/// All figures of cells that have an interval over rounds, and their median latency.
fn of_cells(record: &Record, cells: &[CellSummary]) -> Vec<Figure> {
    let known = record.header.cells.iter().enumerate();
    let known = known.filter(|(_, cell)| !cell.is_search());
    let mut figures = Vec::new();
    for ((place, cell), (index, _)) in cells.iter().enumerate().zip(known) {
        let by_round = &cell.by_round;
        let p99 = Rounds::of(record, index).by_round(p99_in_round);
        let all = [
            (What::Throughput, &by_round.throughput_per_s),
            (What::Ratio, &by_round.ratio),
            (What::Added, &by_round.added_us),
            (What::P50, &by_round.p50_us),
            (What::P99, &p99),
            (What::Applied, &by_round.applied_per_s),
            (What::AppliedShare, &by_round.applied_share),
            (What::AppliedAlone, &by_round.applied_alone_per_s),
            (What::Unevenness, &by_round.unevenness),
            (
                What::UsdPerMillionQueries,
                &by_round.usd_per_million_queries,
            ),
            (What::CpuRatio, &by_round.cpu_ratio),
            (What::RunSeconds, &by_round.run_s),
        ];
        figures.extend(all.map(|(what, by_round)| (Of::Cells(place), what, by_round.clone())));
    }
    figures
}

/// Lines and effects are fitted round by round: what they are in a round is what they are of a
/// record that has this round alone. Which rows and designs there are is the study's to say, so
/// that they stand in the same places of both lists.
fn of_lines(record: &Record, whole: &[Anatomy], rounds: &BTreeSet<u32>) -> Vec<Figure> {
    let mut all: Vec<Figure> = Vec::new();
    for &round in rounds {
        let own = only(record, round);
        let lines = anatomy::summarise(&own).into_iter().enumerate();
        let lines = lines.flat_map(|(index, one)| {
            let values = values(&one, &whole[index], round).into_iter();
            values.map(move |(what, value)| (Of::Anatomy(index), what, value))
        });
        let designs = effects::summarise(&own).into_iter().enumerate();
        let designs = designs.flat_map(|(index, one)| {
            let ratios = ratios(&one).into_iter();
            ratios.map(move |(what, value)| (Of::Effects(index), what, value))
        });
        for (of, what, value) in lines.chain(designs) {
            let is_it = |known: &&mut Figure| (&known.0, &known.1) == (&of, &what);
            match all.iter_mut().find(is_it) {
                Some((_, _, by_round)) => drop(by_round.insert(round, value)),
                None => all.push((of, what, [(round, value)].into())),
            }
        }
    }
    // What the first rounds lack would stand last.
    all.sort_by_key(|(of, ..)| *of);
    all
}

fn only(record: &Record, round: u32) -> Record {
    let own = record.measurements.iter().filter(|one| one.round == round);
    Record {
        header: Header {
            parts: vec![],
            labs: vec![],
            ..record.header.clone()
        },
        measurements: own.cloned().collect(),
        campaigns: BTreeMap::new(),
        finished: record.finished,
    }
}

/// Of one round, for a row that is `whole` over all rounds. A round that lacks a point of the line
/// over distances has no line there, though one could be drawn through others.
fn values(anatomy: &Anatomy, whole: &Anatomy, round: u32) -> Vec<(What, f64)> {
    let lines = &whole.round_trips_by_round;
    let has_line = lines.is_empty() || lines.contains_key(&round);
    let counted = anatomy.flushes_counted.map(|counted| counted.per_commit);
    let own = [
        (What::RoundTrips, anatomy.round_trips.filter(|_| has_line)),
        (What::Flushes, anatomy.flushes),
        (What::Work, anatomy.work_us.filter(|_| has_line)),
        (What::FlushesCounted, counted),
    ];
    let own = own.into_iter();
    let own = own.filter_map(|(what, value)| Some((what, value?.value)));
    let by_site = |sites: &Option<BTreeMap<String, Value>>, what: fn(String) -> What| {
        let sites = sites.iter().flatten();
        let each = sites.map(|(site, value)| (what(site.clone()), value.value));
        each.collect::<Vec<(What, f64)>>()
    };
    // A point that lacks a corner in this round is not there.
    let place = |one: &Adds| {
        let point = |adds: &Adds| (adds.distances.clone(), adds.disks.clone());
        whole
            .adds
            .iter()
            .position(|known| point(known) == point(one))
    };
    let adds = anatomy.adds.iter();
    let adds = adds.filter_map(|one| Some((What::BeyondSum(place(one)?), one.difference_us.value)));
    own.chain(by_site(&anatomy.per_peer, What::TripsTo))
        .chain(by_site(&anatomy.flushes_by_site, What::FlushesAt))
        .chain(adds)
        .collect()
}

fn ratios(effects: &Effects) -> Vec<(What, f64)> {
    let all = effects.main.iter().chain(&effects.interactions);
    let ratio = |one: &Effect| Some((What::Effect(one.of.clone()), one.ratio?.median));
    all.filter_map(ratio).collect()
}

/// How noise acts on it, as where its interval over rounds comes about.
fn noise(of: Of, what: &What) -> Noise {
    match (of, what) {
        (Of::Anatomy(_), _) | (_, What::Added) => Noise::Adds,
        _ => Noise::Multiplies,
    }
}

fn held(
    (of, what, by_round): Figure,
    machines: &[Machine],
    split: &BTreeSet<u32>,
    risk: Risk,
) -> MachineFigure {
    let noise = noise(of, &what);
    let own = |machine: &Machine| -> Vec<f64> {
        let whole = machine.rounds.iter().filter(|round| !split.contains(round));
        whole
            .filter_map(|round| by_round.get(round))
            .copied()
            .collect()
    };
    let groups: Vec<Vec<f64>> = machines.iter().map(own).collect();
    // One that ran trials alone has no figure, and takes none from the others.
    let measured = machines.iter().filter(|one| !one.rounds.is_empty());
    let measured: Vec<Vec<f64>> = measured.map(own).collect();
    MachineFigure {
        by_machine: groups.iter().map(|rounds| of_one(rounds, noise)).collect(),
        over_machines: over_machines(&measured, noise, risk),
        chance_if_alike: chance_if_alike(&groups, noise),
        differ: None,
        of,
        what,
    }
}

/// Which differ, so that one of all is seldom called so by chance.
fn judge(figures: &mut [MachineFigure], risk: Risk) {
    let chances: Vec<f64> = figures
        .iter()
        .filter_map(|one| one.chance_if_alike)
        .collect();
    let shown = |risk: Risk| chances.iter().map(|chance| risk.allows(*chance)).collect();
    let mut shown = holm(chances.len(), risk, shown).into_iter();
    for figure in figures
        .iter_mut()
        .filter(|one| one.chance_if_alike.is_some())
    {
        figure.differ = shown.next();
    }
}

#[cfg(test)]
mod tests;
