//! Parts of a study that are run apart, and runs that go on on another machine.

use super::*;
use crate::plan::PartOf;
use crate::record::Header;
use crate::record::self_test::Part;
use crate::record::store::Store;
use crate::record::trials::Trial;
use crate::run::whole_rounds;

/// Two modes at two distances in five rounds.
const FIVE: &str = "rounds = 5\nwarmup = \"1s\"\nmeasure = \"2s\"\nimages = {}\n\
                    [[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
                    [[mode]]\nserver = \"mysql\"\nmode = \"async\"\n\
                    [[fault]]\nname = \"no-fault\"\ntrials = 2\nmodes = \"mysql single\"\n\
                    [[sweep]]\nworkload = \"update_index\"\nrtt = [\"1ms\", \"2ms\"]\n";

fn five() -> Study {
    written::sample(FIVE)
}

/// The order of a part, on a machine.
fn order_of(study: &Study, part: Option<PartOf>, machine: &str) -> (TempDir, Order) {
    let mut order = order(study);
    order.1.plan = order.1.plan.of_part(part);
    on_machine(&mut order.1, machine);
    order
}

fn on_machine(order: &mut Order, machine: &str) {
    order.machine = Some(machine.to_owned());
    order.self_test = vec![self_test_of(machine)];
}

fn self_test_of(machine: &str) -> Part {
    Part {
        name: machine.to_owned(),
        ..Part::default()
    }
}

fn script(trouble: Option<Trouble>) -> Script {
    Script {
        trouble,
        ..Script::default()
    }
}

fn run_order(order: &(TempDir, Order), trouble: Option<Trouble>) -> Ran {
    run_as(&mut order.1.plan.schedule(), order, script(trouble))
}

/// Goes on with what there is, on a machine.
fn go_on(order: &mut (TempDir, Order), record: Record, machine: &str) -> Ran {
    let schedule = &mut order.1.plan.schedule();
    let (earlier, left_out) = whole_rounds(record, schedule, Some(machine));
    order.1.earlier = Some(earlier);
    order.1.round_left_out = left_out;
    on_machine(&mut order.1, machine);
    run_order(order, None)
}

fn measured(record: &Record) -> Vec<(u32, usize)> {
    let all = record.measurements.iter();
    all.map(|one| (one.round, one.cell)).collect()
}

#[test]
fn all_parts_together_measure_what_the_whole_does_in_the_same_order() {
    let study = five();
    let whole = run(&study, Script::default());
    let mut together = Vec::new();
    let mut trials_together = 0;
    for part in PartOf::all(3) {
        let ran = run_order(&order_of(&study, Some(part), "a"), None);
        ran.outcome.as_ref().unwrap();
        let own = ran.measured();
        assert!(own.iter().all(|(round, _)| part.has(*round)));
        let of_whole = whole.measured().into_iter();
        let of_whole = of_whole.filter(|(round, _)| part.has(*round));
        assert_eq!(own, of_whole.collect::<Vec<_>>(), "part {part}");
        let header = &ran.record().header;
        assert_eq!((header.part, &header.study), (Some(part), &study));
        assert!(ran.record().finished);
        trials_together += trials_kept(&ran);
        together.extend(own);
        // Progress is the part's.
        let steps = ran.events.iter().map(|event| match event {
            Event::StepsAdded(steps) => steps.len(),
            _ => 0,
        });
        let ended = ran.count(|event| *event == Event::StepEnded);
        assert_eq!(steps.sum::<usize>(), ended, "part {part}");
    }
    together.sort_unstable();
    assert_eq!(together, measured(whole.record()));
    assert_eq!(trials_together, trials_kept(&whole));
}

