//! How fast replicas apply what the writer commits, and whether they keep up with it.

use super::flags;
use super::rates::{rate, throughput};
pub use super::summary::LagState;
use super::summary::{CellSummary, Per};
use crate::record::{CATCH_UP_LIMIT_S, Measurement, counter};

/// A replica that falls behind by less than this share of what is committed, or of the load's time,
/// keeps up: less is not told from the looks' own unevenness in a window of seconds.
pub const BEHIND_SHARE: f64 = 0.05;

/// Status counters of changed rows, of which the first that the writer has is taken on all nodes.
/// The second also counts what a MySQL replica notes in tables of its own; servers that have no
/// other (MariaDB) update none.
const ROWS_CHANGED: [&str; 2] = [counter::ROWS_UPDATED, counter::ROWS_UPDATED_ANYWHERE];
/// A counter that rose less than so often for each commit on the writer does not count what its
/// clients change: they insert or delete, and it is the server's own doing.
const COUNTED_PER_COMMIT: f64 = 0.5;

/// Commits per second that the replica farthest behind applied in the window: its [`share`] of
/// what was committed, whether it ever caught up or not. Where counters do not tell, it is taken to
/// be at work from the start of the load until it had caught up, and what was committed in the
/// load's time took it that much longer: `None` if waiting for that was given up. `None` without
/// replicas.
pub fn per_s(measurement: &Measurement, per: Per, warmup_s: f64) -> Option<f64> {
    if !has_followers(measurement, per) {
        return None;
    }
    let share = share(measurement, per).or_else(|| {
        let (load_s, behind_s) = (load_s(measurement, warmup_s), catch_up_s(measurement)?);
        Some(load_s / (load_s + behind_s))
    });
    Some(throughput(measurement, per)? * share?)
}

/// Commits per second that the slowest replica applied when it had the machine to itself, after a
/// load under which its appliers rested. `None` where they did not, or had too little to apply.
pub fn alone_per_s(measurement: &Measurement) -> Option<f64> {
    let all = measurement.applied_alone.iter();
    let rates: Option<Vec<f64>> = all.map(|one| rate(one.commits, one.span_s)).collect();
    rates?.into_iter().reduce(f64::min)
}

/// CPU time, in µs, that a commit takes a replica's server then.
pub fn alone_cpu_us(measurement: &Measurement) -> Option<f64> {
    let all = &measurement.applied_alone;
    let commits: u64 = all.iter().map(|one| one.commits).sum();
    let cpu_us: f64 = all.iter().map(|one| one.cpu_us).sum();
    (commits > 0).then(|| cpu_us / commits as f64)
}

/// Whether somebody applies what a steady load commits.
fn has_followers(measurement: &Measurement, per: Per) -> bool {
    !measurement.lag.is_empty() && per == Per::Commit && measurement.iterations.is_empty()
}

/// The load goes on after the window, for lag to be seen. In a record that does not know how long,
/// its whole seconds tell, up to one too few.
fn load_s(measurement: &Measurement, warmup_s: f64) -> f64 {
    match measurement.load_s > 0.0 {
        true => measurement.load_s,
        false => (measurement.timeline.len() as f64).max(warmup_s + measurement.window_s),
    }
}

/// Of the replica that took the longest; `None` where one had not caught up when waiting was given
/// up.
fn catch_up_s(measurement: &Measurement) -> Option<f64> {
    let catch_ups_ms: Option<Vec<f64>> = measurement.lag.iter().map(|l| l.catch_up_ms).collect();
    Some(catch_ups_ms?.into_iter().fold(0.0, f64::max) / 1e3)
}

/// In how many rounds a replica was waited for in vain once the load had ended; `None` if in none.
pub fn given_up(cell: &CellSummary) -> Option<String> {
    let rounds = cell.lag_ms.iter().map(|lag| lag.not_caught_up).max()?;
    let of = cell.measurements.max(cell.rounds);
    (rounds > 0)
        .then(|| format!("not caught up within {CATCH_UP_LIMIT_S} s in {rounds} of {of} rounds"))
}

/// Rows that the replica farthest behind changed in the window over those that the writer changed,
/// both by the servers' own counters: below 1 its lag grew. `None` without replicas, and where the
/// servers' counters do not tell: of rows that are only inserted or deleted, or of no server.
pub fn share(measurement: &Measurement, per: Per) -> Option<f64> {
    if !has_followers(measurement, per) {
        return None;
    }
    let changed = |node: &str, counter: &str| {
        let counters = measurement.status.get(node)?;
        Some(counters.get(counter).copied().unwrap_or(0.0))
    };
    let follows = |node: &str| measurement.lag.iter().any(|lag| lag.node == node);
    let written = |counter: &&str| {
        let writers = measurement.status.keys().filter(|node| !follows(node));
        let most = writers.filter_map(|node| changed(node, counter));
        most.fold(0.0, f64::max)
    };
    let enough = COUNTED_PER_COMMIT * measurement.commits as f64;
    let tells = |name: &&&str| written(name) > 0.0 && written(name) >= enough;
    let counter = ROWS_CHANGED.iter().find(tells)?;
    let applied = measurement.lag.iter().map(|l| changed(&l.node, counter));
    let applied: Option<Vec<f64>> = applied.collect();
    let least = applied?.into_iter().fold(f64::INFINITY, f64::min);
    Some(least / written(counter))
}

