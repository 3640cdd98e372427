use super::*;
use crate::analysis::diff::limit::Limit;
use crate::analysis::diff::told::{Figure, Open, Which};
use crate::analysis::diff::{Asked, compare};
use crate::analysis::example::{Example, six};
use crate::analysis::worth;
use crate::record::Flag;
use crate::record::store::Record;
use crate::report::page::WIDTH;

/// Two days' runs; on the second a group takes half again as much work.
fn records() -> [Record; 2] {
    let mut truths = six();
    truths[3].work_us *= 1.5;
    let slower = Example {
        truths,
        ..Example::default()
    };
    let mut slower = slower.record();
    slower.header.started_unix_ms += 86_400_000;
    slower.header.servers[0].version = "9.8.0".to_owned();
    [Example::default().record(), slower]
}

fn of(records: &[Record; 2], limits: &[&str]) -> Diff {
    let limits = limits
        .iter()
        .map(|text| Limit::parse(text).expect("a limit"));
    let asked = Asked {
        limits: limits.collect(),
        ..Asked::default()
    };
    let [a, b] = records;
    compare((a, "before.acklab"), (b, "after.acklab"), &asked).expect("a comparison")
}

fn example() -> Diff {
    of(&records(), &["p50:+10%", "p50:+50%", "throughput:-5%"])
}

#[test]
fn the_answer_comes_first_and_fits_a_terminal() {
    let diff = example();
    let text = render(&diff, Format::Text);
    let counts = diff.counts;
    let first = format!(
        "{} of {} figures are worse in B",
        counts.worse, counts.figures
    );
    assert!(text.starts_with(&first), "{text}");
    let wide = text.lines().find(|line| line.chars().count() > WIDTH);
    assert_eq!(wide, None);
    for part in [
        "before.acklab",
        "mysql: 9.7.1 in A, 9.8.0 in B",
        "limit p50:+10% EXCEEDED: mysql group, update_index, 1 connection, 0.25 ms: p50 of B is",
        "limit p50:+50% kept in all of 18 figures",
        "limit throughput:-5%: cannot be told in",
        "Worse and better in B",
        "Cannot be told",
        "shown from",
        "How to read this",
    ] {
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(part), "{part} is not in\n{text}");
    }
    let place = |heading: &str| text.find(heading).expect("a heading");
    assert!(place("Worse and better in B") < place("Cannot be told"));
    assert!(place("Cannot be told") < place("Alike"));
}

#[test]
fn numbers_agree_with_their_verbs() {
    let mut diff = example();
    let told = |diff: &mut Diff, worse, better| {
        diff.counts.figures = 24;
        (diff.counts.worse, diff.counts.better) = (worse, better);
        (diff.counts.alike, diff.counts.cannot_tell) = (12, 8);
        answer::summary(diff)
    };
    let end = "12 are alike (within 5%), 8 cannot be told.";
    let expected = format!("3 of 24 figures are worse in B, 1 is better, {end}");
    assert_eq!(told(&mut diff, 3, 1), expected);
    let expected = format!("1 of 24 figures is worse in B, 0 are better, {end}");
    assert_eq!(told(&mut diff, 1, 0), expected);
}

#[test]
fn a_comment_shows_what_differs_and_folds_the_rest() {
    let text = render(&example(), Format::Markdown);
    assert!(
        text.starts_with("**") && text.contains(" worse in B"),
        "{text}"
    );
    let (shown, folded) = text.split_once("<details>").expect("details");
    assert!(
        shown.contains("| mysql group |") && shown.contains("EXCEEDED"),
        "{shown}"
    );
    assert!(!shown.contains("| mysql async |"), "{shown}");
    assert!(
        folded.contains("<summary>Cannot be told</summary>"),
        "{folded}"
    );
    assert!(folded.contains("| mysql async"), "{folded}");
    assert_eq!(
        text.matches("<details>").count(),
        text.matches("</details>").count()
    );
}

