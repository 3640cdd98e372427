//! The audit: all campaigns in one table, then each as it went, with every commit that was lost.

use super::figures::Figures;
use super::places::campaign_id;
use super::texts::paragraph;
use super::{blocks, tables};
use crate::analysis::Summary;
use crate::analysis::worth::{LostCommit, LostInTrial, ModeWorth, losses};
use crate::record::store::Record;
use crate::report::charts::Subject;
use crate::report::entry::Entry;
use crate::report::markup::Element;
use crate::report::numbers::count;
use crate::report::page::Table;
use crate::report::worth;

/// Lost commits of one campaign that are told one by one, and of all of them together.
const LOST_MAX: usize = 100;
const LOST_MAX_IN_ALL: usize = 1_000;

/// Nothing of a record without faults.
pub fn elements(record: &Record, summary: &Summary, figures: &Figures<'_>) -> Vec<Element> {
    if summary.worth.is_empty() {
        return vec![];
    }
    let lost = losses(record, &summary.worth);
    let mut room = LOST_MAX_IN_ALL;
    let mut elements = blocks::elements(&worth::tables(&summary.worth));
    for (place, one) in summary.worth.iter().enumerate() {
        let of_one = lost.get(place).map_or(&[][..], Vec::as_slice);
        let most = LOST_MAX.min(room);
        room -= one.worth.counts.lost.min(most);
        let mut part = blocks::part(&campaign_id(place), &worth::campaign(one));
        part = part.children(figures.of_subject(Subject::Trial(place)));
        part = part.children(histories(one, of_one, most));
        elements.push(part);
    }
    elements
}

/// Each lost commit as its client and all readers knew it.
fn histories(one: &ModeWorth, lost: &[LostInTrial], most: usize) -> Vec<Element> {
    let commits = |trial: &LostInTrial| trial.lost.len();
    let all: usize = lost.iter().map(commits).sum();
    if all == 0 {
        return vec![];
    }
    let commits = count(all as u64, "acknowledged commit");
    let title = format!("{commits} that were lost, one by one");
    let caption = format!("Lost, {}, {}", one.label, one.worth.fault);
    let summary = Element::new("summary").text(title);
    let details = Element::new("details").child(summary);
    let details = details.child(tables::element(&table(lost, most), &caption));
    let mut elements: Vec<Element> = (most > 0).then_some(details).into_iter().collect();
    if all > most {
        let more = count((all - most) as u64, "commit");
        elements.push(paragraph(&format!(
            "{more} more: the table `fault_trial` of the record holds every one."
        )));
    }
    elements
}

fn table(lost: &[LostInTrial], most: usize) -> Table {
    let mut table = Table::new(&[
        ("token", true),
        ("trial", false),
        ("acknowledged by", true),
        ("begun, s", false),
        ("COMMIT, s", false),
        ("acknowledged, s", false),
        ("after step", false),
        ("promised", true),
        ("shown by readers before", true),
        ("left on", true),
    ]);
    let each = lost.iter().flat_map(|trial| {
        let commits = trial.lost.iter();
        commits.map(move |commit| row(trial.trial, commit))
    });
    table.rows = each.take(most).collect();
    table.without_empty_columns()
}

fn row(trial: usize, commit: &LostCommit) -> Vec<Entry> {
    let seconds = |s: f64| Entry::Words(format!("{s:.6}"));
    let seen = commit.seen.iter();
    let seen: Vec<String> = seen
        .map(|(node, s)| format!("{node} by {s:.3} s"))
        .collect();
    let words = |all: &[String]| match all.is_empty() {
        true => Entry::NOTHING,
        false => all.join(", ").into(),
    };
    let promised = if commit.is_promised { "yes, BAD" } else { "no" };
    vec![
        format!("{:016x}", commit.token).into(),
        Entry::count(trial),
        commit.node[..].into(),
        seconds(commit.begun_s),
        commit.commit_s.map_or(Entry::NOTHING, seconds),
        seconds(commit.acknowledged_s),
        commit.after_step.map_or(Entry::NOTHING, Entry::count),
        promised.into(),
        words(&seen),
        words(&commit.elsewhere),
    ]
}
