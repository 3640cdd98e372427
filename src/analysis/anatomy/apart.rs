//! How far apart a mode's sites are, and which equal distance that comes to for a commit.

use crate::analysis::summary::WaitsFor;

/// Distances from the writer to each peer, in the order of the sites, and between the peers.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart {
    peers: Vec<f64>,
    between_peers: Vec<(usize, usize, f64)>,
}

impl Apart {
    /// Of these sites, the writer's first. `None` where the distance of a pair is not known.
    pub fn of(sites: &[String], between: impl Fn(&str, &str) -> Option<f64>) -> Option<Apart> {
        let (writer, others) = sites.split_first()?;
        let mut apart = Apart {
            peers: vec![],
            between_peers: vec![],
        };
        for (b, peer) in others.iter().enumerate() {
            apart.peers.push(between(writer, peer)?);
            for (c, other) in others.iter().enumerate().skip(b + 1) {
                apart.between_peers.push((b, c, between(peer, other)?));
            }
        }
        Some(apart)
    }

    /// The equal distance at which a commit that waits so would take as long. `None` if nobody
    /// knows whom it waits for, or no such peer is there.
    pub fn equal_to(&self, whom: &WaitsFor, sites: &[String]) -> Option<f64> {
        match whom {
            WaitsFor::Nobody => Some(0.0),
            WaitsFor::Nearest => self.nearest(1),
            WaitsFor::Kth(k) => self.nearest(*k as usize),
            WaitsFor::Farthest => self.nearest(self.peers.len()),
            WaitsFor::Site(name) => {
                let place = sites.iter().skip(1).position(|site| site == name)?;
                self.peers.get(place).copied()
            }
            WaitsFor::Each => self.mean(),
            WaitsFor::Ring => self.ring(),
            WaitsFor::OrderAndFarthest => {
                let farthest = self.nearest(self.peers.len())?;
                Some((2.0 * self.mean()? + farthest) / 3.0)
            }
            WaitsFor::Undecided => None,
        }
    }

    /// The longest distance of all.
    pub fn longest(&self) -> f64 {
        let between = self.between_peers.iter().map(|(_, _, apart)| *apart);
        self.peers
            .iter()
            .copied()
            .chain(between)
            .fold(0.0, f64::max)
    }

    /// Of the peer that so many are no farther than, itself among them.
    fn nearest(&self, count: usize) -> Option<f64> {
        let mut sorted = self.peers.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(count.checked_sub(1)?).copied()
    }

    fn mean(&self) -> Option<f64> {
        let count = self.peers.len();
        (count > 0).then(|| self.peers.iter().sum::<f64>() / count as f64)
    }

    /// A third of the longest way from the writer over two peers and back; with one peer its own
    /// distance.
    fn ring(&self) -> Option<f64> {
        let round = |(b, c, apart): &(usize, usize, f64)| self.peers[*b] + apart + self.peers[*c];
        let longest = self.between_peers.iter().map(round).reduce(f64::max);
        longest.map(|round| round / 3.0).or_else(|| self.nearest(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).to_vec()
    }

    fn apart(ab: f64, ac: f64, bc: f64) -> Apart {
        let between = |one: &str, other: &str| match (one, other) {
            ("a", "b") => Some(ab),
            ("a", "c") => Some(ac),
            ("b", "c") => Some(bc),
            _ => None,
        };
        Apart::of(&sites(), between).unwrap()
    }

    #[test]
    fn every_way_to_wait_has_its_own_distance_and_at_equal_ones_the_same() {
        let told = |apart: &Apart, whom: WaitsFor| apart.equal_to(&whom, &sites());
        let zones = apart(2.0, 30.0, 31.0);
        for (whom, distance) in [
            (WaitsFor::Nobody, 0.0),
            (WaitsFor::Nearest, 2.0),
            (WaitsFor::Kth(2), 30.0),
            (WaitsFor::Farthest, 30.0),
            (WaitsFor::Site("c".into()), 30.0),
            (WaitsFor::Each, 16.0),
            (WaitsFor::Ring, 21.0),
            (WaitsFor::OrderAndFarthest, 62.0 / 3.0),
        ] {
            assert_eq!(told(&zones, whom.clone()), Some(distance), "{whom:?}");
            let alike = told(&apart(5.0, 5.0, 5.0), whom.clone()).unwrap();
            let expected = if whom == WaitsFor::Nobody { 0.0 } else { 5.0 };
            assert!((alike - expected).abs() < 1e-9, "{whom:?}");
        }
        for whom in [
            WaitsFor::Undecided,
            WaitsFor::Site("x".into()),
            WaitsFor::Kth(3),
        ] {
            assert_eq!(told(&zones, whom), None);
        }
        assert_eq!(zones.longest(), 31.0);
    }

    #[test]
    fn a_pair_that_is_missing_leaves_nothing() {
        assert_eq!(Apart::of(&sites(), |_, _| None), None);
        assert_eq!(Apart::of(&[], |_, _| Some(1.0)), None);
        let alone = Apart::of(&sites()[..1], |_, _| None).unwrap();
        assert_eq!(alone.equal_to(&WaitsFor::Nobody, &sites()[..1]), Some(0.0));
        assert_eq!(alone.equal_to(&WaitsFor::Each, &sites()[..1]), None);
    }
}
