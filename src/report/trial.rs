//! A trial's page: what each series came to.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::entry::Entry;
use super::foot::again;
use super::format::Format;
use super::numbers::digits;
use super::page::{self, Block, Table};
use crate::analysis::summary::ModeSeries;
use crate::analysis::trial::{ACKNOWLEDGED_MIN, SeriesSummary, Verdict, share_max};
use crate::analysis::{mode_settings, series};
use crate::record::Header;
use crate::record::store::Record;
use crate::study::fault::Durability;

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
    /// What power cuts leave, in the command line's word; empty where no power is cut.
    pub cut: String,
    /// Whether all trials that were asked for came to their end.
    pub finished: bool,
    pub series: Vec<SeriesSummary>,
    /// The words that the program was started with.
    pub command_line: Vec<String>,
}

impl TrialPage {
    /// Of a record of trials alone; `None` of one of measurements.
    pub fn of(record: &Record) -> Option<TrialPage> {
        let header = &record.header;
        let study = &header.study;
        let (spec, sweep) = (study.modes.first()?, study.sweeps.first()?);
        if !header.cells.is_empty() || study.is_of_endpoints() {
            return None;
        }
        let series: Vec<SeriesSummary> = series(record).into_iter().map(|of| of.series).collect();
        let leaves = series.iter().find_map(|summary| summary.fault.leaves());
        Some(TrialPage {
            server: server_and_version(header, &spec.server),
            mode: spec.mode.name().to_owned(),
            settings: mode_settings(&spec.mode).into_iter().collect(),
            distances: sweep.distances.first()?.label.clone(),
            seed: study.seed,
            cut: leaves.map_or_else(String::new, |leaves| leaves.name().to_owned()),
            finished: record.finished,
            series,
            command_line: header.command_line.clone(),
        })
    }
}

fn server_and_version(header: &Header, name: &str) -> String {
    let facts = header.servers.iter().find(|facts| facts.name == name);
    facts.map_or_else(
        || name.to_owned(),
        |facts| format!("{name} {}", facts.version),
    )
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
    if !cut.is_empty() {
        about += &format!(", power cuts: {cut}");
    }
    if !trial.finished {
        about += ", not finished";
    }
    vec![
        Block::Title("What is left of acknowledged commits".to_owned()),
        Block::Lines(vec![about]),
        Block::Space,
        Block::Table(table(&trial.series)),
        Block::Space,
        Block::Notes(notes(&of_settings(&trial.series))),
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
pub fn of_study(series: &[ModeSeries]) -> Vec<Block> {
    if series.is_empty() {
        return vec![];
    }
    let names = [("mode", true), ("fault", true)];
    let row = |of: &ModeSeries| {
        let named = vec![of.label[..].into(), of.series.fault.label().into()];
        with_figures(named, &of.series, false)
    };
    let mut table = Table::new(&with_titles(&names, false));
    table.rows = series.iter().map(row).collect();
    let named: Vec<Named> = series
        .iter()
        .map(|of| (of.label.clone(), &of.series))
        .collect();
    vec![
        Block::Heading("What is left of acknowledged commits when power is lost".to_owned()),
        Block::Table(table),
        Block::Notes(notes(&named)),
    ]
}

/// What a series came to, behind what it is called: titles, and whether they are of words. Commits
/// that were never answered and are there stand on a trial's own page.
fn with_titles<'t>(names: &[(&'t str, bool)], has_recovered: bool) -> Vec<(&'t str, bool)> {
    let counts = [
        "trials",
        "acknow-\nledged",
        "lost",
        "trials with\na loss",
        "no\nstart",
    ];
    let recovered = has_recovered.then_some("reco-\nvered");
    let more = ["phan-\ntom", "only in\ntable", "only in\nbinlog"];
    let counts = counts.into_iter().chain(recovered).chain(more);
    let verdict = ("verdict", true);
    let figures = counts.map(|title| (title, false)).chain([verdict]);
    names.iter().copied().chain(figures).collect()
}

/// The row below these titles.
fn with_figures(mut row: Vec<Entry>, summary: &SeriesSummary, has_recovered: bool) -> Vec<Entry> {
    let counts = [
        summary.trials,
        summary.acknowledged,
        summary.lost,
        summary.trials_with_loss,
        summary.no_start,
    ];
    let recovered = has_recovered.then_some(summary.recovered);
    let counts = counts.into_iter().chain(recovered).chain([summary.phantom]);
    row.extend(counts.map(Entry::count));
    row.extend([summary.only_in_table, summary.only_in_log].map(count));
    row.push(summary.verdict.word().into());
    row
}

