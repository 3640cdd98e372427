use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::analysis::example::{Example, kept, limited, screened};
use crate::analysis::summarise;
use crate::analysis::worth::example as with_trials;
use crate::record::Second;
use crate::report::markup::check::{balanced, values};
use crate::report::markup::escaped;

fn page(record: &Record) -> String {
    render(record, &summarise(record)).expect("a page")
}

/// Names of the sections, in their order.
fn sections_of(page: &str) -> Vec<&str> {
    let nav = page.split("<nav").nth(1).expect("a list of sections");
    let nav = nav.split("</nav>").next().unwrap_or_default();
    let links = values(nav, "href").into_iter();
    links.map(|link| link.trim_start_matches('#')).collect()
}

/// The text between two tags that begin so.
fn between<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let rest = page.split(from).nth(1).unwrap_or_else(|| panic!("{from}"));
    rest.split(to).next().unwrap_or_default()
}

/// Sliders are for who has a script.
fn sliders_are_hidden_and_named(page: &str) {
    if let Some(place) = page.split("id=\"place\"").nth(1) {
        assert!(place.starts_with(" hidden=\"\""));
        let inputs = place.split("<input ").skip(1);
        let named = |input: &str| {
            let tag = input.split('>').next().unwrap_or_default();
            let of_label = |id: &str| page.contains(&format!("for=\"{id}\""));
            tag.contains("aria-label=")
                || values(&format!(" {tag}"), "id").into_iter().all(of_label)
        };
        assert!(inputs.clone().count() > 0 && inputs.into_iter().all(named));
    }
}

/// So much may a page of 300 cells weigh.
const BYTES_MAX: usize = 3_000_000;

/// Whole, reachable, alone in the world, and no burden.
fn is_sound(page: &str) {
    is_whole(page);
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
}

fn is_whole(page: &str) {
    assert_eq!(balanced(page), Ok(()));
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    let ids = values(page, "id");
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "an id stands twice: {ids:?}");
    for link in values(page, "href") {
        match link.strip_prefix('#') {
            Some(id) => assert!(known.contains(id), "{link} leads nowhere"),
            None => assert!(link.starts_with("data:"), "it asks somebody: {link}"),
        }
    }
    for name in ["aria-labelledby", "aria-describedby"] {
        let all = values(page, name);
        assert!(all.iter().all(|id| known.contains(id)), "{name}: {all:?}");
    }
    for asks in ["src", "srcset", "action", "poster", "style", "onclick"] {
        assert_eq!(values(page, asks), [""; 0], "{asks}");
    }
    assert!(page.contains("default-src &#39;none&#39;"));
    for (tag, count) in [
        ("<h1", 1),
        ("<main", 1),
        ("<nav", 1),
        ("<header", 1),
        ("<footer", 1),
    ] {
        assert_eq!(page.matches(tag).count(), count, "{tag}");
    }
    let heads: Vec<&str> = page.split("<th ").skip(1).collect();
    assert!(
        heads
            .iter()
            .all(|th| th.split('>').next().unwrap().contains("scope=\""))
    );
    assert!(
        !page.contains("<th>"),
        "a heading of a table without its scope"
    );
    sliders_are_hidden_and_named(page);
    for picture in page.split("<svg ").skip(1) {
        let picture = picture.split("</svg>").next().unwrap_or_default();
        let tag = picture.split('>').next().unwrap_or_default();
        assert!(
            tag.contains("role=\"img\"") && tag.contains("aria-labelledby"),
            "{tag}"
        );
        assert!(!picture.contains("NaN"));
    }
    assert_eq!(
        page.matches("<figure").count(),
        page.matches("<figcaption").count()
    );
    assert_eq!(
        page.matches("<details").count(),
        page.matches("<summary").count()
    );
    assert!(
        page.ends_with("</html>\n"),
        "{:?}",
        &page[page.len() - 20..]
    );
}

#[test]
fn every_page_is_whole_and_asks_nobody() {
    for record in [
        kept("compare"),
        kept("power-cut"),
        kept("anatomy-short"),
        kept("group-commit"),
        Example::default().record(),
        Example::anatomy().record(),
        with_trials(),
        limited(),
        screened(16),
    ] {
        is_sound(&page(&record));
    }
}

