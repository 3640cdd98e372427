use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::analysis::example::{ALONE, TOGETHER, screened};
use crate::record::Flag;
use crate::study::screen::Design;

fn of(effects: &[Effect], letters: &str) -> Effect {
    let found = effects.iter().find(|effect| effect.of == letters);
    found.unwrap_or_else(|| panic!("no {letters}")).clone()
}

fn median(effect: &Effect) -> f64 {
    effect.ratio.expect("a ratio").median
}

#[test]
fn known_effects_are_found_again() {
    for runs in [16, 32] {
        let effects = summarise(&screened(runs)).remove(0);
        assert_eq!(
            (effects.runs, effects.rounds, effects.main.len()),
            (runs, 4, 5)
        );
        assert_eq!(effects.interactions.len(), 10);
        assert!(
            effects
                .interactions
                .iter()
                .all(|pair| pair.aliases.is_empty())
        );
        // Half of the runs have the other one high.
        let halved = TOGETHER.sqrt();
        for (factor, alone) in ALONE.iter().enumerate() {
            let expected = if factor < 2 { alone * halved } else { *alone };
            let effect = of(&effects.main, &letter(factor).to_string());
            assert!(
                (median(&effect) / expected - 1.0).abs() < 0.01,
                "{effect:?}"
            );
            assert_eq!(effect.shown, Some(expected != 1.0), "{effect:?}");
        }
        for pair in &effects.interactions {
            let expected = if pair.of == "ab" { TOGETHER } else { 1.0 };
            assert!((median(pair) / expected - 1.0).abs() < 0.02, "{pair:?}");
            assert_eq!(pair.shown, Some(pair.of == "ab"), "{pair:?}");
        }
        let size = &effects.factors[4];
        assert_eq!((&size.low[..], &size.high[..]), ("16M", "64M"));
        assert_eq!(size.high_in_force.as_deref(), Some("64M"));
    }
}

#[test]
fn what_cannot_be_told_apart_is_named_once() {
    let effects = summarise(&screened(8)).remove(0);
    assert_eq!(effects.resolution, Some(3));
    let told = effects.main.iter().chain(&effects.interactions);
    let names: Vec<String> = told
        .flat_map(|e| [vec![e.of.clone()], e.aliases.clone()].concat())
        .collect();
    let mut once = names.clone();
    once.sort();
    once.dedup();
    // All five effects and ten pairs, each in one place.
    assert_eq!((names.len(), once.len()), (15, 15), "{names:?}");
    assert!(effects.main.len() + effects.interactions.len() <= 7);
}

#[test]
fn a_round_without_one_of_its_runs_does_not_count() {
    let mut record = screened(16);
    let of_round_two = record.measurements.iter_mut().filter(|m| m.round == 2);
    of_round_two.last().unwrap().flags.push(Flag::LateLinks);
    assert_eq!(summarise(&record)[0].rounds, 3);
    record.measurements.retain(|m| m.round == 0);
    let effects = summarise(&record).remove(0);
    assert!(
        effects
            .main
            .iter()
            .all(|effect| effect.ratio.is_some() && effect.shown.is_none())
    );
    record.measurements.clear();
    let effects = summarise(&record).remove(0);
    assert!(effects.rounds == 0 && effects.main.iter().all(|effect| effect.ratio.is_none()));
}

#[test]
fn a_study_without_a_screen_has_no_effects() {
    let record = crate::analysis::example::Example::default().record();
    assert!(summarise(&record).is_empty());
}

/// A design of that many factors, of resolution V.
fn screen(factors: usize) -> Screen {
    let factor = |index| crate::study::screen::Factor {
        name: letter(index).to_string(),
        low: "0".into(),
        high: "1".into(),
    };
    Screen {
        of: "x".into(),
        factors: (0..factors).map(factor).collect(),
        design: Design::of_resolution(factors, 5),
        runs: vec![],
    }
}

/// Logarithms of throughput: what each set of one or two factors does, and nothing else.
fn truth(screen: &Screen, effects: &BTreeMap<u32, f64>) -> Vec<f64> {
    let of_run = |run| {
        let sum = |(set, effect): (&u32, &f64)| {
            let holds = (0..screen.factors.len())
                .filter(|factor| set >> factor & 1 == 1)
                .all(|factor| screen.design.is_high(run, factor));
            if holds { *effect } else { 0.0 }
        };
        effects.iter().map(sum).sum()
    };
    (0..screen.design.runs()).map(of_run).collect()
}

proptest! {
    #[test]
    fn any_effects_are_recovered(
        factors in 2usize..7,
        sizes in prop::collection::vec(-2.0_f64..2.0, 21),
    ) {
        let screen = screen(factors);
        let all = [sets(&screen, 1), sets(&screen, 2)].concat();
        let truths: BTreeMap<u32, f64> = all.iter().copied().zip(sizes).collect();
        let rounds = vec![truth(&screen, &truths)];
        for pair in effects(&screen, &rounds, 2, Risk::ONE_LOOK) {
            let set = all.iter().find(|set| letters(**set) == pair.of).unwrap();
            prop_assert!((median(&pair).ln() - truths[set]).abs() < 1e-9, "{pair:?}");
        }
        for main in effects(&screen, &rounds, 1, Risk::ONE_LOOK) {
            let set = all.iter().find(|set| letters(**set) == main.of).unwrap();
            // Alone, and half of what it does with each other one.
            let with_others = truths.iter().filter(|(pair, _)| *pair != set && *pair & set != 0);
            let expected = truths[set] + with_others.map(|(_, size)| size / 2.0).sum::<f64>();
            prop_assert!((median(&main).ln() - expected).abs() < 1e-9, "{main:?}");
        }
    }
}

/// In how many of these studies the interval of `a`'s effect, and of that of `a` and `b` together,
/// hold the truth. The host wanders by 10 % from round to round, each run by 2 % and by a slowdown.
fn coverage(rounds: u32) -> [f64; 2] {
    const STUDIES: u32 = 4_000;
    let screen = screen(5);
    let truths = BTreeMap::from([(0b1, 0.3), (0b10, 0.2), (0b11, -0.4)]);
    let clean = truth(&screen, &truths);
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(rounds));
    let mut held = [0; 2];
    for _ in 0..STUDIES {
        let mut round = || {
            let host = 0.2 * (random.random::<f64>() - 0.5);
            let mut noise = || {
                let even = random.random::<f64>() - 0.5;
                0.02 * (even + random.random::<f64>().max(1e-9).ln())
            };
            clean
                .iter()
                .map(|log| log + host + noise())
                .collect::<Vec<f64>>()
        };
        let measured: Vec<Vec<f64>> = (0..rounds).map(|_| round()).collect();
        let main = effect(&screen, &measured, 0b1, Risk::ONE_LOOK)
            .ratio
            .unwrap();
        let pair = effect(&screen, &measured, 0b11, Risk::ONE_LOOK)
            .ratio
            .unwrap();
        for (count, (found, log)) in held.iter_mut().zip([(main, 0.3_f64 - 0.2), (pair, -0.4)]) {
            *count += u32::from(found.excludes(log.exp()) == Some(false));
        }
    }
    held.map(|count| f64::from(count) / f64::from(STUDIES))
}

#[test]
fn intervals_of_effects_hold_the_truth() {
    for rounds in [2, 3, 4, 8] {
        let shares = coverage(rounds);
        println!("{rounds} rounds: {shares:.3?}");
        assert!(
            shares.iter().all(|share| (0.93..0.999).contains(share)),
            "{rounds}: {shares:?}"
        );
    }
}
