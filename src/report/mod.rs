//! A summary as terminal text, Markdown, CSV or JSON; a record as a page, or as charts alone.

mod activity;
mod against;
mod anatomy;
mod article;
mod asides;
mod cells;
pub mod charts;
mod columns;
mod contention;
mod csv;
pub mod diff;
mod effects;
mod entry;
pub mod faults;
mod figure;
mod foot;
mod format;
mod ground;
mod group;
mod head;
pub mod html;
mod knees;
mod label;
mod limits;
mod machines;
pub mod markup;
pub mod numbers;
mod page;
pub mod picture;
pub mod predict;
mod waits;
pub mod worth;

pub use format::Format;

use crate::analysis::Summary;
use page::Block;

/// The whole report, ending with a line break.
pub fn render(summary: &Summary, format: Format) -> String {
    match format {
        Format::Text => page::text(&blocks(summary)),
        Format::Markdown => page::markdown(&blocks(summary)),
        Format::Csv => csv::render(summary),
        Format::Json => json(summary),
    }
}

fn blocks(summary: &Summary) -> Vec<Block> {
    let mut blocks = head::head(summary);
    // Right below the title.
    let at = blocks.len().min(1);
    blocks.splice(at..at, against::blocks(summary));
    blocks.extend(limits::blocks(summary));
    blocks.extend(knees::blocks(summary));
    blocks.extend(cells::blocks(summary));
    blocks.extend(anatomy::blocks(summary));
    blocks.extend(effects::blocks(summary));
    blocks.extend(worth::of_study(&summary.worth));
    blocks.extend(article::blocks(summary));
    blocks.extend(machines::blocks(summary));
    blocks.extend(foot::foot(summary));
    blocks
}

fn json(summary: &Summary) -> String {
    let text = serde_json::to_string_pretty(summary);
    text.expect("plain types with text keys can be written") + "\n"
}

#[cfg(test)]
mod tests;
