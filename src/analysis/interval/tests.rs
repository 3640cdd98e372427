use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

pub type Random = ChaCha8Rng;
/// Draws one value of noise.
pub type Shape = fn(&mut Random) -> f64;

fn even(random: &mut Random) -> f64 {
    random.random_range(f64::MIN_POSITIVE..1.0)
}

fn normal(random: &mut Random) -> f64 {
    let angle = std::f64::consts::TAU * even(random);
    (-2.0 * even(random).ln()).sqrt() * angle.cos()
}

fn exponential(random: &mut Random) -> f64 {
    -even(random).ln()
}

fn laplace(random: &mut Random) -> f64 {
    exponential(random) - exponential(random)
}

/// Student's t with three degrees of freedom: heavy tails.
fn heavy(random: &mut Random) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / 3.0).sqrt()
}

/// Only ever slower: skewed to one side.
fn slower(random: &mut Random) -> f64 {
    std::f64::consts::LN_2 - exponential(random)
}

fn much_slower(random: &mut Random) -> f64 {
    1.0 - normal(random).exp()
}

/// Some rounds are far slower: another guest of the host woke up.
fn disturbed(random: &mut Random, share: f64, shift: f64) -> f64 {
    let undisturbed = normal(random) + shift;
    undisturbed - if even(random) < share { 8.0 } else { 0.0 }
}

/// Noise in log rate, of median zero. `shift` puts the median of disturbed noise there.
pub const SHAPES: [(&str, Shape); 9] = [
    ("normal", normal),
    ("even", |random| even(random) - 0.5),
    ("laplace", laplace),
    ("heavy tails", heavy),
    ("skewed", slower),
    ("very skewed", much_slower),
    ("5 % disturbed", |random| disturbed(random, 0.05, 0.0660)),
    ("10 % disturbed", |random| disturbed(random, 0.10, 0.1397)),
    ("25 % disturbed", |random| disturbed(random, 0.25, 0.4307)),
];

const STUDIES: u32 = 20_000;
pub const NEEDED: f64 = 0.93;

/// The share of studies that `holds`.
pub fn share(seed: u64, mut holds: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random::seed_from_u64(seed);
    let held = (0..STUDIES).filter(|_| holds(&mut random)).count();
    held as f64 / f64::from(STUDIES)
}

/// How often the interval over `rounds` holds a true rate of 750 per s, with 2 % noise.
fn coverage(rounds: usize, shape: Shape) -> f64 {
    share(rounds as u64, |random| {
        let rates: Vec<f64> = (0..rounds)
            .map(|_| 750.0 * (0.02 * shape(random)).exp())
            .collect();
        let estimate = estimate(&rates, Noise::Multiplies, Risk::ONE_LOOK).unwrap();
        estimate.excludes(750.0) == Some(false)
    })
}

#[test]
fn intervals_hold_the_true_rate_at_2_to_12_rounds_under_every_noise() {
    for (name, shape) in SHAPES {
        let covered: Vec<f64> = (2..=12).map(|rounds| coverage(rounds, shape)).collect();
        println!("{name:15} {covered:.3?}");
        assert!(
            covered.iter().all(|share| *share >= NEEDED),
            "{name} {covered:?}"
        );
    }
}

#[test]
fn the_check_would_catch_a_percentile_bootstrap_like_interval() {
    // Smallest to largest of three rounds: what a percentile bootstrap comes down to.
    let covered = share(1, |random| {
        let rates = [normal(random), normal(random), normal(random)];
        let sorted = sorted(&rates);
        sorted[0] <= 0.0 && sorted[2] >= 0.0
    });
    assert!(covered < 0.80, "{covered}");
}

/// Rates of two modes in `rounds` of a host that gets faster and slower from round to round.
fn drifting(random: &mut Random, rounds: usize, true_ratio: f64) -> Vec<(f64, f64)> {
    let mut host = 0.0;
    (0..rounds)
        .map(|_| {
            host += 0.1 * normal(random);
            let base = 750.0 * (host + 0.01 * normal(random)).exp();
            let mode = 750.0 * true_ratio * (host + 0.01 * heavy(random)).exp();
            (mode, base)
        })
        .collect()
}

