//! What the command line changes in a study.

use std::time::Duration;

use super::cpus::Cpus;
use super::{Study, limits, my_cnf, units, written};
use crate::error::{Error, Mistake, Result};

/// Values from the command line; `None` leaves what the study says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `--rounds`
    pub rounds: Option<u32>,
    /// `--seed`
    pub seed: Option<u64>,
    /// `--warmup`
    pub warmup: Option<Duration>,
    /// `--measure`
    pub measure: Option<Duration>,
    /// `--my-cnf`: the text of the file.
    pub my_cnf_text: Option<String>,
    /// `--tls`
    pub tls: Option<bool>,
    /// `--cpus`
    pub cpus: Option<Cpus>,
    /// `--until`, as a share.
    pub until: Option<f64>,
    /// `--budget`
    pub budget: Option<Duration>,
    /// `--quick`
    pub is_quick: bool,
}

impl Study {
    /// The study with the command line's values in place of its own, under the same limits.
    ///
    /// # Errors
    /// All values out of range, at the place `command line`; a short run of a study without one.
    pub fn apply(self, overrides: &Overrides) -> Result<Study> {
        let mut mistakes = mistakes(overrides);
        if self.is_of_endpoints() {
            mistakes.extend(of_labs_only(overrides));
        }
        if !mistakes.is_empty() {
            return Err(Error::Mistakes(mistakes));
        }
        let mut study = match overrides.is_quick {
            true => self.quick_or_mistake()?,
            false => self,
        };
        study.quick = None;
        study.with(overrides)
    }

    fn quick_or_mistake(self) -> Result<Study> {
        let name = self.name.clone();
        self.shortened().ok_or_else(|| {
            let allowed = "is for studies with a [quick] table";
            Mistake::new(PLACE, "--quick", &name, allowed).into()
        })
    }

    fn with(mut self, overrides: &Overrides) -> Result<Study> {
        let refused: Vec<Mistake> = of_known_length_only(&self, overrides).collect();
        if !refused.is_empty() {
            return Err(Error::Mistakes(refused));
        }
        if overrides.until.is_some() {
            // Looked at after so many rounds, a figure needs as many.
            self.sweeps.iter_mut().for_each(|sweep| sweep.rounds = None);
        }
        let rounds = match (overrides.until, overrides.budget) {
            (Some(_), _) => Some(limits::ROUNDS_UNTIL),
            (None, Some(_)) => Some(limits::ROUNDS_UNTIL.max(self.rounds)),
            (None, None) => None,
        };
        self.rounds = overrides.rounds.or(rounds).unwrap_or(self.rounds);
        self.until = overrides.until.or(self.until);
        self.budget = overrides.budget.or(self.budget);
        self.seed = overrides.seed.unwrap_or(self.seed);
        self.warmup = overrides.warmup.unwrap_or(self.warmup);
        self.measure = overrides.measure.unwrap_or(self.measure);
        self.cpus = overrides.cpus.unwrap_or(self.cpus);
        self.tls = overrides.tls.unwrap_or(self.tls);
        let given = overrides.my_cnf_text.as_deref().map(my_cnf::of_servers);
        self.my_cnf = given.or(self.my_cnf);
        let is_ok = written::check_length(&self);
        is_ok.map_err(|advice| Mistake::new(PLACE, "", "", &advice))?;
        Ok(self)
    }
}

/// What cannot be asked of servers that somebody else runs.
fn of_labs_only(overrides: &Overrides) -> impl Iterator<Item = Mistake> {
    let given = [
        ("--my-cnf", overrides.my_cnf_text.is_some()),
        ("--tls", overrides.tls.is_some()),
        ("--cpus", overrides.cpus.is_some()),
    ];
    let given = given.into_iter().filter(|(_, is_given)| *is_given);
    given.map(|(key, _)| {
        let advice = "is not for studies of endpoints, which are taken as they are";
        Mistake::new(PLACE, key, "", advice)
    })
}

/// What cannot be asked of a study that searches for a knee.
fn of_known_length_only(study: &Study, overrides: &Overrides) -> impl Iterator<Item = Mistake> {
    let searches = study.sweeps.iter().any(|sweep| sweep.knee.is_some());
    let given = [
        ("--until", overrides.until.is_some()),
        ("--budget", overrides.budget.is_some()),
    ];
    let given = given
        .into_iter()
        .filter(move |(_, is_given)| searches && *is_given);
    given.map(|(key, _)| {
        let advice = "is not for studies with a `knee`: its search ends by itself, and nobody \
                      knows beforehand when; give --rounds";
        Mistake::new(PLACE, key, "", advice)
    })
}

const PLACE: &str = "command line";

fn mistakes(overrides: &Overrides) -> Vec<Mistake> {
    let whole = |key, given: Option<u64>, range: limits::Range<u64>| {
        let given = given.filter(|given| !range.holds(*given))?;
        Some(Mistake::new(
            PLACE,
            key,
            &given.to_string(),
            &range.whole_number(),
        ))
    };
    let time = |key, given: Option<Duration>, range: limits::Range<Duration>| {
        let given = given.filter(|given| !range.holds(*given))?;
        Some(Mistake::new(
            PLACE,
            key,
            &units::show_compact(given),
            &range.time(),
        ))
    };
    let share = |key, given: Option<f64>, range: limits::Range<f64>| {
        let given = given.filter(|given| !range.holds(*given))?;
        let (given, allowed) = (units::show_percent(given), range.share());
        Some(Mistake::new(PLACE, key, &given, &allowed))
    };
    let rounds = overrides.rounds.filter(|_| overrides.until.is_some());
    let found = [
        share("--until", overrides.until, limits::UNTIL),
        whole("--rounds", rounds.map(u64::from), limits::ROUNDS_LOOKED_AT),
        time("--budget", overrides.budget, limits::BUDGET),
        whole("--rounds", overrides.rounds.map(u64::from), limits::ROUNDS),
        whole("--seed", overrides.seed, limits::SEED),
        time("--warmup", overrides.warmup, limits::WARMUP),
        time("--measure", overrides.measure, limits::MEASURE),
    ];
    found.into_iter().flatten().collect()
}
