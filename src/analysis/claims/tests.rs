use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Verdict::{self, Confirmed, Contradicted, Depends, Undecided, Untestable};
use super::select::Points;
use super::verdict::{Outcome, within};
use super::{Material, as_parts_of_one, counts, figure, judge};
use crate::analysis::applied::BEHIND_SHARE;
use crate::analysis::example::{Example, articles as examples};
use crate::analysis::interval::Risk;
use crate::analysis::summarise;
use crate::analysis::summary::{ByRound, CellSummary, Estimate};
use crate::analysis::timeline::Dips;
use crate::analysis::worth::{Counts, ModeWorth};
use crate::study::articles::{
    Across, Article, Bounds, Counted, Loss, Quantity, Trials, article, article_keys, words,
};
use crate::study::builtin;

fn material<'a>(cells: &'a [CellSummary], worth: &'a [ModeWorth]) -> Material<'a> {
    Material {
        cells,
        worth,
        effects: &[],
        risk: Risk::ONE_LOOK,
        bounds_sha256: None,
        is_quick: false,
    }
}

fn verdicts(key: &str, cells: &[CellSummary]) -> Vec<Verdict> {
    let article = article(key).expect("an article");
    let (_, claims) = judge(&article, &material(cells, &[]));
    claims.iter().map(|claim| claim.verdict).collect()
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![Just(Confirmed), Just(Contradicted), Just(Undecided)]
}

fn otherwise(verdict: &Option<Verdict>) -> Option<Verdict> {
    verdict.map(|verdict| match verdict {
        Confirmed => Contradicted,
        Contradicted => Confirmed,
        open => open,
    })
}

proptest! {
    #[test]
    fn a_narrower_range_never_takes_a_verdict_back(
        ends in proptest::array::uniform4(-10.0..10.0_f64),
        low in proptest::option::of(-5.0..5.0_f64),
        width in proptest::option::of(0.0..5.0_f64),
    ) {
        let high = width.map(|width| low.unwrap_or(0.0) + width);
        let bounds = Bounds { low, high, said: String::new() };
        let mut ends = ends;
        ends.sort_by(f64::total_cmp);
        let wide = within(&bounds, ends[0], ends[3]);
        let narrow = within(&bounds, ends[1], ends[2]);
        prop_assert!(wide == Undecided || wide == narrow);
        prop_assert_ne!(within(&bounds, ends[1], ends[1]), Undecided);
    }

    #[test]
    fn many_points_make_one_verdict_whatever_their_order(
        points in proptest::collection::vec(proptest::option::of(any_verdict()), 0..6),
    ) {
        let of = |across, points: &[Option<Verdict>]| Verdict::across(across, points);
        let mut backwards = points.clone();
        backwards.reverse();
        let others: Vec<Option<Verdict>> = points.iter().map(otherwise).collect();
        for across in [Across::All, Across::Any, Across::Cases] {
            prop_assert_eq!(of(across, &points), of(across, &backwards));
        }
        // What holds at all fails at none.
        prop_assert_eq!(Some(of(Across::All, &points)), otherwise(&Some(of(Across::Any, &others))));
        // It depends only on what was shown: that it holds at one, and fails at another.
        let has = |verdict| points.contains(&Some(verdict));
        prop_assert_eq!(of(Across::Cases, &points) == Depends, has(Confirmed) && has(Contradicted));
        // The points that are easy to measure do not speak for the others.
        for across in [Across::All, Across::Cases] {
            prop_assert!(of(across, &points) != Confirmed || !points.contains(&None));
        }
    }

    #[test]
    fn a_whole_is_confirmed_by_all_of_its_parts_and_refuted_by_one(
        parts in proptest::collection::vec(any_verdict(), 1..5),
    ) {
        let whole = Verdict::of_parts(&parts);
        prop_assert_eq!(whole == Confirmed, parts.iter().all(|part| *part == Confirmed));
        prop_assert_eq!(whole == Contradicted, parts.contains(&Contradicted));
        // What one of them lacks the whole lacks, if none fails.
        let lacking = Verdict::of_parts(&[&parts[..], &[Untestable]].concat());
        prop_assert!([Untestable, Contradicted].contains(&lacking));
    }
}

