use proptest::prelude::*;

use super::Verdict::{self, Confirmed, Contradicted, Depends, Undecided, Untestable};
use super::select::Points;
use super::verdict::within;
use super::{Claim, Figure, Material, counts, judge};
use crate::analysis::applied::BEHIND_SHARE;
use crate::analysis::example::{Example, articles as examples, group_commit};
use crate::analysis::promise::Terms;
use crate::analysis::summarise;
use crate::analysis::summary::{CellSummary, ModeToll};
use crate::analysis::trial::toll;
use crate::record::trial::{Series, Trial};
use crate::study::Mode;
use crate::study::articles::{Across, Article, Bounds, Loss, Trials, article, article_keys, words};
use crate::study::builtin;
use crate::study::fault::{Durability, Fault, Leaves, Scope};

fn material<'a>(cells: &'a [CellSummary], tolls: &'a [ModeToll]) -> Material<'a> {
    Material {
        cells,
        tolls,
        anatomy: &[],
        effects: &[],
        is_quick: false,
    }
}

fn claims(article: &Article, cells: &[CellSummary]) -> Vec<Claim> {
    judge(article, &material(cells, &[])).1
}

fn verdicts(key: &str, cells: &[CellSummary]) -> Vec<Verdict> {
    let claims = claims(&article(key).expect("an article"), cells);
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
        let of = |across, points: &[Option<Verdict>]| Verdict::across(across, points, &[]);
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
        prop_assert!(of(Across::All, &points) != Confirmed || !points.contains(&None));
    }

    #[test]
    fn a_whole_is_confirmed_by_all_of_its_parts_and_refuted_by_one(
        parts in proptest::collection::vec(any_verdict(), 1..5),
    ) {
        let whole = Verdict::of_parts(&parts);
        prop_assert_eq!(whole == Confirmed, parts.iter().all(|part| *part == Confirmed));
        prop_assert_eq!(whole == Contradicted, parts.contains(&Contradicted));
    }

    #[test]
    fn no_trend_is_the_same_upside_down(
        ends in proptest::collection::vec((0.2..3.0_f64, 1.0..2.0_f64), 1..7),
    ) {
        let figure = |(low, width): &(f64, f64)| Figure {
            what: String::new(),
            unit: String::new(),
            value: *low,
            low: *low,
            high: low * width,
        };
        let up: Vec<Figure> = ends.iter().map(figure).collect();
        let over = |of: &Figure| Figure { low: 1.0 / of.high, high: 1.0 / of.low, ..of.clone() };
        let down: Vec<Figure> = up.iter().map(over).collect();
        let of = |figures: &[Figure]| Verdict::across(Across::NoTrend, &[], figures);
        prop_assert_eq!(of(&up), of(&down));
        prop_assert!(!up.iter().all(|figure| figure.low > 1.0) || of(&up) == Contradicted);
    }
}

#[test]
fn parts_that_lack_a_server_or_depend_say_so_of_the_whole() {
    assert_eq!(
        Verdict::of_parts(&[Confirmed, Untestable, Undecided]),
        Untestable
    );
    assert_eq!(Verdict::of_parts(&[Untestable, Contradicted]), Contradicted);
    assert_eq!(Verdict::of_parts(&[Depends, Confirmed]), Depends);
    assert_eq!(Verdict::of_parts(&[Depends, Undecided]), Undecided);
    assert_eq!(Verdict::of_parts(&[]), Undecided);
}

/// A series in which so many of a hundred acknowledged commits are lost.
fn lost(mode: &str, fault: Fault, lost: u64, no_start: bool) -> ModeToll {
    let mut trial = Trial {
        present: (lost..100).collect(),
        refused: no_start.then(|| "it said nothing".to_owned()),
        ..Trial::default()
    };
    trial.outcomes.acknowledged = (0..100).collect();
    let durability = Durability::LOOSE;
    let series = Series {
        durability,
        fault,
        trials: vec![trial],
    };
    let terms = Terms {
        mode: Mode::Single,
        sites: vec!["a".to_owned()],
        durability,
        has_binary_log: true,
    };
    ModeToll {
        label: mode.to_owned(),
        server: "mysql".to_owned(),
        mode: mode.to_owned(),
        toll: toll(&series, &terms),
    }
}

