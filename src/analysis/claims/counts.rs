//! Verdicts by counts of what faults cost.

use super::verdict::{Outcome, Verdict};
use crate::analysis::worth::ModeWorth;
use crate::study::articles::{Counted, Loss, Trials};

/// What can happen is shown by having seen it once in `some`, and never in `none`. Not to have seen
/// it shows nothing: the moments were drawn.
pub fn seen(worth: &[ModeWorth], counted: &Counted) -> Outcome {
    let what = counted.what;
    let of = |trials: &Trials| -> Vec<&ModeWorth> {
        let is_it = |of: &&ModeWorth| is_among(trials, of) && count(what, of).is_some();
        worth.iter().filter(is_it).collect()
    };
    let (none, some) = (of(&counted.none), of(&counted.some));
    let sum = |of: &[&ModeWorth]| of.iter().filter_map(|of| count(what, of)).sum::<usize>();
    let all = none.iter().chain(&some);
    // Of what was not read nobody knows whether it is lost, nor of data that a server refused.
    let open = |of: &&ModeWorth| of.worth.trials - of.worth.trials_conclusive;
    let unread: usize = all.clone().map(open).sum();
    let has_refused = all.clone().any(|of| !of.worth.refusals.is_empty());
    let verdict = match (none.len(), some.len()) {
        _ if has_refused => Verdict::Undecided,
        _ if sum(&none) > 0 => Verdict::Contradicted,
        _ if none.iter().map(open).sum::<usize>() > 0 => Verdict::Undecided,
        (1.., 1..) if sum(&some) > 0 => Verdict::Confirmed,
        _ => Verdict::Undecided,
    };
    let ends: Vec<String> = all.map(|of| ended(what, of)).collect();
    let mut notes = vec![format!("{}: {}", name(what), ends.join(", "))];
    if verdict == Verdict::Undecided {
        notes.push(match unread {
            _ if has_refused => "open: a server refused its data".to_owned(),
            0 => "open: not to have seen it shows nothing, more trials might".to_owned(),
            _ => format!("open: {unread} trials tell nothing of it"),
        });
    }
    if ends.is_empty() {
        notes = vec!["open: no fault was injected so".to_owned()];
    }
    Outcome {
        verdict,
        figures: vec![],
        notes,
    }
}

fn name(what: Loss) -> &'static str {
    match what {
        Loss::Lost => "acknowledged commits that are missing after so many faults",
        Loss::Apart => "commits in the tables or in the binary log only, after so many faults",
    }
}

/// `group flow control, cluster-loses-power 37 of 4100 in 3`
fn ended(what: Loss, of: &ModeWorth) -> String {
    let (count, worth) = (count(what, of).unwrap_or(0), &of.worth);
    let (fault, all, times) = (&worth.fault, worth.counts.acknowledged, worth.trials);
    format!("{}, {fault} {count} of {all} in {times}", of.label)
}

fn is_among(asked: &Trials, of: &ModeWorth) -> bool {
    let durability = of.worth.durability;
    let is = |asked: Option<u32>, own: u32| asked.is_none_or(|asked| asked == own);
    of.worth.counts.acknowledged > 0
        && (asked.mode.is_empty() || asked.mode.contains(&of.mode))
        && (asked.fault.is_empty() || asked.fault.contains(&of.worth.fault))
        && is(asked.flush_log, durability.flush_log)
        && is(asked.sync_binlog, durability.sync_binlog)
}

/// `None` where no binary log was held against tables.
fn count(what: Loss, of: &ModeWorth) -> Option<usize> {
    let counts = &of.worth.counts;
    match what {
        Loss::Lost => Some(counts.lost),
        Loss::Apart => (of.worth.trials_logged > 0).then(|| counts.apart()),
    }
}
