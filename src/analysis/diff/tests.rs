use std::collections::BTreeMap;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::judge::Both;
use super::measured::{ByRound, Measured};
use super::quantity::Quantity;
use super::told::{Figure, LimitVerdict, Open, Place, Which};
use super::*;
use crate::analysis::example::{Example, equal, six};
use crate::analysis::worth;
use crate::plan::{Axis, PartOf};
use crate::record::{Host, PartFacts};
use crate::study::{SysbenchLoad, Workload};

type Random = ChaCha8Rng;

const TERMS: Terms = Terms {
    risk: Risk::ONE_LOOK,
    alike_within: Asked::ALIKE_WITHIN,
    between_runs: Asked::BETWEEN_RUNS,
};

/// Each record's own.
fn one_machine() -> [Machines; 2] {
    Default::default()
}

fn by_round(values: &[f64]) -> ByRound {
    (1..).zip(values.iter().copied()).collect()
}

fn one(quantity: Quantity, values: &[f64]) -> Measured {
    Measured {
        rounds: values.len(),
        figures: BTreeMap::from([(quantity, by_round(values))]),
        ..Measured::default()
    }
}

fn both(a: Measured, b: Measured) -> Both {
    Both {
        place: Place::default(),
        label_b: None,
        a,
        b,
    }
}

fn of(places: &[Both]) -> Vec<Figure> {
    let (held, _) = judged(judge::held(places, &one_machine(), TERMS), vec![], TERMS);
    held.into_iter().map(|held| held.figure).collect()
}

/// Four rounds at a level that stray by a hundredth at most.
fn level(level: f64) -> [f64; 4] {
    [0.995, 1.005, 1.0, 1.01].map(|stray| level * stray)
}

/// The only figure of two cells of one quantity.
fn alone(quantity: Quantity, a: &[f64], b: &[f64]) -> Figure {
    let mut all = of(&[both(one(quantity, a), one(quantity, b))]);
    all.remove(0)
}

#[test]
fn each_verdict_has_its_figures() {
    use Quantity::{Cpu, P50, RoundTrips, Throughput};
    let verdict =
        |quantity, times: f64| alone(quantity, &level(100.0), &level(100.0 * times)).verdict;
    assert_eq!(verdict(Throughput, 1.0), Verdict::Alike);
    assert_eq!(verdict(Throughput, 2.0), Verdict::Better);
    assert_eq!(verdict(Throughput, 0.5), Verdict::Worse);
    assert_eq!(verdict(P50, 2.0), Verdict::Worse);
    assert_eq!(verdict(Cpu, 0.5), Verdict::Better);
    let trips = |a: f64, b: f64| alone(RoundTrips, &level(a), &level(b));
    // Of what may be zero a hundredth of a round trip is alike, whatever the share.
    let none = trips(0.01, 0.02);
    assert_eq!((none.verdict, none.ratio), (Verdict::Alike, None));
    assert_eq!(trips(1.0, 2.0).verdict, Verdict::Worse);
    assert_eq!(trips(2.0, 1.0).verdict, Verdict::Better);
}

#[test]
fn a_wide_interval_leaves_it_open_and_tells_how_small_a_difference_would_have_shown() {
    let wide = [60.0, 140.0, 90.0, 110.0];
    let places = [both(one(Quantity::P50, &wide), one(Quantity::P50, &wide))];
    let (mut held, _) = judged(judge::held(&places, &one_machine(), TERMS), vec![], TERMS);
    judge::tell_smallest(&mut held, TERMS.risk);
    let figure = held.remove(0).figure;
    assert_eq!(figure.verdict, Verdict::CannotTell);
    assert_eq!(figure.open, Some(Open::Wide));
    let ratio = figure.ratio.expect("an interval");
    let half = ratio.high.expect("an end") - 1.0;
    assert!(figure.smallest_shown > Some(half), "{figure:?}");
}

