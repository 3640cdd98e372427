//! Two records held against each other, as text, Markdown, CSV or JSON.
//!
//! - `answer`: what comes of it, in sentences; `tables`: figures and faults, what matters first;
//!   `csv`: a row for each figure

mod answer;
mod csv;
mod names;
mod tables;

use std::collections::BTreeSet;

use super::format::Format;
use super::label;
use super::numbers::{count, utc};
use super::page::{self, Block};
use crate::analysis::diff::told::{Diff, Difference, Place, Side, Verdict};
use crate::analysis::summary::FlagCount;
use crate::study::units::show_percent;
use names::{LINES_MAX, is_doubtful, place};
use tables::Part;

/// The whole of it, ending with a line break.
pub fn render(diff: &Diff, format: Format) -> String {
    match format {
        Format::Text => page::text(&blocks(diff)),
        Format::Markdown => markdown(diff),
        Format::Csv => csv::render(diff),
        Format::Json => json(diff),
    }
}

fn json(diff: &Diff) -> String {
    let text = serde_json::to_string_pretty(diff);
    text.expect("plain types with text keys can be written") + "\n"
}

/// The answer, what was compared, and the tables.
fn blocks(diff: &Diff) -> Vec<Block> {
    let mut blocks = vec![
        Block::Title(answer::summary(diff)),
        Block::Lines(answer::more(diff)),
        Block::Space,
        Block::Facts(facts(diff)),
    ];
    for part in parts(diff) {
        blocks.push(Block::Heading(part.heading.to_owned()));
        blocks.extend(part.blocks);
    }
    blocks
}

/// As a comment on a pull request: what differs can be seen, all else be opened.
fn markdown(diff: &Diff) -> String {
    let mut text = format!("**{}**\n", answer::summary(diff));
    let more = answer::more(diff);
    if !more.is_empty() {
        text += &format!("\n{}", page::markdown(&[Block::Lines(more)]));
    }
    let parts = parts(diff).into_iter();
    let (shown, folded): (Vec<Part>, Vec<Part>) = parts.partition(|part| part.is_news);
    for part in shown {
        text += &format!("\n{}", page::markdown(&part.blocks));
    }
    let facts = [Block::Facts(facts(diff))];
    text += &details("What A and B are, and how they differ", &facts);
    for part in folded {
        text += &details(part.heading, &part.blocks);
    }
    text
}

fn details(summary: &str, blocks: &[Block]) -> String {
    let inside = page::markdown(blocks);
    format!("\n<details><summary>{summary}</summary>\n\n{inside}\n</details>\n")
}

/// What follows the answer.
fn parts(diff: &Diff) -> Vec<Part> {
    let rest = [
        ("In one record alone, or not compared", alone(diff)),
        ("Doubts", doubts(diff)),
        ("How to read this", reading(diff)),
    ];
    let rest = rest.into_iter().filter(|(_, lines)| !lines.is_empty());
    let rest = rest.map(|(heading, lines)| Part {
        heading,
        is_news: false,
        blocks: vec![Block::Lines(lines)],
    });
    tables::parts(diff).into_iter().chain(rest).collect()
}

/// What A and B are, and how they differ.
fn facts(diff: &Diff) -> Vec<(String, String)> {
    let mut facts = vec![
        ("A".to_owned(), side(&diff.a)),
        ("B".to_owned(), side(&diff.b)),
    ];
    let differs = |one: &Difference| {
        let Difference { what, a, b } = one;
        ("differs".to_owned(), format!("{what}: {a} in A, {b} in B"))
    };
    facts.extend(diff.differs.iter().map(differs));
    if diff.differs.is_empty() {
        let nothing = "nothing that the records tell of servers, settings and machines";
        facts.push(("differs".to_owned(), nothing.to_owned()));
    }
    facts
}

fn side(side: &Side) -> String {
    let partial = match side.finished {
        true => "",
        false => "; PARTIAL: the run did not go through to its end",
    };
    format!(
        "{}: {}, {}, {}, acklab {}{partial}",
        side.record,
        side.study,
        count(side.rounds.into(), "round"),
        utc(side.started_unix_ms),
        side.acklab_version
    )
}

fn alone(diff: &Diff) -> Vec<String> {
    let only = |name: &str, places: &[Place]| {
        let named: Vec<String> = places.iter().take(LINES_MAX).map(place).collect();
        let more = match places.len() - named.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let cells = count(places.len() as u64, "cell");
        let line = format!("in {name} alone, {cells}: {}{more}", named.join("; "));
        (!places.is_empty()).then_some(line)
    };
    let both = [only("A", &diff.only_in_a), only("B", &diff.only_in_b)];
    let not_compared = diff.not_compared.iter().cloned();
    both.into_iter().flatten().chain(not_compared).collect()
}

/// Flags of the figures that differ, then of others; each place once.
fn doubts(diff: &Diff) -> Vec<String> {
    let (mut lines, mut seen) = (Vec::new(), BTreeSet::new());
    for figure in diff.figures.iter().filter(|figure| is_doubtful(figure)) {
        let of = |name: &str, flags: &[FlagCount]| {
            let flags: Vec<String> = flags.iter().map(label::flag).collect();
            (!flags.is_empty()).then(|| format!("{name} {}", flags.join(" ")))
        };
        let both = [of("A", &figure.flags_a), of("B", &figure.flags_b)];
        let both: Vec<String> = both.into_iter().flatten().collect();
        let line = format!("{}: {}", place(&figure.place), both.join("; "));
        if seen.insert(line.clone()) {
            lines.push(line);
        }
    }
    let more = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    lines.extend((more > 0).then(|| format!("and {more} more places")));
    lines
}

fn reading(diff: &Diff) -> Vec<String> {
    let alike = show_percent(diff.alike_within);
    let figures = diff.counts.figures;
    let mut lines = vec![
        format!(
            "B over A: the median over rounds of B over that of A, and its interval. Two runs are \
             no pairs: the interval is that of two samples, holds what a run's rounds drift by, \
             and {} by which runs of one build stray from each other.",
            show_percent(diff.between_runs)
        ),
        format!(
            "worse, better: shown as one of {figures} figures, so that two runs of one build seem \
             to differ in at most 1 of 20 pairs. alike: all of the interval lies within {alike}."
        ),
    ];
    let has = |verdict| diff.figures.iter().any(|figure| figure.verdict == verdict);
    if has(Verdict::CannotTell) {
        let line = "shown from: the smallest difference that four of five such pairs of runs would \
                    show. More rounds make it smaller.";
        lines.push(line.to_owned());
    }
    if diff.figures.iter().any(|figure| figure.is_shared) {
        let line = "shared: A or B waited for the host's CPUs, so that it tells of the machine as \
                    much as of the servers.";
        lines.push(line.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests;
