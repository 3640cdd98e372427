//! How far readers were behind what had been acknowledged.
//!
//! Readers look all the time, and looks are put into classes afterwards: by how long before its
//! beginning a transfer had been acknowledged. One clock times both, so that nothing is estimated.
//! What was lost is left out: it is counted as lost.

use std::collections::HashMap;

use serde::Serialize;

use crate::record::history::{Answer, History, Look, Reader, Token};

/// Ages at which the classes begin, in ms; the last has no end.
pub const AGES_MS: [u64; 4] = [0, 1, 10, 100];

/// How far one reader was behind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReaderStaleness {
    pub node: u8,
    /// Where it stood, if not beside that node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<u8>,
    /// The statement that it ran before its looks, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Looks that ended well, and others.
    pub looks: usize,
    pub failed: usize,
    /// The median time of a look, in µs.
    pub look_us_p50: Option<u64>,
    /// By age of what had been acknowledged: of each class of [`AGES_MS`].
    pub classes: Vec<StaleShare>,
    /// The longest from an acknowledgement to the beginning of a look that did not show it, in ms.
    /// `None` if each look showed all.
    pub stale_ms_max: Option<f64>,
    /// The most that one look did not show, of what had been acknowledged before it.
    pub stale_transfers_max: usize,
    /// Never shown, though what began after their acknowledgement was: the reader did not look far
    /// enough back. They are in no other figure.
    pub missed: usize,
}

/// How often looks did not show a transfer of some age.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StaleShare {
    /// From this age on, in ms, until the next class's.
    pub from_ms: u64,
    /// Looks before which a transfer of that age had been acknowledged.
    pub looks: usize,
    /// Pairs of a look and such a transfer, and those in which it was not shown.
    pub pairs: u64,
    pub stale_pairs: u64,
    /// The share of these; `None` without any.
    pub share: Option<Share>,
}

/// A share, and its 95 % interval (Wilson, "Probable inference", JASA 22, 1927). It is one for so
/// many looks, not pairs: what one look does not show is not shown together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    pub share: f64,
    pub low: f64,
    pub high: f64,
}

impl Share {
    /// Of so many trials; `None` of none.
    pub fn of(share: f64, trials: usize) -> Option<Share> {
        const Z: f64 = 1.959_963_984_540_054;
        let n = trials as f64;
        let middle = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let spread = share * (1.0 - share) / n + Z * Z / (4.0 * n * n);
        let half = Z * spread.max(0.0).sqrt() / (1.0 + Z * Z / n);
        (trials > 0).then(|| Share {
            share,
            low: (middle - half).clamp(0.0, share),
            high: (middle + half).clamp(share, 1.0),
        })
    }
}

/// How far each reader was behind what was acknowledged and is there at the end.
pub fn staleness(history: &History, is_there: impl Fn(Token) -> bool) -> Vec<ReaderStaleness> {
    let transfers = history.transfers.iter();
    let told = transfers.filter(|it| it.answer == Answer::Acknowledged && is_there(it.token));
    let mut told: Vec<Told> = told
        .map(|transfer| Told {
            token: transfer.token,
            begun_us: transfer.begun_us,
            at_us: transfer.ended_us,
        })
        .collect();
    told.sort_unstable_by_key(|told| told.at_us);
    let readers = history.readers.iter();
    readers.map(|reader| of_reader(reader, &told)).collect()
}

/// A transfer that was acknowledged.
struct Told {
    token: Token,
    begun_us: u64,
    at_us: u64,
}

/// One that a reader should show: which of its looks was the first to be begun after the
/// acknowledgement, and which the first to show it.
struct Due {
    at_us: u64,
    first: usize,
    shown: usize,
}

fn of_reader(reader: &Reader, told: &[Told]) -> ReaderStaleness {
    let well = reader.looks.iter().filter(|look| look.ended_us.is_some());
    let mut looks: Vec<&Look> = well.collect();
    looks.sort_by_key(|look| look.begun_us);
    let (due, missed) = due(&looks, told);
    let classes = (0..AGES_MS.len()).map(|class| stale_share(class, &looks, told, &due));
    let latest = due.iter().filter(|due| due.first < due.shown);
    let latest_us = latest.map(|due| looks[due.shown - 1].begun_us - due.at_us);
    let mut times: Vec<u64> = (looks.iter())
        .filter_map(|look| Some(look.ended_us?.saturating_sub(look.begun_us)))
        .collect();
    times.sort_unstable();
    ReaderStaleness {
        node: reader.node,
        beside: reader.beside,
        level: reader.level.clone(),
        looks: looks.len(),
        failed: reader.looks.len() - looks.len(),
        look_us_p50: times.get(times.len() / 2).copied(),
        classes: classes.collect(),
        stale_ms_max: latest_us.max().map(|us| us as f64 / 1e3),
        stale_transfers_max: most_at_once(&due, looks.len()),
        missed,
    }
}

