//! Studies with schedules of faults, whose parts have one record.

use super::stopped::troubled;
use super::*;

/// Two modes with labs of their own, a schedule in each.
const APART: &str = "rounds = 2\nwarmup = \"1s\"\nmeasure = \"2s\"\nimages = {}\n\
                     [[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
                     [[mode]]\nserver = \"mariadb\"\nmode = \"galera\"\n\
                     [[sweep]]\nworkload = \"update_index\"\nrtt = [\"1ms\", \"2ms\"]\n\
                     [[fault]]\nname = \"no-fault\"\ntrials = 2\n";

/// The order of one part, in a record of the whole.
fn order_of(part: &StudyPart, (whole, is_last): (&Study, bool), record: &std::path::Path) -> Order {
    let (own, all) = (plan(&part.study), plan(whole).cells);
    let whole = Whole {
        study: whole.clone(),
        modes: part.modes.clone(),
        places: part.places(&own.cells, &all).unwrap(),
        cells: all,
        resumed: None,
        is_last,
    };
    let earlier = record.exists().then(|| Record::open(record).unwrap());
    Order {
        study: part.study.clone(),
        study_text: String::new(),
        plan: own,
        command_line: vec![],
        record: record.to_owned(),
        earlier: earlier.map(|record| whole.own(&record)),
        whole: Some(whole),
        self_test: vec![],
        machine: None,
        round_left_out: None,
    }
}

/// Runs a part, gone on with if it was begun before, until it is to be stopped.
fn run_part(order: &Order, trouble: Option<Trouble>) -> Result<()> {
    let script = Script {
        trouble,
        ..Script::default()
    };
    let target = Scripted::new(script);
    run_study(
        order,
        &mut order.plan.schedule(),
        target,
        &Recorder::default(),
    )
}

#[test]
fn schedules_come_last_and_are_kept_trial_by_trial() {
    let mut study = written::sample(APART);
    study.modes.truncate(1);
    study.injections[0].modes.truncate(1);
    let ran = run(&study, Script::default());
    ran.outcome.as_ref().unwrap();
    let steps = ran.target.steps();
    assert_eq!(steps[steps.len() - 2..], ["fault in mode 0"; 2]);
    assert_eq!(trials(ran.record()), TRIALS as usize);
    for at in steps.len() - 2..steps.len() {
        let ran = run(&study, troubled(Trouble::Breakdown(at)));
        let kept = at + 2 - steps.len();
        assert_eq!(trials(ran.record()), kept, "broken down at {at}");
        assert!(!ran.record().finished);
    }
}

/// Labs that stand one after the other have one record, which is that of all of them together.
#[test]
fn parts_of_a_study_have_one_record() {
    let whole = written::sample(APART);
    let together = run(&whole, Script::default());
    let all = parts(&whole);
    assert_eq!(all.len(), 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.acklab");
    for (index, part) in all.iter().enumerate() {
        let is_last = index + 1 == all.len();
        // Stopped in the midst of it, and gone on with.
        let stopped = order_of(part, (&whole, is_last), &path);
        let outcome = run_part(&stopped, Some(Trouble::CtrlC(60)));
        assert!(matches!(outcome, Err(Error::Interrupted)), "{outcome:?}");
        assert!(!Record::open(&path).unwrap().finished);
        let mut order = order_of(part, (&whole, is_last), &path);
        let before = order.earlier.as_ref().unwrap().measurements.len();
        assert!(before > 0);
        order.whole.as_mut().unwrap().resumed = Some((before, 0));
        run_part(&order, None).unwrap();
        let record = Record::open(&path).unwrap();
        assert_eq!(record.finished, is_last);
        assert_eq!(record.header.resumed.len(), index + 1);
    }
    let record = Record::open(&path).unwrap();
    let expected = together.record();
    assert_eq!(record.header.study, expected.header.study);
    assert_eq!(record.header.cells, expected.header.cells);
    let measured = |record: &Record| -> BTreeSet<(u32, usize)> {
        let all = record.measurements.iter();
        all.map(|m| (m.round, m.cell)).collect()
    };
    assert_eq!(measured(&record), measured(expected));
    let mut campaigns = record.campaigns.clone();
    let mut segments = BTreeSet::new();
    for campaign in campaigns.values_mut().flatten() {
        for trial in &mut campaign.light.trials {
            segments.insert(std::mem::take(&mut trial.segment));
        }
    }
    assert_eq!(segments, [1, 2].into(), "each part was gone on with");
    assert_eq!(campaigns, expected.campaigns);
    assert_eq!(record.campaigns.len(), 2);
}
