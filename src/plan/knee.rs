//! The search for a knee: the highest rate at which the 99th percentile of latency keeps a limit.
//!
//! Rates come from one grid, so that two modes, and two records, are offered the same ones, and
//! two neighbours of it are as near as a knee is told. Here is which rate is next, given what came
//! of those before; nothing is measured. docs/method/throughput-and-latency.md says what a knee is
//! worth.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A rate of the grid over the one below it. Its rate 0 is 1/s.
pub const RATIO: f64 = 1.04;
/// Modes are compared at this share of their knees.
pub const SHARE: f64 = 0.7;
/// 21/s: at a lower rate it takes too long until a percentile can be told, and rates in whole
/// numbers do not tell the grid's apart.
const LOWEST: i32 = 78;
/// 98,000/s: no driver offers more.
const HIGHEST: i32 = 293;
/// 98/s: where nothing is known, the search begins here,
const START: i32 = 117;
/// and goes on in steps of so many rates, about four times as much each.
const LADDER: i32 = 36;
/// Where a knee is known from an earlier round it begins beside it, with a step of so many rates;
/// each further one is twice as long.
const AROUND: i32 = 3;
/// As soon as the knee is known to so many rates, each is looked at closely.
const NEAR: i32 = 8;
/// A search is given up after so many measurements that must not enter any figure,
const VOIDS_MAX: u32 = 3;
/// or after so many in all: noise can lead it back and forth.
const TRIES_MAX: u32 = 40;

/// A percentile is told by so many commits,
const COMMITS: f64 = 1_000.0;
/// close to the knee by so many,
const COMMITS_FINE: f64 = 10_000.0;
/// unless that takes longer than this.
const FINE_MOST: Duration = Duration::from_secs(10);
/// A window holds the limit so often: what had not ended in it must be able to have broken it.
const LIMITS: u32 = 20;

/// What a cell has to do with a knee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seek {
    /// The limit of the 99th percentile.
    pub p99: Duration,
    pub part: Part,
}

/// How its rate is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Each measurement is a step of the search.
    Search,
    /// [`SHARE`] of the knee that was found.
    Below,
}

impl Part {
    /// Both.
    pub const ALL: [Part; 2] = [Part::Search, Part::Below];
}

/// A rate to be offered, and how closely it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// Transactions each second over all connections.
    pub rate_per_s: u32,
    pub is_fine: bool,
}

impl Seek {
    /// The window of a measurement: at least `least`, and as long as a percentile takes.
    pub fn window(self, offered: Offered, least: Duration) -> Duration {
        let takes = |commits: f64| Duration::from_secs_f64(commits / f64::from(offered.rate_per_s));
        let fine = match offered.is_fine {
            true => takes(COMMITS_FINE).min(FINE_MOST),
            false => Duration::ZERO,
        };
        let told = takes(COMMITS).max(self.p99 * LIMITS);
        least.max(told).max(fine)
    }
}

/// What a rate of the grid is, in whole transactions per second.
pub fn rate_per_s(index: i32) -> u32 {
    RATIO.powi(index).round() as u32
}

/// Which of the grid's rates that is; `None` of another one.
pub fn index_of(per_s: u32) -> Option<i32> {
    let index = (f64::from(per_s).ln() / RATIO.ln()).round() as i32;
    (index >= 0 && rate_per_s(index) == per_s).then_some(index)
}

/// The knee, where that rate kept the limit and the next one broke it: the middle between the two,
/// in transactions per second.
pub fn knee_per_s(kept: i32) -> f64 {
    RATIO.powf(f64::from(kept) + 0.5)
}

/// The rate next to [`SHARE`] of that knee.
pub fn below(kept: i32) -> i32 {
    (f64::from(kept) + 0.5 + SHARE.ln() / RATIO.ln()).round() as i32
}

/// The median of the knees that a search has found in other rounds, by the rates that were the last
/// to keep the limit.
pub fn typical(kept: &[i32]) -> Option<i32> {
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    kept.get(kept.len().checked_sub(1)? / 2).copied()
}

/// What came of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Keeps,
    Breaks,
    /// It broke the limit, and the driver itself was short of CPU: nobody knows whose limit it is.
    DriverFull,
}