#[test]
fn a_part_that_was_stopped_goes_on_to_the_same_record() {
    let study = five();
    let part = PartOf { number: 1, of: 2 };
    let whole = run_order(&order_of(&study, Some(part), "a"), None);
    let mut went_on = 0;
    for at in (0..whole.target.steps().len()).step_by(7) {
        let mut order = order_of(&study, Some(part), "a");
        let first = run_order(&order, Some(Trouble::CtrlC(at)));
        let Some(record) = first.record else { continue };
        went_on += 1;
        let there = record.measurements.len();
        let second = go_on(&mut order, record, "a");
        second.outcome.as_ref().unwrap();
        let kept = second.record();
        assert_eq!(measured(kept), measured(whole.record()), "stopped at {at}");
        assert_eq!(trials_kept(&second), trials_kept(&whole), "stopped at {at}");
        let resumed = &kept.header.resumed[0];
        assert_eq!(
            (resumed.measurements, resumed.measurements_left_out),
            (there, 0)
        );
        let segments = kept.measurements.iter().map(|one| one.segment);
        assert_eq!(segments.filter(|segment| *segment == 0).count(), there);
    }
    assert!(went_on > 20, "{went_on}");
}

/// On another machine a round that was begun is measured anew, whole: each round is one machine's.
#[test]
fn a_run_that_goes_on_elsewhere_begins_its_round_anew() {
    let study = five();
    let whole = run(&study, Script::default());
    let (mut left_out, mut begun_anew) = (0, 0);
    for at in (0..whole.target.steps().len()).step_by(7) {
        let mut order = order_of(&study, None, "a");
        let first = run_order(&order, Some(Trouble::CtrlC(at)));
        let Some(record) = first.record else { continue };
        let there = record.measurements.len();
        let second = go_on(&mut order, record, "b");
        second.outcome.as_ref().unwrap();
        let kept = second.record();
        assert_eq!(measured(kept), measured(whole.record()), "stopped at {at}");
        let machine = |one: &Measurement| kept.header.host_of(one).machine.clone();
        for round in 1..=5 {
            let own = kept.measurements.iter().filter(|one| one.round == round);
            let machines: BTreeSet<_> = own.map(machine).collect();
            assert_eq!(machines.len(), 1, "round {round}, stopped at {at}");
        }
        let Some(resumed) = kept.header.resumed.first() else {
            check_is_of_b_alone(kept, there);
            begun_anew += 1;
            continue;
        };
        assert_eq!(resumed.measurements + resumed.measurements_left_out, there);
        let whole_rounds = there / 4 * 4;
        assert_eq!(
            (resumed.measurements, whole_rounds > 0),
            (whole_rounds, true)
        );
        left_out += resumed.measurements_left_out;
    }
    assert!(left_out > 10 && begun_anew > 3, "{left_out}, {begun_anew}");
}

/// Its first round was half done by another machine.
fn check_is_of_b_alone(kept: &Record, left_out: usize) {
    assert!((1..4).contains(&left_out), "{left_out}");
    let Header {
        host,
        self_test,
        remarks,
        ..
    } = &kept.header;
    assert_eq!(host.machine.as_deref(), Some("b"));
    assert_eq!(self_test.as_deref(), Some(&[self_test_of("b")][..]));
    let [remark] = &remarks[..] else {
        panic!("{remarks:?}");
    };
    assert!(
        remark.ends_with(&format!("is here: {left_out}.")),
        "{remark}"
    );
    assert!(kept.measurements.iter().all(|one| one.segment == 0));
    assert_eq!(kept.header.hosts().len(), 1);
}

/// An order that was stopped on a machine after so many measurements, and its record.
fn stopped_after(measurements: usize, machine: &str) -> ((TempDir, Order), Record) {
    let stopped = (0..).step_by(5).find_map(|at| {
        let order = order_of(&five(), None, machine);
        let record = run_order(&order, Some(Trouble::CtrlC(at))).record;
        let record = record.filter(|record| record.measurements.len() == measurements);
        record.map(|record| (order, record))
    });
    stopped.expect("it is stopped somewhere")
}

#[test]
fn of_a_machine_that_nobody_knows_nothing_is_left_out() {
    let (order, record) = stopped_after(2, "a");
    let left_out = |machine| {
        let schedule = &mut order.1.plan.schedule();
        let (kept, round) = whole_rounds(record.clone(), schedule, machine);
        (kept.measurements.len(), round)
    };
    assert_eq!(left_out(None), (2, None));
    assert_eq!(left_out(Some("a")), (2, None));
    assert_eq!(left_out(Some("b")), (0, Some(1)));
}

