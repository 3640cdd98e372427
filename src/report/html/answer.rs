//! The first thing that is read: a sentence of each mode.

use super::rows::{Material, Row};
use super::texts::{paragraph, sentences};
use crate::analysis::Summary;
use crate::analysis::summary::ModeAgainst;
use crate::analysis::worth::{Disaster, ModeWorth, Verdict};
use crate::report::entry::Entry;
use crate::report::markup::Element;
use crate::report::numbers::{Unit, count, percent, time};
use crate::report::{against, label, worth};

/// More rows are in the table alone.
const SENTENCES_MAX: usize = 12;

/// What was compared, and a sentence of each mode; then what came of all trials.
pub fn elements(summary: &Summary, material: &Material<'_>) -> Vec<Element> {
    let mut elements: Vec<Element> = about(summary, material).into_iter().collect();
    let rows = material.rows.iter().take(SENTENCES_MAX);
    let told: Vec<String> = rows.map(|row| sentence(summary, row)).collect();
    if !told.is_empty() {
        elements.push(sentences(told));
    }
    let more = material.rows.len().saturating_sub(SENTENCES_MAX);
    if more > 0 {
        let rows = count(more as u64, "row");
        elements.push(paragraph(&format!("{rows} more in the table.")));
    }
    let verdicts = worth::answer(&summary.worth);
    if !verdicts.is_empty() {
        elements.push(paragraph("What came of all trials:"));
        elements.push(sentences(verdicts));
    }
    elements
}

/// `What a commit takes more than at each server's own baseline: update_index, 1 connection, …`
fn about(summary: &Summary, material: &Material<'_>) -> Option<Element> {
    let cell = material.alone?;
    let against = match &summary.against {
        Some(against) => against.baseline.clone(),
        None => "the same server's baseline".to_owned(),
    };
    let around = label::surroundings(summary, cell);
    let mut added = material.rows.iter().filter_map(Row::added);
    let interval = match added.any(|at| at.added_us.low.is_some()) {
        true => {
            " In brackets the interval, which holds the true value in at least 93 of 100 such \
             studies."
        }
        false => "",
    };
    Some(paragraph(&format!(
        "What the median {} takes more than {against}: {}, {}, sites {} apart{around}.{interval}",
        label::one(cell.per),
        label::workload(summary, &cell.point),
        label::connections(cell.connections),
        cell.distances,
    )))
}

/// `mysql semisync: +2.54 ms per commit (+2.19 ms to +2.89 ms), waits for the nearest, b (2.2 ms);
/// nothing lost when the writer's machine dies (0 of 20, so below 13.9 %)`
fn sentence(summary: &Summary, row: &Row<'_>) -> String {
    let whom = row.against.as_ref().filter(|_| row.added().is_some());
    let whom = whom.and_then(|mode| waiting(summary, row, mode));
    let cost: Vec<String> = cost(row).into_iter().chain(whom).collect();
    let cost = (!cost.is_empty()).then(|| cost.join(", "));
    // The first that was tried, and each other that took something.
    let tried = Disaster::ALL.into_iter();
    let tried = tried.filter_map(|disaster| Some((disaster, row.worst(disaster)?.1)));
    let told = tried.enumerate().filter(|(place, (_, one))| {
        *place == 0 || one.worth.counts.lost > 0 || one.worth.verdict == Verdict::Broken
    });
    let lost = told.map(|(_, (disaster, one))| lost(disaster, one));
    let parts: Vec<String> = cost.into_iter().chain(lost).collect();
    match parts.is_empty() {
        true => format!("{}: measured at other points alone", row.spec.label),
        false => format!("{}: {}", row.spec.label, parts.join("; ")),
    }
}

/// So many round trips are none.
const NO_TRIP: f64 = 0.1;

/// `waits for the nearest, b (2.2 ms)`; of peers that are equally far nobody can tell more than how
/// often one of them is waited for: `1.03 ±0.05 round trips`
fn waiting(summary: &Summary, row: &Row<'_>, mode: &ModeAgainst) -> Option<String> {
    if !against::are_equally_far(mode) {
        return Some(against::whom(summary, mode));
    }
    let trips = row.anatomy?.round_trips?;
    if trips.value < NO_TRIP {
        return Some("waits for nobody".to_owned());
    }
    let trips = Entry::plus_minus(Some(trips), Unit::Trips);
    Some(format!("{trips} round trips"))
}

fn cost(row: &Row<'_>) -> Option<String> {
    let cell = row.alone?;
    let one = label::one(cell.per);
    if let Some(at) = row.added() {
        let added = against::added(at.added_us, at.p50_us);
        return Some(format!("{added} per {one}"));
    }
    let p50 = time(cell.latency_us.p50?);
    Some(match cell.baseline {
        Some(_) => format!("{p50} per {one}"),
        None => format!("{p50} per {one}; others are held against it"),
    })
}

/// `nothing lost when the writer's machine dies (0 of 20, so below 13.9 %)`
fn lost(disaster: Disaster, one: &ModeWorth) -> String {
    let (worth, when) = (&one.worth, format!("when {}", label::disaster(disaster)));
    let counts = &worth.counts;
    if worth.trials_sound == 0 {
        return format!("what is lost {when} is undecided");
    }
    let lost = match counts.lost {
        0 => format!("nothing lost {when}"),
        lost => format!("{lost} of {} commits lost {when}", counts.acknowledged),
    };
    let broken = match worth.verdict {
        Verdict::Broken => "; a promise was BROKEN",
        _ => "",
    };
    format!("{lost} ({}){broken}", share(one))
}

/// Of its trials those that lost something, and what that says: `0 of 20, so below 13.9 %`
pub fn share(one: &ModeWorth) -> String {
    let worth = &one.worth;
    let (lossy, sound) = (worth.trials_with_loss, worth.trials_sound);
    match (worth.loss_share_min, worth.loss_share_max) {
        // The bound counts those alone that have shown something.
        (None, Some(most)) => {
            let shown = worth.trials_conclusive;
            format!("{lossy} of {shown}, so below {}", percent(most))
        }
        (Some(least), Some(most)) => format!(
            "{lossy} of {sound}, so {} to {}",
            percent(least),
            percent(most)
        ),
        _ => format!("{lossy} of {}", count(sound as u64, "trial")),
    }
}
