//! What was lost after the same faults in both records.

use statrs::stats_tests::Alternative;
use statrs::stats_tests::fisher::fishers_exact;

use super::places::Spot;
use super::told::{Losses, TrialsHeld, Verdict};
use crate::analysis::interval::Risk;
use crate::analysis::terms;
use crate::analysis::worth::{self, ModeWorth};
use crate::plan::{Cell, Point};
use crate::record::Header;

/// What it was: the mode, where its servers stood, and what befell them.
pub fn spot(header: &Header, one: &ModeWorth) -> Spot {
    let study = &header.study;
    let spec = &study.modes[one.row];
    let mut sweeps = study.sweeps.iter();
    let sweep = sweeps.find(|sweep| sweep.has_mode(&spec.label));
    let cell = Cell {
        mode: one.row,
        distances: (sweep.and_then(|sweep| sweep.distances.first()))
            .cloned()
            .unwrap_or_default(),
        disks: sweep.and_then(|sweep| sweep.disks.first()).cloned(),
        ..Cell::default()
    };
    let mut fault = one.injected.clone();
    // What it is called decides nothing.
    fault.name.clear();
    fault.title.clear();
    Spot {
        point: Point::of(study, &cell),
        moved: None,
        flavour: terms::flavour_of(header, spec),
        fault: Some(fault),
        durability: Some(one.worth.durability),
    }
}

/// Both, not judged yet.
pub fn held(a: &ModeWorth, b: &ModeWorth) -> TrialsHeld {
    let (of_a, of_b) = (losses(a), losses(b));
    let is_open =
        |losses: &Losses| losses.verdict == worth::Verdict::Undecided || losses.trials == 0;
    let chance = match is_open(&of_a) || is_open(&of_b) {
        true => None,
        false => chance(of_a, of_b),
    };
    TrialsHeld {
        verdict: Verdict::CannotTell,
        label: a.label.clone(),
        label_b: (b.label != a.label).then(|| b.label.clone()),
        fault: a.worth.fault.clone(),
        a: of_a,
        b: of_b,
        chance,
    }
}

/// A trial that has shown neither a loss nor that there is none is in no count.
fn losses(one: &ModeWorth) -> Losses {
    let worth = &one.worth;
    let each = worth.each.iter();
    let without = each.filter(|judged| judged.is_conclusive() && judged.counts.lost == 0);
    Losses {
        with_loss: worth.trials_with_loss,
        trials: worth.trials_with_loss + without.count(),
        loss_share_min: worth.loss_share_min,
        loss_share_max: worth.loss_share_max,
        verdict: worth.verdict,
    }
}

/// Fisher's exact test, two-sided: twice the smaller tail.
fn chance(a: Losses, b: Losses) -> Option<f64> {
    let row = |losses: Losses| {
        let without = losses.trials - losses.with_loss;
        [losses.with_loss as u64, without as u64]
    };
    let ([a_with, a_without], [b_with, b_without]) = (row(a), row(b));
    let table = [a_with, a_without, b_with, b_without];
    let tail = |side| fishers_exact(&table, side).ok();
    let smaller = tail(Alternative::Less)?.min(tail(Alternative::Greater)?);
    Some((2.0 * smaller).min(1.0))
}

impl TrialsHeld {
    /// Whether they part by more than chance, at some risk.
    pub fn differ(&self, risk: Risk) -> bool {
        self.chance.is_some_and(|chance| risk.allows(chance))
    }

    /// With its verdict, of which it is known whether it is shown as one of all.
    pub fn judged(self, is_shown: bool) -> TrialsHeld {
        let share = |losses: Losses| losses.with_loss as f64 / losses.trials.max(1) as f64;
        let verdict = match is_shown {
            true if share(self.b) > share(self.a) => Verdict::Worse,
            true => Verdict::Better,
            false => Verdict::CannotTell,
        };
        TrialsHeld { verdict, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;

    fn losses(with_loss: usize, trials: usize) -> Losses {
        Losses {
            with_loss,
            trials,
            loss_share_min: None,
            loss_share_max: None,
            verdict: worth::Verdict::Kept,
        }
    }

    #[test]
    fn trials_part_where_chance_would_not_do_it() {
        let chance = |a: (usize, usize), b: (usize, usize)| {
            chance(losses(a.0, a.1), losses(b.0, b.1)).expect("a chance")
        };
        assert!((chance((0, 20), (0, 20)) - 1.0).abs() < 1e-9);
        assert!((chance((3, 20), (3, 20)) - 1.0).abs() < 1e-9);
        // 20 of 40 lose, and all are of one record: one chance in 137,846,528,820 each way.
        assert!(chance((0, 20), (20, 20)) < 1e-9);
        assert!(chance((0, 20), (3, 20)) > 0.05, "it may be chance");
        assert!(chance((0, 20), (8, 20)) < 0.01);
    }

    #[test]
    fn what_lost_more_is_worse_and_what_is_undecided_is_open() {
        let worth = summarise(&worth::example()).worth;
        let of = |label: &str| {
            let mut found = worth.iter().filter(|one| !one.is_control);
            found.find(|one| one.label == label).expect("a campaign")
        };
        let (lost, kept, open) = (
            of("mysql async"),
            of("mysql semisync"),
            of("mariadb galera"),
        );
        let mut found = held(kept, lost);
        assert_eq!((found.a.with_loss, found.b.with_loss), (0, 2));
        assert!(found.differ(Risk::ONE_LOOK), "{found:?}");
        found = found.judged(true);
        assert_eq!(found.verdict, Verdict::Worse);
        assert_eq!(held(lost, kept).judged(true).verdict, Verdict::Better);
        let found = held(kept, open);
        assert_eq!(found.chance, None);
        assert_eq!(found.judged(false).verdict, Verdict::CannotTell);
    }
}
