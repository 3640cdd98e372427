//! What trials tell: their audits, summed up over each series and held against the promise.

use std::collections::BTreeSet;

use super::audit::{Audit, Promised, in_flight, judge};
use super::promise::{Terms, promise};
use super::summary::Promise;
pub use super::summary::series::{SeriesSummary, Verdict};
use crate::record::trial::{Alone, Bite, Series, Trial};
use crate::study::fault::{Cause, Fault};

/// Fewer acknowledged transactions than these in a series show too little to call a promise kept.
pub const ACKNOWLEDGED_MIN: usize = 1_000;

/// A trial, judged.
struct Judged<'t> {
    trial: &'t Trial,
    /// `None` where nothing could be read.
    audit: Option<Audit>,
}

/// Judges a series by what its terms promise for its fault.
pub fn summarize(series: &Series, terms: &Terms) -> SeriesSummary {
    let promise = promise(terms, series.fault);
    let judged: Vec<Judged> = (series.trials.iter())
        .map(|trial| Judged {
            trial,
            audit: audit(trial, promise),
        })
        .collect();
    let audits: Vec<&Audit> = judged.iter().filter_map(|one| one.audit.as_ref()).collect();
    let sum = |of: fn(&Audit) -> usize| audits.iter().map(|audit| of(audit)).sum::<usize>();
    let texts = |of: fn(&Trial) -> Option<&String>| -> Vec<String> {
        series.trials.iter().filter_map(of).cloned().collect()
    };
    let recoveries = series
        .trials
        .iter()
        .map(|trial| trial.recovery.as_secs_f64());
    let logged = |of: fn(&Trial, &BTreeSet<u64>) -> usize| -> Option<usize> {
        let all = series.trials.iter();
        let counts = all.filter_map(|trial| Some(of(trial, trial.logged.as_ref()?)));
        counts.reduce(|sum, count| sum + count)
    };
    let refusals = texts(|trial| trial.refused.as_ref());
    let lost = sum(|audit| audit.lost);
    let mut summary = SeriesSummary {
        durability: series.durability,
        fault: series.fault,
        trials: series.trials.len(),
        acknowledged: sum(|audit| audit.acknowledged),
        lost,
        lost_promised: sum(|audit| audit.lost_promised),
        trials_with_loss: audits.iter().filter(|audit| audit.lost > 0).count(),
        loss_share_max: (lost == 0).then(|| share_max(audits.len())).flatten(),
        no_start: refusals.len(),
        refusals,
        unread: texts(|trial| trial.unread.as_ref()),
        holes: audits.iter().map(|audit| audit.holes).sum(),
        recovered: sum(|audit| audit.recovered),
        phantom: sum(|audit| audit.phantom),
        only_in_table: logged(|trial, log| trial.present.difference(log).count()),
        only_in_log: logged(|trial, log| log.difference(&trial.present).count()),
        only_elsewhere: series
            .trials
            .iter()
            .map(|trial| trial.elsewhere.len())
            .sum(),
        in_flight: judged.iter().map(Judged::in_flight).sum(),
        trials_alone: judged.iter().filter(|one| one.went_alone()).count(),
        dropped_writes: series.trials.iter().map(|trial| trial.dropped_writes).sum(),
        recovery_s_max: recoveries.fold(0.0, f64::max),
        promise,
        missing: vec![],
        verdict: Verdict::Undecided,
    };
    summary.missing = missing(&summary, &judged);
    let are_apart = series
        .trials
        .iter()
        .any(|trial| trial.bite.is_some() && is_apart(trial));
    summary.verdict = summary.verdict(are_apart);
    summary
}

/// The upper end of the exact 95 % interval of a share of which none was seen in `n` (one-sided).
pub fn share_max(n: usize) -> Option<f64> {
    (n > 0).then(|| 1.0 - 0.05_f64.powf(1.0 / n as f64))
}

/// Whether table and binary log disagree.
fn is_apart(trial: &Trial) -> bool {
    let log = trial.logged.as_ref();
    log.is_some_and(|log| *log != trial.present)
}