/// All that a reader should show, and how many it can only have passed by.
fn due(looks: &[&Look], told: &[Told]) -> (Vec<Due>, usize) {
    let shown = looks.iter().enumerate();
    let shown = shown.flat_map(|(at, look)| look.new.iter().map(move |token| (*token, at)));
    // Of a token that is new twice the first look counts: a map keeps the last, so they are
    // reversed.
    let mut shown: Vec<(Token, usize)> = shown.collect();
    shown.reverse();
    let shown: HashMap<Token, usize> = shown.into_iter().collect();
    let is_shown = |told: &&Told| shown.contains_key(&told.token);
    let reached_us = told.iter().filter(is_shown).map(|told| told.begun_us).max();
    let mut missed = 0;
    let mut due = Vec::new();
    for told in told {
        let at = shown.get(&told.token).copied();
        if at.is_none() && reached_us.is_some_and(|us| told.at_us < us) {
            missed += 1;
            continue;
        }
        due.push(Due {
            at_us: told.at_us,
            first: looks.partition_point(|look| look.begun_us < told.at_us),
            shown: at.unwrap_or(looks.len()),
        });
    }
    (due, missed)
}

/// Of the looks that were begun when something had been acknowledged so long ago.
fn stale_share(class: usize, looks: &[&Look], told: &[Told], due: &[Due]) -> StaleShare {
    let from_us = AGES_MS[class] * 1_000;
    let until_us = AGES_MS.get(class + 1).map(|ms| ms * 1_000);
    let until_us = until_us.unwrap_or(u64::MAX);
    let at_age = |at_us: u64, age_us: u64| {
        let least_us = at_us.saturating_add(age_us);
        looks.partition_point(|look| look.begun_us < least_us)
    };
    let (mut pairs, mut stale_pairs) = (0, 0);
    for due in due {
        let (from, until) = (at_age(due.at_us, from_us), at_age(due.at_us, until_us));
        pairs += (until - from) as u64;
        stale_pairs += due.shown.clamp(from, until) as u64 - from as u64;
    }
    let has_any = |look: &&&Look| {
        // Acknowledged at most `until_us` before, that itself left out.
        let oldest = told.partition_point(|it| it.at_us.saturating_add(until_us) <= look.begun_us);
        let newest = told.partition_point(|it| it.at_us.saturating_add(from_us) <= look.begun_us);
        oldest < newest
    };
    let with_any = looks.iter().filter(has_any).count();
    let share = (pairs > 0).then(|| stale_pairs as f64 / pairs as f64);
    StaleShare {
        from_ms: AGES_MS[class],
        looks: with_any,
        pairs,
        stale_pairs,
        share: share.and_then(|share| Share::of(share, with_any)),
    }
}