#[test]
fn without_an_interval_it_is_told_why() {
    let of = |a: &[f64], b: &[f64]| {
        let figure = alone(Quantity::P50, a, b);
        assert_eq!((figure.verdict, figure.ratio), (Verdict::CannotTell, None));
        figure.open
    };
    let rounds = level(100.0);
    assert_eq!(of(&rounds[..1], &rounds), Some(Open::OneRound(Which::A)));
    assert_eq!(of(&rounds, &rounds[..1]), Some(Open::OneRound(Which::B)));
    assert_eq!(of(&rounds, &[]), Some(Open::Lacks(Which::B)));
    assert_eq!(of(&rounds, &[0.0, 1.0]), Some(Open::Zero));
    let mut lacks = one(Quantity::P50, &rounds);
    lacks.rounds = 5;
    let figure = &of_both(lacks, one(Quantity::P50, &rounds));
    assert_eq!(figure.open, Some(Open::LacksInARound(Which::A)));
}

fn of_both(a: Measured, b: Measured) -> Figure {
    of(&[both(a, b)]).remove(0)
}

/// A cell whose latency is so many times A's, among others.
fn among(times: f64, others: &[f64]) -> Figure {
    let pair = |times: f64| {
        let (a, b) = (level(100.0), level(100.0 * times));
        both(one(Quantity::P50, &a), one(Quantity::P50, &b))
    };
    let mut places: Vec<Both> = others.iter().map(|times| pair(*times)).collect();
    let mut own = pair(times);
    own.place.label = "own".to_owned();
    places.push(own);
    let mut all = of(&places).into_iter();
    all.find(|figure| figure.place.label == "own").expect("it")
}

/// Times by which a cell may differ, a little more each time.
fn more_and_more() -> impl Iterator<Item = f64> {
    (0..100).map(|step| 1.05 + 0.002 * f64::from(step))
}

#[test]
fn what_would_be_a_difference_alone_may_be_chance_as_one_of_many() {
    let is_chance = |times: f64| {
        let (alone, one_of_many) = (among(times, &[]), among(times, &[1.0; 40]));
        alone.verdict == Verdict::Worse && one_of_many.open == Some(Open::AsOneOfMany)
    };
    assert!(more_and_more().any(is_chance));
    assert_eq!(among(1.5, &[1.0; 40]).verdict, Verdict::Worse);
}

/// Holm's rule: what is shown for certain is no rival of what is left.
#[test]
fn others_that_differ_for_certain_leave_more_room() {
    let is_helped = |times: f64| {
        let beside_others = |others: f64| among(times, &[others; 40]).verdict;
        beside_others(1.0) == Verdict::CannotTell && beside_others(9.0) == Verdict::Worse
    };
    assert!(more_and_more().any(is_helped));
}

#[test]
fn what_matters_comes_first() {
    let pair = |times: f64| {
        let (a, b) = (level(100.0), level(100.0 * times));
        both(one(Quantity::P50, &a), one(Quantity::P50, &b))
    };
    let all = of(&[1.0, 0.5, 2.0, 3.0].map(pair));
    let verdicts: Vec<Verdict> = all.iter().map(|figure| figure.verdict).collect();
    let (worse, better, alike) = (Verdict::Worse, Verdict::Better, Verdict::Alike);
    assert_eq!(verdicts, [worse, worse, better, alike]);
    assert!(all[0].b > all[1].b, "the largest first");
}

fn normal(random: &mut Random) -> f64 {
    let mut even = || random.random_range(f64::MIN_POSITIVE..1.0);
    let angle = std::f64::consts::TAU * even();
    (-2.0 * even().ln()).sqrt() * angle.cos()
}

/// How a made-up host and its servers stray, as shares.
#[derive(Clone, Copy)]
struct Strays {
    /// From round to round, each figure for itself.
    rounds: f64,
    /// The host, which is in the next round much as it was in this one.
    host: f64,
    /// What a run has of its own: all of it, and each of its cells.
    run: f64,
    cell: f64,
}

const CELLS: usize = 6;
const FIGURES: [Quantity; 4] = [
    Quantity::Throughput,
    Quantity::P50,
    Quantity::P95,
    Quantity::Cpu,
];

