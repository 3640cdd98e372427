//! Each campaign as it went: what was promised, done and seen, and what is in doubt.

use crate::analysis::worth::campaign::CampaignWorth;
use crate::analysis::worth::{
    Came, Counts, CourseStep, Foretold, ModeWorth, Promise, Reason, Verdict,
};
use crate::report::numbers::{count, digits, percent, time};
use crate::report::page::Block;

/// What a count means.
enum Means {
    /// No settings allow it.
    Bad,
    /// Bad unless settings let pages tear.
    BadIfPagesAreWhole,
    /// Bad as long as each node keeps what it told others,
    BadIfWhole,
    /// and clients lock what they read and write back.
    BadIfLocked,
    /// Bad where no server came back, and none took over.
    BadIfNoneAnew,
    /// Bad of a server whose settings promise all that it acknowledged.
    BadIfPromised,
    /// It says more of what is lost.
    OfLost,
    Innocent(&'static str),
}

/// One of the counts.
type Count = fn(&Counts) -> usize;

/// Counts that have no column, and what they are called.
const COUNTS: [(&str, Count, Means); 16] = [
    ("refused, and there", |all| all.refused_present, Means::Bad),
    (
        "there, and sent by no client",
        |all| all.never_sent,
        Means::Bad,
    ),
    (
        "nodes whose tables are corrupt",
        |all| all.corrupt,
        Means::BadIfPagesAreWhole,
    ),
    ("twice there", |all| all.doubled, Means::BadIfWhole),
    ("other than sent", |all| all.torn, Means::BadIfWhole),
    (
        "balances that do not fit",
        |all| all.unbalanced,
        Means::BadIfLocked,
    ),
    (
        "nodes that differ from the first",
        |all| all.diverged,
        Means::BadIfWhole,
    ),
    (
        "not on a replica that says it has executed them",
        |all| all.skipped,
        Means::BadIfNoneAnew,
    ),
    (
        "replicas with the same transfers and other balances or rows",
        |all| all.drifted,
        Means::BadIfNoneAnew,
    ),
    (
        "in its tables, and not in its binary log",
        |all| all.only_in_tables,
        Means::BadIfPromised,
    ),
    (
        "in its binary log, and not in its tables",
        |all| all.only_in_log,
        Means::BadIfPromised,
    ),
    (
        "lost before others that are there",
        |all| all.holes,
        Means::OfLost,
    ),
    (
        "lost on one of two sides that both wrote",
        |all| all.forked,
        Means::OfLost,
    ),
    (
        "on another node alone",
        |all| all.errant,
        Means::Innocent("as long as nobody reads them there"),
    ),
    (
        "of these with a GTID that another transaction has where clients are served",
        |all| all.gtids_reused,
        Means::Innocent("as long as nobody reads them there"),
    ),
    (
        "seen, gone, and there again",
        |all| all.flickered,
        Means::Innocent("a reader was sent elsewhere, or a node was behind"),
    ),
];

/// The heading of a campaign and all that is said of it.
pub fn blocks(one: &ModeWorth) -> Vec<Block> {
    let worth = &one.worth;
    let control = if one.is_control { "control, " } else { "" };
    let heading = format!("{control}{}, {}: {}", one.label, worth.fault, worth.title);
    let mut lines = vec![verdict(worth)];
    lines.extend(bound(worth));
    lines.extend(
        (1..)
            .zip(&one.schedule)
            .map(|(number, words)| step(one, number, words)),
    );
    lines.extend(service(worth));
    lines.extend(stale(worth));
    lines.extend(counts(worth));
    let bad = match are_pages_whole(worth) {
        true => "BAD: ",
        false => "",
    };
    let refusals = worth.refusals.iter();
    lines.extend(
        refusals.map(|words| format!("{bad}a server refused the data on its disk: {words}")),
    );
    lines.extend(control_told(one));
    lines.extend(worth.missing.iter().map(|why| format!("in doubt: {why}")));
    lines.extend(one.foretold.iter().map(foretold));
    vec![Block::Heading(heading), Block::Notes(lines)]
}

/// Whether nothing is wrong but on replicas.
fn is_of_replicas(counts: &Counts) -> bool {
    let replicas = counts.skipped + counts.drifted;
    replicas > 0 && counts.harm() == replicas
}

/// `kept; promised: each commit is flushed first …`
fn verdict(worth: &CampaignWorth) -> String {
    let is_no_commit = worth.verdict == Verdict::LostNoPromise && worth.counts.lost == 0;
    let word = match is_no_commit {
        true if is_of_replicas(&worth.counts) => "lost, no promise (no commit: what replicas hold)",
        true => "lost, no promise (no commit: what a client had read or written)",
        false => worth.verdict.word(),
    };
    let Some(given) = &worth.promise else {
        return word.to_owned();
    };
    let Counts {
        acknowledged,
        promised,
        ..
    } = worth.counts;
    let without = acknowledged.saturating_sub(promised);
    let without = match given.is_given && without > 0 {
        true => format!("; {without} of {acknowledged} were acknowledged without that promise"),
        false => String::new(),
    };
    format!("{word}; {}{without}", promise(given))
}

fn promise(promise: &Promise) -> String {
    let reason = promise.reason.words();
    if !promise.is_given {
        return format!("no promise: {reason}");
    }
    let mut told = format!("promised: {reason}");
    if let Some(end) = until(promise) {
        told += &format!("; in one trial only {end}");
    }
    if let Some(exempt) = exempt(promise) {
        told += &format!("; {exempt}");
    }
    told
}

/// `until 12.345 s, when it went on alone`
fn until(promise: &Promise) -> Option<String> {
    let until = seconds(promise.until_us? as f64 / 1e6);
    let why = promise
        .ended_by
        .map(|why| format!(", when {}", why.words()));
    Some(format!("until {until}{}", why.unwrap_or_default()))
}

/// `not from 12.345 s on where a node came back without what it had told others`
fn exempt(promise: &Promise) -> Option<String> {
    let exempt = promise.exempt.first()?;
    let from = seconds(exempt.from_us as f64 / 1e6);
    Some(format!(
        "not from {from} on where {}",
        exempt.reason.words()
    ))
}

/// Why what was lost had not been promised.
pub fn why_unpromised(promise: &Promise) -> Option<String> {
    match promise.is_given {
        false => Some(promise.reason.words().to_owned()),
        true => until(promise)
            .map(|end| format!("promised only {end}"))
            .or_else(|| exempt(promise)),
    }
}

fn seconds(s: f64) -> String {
    format!("{s:.3} s")
}

/// `lost in 0 of 20 trials: below 14 % of such faults take anything …`, `lost in 1 of 20 trials:
/// 0.256 to 21.6 % of such faults take something …`
fn bound(worth: &CampaignWorth) -> Option<String> {
    let (lossy, sound) = (worth.trials_with_loss, worth.trials_sound);
    if sound == 0 {
        return None;
    }
    let told = format!("lost in {lossy} of {}", count(sound as u64, "trial"));
    let share = match (worth.loss_share_min, worth.loss_share_max) {
        (_, None) => return Some(told),
        (None, Some(most)) => format!("below {} of such faults take anything (95 %", percent(most)),
        (Some(least), Some(most)) => format!(
            "{} to {} of such faults take something (each end 95 %",
            percent(least),
            percent(most)
        ),
    };
    let of = conclusive(worth);
    Some(format!("{told}{of}: {share}, Clopper and Pearson 1934)"))
}

/// Which trials a bound is of, where it is not of all that are sound.
fn conclusive(worth: &CampaignWorth) -> String {
    let some = match worth.trials_conclusive {
        all if all == worth.trials_sound => String::new(),
        some => format!(", {some} of them with nothing in doubt"),
    };
    match worth.trials_open {
        0 => some,
        open => {
            let open = count(open as u64, "trial");
            format!("{some}; with {open} in doubt counted as lost")
        }
    }
}

/// `1. after 200 ms to 1.5 s, power cut: writer, drop-all: done at 0.520 to 1.434 s, on a; seen: …`
fn step(one: &ModeWorth, number: usize, words: &str) -> String {
    let courses = one.courses.iter();
    let done: Vec<&CourseStep> = courses
        .filter_map(|course| course.steps.iter().find(|step| step.step == number))
        .collect();
    let Some(first) = done.first() else {
        return format!("{number}. {words}: not reached");
    };
    let times = done.iter().map(|step| step.begun_s);
    let (least, most) = (
        times.clone().fold(f64::INFINITY, f64::min),
        times.fold(0.0, f64::max),
    );
    let at = match most > least {
        true => format!("{} to {}", digits(least, 2), seconds(most)),
        false => seconds(least),
    };
    let took = done.iter().map(|step| step.ended_s - step.begun_s);
    let took = seconds(took.fold(0.0, f64::max));
    let mut told = format!("{number}. {words}: at {at}, in at most {took}");
    let mut places: Vec<String> = done.iter().map(|step| step.nodes.join(", ")).collect();
    places.sort();
    places.dedup();
    places.retain(|place| !place.is_empty());
    if !places.is_empty() {
        told += &format!(", on {}", places.join(" or "));
    }
    let dropped: u64 = done.iter().map(|step| step.dropped_writes).sum();
    if dropped > 0 {
        told += &format!(", {} lost by disks", count(dropped, "write"));
    }
    if !first.seen.is_empty() {
        told += &format!("; seen: {}", first.seen);
    }
    let blind = done.iter().filter(|step| step.bite == Some(false)).count();
    if blind > 0 {
        told += &format!("; NOT seen to bite in {blind} of {}", done.len());
    }
    told
}

fn service(worth: &CampaignWorth) -> Option<String> {
    let longest = worth.no_service_s_max?;
    let sound = worth.trials_sound;
    let mut told = format!("nobody was served for at most {}", seconds(longest));
    if worth.trials_without_return > 0 {
        told += &format!(
            "; in {} of {sound} trials nobody was served again",
            worth.trials_without_return
        );
    }
    if let Some(as_before) = worth.as_before_s_max {
        told += &format!("; as fast as before after at most {}", seconds(as_before));
    }
    if worth.recovery_s_max > 0.0 {
        told += &format!(
            "; read back after at most {}",
            seconds(worth.recovery_s_max)
        );
    }
    Some(told)
}

/// How far behind readers were.
fn stale(worth: &CampaignWorth) -> Option<String> {
    let (ms, lacked) = (worth.stale_ms_max?, worth.stale_transfers_max);
    (lacked > 0).then(|| {
        format!(
            "a reader was at most {} and {} behind what had been acknowledged",
            count(lacked as u64, "commit"),
            time(ms * 1e3)
        )
    })
}

/// Whether no settings let pages tear.
fn are_pages_whole(worth: &CampaignWorth) -> bool {
    worth.each.iter().all(|judged| judged.promise.covers_pages)
}

/// Those that are not zero, each with what it means.
fn counts(worth: &CampaignWorth) -> Vec<String> {
    let promises = || worth.each.iter().map(|judged| &judged.promise);
    let is_whole = promises().all(|promise| promise.is_whole);
    let is_locked = promises().all(|promise| promise.covers_balances);
    let logs_agree = promises().all(|promise| promise.covers_log);
    let some_agree = promises().any(|promise| promise.covers_log);
    let is_none_anew = promises().all(|promise| promise.covers_replicas);
    let mut reasons = promises().map(|promise| promise.reason);
    let of_settings = reasons.find(|reason| reason.is_of_settings());
    let excuse = of_settings.map_or(
        "a node came back without what it had told others",
        Reason::words,
    );
    let told = |(what, of, means): &(&str, fn(&Counts) -> usize, Means)| {
        let number = of(&worth.counts);
        let judged = match means {
            Means::Bad => "BAD".to_owned(),
            Means::BadIfPagesAreWhole if are_pages_whole(worth) => "BAD".to_owned(),
            Means::BadIfPagesAreWhole => excuse.to_owned(),
            Means::BadIfLocked if !is_locked => {
                "updates were lost: read without a lock, and written back".to_owned()
            }
            Means::BadIfWhole | Means::BadIfLocked if is_whole => "BAD".to_owned(),
            Means::BadIfNoneAnew if is_none_anew => "BAD".to_owned(),
            Means::BadIfNoneAnew => "a server came back or took over before that".to_owned(),
            Means::BadIfWhole | Means::BadIfLocked => excuse.to_owned(),
            Means::BadIfPromised if logs_agree => "BAD".to_owned(),
            Means::BadIfPromised if some_agree => "BAD where all was promised".to_owned(),
            Means::BadIfPromised => "not promised to agree".to_owned(),
            Means::OfLost => "counted as lost".to_owned(),
            Means::Innocent(why) => format!("innocent, {why}"),
        };
        (number > 0).then(|| format!("{number} {what}: {judged}"))
    };
    COUNTS.iter().filter_map(told).collect()
}

fn control_told(one: &ModeWorth) -> Option<String> {
    Some(match one.worth.control.as_ref()? {
        Came::AsItMust if one.worth.verdict == Verdict::Undecided => {
            "the control fired, and something else leaves it open".to_owned()
        }
        Came::AsItMust => "the control fired: it came to what it must".to_owned(),
        Came::Otherwise(_) => "the control was SILENT".to_owned(),
    })
}

/// `as foretold: lost, in 4 of 5 trials`
fn foretold(one: &Foretold) -> String {
    let what = one.what.join(" or ");
    let so = match one.is_seen {
        true => one.trials_with,
        false => one.trials - one.trials_with,
    };
    let trials = format!("in {so} of {}", count(one.trials as u64, "trial"));
    let where_from = match one.is_counter {
        true => format!(" (counter of {})", one.row),
        false => String::new(),
    };
    let because = one
        .because
        .map(|why| format!(": {why}"))
        .unwrap_or_default();
    match one.is_met {
        Some(true) => format!("as foretold{where_from}: {what}, {trials}{because}"),
        Some(false) => format!("NOT as foretold{where_from}: {what}, {trials}"),
        None if one.trials > 0 && one.is_seen => {
            format!("foretold{where_from}: {what}; seen {trials}, too few to tell")
        }
        None => format!("foretold{where_from}: {what}; no trial tells"),
    }
}
