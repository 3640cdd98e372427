//! Figures of pairs of cells, and whether B is worse, better or alike.

use std::collections::BTreeMap;

use super::machines::Machines;
use super::measured::{ByRound, Measured};
use super::quantity::Quantity;
use super::told::{Figure, Open, Place, Verdict, Which};
use crate::analysis::interval::machines::MACHINES_NEEDED;
use crate::analysis::interval::two_runs::{Drift, TwoRuns};
use crate::analysis::interval::{Noise, Risk, median};
use crate::analysis::summary::Estimate;

/// One place in both records.
pub struct Both {
    pub place: Place,
    pub label_b: Option<String>,
    pub a: Measured,
    pub b: Measured,
}

/// How figures are judged.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Of a figure that stands alone.
    pub risk: Risk,
    /// What lies within this share is alike.
    pub alike_within: f64,
    /// By what share runs of one build stray from each other at least.
    pub between_runs: f64,
}

/// A figure that is not judged yet, and what tells of it.
#[derive(Debug, Clone)]
pub struct Held {
    pub figure: Figure,
    /// `None` without an interval: `figure.open` says why.
    pub two: Option<TwoRuns>,
}

impl Held {
    /// Whether both differ, at some risk.
    pub fn differ(&self, risk: Risk) -> bool {
        self.two.is_some_and(|two| two.differ(risk))
    }
}

/// All quantities of all places, not judged yet.
pub fn held(places: &[Both], machines: &[Machines; 2], terms: Terms) -> Vec<Held> {
    let mut quantities: Vec<Quantity> = Vec::new();
    for both in places {
        quantities.extend(both.a.figures.keys().chain(both.b.figures.keys()));
    }
    quantities.sort_unstable();
    quantities.dedup();
    let drifts = |quantity: Quantity| {
        let of = |which: fn(&Both) -> &Measured| {
            let all = places
                .iter()
                .filter_map(|both| which(both).figures.get(&quantity));
            Drift::of(&all.collect::<Vec<&ByRound>>(), quantity.noise())
        };
        (quantity, [of(|both| &both.a), of(|both| &both.b)])
    };
    let drifts: BTreeMap<Quantity, [Drift; 2]> = quantities.into_iter().map(drifts).collect();
    let of_place = |both| {
        let all = drifts.iter();
        all.filter_map(move |(quantity, drifts)| {
            let values = Values::of(both, *quantity, *drifts, machines);
            figure(both, *quantity, &values, terms)
        })
    };
    places.iter().flat_map(of_place).collect()
}

/// What is held against each other of one quantity at one place.
struct Values {
    /// Rounds that have it.
    rounds: [usize; 2],
    /// Of each round, or where either record is of several machines of each machine.
    each: [Vec<f64>; 2],
    drifts: [Drift; 2],
    /// Of machines, one has fewer than tell how machines stray.
    are_few_machines: bool,
}

impl Values {
    fn of(both: &Both, of: Quantity, drifts: [Drift; 2], machines: &[Machines; 2]) -> Values {
        let figures = [&both.a, &both.b].map(|side| side.figures.get(&of));
        let rounds = figures.map(|rounds| rounds.map_or(0, ByRound::len));
        if !machines.iter().any(Machines::are_several) {
            let values = |rounds: &ByRound| rounds.values().copied().collect();
            return Values {
                rounds,
                each: figures.map(|rounds| rounds.map(values).unwrap_or_default()),
                drifts,
                are_few_machines: false,
            };
        }
        let each = [0, 1].map(|which: usize| {
            let values = figures[which].map(|all| machines[which].values(all, of.noise()));
            values.unwrap_or_default()
        });
        Values {
            rounds,
            are_few_machines: each.iter().any(|values| values.len() < MACHINES_NEEDED),
            each,
            // Each machine's value strays by its own drift already.
            drifts: [Drift::default(); 2],
        }
    }
}

/// `None` where neither has it.
fn figure(both: &Both, quantity: Quantity, values: &Values, terms: Terms) -> Option<Held> {
    if values.rounds == [0, 0] {
        return None;
    }
    let [a, b] = [0, 1].map(|which: usize| median(&values.each[which]));
    let open = open([&both.a, &both.b], values);
    let noise = quantity.noise();
    let unit = unit(noise, a);
    let between = terms.between_runs * unit;
    let each = [0, 1].map(|which: usize| &values.each[which][..]);
    let two = || TwoRuns::of(each, values.drifts, between, noise);
    let two = if open.is_none() { two() } else { None };
    let told = two.map(|two| two.estimate(terms.risk));
    let is_ratio = noise == Noise::Multiplies;
    let figure = Figure {
        verdict: Verdict::CannotTell,
        open: open.or(two.is_none().then_some(Open::Zero)),
        quantity,
        place: both.place.clone(),
        label_b: both.label_b.clone(),
        a,
        b,
        rounds_a: values.rounds[0],
        rounds_b: values.rounds[1],
        ratio: told.filter(|_| is_ratio),
        difference: told.filter(|_| !is_ratio),
        smallest_shown: None,
        is_shared: is_slowed(quantity) && (both.a.is_shared || both.b.is_shared),
        flags_a: both.a.flags.clone(),
        flags_b: both.b.flags.clone(),
    };
    Some(Held { figure, two })
}