/// A run of four rounds, of six cells with four figures each.
fn run(random: &mut Random, strays: Strays, first_cell: f64) -> Vec<Measured> {
    const FOLLOWS: f64 = 0.7;
    let anew = (1.0 - FOLLOWS * FOLLOWS).sqrt();
    let mut host = normal(random);
    let levels: Vec<f64> = (0..4)
        .map(|_| {
            host = FOLLOWS * host + anew * normal(random);
            strays.host * host
        })
        .collect();
    let run = strays.run * normal(random);
    let cell = |number: usize| {
        let level = if number == 0 { first_cell.ln() } else { 0.0 };
        let level = level + run + strays.cell * normal(random);
        let mut value = |host: &f64| (level + host + strays.rounds * normal(random)).exp();
        let mut figure = |quantity| {
            let values: Vec<f64> = levels.iter().map(&mut value).collect();
            (quantity, by_round(&values))
        };
        Measured {
            rounds: 4,
            figures: FIGURES.map(&mut figure).into(),
            ..Measured::default()
        }
    };
    (0..CELLS).map(cell).collect()
}

/// Figures of a pair of runs, the first cell of the second being so many times the first's.
fn pair(random: &mut Random, strays: Strays, first_cell: f64) -> Vec<Both> {
    let (a, b) = (run(random, strays, 1.0), run(random, strays, first_cell));
    a.into_iter().zip(b).map(|(a, b)| both(a, b)).collect()
}

fn is_difference(figure: &Figure) -> bool {
    matches!(figure.verdict, Verdict::Better | Verdict::Worse)
}

/// Hosts as noisy as a small shared one. What a run has of its own is what is allowed for.
const NOISY: Strays = Strays {
    rounds: 0.03,
    host: 0.03,
    run: 0.007,
    cell: 0.007,
};

#[test]
fn two_runs_of_one_build_rarely_seem_to_differ() {
    const PAIRS: usize = 400;
    let mut random = Random::seed_from_u64(20);
    let (mut wolves, mut naive) = (0, 0);
    for _ in 0..PAIRS {
        let places = pair(&mut random, NOISY, 1.0);
        wolves += usize::from(of(&places).iter().any(is_difference));
        naive += usize::from(seems_to_differ_by_its_rounds_alone(&places));
    }
    println!("{wolves} of {PAIRS} pairs; by their rounds alone {naive}");
    assert!(wolves * 20 <= PAIRS, "{wolves} of {PAIRS}");
    assert!(naive * 20 > PAIRS, "the check can fail: {naive} of {PAIRS}");
}

/// As if a run strayed from the next no more than its rounds tell, and had no drift.
fn seems_to_differ_by_its_rounds_alone(places: &[Both]) -> bool {
    use crate::analysis::interval::two_runs::{Drift, TwoRuns};
    let figures = places.iter().flat_map(|both| {
        let all = both.a.figures.iter();
        all.filter_map(move |(quantity, a)| {
            let of = |rounds: &ByRound| rounds.values().copied().collect::<Vec<f64>>();
            let (a, b) = (of(a), of(&both.b.figures[quantity]));
            TwoRuns::of([&a, &b], [Drift::default(); 2], 0.0, quantity.noise())
        })
    });
    let figures: Vec<TwoRuns> = figures.collect();
    let risk = Risk::ONE_LOOK.shared_by(figures.len());
    figures.iter().any(|two| two.differ(risk))
}

#[test]
fn a_difference_of_a_fifth_is_found_in_four_rounds() {
    const PAIRS: usize = 100;
    const QUIET: Strays = Strays {
        rounds: 0.02,
        host: 0.01,
        ..NOISY
    };
    let mut random = Random::seed_from_u64(21);
    let found = (0..PAIRS).filter(|_| {
        let mut places = pair(&mut random, QUIET, 1.2);
        places[0].place.label = "slower".to_owned();
        let all = of(&places);
        let slower = all.iter().filter(|figure| figure.place.label == "slower");
        slower.filter(|figure| is_difference(figure)).count() >= 3
    });
    let found = found.count();
    println!("{found} of {PAIRS}");
    assert!(found * 10 >= PAIRS * 9, "{found} of {PAIRS}");
}