/// What is known of a knee, in rates of the grid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bracket {
    /// The highest that kept the limit, and the lowest that broke it.
    pub kept: Option<i32>,
    pub broke: Option<i32>,
    /// The driver was short of CPU at the one that broke it.
    is_driver_full: bool,
}

/// What a search comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// This rate kept the limit, and the next one broke it.
    Knee(i32),
    /// This rate kept it, and at the next one the driver was short of CPU.
    Driver(i32),
    /// The highest rate that is offered kept it.
    Above(i32),
    /// The lowest broke it.
    Below(i32),
}

impl Bracket {
    /// Takes in what came of a rate. It counts more than what was seen of others before.
    pub fn take(&mut self, index: i32, verdict: Verdict) {
        if verdict == Verdict::Keeps {
            self.kept = Some(index);
            self.broke = self.broke.filter(|broke| *broke > index);
        } else {
            self.broke = Some(index);
            self.kept = self.kept.filter(|kept| *kept < index);
            self.is_driver_full = verdict == Verdict::DriverFull;
        }
    }

    /// What it comes to; `None` as long as it is too wide for that.
    pub fn found(&self) -> Option<Found> {
        match (self.kept, self.broke) {
            (Some(kept), Some(broke)) if broke - kept == 1 => Some(match self.is_driver_full {
                true => Found::Driver(kept),
                false => Found::Knee(kept),
            }),
            (Some(kept), None) if kept >= HIGHEST => Some(Found::Above(kept)),
            (None, Some(broke)) if broke <= LOWEST => Some(Found::Below(broke)),
            _ => None,
        }
    }

    fn is_whole(&self) -> bool {
        self.kept.is_some() && self.broke.is_some()
    }
}

/// A rate that a search wants to know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Try {
    pub index: i32,
    /// So near the knee that it is worth a long look.
    pub is_fine: bool,
}

impl Try {
    /// What is to be offered.
    pub fn offered(self) -> Offered {
        Offered {
            rate_per_s: rate_per_s(self.index),
            is_fine: self.is_fine,
        }
    }
}

/// How often close looks at a rate found that it keeps the limit, and that it breaks it. One look
/// can be disturbed: a host that stands still for a moment makes a whole window break its limit.
#[derive(Debug, Clone, Copy, Default)]
struct Looks {
    keeps: u32,
    breaks: u32,
}

impl Looks {
    /// Takes in one more; what most of them say, the newest if as many say the one as the other.
    fn take(&mut self, verdict: Verdict) -> Verdict {
        let is_kept = verdict == Verdict::Keeps;
        *(if is_kept {
            &mut self.keeps
        } else {
            &mut self.breaks
        }) += 1;
        match self.keeps.cmp(&self.breaks) {
            Ordering::Greater => Verdict::Keeps,
            Ordering::Less if is_kept => Verdict::Breaks,
            Ordering::Less | Ordering::Equal => verdict,
        }
    }

    /// Two that agree, or more than half of more.
    fn are_enough(self) -> bool {
        self.keeps + self.breaks >= 2 && self.keeps != self.breaks
    }
}

/// A search under way: outward until both ends are known, then by halves. The ends that remain are
/// looked at closely twice, and a third time where both looks differ; one that does not hold then
/// sends it outward again.
#[derive(Debug, Clone)]
pub struct Search {
    bracket: Bracket,
    start: i32,
    /// How far the next step outward goes.
    stride: i32,
    /// What close looks at a rate said.
    looks: BTreeMap<i32, Looks>,
    tries: u32,
    voids: u32,
}

impl Search {
    /// Of a knee that is about where that rate was the last to keep the limit, or anywhere.
    pub fn new(near: Option<i32>) -> Search {
        let start = near.map_or(START, |kept| (kept - 1).clamp(LOWEST, HIGHEST));
        Search {
            bracket: Bracket::default(),
            start,
            stride: if near.is_some() { AROUND } else { LADDER },
            looks: BTreeMap::new(),
            tries: 0,
            voids: 0,
        }
    }

    /// What it wants to know next; `None` once it has ended.
    pub fn asks(&self) -> Option<Try> {
        let is_given_up = self.tries >= TRIES_MAX || self.voids >= VOIDS_MAX;
        self.wants().filter(|_| !is_given_up)
    }

