//! What reads cost and how stale they are, over all trials in which nothing is done to the servers.
//!
//! Each reader stands beside its node. Where one reads at a level of consistency and another one
//! plainly, both look at the same node at the same time: what the level adds is the difference of
//! their times, trial by trial.

use super::fresh::{fresh, name};
use super::judged::Judged;
use super::modes::{Fresh, FreshReads};
use super::staleness::ReaderStaleness;
use crate::analysis::interval::{Noise, Risk, estimate, median};

/// Of each node and level, in that order.
pub fn fresh_reads(each: &[Judged], nodes: &[String]) -> Vec<FreshReads> {
    let sound = each.iter().filter(|judged| judged.is_sound());
    let sound: Vec<&Judged> = sound.collect();
    let all = fresh(each, nodes).into_iter();
    all.map(|fresh| with_times(fresh, &sound, nodes)).collect()
}

fn with_times(fresh: Fresh, sound: &[&Judged], nodes: &[String]) -> FreshReads {
    let time_us = |judged: &Judged, level: Option<&str>| {
        look_us(judged, |reader| {
            reader.level.as_deref() == level && name(nodes, reader.node) == fresh.node
        })
    };
    let level = fresh.level.as_deref();
    let own = sound.iter().filter_map(|judged| time_us(judged, level));
    let own: Vec<f64> = own.collect();
    let added = sound
        .iter()
        .filter_map(|judged| Some(time_us(judged, level)? - time_us(judged, None)?));
    let added: Vec<f64> = added.collect();
    FreshReads {
        look_us: estimate(&own, Noise::Multiplies, Risk::ONE_LOOK),
        added_us: level.and_then(|_| estimate(&added, Noise::Adds, Risk::ONE_LOOK)),
        node: fresh.node,
        level: fresh.level,
        looks: fresh.looks,
        classes: fresh.classes,
    }
}

/// The median time of such a reader's looks in one trial, in µs; `None` if there was none.
fn look_us(judged: &Judged, is_such: impl Fn(&ReaderStaleness) -> bool) -> Option<f64> {
    let readers = judged.readers.iter().filter(|reader| is_such(reader));
    let times = readers.filter_map(|reader| reader.look_us_p50);
    let times: Vec<f64> = times.map(|us| us as f64).collect();
    median(&times)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::worth::Doubt;
    use crate::analysis::worth::tests::made::{Made, Setting};

    const LEVEL: &str = "SET SESSION wsrep_sync_wait = 1";

    /// A trial whose plain looks take 200 µs each, and those at a level so long.
    fn trial(level_us: u64) -> Judged {
        let mut random = ChaCha8Rng::seed_from_u64(level_us);
        let mut judged = Made::legal(Setting::Promoted, &mut random).judged();
        let at_level = |plain: &ReaderStaleness| ReaderStaleness {
            level: Some(LEVEL.to_owned()),
            look_us_p50: Some(level_us),
            ..plain.clone()
        };
        let levels: Vec<ReaderStaleness> = judged.readers.iter().map(at_level).collect();
        judged.readers.extend(levels);
        judged
    }

    fn of(each: &[Judged]) -> Vec<FreshReads> {
        fresh_reads(each, &["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn a_level_adds_what_it_takes_longer_than_a_plain_look_there() {
        let found = of(&[1_100, 1_200, 1_300].map(trial));
        let readers: Vec<(&str, Option<&str>)> = (found.iter())
            .map(|it| (&it.node[..], it.level.as_deref()))
            .collect();
        let both = |node| [(node, None), (node, Some(LEVEL))];
        assert_eq!(readers, [both("a"), both("b")].concat());
        let plain = found[0].look_us.unwrap();
        assert!((plain.median - 200.0).abs() < 1e-6, "{plain:?}");
        assert_eq!(found[0].added_us, None, "others are held against it");
        let added = found[1].added_us.unwrap();
        assert!((added.median - 1_000.0).abs() < 1e-6, "{added:?}");
        // Half a width of 4.85 standard errors of three trials 100 µs apart.
        let half = added.high.unwrap() - added.median;
        assert!((200.0..350.0).contains(&half), "{added:?}");
        assert_eq!(found[0].classes, found[1].classes);
        assert_eq!(found[1].look_us.unwrap().median.round(), 1_200.0);
    }

    #[test]
    fn only_trials_with_both_looks_tell_what_is_added() {
        let mut each = [1_000, 1_000, 5_000].map(trial);
        each[2].readers.retain(|reader| reader.level.is_some());
        let added = of(&each)[1].added_us.unwrap();
        assert_eq!((added.median, added.low), (800.0, Some(800.0)));
        for judged in &mut each {
            judged.readers.retain(|reader| reader.level.is_some());
        }
        for alone in of(&each) {
            assert!(alone.added_us.is_none() && alone.look_us.is_some());
        }
    }

    #[test]
    fn trials_without_sound_evidence_tell_nothing() {
        let mut each = [1_000, 3_000].map(trial);
        each[1]
            .doubts
            .push(Doubt::Undone("the lab broke down".to_owned()));
        let added = of(&each)[1].added_us.unwrap();
        assert_eq!((added.median, added.low), (800.0, None), "of one trial");
        each[0].doubts = each[1].doubts.clone();
        assert!(of(&each).is_empty() && of(&[]).is_empty());
    }
}