// Whole records.

fn asked(limits: &[&str]) -> Asked {
    let limits = limits
        .iter()
        .map(|text| Limit::parse(text).expect("a limit"));
    Asked {
        limits: limits.collect(),
        ..Asked::default()
    }
}

fn diff(a: &Record, b: &Record) -> Result<Diff, Refusal> {
    compare((a, "a.acklab"), (b, "b.acklab"), &asked(&[]))
}

/// The same servers on another day; a group takes half again as much work there.
fn slower_group() -> Record {
    let mut truths = six();
    truths[3].work_us *= 1.5;
    let example = Example {
        truths,
        ..Example::default()
    };
    let mut record = example.record();
    record.header.started_unix_ms += 86_400_000;
    record
}

#[test]
fn a_record_held_against_itself_has_no_difference() {
    let record = Example::anatomy().record();
    let told = diff(&record, &record).expect("a comparison");
    assert!(told.is_same_run);
    assert_eq!((told.counts.worse, told.counts.better), (0, 0));
    assert!(told.counts.alike > 0, "{:?}", told.counts);
    assert_eq!((&told.only_in_a, &told.differs), (&vec![], &vec![]));
}

#[test]
fn what_became_slower_is_found_where_it_did() {
    let (a, b) = (Example::default().record(), slower_group());
    let told = diff(&a, &b).expect("a comparison");
    assert!(!told.is_same_run);
    let worse: Vec<&Figure> = (told.figures.iter())
        .filter(|figure| figure.verdict == Verdict::Worse)
        .collect();
    assert!(worse.len() >= 6, "{:?}", told.counts);
    let is_latency = |quantity| matches!(quantity, Quantity::P50 | Quantity::P95 | Quantity::P99);
    for figure in &worse {
        let name = (&figure.place.label[..], is_latency(figure.quantity));
        assert_eq!(name, ("mysql group", true), "{figure:?}");
    }
    assert_eq!((told.counts.better, told.counts.worse), (0, worse.len()));
    assert_eq!(told.figures[0].verdict, Verdict::Worse);
    let trips = told
        .figures
        .iter()
        .filter(|f| f.quantity == Quantity::RoundTrips);
    assert_eq!(trips.clone().count(), 6);
    assert!(trips.clone().all(|figure| figure.verdict == Verdict::Alike));
    let back = diff(&b, &a).expect("a comparison");
    assert_eq!((back.counts.worse, back.counts.better), (0, worse.len()));
}

#[test]
fn what_things_are_called_decides_nothing() {
    let (a, b) = (Example::default().record(), slower_group());
    let mut renamed = b.clone();
    let study = &mut renamed.header.study;
    for spec in &mut study.modes {
        spec.label = spec.label.chars().rev().collect();
    }
    for cell in &mut renamed.header.cells {
        cell.id = cell.id.chars().rev().collect();
        cell.distances.label = "somewhere".to_owned();
    }
    let (told, again) = (diff(&a, &b), diff(&a, &renamed));
    let (told, again) = (told.expect("one"), again.expect("another"));
    assert_eq!(told.counts, again.counts);
    assert_eq!(again.figures[0].label_b.as_deref(), Some("puorg lqsym"));
}

#[test]
fn cells_of_one_record_alone_are_listed() {
    let a = Example::default().record();
    let example = Example {
        truths: six().into_iter().take(5).collect(),
        ..Example::default()
    };
    let told = diff(&a, &example.record()).expect("a comparison");
    assert_eq!((told.only_in_a.len(), told.only_in_b.len()), (3, 0));
    assert!(
        told.only_in_a
            .iter()
            .all(|place| place.label == "mariadb galera")
    );
}