fn table(series: &[SeriesSummary]) -> Table {
    let names = [
        ("flush_\nlog", true),
        ("sync_\nbinlog", true),
        ("fault", true),
    ];
    let row = |summary: &SeriesSummary| {
        let Durability {
            flush_log,
            sync_binlog,
        } = summary.durability;
        let settings = [flush_log, sync_binlog].map(|value| value.to_string().into());
        let fault = Entry::from(summary.fault.label());
        with_figures(settings.into_iter().chain([fault]).collect(), summary, true)
    };
    let mut table = Table::new(&with_titles(&names, true));
    table.rows = series.iter().map(row).collect();
    table
}

fn count(of: Option<usize>) -> Entry {
    of.map_or(Entry::NOTHING, Entry::count)
}

/// A series, and what its servers are called.
type Named<'t> = (String, &'t SeriesSummary);

fn of_settings(series: &[SeriesSummary]) -> Vec<Named<'_>> {
    let named = |summary: &'_ SeriesSummary| summary.durability.label();
    series
        .iter()
        .map(|summary| (named(summary), summary))
        .collect()
}

fn notes(series: &[Named]) -> Vec<String> {
    let mut notes: Vec<String> = [
        "counts of commits, but for trials; flush_log is innodb_flush_log_at_trx_commit",
        "lost: acknowledged, and not in the table after recovery; recovered: never answered, and \
         there; phantom: there though refused or never sent, or there once and gone later",
        "no start: the server refuses to start on what is left of its data; what was acknowledged \
         since the trial before counts as lost, and all begins anew",
        "only in table, only in binlog: where the two disagree after recovery, a replica would too",
    ]
    .map(str::to_owned)
    .into();
    notes.push(format!(
        "kept takes {ACKNOWLEDGED_MIN} acknowledged, some on their way when the fault came, and \
         each fault seen to befall what it was meant to; no promise: mode and settings give none"
    ));
    let longest = series.iter().map(|(_, summary)| summary.recovery_s_max);
    let longest_s = digits(longest.fold(0.0, f64::max), 1);
    notes.push(format!("the longest recovery took {longest_s} s"));
    notes.extend(bounds(series));
    notes.extend(series.iter().filter_map(doubt_or_breach));
    let unread = series.iter().flat_map(|(_, summary)| &summary.unread);
    notes.extend(unread.map(|why| format!("nothing could be read: {why}")));
    let refusals = series.iter().flat_map(|(_, summary)| &summary.refusals);
    notes.extend(refusals.map(|refusal| format!("no start: {refusal}")));
    notes
}

/// What "none lost" says of each number of trials.
fn bounds(series: &[Named]) -> Vec<String> {
    let series = series.iter().map(|(_, summary)| summary);
    let without_loss = series.filter(|summary| summary.loss_share_max.is_some());
    let counts = without_loss.map(|summary| summary.trials - summary.unread.len());
    let bound = |n: usize| {
        let percent = digits(share_max(n)? * 100.0, 1);
        Some(format!(
            "none lost in {n}: with 95 % confidence at most {percent} % of such faults take \
             something (Clopper and Pearson 1934)"
        ))
    };
    let counts: BTreeSet<usize> = counts.collect();
    counts.into_iter().filter_map(bound).collect()
}

fn doubt_or_breach((name, summary): &Named) -> Option<String> {
    let fault = summary.fault.label();
    match summary.verdict {
        Verdict::Broken => Some(format!(
            "BROKEN: {name} does not keep at a {fault} what it promises ({})",
            breach(summary)
        )),
        Verdict::Undecided => {
            let missing = summary.missing.join("; ");
            Some(format!("undecided: {name}, {fault}: {missing}"))
        }
        _ if summary.trials_alone > 0 => Some(format!(
            "{name}, {fault}: in {} of {} trials it had gone on alone before its power went, and \
             promised nothing any more",
            summary.trials_alone, summary.trials
        )),
        _ => None,
    }
}

/// What was promised; of what no settings allow, that.
fn breach(summary: &SeriesSummary) -> &'static str {
    if summary.phantom > 0 {
        "nobody may show what was never sent, or lose what was read"
    } else if summary.no_start > 0 {
        "a server has to come up on its own data"
    } else {
        summary.promise.reason.words()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::trial::summarize;
    use crate::analysis::trial::tests::{lossy, single, without_loss};
    use crate::study::fault::{Fault, Leaves, Scope};

    fn example() -> TrialPage {
        let cut = Fault::power_cut(Leaves::Nothing, Scope::Node);
        let (loose, strict) = (Durability::LOOSE, Durability::STRICT);
        let mut unseen = without_loss(strict, cut);
        unseen.trials[0].bite = None;
        unseen.trials[1].unread = Some("could not start: no connection after 120 s".to_owned());
        let series = [
            lossy(loose, cut),
            without_loss(loose, Fault::KILL),
            without_loss(strict, cut),
            lossy(strict, Fault::KILL),
            without_loss(loose, cut),
            unseen,
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
            finished: true,
            series: (series.iter())
                .map(|series| summarize(series, &single(series.durability)))
                .collect(),
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
}
