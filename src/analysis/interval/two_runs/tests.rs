use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

type Random = ChaCha8Rng;
/// Draws one value of noise.
type Shape = fn(&mut Random) -> f64;

const PAIRS: u32 = 2_000;
/// As other intervals are to hold.
const NEEDED: f64 = 0.93;
const CELLS: usize = 5;

fn even(random: &mut Random) -> f64 {
    random.random_range(f64::MIN_POSITIVE..1.0)
}

fn normal(random: &mut Random) -> f64 {
    let angle = std::f64::consts::TAU * even(random);
    (-2.0 * even(random).ln()).sqrt() * angle.cos()
}

/// Some rounds are far slower: another guest of the host woke up.
fn disturbed(random: &mut Random) -> f64 {
    let undisturbed = normal(random);
    undisturbed - if even(random) < 0.1 { 8.0 } else { 0.0 }
}

/// Only ever slower: skewed to one side.
fn slower(random: &mut Random) -> f64 {
    even(random).ln()
}

const SHAPES: [(&str, Shape); 4] = [
    ("normal", normal),
    ("even", |random| even(random) - 0.5),
    ("skewed", slower),
    ("10 % disturbed", disturbed),
];

/// Five cells of a run in so many rounds of a host that strays, and is in the next round much as
/// in this one.
fn run(random: &mut Random, rounds: u32, shape: Shape) -> Vec<BTreeMap<u32, f64>> {
    let mut host = normal(random);
    let mut cells = vec![BTreeMap::new(); CELLS];
    let own = 0.01 * normal(random);
    for round in 1..=rounds {
        host = 0.6 * host + 0.8 * normal(random);
        for cell in &mut cells {
            let level = own + 0.02 * host + 0.02 * shape(random);
            cell.insert(round, 750.0 * level.exp());
        }
    }
    cells
}

/// The first cell of a second run, so many times as fast, over that of a first one.
fn held(random: &mut Random, rounds: u32, shape: Shape, times: f64) -> TwoRuns {
    let (first, mut second) = (run(random, rounds, shape), run(random, rounds, shape));
    for value in second.iter_mut().flat_map(|cell| cell.values_mut()) {
        *value *= times;
    }
    let both = [&first, &second];
    let drifts = both.map(|run| Drift::of(&run.iter().collect::<Vec<_>>(), Noise::Multiplies));
    let values = both.map(|run| run[0].values().copied().collect::<Vec<f64>>());
    let [one, other] = &values;
    let two = TwoRuns::of([one, other], drifts, 0.01, Noise::Multiplies);
    two.expect("an interval")
}

#[test]
fn the_interval_holds_what_the_second_run_is_over_the_first() {
    let mut random = Random::seed_from_u64(4);
    for (name, shape) in SHAPES {
        for rounds in [3, 4, 8] {
            let holds = (0..PAIRS).filter(|_| {
                let two = held(&mut random, rounds, shape, 1.25);
                two.estimate(Risk::ONE_LOOK).excludes(1.25) == Some(false)
            });
            let share = holds.count() as f64 / f64::from(PAIRS);
            println!("{name}, {rounds} rounds: {share:.3}");
            assert!(share >= NEEDED, "{name}, {rounds} rounds: {share}");
        }
    }
}

#[test]
fn what_all_cells_share_in_a_round_is_drift_and_what_one_has_for_itself_is_not() {
    let by_round = |values: [f64; 4]| (1..).zip(values).collect::<BTreeMap<u32, f64>>();
    let (up, down) = (
        by_round([1.0, 2.0, 3.0, 4.0]),
        by_round([4.0, 3.0, 2.0, 1.0]),
    );
    let together = Drift::of(&[&up, &up], Noise::Adds);
    assert!((together.variance - 5.0 / 3.0).abs() < 1e-12 && together.freedom == 3.0);
    assert!(Drift::of(&[&up, &down], Noise::Adds).variance < 1e-12);
    let once = BTreeMap::from([(1, 7.0)]);
    assert_eq!(Drift::of(&[&once], Noise::Adds), Drift::default());
    assert_eq!(Drift::of(&[], Noise::Adds), Drift::default());
}

