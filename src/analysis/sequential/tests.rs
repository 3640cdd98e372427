use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::plan::plan;
use crate::study::written;

/// Five modes of one server at two distances, in as many rounds as there are at most.
fn study(until: Option<f64>, budget: Option<Duration>) -> Study {
    let mode = |name: &str| format!("[[mode]]\nserver = \"mysql\"\nmode = \"{name}\"\n");
    let modes: String = ["single", "async", "semisync", "group"].map(mode).concat();
    let text = format!(
        "rounds = 16\nwarmup = \"1s\"\nmeasure = \"2s\"\n{modes}\
         [[mode]]\nserver = \"mysql\"\nmode = \"group\"\nlabel = \"majority\"\nappliers = 2\n\
         [[sweep]]\nworkload = \"update_index\"\nrtt = [\"1ms\", \"2ms\"]\n"
    );
    Study {
        until,
        budget,
        ..written::sample(&text)
    }
}

/// Runs to the end; `noise` is a cell's, as a share.
fn outcomes(study: &Study, noise: impl Fn(&str) -> f64) -> Vec<Outcome> {
    let plan = plan(study);
    let mut schedule = Sequential::of(study, &plan);
    let mut random = ChaCha8Rng::seed_from_u64(study.seed);
    let mut so_far: Vec<Outcome> = Vec::new();
    loop {
        let turns = schedule.turns(&so_far);
        let taken = so_far.iter().map(|one| (one.round, one.cell));
        let told = turns.iter().map(|turn| (turn.round, turn.cell));
        assert!(taken.eq(told.take(so_far.len())), "what was certain is not");
        let Some(turn) = turns.get(so_far.len()) else {
            return so_far;
        };
        let cell = &plan.cells[turn.cell];
        let noise = noise(&study.modes[cell.mode].label);
        let stray = random.random_range(-1.0..1.0) * noise;
        so_far.push(Outcome {
            round: turn.round,
            cell: turn.cell,
            commits_per_s: 1_000.0 * f64::exp(stray),
            took: cell_time(study, cell) * 2,
            ..Outcome::default()
        });
    }
}

fn label<'s>(study: &'s Study, cells: &[Cell], outcome: &Outcome) -> &'s str {
    &study.modes[cells[outcome.cell].mode].label
}

/// The rounds in which cells of a mode were measured.
fn rounds_of(study: &Study, outcomes: &[Outcome], name: &str) -> BTreeSet<u32> {
    let cells = plan(study).cells;
    let own = outcomes
        .iter()
        .filter(|one| label(study, &cells, one) == name);
    own.map(|one| one.round).collect()
}

#[test]
fn a_quiet_row_ends_at_the_first_look_and_a_noisy_one_goes_on_with_its_baseline() {
    let study = study(Some(0.05), None);
    let noise = |label: &str| if label == "mysql group" { 0.5 } else { 0.002 };
    let outcomes = outcomes(&study, noise);
    let last = |name| rounds_of(&study, &outcomes, name).last().copied();
    assert_eq!(last("mysql async"), Some(4));
    assert_eq!(last("mysql semisync"), Some(4));
    assert_eq!(
        (last("mysql group"), last("mysql single")),
        (Some(16), Some(16))
    );
}

#[test]
fn all_rounds_end_when_all_is_narrow_and_never_between_looks() {
    let study = study(Some(0.05), None);
    let ended = |noise: fn(&str) -> f64| {
        let outcomes = outcomes(&study, noise);
        outcomes.iter().map(|one| one.round).max()
    };
    assert_eq!(ended(|_| 0.002), Some(4));
    let later = ended(|_| 0.05).unwrap();
    assert!(later > 4 && LOOKS.contains(&later), "{later}");
}

/// `router` is held against `group`, and that against `single`.
#[test]
fn a_row_between_two_others_is_judged_by_its_own_figure() {
    let text = "rounds = 16\nwarmup = \"1s\"\nmeasure = \"2s\"\n\
                [[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
                [[mode]]\nserver = \"mysql\"\nmode = \"group\"\n\
                [[mode]]\nserver = \"mysql\"\nmode = \"group\"\nlabel = \"more\"\nappliers = 2\n\
                baseline = \"mysql group\"\n\
                [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n";
    let study = Study {
        until: Some(0.05),
        ..written::sample(text)
    };
    // The noise of one is in both ratios that it is part of.
    let last = |noisy: &'static str| {
        let noise = |label: &str| if label == NOISY.get() { 0.5 } else { 0.002 };
        NOISY.set(noisy);
        let outcomes = outcomes(&study, noise);
        ["mysql single", "mysql group", "more"]
            .map(|name| rounds_of(&study, &outcomes, name).last().copied())
    };
    assert_eq!(last("more"), [Some(4), Some(16), Some(16)]);
    assert_eq!(last("mysql single"), [Some(16), Some(16), Some(4)]);
}

