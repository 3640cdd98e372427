//! Seconds of a load that several drivers tell, each by its own clock.

use std::collections::BTreeMap;

use crate::load::job::{DriverSecond, Snapshot};

/// Seconds that some have told and others not yet. Drivers do not begin at the very same moment: a
/// mark may come when a second has ended for one and not for another.
#[derive(Default)]
pub struct Seconds {
    kept: BTreeMap<usize, Vec<DriverSecond>>,
    /// The first that was not given.
    next: u32,
}

impl Seconds {
    /// Leaves those that all have told by now in what these drivers told, and keeps the others for
    /// later: no second is given twice, and none of some drivers alone.
    pub fn even_out(&mut self, told: &mut [(usize, Snapshot)]) {
        let mut complete = u32::MAX;
        for (index, snapshot) in told.iter_mut() {
            let kept = self.kept.entry(*index).or_default();
            kept.append(&mut snapshot.timeline);
            let until = kept.last().map_or(self.next, |last| last.second.second + 1);
            complete = complete.min(until);
        }
        for (index, snapshot) in told.iter_mut() {
            let kept = self.kept.entry(*index).or_default();
            let count = kept.partition_point(|one| one.second.second < complete);
            snapshot.timeline = kept.drain(..count).collect();
        }
        if !told.is_empty() {
            self.next = complete;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Second;

    fn told(seconds: &[&[u32]]) -> Vec<(usize, Snapshot)> {
        let second = |&second: &u32| DriverSecond {
            second: Second {
                second,
                ..Second::default()
            },
            ..DriverSecond::default()
        };
        let snapshot = |seconds: &&[u32]| Snapshot {
            timeline: seconds.iter().map(second).collect(),
            ..Snapshot::default()
        };
        seconds.iter().map(snapshot).enumerate().collect()
    }

    fn given(seconds: &mut Seconds, of: &[&[u32]]) -> Vec<Vec<u32>> {
        let mut told = told(of);
        seconds.even_out(&mut told);
        let of = |snapshot: &Snapshot| {
            let timeline = snapshot.timeline.iter();
            timeline.map(|one| one.second.second).collect()
        };
        told.iter().map(|(_, snapshot)| of(snapshot)).collect()
    }

    #[test]
    fn a_second_is_given_when_all_have_told_it() {
        let mut seconds = Seconds::default();
        assert_eq!(given(&mut seconds, &[&[0, 1], &[0]]), [[0], [0]]);
        assert_eq!(given(&mut seconds, &[&[], &[1]]), [[1], [1]]);
        assert_eq!(given(&mut seconds, &[&[2], &[]]), [[0; 0], [0; 0]]);
        // The second driver is lost: nobody waits for what it would have told.
        assert_eq!(given(&mut seconds, &[&[3]]), [[2, 3]]);
        assert_eq!(given(&mut seconds, &[]), [[0; 0]; 0]);
    }
}