/// What is counted for each commit stays as it is, whoever waits for a CPU.
fn is_slowed(quantity: Quantity) -> bool {
    !matches!(quantity, Quantity::Cpu | Quantity::Flushes)
}

/// Shares of what adds are of one at least: a round trip, say.
fn unit(noise: Noise, a: Option<f64>) -> f64 {
    match noise {
        Noise::Multiplies => 1.0,
        Noise::Adds => a.unwrap_or_default().abs().max(1.0),
    }
}

/// Why a figure has no interval.
fn open([a, b]: [&Measured; 2], values: &Values) -> Option<Open> {
    let rounds = values.rounds;
    let each = [(Which::A, a, rounds[0]), (Which::B, b, rounds[1])];
    let why = |why: fn(Which) -> Open, is_so: fn(&Measured, usize) -> bool| {
        let mut each = each.iter();
        let found = each.find(|(_, side, there)| is_so(side, *there));
        found.map(|(which, _, _)| why(*which))
    };
    why(Open::Lacks, |_, there| there == 0)
        .or_else(|| why(Open::LacksInARound, |side, there| there < side.rounds))
        .or_else(|| why(Open::OneRound, |_, there| there == 1))
        .or_else(|| values.are_few_machines.then_some(Open::SeveralMachines))
}

/// The verdict of a figure, of which it is known whether it is shown to differ as one of all.
pub fn judge(held: &mut Held, is_shown: bool, terms: Terms) {
    let figure = &mut held.figure;
    let Some(two) = held.two else {
        return;
    };
    let unit = unit(figure.quantity.noise(), figure.a);
    let told = two.estimate(terms.risk);
    let is_more = told.median > none(figure.quantity.noise());
    figure.verdict = match () {
        () if is_alike(told, figure.quantity.noise(), terms.alike_within * unit) => Verdict::Alike,
        () if is_shown && is_more == figure.quantity.is_gain() => Verdict::Better,
        () if is_shown => Verdict::Worse,
        () => Verdict::CannotTell,
    };
    if figure.verdict == Verdict::CannotTell {
        let is_alone = two.differ(terms.risk);
        let open = if is_alone {
            Open::AsOneOfMany
        } else {
            Open::Wide
        };
        figure.open = Some(open);
    }
}

/// Of what is open, how small a difference could have been shown at that risk.
pub fn tell_smallest(all: &mut [Held], risk: Risk) {
    let is_open = |held: &&mut Held| held.figure.verdict == Verdict::CannotTell;
    for held in all.iter_mut().filter(is_open) {
        let least = held.two.map(|two| two.smallest_shown(risk));
        held.figure.smallest_shown = least.filter(|least| least.is_finite());
    }
}

/// What stands for no difference.
fn none(noise: Noise) -> f64 {
    match noise {
        Noise::Multiplies => 1.0,
        Noise::Adds => 0.0,
    }
}

/// Whether all of an interval lies within so much of no difference.
fn is_alike(told: Estimate, noise: Noise, within: f64) -> bool {
    match noise {
        Noise::Multiplies => told.is_within(within),
        Noise::Adds => {
            let ends = told.low.zip(told.high);
            ends.is_some_and(|(low, high)| low >= -within && high <= within)
        }
    }
}

/// What matters first: worse ones, then better, then open ones, then those alike; of those that
/// differ the largest first.
pub fn sort(all: &mut [Held]) {
    let size = |held: &Held| match (held.figure.ratio, held.figure.difference) {
        (Some(ratio), _) => ratio.median.ln().abs(),
        (None, Some(difference)) => difference.median.abs(),
        (None, None) => 0.0,
    };
    all.sort_by(|one, other| {
        let verdicts = (one.figure.verdict, other.figure.verdict);
        let order = verdicts.0.cmp(&verdicts.1);
        let differ = matches!(verdicts.0, Verdict::Worse | Verdict::Better);
        order.then_with(|| match differ {
            true => size(other).total_cmp(&size(one)),
            false => std::cmp::Ordering::Equal,
        })
    });
}
