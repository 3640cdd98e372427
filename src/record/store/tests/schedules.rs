//! Trials of schedules in a record.

use super::*;
use crate::study::fault::Durability;

/// A campaign of a fault of that name, of one trial with that seed.
fn campaign(fault: &str, seed: u64) -> Campaign {
    let transfer = |token: u64| Transfer {
        token,
        from: 1,
        to: 2,
        amount: 9,
        node: 0,
        begun_us: 1_000 * token,
        commit_us: Some(1_000 * token + 300),
        ended_us: 1_000 * token + 700,
        answer: Answer::Acknowledged,
    };
    let step = Done {
        step: 1,
        begun_us: 40_000,
        ended_us: 41_000,
        nodes: vec![0, 2],
        bite: Some(true),
        seen: "the process is gone".into(),
        dropped_writes: 3,
        in_force_us: Some(1_234_000),
    };
    Campaign {
        durability: Durability::STRICT,
        fault: faults::Fault {
            name: fault.into(),
            control: Some(faults::Control::Loses(0.8)),
            ..faults::Fault::default()
        },
        trials: vec![trials::Trial {
            seed,
            started_unix_ms: 5,
            steps: vec![step],
            history: History {
                transfers: (0..100).map(transfer).collect(),
                ..History::default()
            },
            recovery: Duration::from_millis(1_250),
            ..trials::Trial::default()
        }],
    }
}

#[test]
fn trials_of_schedules_are_in_the_record_as_they_end_and_read_back() {
    let (folder, path, mut store) = created();
    for (number, seed) in (1..).zip([u64::MAX, 2, 3]) {
        store
            .append_campaign(0, number, &campaign("a", seed))
            .unwrap();
        let record = Record::open(&path).unwrap();
        let kept = record.campaigns[&0][0].unpacked().unwrap();
        assert_eq!(kept.trials.len(), number as usize);
        assert_eq!(kept.trials.last(), campaign("a", seed).trials.first());
        assert!(!record.finished);
    }
    store.append_campaign(0, 1, &campaign("b", 9)).unwrap();
    let again = store.append_campaign(0, 1, &campaign("b", 9));
    assert!(again.is_err(), "it has one");
    store.finish().unwrap();
    let record = Record::open(&path).unwrap();
    let all = record.campaigns[&0].iter();
    let all: Vec<Campaign> = all.map(|kept| kept.unpacked().unwrap()).collect();
    let names: Vec<(&str, usize)> = all
        .iter()
        .map(|of| (&of.fault.name[..], of.trials.len()))
        .collect();
    assert_eq!(names, [("a", 3), ("b", 1)]);
    assert_eq!(all[1], campaign("b", 9));
    assert_eq!(folder.path().read_dir().unwrap().count(), 1, "one file");
}

#[test]
fn sql_sees_the_steps_of_trials() {
    let (_folder, path, mut store) = created();
    store.append_campaign(0, 1, &campaign("a", 7)).unwrap();
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT fault || ' ' || step || ' ' || begun_us || ' ' || nodes || ' ' || seen
               FROM fault_step";
    let told: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(told, "a 2 40000 [0,2] the process is gone");
    let sql = "SELECT seed FROM fault_trial WHERE sync_binlog = 1";
    let seed: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(seed, 7);
}

/// Neither what was cut off nor a mode that is not there is taken for a trial.
#[test]
fn a_trial_that_cannot_be_read_is_a_damaged_record() {
    let (_folder, path, mut store) = created();
    store.append_campaign(0, 1, &campaign("a", 7)).unwrap();
    let connection = Connection::open(&path).unwrap();
    let change = |sql: &str| {
        connection.execute(sql, []).unwrap();
        given(Record::open(&path).unwrap_err())
    };
    let message = change("UPDATE fault_trial SET packed = x'01'");
    assert!(
        message.contains("damaged") && message.contains("mode 0, fault a"),
        "{message}"
    );
    let message = change("UPDATE fault_trial SET mode = 3");
    assert!(
        message.contains("of mode 3, which is not there"),
        "{message}"
    );
    let two = Campaign {
        trials: vec![trials::Trial::default(); 2],
        ..campaign("c", 1)
    };
    let refused = store.append_campaign(0, 1, &two).unwrap_err().to_string();
    assert!(refused.contains("there are 2 of it"), "{refused}");
}

#[test]
fn a_record_of_before_there_were_schedules_is_read() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    drop(store);
    let connection = Connection::open(&path).unwrap();
    let older = "DROP VIEW fault_step; DROP TABLE fault_trial; PRAGMA user_version = 4;";
    connection.execute_batch(older).unwrap();
    let record = Record::open(&path).unwrap();
    assert!(record.campaigns.is_empty() && record.measurements.len() == 1);
    assert!(given(Store::resume(&path).unwrap_err()).contains("older acklab"));
}