/// A textbook's: Welch's error and degrees of freedom.
#[test]
fn without_drift_and_with_runs_that_do_not_stray_it_is_welchs() {
    let (first, second) = ([1.0, 2.0, 3.0, 4.0], [11.0, 13.0, 15.0]);
    let none = [Drift::default(); 2];
    let two = TwoRuns::of([&first, &second], none, 0.0, Noise::Adds).expect("an interval");
    // Variances of means: 5/12 and 4/3, with 3 and 2 degrees of freedom.
    assert!((two.error.powi(2) - 1.75).abs() < 1e-12);
    let freedom =
        1.75_f64.powi(2) / ((5.0_f64 / 12.0).powi(2) / 3.0 + (4.0_f64 / 3.0).powi(2) / 2.0);
    assert!((two.freedom - freedom).abs() < 1e-9);
    assert!((two.means - 10.5).abs() < 1e-12 && two.differ(Risk::ONE_LOOK));
}

#[test]
fn counts_that_never_stray_are_not_told_apart_by_less_than_runs_stray() {
    let flushes = |level: f64| [level; 4];
    let none = [Drift::default(); 2];
    let of = |level: f64| {
        let (first, second) = (flushes(3.0), flushes(level));
        TwoRuns::of([&first, &second], none, 0.01, Noise::Multiplies).expect("an interval")
    };
    assert!(!of(3.05).differ(Risk::ONE_LOOK) && of(3.2).differ(Risk::ONE_LOOK));
    let exact = of(3.0).estimate(Risk::ONE_LOOK);
    assert!((exact.median - 1.0).abs() < 1e-12 && exact.is_within(0.05));
}

#[test]
fn a_stricter_interval_is_never_narrower_and_shows_only_more() {
    let two = held(&mut Random::seed_from_u64(9), 4, normal, 1.0);
    let mut last = two.estimate(Risk::ONE_LOOK);
    let mut smallest = two.smallest_shown(Risk::ONE_LOOK);
    for figures in 2..100 {
        let risk = Risk::ONE_LOOK.shared_by(figures);
        let (next, least) = (two.estimate(risk), two.smallest_shown(risk));
        assert!(next.low <= last.low && next.high >= last.high && least >= smallest);
        (last, smallest) = (next, least);
    }
}

#[test]
fn less_than_two_rounds_or_what_has_no_ratio_has_no_interval() {
    let none = [Drift::default(); 2];
    let of = |first: &[f64], second: &[f64]| {
        TwoRuns::of([first, second], none, 0.01, Noise::Multiplies).is_some()
    };
    assert!(of(&[1.0, 2.0], &[1.0, 2.0]));
    assert!(!of(&[1.0], &[1.0, 2.0]) && !of(&[1.0, 2.0], &[]));
    assert!(!of(&[1.0, 0.0], &[1.0, 2.0]) && !of(&[1.0, f64::NAN], &[1.0, 2.0]));
}

/// What one pair holds for the smallest is drawn from its own noise; over many it comes out right.
#[test]
fn a_difference_as_small_as_told_is_shown_by_four_of_five() {
    let mut random = Random::seed_from_u64(13);
    let pair = |random: &mut Random, times: f64| {
        let mut rounds = || {
            (0..6)
                .map(|_| (0.02 * normal(random)).exp())
                .collect::<Vec<f64>>()
        };
        let (first, second) = (rounds(), rounds());
        let second: Vec<f64> = second.iter().map(|value| value * times).collect();
        let none = [Drift::default(); 2];
        let two = TwoRuns::of([&first, &second], none, 0.0, Noise::Multiplies);
        two.expect("an interval")
    };
    let told = (0..200).map(|_| pair(&mut random, 1.0).smallest_shown(Risk::ONE_LOOK));
    let squares: Vec<f64> = told.map(|share| share.ln_1p().powi(2)).collect();
    let planted = (squares.iter().sum::<f64>() / squares.len() as f64)
        .sqrt()
        .exp();
    let shown = (0..PAIRS).filter(|_| pair(&mut random, planted).differ(Risk::ONE_LOOK));
    let share = shown.count() as f64 / f64::from(PAIRS);
    println!("{planted:.4} shown by {share:.3}");
    assert!((0.74..0.86).contains(&share), "{share}");
}