    fn wants(&self) -> Option<Try> {
        let within = |index: i32, reach: i32| {
            let is_fine = reach <= NEAR;
            Some(Try { index, is_fine })
        };
        match (self.bracket.kept, self.bracket.broke) {
            (None, None) => within(self.start, self.stride),
            (Some(kept), None) if kept < HIGHEST => {
                within((kept + self.stride).min(HIGHEST), self.stride)
            }
            (None, Some(broke)) if broke > LOWEST => {
                within((broke - self.stride).max(LOWEST), self.stride)
            }
            (Some(kept), Some(broke)) if broke - kept > 1 => {
                within(kept + (broke - kept) / 2, broke - kept)
            }
            (Some(kept), Some(broke)) => {
                let is_settled =
                    |end: &i32| self.looks.get(end).is_some_and(|looks| looks.are_enough());
                let mut ends = [kept, broke].into_iter();
                within(ends.find(|end| !is_settled(end))?, 1)
            }
            _ => None,
        }
    }

    /// Takes in what came of what it asked; `None` of a measurement that must not enter any
    /// figure.
    pub fn take(&mut self, verdict: Option<Verdict>) {
        let Some(tried) = self.asks() else {
            return;
        };
        self.tries += 1;
        let Some(verdict) = verdict else {
            self.voids += 1;
            return;
        };
        let verdict = match tried.is_fine {
            true => self.looks.entry(tried.index).or_default().take(verdict),
            false => verdict,
        };
        let before = self.bracket;
        self.bracket.take(tried.index, verdict);
        if before.is_whole() && !self.bracket.is_whole() {
            self.stride = AROUND;
        } else if before != Bracket::default() && !before.is_whole() {
            self.stride = (self.stride * 2).min(LADDER);
        }
    }

    /// What it came to; `None` before its end, and where it was given up.
    pub fn found(&self) -> Option<Found> {
        match self.wants() {
            Some(_) => None,
            None => self.bracket.found(),
        }
    }

