//! What a trial tells: its audits, summed up over the ends of each series.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::audit::{Audit, judge};
use crate::record::trial::{Cut, Series};
use crate::study::fault::{Durability, Fault};

/// What came of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Kept,
    Broken,
    /// These settings promise nothing for this fault.
    NothingPromised,
}

impl Verdict {
    /// What tables say.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Kept => "kept",
            Verdict::Broken => "BROKEN",
            Verdict::NothingPromised => "none",
        }
    }
}

/// A series, judged. Counts of transactions, but for the first and the last ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Toll {
    #[serde(flatten)]
    pub durability: Durability,
    pub fault: Fault,
    /// Ends of the server.
    pub cuts: usize,
    pub acknowledged: usize,
    /// Acknowledged and missing.
    pub lost: usize,
    pub cuts_with_loss: usize,
    /// Cuts after which the server did not come up again: nothing of it could be read.
    pub no_start: usize,
    /// What it said then, one for each such cut.
    pub refusals: Vec<String>,
    /// Acknowledged, missing, and followed by an acknowledged one that is present.
    pub holes: usize,
    /// Never answered and present: innocent.
    pub recovered: usize,
    /// Present though refused or never sent, or read and later gone.
    pub phantom: usize,
    /// In the table after recovery, and not in the binary log: replicas would never get them.
    /// `None` without a binary log of whole rows.
    pub only_in_table: Option<usize>,
    /// In the binary log after recovery, and not in the table: only replicas would have them.
    pub only_in_log: Option<usize>,
    /// Writes to 4 KiB blocks that the disk lost.
    pub dropped_writes: u64,
    /// From the server's start until it accepted connections: the longest.
    pub recovery_s_max: f64,
    pub verdict: Verdict,
}

/// Judges a series by what its settings promise for its fault.
pub fn toll(series: &Series) -> Toll {
    let audits: Vec<Audit> = series.cuts.iter().map(audit).collect();
    let sum = |of: fn(&Audit) -> usize| audits.iter().map(of).sum::<usize>();
    let logged = |of: fn(&Cut, &BTreeSet<u64>) -> usize| {
        let counts = series.cuts.iter().filter(|cut| cut.no_start.is_none());
        counts
            .map(|cut| Some(of(cut, cut.logged.as_ref()?)))
            .sum::<Option<usize>>()
    };
    let refusals: Vec<String> = series.cuts.iter().filter_map(refusal).collect();
    let recoveries = series.cuts.iter().map(|cut| cut.recovery.as_secs_f64());
    let mut toll = Toll {
        durability: series.durability,
        fault: series.fault,
        cuts: series.cuts.len(),
        acknowledged: sum(|audit| audit.acknowledged),
        lost: sum(|audit| audit.lost),
        cuts_with_loss: audits.iter().filter(|audit| audit.lost > 0).count(),
        no_start: refusals.len(),
        refusals,
        holes: sum(|audit| audit.holes),
        recovered: sum(|audit| audit.recovered),
        phantom: sum(|audit| audit.phantom),
        only_in_table: logged(|cut, log| cut.present.difference(log).count()),
        only_in_log: logged(|cut, log| log.difference(&cut.present).count()),
        dropped_writes: series.cuts.iter().map(|cut| cut.dropped_writes).sum(),
        recovery_s_max: recoveries.fold(0.0, f64::max),
        verdict: Verdict::Kept,
    };
    toll.verdict = toll.verdict();
    toll
}

fn refusal(cut: &Cut) -> Option<String> {
    cut.no_start.clone()
}

fn audit(cut: &Cut) -> Audit {
    let told = &cut.outcomes;
    let audit = judge(&told.acknowledged, &told.unanswered, &cut.present);
    Audit {
        phantom: audit.phantom + cut.vanished.len(),
        ..audit
    }
}

impl Toll {
    /// Commits in which table and binary log disagree.
    pub fn apart(&self) -> Option<usize> {
        Some(self.only_in_table? + self.only_in_log?)
    }

