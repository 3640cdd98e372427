//! The page: one HTML file that asks nobody for anything. The answer stands first, what it rests on
//! below. Without a script all of it is there; with one tables can be copied, lines switched off,
//! and figures pointed at.
//!
//! - `document`: what stands around everything; `section`: a part of it with its heading
//! - `rows`: what is known of each mode; `answer`: a sentence of each; `decision`: the table
//! - `foretold`: what the record says of other distances, with `sliders`; its script is `model.js`
//!   (the model once more) and `foretell.js` (what moves)
//! - `audit`: what was lost, commit by commit; `machine`: on what it was measured
//! - `asked`: what was asked of links and disks, and got; `download`: all figures as a file
//! - `figures`, `tables`, `blocks`, `texts`: charts, tables and texts of reports as elements
//! - `places`: what parts are called, so that links lead there

mod answer;
mod asked;
mod audit;
mod blocks;
mod decision;
mod document;
mod download;
mod figures;
mod foretold;
mod machine;
mod places;
mod rows;
mod section;
mod sliders;
mod tables;
mod texts;

use super::cells::{self, OfLoad};
use super::charts::{Chart, Subject, charts};
use super::markup::Element;
use super::numbers::count;
use super::page::Block;
use super::{anatomy, article, effects, foot, knees, limits, machines};
use crate::analysis::Summary;
use crate::record::store::Record;
pub use document::{STYLE, policy};

use figures::Figures;
use places::Places;
use section::Section;
use texts::paragraph;

/// The whole page, ending with a line break; `None` of a record that holds neither a finished
/// measurement nor a trial that came to its end.
pub fn render(record: &Record, summary: &Summary) -> Option<String> {
    let has_cell = summary.cells.iter().any(|cell| cell.rounds > 0);
    let has_trial = summary.worth.iter().any(|one| one.worth.trials > 0);
    (has_cell || has_trial).then(|| {
        let drawn = charts(record, summary);
        let sections = sections(record, summary, &drawn);
        document::whole(summary, sections)
    })
}

fn sections(record: &Record, summary: &Summary, drawn: &[Chart]) -> Vec<Section> {
    let figures = Figures::of(drawn);
    let of = |subject: Subject| figures.of_subject(subject);
    let (loads, left) = cells::by_load(summary);
    let material = rows::of(record, summary);
    let mut answer = answer::elements(summary, &material);
    let places = Places {
        summary,
        loads: &loads,
    };
    answer.extend(decision::elements(&material, &places));
    answer.extend(of(Subject::Worth));
    let foretold = foretold::elements(record, summary, &material);
    let audit = audit::elements(record, summary, &figures);
    let all = [
        Section::of("answer", "The answer", answer),
        Section::of("foretold", "At your distances: foretold", foretold),
        Section::of("throughput", "Throughput and latency", throughput(&figures)),
        Section::of(
            "cells",
            "Every cell's figures",
            every_cell(summary, &loads, left),
        ),
        Section::of(
            "anatomy",
            "What a commit consists of",
            anatomies(summary, &figures),
        ),
        Section::of("seconds", "Second by second", of(Subject::Seconds)),
        Section::of("behind", "Lag and flow control", behind(&figures)),
        Section::of("audit", "What was lost", audit),
        Section::of(
            "limits",
            "What holds it back",
            holds_back(summary, &figures),
        ),
        Section::of(
            "effects",
            "What variables do",
            blocks::parts("effects", &effects::blocks(summary)),
        ),
        Section::of(
            "article",
            "The article",
            blocks::parts("article", &article::blocks(summary)),
        ),
        Section::of(
            "machines",
            "What each machine came to",
            blocks::elements(&machines::blocks(summary)),
        ),
        Section::of("asked", "Asked and got", asked::elements(summary)),
        Section::of(
            "contention",
            "Who waited for a CPU",
            of(Subject::Contention),
        ),
        Section::of(
            "machine",
            "On what it was measured",
            machine::elements(record, summary),
        ),
        Section::of("reading", "How to read this", reading(summary)),
        Section::of("again", "Again", machine::again(summary)),
    ];
    all.into_iter().flatten().collect()
}

fn throughput(figures: &Figures) -> Vec<Element> {
    let subjects = [Subject::Lines, Subject::Bars, Subject::Percentiles];
    let all = subjects.into_iter();
    all.flat_map(|subject| figures.of_subject(subject))
        .collect()
}

fn behind(figures: &Figures) -> Vec<Element> {
    let charts = figures.of_subject(Subject::Behind);
    let note = "Heartbeats are sent when a window is over and the load still runs: their cost is \
                in no count. Flow control is what servers counted over the window. A record has \
                neither by the second.";
    match charts.is_empty() {
        true => vec![],
        false => std::iter::once(paragraph(note)).chain(charts).collect(),
    }
}

fn holds_back(summary: &Summary, figures: &Figures) -> Vec<Element> {
    let mut all = figures.of_subject(Subject::Limits);
    all.extend(blocks::parts("limits", &limits::blocks(summary)));
    all.extend(blocks::parts("knees", &knees::blocks(summary)));
    all
}

/// The tables of each load, as far as there is room for them; and all of it to take along.
fn every_cell(summary: &Summary, loads: &[OfLoad<'_>], left: Option<String>) -> Vec<Element> {
    let shown = places::shown(loads);
    let mut elements: Vec<Element> = (loads[..shown].iter().enumerate())
        .map(|(place, load)| blocks::part(&places::load_id(place), &load.blocks))
        .collect();
    let more: usize = loads[shown..].iter().map(|load| load.cells.len()).sum();
    if more > 0 {
        let cells = count(more as u64, "cell");
        elements.push(paragraph(&format!(
            "{cells} more: `acklab report RECORD --format csv` prints them, and they are in the \
             file below."
        )));
    }
    elements.extend(left.map(|left| paragraph(&left)));
    if !loads.is_empty() {
        elements.push(download::csv(summary));
    }
    elements
}

fn anatomies(summary: &Summary, figures: &Figures) -> Vec<Element> {
    let mut elements = figures.of_subject(Subject::Anatomy);
    let groups = anatomy::groups(summary);
    elements.extend(groups.iter().enumerate().map(|(place, members)| {
        let blocks = anatomy::section(summary, members);
        blocks::part(&places::anatomy_id(place), &blocks)
    }));
    elements
}

/// All but its heading, which the section has, and its last line, which has a section of its own.
fn reading(summary: &Summary) -> Vec<Element> {
    let mut blocks = foot::foot(summary);
    blocks.retain(|block| !matches!(block, Block::Heading(_)));
    for block in &mut blocks {
        if let Block::Lines(lines) = block {
            lines.pop();
        }
    }
    blocks::elements(&blocks)
}

#[cfg(test)]
mod tests;