/// `None` where nothing could be read. A server that refused to start has nothing.
fn audit(trial: &Trial, promise: Promise) -> Option<Audit> {
    if trial.unread.is_some() {
        return None;
    }
    let audit = judge(&trial.outcomes, &trial.present, promised(trial, promise));
    Some(Audit {
        phantom: audit.phantom + trial.vanished.len(),
        ..audit
    })
}

/// What of a trial's acknowledgements was promised.
fn promised(trial: &Trial, promise: Promise) -> Promised {
    let links_cut_us = trial.bite.and_then(|bite| bite.links_cut_us);
    match (promise.is_given, promise.unless_alone, trial.alone) {
        (false, ..) => Promised::Nothing,
        (true, false, _) | (true, true, Some(Alone::Never)) => Promised::All,
        (true, true, Some(Alone::SinceLinksWereCut)) => {
            links_cut_us.map_or(Promised::Nothing, Promised::UntilUs)
        }
        (true, true, Some(Alone::Before) | None) => Promised::Nothing,
    }
}

impl Judged<'_> {
    fn in_flight(&self) -> usize {
        let ended_us = self.trial.bite.map_or(u64::MAX, |bite| bite.ended_us);
        in_flight(&self.trial.outcomes, ended_us)
    }

    fn went_alone(&self) -> bool {
        let alone = self.trial.alone;
        alone.is_some_and(|alone| alone != Alone::Never)
    }
}

/// Whether a fault was seen to befall all that it was meant to.
fn has_bitten(bite: &Bite, fault: Fault) -> bool {
    let are_ended = bite.servers > 0 && bite.servers_ended == bite.servers;
    match fault.cause {
        Cause::Kill => are_ended,
        Cause::PowerCut(_) => {
            let are_frozen = bite.disks > 0 && bite.disks_frozen == bite.disks;
            are_ended && are_frozen && bite.links_silent == Some(true)
        }
    }
}

/// What would have to be known besides. Of a promise more than where none is given.
fn missing(summary: &SeriesSummary, judged: &[Judged]) -> Vec<String> {
    let all = judged.len();
    let count =
        |is_so: &dyn Fn(&Trial) -> bool| judged.iter().filter(|one| is_so(one.trial)).count();
    let of_trials = |count: usize, what: &str| {
        (count > 0).then(|| format!("in {count} of {all} trials {what}"))
    };
    let has_bitten = |trial: &Trial| trial.bite.map(|bite| has_bitten(&bite, summary.fault));
    let unknown_alone = summary.promise.unless_alone && summary.promise.is_given;
    let (acknowledged, least) = (summary.acknowledged, ACKNOWLEDGED_MIN);
    let always = [
        (all == 0).then(|| "no trial came to its end".to_owned()),
        (all > 0 && acknowledged == 0).then(|| "nothing was acknowledged".to_owned()),
        of_trials(summary.unread.len(), "nothing could be read"),
        of_trials(
            count(&|trial| has_bitten(trial).is_none()),
            "it was not recorded whether the fault befell what it was meant to",
        ),
        of_trials(
            count(&|trial| has_bitten(trial) == Some(false)),
            "the fault was not seen to befall all that it was meant to",
        ),
        of_trials(
            count(&|trial| unknown_alone && trial.alone.is_none()),
            "it was not recorded whether it went on alone before its power went",
        ),
    ];
    let of_promise = [
        (0 < acknowledged && acknowledged < least)
            .then(|| format!("{acknowledged} were acknowledged, of at least {least}")),
        (acknowledged > 0 && summary.in_flight == 0)
            .then(|| "nothing was on its way when the fault came".to_owned()),
        of_trials(
            count(&|trial| trial.log_unread.is_some()),
            "the binary log could not be read",
        ),
        of_trials(
            count(&|trial| trial.bite.is_none() && is_apart(trial)),
            "table and binary log disagree, and it was not recorded whether the log was in a form \
             that was read",
        ),
    ];
    let is_promised = summary.is_promised();
    let of_promise = of_promise.into_iter().filter(|_| is_promised);
    always.into_iter().chain(of_promise).flatten().collect()
}