    /// No settings allow what nobody sent, nor that what was read is gone, nor that nothing can be
    /// read any more.
    fn verdict(&self) -> Verdict {
        let is_promised = self.durability.promises(self.fault);
        let is_missed = self.lost + self.apart().unwrap_or(0) > 0;
        match (is_promised, is_missed) {
            _ if self.phantom + self.no_start > 0 => Verdict::Broken,
            (true, true) => Verdict::Broken,
            (true, false) => Verdict::Kept,
            (false, _) => Verdict::NothingPromised,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::trial::Outcomes;
    use crate::study::fault::Leaves;

    const POWER_CUT: Fault = Fault::PowerCut(Leaves::Nothing);

    /// Two ends; at the first two commits were lost, and one more is in the binary log only.
    pub fn lossy(durability: Durability, fault: Fault) -> Series {
        let first = Cut {
            outcomes: Outcomes {
                acknowledged: [1, 2, 3, 5].into(),
                refused: [6].into(),
                unanswered: [4].into(),
            },
            present: [1, 3, 4].into(),
            logged: Some([1, 2, 3].into()),
            dropped_writes: 40,
            recovery: Duration::from_millis(1_500),
            ..Cut::default()
        };
        Series {
            durability,
            fault,
            cuts: vec![first, lossless()],
        }
    }

    fn lossless() -> Cut {
        Cut {
            outcomes: Outcomes {
                acknowledged: [7, 8].into(),
                ..Outcomes::default()
            },
            present: [7, 8].into(),
            logged: Some([7, 8].into()),
            recovery: Duration::from_millis(900),
            ..Cut::default()
        }
    }

    pub fn without_loss(durability: Durability, fault: Fault) -> Series {
        Series {
            durability,
            fault,
            cuts: vec![lossless(), lossless()],
        }
    }

    #[test]
    fn losses_are_summed_up() {
        let toll = toll(&lossy(Durability::LOOSE, POWER_CUT));
        assert_eq!((toll.cuts, toll.cuts_with_loss), (2, 1));
        assert_eq!((toll.acknowledged, toll.lost, toll.holes), (6, 2, 1));
        assert_eq!((toll.recovered, toll.phantom), (1, 0));
        assert_eq!((toll.only_in_table, toll.only_in_log), (Some(1), Some(1)));
        assert_eq!((toll.dropped_writes, toll.recovery_s_max), (40, 1.5));
        assert_eq!(toll.verdict, Verdict::NothingPromised);
    }

    #[test]
    fn what_was_promised_is_kept_or_broken() {
        let strict = Durability::STRICT;
        let verdict = |series: &Series| toll(series).verdict;
        assert_eq!(verdict(&lossy(strict, POWER_CUT)), Verdict::Broken);
        assert_eq!(
            verdict(&lossy(Durability::LOOSE, Fault::Kill)),
            Verdict::Broken
        );
        assert_eq!(verdict(&without_loss(strict, POWER_CUT)), Verdict::Kept);
        let mut apart = without_loss(strict, POWER_CUT);
        apart.cuts[0].logged = Some([7].into());
        assert_eq!(verdict(&apart), Verdict::Broken);
    }

    #[test]
    fn a_cluster_promises_to_outlive_one_node_whatever_it_flushes() {
        let leaves = Leaves::Nothing;
        let (one, all) = (Fault::NodeLoss { leaves }, Fault::ClusterLoss { leaves });
        let verdict = |series: Series| {
            let unread = |cut: Cut| Cut {
                logged: None,
                ..cut
            };
            let cuts = series.cuts.into_iter().map(unread).collect();
            toll(&Series { cuts, ..series }).verdict
        };
        let (loose, strict) = (Durability::LOOSE, Durability::STRICT);
        assert_eq!(verdict(without_loss(loose, one)), Verdict::Kept);
        assert_eq!(verdict(lossy(loose, one)), Verdict::Broken);
        assert_eq!(verdict(lossy(loose, all)), Verdict::NothingPromised);
        assert_eq!(verdict(lossy(strict, all)), Verdict::Broken);
        assert_eq!(verdict(without_loss(strict, all)), Verdict::Kept);
    }

    #[test]
    fn a_server_that_does_not_come_back_has_broken_its_promise() {
        let mut series = without_loss(Durability::LOOSE, POWER_CUT);
        series.cuts[1].present.clear();
        series.cuts[1].logged = Some(BTreeSet::new());
        series.cuts[1].no_start = Some("a page is corrupted".to_owned());
        let toll = toll(&series);
        assert_eq!((toll.no_start, toll.lost), (1, 2));
        assert_eq!(toll.refusals, ["a page is corrupted"]);
        assert_eq!(toll.verdict, Verdict::Broken);
    }

    #[test]
    fn a_phantom_is_allowed_to_nobody() {
        let mut sent_by_nobody = without_loss(Durability::LOOSE, POWER_CUT);
        sent_by_nobody.cuts[0].present.insert(99);
        let mut gone = without_loss(Durability::LOOSE, POWER_CUT);
        gone.cuts[1].vanished = [7].into();
        for series in [sent_by_nobody, gone] {
            let toll = toll(&series);
            assert_eq!((toll.phantom, toll.verdict), (1, Verdict::Broken));
        }
    }
}