#[test]
fn csv_has_all_figures_and_json_all_there_is() {
    let diff = example();
    let csv = render(&diff, Format::Csv);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), diff.figures.len() + 1);
    let titles = lines[0].split(',').count();
    let place = "_us,mysql group,,update_index,1,0.25 ms,";
    assert!(
        lines[1].starts_with("worse,p") && lines[1].contains(place),
        "{csv}"
    );
    assert_eq!(lines[1].split(',').count(), titles);
    let json: serde_json::Value = serde_json::from_str(&render(&diff, Format::Json)).expect("JSON");
    assert_eq!(json["counts"]["figures"], diff.figures.len());
    assert_eq!(json["figures"][0]["verdict"], "worse");
    assert_eq!(json["figures"][0]["label"], "mysql group");
    assert_eq!(json["limits"][0]["quantity"], "p50_us");
    assert_eq!(json["limits"][0]["verdict"], "exceeded");
    assert!(json["figures"][0]["ratio"]["low"].is_f64());
}

#[test]
fn what_is_open_says_why() {
    let told = |open| names::why(open);
    assert_eq!(told(Open::OneRound(Which::A)), "one round in A");
    assert_eq!(told(Open::LacksInARound(Which::B)), "a round of B lacks it");
    let [a, mut b] = records();
    b.measurements.retain(|one| one.round == 0);
    let text = render(&of(&[a, b], &[]), Format::Text);
    assert!(text.contains("one round in B"), "{text}");
    assert!(text.contains("B has one round only"), "{text}");
}

#[test]
fn doubts_are_marked_and_told_once() {
    let [a, mut b] = records();
    for one in b.measurements.iter_mut().filter(|one| one.cell == 2) {
        one.flags = vec![Flag::Downgraded];
    }
    let diff = of(&[a, b], &[]);
    let marked = render(&diff, Format::Markdown);
    assert!(marked.contains("| mysql semisync !"), "{marked}");
    let text = render(&diff, Format::Text);
    let line = "mysql semisync, update_index, 1 connection, 0.25 ms: B downgraded 4/4";
    assert_eq!(text.matches(line).count(), 1, "{text}");
}

#[test]
fn a_record_against_itself_says_so_and_lost_trials_stand_side_by_side() {
    let record = worth::example();
    let diff = of(&[record.clone(), record], &[]);
    let text = render(&diff, Format::Text);
    assert!(text.contains("of one and the same run"), "{text}");
    assert!(text.contains("Lost after faults"), "{text}");
    let comment = render(&diff, Format::Markdown);
    let line = comment.lines().find(|line| line.contains("writer-dies"));
    let line = line.expect("a row");
    assert_eq!(line.matches(" of ").count(), 2, "{line}");
    assert!(line.contains("| cannot tell"), "{line}");
}

/// Five thousand cells are no page that anybody reads.
#[test]
fn a_table_ends_and_says_what_has_the_rest() {
    let mut diff = example();
    let figure: Figure = diff.figures[0].clone();
    diff.figures = vec![figure; 5_000];
    let text = render(&diff, Format::Text);
    assert!(
        text.contains("and 4900 more: --format csv has all"),
        "{text}"
    );
    assert_eq!(render(&diff, Format::Csv).lines().count(), 5_001);
}

fn keys(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        serde_json::Value::Object(object) => {
            for (key, inner) in object {
                found.insert(key.clone());
                keys(inner, found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_key_of_the_json_is_documented() {
    const DOC: &str = include_str!("../../../docs/record.md");
    let worth = worth::example();
    let [a, mut b] = records();
    b.header.study.modes[1].label = "another name".to_owned();
    b.header.cells.truncate(17);
    b.measurements
        .retain(|one| one.cell < 17 && (one.cell != 4 || one.round == 0));
    let mut found = BTreeSet::new();
    for diff in [of(&[a, b], &["p50:+10%"]), of(&[worth.clone(), worth], &[])] {
        let json = serde_json::to_value(&diff).expect("JSON");
        keys(&json, &mut found);
    }
    for needed in [
        "chance",
        "exceeded",
        "label_b",
        "one-round",
        "smallest_shown",
    ] {
        assert!(found.contains(needed), "{needed} is not tried: {found:?}");
    }
    for key in found {
        assert!(
            DOC.contains(&format!("`{key}`")),
            "not in docs/record.md: {key}"
        );
    }
}