impl SeriesSummary {
    /// Commits in which table and binary log disagree.
    pub fn apart(&self) -> Option<usize> {
        Some(self.only_in_table? + self.only_in_log?)
    }

    /// A mode that has gone on alone promises nothing any more.
    fn is_promised(&self) -> bool {
        self.promise.is_given && self.trials_alone == 0
    }

    /// No settings allow what nobody sent, nor that what was read is gone, nor that the server
    /// refuses its own data.
    fn verdict(&self, are_apart: bool) -> Verdict {
        let is_promised = self.is_promised();
        match self.phantom + self.no_start + self.lost_promised {
            1.. => Verdict::Broken,
            0 if is_promised && are_apart => Verdict::Broken,
            0 if !is_promised && self.lost > 0 => Verdict::LostNoPromise,
            0 if !self.missing.is_empty() => Verdict::Undecided,
            0 if is_promised => Verdict::Kept,
            0 => Verdict::NoneLostNoPromise,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::trial::{Outcomes, Timed};
    use crate::study::fault::{Durability, Leaves, Scope};
    use crate::study::{Ack, Mode, WaitPoint, WhenShort};

    const STRICT: Durability = Durability::STRICT;
    const LOOSE: Durability = Durability::LOOSE;

    fn power_cut() -> Fault {
        Fault::power_cut(Leaves::Nothing, Scope::Node)
    }

    fn site_loss() -> Fault {
        Fault::power_cut(Leaves::Nothing, Scope::Site)
    }

    pub fn single(durability: Durability) -> Terms {
        terms(Mode::Single, "a", durability)
    }

    fn terms(mode: Mode, sites: &str, durability: Durability) -> Terms {
        Terms {
            mode,
            sites: sites.chars().map(String::from).collect(),
            durability,
            has_binary_log: true,
        }
    }

    /// All of it was seen.
    pub fn bitten() -> Bite {
        Bite {
            servers: 1,
            servers_ended: 1,
            links_silent: Some(true),
            disks: 1,
            disks_frozen: 1,
            freeze_late_us_max: 90,
            links_cut_us: Some(600_000),
            ended_us: 900_000,
        }
    }

    /// Two trials; at the first two commits were lost, and one more is in the binary log only.
    pub fn lossy(durability: Durability, fault: Fault) -> Series {
        let mut series = without_loss(durability, fault);
        let first = &mut series.trials[0];
        first.present = &first.present - &[2, 5].into();
        first.logged.as_mut().expect("a log").remove(&5);
        first.dropped_writes = 40;
        first.recovery = Duration::from_millis(1_500);
        series
    }

    /// Numbers from one to another, acknowledged 100 µs after they were begun; the last is on its
    /// way when the power goes.
    fn lossless((first, last): (u64, u64)) -> Trial {
        let times = (first..=last).map(|number| {
            let begun_us = 800 * (number - first);
            Timed(number, begun_us, (number < last).then_some(begun_us + 100))
        });
        let acknowledged: BTreeSet<u64> = (first..last).collect();
        Trial {
            bite: Some(bitten()),
            outcomes: Outcomes {
                acknowledged: acknowledged.clone(),
                unanswered: [last].into(),
                times: times.collect(),
                ..Outcomes::default()
            },
            present: acknowledged.clone(),
            logged: Some(acknowledged),
            recovery: Duration::from_millis(900),
            ..Trial::default()
        }
    }

    pub fn without_loss(durability: Durability, fault: Fault) -> Series {
        Series {
            durability,
            fault,
            trials: vec![lossless((1, 601)), lossless((701, 1_301))],
        }
    }

    fn verdict(series: &Series, terms: &Terms) -> Verdict {
        summarize(series, terms).verdict
    }

    /// Of a single server's power cut without a loss, but for this.
    fn but_for(durability: Durability, change: impl Fn(&mut Vec<Trial>)) -> SeriesSummary {
        let mut series = without_loss(durability, power_cut());
        change(&mut series.trials);
        summarize(&series, &single(durability))
    }

    fn is_undecided(durability: Durability, why: &str, change: impl Fn(&mut Vec<Trial>)) {
        let summary = but_for(durability, change);
        let (lost, is_told) = (summary.lost, summary.missing.iter().any(|it| it == why));
        assert_eq!((summary.verdict, lost), (Verdict::Undecided, 0), "{why}");
        assert!(is_told, "{why}: {:?}", summary.missing);
    }

    /// With these numbers of commits lost, of refusals to start and of phantoms.
    fn is_broken(counts: [usize; 3], durability: Durability, change: impl Fn(&mut Vec<Trial>)) {
        let summary = but_for(durability, change);
        let found = [summary.lost, summary.no_start, summary.phantom];
        assert_eq!((summary.verdict, found), (Verdict::Broken, counts));
    }

    #[test]
    fn losses_are_summed_up() {
        let summary = summarize(&lossy(LOOSE, power_cut()), &single(LOOSE));
        assert_eq!((summary.trials, summary.trials_with_loss), (2, 1));
        assert_eq!((summary.acknowledged, summary.lost), (1_200, 2));
        assert_eq!((summary.lost_promised, summary.holes), (0, Some(2)));
        assert_eq!((summary.recovered, summary.phantom), (0, 0));
        assert_eq!(
            (summary.only_in_table, summary.only_in_log),
            (Some(0), Some(1))
        );
        assert_eq!((summary.dropped_writes, summary.recovery_s_max), (40, 1.5));
        assert_eq!((summary.in_flight, summary.loss_share_max), (2, None));
        assert_eq!(summary.verdict, Verdict::LostNoPromise);
    }

    #[test]
    fn what_was_promised_is_kept_or_broken() {
        assert_eq!(but_for(STRICT, |_| ()).verdict, Verdict::Kept);
        let loose = but_for(LOOSE, |_| ());
        assert_eq!(loose.verdict, Verdict::NoneLostNoPromise);
        let killed = verdict(&lossy(LOOSE, Fault::KILL), &single(LOOSE));
        assert_eq!(killed, Verdict::Broken);
        let lossy = lossy(STRICT, power_cut()).trials;
        is_broken([2, 0, 0], STRICT, |trials| *trials = lossy.clone());
        // Few trials show a loss as well.
        is_broken([2, 0, 0], STRICT, |trials| *trials = lossy[..1].into());
        is_broken([0; 3], STRICT, |trials| {
            trials[1].logged = Some([701].into());
        });
        // A server that refuses its data, and phantoms: no settings allow them.
        is_broken([600, 1, 0], LOOSE, |trials| {
            trials[1].present.clear();
            trials[1].refused = Some("a page is corrupted".to_owned());
        });
        is_broken([0, 0, 1], LOOSE, |trials| {
            trials[0].present.insert(9_999);
        });
        is_broken([0, 0, 1], LOOSE, |trials| trials[1].vanished = [7].into());
    }

    /// "0 of n" says no more than this.
    #[test]
    fn none_of_n_has_its_bound() {
        let bound = but_for(STRICT, |_| ()).loss_share_max.expect("none lost");
        assert!((bound - (1.0 - 0.05_f64.sqrt())).abs() < 1e-12, "{bound}");
        assert!((share_max(20).unwrap() - 0.1391).abs() < 1e-4);
        assert_eq!(share_max(0), None);
    }

    #[test]
    fn what_is_not_known_leaves_a_promise_undecided() {
        is_undecided(STRICT, "no trial came to its end", Vec::clear);
        for durability in [STRICT, LOOSE] {
            is_undecided(durability, "nothing was acknowledged", |trials| {
                let bite = Some(bitten());
                let nothing = Trial::default();
                *trials = vec![Trial { bite, ..nothing }];
            });
            // 120 s on a busy host, a full image, a failed spawn: the server is not to blame.
            let why = "in 1 of 2 trials nothing could be read";
            is_undecided(durability, why, |trials| {
                trials[1].present.clear();
                trials[1].logged = None;
                trials[1].unread = Some("no connection after 120 s".to_owned());
            });
        }
        let why = "600 were acknowledged, of at least 1000";
        is_undecided(STRICT, why, |trials| trials.truncate(1));
        let why = "nothing was on its way when the fault came";
        is_undecided(STRICT, why, |trials| {
            let all = trials.iter_mut();
            all.for_each(|trial| trial.outcomes.unanswered.clear());
        });
        let why = "in 1 of 2 trials the binary log could not be read";
        is_undecided(STRICT, why, |trials| {
            trials[1].logged = None;
            trials[1].log_unread = Some("it is encrypted".to_owned());
        });
        // The reader of older records skipped what was compressed, and did not say so.
        is_broken([0; 3], STRICT, |trials| {
            trials[1].logged = Some([].into());
        });
        let why = "in 1 of 2 trials table and binary log disagree, and it was not recorded \
                   whether the log was in a form that was read";
        is_undecided(STRICT, why, |trials| {
            trials[1].logged = Some([].into());
            trials[1].bite = None;
        });
    }

    #[test]
    fn a_series_whose_fault_did_not_bite_is_undecided() {
        let changes: [fn(&mut Bite); 5] = [
            |bite| bite.servers_ended = 0,
            |bite| bite.links_silent = Some(false),
            |bite| bite.links_silent = None,
            |bite| bite.disks_frozen = 0,
            |bite| (bite.disks, bite.disks_frozen) = (0, 0),
        ];
        for change in changes {
            let why = "in 1 of 2 trials the fault was not seen to befall all that it was meant to";
            is_undecided(STRICT, why, |trials| {
                change(trials[1].bite.as_mut().unwrap());
            });
        }
        let why =
            "in 1 of 2 trials it was not recorded whether the fault befell what it was meant to";
        is_undecided(STRICT, why, |trials| trials[1].bite = None);
        let of_server = Bite {
            disks: 0,
            disks_frozen: 0,
            links_silent: None,
            ..bitten()
        };
        assert!(has_bitten(&of_server, Fault::KILL), "nothing more to bite");
    }

    /// A source, or a mirror's head, may fall back sooner than any assumption says.
    #[test]
    fn who_went_on_alone_promised_nothing_from_then_on() {
        let semisync = Mode::Semisync {
            wait_for: 1,
            wait_point: WaitPoint::AfterSync,
            timeout: Duration::from_secs(1),
        };
        let mirror = Mode::Mirror {
            ack: Ack::Write,
            when_short: WhenShort::Degrade,
            timeout: Duration::from_secs(1),
        };
        for terms in [terms(semisync, "ab", STRICT), terms(mirror, "ab", STRICT)] {
            let with = |alone, lost: u64| {
                let mut series = without_loss(STRICT, site_loss());
                for trial in &mut series.trials {
                    trial.alone = alone;
                    trial.logged = None;
                }
                series.trials[0].present.remove(&lost);
                let mut bite = bitten();
                bite.links_cut_us = Some(400_000);
                series.trials[0].bite = Some(bite);
                verdict(&series, &terms)
            };
            let (never, since) = (Some(Alone::Never), Some(Alone::SinceLinksWereCut));
            assert_eq!(with(never, 0), Verdict::Kept);
            assert_eq!(with(never, 600), Verdict::Broken);
            // Number 501 was acknowledged 0.1 ms after the links were cut, number 500 before.
            assert_eq!(with(since, 501), Verdict::LostNoPromise);
            assert_eq!(with(since, 500), Verdict::Broken);
            assert_eq!(with(since, 0), Verdict::NoneLostNoPromise);
            assert_eq!(with(Some(Alone::Before), 1), Verdict::LostNoPromise);
            assert_eq!(with(None, 0), Verdict::Undecided, "not recorded");
            assert_eq!(with(None, 600), Verdict::Undecided, "nor with a loss");
        }
    }
}