#[test]
fn a_section_stands_where_there_is_something_to_say() {
    let of = |name: &str| {
        let page = page(&kept(name));
        sections_of(&page)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let compare = [
        "answer",
        "foretold",
        "throughput",
        "cells",
        "anatomy",
        "behind",
        "asked",
        "machine",
        "reading",
        "again",
    ];
    assert_eq!(of("compare"), compare);
    let anatomy = of("anatomy-short");
    for name in ["answer", "anatomy", "asked", "machine", "again"] {
        assert!(anatomy.contains(&name.to_owned()), "{name}: {anatomy:?}");
    }
    let faults = of("power-cut");
    for name in ["answer", "audit", "machine", "reading", "again"] {
        assert!(faults.contains(&name.to_owned()), "{name}: {faults:?}");
    }
    assert!(!faults.contains(&"cells".to_owned()), "{faults:?}");
    let limits = page(&limited());
    assert!(sections_of(&limits).contains(&"limits"));
    assert!(sections_of(&page(&screened(16))).contains(&"effects"));
}

#[test]
fn the_answer_stands_first_and_each_figure_leads_to_what_it_rests_on() {
    let page = page(&kept("compare"));
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what}"));
    assert!(at("id=\"answer\"") < at("class=\"decision\""));
    assert!(at("class=\"decision\"") < at("id=\"throughput\""));
    let sentences = between(&page, "<ul class=\"sentences\">", "</ul>");
    for label in [
        "mysql single",
        "mysql async",
        "mysql semisync",
        "mariadb galera",
    ] {
        assert!(sentences.contains(&format!("{label}: ")), "{sentences}");
    }
    assert!(sentences.contains("mysql semisync: +"), "{sentences}");
    assert!(
        sentences.contains("others are held against it"),
        "{sentences}"
    );
    // Peers equally far do not tell whom one waits for, but how often.
    assert!(
        sentences.contains("1.03 ±0.05 round trips") && sentences.contains("waits for nobody"),
        "{sentences}"
    );
    let table = between(&page, "class=\"decision\"", "</table>");
    assert_eq!(
        table.matches("scope=\"row\"").count(),
        6,
        "a row for each mode"
    );
    assert!(
        table.contains("href=\"#cells-2\""),
        "the middle distance: {table}"
    );
    assert!(table.contains("href=\"#anatomy-1\""), "{table}");
    assert!(
        page.contains("Not tried in this run"),
        "nobody broke anything"
    );
    for part in ["id=\"cells-1\"", "id=\"cells-3\"", "id=\"anatomy-1\""] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_is_lost_is_told_with_its_bound_and_each_commit() {
    let mut record = with_trials();
    // The same deed under another name loses more: it would be told in its place.
    let of_semisync = record.campaigns.get_mut(&2).expect("two campaigns");
    of_semisync.pop();
    let page = page(&record);
    is_sound(&page);
    let sentences = between(&page, "<ul class=\"sentences\">", "</ul>");
    let kept = "nothing lost when the writer's machine dies (0 of 20, so below 13.9 %)";
    assert!(sentences.contains(&escaped(kept)), "{sentences}");
    assert!(sentences.contains("commits lost when"), "{sentences}");
    let table = between(&page, "class=\"decision\"", "</table>");
    assert!(
        table.contains("nothing: 0 of 20, so below 13.9 %"),
        "{table}"
    );
    assert!(table.contains("href=\"#audit-1\""), "{table}");
    assert!(table.contains("BROKEN"), "{table}");
    let audit = between(&page, "id=\"audit\"", "id=\"machine\"");
    for told in [
        "that were lost, one by one",
        "acknowledged by",
        "<svg ",
        "id=\"audit-1\"",
    ] {
        assert!(audit.contains(told), "{told}");
    }
    let summary = summarise(&record);
    let lossy = summary
        .worth
        .iter()
        .position(|one| one.worth.counts.lost > 0);
    let id = places::campaign_id(lossy.expect("a loss"));
    let part = between(&page, &format!("id=\"{id}\""), "<section");
    let details = part.rsplit("one by one").next().unwrap_or_default();
    let rows = details.matches("scope=\"row\"").count();
    assert_eq!(rows, summary.worth[lossy.unwrap()].worth.counts.lost);
}

#[test]
fn what_comes_from_a_record_is_told_and_never_obeyed() {
    let hostile = "<script>alert(1)</script> & \"quotes\" 'too'";
    let mut record = Example::default().record();
    let header = &mut record.header;
    header.study.title = hostile.to_owned();
    header.study.name = hostile.to_owned();
    header.study.modes[2].label = format!("mysql {hostile}");
    header.study_text = hostile.to_owned();
    header.remarks.push(hostile.to_owned());
    header.command_line.push(hostile.to_owned());
    header.host.cpu_model = hostile.to_owned();
    header.servers[0].version = hostile.to_owned();
    for lab in &mut header.labs {
        for variables in lab.variables.values_mut() {
            variables.insert(hostile.to_owned(), hostile.to_owned());
        }
    }
    for cell in &mut header.cells {
        cell.distances.label += hostile;
    }
    let page = page(&record);
    is_sound(&page);
    assert_eq!(page.matches("<script").count(), 1, "its own");
    assert!(page.matches(&escaped(hostile)).count() > 10);
}

#[test]
fn three_hundred_cells_fit_and_more_are_named() {
    let example = Example {
        connections: (1..=17).collect(),
        rounds: 2,
        ..Example::default()
    };
    let mut record = example.record();
    let window = Some(Duration::from_secs(60));
    record
        .header
        .cells
        .iter_mut()
        .for_each(|cell| cell.measure = window);
    for measurement in &mut record.measurements {
        let second = |second: u32| Second {
            second,
            commits: 700 + u64::from(second % 9),
            ..Second::default()
        };
        measurement.timeline = (0..61).map(second).collect();
    }
    let page = page(&record);
    is_sound(&page);
    assert_eq!(record.header.cells.len(), 306);
    println!("306 cells: {} bytes", page.len());
    assert!(page.contains(">6 cells more: <"), "{} bytes", page.len());
    assert!(page.contains("acklab report RECORD --format csv"));
    assert!(page.contains("charts more: "));
    assert!(page.contains("id=\"cells-50\"") && !page.contains("id=\"cells-51\""));
}

#[test]
fn five_thousand_cells_have_a_page_that_can_be_opened() {
    let example = Example {
        connections: (1..=278).collect(),
        rounds: 1,
        ..Example::default()
    };
    let record = example.record();
    assert_eq!(record.header.cells.len(), 5_004);
    let page = page(&record);
    is_whole(&page);
    println!("5,004 cells: {} bytes", page.len());
    assert!(page.len() < 2 * BYTES_MAX, "{} bytes", page.len());
    assert!(page.contains("acklab report RECORD --format csv"));
    // Every mode has its row and its sentence all the same.
    let decision = between(&page, "class=\"decision\"", "</table>");
    assert_eq!(decision.matches("scope=\"row\"").count(), 6);
}

#[test]
fn one_round_has_figures_and_no_interval() {
    let example = Example {
        rounds: 1,
        ..Example::default()
    };
    let page = page(&example.record());
    is_sound(&page);
    assert!(!page.contains("NaN") && !page.contains(">inf"));
    let decision = between(&page, "class=\"decision\"", "</table>");
    assert_eq!(decision.matches("scope=\"row\"").count(), 6);
    assert!(!decision.contains('±'), "{decision}");
    let header = between(&page, "<header", "</header>");
    assert!(header.contains("One round: "), "{header}");
}

#[test]
fn what_is_foretold_stands_there_without_a_script_and_why_where_it_does_not() {
    let page = page(&kept("compare"));
    let section = between(&page, "id=\"foretold\"", "id=\"throughput\"");
    for told in [
        "nothing here was measured",
        "18 cells, each foretold by the others",
        "a–b 2.15 ms",
        "inside what was measured",
        "data-of=\"p50\"",
        "has no cell at several connections",
        "hidden",
    ] {
        assert!(section.contains(told), "{told}: {section}");
    }
    assert_eq!(section.matches("scope=\"row\"").count(), 6);
    // One slider for each pair, and one for all; none for what nothing is known of.
    assert_eq!(section.matches("type=\"range\"").count(), 4);
    let shared = super::render(
        &kept("group-replication-2017"),
        &summarise(&kept("group-replication-2017")),
    );
    let shared = shared.expect("a page");
    assert!(shared.contains("data-name=\"cpu\"") && shared.contains("data-name=\"connections\""));
    let other = super::render(
        &kept("gmo-galera-2022"),
        &summarise(&kept("gmo-galera-2022")),
    );
    assert!(
        other
            .expect("a page")
            .contains("This record foretells nothing")
    );
    let faults = super::render(&kept("power-cut"), &summarise(&kept("power-cut")));
    assert!(!faults.expect("a page").contains("id=\"foretold\""));
}

#[test]
fn a_record_with_nothing_finished_has_no_page() {
    let mut record = Example::default().record();
    record.measurements.clear();
    assert_eq!(render(&record, &summarise(&record)), None);
}

#[test]
fn a_run_that_was_cut_short_is_told_on_top() {
    let mut record = Example::default().record();
    record.finished = false;
    record.measurements.truncate(7);
    let page = page(&record);
    is_sound(&page);
    let header = between(&page, "<header", "</header>");
    assert!(header.contains("PARTIAL"), "{header}");
}

#[test]
fn all_rows_can_be_held_against_one_of_the_users() {
    let mut record = kept("compare");
    let held = record.header.study.hold_against("mysql async");
    held.expect("a row of the study");
    let page = page(&record);
    is_sound(&page);
    let answer = between(&page, "id=\"answer\"", "class=\"decision\"");
    assert!(answer.contains("takes more than mysql async"), "{answer}");
}

#[test]
fn the_script_is_short_and_asks_nobody() {
    let style = include_str!("page.css");
    for script in [
        include_str!("model.js"),
        include_str!("foretell.js"),
        include_str!("page.js"),
    ] {
        assert!(script.lines().count() < 400);
        assert!(script.lines().all(|line| line.chars().count() <= 100));
        for asks in [
            "fetch(",
            "XMLHttpRequest",
            "import",
            "eval(",
            "innerHTML",
            "http",
            "</",
        ] {
            assert!(!script.contains(asks), "{asks}");
        }
    }
    for asks in ["url(", "@import", "http", "</"] {
        assert!(!style.contains(asks), "{asks}");
    }
}

#[test]
fn what_is_typed_stands_apart() {
    let told = paragraph("more: `acklab report` tells.").to_string();
    let expected = "<p><span>more: </span><code>acklab report</code><span> tells.</span></p>\n";
    assert_eq!(told, expected);
}
