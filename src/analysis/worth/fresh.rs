//! How fresh reads are, over all trials in which nothing is done to the servers.

use std::collections::BTreeMap;

use super::judged::Judged;
use super::modes::Fresh;
use super::staleness::{ReaderStaleness, Share, StaleShare};
use crate::analysis::interval::median;

/// Of each node and level, in that order.
pub fn fresh(each: &[Judged], nodes: &[String]) -> Vec<Fresh> {
    let sound = each.iter().filter(|judged| judged.is_sound());
    let mut readers: BTreeMap<(u8, Option<&str>), Vec<&ReaderStaleness>> = BTreeMap::new();
    for reader in sound.flat_map(|judged| &judged.readers) {
        let key = (reader.node, reader.level.as_deref());
        readers.entry(key).or_default().push(reader);
    }
    let of = |((node, level), all): ((u8, Option<&str>), Vec<&ReaderStaleness>)| {
        let times = all.iter().filter_map(|reader| reader.look_us_p50);
        let times: Vec<f64> = times.map(|us| us as f64).collect();
        Fresh {
            node: name(nodes, node),
            level: level.map(str::to_owned),
            looks: all.iter().map(|reader| reader.looks).sum(),
            look_us_p50: median(&times),
            classes: classes(&all),
        }
    };
    readers.into_iter().map(of).collect()
}

/// A node's name; its number if it has none.
pub fn name(nodes: &[String], node: u8) -> String {
    let found = nodes.get(usize::from(node)).cloned();
    found.unwrap_or_else(|| format!("node {node}"))
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::worth::tests::made::{Made, Setting};

    #[test]
    fn readers_of_all_trials_are_taken_together() {
        let judged = |seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            Made::legal(Setting::Promoted, &mut random).judged()
        };
        let each: Vec<Judged> = (1..4).map(judged).collect();
        let nodes = ["a".to_owned()];
        let found = fresh(&each, &nodes);
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
        assert_eq!(found[0].look_us_p50, Some(200.0));
        assert!(fresh(&[], &nodes).is_empty());
    }
}
