//! What is measured next, given what was found so far.

use std::collections::BTreeMap;
use std::time::Duration;

use super::knee::{Found, Offered, Part, Search, Seek, Try, Verdict, below, typical};
use super::{Cell, Plan};

/// Of more transactions than this share, failed, the limit of a 99th percentile is broken.
const FAILED_SHARE: f64 = 0.01;
/// More than this share of what was due is not begun: the rate was not reached.
const BACKLOG_SHARE: f64 = 0.05;
/// A driver that used more of a CPU than this may be what was measured.
pub const DRIVER_FULL_CPUS: f64 = 0.8;

/// What came of one measurement, as far as it may decide what is measured next.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outcome {
    /// From 1 on.
    pub round: u32,
    /// Index among the cells of the schedule.
    pub cell: usize,
    /// It enters no figure: its links were late.
    pub is_void: bool,
    pub commits_per_s: f64,
    /// Those that changed no row included.
    pub transactions_per_s: f64,
    /// Of transactions that ended well; `None` if none did.
    pub latency_us_p50: Option<u64>,
    pub latency_us_p99: Option<u64>,
    /// At an offered rate, of what became due: the share that failed, and the share that was not
    /// begun at the window's end.
    pub failed_share: f64,
    pub backlog_share: f64,
    /// CPUs that the busiest driver used.
    pub driver_cpus: f64,
    /// What it took, all that came before and after its window included; nothing where it was made
    /// in an earlier run.
    pub took: Duration,
}

impl Outcome {
    /// What it says of a limit of the 99th percentile; `None` if it must not enter any figure.
    pub fn verdict(&self, p99: Duration) -> Option<Verdict> {
        if self.is_void {
            return None;
        }
        let is_late = |us: u64| Duration::from_micros(us) > p99;
        let is_broken = self.latency_us_p99.is_none_or(is_late)
            || self.failed_share > FAILED_SHARE
            || self.backlog_share > BACKLOG_SHARE;
        Some(match is_broken {
            false => Verdict::Keeps,
            true if self.driver_cpus > DRIVER_FULL_CPUS => Verdict::DriverFull,
            true => Verdict::Breaks,
        })
    }
}

/// A cell that is to be measured now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// From 1 on; a new round begins with servers and links set anew.
    pub round: u32,
    /// Index among the cells of the schedule.
    pub cell: usize,
    /// How often the cell was measured in this round before.
    pub repeat: u32,
    /// The rate, where the cell leaves it open.
    pub offered: Option<Offered>,
}

/// Decides what is measured. It is asked after each measurement, so that it may look back: repeat
/// a cell until its interval is narrow, or add cells in search of a limit.
pub trait Schedule {
    /// All cells so far, by index. One that joins comes last; none is ever changed or taken away.
    fn cells(&self) -> &[Cell];

    /// All turns that are certain by now: those whose outcomes these are, in their order, and what
    /// follows them. Without any that follow, the run ends. No round comes after a later one. What
    /// was certain once stays so.
    fn turns(&mut self, so_far: &[Outcome]) -> Vec<Turn>;
}

/// The rounds of a plan. Where a cell is the search for a knee, each of its measurements follows
/// from those before; what is below the knee comes last in a round, so that modes are compared
/// there one soon after the other.
pub struct Rounds<'p> {
    plan: &'p Plan,
    /// Of each cell below a knee its search.
    searches: Vec<Option<usize>>,
}

impl Plan {
    /// Its rounds as a schedule.
    pub fn schedule(&self) -> Rounds<'_> {
        let searches = self.cells.iter().map(|cell| search_of(&self.cells, cell));
        Rounds {
            plan: self,
            searches: searches.collect(),
        }
    }
}

/// The search whose knee a cell is measured below.
fn search_of(cells: &[Cell], cell: &Cell) -> Option<usize> {
    let seek = cell.knee.filter(|seek| seek.part == Part::Below)?;
    let search = Seek {
        part: Part::Search,
        ..seek
    };
    let is_it = |other: &Cell| {
        let named = Cell {
            id: cell.id.clone(),
            knee: cell.knee,
            ..other.clone()
        };
        other.knee == Some(search) && named == *cell
    };
    cells.iter().position(is_it)
}

impl Schedule for Rounds<'_> {
    fn cells(&self) -> &[Cell] {
        &self.plan.cells
    }

    fn turns(&mut self, so_far: &[Outcome]) -> Vec<Turn> {
        let mut walk = Walk {
            rounds: self,
            so_far,
            turns: Vec::new(),
            kept: BTreeMap::new(),
        };
        for (round, cells) in (1..).zip(&self.plan.rounds) {
            let is_below = |cell: &&usize| self.searches[**cell].is_some();
            let (last, first): (Vec<&usize>, Vec<&usize>) = cells.iter().partition(is_below);
            for &cell in first.into_iter().chain(last) {
                if !walk.pass(round, cell) {
                    return walk.turns;
                }
            }
        }
        walk.turns
    }
}

