//! The page: one HTML file that asks nobody for anything. The answer stands first, what it rests on
//! below. Without a script all of it is there; with one tables can be copied, lines switched off,
//! and figures pointed at.
//!
//! - `document`: what stands around everything; `section`: a part of it with its heading
//! - `rows`: what is known of each mode; `answer`: a sentence of each; `decision`: the table
//! - `audit`: what was lost, commit by commit; `machine`: on what it was measured
//! - `asked`: what was asked of links and disks, and got
//! - `figures`, `tables`, `blocks`, `texts`: charts, tables and texts of reports as elements
//! - `places`: what parts are called, so that links lead there

mod answer;
mod asked;
mod audit;
mod blocks;
mod decision;
mod document;
mod figures;
mod machine;
mod places;
mod rows;
mod section;
mod tables;
mod texts;

use super::cells::{self, OfLoad};
use super::charts::{Chart, Subject, charts};
use super::markup::Element;
use super::numbers::count;
use super::page::Block;
use super::{anatomy, article, effects, foot, knees, limits};
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
    let (loads, left) = cells::by_load(summary);
    let material = rows::of(record, summary);
    let mut answer = answer::elements(summary, &material);
    let places = Places {
        summary,
        loads: &loads,
    };
    answer.extend(decision::elements(&material, &places));
    answer.extend(figures.of_subject(Subject::Worth));
    let mut throughput = figures.of_subject(Subject::Lines);
    throughput.extend(figures.of_subject(Subject::Bars));
    let mut anatomy = figures.of_subject(Subject::Anatomy);
    anatomy.extend(anatomies(summary));
    let mut limits = figures.of_subject(Subject::Limits);
    limits.extend(blocks::parts("limits", &limits::blocks(summary)));
    limits.extend(blocks::parts("knees", &knees::blocks(summary)));
    let all = [
        Section::of("answer", "The answer", answer),
        Section::of("throughput", "Throughput and latency", throughput),
        Section::of("cells", "Every cell's figures", tables_of(&loads, left)),
        Section::of("anatomy", "What a commit consists of", anatomy),
        Section::of(
            "seconds",
            "Second by second",
            figures.of_subject(Subject::Seconds),
        ),
        Section::of(
            "audit",
            "What was lost",
            audit::elements(record, summary, &figures),
        ),
        Section::of("limits", "What holds it back", limits),
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
        Section::of("asked", "Asked and got", asked::elements(summary)),
        Section::of(
            "contention",
            "Who waited for a CPU",
            figures.of_subject(Subject::Contention),
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

/// The tables of each load, as far as there is room for them.
fn tables_of(loads: &[OfLoad<'_>], left: Option<String>) -> Vec<Element> {
    let shown = places::shown(loads);
    let mut elements: Vec<Element> = (loads[..shown].iter().enumerate())
        .map(|(place, load)| blocks::part(&places::load_id(place), &load.blocks))
        .collect();
    let more: usize = loads[shown..].iter().map(|load| load.cells.len()).sum();
    if more > 0 {
        let cells = count(more as u64, "cell");
        elements.push(paragraph(&format!(
            "{cells} more: `acklab report RECORD --format csv` has every figure of every cell."
        )));
    }
    elements.extend(left.map(|left| paragraph(&left)));
    elements
}

fn anatomies(summary: &Summary) -> Vec<Element> {
    let groups = anatomy::groups(summary);
    let groups = groups.iter().enumerate();
    groups
        .map(|(place, members)| {
            let blocks = anatomy::section(summary, members);
            blocks::part(&places::anatomy_id(place), &blocks)
        })
        .collect()
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
