//! What pages say.

use super::*;
use crate::live::NodeLag;
use crate::record::Flag;
use crate::report::markup::check::balanced;

fn told(name: &str, what: What) -> Told {
    Told {
        name: name.to_owned(),
        unix_ms: 0,
        what,
    }
}

fn record(state: State) -> What {
    What::Record {
        title: "Modes <b>compared</b>".to_owned(),
        sentence: "2 modes".to_owned(),
        state,
    }
}

#[test]
fn a_list_leads_to_pages_and_says_why_not() {
    let all = [
        told("a b?.acklab", record(State::Finished)),
        told("running.acklab", record(State::Running)),
        told(
            "cut.acklab",
            What::Unreadable("a damaged record".to_owned()),
        ),
    ];
    let page = list("/tmp/x", &all);
    assert_eq!(balanced(&page), Ok(()));
    assert!(page.contains("href=\"/record/a%20b%3F.acklab\""), "{page}");
    assert!(page.contains("href=\"/live/running.acklab\""), "{page}");
    assert!(!page.contains("/live/a"), "it is finished");
    assert!(page.contains("Modes &lt;b&gt;compared"), "{page}");
    assert!(page.contains("a damaged record") && !page.contains("/record/cut"));
    assert!(page.contains("3 records, the newest first"));
}

#[test]
fn an_empty_folder_says_how_a_record_comes() {
    let page = list("/tmp/x", &[]);
    assert!(page.contains("No record is in this folder yet") && page.contains("acklab compare"));
    assert_eq!(balanced(&page), Ok(()));
}

fn a_run() -> Live {
    let mut live = Live {
        title: "Two ways".to_owned(),
        now: "round 2/4  mysql async, 4 conn., 2 ms".to_owned(),
        seconds: vec![(0, 40), (1, 20), (2, 60)],
        ..Live::default()
    };
    live.ahead.add(&[Duration::from_secs(30); 4]);
    live.rows.push_front(Row {
        round: 2,
        label: "mysql <semisync>".to_owned(),
        commits_per_s: 47.6,
        latency_us_p99: Some(9_000),
        lags: vec![NodeLag {
            node: "b".to_owned(),
            ms: Some(1.25),
        }],
        flags: vec![Flag::HostBound],
        ..Row::default()
    });
    live.trials.push_front(Trial {
        label: "mysql async".to_owned(),
        fault: "writer-dies".to_owned(),
        number: 3,
        acknowledged: 1_234,
        missing: Some(2),
        trouble: None,
    });
    live
}

#[test]
fn a_run_is_told_with_rate_latency_lag_flags_faults_and_time_left() {
    let told = state(&a_run(), Duration::ZERO, true).to_string();
    for part in [
        "0 of 4 steps, about 2 min 0 s left",
        "round 2/4  mysql async",
        "47.6",
        "9.00 ms",
        "b 1.25 ms",
        "host-bound",
        "writer-dies",
        "1234",
        "<svg",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(told.contains("mysql &lt;semisync&gt;"), "{told}");
    let page = live("r.acklab", state(&a_run(), Duration::ZERO, true));
    assert_eq!(balanced(&page), Ok(()));
    assert!(page.contains("data-record=\"r.acklab\"") && page.contains("src=\"/live.js\""));
}

#[test]
fn one_that_nobody_writes_to_has_no_time_left() {
    let told = state(&a_run(), Duration::ZERO, false).to_string();
    assert!(told.contains("nobody writes to it at present"), "{told}");
    assert!(
        !told.contains("left") && !told.contains("round 2/4"),
        "{told}"
    );
}

#[test]
fn one_that_ends_by_itself_says_so() {
    let live = Live {
        ends_by_itself: true,
        ..Live::default()
    };
    let told = state(&live, Duration::ZERO, true).to_string();
    assert!(told.contains("it ends by itself"), "{told}");
}
