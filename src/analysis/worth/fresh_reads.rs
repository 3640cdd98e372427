//! What reads cost and how stale they are, over all trials in which nothing is done to the servers.
//!
//! Beside each node stands a reader that looks at it plainly. Others stand there too: one that
//! reads at a level of consistency, one that has the node wait for the writer, one that looks at
//! the writer itself. What their way adds is the difference of their times and the plain one's,
//! trial by trial. Nodes that stand equally far from the first writer are taken together.

use std::collections::BTreeMap;
use std::time::Duration;

use super::judged::Judged;
use super::modes::FreshReads;
use super::staleness::{ReaderStaleness, Share, StaleShare};
use crate::analysis::interval::{Noise, Risk, estimate, median};

/// Of each place where readers stand and each way to look from there, in that order.
pub fn fresh_reads(each: &[Judged], places: &Places<'_>) -> Vec<FreshReads> {
    let sound = each.iter().filter(|judged| judged.is_sound());
    let sound: Vec<&Judged> = sound.collect();
    let mut readers: BTreeMap<Way<'_>, Vec<&ReaderStaleness>> = BTreeMap::new();
    for reader in sound.iter().flat_map(|judged| &judged.readers) {
        let way = Way::of(reader, places);
        readers.entry(way).or_default().push(reader);
    }
    let ways = readers.into_iter();
    ways.map(|(way, readers)| of_way(way, &readers, &sound, places))
        .collect()
}

fn of_way(
    way: Way<'_>,
    readers: &[&ReaderStaleness],
    sound: &[&Judged],
    places: &Places<'_>,
) -> FreshReads {
    let time_us = |judged: &Judged, way: Way<'_>| look_us(judged, |it| Way::of(it, places) == way);
    let own = sound.iter().filter_map(|judged| time_us(judged, way));
    let own: Vec<f64> = own.collect();
    let added = sound
        .iter()
        .filter_map(|judged| Some(time_us(judged, way)? - time_us(judged, way.plain())?));
    let added: Vec<f64> = added.collect();
    let added_us = estimate(&added, Noise::Adds, Risk::ONE_LOOK);
    FreshReads {
        node: places.name(way.from),
        looks_at: way.at.map(|node| name(places.nodes, node)),
        level: way.level.map(str::to_owned),
        looks: readers.iter().map(|reader| reader.looks).sum(),
        failed: readers.iter().map(|reader| reader.failed).sum(),
        look_us: estimate(&own, Noise::Multiplies, Risk::ONE_LOOK),
        added_us: added_us.filter(|_| way != way.plain()),
        classes: classes(readers),
    }
}

/// The median time of such a reader's looks in one trial, in µs; `None` if there was none.
fn look_us(judged: &Judged, is_such: impl Fn(&ReaderStaleness) -> bool) -> Option<f64> {
    let readers = judged.readers.iter().filter(|reader| is_such(reader));
    let times = readers.filter_map(|reader| reader.look_us_p50);
    let times: Vec<f64> = times.map(|us| us as f64).collect();
    median(&times)
}

/// Each class over all of them.
fn classes(all: &[&ReaderStaleness]) -> Vec<StaleShare> {
    let Some(first) = all.first() else {
        return vec![];
    };
    let class = |(place, class): (usize, &StaleShare)| {
        let of_all = || {
            all.iter()
                .filter_map(move |reader| reader.classes.get(place))
        };
        let (pairs, stale_pairs) = (
            of_all().map(|class| class.pairs).sum::<u64>(),
            of_all().map(|class| class.stale_pairs).sum::<u64>(),
        );
        let looks = of_all().map(|class| class.looks).sum();
        let share = (pairs > 0).then(|| stale_pairs as f64 / pairs as f64);
        StaleShare {
            from_ms: class.from_ms,
            looks,
            pairs,
            stale_pairs,
            share: share.and_then(|share| Share::of(share, looks)),
        }
    };
    first.classes.iter().enumerate().map(class).collect()
}

/// Names of nodes, and how far each is from the first, where clients write.
#[derive(Debug, Clone, Copy)]
pub struct Places<'n> {
    pub nodes: &'n [String],
    /// Round-trip times, in the same order.
    pub far: &'n [Duration],
}

impl Places<'_> {
    /// The first of the nodes that stand as far away; the first writer stands alone.
    fn of(&self, node: u8) -> u8 {
        let far = self.far.get(usize::from(node));
        let alike = (1..node).find(|other| self.far.get(usize::from(*other)) == far);
        alike.filter(|_| far.is_some()).unwrap_or(node)
    }

    /// `b, c`
    fn name(&self, place: u8) -> String {
        let all = (0..self.nodes.len()).filter_map(|node| u8::try_from(node).ok());
        let alike = all.filter(|node| self.of(*node) == place);
        let names: Vec<String> = alike.map(|node| name(self.nodes, node)).collect();
        match names.is_empty() {
            true => name(self.nodes, place),
            false => names.join(", "),
        }
    }
}