fn width(estimate: Estimate) -> f64 {
    estimate.high.unwrap() - estimate.low.unwrap()
}

#[test]
fn pairing_by_round_cancels_the_drift_of_the_host() {
    for rounds in 2..=8 {
        let (mut paired_width, mut alone_width) = (0.0, 0.0);
        let covered = share(rounds as u64, |random| {
            let rates = drifting(random, rounds, 0.8);
            let ratios: Vec<f64> = rates.iter().map(|(mode, base)| mode / base).collect();
            let alone: Vec<f64> = rates.iter().map(|(mode, _)| mode / 750.0).collect();
            let paired = estimate(&ratios, Noise::Multiplies, Risk::ONE_LOOK).unwrap();
            paired_width += width(paired).min(10.0);
            alone_width +=
                width(estimate(&alone, Noise::Multiplies, Risk::ONE_LOOK).unwrap()).min(10.0);
            paired.excludes(0.8) == Some(false)
        });
        println!("{rounds} rounds: {covered:.3}, paired {paired_width:.0} alone {alone_width:.0}");
        assert!(covered >= NEEDED, "{rounds} rounds: {covered}");
        assert!(paired_width < alone_width / 2.0, "{rounds} rounds");
    }
}

#[test]
fn a_true_ratio_of_one_is_rarely_called_a_difference() {
    for rounds in 2..=8 {
        let wrong = share(rounds as u64, |random| {
            let ratios = drifting(random, rounds, 1.0)
                .into_iter()
                .map(|(a, b)| a / b);
            let ratios: Vec<f64> = ratios.collect();
            estimate(&ratios, Noise::Multiplies, Risk::ONE_LOOK)
                .unwrap()
                .excludes(1.0)
                == Some(true)
        });
        assert!(wrong <= 1.0 - NEEDED, "{rounds} rounds: {wrong}");
    }
}

#[test]
fn slopes_near_zero_are_covered_as_well() {
    for rounds in 2..=8 {
        let covered = share(rounds as u64, |random| {
            let slopes: Vec<f64> = (0..rounds).map(|_| 0.02 * heavy(random)).collect();
            estimate(&slopes, Noise::Adds, Risk::ONE_LOOK)
                .unwrap()
                .excludes(0.0)
                == Some(false)
        });
        assert!(covered >= NEEDED, "{rounds} rounds: {covered}");
    }
}

/// A published table's, at 96 %.
#[test]
fn the_factors_are_students() {
    let table = [15.895, 4.849, 3.482, 2.999, 2.757, 2.612, 2.517];
    for (rounds, factor) in (2..).zip(table) {
        let own = Risk::ONE_LOOK.student(rounds);
        assert!((own - factor).abs() < 6e-4, "{rounds} rounds: {own}");
    }
}

/// A run that ends at the first look at which its figure is narrow; the interval at its end.
fn until(random: &mut Random, narrow: f64, shape: Shape, risk: Risk) -> Estimate {
    let mut rates = Vec::new();
    loop {
        rates.push(750.0 * (0.02 * shape(random)).exp());
        let rounds = rates.len() as u32;
        if !LOOKS.contains(&rounds) {
            continue;
        }
        let found = estimate(&rates, Noise::Multiplies, risk).unwrap();
        if width(found) / 2.0 <= narrow * found.median || Some(&rounds) == LOOKS.last() {
            return found;
        }
    }
}

#[test]
fn a_run_that_ends_when_its_figure_is_narrow_holds_the_true_rate_as_often() {
    for (name, shape) in SHAPES {
        let covered = [0.01, 0.015, 0.02, 0.03, 0.05].map(|narrow| {
            share(7, |random| {
                let found = until(random, narrow, shape, Risk::EACH_LOOK);
                found.excludes(750.0) == Some(false)
            })
        });
        println!("{name:15} {covered:.3?}");
        assert!(
            covered.iter().all(|share| *share >= NEEDED),
            "{name} {covered:?}"
        );
    }
}