/// Labs are formed between the reading of a record and the lock on it.
#[test]
fn what_was_gone_on_with_meanwhile_is_not_gone_on_with() {
    let refused = |machine: &str, meanwhile: &dyn Fn(&mut (TempDir, Order), Record)| {
        let (mut order, record) = stopped_after(6, "a");
        meanwhile(&mut order, record.clone());
        let before = Record::open(&order.1.record).unwrap();
        let second = go_on(&mut order, record, machine);
        let said = second.outcome.as_ref().unwrap_err().to_string();
        assert!(said.contains("was gone on with meanwhile: begin again"));
        assert!(said.contains("r.acklab"), "{said}");
        assert_eq!(second.record(), &before, "nothing is changed");
    };
    for machine in ["a", "b"] {
        refused(machine, &|order, record| {
            go_on(order, record, "a").outcome.unwrap();
        });
        // By the very run that was thought to be at its end.
        refused(machine, &|order, _| {
            let mut store = Store::resume(&order.1.record).unwrap();
            let one = Measurement {
                round: 5,
                ..Measurement::default()
            };
            store.append(&one).unwrap();
        });
    }
}

#[test]
fn each_trial_has_its_number_and_its_machine() {
    let study = five();
    let steps = run(&study, Script::default()).target.steps().len();
    let mut order = order_of(&study, None, "a");
    let record = run_order(&order, Some(Trouble::CtrlC(steps - 2))).record;
    let record = record.expect("all but the last trial");
    assert_eq!(trials(&record), 1);
    let second = go_on(&mut order, record, "b");
    let kept = second.record();
    let told = |trial: &Trial| {
        let host = kept.header.host_of_trial(trial)?;
        Some((trial.number, host.machine.clone()?))
    };
    let all = kept.campaigns[&0][0].light.trials.iter();
    let all: Vec<_> = all.filter_map(told).collect();
    assert_eq!(all, [(1, "a".to_owned()), (2, "b".to_owned())]);
}

/// It is to be made again, so that its round is not ended: another machine makes all of it.
#[test]
fn a_round_whose_last_measurement_lacks_a_driver_is_begun_anew_elsewhere() {
    let mut order = order_of(&five(), None, "a");
    let script = Script {
        lost: [vec![false; 7], vec![true]].concat(),
        is_left_alone: true,
        ..Script::default()
    };
    let first = run_as(&mut order.1.plan.schedule(), &order, script);
    let record = first.record().clone();
    assert_eq!(record.measurements.len(), 8, "two whole rounds");
    let left_out = |machine| {
        let schedule = &mut order.1.plan.schedule();
        let (kept, round) = whole_rounds(record.clone(), schedule, Some(machine));
        (kept.measurements.len(), round)
    };
    assert_eq!(left_out("a"), (8, None));
    assert_eq!(left_out("b"), (4, Some(2)));
    // What is then the last one ended no run, whatever it looks like.
    let mut record = record;
    for one in record.measurements.iter_mut().filter(|one| one.round == 1) {
        one.flags = vec![Flag::DriverMissing];
    }
    let path = &order.1.record;
    std::fs::remove_file(path).unwrap();
    let mut store = Store::create(path, &record.header).unwrap();
    for one in &record.measurements {
        store.append(one).unwrap();
    }
    drop(store);
    let second = go_on(&mut order, record, "b");
    second.outcome.as_ref().unwrap();
    let kept = second.record();
    let resumed = &kept.header.resumed[0];
    assert_eq!(
        (resumed.measurements, resumed.measurements_left_out),
        (4, 4)
    );
    for one in &kept.measurements {
        assert_eq!(
            (one.segment, one.is_void()),
            (usize::from(one.round > 1), one.round == 1)
        );
    }
    assert_eq!(kept.measurements.len(), 20);
}
