//! What the catalogue of faults foretells of a fault in a mode, held against what was seen.

use serde::Serialize;

use super::judged::Judged;
use crate::record::trials::{Campaign, Trial};
use crate::study::ModeSpec;
use crate::study::fault_catalogue::{self, Case, CatalogueRow, Expected, Sign};
use crate::study::faults::{Deed, Fault};

/// A service that is missing for longer is none, in s.
const NO_SERVICE_S: f64 = 1.0;
/// What is stale for longer is so for long, in ms.
const LONG_MS: f64 = 1_000.0;
/// What need not come each time has not stayed away before so many trials could have shown it.
const ENOUGH_TRIALS: usize = 5;

/// One thing that was foretold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Foretold {
    /// As the catalogue says it; of several one is enough.
    pub what: Vec<&'static str>,
    /// In one trial at least; `false`: in none.
    pub is_seen: bool,
    /// Name of the row that says so.
    pub row: &'static str,
    /// It is to be gone here, where the row's own modes show it.
    pub is_counter: bool,
    /// Why it is so, where the row says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<&'static str>,
    /// Trials of which nothing is in doubt, and those that showed any of the signs in question.
    pub trials: usize,
    pub trials_with: usize,
    /// Whether it came so; `None` without such a trial, and of what is to be seen with fewer than
    /// five that do not show it.
    pub is_met: Option<bool>,
}

/// All that the catalogue foretells of a campaign on such a mode, of which these are the trials as
/// they were judged. Nothing of a fault, or of settings, that it does not know.
pub fn foretold(spec: &ModeSpec, campaign: &Campaign, each: &[Judged]) -> Vec<Foretold> {
    let trials = campaign.trials.iter().zip(each);
    let told = trials.filter(|(_, judged)| judged.is_conclusive());
    let told: Vec<(&Trial, &Judged)> = told.collect();
    let mut all: Vec<Foretold> = Vec::new();
    for (row, case, is_counter) in cases(&campaign.fault, spec) {
        let of = |expected: &[Expected]| Foretold {
            what: expected.iter().map(|one| one.words()).collect(),
            is_seen: expected.iter().any(|one| one.is_seen),
            row: &row.fault.name,
            is_counter,
            because: case.because.as_deref(),
            trials: told.len(),
            trials_with: (told.iter())
                .filter(|(trial, judged)| shows_any(expected, trial, judged))
                .count(),
            is_met: is_met(expected, &told),
        };
        let single = case.all.iter().map(std::slice::from_ref);
        let several = Some(&case.any[..]).filter(|any| !any.is_empty());
        for one in single.chain(several).map(of) {
            // Two rows may say the same.
            if !all.iter().any(|known| known.what == one.what) {
                all.push(one);
            }
        }
    }
    all
}

/// Rows that know the fault in a mode that is set so, and whether that is one of their counters.
fn cases(fault: &Fault, spec: &ModeSpec) -> Vec<(&'static CatalogueRow, &'static Case, bool)> {
    let terms = terms(spec);
    let is_it = |row: &'static CatalogueRow, case: &Case| {
        let own = row.fault_in(case, fault_catalogue::named);
        self::terms(&case.spec) == terms && own.name == fault.name && deeds(&own) == deeds(fault)
    };
    let mut all = Vec::new();
    for row in fault_catalogue::all() {
        let cases = row.cases.iter().map(|case| (row, case, false));
        let counters = row.counters.iter().map(|case| (row, case, true));
        let both = cases.chain(counters);
        all.extend(both.filter(|&(row, case, _)| is_it(row, case)));
    }
    all
}

/// What is done, whatever its moments.
fn deeds(fault: &Fault) -> Vec<Deed> {
    fault.steps.iter().map(|step| step.deed).collect()
}

/// A mode without what says nothing of what is to be expected of it.
fn terms(spec: &ModeSpec) -> ModeSpec {
    ModeSpec {
        label: String::new(),
        baseline: None,
        image_bytes: None,
        price_usd_per_hour: None,
        ..spec.clone()
    }
}

fn is_met(expected: &[Expected], told: &[(&Trial, &Judged)]) -> Option<bool> {
    let count = |is_so: fn(Sign, &Trial, &Judged) -> bool, sign| {
        let trials = told.iter();
        trials
            .filter(|(trial, judged)| is_so(sign, trial, judged))
            .count()
    };
    let is_so = |one: &Expected| match (count(shows, one.sign), count(could_show, one.sign)) {
        (0, could) if one.is_seen => (could >= ENOUGH_TRIALS).then_some(false),
        (0, could) => (could > 0).then_some(true),
        _ => Some(one.is_seen),
    };
    let all: Vec<Option<bool>> = expected.iter().map(is_so).collect();
    match all.contains(&Some(true)) {
        true => Some(true),
        false => (!all.contains(&None)).then_some(false),
    }
}