/// Where a reader stands, and how it looks from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way<'r> {
    /// The first node of its place.
    from: u8,
    /// The node that it looks at, if that is another.
    at: Option<u8>,
    level: Option<&'r str>,
}

impl<'r> Way<'r> {
    fn of(reader: &'r ReaderStaleness, places: &Places<'_>) -> Way<'r> {
        Way {
            from: places.of(reader.beside.unwrap_or(reader.node)),
            at: reader.beside.map(|_| reader.node),
            level: reader.level.as_deref(),
        }
    }

    /// The plain look from there.
    fn plain(self) -> Way<'r> {
        Way {
            from: self.from,
            at: None,
            level: None,
        }
    }
}

/// A node's name; its number if it has none.
pub fn name(nodes: &[String], node: u8) -> String {
    let found = nodes.get(usize::from(node)).cloned();
    found.unwrap_or_else(|| format!("node {node}"))
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

    #[test]
    fn readers_of_all_trials_are_taken_together() {
        let judged = |seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            Made::legal(Setting::Promoted, &mut random).judged()
        };
        let each: Vec<Judged> = (1..4).map(judged).collect();
        let nodes = ["a".to_owned()];
        let places = Places {
            nodes: &nodes,
            far: &[],
        };
        let found = fresh_reads(&each, &places);
        let names: Vec<&str> = found.iter().map(|fresh| &fresh.node[..]).collect();
        assert_eq!(names, ["a", "node 1"]);
        let looks = |judged: &Judged| judged.readers[0].looks;
        assert_eq!(found[0].looks, each.iter().map(looks).sum::<usize>());
        let pairs = |judged: &Judged| judged.readers[0].classes[1].pairs;
        assert_eq!(
            found[0].classes[1].pairs,
            each.iter().map(pairs).sum::<u64>()
        );
        assert_eq!(found[0].classes[1].stale_pairs, 0, "each look showed all");
    }

    /// From beside node 1 the writer is looked at: that is held against the plain look from there,
    /// and no look at the writer from elsewhere is.
    #[test]
    fn a_look_at_another_node_is_held_against_one_from_the_same_place() {
        let mut judged = trial(1_000);
        let far = ReaderStaleness {
            node: 0,
            beside: Some(1),
            level: None,
            look_us_p50: Some(2_200),
            ..judged.readers[0].clone()
        };
        judged.readers.push(far);
        let found = of(&[judged]);
        let ways: Vec<(&str, Option<&str>, bool)> = (found.iter())
            .map(|it| (&it.node[..], it.looks_at.as_deref(), it.level.is_some()))
            .collect();
        let both = |node| [(node, None, false), (node, None, true)];
        let far = ("b", Some("a"), false);
        assert_eq!(ways, [&both("a")[..], &both("b"), &[far]].concat());
        assert_eq!(found[0].added_us, None);
        assert_eq!(found[4].added_us.unwrap().median, 2_000.0);
    }

    fn of(each: &[Judged]) -> Vec<FreshReads> {
        let places = Places {
            nodes: &["a".to_owned(), "b".to_owned()],
            far: &[Duration::ZERO, Duration::from_millis(2)],
        };
        fresh_reads(each, &places)
    }

    #[test]
    fn nodes_that_stand_equally_far_are_taken_together() {
        let [near, far] = [2, 30].map(Duration::from_millis);
        let nodes = ["a", "b", "c", "d", "a2"].map(str::to_owned);
        let places = Places {
            nodes: &nodes,
            far: &[Duration::ZERO, near, far, near, Duration::ZERO],
        };
        assert_eq!(
            [0, 1, 2, 3, 4, 9].map(|node| places.of(node)),
            [0, 1, 2, 1, 4, 9]
        );
        assert_eq!(
            [0, 1, 2].map(|place| places.name(place)),
            ["a", "b, d", "c"]
        );
        let mut judged = trial(1_000);
        let other = |reader: &ReaderStaleness| ReaderStaleness {
            node: 3,
            look_us_p50: reader.look_us_p50.map(|us| us + 100),
            ..reader.clone()
        };
        let of_one: Vec<usize> = (judged.readers.iter())
            .filter(|reader| reader.node == 1)
            .map(|reader| reader.looks)
            .collect();
        let of_second = judged.readers.iter().filter(|reader| reader.node == 1);
        let more: Vec<ReaderStaleness> = of_second.map(other).collect();
        judged.readers.extend(more);
        let found = fresh_reads(&[judged], &places);
        let names: Vec<&str> = found.iter().map(|it| &it.node[..]).collect();
        assert_eq!(names, ["a", "a", "b, d", "b, d"]);
        assert_eq!(found[2].looks, 2 * of_one[0]);
        assert!((found[2].look_us.unwrap().median - 250.0).abs() < 1e-6);
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