thread_local! {
    static NOISY: std::cell::Cell<&'static str> = const { std::cell::Cell::new("") };
}

#[test]
fn at_an_offered_rate_latency_decides() {
    let mut study = study(Some(0.05), None);
    study.sweeps[0].rates_per_s = vec![100];
    let plan = plan(&study);
    let schedule = Sequential::of(&study, &plan);
    let outcome = |round: u32, us: u64| Outcome {
        round,
        commits_per_s: 100.0,
        latency_us_p50: Some(us),
        ..Outcome::default()
    };
    let wild: Vec<Outcome> = (1..=4)
        .map(|round| outcome(round, 1_000 << round))
        .collect();
    let calm: Vec<Outcome> = (1..=4).map(|round| outcome(round, 1_000)).collect();
    assert!(!schedule.is_figure_narrow(0, &wild) && schedule.is_figure_narrow(0, &calm));
}

#[test]
fn a_baseline_is_measured_as_often_as_the_root_of_those_held_against_it() {
    let study = study(Some(0.05), None);
    let outcomes = outcomes(&study, |_| 0.002);
    let cells = plan(&study).cells;
    let in_round = |name: &str, round: u32| {
        let of_round = outcomes.iter().filter(|one| one.round == round);
        of_round
            .filter(|one| label(&study, &cells, one) == name)
            .count()
    };
    // Four modes against it, at two distances.
    for round in 1..=4 {
        assert_eq!(in_round("mysql single", round), 2 * 2, "round {round}");
        assert_eq!(in_round("mysql async", round), 2, "round {round}");
    }
}

#[test]
fn its_repeats_are_counted_and_lie_apart() {
    let study = study(Some(0.05), None);
    let plan = plan(&study);
    let mut schedule = Sequential::of(&study, &plan);
    let first: Vec<Turn> = (schedule.turns(&[]).into_iter())
        .filter(|turn| turn.round == 1)
        .collect();
    let single = |turn: &Turn| study.modes[plan.cells[turn.cell].mode].label == "mysql single";
    let places: Vec<usize> = (0..first.len()).filter(|at| single(&first[*at])).collect();
    let repeats: Vec<u32> = places.iter().map(|at| first[*at].repeat).collect();
    assert_eq!(repeats, [0, 0, 1, 1]);
    assert!(places[2] - places[1] > 2, "{places:?}");
    assert!(first.iter().all(|turn| single(turn) || turn.repeat == 0));
}

#[test]
fn a_budget_ends_it_between_rounds_by_the_time_that_rounds_took() {
    let forming = forming(&study(None, None));
    let plan_of = study(None, None);
    let plan = plan(&plan_of);
    let round = least(&plan_of, &plan) - forming;
    // Each takes twice its estimate: three fit, if the first is taken as it was foreseen.
    let study = study(None, Some(forming + round * 6 + round / 2));
    let outcomes = outcomes(&study, |_| 0.002);
    let rounds: BTreeSet<u32> = outcomes.iter().map(|one| one.round).collect();
    assert_eq!(rounds, BTreeSet::from([1, 2, 3]));
    let whole = outcomes.len() % 3;
    assert_eq!(whole, 0, "all rounds are whole");
}

#[test]
fn with_both_the_first_to_be_reached_ends_it() {
    let of = |budget_s| {
        let study = study(Some(0.05), Some(Duration::from_secs(budget_s)));
        let outcomes = outcomes(&study, |_| 0.002);
        outcomes.iter().map(|one| one.round).max()
    };
    assert_eq!(of(100_000), Some(4));
    assert_eq!(of(1), Some(1), "one round there always is");
}

#[test]
fn what_was_measured_in_an_earlier_run_takes_no_time_now() {
    let study = study(None, Some(Duration::from_secs(1)));
    let plan = plan(&study);
    let mut schedule = Sequential::of(&study, &plan);
    let first = schedule.turns(&[]);
    let resumed = first.iter().map(|turn| Outcome {
        round: turn.round,
        cell: turn.cell,
        ..Outcome::default()
    });
    let resumed: Vec<Outcome> = resumed.collect();
    assert_eq!(schedule.turns(&resumed).len(), first.len());
}