#[test]
fn a_part_refutes_a_claim_only_as_one_of_its_parts() {
    // Contradicted at any risk, or only if its interval may miss as often as one alone.
    let strong = |_: Risk| Contradicted;
    let weak = |risk: Risk| match risk == Risk::ONE_LOOK {
        true => Contradicted,
        false => Undecided,
    };
    let holds = |_: Risk| Confirmed;
    let of = |parts: &[&dyn Fn(Risk) -> Verdict]| {
        let judged = |risk: Risk| {
            let parts = parts.iter();
            parts
                .map(|part| Some(Outcome::new(part(risk), String::new())))
                .collect()
        };
        let parts = as_parts_of_one(Risk::ONE_LOOK, judged);
        Verdict::of_parts(&parts.iter().map(|part| part.verdict).collect::<Vec<_>>())
    };
    assert_eq!(of(&[&strong, &holds]), Contradicted);
    assert_eq!(of(&[&weak, &holds]), Undecided);
    assert_eq!(of(&[&weak]), Contradicted, "it has no other part");
    assert_eq!(of(&[&weak, &weak]), Contradicted, "all agree");
    assert_eq!(of(&[&weak, &strong, &holds]), Contradicted);
}

/// Trials in which so many of a hundred acknowledged commits are lost.
fn lost(mode: &str, lost: usize, no_start: bool) -> ModeWorth {
    let mut one = summarise(&crate::analysis::worth::example())
        .worth
        .remove(0);
    (one.label, one.mode) = (mode.to_owned(), mode.to_owned());
    let worth = &mut one.worth;
    worth.counts = Counts {
        acknowledged: 100,
        lost,
        ..Counts::default()
    };
    (worth.trials, worth.trials_conclusive) = (3, 3);
    worth.refusals = Vec::from_iter(no_start.then(|| "it said nothing".to_owned()));
    one
}

#[test]
fn what_can_happen_is_shown_by_having_seen_it_where_it_may_and_nowhere_else() {
    let of = |mode: &str| Trials {
        mode: vec![mode.to_owned()],
        ..Trials::default()
    };
    let counted = Counted {
        what: Loss::Lost,
        none: of("never"),
        some: of("may"),
    };
    let seen = |worth: &[ModeWorth]| counts::seen(worth, &counted).verdict;
    let [clean, hurt] = [0, 3].map(|many| lost("never", many, false));
    let [none, some] = [0, 7].map(|many| lost("may", many, false));
    let refused = lost("may", 100, true);
    let mut unread = clean.clone();
    unread.worth.trials_conclusive = 1;
    for (worth, verdict) in [
        (vec![clean.clone(), some.clone()], Confirmed),
        (vec![hurt, some.clone()], Contradicted),
        (vec![clean.clone(), none], Undecided),
        (vec![unread, some.clone()], Undecided),
        (vec![clean.clone(), refused], Undecided),
        (vec![clean], Undecided),
        (vec![some], Undecided),
        (vec![], Undecided),
    ] {
        assert_eq!(seen(&worth), verdict);
    }
}

