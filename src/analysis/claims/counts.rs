//! Verdicts by counts of what ends of servers cost.

use super::verdict::{Outcome, Verdict};
use crate::analysis::summary::{ModeSeries, Reason};
use crate::study::articles::{Counted, Loss, Trials};

/// What can happen is shown by having seen it once in `some`, and never in `none`. Not to have seen
/// it shows nothing: the moments were drawn.
pub fn seen(series: &[ModeSeries], counted: &Counted) -> Outcome {
    let what = counted.what;
    let of = |trials: &Trials| -> Vec<&ModeSeries> {
        let is_it = |of: &&ModeSeries| is_among(trials, of) && count(what, of).is_some();
        series.iter().filter(is_it).collect()
    };
    let (none, some) = (of(&counted.none), of(&counted.some));
    let sum = |of: &[&ModeSeries]| of.iter().filter_map(|of| count(what, of)).sum::<usize>();
    let all = none.iter().chain(&some);
    // Of what was not read nobody knows whether it is lost.
    let unread = all
        .clone()
        .map(|of| of.series.no_start + of.series.unread.len());
    let unread: usize = unread.sum();
    let verdict = match (none.len(), some.len()) {
        _ if unread > 0 => Verdict::Undecided,
        _ if sum(&none) > 0 => Verdict::Contradicted,
        (1.., 1..) if sum(&some) > 0 => Verdict::Confirmed,
        _ => Verdict::Undecided,
    };
    let ends: Vec<String> = all.map(|of| ended(what, of)).collect();
    let mut notes = vec![format!("{}: {}", name(what), ends.join(", "))];
    if verdict == Verdict::Undecided {
        notes.push(match unread {
            0 => "open: not to have seen it shows nothing, more ends might".to_owned(),
            _ => format!("open: {unread} times a server did not come back, and was not read"),
        });
    }
    if ends.is_empty() {
        notes = vec!["open: no server was ended so".to_owned()];
    }
    Outcome {
        verdict,
        figures: vec![],
        notes,
    }
}

fn name(what: Loss) -> &'static str {
    match what {
        Loss::Lost => "acknowledged commits that are missing after so many ends",
        Loss::Apart => "commits in the table or in the binary log only, after so many ends",
    }
}

/// `group flow control, cluster loss 37 of 4100 in 3`
fn ended(what: Loss, of: &ModeSeries) -> String {
    let (count, summary) = (count(what, of).unwrap_or(0), &of.series);
    let (fault, all, times) = (summary.fault.label(), summary.acknowledged, summary.trials);
    format!("{}, {fault} {count} of {all} in {times}", of.label)
}

fn is_among(asked: &Trials, of: &ModeSeries) -> bool {
    let durability = of.series.durability;
    let is = |asked: Option<u32>, own: u32| asked.is_none_or(|asked| asked == own);
    of.series.acknowledged > 0
        && (asked.mode.is_empty() || asked.mode.contains(&of.mode))
        && (asked.scope.is_empty() || asked.scope.contains(&of.series.fault.scope))
        && is(asked.flush_log, durability.flush_log)
        && is(asked.sync_binlog, durability.sync_binlog)
}

/// `None` where that end does not tell: logs are compared only where no flush may be missing.
fn count(what: Loss, of: &ModeSeries) -> Option<usize> {
    let uncovered = of.series.promise.reason == Reason::HeldInOneSite;
    match what {
        Loss::Lost => Some(of.series.lost),
        Loss::Apart => of.series.apart().filter(|_| !uncovered),
    }
}