/// Whether the replica farthest behind kept up with the load: it applied nearly all of what was
/// committed in the window, and caught up in a small part of the load's time after it. `None` where
/// that cannot be told.
fn keeps_up(measurement: &Measurement, per: Per, warmup_s: f64) -> Option<bool> {
    let applies = share(measurement, per)? >= 1.0 - BEHIND_SHARE;
    let behind_s = catch_up_s(measurement).unwrap_or(f64::INFINITY);
    Some(applies && behind_s <= BEHIND_SHARE * load_s(measurement, warmup_s))
}

/// What became of the lag over these rounds; `None` where one of them does not tell.
pub fn lag_state(rounds: &[&Measurement], per: Per, warmup_s: f64) -> Option<LagState> {
    let kept: Option<Vec<bool>> = rounds.iter().map(|m| keeps_up(m, per, warmup_s)).collect();
    let kept = kept.filter(|kept| !kept.is_empty())?;
    let is_over = |m: &&Measurement| flags::is_overloaded(m);
    Some(match () {
        () if rounds.iter().any(is_over) => LagState::Overloaded,
        () if kept.iter().all(|kept| *kept) => LagState::Bounded,
        () if kept.contains(&true) => LagState::Undecided,
        () => LagState::Grows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{AppliedAlone, Lag};

    /// 9 s of 1,000 commits/s after 1 s of warming up.
    fn load(catch_ups_ms: &[Option<f64>]) -> Measurement {
        let lag = |(i, catch_up_ms): (usize, &Option<f64>)| Lag {
            node: ["b", "c"][i].to_owned(),
            catch_up_ms: *catch_up_ms,
            ..Lag::default()
        };
        Measurement {
            commits: 9_000,
            window_s: 9.0,
            lag: catch_ups_ms.iter().enumerate().map(lag).collect(),
            ..Measurement::default()
        }
    }

    fn after(catch_ups_ms: &[Option<f64>]) -> Option<f64> {
        per_s(&load(catch_ups_ms), Per::Commit, 1.0)
    }

    /// The load whose nodes counted so many rows.
    fn counted(catch_ups_ms: &[Option<f64>], rows: &[(&str, &str, f64)]) -> Measurement {
        let mut measurement = load(catch_ups_ms);
        for (node, counter, change) in rows {
            let counters = measurement.status.entry((*node).to_owned()).or_default();
            counters.insert((*counter).to_owned(), *change);
        }
        measurement
    }

    fn state(rounds: &[&Measurement]) -> Option<LagState> {
        lag_state(rounds, Per::Commit, 1.0)
    }

    /// One replica that applied so many of 9,000 rows in the window.
    fn of_9000(applied: f64, catch_up_ms: Option<f64>) -> Measurement {
        let [a, b] = [("a", 9_000.0), ("b", applied)].map(|(n, rows)| (n, ROWS_CHANGED[0], rows));
        counted(&[catch_up_ms], &[a, b])
    }

    #[test]
    fn a_replica_that_needs_as_long_again_applies_half() {
        assert_eq!(after(&[Some(10.0), Some(10_000.0)]), Some(500.0));
        assert_eq!(after(&[Some(0.0)]), Some(1_000.0));
        assert_eq!(after(&[Some(0.0), None]), None);
        assert_eq!(after(&[]), None);
    }

    #[test]
    fn one_that_never_caught_up_applied_what_its_server_counted() {
        let applied = |rows, catch_up_ms| per_s(&of_9000(rows, catch_up_ms), Per::Commit, 1.0);
        assert_eq!(applied(450.0, None), Some(50.0));
        // All rounds alike, whether it caught up or not.
        assert_eq!(applied(450.0, Some(10_000.0)), Some(50.0));
        assert_eq!(applied(0.0, None), Some(0.0));
    }

    #[test]
    fn alone_the_slowest_replica_is_told_and_no_lag() {
        let alone = |spans: &[(u64, f64)]| {
            let of = |&(commits, span_s): &(u64, f64)| AppliedAlone {
                waiting: 9_000,
                commits,
                span_s,
                cpu_us: 200.0 * commits as f64,
                ..AppliedAlone::default()
            };
            Measurement {
                applied_alone: spans.iter().map(of).collect(),
                ..load(&[])
            }
        };
        let both = alone(&[(2_000, 4.0), (3_000, 4.0)]);
        assert_eq!(alone_per_s(&both), Some(500.0));
        assert_eq!(alone_cpu_us(&both), Some(200.0));
        assert_eq!(per_s(&both, Per::Commit, 1.0), None);
        assert_eq!((share(&both, Per::Commit), state(&[&both])), (None, None));
        // Of one nothing is known, or there is none.
        for unknown in [&[(2_000, 4.0), (0, 0.0)][..], &[]] {
            assert_eq!(alone_per_s(&alone(unknown)), None, "{unknown:?}");
        }
        assert_eq!(alone_cpu_us(&alone(&[(0, 0.0)])), None);
    }

    #[test]
    fn the_load_is_as_long_as_it_was_and_not_its_whole_seconds() {
        let long = |load_s| Measurement {
            load_s,
            timeline: vec![crate::record::Second::default(); 12],
            ..load(&[Some(12_500.0)])
        };
        let applied = |load_s| per_s(&long(load_s), Per::Commit, 1.0);
        assert_eq!(applied(12.5), Some(500.0));
        // A record of before it was kept.
        assert_eq!(applied(0.0), Some(1_000.0 * (12.0 / 24.5)));
        // 5 % of 12.5 s.
        let behind = |catch_up_ms| Measurement {
            load_s: 12.5,
            ..of_9000(9_000.0, Some(catch_up_ms))
        };
        assert_eq!(state(&[&behind(625.0)]), Some(LagState::Bounded));
        assert_eq!(state(&[&behind(626.0)]), Some(LagState::Grows));
    }

    #[test]
    fn the_servers_own_doing_does_not_count_what_clients_insert() {
        let stray = counted(&[Some(0.0)], &[("a", ROWS_CHANGED[1], 40.0)]);
        assert_eq!(share(&stray, Per::Commit), None);
        assert_eq!(per_s(&stray, Per::Commit, 1.0), Some(1_000.0));
    }

    #[test]
    fn the_share_is_that_of_the_replica_farthest_behind() {
        let of = |rows: &[(&str, &str, f64)]| share(&counted(&[None, None], rows), Per::Commit);
        let name = ROWS_CHANGED[0];
        let rows = [("a", name, 9_000.0), ("b", name, 8_100.0)];
        assert_eq!(
            of(&[&rows[..], &[("c", name, 4_500.0)]].concat()),
            Some(0.5)
        );
        // One that applied nothing counted nothing; one that was not asked is not known.
        let idle = [&rows[..], &[("c", "Com_select", 1.0)]].concat();
        assert_eq!((of(&idle), of(&rows)), (Some(0.0), None));
    }

    #[test]
    fn rows_of_a_replicas_own_tables_are_not_counted_where_that_can_be_told() {
        let both = |node, user, all| [(node, ROWS_CHANGED[0], user), (node, ROWS_CHANGED[1], all)];
        let mysql = [both("a", 9_000.0, 9_000.0), both("b", 8_100.0, 16_200.0)].concat();
        assert_eq!(share(&counted(&[None], &mysql), Per::Commit), Some(0.9));
        let mariadb = [
            ("a", ROWS_CHANGED[1], 9_000.0),
            ("b", ROWS_CHANGED[1], 900.0),
        ];
        assert_eq!(share(&counted(&[None], &mariadb), Per::Commit), Some(0.1));
        assert_eq!(share(&counted(&[None], &mariadb), Per::Transaction), None);
        assert_eq!(share(&load(&[None]), Per::Commit), None);
    }

    #[test]
    fn lag_is_bounded_if_nearly_all_is_applied_at_once_and_the_rest_soon() {
        let cases = [
            (8_550.0, Some(500.0), LagState::Bounded),
            (9_100.0, Some(3.0), LagState::Bounded),
            (8_540.0, Some(500.0), LagState::Grows),
            (9_000.0, Some(501.0), LagState::Grows),
            (9_000.0, None, LagState::Grows),
        ];
        for (applied, catch_up_ms, expected) in cases {
            let got = state(&[&of_9000(applied, catch_up_ms)]);
            assert_eq!(got, Some(expected), "{applied} {catch_up_ms:?}");
        }
    }

    #[test]
    fn rounds_that_disagree_decide_nothing_and_what_was_not_committed_is_not_judged() {
        let (good, bad) = (of_9000(9_000.0, Some(1.0)), of_9000(5_000.0, Some(9e3)));
        assert_eq!(state(&[&good, &good]), Some(LagState::Bounded));
        assert_eq!(state(&[&good, &bad]), Some(LagState::Undecided));
        let over = Measurement {
            due: 10_000,
            backlog: 501,
            ..good.clone()
        };
        assert_eq!(state(&[&good, &over]), Some(LagState::Overloaded));
        assert_eq!((state(&[]), state(&[&good, &load(&[None])])), (None, None));
    }
}