/// How often a look at a true ratio of one calls it a difference.
fn wrong_at_some_look(risk: Risk) -> f64 {
    share(11, |random| {
        let ratios: Vec<f64> = (0..16).map(|_| (0.02 * normal(random)).exp()).collect();
        LOOKS.iter().any(|look| {
            let seen = &ratios[..*look as usize];
            let found = estimate(seen, Noise::Multiplies, risk).unwrap();
            found.excludes(1.0) == Some(true)
        })
    })
}

#[test]
fn all_looks_together_rarely_call_a_true_ratio_of_one_a_difference() {
    let (paid, unpaid) = (
        wrong_at_some_look(Risk::EACH_LOOK),
        wrong_at_some_look(Risk::ONE_LOOK),
    );
    println!("{paid:.3}, looks not paid for {unpaid:.3}");
    assert!(
        paid <= 1.0 - NEEDED && unpaid > 1.0 - NEEDED,
        "{paid} {unpaid}"
    );
}

/// What one run holds for the smallest is drawn from its own noise; over many they come out right.
#[test]
fn a_difference_as_small_as_told_is_shown_by_four_of_five() {
    // Beyond eight rounds intervals are of order statistics, which the smallest difference takes
    // for Student's: it is told a little less exactly.
    let (exact, about) = (0.77..0.83, 0.74..0.86);
    for (rounds, risk, expected) in [
        (4, Risk::ONE_LOOK, &exact),
        (6, Risk::ONE_LOOK, &exact),
        (8, Risk::ONE_LOOK, &exact),
        (12, Risk::EACH_LOOK, &about),
        (16, Risk::EACH_LOOK, &about),
    ] {
        let noise = |random: &mut Random| -> Vec<f64> {
            (0..rounds).map(|_| (0.02 * normal(random)).exp()).collect()
        };
        let mut told = Vec::new();
        share(13, |random| {
            let found = estimate(&noise(random), Noise::Multiplies, risk).unwrap();
            told.extend(smallest_shown(&found, rounds, risk));
            true
        });
        // The square of an error is right on the average, and its root is not.
        let squares = told.iter().map(|share: &f64| share.ln_1p().powi(2));
        let planted = (squares.sum::<f64>() / told.len() as f64).sqrt().exp();
        let shown = share(17, |random| {
            let ratios: Vec<f64> = noise(random).iter().map(|ratio| ratio * planted).collect();
            let found = estimate(&ratios, Noise::Multiplies, risk).unwrap();
            found.excludes(1.0) == Some(true)
        });
        println!("{rounds} rounds: {planted:.4} shown by {shown:.3}");
        assert!(expected.contains(&shown), "{rounds} rounds: {shown}");
    }
}

#[test]
fn of_many_figures_those_left_are_judged_among_what_is_left() {
    let of = |chances: [f64; 3]| {
        let shown = |Risk(risk)| chances.iter().map(|chance| *chance <= risk).collect();
        holm(3, Risk::ONE_LOOK, shown)
    };
    assert_eq!(of([0.012, 0.02, 0.2]), [true, true, false]);
    assert_eq!(
        of([0.02, 0.02, 0.2]),
        [false; 3],
        "none is shown among three"
    );
    assert_eq!(of([0.012, 0.02, 0.04]), [true; 3]);
}

#[test]
fn one_of_many_figures_is_rarely_called_a_difference_by_chance() {
    let wrong = |shape: Shape, rounds: u32, (figures, risk): (usize, Risk)| {
        share(19, |random| {
            (0..figures).any(|_| {
                let ratios: Vec<f64> = (0..rounds).map(|_| (0.02 * shape(random)).exp()).collect();
                let found = estimate(&ratios, Noise::Multiplies, risk).unwrap();
                found.excludes(1.0) == Some(true)
            })
        })
    };
    let one = Risk::ONE_LOOK;
    let alone = wrong(normal, 4, (10, one));
    assert!(alone > 0.2, "{alone}");
    for (name, shape) in SHAPES {
        for (rounds, figures) in [(3, 10), (4, 10), (6, 20), (8, 20)] {
            let shared = wrong(shape, rounds, (figures, one.shared_by(figures)));
            println!("{name}, {rounds} rounds, one of {figures}: {shared:.4}");
            assert!(
                shared <= 1.0 - NEEDED,
                "{name}, {rounds} rounds, {figures}: {shared}"
            );
        }
    }
}