/// Whether a trial would show it if it were so: nobody says that nothing was stale where no reader
/// looked, or that a replica skipped nothing which had not executed all.
fn could_show(sign: Sign, trial: &Trial, judged: &Judged) -> bool {
    let mut others = trial.others.iter().filter(|held| held.unread.is_none());
    match sign {
        Sign::Stale | Sign::StaleForLong | Sign::Phantom => {
            judged.readers.iter().any(|reader| reader.looks > 0)
        }
        Sign::Errant => others.next().is_some(),
        Sign::GtidsReused => others.any(|held| held.ahead.is_some()),
        Sign::Skipped => others.any(|held| held.is_level),
        Sign::Wrong
        | Sign::Lost
        | Sign::Recovered
        | Sign::Diverged
        | Sign::Forked
        | Sign::Doubled
        | Sign::Unbalanced
        | Sign::FellBack
        | Sign::NoService
        | Sign::RefusesData => true,
    }
}

fn shows_any(expected: &[Expected], trial: &Trial, judged: &Judged) -> bool {
    expected.iter().any(|one| shows(one.sign, trial, judged))
}

/// Whether a trial shows it.
fn shows(sign: Sign, trial: &Trial, judged: &Judged) -> bool {
    let counts = &judged.counts;
    match sign {
        Sign::Wrong => counts.anything() > 0 || trial.refused.is_some(),
        Sign::Lost => counts.lost > 0,
        Sign::Recovered => counts.recovered > 0,
        Sign::Phantom => counts.phantom_reads > 0,
        Sign::Errant => counts.errant > 0,
        Sign::GtidsReused => counts.gtids_reused > 0,
        Sign::Skipped => counts.skipped > 0,
        Sign::Diverged => counts.diverged > 0,
        Sign::Forked => counts.forked > 0,
        Sign::Doubled => counts.doubled > 0,
        Sign::Unbalanced => counts.unbalanced > 0,
        Sign::Stale => judged.stale_transfers_max() > 0,
        Sign::StaleForLong => judged.stale_ms_max().is_some_and(|ms| ms > LONG_MS),
        Sign::FellBack => trial.alone_us.is_some(),
        Sign::NoService => judged
            .service
            .no_service_s
            .is_some_and(|s| s > NO_SERVICE_S),
        Sign::RefusesData => trial.refused.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::worth::tests::made::{Made, Setting};
    use crate::analysis::worth::tests::planted::Planted;
    use crate::study::faults::When;

    fn spec_of(row: &str, is_counter: bool) -> (&'static CatalogueRow, ModeSpec) {
        let row = fault_catalogue::named(row).expect("a row");
        let cases = if is_counter {
            &row.counters
        } else {
            &row.cases
        };
        let spec = ModeSpec {
            label: "mine".to_owned(),
            baseline: Some("single".to_owned()),
            ..cases[0].spec.clone()
        };
        (row, spec)
    }

    /// Trials with these anomalies, as if the row's fault had been injected.
    fn told(row: &str, is_counter: bool, planted: &[Planted]) -> Vec<Foretold> {
        let (row, spec) = spec_of(row, is_counter);
        let made = |(seed, planted): (u64, &Planted)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut made = Made::legal(Setting::Unpromised, &mut random);
            planted.plant(&mut made);
            made
        };
        let made: Vec<Made> = (0..).zip(planted).map(made).collect();
        let each: Vec<Judged> = made.iter().map(Made::judged).collect();
        let case = if is_counter {
            &row.counters[0]
        } else {
            &row.cases[0]
        };
        let campaign = Campaign {
            durability: crate::study::fault::Durability::STRICT,
            fault: row.fault_in(case, fault_catalogue::named),
            trials: made.into_iter().map(|made| made.trial).collect(),
        };
        foretold(&spec, &campaign, &each)
    }

    fn met(told: &[Foretold]) -> Vec<(&'static str, Option<bool>, usize)> {
        let one = |it: &Foretold| (it.what[0], it.is_met, it.trials_with);
        told.iter().map(one).collect()
    }

    #[test]
    fn a_loss_that_is_foretold_must_come_once_and_one_that_is_ruled_out_never() {
        let (legal, lost) = (Planted::Nothing, Planted::Lost);
        let cases = told("link-cut", false, &[legal, lost]);
        assert_eq!(met(&cases), [("lost", Some(true), 1)]);
        // One that did not may have been chance.
        let without = |trials| met(&told("link-cut", false, &vec![legal; trials]));
        assert_eq!(without(4), [("lost", None, 0)]);
        assert_eq!(without(5), [("lost", Some(false), 0)]);
        let counters = told("link-cut", true, &[legal, lost]);
        assert_eq!(met(&counters), [("none lost", Some(false), 1)]);
        assert!(counters[0].is_counter && counters[0].because.is_some());
        // Neither the lab's trouble nor a fault that did not bite shows that nothing is lost.
        let none = told("link-cut", true, &[Planted::Undone, Planted::NotBitten]);
        assert_eq!(met(&none), [("none lost", None, 0)]);
        assert_eq!((none[0].trials, none[0].row), (0, "link-cut"));
    }

    #[test]
    fn of_several_signs_one_is_enough() {
        let lost = told("loose-replica", false, &[Planted::Lost]);
        assert_eq!(lost[0].what, ["lost", "unbalanced"]);
        assert_eq!(lost[0].is_met, Some(true));
        let none = told("loose-replica", false, &[Planted::Nothing; 5]);
        assert_eq!((none[0].is_met, none[0].trials_with), (Some(false), 0));
    }

    #[test]
    fn what_nobody_could_have_seen_is_not_ruled_out() {
        let absent = |sign| Expected {
            sign,
            is_seen: false,
        };
        let told = |change: fn(&mut Trial)| {
            let mut random = ChaCha8Rng::seed_from_u64(5);
            let mut made = Made::legal(Setting::Unpromised, &mut random);
            Planted::Skipped.plant(&mut made);
            let replica = &mut made.trial.others[0];
            (replica.ahead, replica.rows) = (Some(0), made.trial.serving[0].rows.clone());
            change(&mut made.trial);
            let judged = made.judged();
            let signs = [Sign::Stale, Sign::Errant, Sign::GtidsReused, Sign::Skipped];
            signs.map(|sign| is_met(&[absent(sign)], &[(&made.trial, &judged)]))
        };
        assert_eq!(told(|_| {})[1..], [Some(true); 3]);
        assert_eq!(told(|trial| trial.history.readers.clear())[0], None);
        assert_eq!(told(|trial| trial.others.clear())[1..], [None; 3]);
        let behind = told(|trial| trial.others[0].is_level = false);
        assert_eq!(behind[1..], [Some(true), Some(true), None]);
    }

    #[test]
    fn what_the_catalogue_does_not_know_is_not_foretold() {
        let (row, spec) = spec_of("link-cut", false);
        let mut fault = row.fault.clone();
        let count = |fault: &Fault, spec: &ModeSpec| cases(fault, spec).len();
        assert_eq!(count(&fault, &spec), 1);
        // Other moments of the same deeds.
        fault.steps[1].when = When::After {
            min: Duration::from_secs(9),
            max: Duration::from_secs(9),
        };
        assert_eq!(count(&fault, &spec), 1);
        let other = ModeSpec {
            nodes: spec.nodes + 1,
            ..spec.clone()
        };
        assert_eq!(count(&fault, &other), 0);
        fault.steps.pop();
        assert_eq!(count(&fault, &spec), 0);
    }

    #[test]
    fn every_sign_can_be_seen() {
        let shown = |planted: Planted, sign| {
            let setting = [Setting::Promoted, Setting::Elected, Setting::Killed]
                .into_iter()
                .find(|setting| planted.fits(*setting));
            let mut random = ChaCha8Rng::seed_from_u64(5);
            let mut made = Made::legal(setting.expect("one fits"), &mut random);
            planted.plant(&mut made);
            shows(sign, &made.trial, &made.judged())
        };
        for (planted, sign) in [
            (Planted::Torn, Sign::Wrong),
            (Planted::Lost, Sign::Lost),
            (Planted::Nothing, Sign::Recovered),
            (Planted::Phantom, Sign::Phantom),
            (Planted::Errant, Sign::Errant),
            (Planted::GtidReused, Sign::GtidsReused),
            (Planted::Skipped, Sign::Skipped),
            (Planted::Diverged, Sign::Diverged),
            (Planted::Forked, Sign::Forked),
            (Planted::Doubled, Sign::Doubled),
            (Planted::LostUpdate, Sign::Unbalanced),
            (Planted::LostAfterItWentAlone, Sign::FellBack),
            (Planted::RefusesItsData, Sign::RefusesData),
        ] {
            assert!(shown(planted, sign), "{planted:?} {sign:?}");
            let is_quiet = sign != Sign::Recovered;
            assert_eq!(shown(Planted::Nothing, sign), !is_quiet, "{sign:?}");
        }
        assert!(!shown(Planted::Nothing, Sign::StaleForLong));
        assert!(!shown(Planted::Nothing, Sign::NoService), "30 ms");
    }
}
