//! A trial's page: what each series came to.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ends::again;
use super::entry::Entry;
use super::format::Format;
use super::numbers::digits;
use super::page::{self, Block, Table};
use crate::analysis::summary::ModeToll;
use crate::analysis::trial::{Toll, Verdict};
use crate::study::fault::{Durability, Fault};

/// Formats that a trial is printed in: it has no cells, so no CSV.
pub const FORMATS: [&str; 3] = ["text", "markdown", "json"];

/// All that is told of a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialPage {
    /// The server's name and version.
    pub server: String,
    pub mode: String,
    /// Settings that only this mode has.
    pub settings: BTreeMap<String, String>,
    /// Between sites.
    pub distances: String,
    pub seed: u64,
    /// What power cuts leave, in the command line's word.
    pub cut: String,
    pub tolls: Vec<Toll>,
    /// The words that the program was started with.
    pub command_line: Vec<String>,
}

/// The whole page, ending with a line break.
pub fn render(trial: &TrialPage, format: Format) -> String {
    match format {
        Format::Markdown => page::markdown(&blocks(trial)),
        Format::Json => json(trial),
        Format::Text | Format::Csv => page::text(&blocks(trial)),
    }
}

fn json(trial: &TrialPage) -> String {
    let text = serde_json::to_string_pretty(trial);
    text.expect("plain types can be written") + "\n"
}

fn blocks(trial: &TrialPage) -> Vec<Block> {
    let TrialPage { seed, cut, .. } = trial;
    let again = again(&trial.command_line, *seed);
    let mut about = format!("{}, seed {seed}", server(trial));
    let is_cut = |toll: &Toll| toll.fault != Fault::Kill;
    if trial.tolls.iter().any(is_cut) {
        about += &format!(", power cuts: {cut}");
    }
    vec![
        Block::Title("What is left of acknowledged commits".to_owned()),
        Block::Lines(vec![about]),
        Block::Space,
        Block::Table(table(&trial.tolls)),
        Block::Space,
        Block::Notes(notes(&trial.tolls)),
        Block::Space,
        Block::Lines(vec![again]),
    ]
}

/// With its mode, which but for a single server has copies at some distance.
fn server(trial: &TrialPage) -> String {
    let (server, mode) = (&trial.server, &trial.mode);
    if mode == "single" {
        return format!("{server} {mode}");
    }
    let settings = trial.settings.iter();
    let settings: Vec<String> = settings
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let settings = match settings.is_empty() {
        true => String::new(),
        false => format!(" ({})", settings.join(", ")),
    };
    let distances = &trial.distances;
    format!("{server} {mode}{settings}, sites {distances} apart")
}

/// The same in a study's report: by mode.
pub fn of_study(tolls: &[ModeToll]) -> Vec<Block> {
    if tolls.is_empty() {
        return vec![];
    }
    let mut table = Table::new(&[
        ("mode", true),
        ("fault", true),
        ("cuts", false),
        ("acknow-\nledged", false),
        ("lost", false),
        ("cuts with\na loss", false),
        ("no\nstart", false),
        ("phan-\ntom", false),
        ("only in\ntable", false),
        ("only in\nbinlog", false),
        ("promise", true),
    ]);
    table.rows = tolls.iter().map(row_of_mode).collect();
    let plain: Vec<Toll> = tolls.iter().map(|toll| toll.toll.clone()).collect();
    vec![
        Block::Heading("What is left of acknowledged commits when power is lost".to_owned()),
        Block::Table(table),
        Block::Notes(notes(&plain)),
    ]
}

fn row_of_mode(of: &ModeToll) -> Vec<Entry> {
    let toll = &of.toll;
    let counts = [
        toll.cuts,
        toll.acknowledged,
        toll.lost,
        toll.cuts_with_loss,
        toll.no_start,
        toll.phantom,
    ];
    let mut row = vec![of.label[..].into(), toll.fault.label().into()];
    row.extend(counts.map(Entry::count));
    row.extend([toll.only_in_table, toll.only_in_log].map(count));
    row.push(toll.verdict.word().into());
    row
}

