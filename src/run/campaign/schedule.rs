//! What is drawn of a trial by its seed, and how the moment of a step is waited for.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::Result;
use crate::study::faults::{Fault, Reach, When};

/// Between two questions to servers while one of their events is waited for. What clients note is
/// looked at more often: it lies in memory.
const ASK_EVERY_US: u64 = 20_000;
/// So long a step waits for what it is to befall: so many acknowledged commits, and one that is on
/// its way.
const REACH_LIMIT: Duration = Duration::from_secs(5);
/// Of a server whose commits take less than a step until it is in force, one on its way is over by
/// then: so for this long a step waits for so many at once, before one is enough.
const SEVERAL: u32 = 3;
const SEVERAL_LIMIT: Duration = Duration::from_millis(300);

/// Whoever has had no acknowledgement for longer is not served meanwhile.
const BREAK_US: u64 = 500_000;

/// The seeds of a fault's trials in a mode. Each fault draws from a stream of its own, whatever
/// else is injected.
pub struct Seeds(ChaCha8Rng);

impl Seeds {
    pub fn new(seed: u64, mode: usize, fault: &str) -> Seeds {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream(mode, fault));
        Seeds(random)
    }

    pub fn draw(&mut self) -> u64 {
        self.0.random()
    }
}

/// The hash of Fowler, Noll and Vo, FNV-1a, of the mode's number and the fault's name.
fn stream(mode: usize, fault: &str) -> u64 {
    let bytes = (mode as u64).to_le_bytes().into_iter().chain(fault.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What chance makes of a trial, decided before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// Of each step: how long after the one before it is done, where that is how it is timed.
    pub waits: Vec<Duration>,
    /// Of the transfers that clients make.
    pub clients: u64,
}

impl Drawn {
    pub fn of(fault: &Fault, seed: u64) -> Drawn {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let clients = random.random();
        let wait = |when: When| match when {
            When::After { min, max } if min < max => random.random_range(min..max),
            When::After { min, .. } => min,
            _ => Duration::ZERO,
        };
        let moments = fault.steps.iter().map(|step| step.when);
        Drawn {
            waits: moments.map(wait).collect(),
            clients,
        }
    }
}

/// The moment that the next step counts from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// µs of the history's clock.
    pub at_us: u64,
    /// Commits that had been acknowledged by then.
    pub acknowledged: u64,
}

/// What is seen of a trial while it goes on.
pub trait View {
    /// The history's clock.
    fn now_us(&self) -> u64;

    /// Transfers acknowledged so far.
    fn acknowledged(&self) -> u64;

    /// When the newest acknowledgement came.
    fn last_acknowledged_us(&self) -> Option<u64>;

    /// COMMITs sent and not answered.
    fn in_flight(&self) -> u32;

    /// Asks servers whether an event of theirs has come.
    fn has_come(&mut self, when: When) -> Result<bool>;

    /// Lets a little time pass, and looks after what has to be watched all the while. An error if
    /// the trial cannot go on.
    fn pass(&mut self) -> Result<()>;
}

/// Waits until a step's moment has come, which counts from a mark: false if it has not, being an
/// event, within its limit. `drawn` is how long it is waited where that is all.
///
/// # Errors
/// Those of the view.
pub fn wait_for(
    view: &mut impl View,
    (when, drawn): (When, Duration),
    limit: Duration,
    mark: Mark,
) -> Result<bool> {
    let begun_us = view.now_us();
    let mut asked_us: Option<u64> = None;
    loop {
        let now_us = view.now_us();
        let has_come = match when {
            When::After { .. } => now_us >= mark.at_us.saturating_add(us(drawn)),
            When::Commits(count) => view.acknowledged() >= mark.acknowledged.saturating_add(count),
            When::Silent(span) => {
                let last_us = view.last_acknowledged_us().unwrap_or(0).max(mark.at_us);
                now_us.saturating_sub(last_us) >= us(span)
            }
            When::Served => view.last_acknowledged_us() > Some(mark.at_us),
            When::Behind(..) | When::Expelled(_) | When::FellBack | When::Transfer => {
                let is_due = asked_us.is_none_or(|at_us| now_us >= at_us + ASK_EVERY_US);
                let has_come = is_due && view.has_come(when)?;
                if is_due {
                    asked_us = Some(view.now_us());
                }
                has_come
            }
        };
        if has_come {
            return Ok(true);
        }
        let is_event = !matches!(when, When::After { .. });
        if is_event && now_us.saturating_sub(begun_us) > us(limit) {
            return Ok(false);
        }
        view.pass()?;
    }
}