/// How many were due and not shown at the look that lacked most.
fn most_at_once(due: &[Due], looks: usize) -> usize {
    let mut begins = vec![0_usize; looks + 1];
    let mut ends = vec![0_usize; looks + 1];
    for due in due.iter().filter(|due| due.first < due.shown) {
        begins[due.first] += 1;
        ends[due.shown] += 1;
    }
    let stale = begins.iter().zip(&ends).scan(0, |now, (more, fewer)| {
        *now = *now + more - fewer;
        Some(*now)
    });
    stale.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::worth::tests::made::transfer;

    /// A reader that looks at these times, in µs, and what is new then.
    fn reader(looks: &[(u64, &[Token])]) -> Reader {
        let look = |(begun_us, new): &(u64, &[Token])| Look {
            begun_us: *begun_us,
            ended_us: Some(begun_us + 50),
            new: new.to_vec(),
            gone: vec![],
        };
        Reader {
            node: 1,
            looks: looks.iter().map(look).collect(),
            ..Reader::default()
        }
    }

    /// Transfers 1, 2 … are acknowledged at these times.
    fn of(told_us: &[u64], reader: Reader) -> ReaderStaleness {
        let transfers = (1..).zip(told_us);
        let history = History {
            transfers: transfers
                .map(|(token, us)| transfer(token, 0, us - 100))
                .collect(),
            readers: vec![reader],
            ..History::default()
        };
        staleness(&history, |_| true).remove(0)
    }

    fn pairs(got: &ReaderStaleness) -> Vec<(u64, u64)> {
        let classes = got.classes.iter();
        classes.map(|it| (it.stale_pairs, it.pairs)).collect()
    }

    #[test]
    fn looks_are_put_into_classes_by_age() {
        // Acknowledged at 1 ms; looks 0.5, 5, 50 and 500 ms after it; the third shows it.
        let looks: [(u64, &[Token]); 5] = [
            (900, &[]),
            (1_500, &[]),
            (6_000, &[]),
            (51_000, &[1]),
            (501_000, &[]),
        ];
        let got = of(&[1_000], reader(&looks));
        assert_eq!(pairs(&got), [(1, 1), (1, 1), (0, 1), (0, 1)]);
        assert_eq!(got.stale_ms_max, Some(5.0));
        assert_eq!((got.stale_transfers_max, got.missed), (1, 0));
        assert_eq!((got.looks, got.look_us_p50), (5, Some(50)));
        let at_once = of(&[1_000], reader(&[(1_000, &[1]), (1_500, &[])]));
        assert_eq!(pairs(&at_once), [(0, 2), (0, 0), (0, 0), (0, 0)]);
        assert_eq!(
            (at_once.stale_ms_max, at_once.stale_transfers_max),
            (None, 0)
        );
    }

    #[test]
    fn a_class_begins_at_its_age_and_ends_before_the_next() {
        let looks: [(u64, &[Token]); 4] =
            [(1_999, &[]), (2_000, &[]), (10_999, &[]), (11_000, &[])];
        let got = of(&[1_000], reader(&looks));
        assert_eq!(pairs(&got), [(1, 1), (2, 2), (1, 1), (0, 0)]);
        let looks: Vec<usize> = got.classes.iter().map(|class| class.looks).collect();
        assert_eq!(looks, [1, 2, 1, 0]);
    }

    #[test]
    fn failed_looks_show_nothing_and_count_for_nothing() {
        let mut failing = reader(&[(1_500, &[]), (2_500, &[1])]);
        failing.looks[0].ended_us = None;
        let got = of(&[1_000], failing);
        assert_eq!((got.looks, got.failed), (1, 1));
        assert_eq!(pairs(&got), [(0, 0), (0, 1), (0, 0), (0, 0)]);
    }

    #[test]
    fn many_are_behind_at_once_and_one_for_long() {
        let looks: [(u64, &[Token]); 3] = [(4_000, &[]), (5_000, &[1, 2]), (6_000, &[])];
        let got = of(&[1_000, 2_000, 4_500], reader(&looks));
        // Two at 4 ms, the third at 5 and 6 ms: never shown, and nothing after it is.
        assert_eq!((got.stale_transfers_max, got.missed), (2, 0));
        assert_eq!(got.stale_ms_max, Some(3.0));
    }

    /// It was begun and acknowledged before one that is shown: so it must have been there.
    #[test]
    fn what_a_reader_passed_by_is_not_stale() {
        let looks: [(u64, &[Token]); 2] = [(3_000, &[2]), (9_000, &[])];
        let got = of(&[1_000, 2_000], reader(&looks));
        assert_eq!((got.missed, got.stale_transfers_max), (1, 0));
        assert_eq!(pairs(&got), [(0, 0), (0, 2), (0, 0), (0, 0)]);
    }

    #[test]
    fn what_is_lost_is_left_out() {
        let mut history = History {
            transfers: vec![transfer(1, 0, 0)],
            ..History::default()
        };
        history.readers = vec![reader(&[(5_000, &[])])];
        let got = staleness(&history, |_| false).remove(0);
        assert_eq!((pairs(&got)[1], got.stale_ms_max), ((0, 0), None));
    }

    #[test]
    fn wilsons_interval_is_as_published() {
        // Newcombe, Statistics in Medicine 17, 1998, table I: 81 of 263, 0 of 20.
        let share = Share::of(81.0 / 263.0, 263).unwrap();
        assert!((share.low - 0.2553).abs() < 1e-4, "{share:?}");
        assert!((share.high - 0.3662).abs() < 1e-4, "{share:?}");
        let none = Share::of(0.0, 20).unwrap();
        assert!(none.low == 0.0 && (none.high - 0.1611).abs() < 1e-4);
        assert_eq!(Share::of(0.0, 0), None);
    }
}