/// On the way through all rounds, up to where nothing is certain yet.
struct Walk<'w> {
    rounds: &'w Rounds<'w>,
    so_far: &'w [Outcome],
    turns: Vec<Turn>,
    /// Of each search the last rate of each round that kept the limit, where it found a knee.
    kept: BTreeMap<usize, Vec<i32>>,
}

impl Walk<'_> {
    /// Adds a cell's turns of a round; false if it is not certain yet what follows them.
    fn pass(&mut self, round: u32, cell: usize) -> bool {
        let Some(seek) = self.rounds.plan.cells[cell].knee else {
            self.add(round, cell, 0, None);
            return true;
        };
        if seek.part == Part::Search {
            return self.search(round, cell, seek);
        }
        // Where no round has found a knee there is nothing below it.
        let search = self.rounds.searches[cell];
        if let Some(kept) = search.and_then(|search| self.typical(search)) {
            let index = below(kept);
            let is_fine = true;
            let offered = Try { index, is_fine }.offered();
            self.add(round, cell, 0, Some(offered));
        }
        true
    }

    fn search(&mut self, round: u32, cell: usize, seek: Seek) -> bool {
        let mut search = Search::new(self.typical(cell));
        let is_its = |one: &&Outcome| (one.round, one.cell) == (round, cell);
        let so_far = self.so_far;
        let mut outcomes = so_far.iter().filter(is_its);
        for repeat in 0.. {
            let Some(asked) = search.asks() else { break };
            self.add(round, cell, repeat, Some(asked.offered()));
            let Some(outcome) = outcomes.next() else {
                return false;
            };
            search.take(outcome.verdict(seek.p99));
        }
        if let Some(Found::Knee(kept)) = search.found() {
            self.kept.entry(cell).or_default().push(kept);
        }
        true
    }

    /// The median of the knees that a search has found, this round's included.
    fn typical(&self, search: usize) -> Option<i32> {
        typical(self.kept.get(&search)?)
    }

    fn add(&mut self, round: u32, cell: usize, repeat: u32, offered: Option<Offered>) {
        self.turns.push(Turn {
            round,
            cell,
            repeat,
            offered,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::knee::{knee_per_s, rate_per_s};
    use crate::plan::plan;
    use crate::study::{Study, limits, written};

    /// Two modes in search of a knee, and beside it a closed loop.
    const TEXT: &str = r#"
rounds = 3
[[mode]]
server = "mysql"
mode = "single"
[[mode]]
server = "mysql"
mode = "async"
[[sweep]]
workload = "update_index"
connections = 16
rtt = "1ms"
knee = { p99 = "20ms" }
[[sweep]]
workload = "update_index"
rtt = "1ms"
"#;
    const P99: Duration = Duration::from_millis(20);

    fn study() -> Study {
        written::sample(TEXT)
    }

    /// What comes of each turn at servers with these knees, by the row of their mode, up to where
    /// the schedule ends.
    fn run(plan: &Plan, knees: [f64; 2]) -> Vec<Turn> {
        let mut schedule = plan.schedule();
        let mut so_far: Vec<Outcome> = Vec::new();
        loop {
            let turns = schedule.turns(&so_far);
            let taken = so_far.iter().map(|one| (one.round, one.cell));
            let told = turns.iter().map(|turn| (turn.round, turn.cell));
            assert!(taken.eq(told.take(so_far.len())), "what was certain is not");
            let Some(turn) = turns.get(so_far.len()) else {
                assert_eq!(turns.len(), so_far.len());
                return turns;
            };
            let offered = turn.offered.map_or(0, |offered| offered.rate_per_s);
            let knee = knees[plan.cells[turn.cell].mode];
            let us = if f64::from(offered) <= knee {
                15_000
            } else {
                25_000
            };
            so_far.push(Outcome {
                round: turn.round,
                cell: turn.cell,
                latency_us_p99: Some(us),
                ..Outcome::default()
            });
        }
    }

    /// Cells of that kind, by the row of their mode.
    fn of(plan: &Plan, part: Option<Part>, row: usize) -> usize {
        let is_it = |cell: &Cell| cell.mode == row && cell.knee.map(|seek| seek.part) == part;
        plan.cells.iter().position(is_it).expect("a cell")
    }

    #[test]
    fn each_mode_has_its_search_and_is_measured_below_its_own_knee() {
        let plan = plan(&study());
        let turns = run(&plan, [3_000.5, 900.5]);
        assert_eq!(plan.cells.len(), 6);
        for (row, knee) in [3_000.5, 900.5].into_iter().enumerate() {
            let below = of(&plan, Some(Part::Below), row);
            let own = turns.iter().filter(|turn| turn.cell == below);
            let rates: Vec<u32> = own
                .filter_map(|turn| Some(turn.offered?.rate_per_s))
                .collect();
            assert_eq!(rates.len(), 3, "one in each round");
            let share = f64::from(rates[0]) / knee;
            assert!((0.66..0.74).contains(&share), "{share}");
            let closed = of(&plan, None, row);
            let mut closed = turns.iter().filter(|turn| turn.cell == closed);
            assert!(closed.all(|turn| turn.offered.is_none()));
        }
    }

    #[test]
    fn a_round_searches_anew_from_where_the_last_one_ended() {
        let plan = plan(&study());
        let turns = run(&plan, [3_000.5, 900.5]);
        let search = of(&plan, Some(Part::Search), 0);
        let tries = |round| {
            let own = turns.iter().filter(|turn| turn.cell == search);
            own.filter(|turn| turn.round == round).count()
        };
        assert!((8..=14).contains(&tries(1)), "{}", tries(1));
        assert!(tries(2) <= 6 && tries(3) == tries(2), "{}", tries(2));
        let repeats = turns
            .iter()
            .filter(|turn| (turn.round, turn.cell) == (1, search));
        let repeats: Vec<u32> = repeats.map(|turn| turn.repeat).collect();
        assert_eq!(repeats, (0..tries(1) as u32).collect::<Vec<_>>());
    }

    #[test]
    fn in_each_round_the_searches_of_all_modes_come_before_what_is_below() {
        let plan = plan(&study());
        let turns = run(&plan, [3_000.5, 900.5]);
        let below = [0, 1].map(|row| of(&plan, Some(Part::Below), row));
        for round in 1..=3 {
            let own: Vec<usize> = turns
                .iter()
                .filter(|turn| turn.round == round)
                .map(|turn| turn.cell)
                .collect();
            let (first, last) = own.split_at(own.len() - 2);
            assert!(last.iter().all(|cell| below.contains(cell)), "{own:?}");
            assert!(!first.iter().any(|cell| below.contains(cell)), "{own:?}");
        }
    }

    #[test]
    fn without_a_knee_nothing_is_below_it() {
        let plan = plan(&study());
        let turns = run(&plan, [1.0, 900.5]);
        let below = of(&plan, Some(Part::Below), 0);
        assert!(turns.iter().all(|turn| turn.cell != below));
    }

    #[test]
    fn what_breaks_a_limit() {
        let good = Outcome {
            latency_us_p99: Some(20_000),
            ..Outcome::default()
        };
        let verdict = |change: fn(&mut Outcome)| {
            let mut outcome = good;
            change(&mut outcome);
            outcome.verdict(P99)
        };
        let breaks = Some(Verdict::Breaks);
        assert_eq!(verdict(|_| ()), Some(Verdict::Keeps));
        assert_eq!(verdict(|one| one.latency_us_p99 = Some(20_001)), breaks);
        assert_eq!(verdict(|one| one.latency_us_p99 = None), breaks);
        assert_eq!(verdict(|one| one.failed_share = 0.02), breaks);
        assert_eq!(verdict(|one| one.backlog_share = 0.06), breaks);
        assert_eq!(verdict(|one| one.is_void = true), None);
        // A driver that is short of CPU says nothing against a limit that is kept.
        let full = |one: &mut Outcome| one.driver_cpus = 0.9;
        assert_eq!(verdict(full), Some(Verdict::Keeps));
        let broken = verdict(|one| (one.driver_cpus, one.failed_share) = (0.9, 0.02));
        assert_eq!(broken, Some(Verdict::DriverFull));
    }

    #[test]
    fn a_search_takes_its_time() {
        let study = study();
        let plan = plan(&study);
        let search = &plan.cells[of(&plan, Some(Part::Search), 0)];
        let offered = |index| Try {
            index,
            is_fine: true,
        };
        let at = search.at(&study, offered(157).offered());
        assert_eq!(at.rate_per_s, Some(rate_per_s(157)));
        assert_eq!(at.window(&study), Duration::from_secs(10));
        assert!(knee_per_s(157) > f64::from(rate_per_s(157)));
        let steps = crate::plan::steps(&study, &plan);
        // In each round of each mode all tries, what is below, and the closed loop.
        let tries = limits::KNEE_TRIES as usize;
        assert_eq!(steps.len(), 3 * 2 * (tries + 1 + 1));
    }
}
