use proptest::prelude::*;

use super::super::Request;
use super::*;
use crate::lab::disk::pace::Kind;
use crate::lab::disk::store::Store;
use crate::study::disk::{Delay, Disk};

const BYTES: u64 = 1 << 20;

const READ: Request = Request::Read {
    offset: 0,
    bytes: 1,
};
const WRITE: Request = Request::Write {
    offset: 0,
    data: b"x",
};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Replies are numbers here.
fn engine(disk: Disk) -> Engine<usize> {
    let mut engine = Engine::new(Store::in_memory(BYTES).unwrap(), disk, 7);
    engine.set_upkeep(false);
    engine
}

fn slow() -> Disk {
    Disk {
        read: Delay::Constant(ms(1)),
        write: Delay::Constant(ms(2)),
        flush: Delay::Constant(ms(5)),
        ..Disk::default()
    }
}

/// What is left of the first byte when the power goes and takes all that is not durable.
fn after_a_cut(engine: &mut Engine<usize>) -> u8 {
    engine.freeze();
    engine.cut(PowerCut::DropAll);
    match &engine.submit(ms(0), READ, 0)[..] {
        [(0, Answer::Data(data))] => data[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stalled_disk_goes_on_where_it_stopped() {
    let mut engine = engine(slow());
    assert_eq!(engine.submit(ms(0), WRITE, 1), []);
    engine.stall(ms(1)).unwrap();
    assert_eq!(engine.condition(), Condition::Stalled);
    assert_eq!(engine.submit(ms(10), Request::Flush, 2), []);
    assert_eq!(engine.next_due(), None);
    assert_eq!(engine.release(ms(19), ms(19)), []);
    assert_eq!(engine.go_on(ms(20)), []);
    // Of the write one millisecond was left, of the flush all five.
    assert_eq!(engine.next_due(), Some(ms(21)));
    assert_eq!(engine.release(ms(21), ms(21)), [(1, Answer::Written(1))]);
    assert_eq!(engine.next_due(), Some(ms(25)));
    assert_eq!(engine.release(ms(25), ms(25)), [(2, Answer::Flushed)]);
    let counters = engine.read_counters();
    assert_eq!((counters.late_replies, counters.lateness_us_max), (0, 0));
    assert_eq!(counters.flush_ns_sum, 15_000_000);
}

#[test]
fn a_disk_that_takes_no_time_can_stall_too_even_in_upkeep() {
    for is_upkeep in [false, true] {
        let mut engine = engine(Disk::default());
        engine.set_upkeep(is_upkeep);
        engine.stall(ms(1)).unwrap();
        assert_eq!(engine.submit(ms(2), WRITE, 1), []);
        assert_eq!(engine.submit(ms(3), Request::Flush, 2), []);
        let both = [(1, Answer::Written(1)), (2, Answer::Flushed)];
        assert_eq!(engine.go_on(ms(9)), both);
        assert_eq!(engine.go_on(ms(9)), []);
    }
}

#[test]
fn a_flush_that_waits_makes_nothing_durable() {
    let mut engine = engine(Disk::default());
    engine.submit(ms(0), WRITE, 1);
    engine.stall(ms(1)).unwrap();
    assert_eq!(engine.submit(ms(2), Request::Flush, 2), []);
    assert_eq!(engine.freeze(), [(2, Answer::Failed)]);
    // There is nothing left that could go on.
    assert_eq!(engine.go_on(ms(3)), []);
    assert_eq!(engine.condition(), Condition::NoPower);
    assert_eq!(after_a_cut(&mut engine), 0);
}

#[test]
fn a_failing_disk_fails_what_waits_and_what_comes() {
    let mut engine = engine(slow());
    engine.submit(ms(0), Request::Flush, 1);
    engine.stall(ms(1)).unwrap();
    assert_eq!(engine.fail_requests(), [(1, Answer::Failed)]);
    for (number, request) in [READ, WRITE, Request::Flush].into_iter().enumerate() {
        let failed = engine.submit(ms(2), request, number);
        assert_eq!(failed, [(number, Answer::Failed)]);
    }
    assert_eq!(engine.next_due(), None);
    assert!(engine.stall(ms(3)).is_err());
    assert_eq!(engine.read_counters().failed_requests, 4);
}

#[test]
fn what_failed_can_be_mended_and_has_lost_nothing() {
    let mut engine = engine(Disk::default());
    assert!(engine.mend().is_err());
    engine.submit(ms(0), WRITE, 1);
    engine.fail_requests();
    engine.mend().unwrap();
    assert_eq!(engine.condition(), Condition::Works);
    assert_eq!(after_a_cut(&mut engine), b'x');
}

/// Failing is no power cut; one that follows decides.
#[test]
fn a_failing_disk_can_lose_its_power() {
    let mut engine = engine(Disk::default());
    engine.submit(ms(0), WRITE, 1);
    engine.fail_requests();
    assert_eq!(after_a_cut(&mut engine), 0);
}

// Any schedule of requests and stalls.

#[derive(Debug, Clone, Copy)]
enum Step {
    Ask(Kind),
    WaitUs(u64),
    Stall,
    GoOn,
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(Kind::Read), Just(Kind::Write), Just(Kind::Flush)];
    prop_oneof![
        4 => kind.prop_map(Step::Ask),
        4 => (0..4_000_u64).prop_map(Step::WaitUs),
        1 => Just(Step::Stall),
        1 => Just(Step::GoOn),
    ]
}

/// A disk, and what it was asked.
struct Bench {
    engine: Engine<usize>,
    takes: fn(Kind) -> Duration,
    now: Duration,
    /// By a clock that stands still while the disk does.
    own: Duration,
    is_stalled: bool,
    asked: Vec<Asked>,
}

struct Asked {
    at: Duration,
    takes: Duration,
    is_answered: bool,
}

impl Bench {
    fn of(disk: Disk, takes: fn(Kind) -> Duration) -> Bench {
        Bench {
            engine: engine(disk),
            takes,
            now: ms(1),
            own: Duration::ZERO,
            is_stalled: false,
            asked: Vec::new(),
        }
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Ask(kind) => self.ask(kind),
            Step::WaitUs(us) => self.wait(Duration::from_micros(us)),
            Step::Stall => {
                self.is_stalled = true;
                prop_assert_eq!(self.engine.stall(self.now), Ok(()));
                Ok(())
            }
            Step::GoOn => {
                self.is_stalled = false;
                let answers = self.engine.go_on(self.now);
                self.note(answers)
            }
        }
    }

    fn ask(&mut self, kind: Kind) -> Result<(), TestCaseError> {
        let number = self.asked.len();
        self.asked.push(Asked {
            at: self.own,
            takes: (self.takes)(kind),
            is_answered: false,
        });
        let request = match kind {
            Kind::Read => READ,
            Kind::Write => WRITE,
            Kind::Flush => Request::Flush,
        };
        let answers = self.engine.submit(self.now, request, number);
        self.note(answers)
    }

    fn wait(&mut self, span: Duration) -> Result<(), TestCaseError> {
        let until = self.now + span;
        while let Some(due) = self.engine.next_due().filter(|due| *due <= until) {
            self.pass(due);
            let answers = self.engine.release(due, due);
            self.note(answers)?;
        }
        self.pass(until);
        Ok(())
    }

    fn pass(&mut self, until: Duration) {
        if !self.is_stalled {
            self.own += until - self.now;
        }
        self.now = until;
    }

    fn note(&mut self, answers: Vec<(usize, Answer)>) -> Result<(), TestCaseError> {
        for (number, answer) in answers {
            let asked = &mut self.asked[number];
            prop_assert!(
                !self.is_stalled && !asked.is_answered,
                "{number}: {answer:?}"
            );
            prop_assert_eq!(self.own - asked.at, asked.takes);
            asked.is_answered = true;
        }
        Ok(())
    }
}

proptest! {
    /// No answer during it, each once and after it, and each request takes its own time besides.
    #[test]
    fn a_stall_adds_the_time_that_it_lasts(
        steps in proptest::collection::vec(step(), 1..80),
        is_slow in any::<bool>(),
    ) {
        let takes = |kind: Kind| match kind {
            Kind::Read => ms(1),
            Kind::Write => ms(2),
            Kind::Flush => ms(5),
        };
        let mut bench = match is_slow {
            true => Bench::of(slow(), takes),
            false => Bench::of(Disk::default(), |_| Duration::ZERO),
        };
        for step in steps {
            bench.step(step)?;
        }
        bench.step(Step::GoOn)?;
        bench.wait(ms(1_000))?;
        prop_assert!(bench.asked.iter().all(|asked| asked.is_answered));
    }
}