/// Waits until something is so that is seen at once: false if it was not within the limit.
///
/// # Errors
/// Those of the view.
pub fn wait_until<V: View>(
    view: &mut V,
    limit: Duration,
    is_so: impl Fn(&V) -> bool,
) -> Result<bool> {
    let begun_us = view.now_us();
    while !is_so(view) {
        if view.now_us().saturating_sub(begun_us) > us(limit) {
            return Ok(false);
        }
        view.pass()?;
    }
    Ok(true)
}

/// Waits for what the step of that number is to befall. Whether that was there is the judge's to
/// say.
///
/// # Errors
/// Those of the view.
pub fn wait_for_reach(
    view: &mut impl View,
    (reach, when): (&[Reach], When),
    at: usize,
) -> Result<()> {
    let told = reach.iter().filter_map(|reach| match *reach {
        Reach::AcknowledgedBefore(step, least) if step == at => Some(least),
        _ => None,
    });
    if let Some(least) = told.max() {
        wait_until(view, REACH_LIMIT, |view| view.acknowledged() >= least)?;
    }
    // What is on its way passes: it is looked for last. A span that was asked for is not stretched.
    let is_asked_for = matches!(when, When::After { min, max } if min == max && !min.is_zero());
    if reach.contains(&Reach::InFlight(at))
        && (is_asked_for || !wait_until(view, SEVERAL_LIMIT, |view| view.in_flight() >= SEVERAL)?)
    {
        wait_until(view, REACH_LIMIT, |view| view.in_flight() > 0)?;
    }
    Ok(())
}

/// Has servers stand still while a commit is on its way: where one takes less time than a signal,
/// it would be over before a server is killed. They stand still in the end even if there was none
/// within the limit; that is the judge's to say.
///
/// # Errors
/// Those of the view, and of what makes servers stand still, or go on.
pub fn halt_in_flight<V: View>(
    view: &mut V,
    halt: impl Fn(&mut V) -> Result<()>,
    go_on: impl Fn(&mut V) -> Result<()>,
) -> Result<()> {
    let begun_us = view.now_us();
    loop {
        halt(view)?;
        let is_late = view.now_us().saturating_sub(begun_us) > us(REACH_LIMIT);
        if view.in_flight() > 0 || is_late {
            return Ok(());
        }
        go_on(view)?;
        wait_until(view, REACH_LIMIT, |view| view.in_flight() > 0)?;
    }
}

/// Waits after the last step for as long as a fault says, or until clients have been served for so
/// long as it asks for.
///
/// # Errors
/// Those of the view.
pub fn wait_afterwards(view: &mut impl View, fault: &Fault, mark: Mark) -> Result<()> {
    let end_us = mark.at_us.saturating_add(us(fault.afterwards));
    let mut since_us = None;
    loop {
        let now_us = view.now_us();
        let newest_us = view.last_acknowledged_us();
        let is_served =
            newest_us.is_some_and(|at_us| at_us > mark.at_us && at_us + BREAK_US >= now_us);
        since_us = since_us.or(Some(now_us)).filter(|_| is_served);
        let span_us = since_us.map(|since_us| now_us - since_us);
        let is_enough = fault.served_for.zip(span_us);
        if now_us >= end_us || is_enough.is_some_and(|(asked, span_us)| span_us >= us(asked)) {
            return Ok(());
        }
        view.pass()?;
    }
}