#[test]
fn one_round_has_no_interval_and_none_no_estimate() {
    assert_eq!(estimate(&[], Noise::Adds, Risk::ONE_LOOK), None);
    let one = estimate(&[7.5], Noise::Multiplies, Risk::ONE_LOOK).unwrap();
    assert!((one.median - 7.5).abs() < 1e-12);
    assert_eq!((one.low, one.high, one.excludes(1.0)), (None, None, None));
}

#[test]
fn a_rate_of_zero_takes_the_interval_away_but_not_the_median() {
    let rates = [0.0, 700.0, 800.0];
    let estimate = estimate(&rates, Noise::Multiplies, Risk::ONE_LOOK).unwrap();
    assert_eq!((estimate.median, estimate.low), (700.0, None));
}

#[test]
fn the_interval_always_holds_the_median() {
    let mut random = Random::seed_from_u64(3);
    for rounds in 2..20 {
        for _ in 0..200 {
            let values: Vec<f64> = (0..rounds).map(|_| much_slower(&mut random)).collect();
            let estimate = estimate(&values, Noise::Adds, Risk::ONE_LOOK).unwrap();
            assert_eq!(estimate.excludes(estimate.median), Some(false));
        }
    }
}

#[test]
fn many_rounds_use_order_statistics() {
    let values: Vec<f64> = (1..=12).map(f64::from).collect();
    let estimate = estimate(&values, Noise::Adds, Risk::ONE_LOOK).unwrap();
    assert_eq!((estimate.low, estimate.high), (Some(3.0), Some(10.0)));
}

#[test]
fn a_stricter_interval_is_never_narrower() {
    let figure = |place: u32| {
        if place == 8 {
            0.99
        } else {
            1.1 + 0.002 * f64::from(place)
        }
    };
    for rounds in 2..=12 {
        let values: Vec<f64> = (9 - rounds.min(9)..)
            .take(rounds as usize)
            .map(figure)
            .collect();
        let of = |figures| {
            let risk = Risk::ONE_LOOK.shared_by(figures);
            let found = estimate(&values, Noise::Multiplies, risk).unwrap();
            (found.low.unwrap(), found.high.unwrap())
        };
        for figures in 1..40 {
            let (loose, strict) = (of(figures), of(figures + 1));
            let is_wider = strict.0 <= loose.0 && strict.1 >= loose.1;
            assert!(
                is_wider,
                "{rounds} rounds, {figures} figures: {loose:?} {strict:?}"
            );
        }
    }
}

#[test]
fn a_ratio_at_another_risk_is_as_wide_as_if_it_had_been_told_so() {
    let values = [0.97, 1.02, 1.05, 0.99];
    let at = |risk| estimate(&values, Noise::Multiplies, risk).unwrap();
    let strict = Risk::ONE_LOOK.shared_by(3);
    let found = at_risk(at(Risk::ONE_LOOK), values.len(), (Risk::ONE_LOOK, strict));
    let near = |one: Option<f64>, other: Option<f64>| (one.unwrap() - other.unwrap()).abs() < 1e-9;
    assert!(near(found.low, at(strict).low) && near(found.high, at(strict).high));
}

#[test]
fn the_smallest_difference_is_the_logarithm_of_the_smallest_ratio() {
    let between = |low: f64, high: f64| Estimate {
        median: (low + high) / 2.0,
        low: Some(low),
        high: Some(high),
    };
    let ratio = between((-0.1_f64).exp(), 0.1_f64.exp());
    let share = smallest_shown(&ratio, 6, Risk::ONE_LOOK).unwrap();
    let added = smallest_added(&between(-0.1, 0.1), 6, Risk::ONE_LOOK).unwrap();
    assert!((added - share.ln_1p()).abs() < 1e-9, "{added} {share}");
    assert!(added > 0.1, "more than half the interval");
    let bare = Estimate::without_interval(5.0);
    assert_eq!(smallest_added(&bare, 6, Risk::ONE_LOOK), None);
}
