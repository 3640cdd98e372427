//! What commits were worth: one table of cost and worth, and below it each campaign as it went.
//!
//! - `answer`: what came of all of it, in a few lines; `table`: the one table; `details`: what was
//!   done and seen, fault by fault; `fresh`: how fresh reads are, and what they cost

mod answer;
mod details;
mod fresh;
mod table;

use serde::Serialize;

use super::foot::again;
use super::format::Format;
use super::numbers::utc;
use super::page::{self, Block};
use crate::analysis::Summary;
use crate::analysis::worth::ModeWorth;
use crate::record::{Resumed, ServerFacts};

pub const TITLE: &str = "What an acknowledged commit is worth";
/// Formats that it is printed in: it has no cells, so no CSV.
pub const FORMATS: [&str; 3] = ["text", "markdown", "json"];

/// All that is told of it, as JSON.
#[derive(Serialize)]
struct WorthPage<'s> {
    study: &'s str,
    title: &'s str,
    seed: u64,
    command_line: &'s [String],
    acklab_version: &'s str,
    started_unix_ms: u64,
    /// Whether the run went through to its end.
    finished: bool,
    resumed: &'s [Resumed],
    sites: &'s [String],
    servers: &'s [ServerFacts],
    worth: &'s [ModeWorth],
}

/// The whole page, ending with a line break.
pub fn render(summary: &Summary, format: Format) -> String {
    match format {
        Format::Markdown => page::markdown(&page(summary)),
        Format::Json => json(summary),
        Format::Text | Format::Csv => page::text(&page(summary)),
    }
}

fn json(summary: &Summary) -> String {
    let page = WorthPage {
        study: &summary.study,
        title: &summary.title,
        seed: summary.seed,
        command_line: &summary.command_line,
        acklab_version: &summary.acklab_version,
        started_unix_ms: summary.started_unix_ms,
        finished: summary.finished,
        resumed: &summary.resumed,
        sites: &summary.sites,
        servers: &summary.servers,
        worth: &summary.worth,
    };
    let text = serde_json::to_string_pretty(&page);
    text.expect("plain types with text keys can be written") + "\n"
}

fn page(summary: &Summary) -> Vec<Block> {
    let mut blocks = vec![
        Block::Title(TITLE.to_owned()),
        Block::Lines(top(summary)),
        Block::Space,
    ];
    blocks.extend(body(&summary.worth));
    blocks.push(Block::Space);
    let again = again(&summary.command_line, summary.seed);
    blocks.push(Block::Lines(vec![again]));
    blocks
}

/// What came of all campaigns, in a few lines.
pub fn answer(worth: &[ModeWorth]) -> Vec<String> {
    answer::lines(worth)
}

/// The tables of all campaigns together.
pub fn tables(worth: &[ModeWorth]) -> Vec<Block> {
    let mut blocks = table::blocks(worth);
    blocks.extend(fresh::blocks(worth));
    blocks
}

/// One campaign as it went: a heading, and what was promised, done and seen.
pub fn campaign(one: &ModeWorth) -> Vec<Block> {
    details::blocks(one)
}

/// The same in a study's report.
pub fn of_study(worth: &[ModeWorth]) -> Vec<Block> {
    if worth.is_empty() {
        return vec![];
    }
    let mut blocks = vec![
        Block::Heading(TITLE.to_owned()),
        Block::Lines(answer::lines(worth)),
    ];
    blocks.extend(body(worth));
    blocks
}

/// The tables, and each campaign below them.
fn body(worth: &[ModeWorth]) -> Vec<Block> {
    let mut blocks = tables(worth);
    blocks.extend(worth.iter().flat_map(details::blocks));
    blocks
}

/// The answer, whether all of it is here, and what it is of.
fn top(summary: &Summary) -> Vec<String> {
    let mut lines = answer::lines(&summary.worth);
    if !summary.finished {
        let line = "PARTIAL: the run did not go through to its end.";
        lines.insert(0, line.to_owned());
    }
    lines.push(about(summary));
    lines
}

/// Servers, distances, how many trials, and when.
fn about(summary: &Summary) -> String {
    let servers = summary.servers.iter();
    let servers: Vec<String> = servers
        .map(|server| format!("{} {}", server.name, server.version))
        .collect();
    let mut distances: Vec<&str> = Vec::new();
    for one in &summary.worth {
        if !distances.contains(&&one.distances[..]) {
            distances.push(&one.distances);
        }
    }
    let trials: usize = summary.worth.iter().map(|one| one.worth.trials).sum();
    let mut about = format!(
        "{}; sites {} apart; {trials} trials, seed {}, begun {}",
        servers.join(", "),
        distances.join(" or "),
        summary.seed,
        utc(summary.started_unix_ms)
    );
    for resumed in &summary.resumed {
        about += &format!(", gone on with {}", utc(resumed.started_unix_ms));
    }
    about
}

#[cfg(test)]
mod tests;
