use super::*;
use crate::analysis::summarise;
use crate::analysis::summary::Estimate;
use crate::analysis::worth::{FreshReads, example};
use crate::record::store::Record;

fn text() -> String {
    render(&summarise(&example()), Format::Text)
}

/// On one line, whatever was wrapped.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn text_of_what_commits_were_worth() {
    let text = text();
    assert!(
        text.lines().all(|line| line.chars().count() <= page::WIDTH),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn every_count_says_whether_it_is_bad() {
    let text = flowing(&text());
    for words in [
        "recovered: never answered, and there: innocent.",
        "All 2 controls fired: the check was awake.",
        "kept; promised: ",
        "the control fired: it came to what it must",
        "lost, no promise; no promise: ",
        "BROKEN",
        "1 BAD",
        "in doubt: in 1 of 2 trials step 1 was not seen to befall all that it was meant to",
        "lost in 0 of 20 trials: below 13.9 % of such faults take anything",
        "lost in 2 of 3 trials",
        "1. after 1 acknowledged commits, power cut: writer, drop-all: at 0.050 s, in at most \
         0.001 s, on a; seen: the process is gone",
        "when it went on alone",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}

#[test]
fn a_silent_control_is_told_on_top() {
    let mut summary = summarise(&example());
    for one in summary.worth.iter_mut().filter(|one| one.is_control) {
        let silent = crate::analysis::worth::Came::Otherwise("nothing came".to_owned());
        one.worth.control = Some(silent);
    }
    let text = flowing(&render(&summary, Format::Text));
    assert!(
        text.contains("Silent controls: killed, no-fault. Nothing is decided."),
        "{text}"
    );
    assert!(text.contains("the control was SILENT"), "{text}");
}

#[test]
fn without_a_price_there_is_no_column_of_it() {
    let mut summary = summarise(&example());
    assert!(text().contains("vs single") && text().contains("±"));
    summary.worth.iter_mut().for_each(|one| one.price = None);
    let text = render(&summary, Format::Text);
    assert!(
        !text.contains("vs single") && !text.contains("trips"),
        "{text}"
    );
}

#[test]
fn the_page_says_the_same_whoever_asks_again() {
    for format in [Format::Text, Format::Markdown, Format::Json] {
        let [one, two] = [(); 2].map(|()| render(&summarise(&example()), format));
        assert_eq!(one, two);
    }
    let json = render(&summarise(&example()), Format::Json);
    let page: serde_json::Value = serde_json::from_str(&json).unwrap();
    let kept = &page["worth"][1];
    assert_eq!(
        (&kept["label"], &kept["fault"]),
        (&"mysql semisync".into(), &"writer-dies".into())
    );
    assert_eq!(kept["acknowledged"], kept["promised"], "{kept}");
    assert_eq!(kept["courses"].as_array().unwrap().len(), 20);
    let markdown = render(&summarise(&example()), Format::Markdown);
    assert!(markdown.contains("| mysql async "), "{markdown}");
}

#[test]
fn a_study_with_faults_has_the_table_in_its_report() {
    let mut record = example();
    let report = |record: &Record| crate::report::render(&summarise(record), Format::Text);
    assert!(report(&record).contains("What an acknowledged commit is worth"));
    record.campaigns.clear();
    assert!(!report(&record).contains("What an acknowledged commit is worth"));
}

#[test]
fn a_fresh_read_tells_what_it_adds_beside_how_stale_a_plain_one_is() {
    let mut summary = summarise(&example());
    assert!(!text().contains("adds to a"), "no reader has a level");
    let one = summary.worth.iter_mut().find(|one| !one.fresh.is_empty());
    let fresh = &mut one.expect("nothing is done to one").fresh;
    let level = "SET SESSION group_replication_consistency = 'BEFORE'";
    let added = Estimate {
        median: 1_200.0,
        low: Some(1_000.0),
        high: Some(1_400.0),
    };
    fresh.push(FreshReads {
        level: Some(level.to_owned()),
        look_us: Some(added.map(|us| us + 200.0)),
        added_us: Some(added),
        ..fresh[0].clone()
    });
    fresh.push(FreshReads {
        node: "b".to_owned(),
        looks_at: Some("a".to_owned()),
        looks: 17,
        failed: 3,
        ..fresh[0].clone()
    });
    let text = render(&summary, Format::Text);
    assert!(
        text.lines().all(|line| line.chars().count() <= page::WIDTH),
        "{text}"
    );
    let text = flowing(&text);
    for words in [
        "Fresh reads: what they cost",
        "a, BEFORE 1.40 ±0.20 ms 1.20 ±0.20 ms",
        "BEFORE: SET SESSION group_replication_consistency = 'BEFORE'",
        "adds to a plain one: from the same place at the same time",
        "b, looks at a 200 ±0.00 µs",
        "looks at …: from beside another node",
        "mysql async, b, looks at a: 3 of 20 looks did not come to their end",
        "stale %: reads that did not show a commit",
        "200 ±0.00 µs",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}

#[test]
fn what_no_look_went_back_to_is_told() {
    let mut summary = summarise(&example());
    let told = "no look went back to 3 commits: in no figure of staleness";
    let text = |summary: &_| flowing(&render(summary, Format::Text));
    assert!(!text(&summary).contains("no look went back"));
    summary.worth[0].worth.missed_by_readers = 3;
    assert!(text(&summary).contains(told), "{}", text(&summary));
}

#[test]
fn what_a_level_does_not_show_to_add_is_marked() {
    let mut summary = summarise(&example());
    let one = summary.worth.iter_mut().find(|one| !one.fresh.is_empty());
    one.expect("nothing is done to one").fresh[0].added_us = Some(Estimate {
        median: 20.0,
        low: Some(-30.0),
        high: Some(70.0),
    });
    let text = flowing(&render(&summary, Format::Text));
    assert!(text.contains("20.0 ±50.0 µs ~"), "{text}");
}