fn table(tolls: &[Toll]) -> Table {
    let mut table = Table::new(&[
        ("flush_\nlog", true),
        ("sync_\nbinlog", true),
        ("fault", true),
        ("cuts", false),
        ("acknow-\nledged", false),
        ("lost", false),
        ("cuts with\na loss", false),
        ("no\nstart", false),
        ("reco-\nvered", false),
        ("phan-\ntom", false),
        ("only in\ntable", false),
        ("only in\nbinlog", false),
        ("promise", true),
    ]);
    table.rows = tolls.iter().map(row).collect();
    table
}

fn row(toll: &Toll) -> Vec<Entry> {
    let counts = [
        toll.cuts,
        toll.acknowledged,
        toll.lost,
        toll.cuts_with_loss,
        toll.no_start,
        toll.recovered,
        toll.phantom,
    ];
    let Durability {
        flush_log,
        sync_binlog,
    } = toll.durability;
    let mut row = vec![
        flush_log.to_string().into(),
        sync_binlog.to_string().into(),
        toll.fault.label().into(),
    ];
    row.extend(counts.map(Entry::count));
    row.extend([toll.only_in_table, toll.only_in_log].map(count));
    row.push(toll.verdict.word().into());
    row
}

fn count(of: Option<usize>) -> Entry {
    of.map_or(Entry::NOTHING, Entry::count)
}

fn notes(tolls: &[Toll]) -> Vec<String> {
    let mut notes: Vec<String> = [
        "counts of commits, but for cuts; flush_log is innodb_flush_log_at_trx_commit",
        "lost: acknowledged, and not in the table after recovery; recovered: never answered, and \
         there; phantom: there though refused or never sent, or there once and gone later",
        "no start: the server, or what is left of a cluster, does not come up again; what was \
         acknowledged since the end before counts as lost, and all begins anew",
        "only in table, only in binlog: where the two disagree after recovery, a replica would too",
    ]
    .map(str::to_owned)
    .into();
    let longest = tolls.iter().map(|toll| toll.recovery_s_max);
    let longest_s = digits(longest.fold(0.0, f64::max), 1);
    notes.push(format!("the longest recovery took {longest_s} s"));
    let broken = tolls.iter().filter(|toll| toll.verdict == Verdict::Broken);
    let broken = broken.map(|toll| {
        let (settings, fault) = (toll.durability.label(), toll.fault.label());
        format!("BROKEN: {settings} does not keep at a {fault} what it promises")
    });
    notes.extend(broken);
    let refusals = tolls.iter().flat_map(|toll| &toll.refusals);
    notes.extend(refusals.map(|refusal| format!("no start: {refusal}")));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::trial::tests::{lossy, without_loss};
    use crate::analysis::trial::toll;
    use crate::study::fault::Leaves;

    fn example() -> TrialPage {
        let cut = Fault::PowerCut(Leaves::Nothing);
        let (loose, strict) = (Durability::LOOSE, Durability::STRICT);
        let series = [
            lossy(loose, cut),
            without_loss(loose, Fault::Kill),
            without_loss(strict, cut),
            lossy(strict, Fault::Kill),
        ];
        TrialPage {
            server: "mysql 9.7.4-2".to_owned(),
            mode: "quorum".to_owned(),
            settings: [("copies", "6"), ("write_quorum", "4")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            distances: "1 ms".to_owned(),
            seed: 1,
            cut: "drop-all".to_owned(),
            tolls: series.iter().map(toll).collect(),
            command_line: ["acklab", "power-cut", "--mode", "quorum"]
                .map(String::from)
                .into(),
        }
    }

    #[test]
    fn text_of_a_trial() {
        let text = render(&example(), Format::Text);
        assert!(text.lines().all(|line| line.chars().count() <= page::WIDTH));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn json_of_a_trial_has_every_count() {
        let text = render(&example(), Format::Json);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let first = &json["tolls"][0];
        assert_eq!(
            (&first["flush_log"], &first["lost"]),
            (&2.into(), &2.into())
        );
        assert_eq!(first["verdict"], "nothing-promised");
        assert_eq!(json["tolls"][3]["verdict"], "broken");
        assert_eq!(json["tolls"][1]["fault"], "kill");
    }
}