    /// What is known so far.
    pub fn bracket(&self) -> Bracket {
        self.bracket
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::study::limits;

    /// Searches with what `verdict` says of each rate; how many tries it took.
    fn run(near: Option<i32>, mut verdict: impl FnMut(Try) -> Option<Verdict>) -> (Search, u32) {
        let mut search = Search::new(near);
        let mut tries = 0;
        while let Some(tried) = search.asks() {
            assert!((LOWEST..=HIGHEST).contains(&tried.index), "{tried:?}");
            search.take(verdict(tried));
            tries += 1;
        }
        (search, tries)
    }

    /// What a server says whose knee is there.
    fn at(knee_per_s: f64) -> impl Fn(Try) -> Option<Verdict> {
        move |tried| {
            let keeps = f64::from(rate_per_s(tried.index)) <= knee_per_s;
            Some(if keeps {
                Verdict::Keeps
            } else {
                Verdict::Breaks
            })
        }
    }

    #[test]
    fn rates_are_distinct_and_know_their_place() {
        for index in LOWEST..=HIGHEST {
            assert_eq!(index_of(rate_per_s(index)), Some(index));
            assert!(rate_per_s(index) < rate_per_s(index + 1));
        }
        let ends = [LOWEST, START, HIGHEST].map(rate_per_s);
        assert_eq!((ends[0], ends[1]), (21, 98));
        assert!((97_000..99_000).contains(&ends[2]), "{}", ends[2]);
        assert_eq!((index_of(99), index_of(0)), (None, None));
    }

    #[test]
    fn what_is_below_a_knee_is_its_share() {
        for kept in LOWEST..HIGHEST {
            let share = RATIO.powi(below(kept)) / knee_per_s(kept);
            assert!((share / SHARE).ln().abs() <= RATIO.ln() / 2.0, "{share}");
        }
    }

    #[test]
    fn windows_hold_what_a_percentile_takes() {
        let seek = Seek {
            p99: Duration::from_millis(20),
            part: Part::Search,
        };
        let window = |rate_per_s, is_fine| {
            let offered = Offered {
                rate_per_s,
                is_fine,
            };
            seek.window(offered, Duration::from_secs(2)).as_secs_f64()
        };
        assert_eq!((window(100, false), window(100, true)), (10.0, 10.0));
        assert_eq!((window(2_000, false), window(2_000, true)), (2.0, 5.0));
        assert_eq!((window(20, true), window(50_000, true)), (50.0, 2.0));
        let slow = Seek {
            p99: Duration::from_secs(1),
            ..seek
        };
        let offered = Offered {
            rate_per_s: 50_000,
            is_fine: false,
        };
        let window = slow.window(offered, Duration::from_secs(2));
        assert_eq!(window, Duration::from_secs(20));
    }

    #[test]
    fn limits_beyond_all_rates_are_told_and_no_figure() {
        let (below, _) = run(None, at(1.0));
        assert_eq!(below.found(), Some(Found::Below(LOWEST)));
        let (above, _) = run(None, at(1e9));
        assert_eq!(above.found(), Some(Found::Above(HIGHEST)));
    }

    #[test]
    fn a_driver_that_is_full_is_no_knee() {
        let full_from = |full: i32| {
            move |tried: Try| match tried.index {
                index if index < 200 => Some(Verdict::Keeps),
                index if index < full => Some(Verdict::Breaks),
                _ => Some(Verdict::DriverFull),
            }
        };
        let (search, _) = run(None, full_from(200));
        assert_eq!(search.found(), Some(Found::Driver(199)));
        // Far above the knee it may be full: the knee is known all the same.
        let (search, _) = run(None, full_from(220));
        assert_eq!(search.found(), Some(Found::Knee(199)));
    }

    #[test]
    fn beside_an_earlier_knee_it_takes_six_looks() {
        let (search, tries) = run(Some(199), at(knee_per_s(199)));
        assert_eq!((search.found(), tries), (Some(Found::Knee(199)), 6));
    }

    /// A host that stands still for 0.1 s is 1 % of a window of 10 s.
    #[test]
    fn one_disturbed_look_moves_no_knee() {
        let undisturbed = run(None, at(knee_per_s(199))).1;
        for disturbed in 0..undisturbed {
            let mut looks = 0;
            let (search, _) = run(None, |tried| {
                looks += 1;
                let is_disturbed = looks == disturbed + 1 && tried.is_fine;
                match is_disturbed {
                    true => Some(Verdict::Breaks),
                    false => at(knee_per_s(199))(tried),
                }
            });
            assert_eq!(search.found(), Some(Found::Knee(199)), "look {disturbed}");
        }
    }

    #[test]
    fn an_end_that_does_not_hold_at_a_second_look_is_left() {
        // Of the rates from 186 on all break, but 189 seemed to keep it at first.
        let (search, _) = run(None, |tried| {
            let seems_to = tried.index == 189 && !tried.is_fine;
            Some(match tried.index < 186 || seems_to {
                true => Verdict::Keeps,
                false => Verdict::Breaks,
            })
        });
        assert_eq!(search.found(), Some(Found::Knee(185)));
    }

    #[test]
    fn a_search_without_a_sound_measurement_is_given_up() {
        let (search, tries) = run(None, |_| None);
        assert_eq!((search.found(), tries), (None, VOIDS_MAX));
    }

    proptest! {
        #[test]
        fn any_knee_is_found_between_neighbours(log in 3.1f64..11.4, near in 78i32..293) {
            let knee = log.exp();
            for (near, most) in [(None, limits::KNEE_TRIES), (Some(near), 26)] {
                let (search, tries) = run(near, at(knee));
                let Some(Found::Knee(kept)) = search.found() else {
                    panic!("{search:?}");
                };
                let [lower, upper] = [kept, kept + 1].map(|index| f64::from(rate_per_s(index)));
                prop_assert!(lower <= knee && knee < upper);
                // Whole numbers are a half off at most, each.
                prop_assert!(upper - 0.5 <= (lower + 0.5) * RATIO);
                prop_assert!(tries <= most, "{tries}");
            }
        }

        #[test]
        fn whatever_it_is_told_it_ends(told in prop::collection::vec(0u8..4, TRIES_MAX as usize)) {
            let mut told = told.into_iter();
            let (_, tries) = run(None, |_| match told.next() {
                Some(0) => Some(Verdict::Keeps),
                Some(1) => Some(Verdict::Breaks),
                Some(2) => Some(Verdict::DriverFull),
                _ => None,
            });
            prop_assert!(tries <= TRIES_MAX);
        }
    }
}