#[test]
fn what_is_not_comparable_is_refused() {
    let a = Example::default().record();
    let other = |change: &dyn Fn(&mut Example)| {
        let mut example = Example::default();
        change(&mut example);
        diff(&a, &example.record()).expect_err("a refusal")
    };
    let far = other(&|example: &mut Example| example.distances = vec![equal(99.0)]);
    assert_eq!(far, Refusal::NothingInCommon(vec![Axis::Distances]));
    let reads = other(&|example: &mut Example| {
        example.workload = Workload::sysbench(SysbenchLoad::PointSelect)
    });
    assert_eq!(reads, Refusal::NothingInCommon(vec![Axis::Workload]));
    let mut long = a.clone();
    long.header.study.measure = Duration::from_secs(60);
    let windows = [Duration::from_secs(3), Duration::from_secs(60)];
    assert_eq!(diff(&a, &long), Err(Refusal::Windows(windows)));
    long.header.study.measure = Duration::from_secs(5);
    assert!(diff(&a, &long).is_ok(), "it means the same");
    let mut empty = a.clone();
    empty.measurements.clear();
    assert_eq!(diff(&empty, &a), Err(Refusal::NothingMeasured(Which::A)));
}

#[test]
fn one_round_tells_nothing_and_says_so() {
    let a = Example::default().record();
    let mut b = a.clone();
    b.measurements.retain(|one| one.round == 0);
    let told = diff(&a, &b).expect("a comparison");
    assert_eq!(told.counts.cannot_tell, told.counts.figures);
    let is_of_one = |figure: &Figure| figure.open == Some(Open::OneRound(Which::B));
    assert!(told.figures.iter().all(is_of_one));
}

#[test]
fn a_cell_that_one_run_did_not_reach_is_open() {
    let a = Example::default().record();
    let mut b = a.clone();
    b.measurements.retain(|one| one.cell != 3);
    let told = diff(&a, &b).expect("a comparison");
    let lacks = told.figures.iter();
    let lacks = lacks.filter(|figure| figure.open == Some(Open::Lacks(Which::B)));
    assert!(lacks.count() >= 5);
}

#[test]
fn a_limit_is_exceeded_kept_or_open() {
    let (a, b) = (Example::default().record(), slower_group());
    let came = |limits: &[&str]| {
        let told = compare((&a, "a"), (&b, "b"), &asked(limits)).expect("a comparison");
        let exceeded = |came: &told::LimitCame| {
            let places = came.exceeded.iter();
            let labels = places.map(|at| told.figures[*at].place.label.clone());
            labels.collect::<Vec<String>>()
        };
        let all = told.limits.iter();
        let all = all.map(|came| (came.verdict, exceeded(came)));
        all.collect::<Vec<_>>()
    };
    let found = came(&["p50:+10%", "p50:+50%", "cpu:+5%", "throughput:-5%"]);
    let verdicts: Vec<LimitVerdict> = found.iter().map(|(verdict, _)| *verdict).collect();
    let (exceeded, kept) = (LimitVerdict::Exceeded, LimitVerdict::Kept);
    // The host of the example gets slower by a tenth in each round.
    assert_eq!(verdicts, [exceeded, kept, kept, LimitVerdict::CannotTell]);
    let labels = &found[0].1;
    assert!(!labels.is_empty() && labels.iter().all(|label| label == "mysql group"));
    let mut few = (a.clone(), b.clone());
    for cell in few.0.header.cells.iter_mut().chain(&mut few.1.header.cells) {
        cell.pace = Some(Duration::from_millis(20));
    }
    let paced = compare((&few.0, "a"), (&few.1, "b"), &asked(&["throughput:-5%"]));
    let paced = paced.expect("a comparison").limits;
    assert_eq!(
        paced[0].verdict,
        LimitVerdict::CannotTell,
        "nothing to look at"
    );
}

#[test]
fn faults_of_both_are_compared_and_controls_are_not() {
    let record = worth::example();
    let told = diff(&record, &record).expect("a comparison");
    let names: Vec<&str> = told.trials.iter().map(|one| &one.fault[..]).collect();
    assert!(
        names.contains(&"writer-dies") && !names.contains(&"no-fault"),
        "{names:?}"
    );
    let is_open = |one: &TrialsHeld| one.verdict == Verdict::CannotTell && one.a == one.b;
    assert!(told.trials.iter().all(is_open));
    let mut other = record.clone();
    other.campaigns.clear();
    let told = diff(&record, &other).expect("a comparison");
    assert!(told.trials.is_empty());
    assert!(
        told.not_compared[0].starts_with("faults that A alone has tried"),
        "{told:?}"
    );
}