/// A span in µs.
pub fn us(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::breakdown;
    use crate::study::faults::{Deed, Leaves, Step, Target};

    const MS: Duration = Duration::from_millis(1);

    fn step(when: When) -> Step {
        Step {
            when,
            limit: Duration::from_secs(30),
            deed: Deed::PowerCut(Target::Writer, Leaves::Nothing),
        }
    }

    fn after(min: Duration, max: Duration) -> When {
        When::After { min, max }
    }

    /// 200 ms to 1.5 s, 300 ms, an event, and 1 to 2 ms.
    fn fault() -> Fault {
        let whens = [
            after(200 * MS, 1_500 * MS),
            after(300 * MS, 300 * MS),
            When::FellBack,
            after(MS, 2 * MS),
        ];
        Fault {
            steps: whens.map(step).to_vec(),
            ..Fault::default()
        }
    }

    #[test]
    fn moments_follow_the_seed_and_stay_within_their_bounds() {
        let fault = fault();
        assert_eq!(Drawn::of(&fault, 1), Drawn::of(&fault, 1));
        let all: Vec<Drawn> = (0..200).map(|seed| Drawn::of(&fault, seed)).collect();
        for drawn in &all {
            let [first, second, third, fourth] = drawn.waits[..] else {
                panic!("{drawn:?}");
            };
            assert!((200 * MS..1_500 * MS).contains(&first), "{first:?}");
            assert_eq!((second, third), (300 * MS, Duration::ZERO));
            assert!((MS..2 * MS).contains(&fourth), "{fourth:?}");
        }
        let early = all.iter().filter(|drawn| drawn.waits[0] < 850 * MS);
        assert!((50..150).contains(&early.count()), "one half is not drawn");
        assert_ne!(all[0].clients, all[1].clients);
    }

    #[test]
    fn each_fault_of_each_mode_has_trials_of_its_own() {
        let seeds = |seed, mode, fault| {
            let mut seeds = Seeds::new(seed, mode, fault);
            [(); 10].map(|()| seeds.draw())
        };
        let here = seeds(7, 0, "writer-dies");
        assert_eq!(here, seeds(7, 0, "writer-dies"));
        for other in [
            seeds(8, 0, "writer-dies"),
            seeds(7, 1, "writer-dies"),
            seeds(7, 0, "link-cut"),
        ] {
            assert!(here.iter().all(|seed| !other.contains(seed)));
        }
    }

    /// Time goes on by a millisecond with each look.
    #[derive(Default)]
    struct Script {
        now_us: u64,
        /// When each commit is acknowledged.
        acknowledged_us: Vec<u64>,
        /// When the servers' event comes, and how often they were asked.
        event_us: Option<u64>,
        asked: u32,
        /// From 5 ms on; at least one.
        most_in_flight: u32,
        /// Commits that are over when servers stand still, how often that was, and is now.
        over: u32,
        halts: u32,
        is_still: bool,
        /// The trial cannot go on from then.
        ends_us: Option<u64>,
    }

    impl Script {
        fn so_far(&self) -> impl Iterator<Item = &u64> {
            let now_us = self.now_us;
            let all = self.acknowledged_us.iter();
            all.filter(move |at_us| **at_us <= now_us)
        }
    }

    impl View for Script {
        fn now_us(&self) -> u64 {
            self.now_us
        }

        fn acknowledged(&self) -> u64 {
            self.so_far().count() as u64
        }

        fn last_acknowledged_us(&self) -> Option<u64> {
            self.so_far().max().copied()
        }

        fn in_flight(&self) -> u32 {
            let is_over = self.is_still && self.halts <= self.over;
            match self.now_us >= 5_000 && !is_over {
                true => self.most_in_flight.max(1),
                false => 0,
            }
        }

        fn has_come(&mut self, _when: When) -> Result<bool> {
            self.asked += 1;
            Ok(self.event_us.is_some_and(|at_us| at_us <= self.now_us))
        }

        fn pass(&mut self) -> Result<()> {
            self.now_us += 1_000;
            match self.ends_us.is_some_and(|at_us| at_us <= self.now_us) {
                true => Err(breakdown("go on", "the clients have ended")),
                false => Ok(()),
            }
        }
    }

    const MARK: Mark = Mark {
        at_us: 10_000,
        acknowledged: 1,
    };

    /// Whether it came, and when that was known, in ms; waited for from 12 ms on, for 100 ms.
    fn waited(script: &mut Script, when: When) -> (bool, u64) {
        script.now_us = 12_000;
        let drawn = match when {
            When::After { min, .. } => min,
            _ => Duration::ZERO,
        };
        let came = wait_for(script, (when, drawn), 100 * MS, MARK).unwrap();
        (came, script.now_us / 1_000)
    }

    #[test]
    fn a_span_counts_from_the_step_before_and_has_no_limit() {
        let of = |span| waited(&mut Script::default(), after(span, span));
        assert_eq!(of(5 * MS), (true, 15));
        assert_eq!(of(MS), (true, 12), "it is over already");
        assert_eq!(of(500 * MS), (true, 510));
    }

    #[test]
    fn commits_count_from_the_step_before() {
        let mut script = Script {
            acknowledged_us: vec![9_000, 20_000, 30_000, 40_000],
            ..Script::default()
        };
        assert_eq!(waited(&mut script, When::Commits(2)), (true, 30));
        assert_eq!(waited(&mut script, When::Commits(4)), (false, 113));
    }

    #[test]
    fn silence_and_service_are_told_by_the_newest_acknowledgement() {
        let mut script = Script {
            acknowledged_us: vec![9_000, 15_000, 16_000, 60_000],
            ..Script::default()
        };
        assert_eq!(waited(&mut script, When::Silent(20 * MS)), (true, 36));
        assert_eq!(waited(&mut script, When::Served), (true, 15));
        script.acknowledged_us = vec![9_000];
        assert_eq!(waited(&mut script, When::Served), (false, 113), "before it");
        // Not counted from before the step.
        assert_eq!(waited(&mut script, When::Silent(20 * MS)), (true, 30));
    }

    #[test]
    fn servers_are_asked_now_and_then_until_the_limit() {
        let mut script = Script {
            event_us: Some(50_000),
            ..Script::default()
        };
        let (came, at_ms) = waited(&mut script, When::FellBack);
        assert!(came && (50..=72).contains(&at_ms), "{at_ms}");
        assert!((2..=4).contains(&script.asked), "{}", script.asked);
        let mut never = Script::default();
        assert!(!waited(&mut never, When::Expelled(Target::Writer)).0);
        assert!(!waited(&mut never, When::Behind(Target::Replica(1), 5)).0);
    }

    #[test]
    fn clients_go_on_until_they_have_been_served_for_long_enough() {
        let ended_ms = |acknowledged_ms: &[u64], served_for: Option<Duration>| {
            let mut script = Script {
                acknowledged_us: acknowledged_ms.iter().map(|ms| ms * 1_000).collect(),
                ..Script::default()
            };
            let fault = Fault {
                afterwards: 5_000 * MS,
                served_for,
                ..Fault::default()
            };
            wait_afterwards(&mut script, &fault, MARK).unwrap();
            script.now_us / 1_000
        };
        let steady: Vec<u64> = (1_000..6_000).step_by(100).collect();
        assert_eq!(ended_ms(&steady, Some(800 * MS)), 1_800);
        assert_eq!(ended_ms(&steady, None), 5_010, "nothing is said of that");
        assert_eq!(ended_ms(&[], Some(MS)), 5_010, "nobody is served");
        assert_eq!(ended_ms(&[9], Some(MS)), 5_010, "that was before");
        // Answers that were on their way are no service: a break follows them.
        let stray: Vec<u64> = [12, 13].into_iter().chain(steady).collect();
        assert_eq!(ended_ms(&stray, Some(800 * MS)), 1_800);
    }

    #[test]
    fn a_trial_that_cannot_go_on_ends_every_wait() {
        let mut script = Script {
            ends_us: Some(20_000),
            ..Script::default()
        };
        let outcome = wait_for(&mut script, (When::Served, MS), 100 * MS, MARK);
        assert!(outcome.is_err());
    }

    #[test]
    fn what_is_seen_at_once_is_waited_for_as_long() {
        let mut script = Script::default();
        let is_busy = |script: &Script| script.in_flight() > 0;
        assert!(wait_until(&mut script, 100 * MS, is_busy).unwrap());
        assert_eq!(script.now_us, 5_000);
        let mut script = Script::default();
        assert!(!wait_until(&mut script, 3 * MS, is_busy).unwrap());
    }

    #[test]
    fn servers_stand_still_until_a_commit_is_on_its_way() {
        let halted = |over| {
            let mut script = Script {
                over,
                ..Script::default()
            };
            let halt = |script: &mut Script| {
                script.halts += 1;
                script.is_still = true;
                script.pass()
            };
            let go_on = |script: &mut Script| {
                script.is_still = false;
                Ok(())
            };
            halt_in_flight(&mut script, halt, go_on).unwrap();
            (
                script.halts,
                script.is_still,
                script.now_us > us(REACH_LIMIT),
            )
        };
        // The first comes too early: none is sent before 5 ms.
        assert_eq!(halted(0), (2, true, false));
        assert_eq!(halted(3), (4, true, false));
        let (_, is_still, is_late) = halted(u32::MAX);
        assert!(is_still && is_late, "the judge will say so");
    }

    #[test]
    fn a_step_waits_for_what_it_is_to_befall() {
        let reach = [Reach::AcknowledgedBefore(1, 3), Reach::InFlight(0)];
        let waited = |at| {
            let mut script = Script {
                acknowledged_us: vec![1_000, 2_000, 30_000],
                ..Script::default()
            };
            wait_for_reach(&mut script, (&reach, When::Served), at).unwrap();
            script.now_us
        };
        assert_eq!(
            [waited(0), waited(1), waited(2)],
            [301_000, 30_000, 0],
            "one is enough then"
        );
        let mut busy = Script {
            most_in_flight: SEVERAL,
            ..Script::default()
        };
        wait_for_reach(&mut busy, (&reach, When::Served), 0).unwrap();
        assert_eq!(busy.now_us, 5_000);
        let mut timed = Script::default();
        wait_for_reach(&mut timed, (&reach, after(300 * MS, 300 * MS)), 0).unwrap();
        assert_eq!(
            timed.now_us, 5_000,
            "one is enough where the span is asked for"
        );
        let mut never = Script::default();
        wait_for_reach(&mut never, (&reach, When::Served), 1).unwrap();
        assert!(never.now_us > us(REACH_LIMIT), "the judge will say so");
    }
}
