//! A summary as terminal text, Markdown, CSV or JSON.

mod activity;
mod anatomy;
mod article;
mod asides;
mod cells;
pub mod charts;
mod csv;
mod disks;
mod effects;
mod ends;
mod numbers;
mod page;
pub mod trial;

use crate::analysis::Summary;
use page::Block;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// At most 100 columns wide.
    Text,
    Markdown,
    /// One row per cell.
    Csv,
    /// The [`Summary`], documented in docs/record.md.
    Json,
}

impl Format {
    /// All formats, with the names that a command line takes.
    pub const ALL: [(&str, Format); 4] = [
        ("text", Format::Text),
        ("markdown", Format::Markdown),
        ("csv", Format::Csv),
        ("json", Format::Json),
    ];

    /// The format of that name.
    pub fn named(name: &str) -> Option<Format> {
        let mut all = Format::ALL.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }
}

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
    let mut blocks = ends::head(summary);
    blocks.extend(cells::blocks(summary));
    blocks.extend(anatomy::blocks(summary));
    blocks.extend(effects::blocks(summary));
    blocks.extend(trial::of_study(&summary.tolls));
    blocks.extend(article::blocks(summary));
    blocks.extend(ends::foot(summary));
    blocks
}

fn json(summary: &Summary) -> String {
    let text = serde_json::to_string_pretty(summary);
    text.expect("plain types with text keys can be written") + "\n"
}

#[cfg(test)]
mod tests;