/// Gaps between so many falls at random seconds of five minutes; neighbours are one dip.
fn random_gaps(draws: &mut ChaCha8Rng, falls: u32) -> Vec<u32> {
    let mut seconds: Vec<u32> = (0..falls).map(|_| draws.random_range(0..300)).collect();
    seconds.sort_unstable();
    seconds.dedup();
    let mut starts = seconds.clone();
    starts.retain(|second| *second == 0 || !seconds.contains(&(second - 1)));
    starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn come_each_minute(gaps_s: &[u32]) -> bool {
    let dips = Dips {
        gaps_s: gaps_s.to_vec(),
        median_gap_s: Some(60.0),
        ..examples::dips()
    };
    let minute = &words()["a_minute"];
    let gap = figure::usual_gap(&dips).and_then(|gap| gap.low.zip(gap.high));
    gap.is_some_and(|(low, high)| within(minute, low, high) == Confirmed)
}

#[test]
fn dips_at_random_hardly_ever_come_each_minute() {
    let mut draws = ChaCha8Rng::seed_from_u64(60);
    for falls in 3..=16 {
        let trials = (0..2_000).map(|_| random_gaps(&mut draws, falls));
        let passed = trials.filter(|gaps| come_each_minute(gaps)).count();
        assert!(passed < 2_000 / 200, "{passed} of {falls} falls");
    }
    // One stray gap of five is let through.
    assert!(come_each_minute(&[60, 59, 61, 50]) && come_each_minute(&[60, 60, 12, 60, 60]));
    for gaps in [&[60; 3][..], &[60, 60, 71, 60], &[60, 60, 12, 60, 60, 9]] {
        assert!(!come_each_minute(gaps), "{gaps:?}");
    }
}

/// An article that nobody wrote, of which no code knows.
const SIXTH: &str = include_str!("tests/sixth.toml");

#[test]
fn a_sixth_article_is_toml_alone() {
    let summary = summarise(&Example::default().record());
    let sixth = Article::from_text(SIXTH).expect("no mistake");
    let (told, claims) = judge(&sixth, &material(&summary.cells, &[]));
    let verdicts: Vec<Verdict> = claims.iter().map(|claim| claim.verdict).collect();
    let (holds, fails, open, lacks) = (Confirmed, Contradicted, Undecided, Untestable);
    let expected = [holds, fails, Depends, lacks, lacks, open, holds];
    assert_eq!(verdicts, expected, "{claims:#?}");
    for (claim, reason) in [
        (2, "holds: mysql semisync over mysql async, 0.25 ms"),
        (2, "fails: "),
        (3, "needs a server of another star"),
        (5, "mysql async: is no slower"),
    ] {
        assert!(claims[claim].reason.contains(reason), "{claims:#?}");
    }
    let rows = told.tables[0].rows.iter();
    let rows: Vec<(&str, bool)> = rows.map(|r| (&r.name[..], r.published.is_some())).collect();
    assert_eq!(rows, [("async", false), ("async", true), ("group", false)]);
    assert_eq!(told.figures[0].value, "[500, 300]");
    for (said, what) in told.unseen.iter().zip([
        "bytes between the servers per commit: mysql async",
        "commits/s of mysql group over mysql async, 8 ms",
    ]) {
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn verdicts_of_the_articles_on_their_own_machines() {
    let (holds, fails, open, lacks) = (Confirmed, Contradicted, Undecided, Untestable);
    let innodb = verdicts("gmo-innodb-cluster-2022", &examples::innodb_cluster());
    assert_eq!(innodb, [holds; 6]);
    let galera = verdicts("gmo-galera-2022", &examples::galera());
    assert_eq!(galera, [holds, fails, holds, holds, open, holds]);
    let mut cells = examples::group_replication();
    assert_eq!(verdicts("group-replication-2017", &cells), [holds; 6]);
    // Semi-sync is judged by a load whose commits the newest server tells by their order.
    cells.retain(|cell| cell.workload != "by commit order");
    assert_ne!(verdicts("group-replication-2017", &cells)[2], holds);
    let clouds = verdicts("clouds-2015", &examples::clouds());
    assert_eq!(clouds[..5], [holds, holds, holds, open, holds]);
    // What stopped there is an input here; what is about services, no stand-in can show.
    assert_eq!(clouds[5..9], [lacks, holds, lacks, lacks]);
    assert_eq!(clouds[9..], [holds, lacks, holds, lacks]);
}

#[test]
fn what_is_presupposed_of_a_cell_of_one_round_is_judged_without_an_interval() {
    let dips_at = |rate: f64, rounds: u32| {
        let mut cells = examples::group_replication();
        let long = cells.iter_mut().find(|cell| cell.measure_s == 300.0);
        let long = long.expect("five minutes");
        long.throughput_per_s = Some(Estimate::without_interval(rate));
        long.rounds_asked = rounds;
        verdicts("group-replication-2017", &cells)[5]
    };
    assert_eq!(dips_at(25_000.0, 1), Confirmed);
    assert_eq!(dips_at(1_000.0, 1), Undecided);
    // Of several rounds an interval is to be had.
    assert_eq!(dips_at(25_000.0, 2), Undecided);
}

#[test]
fn errors_are_counted_for_each_commit() {
    let deadlocks = |errors: u64, rounds: u32| {
        let mut cells = examples::galera();
        for cell in cells.iter_mut().filter(|cell| cell.point.spread) {
            (cell.errors, cell.rounds) = ([(1213, errors)].into(), rounds);
        }
        verdicts("gmo-galera-2022", &cells)[5]
    };
    assert_eq!(
        [deadlocks(200, 3), deadlocks(0, 3)],
        [Confirmed, Contradicted]
    );
    assert_eq!([deadlocks(12, 3), deadlocks(200, 0)], [Undecided; 2]);
}

#[test]
fn figures_of_a_host_that_was_waited_for_say_so() {
    let sixth = Article::from_text(SIXTH).expect("no mistake");
    let mut cells = summarise(&Example::default().record()).cells;
    for (waited, expected) in [(0.05, false), (0.2, true)] {
        for cell in &mut cells {
            cell.contention.get_or_insert_default().all = waited;
            let of = [Quantity::Throughput, Quantity::FlushesWriter];
            let shared = of.map(|of| figure::is_shared(cell, &of));
            assert_eq!(shared, [expected, false]);
        }
        let claim = judge(&sixth, &material(&cells, &[])).1.remove(0);
        let mut figures = claim.figures.iter();
        assert!(figures.all(|figure| figure.is_shared == expected));
        assert_eq!(
            (claim.verdict, claim.figures.is_empty()),
            (Confirmed, false)
        );
    }
}

/// All texts below these keys, wherever they stand.
fn texts(value: &toml::Value, keys: &[&str], is_below: bool) -> Vec<String> {
    match value {
        toml::Value::String(text) if is_below => vec![text.clone()],
        toml::Value::Array(list) => {
            let items = list.iter();
            items.flat_map(|item| texts(item, keys, is_below)).collect()
        }
        toml::Value::Table(table) => {
            let entries = table.iter();
            let below = |(key, value): (&String, &toml::Value)| {
                texts(value, keys, keys.contains(&&key[..]))
            };
            entries.flat_map(below).collect()
        }
        _ => vec![],
    }
}

#[test]
fn every_name_in_an_article_is_of_something() {
    for key in article_keys() {
        let article = &article(&key).expect("an article");
        let cells = examples::planned(examples::study(builtin(&key).expect("a study")));
        let file = std::fs::read_to_string(format!("studies/articles/{key}.toml"));
        let file: toml::Table = file.expect("a file").parse().expect("sound");
        let file = toml::Value::Table(file);
        let material = &material(&cells, &[]);
        let points = Points {
            article,
            material,
            risk: material.risk,
        };
        let names = texts(&file, &["of", "over", "each", "any"], false);
        assert!(names.len() > 5, "{key}: {names:?}");
        for names in names {
            let is_there = !points.planned(&names).is_empty() || points.needs(&names).is_some();
            assert!(is_there, "{key}: {names}");
        }
        for word in texts(&file, &["is"], false) {
            assert!(words().contains_key(&word), "{key}: {word}");
        }
        super::select::axes(&texts(&file, &["differ"], false));
        let parts = article.claim.iter().flat_map(|claim| &claim.part);
        let is_sound = parts
            .clone()
            .all(|part| part.counted.is_some() || !part.of.is_empty());
        assert!(is_sound, "{key}: a part without a selection");
    }
    let lags = words()["lags"].low.expect("a bound");
    assert!((lags - 1.0 / (1.0 - BEHIND_SHARE)).abs() < 1e-12);
}

#[test]
fn a_round_that_lacks_a_figure_takes_its_range_away() {
    let article = article(&article_keys()[0]).expect("an article");
    let points = Points {
        article: &article,
        material: &material(&[], &[]),
        risk: Risk::ONE_LOOK,
    };
    let cell = |p95_us: &[f64]| CellSummary {
        rounds: 4,
        by_round: ByRound {
            p95_us: (1..).zip(p95_us.iter().copied()).collect(),
            ..ByRound::default()
        },
        ..CellSummary::default()
    };
    let (p95, base) = (Quantity::P95, cell(&[1_000.0, 1_010.0, 990.0, 1_005.0]));
    let of = |cell: &CellSummary| {
        let over = figure::ratio((cell, &p95), (&base, &p95), points);
        let alone = figure::value(cell, &p95, points).expect("a figure");
        (over.is_some(), alone.low.is_some())
    };
    assert_eq!(
        of(&cell(&[1_050.0, 1_070.0, 1_040.0, 1_060.0])),
        (true, true)
    );
    // Two rounds were too slow to tell: by the good ones alone it would be 6 %.
    assert_eq!(of(&cell(&[1_050.0, 1_070.0])), (false, false));
}

#[test]
fn errors_are_told_less_narrowly_as_one_of_many_figures() {
    let article = article(&article_keys()[0]).expect("an article");
    let mut cell = CellSummary {
        rounds: 4,
        measurements: 4,
        measure_s: 1.0,
        throughput_per_s: Some(Estimate::without_interval(1_000.0)),
        ..CellSummary::default()
    };
    cell.errors.add(1213, "40001", 15, String::new);
    let low = |risk| {
        let points = Points {
            article: &article,
            material: &material(&[], &[]),
            risk,
        };
        let told = figure::value(&cell, &Quantity::ErrorsPer1000(1213), points);
        told.and_then(|value| value.low).expect("commits")
    };
    let (alone, shared) = (low(Risk::ONE_LOOK), low(Risk::ONE_LOOK.shared_by(2)));
    assert!(
        shared < alone && (2.0..2.1).contains(&alone),
        "{shared} {alone}"
    );
}