#[test]
fn what_can_happen_is_shown_by_having_seen_it_where_it_may_and_nowhere_else() {
    let fault = Fault::power_cut(Leaves::Nothing, Scope::Node);
    let of = |mode: &str| Trials {
        mode: vec![mode.to_owned()],
        ..Trials::default()
    };
    let seen =
        |tolls: &[ModeToll]| counts::seen(tolls, Loss::Lost, &of("never"), &of("may")).verdict;
    let [clean, hurt] = [0, 3].map(|many| lost("never", fault, many, false));
    let [none, some] = [0, 7].map(|many| lost("may", fault, many, false));
    let unread = lost("may", fault, 100, true);
    for (tolls, verdict) in [
        (vec![clean.clone(), some.clone()], Confirmed),
        (vec![hurt, some.clone()], Contradicted),
        (vec![clean.clone(), none], Undecided),
        (vec![clean.clone(), unread], Undecided),
        (vec![clean], Undecided),
        (vec![some], Undecided),
        (vec![], Undecided),
    ] {
        assert_eq!(seen(&tolls), verdict, "{tolls:?}");
    }
}

#[test]
fn errors_are_held_against_the_commits_beside_them() {
    let cell = |errors: u64, rate: f64| CellSummary {
        errors: [(1213, errors)].into(),
        throughput_per_s: examples::about(rate),
        measure_s: 2.0,
        rounds: 1,
        ..CellSummary::default()
    };
    for (many, one, verdict) in [
        (cell(37, 900.0), cell(0, 900.0), Confirmed),
        (cell(37, 900.0), cell(5, 900.0), Undecided),
        (cell(9, 900.0), cell(0, 900.0), Undecided),
        (cell(0, 900.0), cell(0, 900.0), Contradicted),
        (cell(0, 90.0), cell(0, 900.0), Undecided),
        (cell(2, 900.0), cell(50, 900.0), Contradicted),
        (cell(37, 0.0), cell(0, 900.0), Undecided),
    ] {
        assert_eq!(counts::more_often((&many, &one), &[1213]).verdict, verdict);
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
    let expected = [
        Confirmed,
        Contradicted,
        Depends,
        Untestable,
        Untestable,
        Undecided,
        Confirmed,
        Contradicted,
    ];
    assert_eq!(verdicts, expected, "{claims:#?}");
    let reasons: Vec<&str> = claims.iter().map(|claim| &claim.reason[..]).collect();
    assert!(
        reasons[2].contains("holds: mysql semisync over mysql async, 0.25 ms"),
        "{reasons:?}"
    );
    assert!(reasons[2].contains("fails: "), "{reasons:?}");
    assert!(
        reasons[3].contains("needs a server of another star"),
        "{reasons:?}"
    );
    assert!(
        reasons[5].contains("mysql async: is no slower"),
        "{reasons:?}"
    );
    let rows: Vec<(&str, bool)> = (told.tables[0].rows.iter())
        .map(|row| (&row.name[..], row.published.is_some()))
        .collect();
    assert_eq!(rows, [("async", false), ("async", true), ("group", false)]);
    assert_eq!(told.figures[0].value, "[500, 300]");
    assert!(told.unseen[0].starts_with("bytes between the servers per commit: mysql async"));
    assert!(
        told.unseen[1].contains("mysql group over mysql async, 8 ms"),
        "{:?}",
        told.unseen
    );
    assert!(
        told.unseen[2].contains("what moves it most is distance"),
        "{:?}",
        told.unseen
    );
}

#[test]
fn verdicts_of_the_articles_on_their_own_machines() {
    let innodb = verdicts("gmo-innodb-cluster-2022", &examples::innodb_cluster());
    assert_eq!(innodb[..4], [Confirmed, Confirmed, Confirmed, Confirmed]);
    assert_eq!(innodb[4..], [Confirmed, Confirmed]);
    let galera = verdicts("gmo-galera-2022", &examples::galera());
    assert_eq!(
        galera,
        [
            Confirmed,
            Contradicted,
            Confirmed,
            Confirmed,
            Undecided,
            Confirmed
        ]
    );
    let group = verdicts("group-replication-2017", &examples::group_replication());
    assert_eq!(group, [Confirmed; 6]);
    let clouds = verdicts("clouds-2015", &examples::clouds());
    let (found, service) = (Confirmed, Untestable);
    let expected = [
        found, found, found, Undecided, found, found, service, service, service,
    ];
    assert_eq!(clouds, expected);
    let commits = summarise(&group_commit()).claims;
    let commits: Vec<Verdict> = commits.iter().map(|claim| claim.verdict).collect();
    assert_eq!(commits, [Confirmed, Confirmed, Undecided, Undecided]);
}

#[test]
fn what_a_servers_place_is_empty_for_is_untestable_and_what_is_unmeasured_is_open() {
    let mut cells = examples::group_replication();
    for cell in &mut cells {
        (cell.rounds, cell.throughput_per_s, cell.applied_per_s) = (0, None, None);
    }
    let open = |cells: &[CellSummary]| verdicts("group-replication-2017", cells)[1];
    assert_eq!(open(&cells), Undecided);
    cells.retain(|cell| cell.server != "mysql-5.7");
    assert_eq!(open(&cells), Untestable);
}

#[test]
fn labels_decide_nothing() {
    for (key, cells) in [
        ("gmo-innodb-cluster-2022", examples::innodb_cluster()),
        ("gmo-galera-2022", examples::galera()),
        ("group-replication-2017", examples::group_replication()),
        ("clouds-2015", examples::clouds()),
    ] {
        let mut renamed = cells.clone();
        for cell in &mut renamed {
            cell.label = format!("row {}", cell.point.row);
            cell.distances = "somewhere".to_owned();
            cell.disks = cell.disks.as_ref().map(|_| "some disk".to_owned());
            cell.workload = "a load".to_owned();
        }
        let article = article(key).expect("an article");
        let told = |cells: &[CellSummary]| -> Vec<(Verdict, Vec<f64>)> {
            let told = claims(&article, cells).into_iter();
            let told = told.map(|claim| (claim.verdict, claim.figures));
            told.map(|(verdict, figures)| (verdict, figures.iter().map(|f| f.value).collect()))
                .collect()
        };
        assert_eq!(told(&cells), told(&renamed), "{key}");
    }
}

/// All texts below these keys, wherever they stand.
fn texts(value: &toml::Value, keys: &[&str], found: &mut Vec<String>) {
    let items: Vec<(&str, &toml::Value)> = match value {
        toml::Value::Table(table) => table.iter().map(|(key, value)| (&key[..], value)).collect(),
        toml::Value::Array(list) => list.iter().map(|value| ("", value)).collect(),
        _ => vec![],
    };
    for (key, value) in items {
        match value {
            toml::Value::String(text) if keys.contains(&key) => found.push(text.clone()),
            toml::Value::Array(list) if keys.contains(&key) => {
                found.extend(
                    list.iter()
                        .filter_map(|item| Some(item.as_str()?.to_owned())),
                );
            }
            _ => {}
        }
        texts(value, keys, found);
    }
}

#[test]
fn every_selection_of_an_article_has_points_in_its_study() {
    for key in article_keys() {
        let article = article(&key).expect("an article");
        let cells = examples::planned(examples::study(builtin(&key).expect("a study")));
        let file = std::fs::read_to_string(format!("studies/articles/{key}.toml"));
        let file: toml::Table = file.expect("a file").parse().expect("sound");
        let points = Points {
            article: &article,
            cells: &cells,
        };
        let (file, mut names) = (toml::Value::Table(file), Vec::new());
        let keys = ["of", "over", "each", "more", "less", "any"];
        texts(&file, &keys, &mut names);
        assert!(names.len() > 5, "{key}: {names:?}");
        for names in names {
            let is_there = !points.planned(&names).is_empty() || points.needs(&names).is_some();
            assert!(is_there, "{key}: {names}");
        }
        let (mut words_used, mut axes) = (Vec::new(), Vec::new());
        texts(&file, &["is"], &mut words_used);
        texts(&file, &["differ", "told_by"], &mut axes);
        assert!(
            words_used.iter().all(|word| words().contains_key(word)),
            "{words_used:?}"
        );
        super::select::axes(&axes);
    }
    let lags = words().remove("lags").and_then(|word| word.low);
    assert!((lags.expect("a bound") - 1.0 / (1.0 - BEHIND_SHARE)).abs() < 1e-12);
}