// Several machines.

/// The example's rounds dealt out to so many machines, none of which gets slower; on each of them
/// everything takes as many times as long as `slower` says of its number.
fn on_machines(rounds: u32, machines: u32, slower: fn(u32) -> f64) -> Record {
    let example = Example {
        rounds,
        ..Example::default()
    };
    let mut record = example.record();
    for one in &mut record.measurements {
        let host = 0.9_f64.powi(one.round as i32) * slower(one.round % machines + 1);
        one.round += 1;
        one.commits = (one.commits as f64 / host) as u64;
    }
    let facts = |part: PartOf| PartFacts {
        part,
        command_line: vec![],
        started_unix_ms: 0,
        host: Host {
            machine: Some(part.to_string()),
            ..Host::default()
        },
        self_test: None,
        labs: vec![],
    };
    record.header.parts = PartOf::all(machines).map(facts).collect();
    record
}

/// Throughput of all cells, and whether a limit of it is kept.
fn throughputs(a: &Record, b: &Record) -> (Vec<Figure>, LimitVerdict) {
    let asked = asked(&["throughput:-20%"]);
    let told = compare((a, "a"), (b, "b"), &asked).expect("a comparison");
    let mut all = told.figures;
    all.retain(|figure| figure.quantity == Quantity::Throughput);
    (all, told.limits[0].verdict)
}

/// Twelve rounds of a machine on which all takes twice as long are no twelve machines.
#[test]
fn rounds_of_a_few_machines_tell_nothing_of_others() {
    let fast: fn(u32) -> f64 = |_| 1.0;
    let slow: fn(u32) -> f64 = |number| if number == 2 { 2.0 } else { 1.9 };
    let one = on_machines(12, 1, fast);
    let pairs = [
        (one.clone(), on_machines(12, 2, slow)),
        (on_machines(12, 3, fast), on_machines(12, 3, slow)),
        (on_machines(12, 6, fast), one.clone()),
    ];
    for (a, b) in &pairs {
        for (a, b) in [(a, b), (b, a)] {
            let (figures, limit) = throughputs(a, b);
            let is_open = |figure: &Figure| {
                let told = (figure.verdict, figure.open, figure.ratio);
                told == (Verdict::CannotTell, Some(Open::SeveralMachines), None)
            };
            assert!(
                !figures.is_empty() && figures.iter().all(is_open),
                "{figures:?}"
            );
            assert_eq!(limit, LimitVerdict::CannotTell);
        }
    }
    let (figures, limit) = throughputs(&one, &on_machines(12, 1, |_| 2.0));
    assert!(
        figures
            .iter()
            .all(|figure| figure.verdict == Verdict::Worse)
    );
    assert_eq!(limit, LimitVerdict::Exceeded);
}

/// Six machines each: what differs on all of them is told, and machines count, not rounds.
#[test]
fn machines_are_held_against_machines() {
    let fast = on_machines(12, 6, |_| 1.0);
    let (figures, limit) = throughputs(&fast, &on_machines(12, 6, |_| 3.0));
    assert!(
        figures
            .iter()
            .all(|figure| figure.verdict == Verdict::Worse)
    );
    assert_eq!(limit, LimitVerdict::Exceeded);
    // One machine in six is another: of rounds it is two in twelve, again and again.
    let uneven: fn(u32) -> f64 = |number| if number == 1 { 9.0 } else { 1.0 };
    let width = |rounds| {
        let (figures, _) = throughputs(&fast, &on_machines(rounds, 6, uneven));
        let of = figures[0].ratio.expect("an interval");
        of.high.expect("an end") / of.low.expect("an end")
    };
    assert!(
        width(48) > 0.7 * width(12),
        "more rounds are no more machines"
    );
}
