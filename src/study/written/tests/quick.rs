use super::*;
use crate::study::Overrides;

const MODES: &str = r#"
[[mode]]
server = "mysql"
mode = "single"
[[mode]]
server = "mysql"
mode = "async"
"#;

/// A study with these lines on top and at the end of its first sweep.
fn text(top: &str, sweep: &str) -> String {
    format!("{top}\n{MODES}\n[[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n{sweep}\n")
}

const ONLY_QUICK: &str = r#"
[[sweep]]
only = "quick"
workload = "insert"
rtt = "1ms"
modes = "mysql async"
"#;

#[test]
fn a_short_run_has_its_own_rounds_modes_and_sweeps() {
    let top = "images = {}\n[quick]\nrounds = 3\nmeasure = \"1s\"\nmodes = [\"mysql async\"]";
    let study = meant(&text(top, &format!("only = \"full\"\n{ONLY_QUICK}")));
    assert_eq!((study.rounds, study.sweeps.len()), (4, 1));
    let quick = study.clone().shortened().expect("it has one");
    assert_eq!((quick.rounds, quick.is_quick), (3, true));
    assert_eq!(
        (quick.measure, quick.warmup),
        (Duration::from_secs(1), study.warmup)
    );
    assert_eq!(quick.modes, study.modes[1..]);
    assert_eq!(quick.sweeps[0].workloads[0].label(), "insert");
    assert_eq!(
        quick.sweeps[0].disks.len(),
        1,
        "on disks as the whole run is"
    );
    let short = Overrides {
        is_quick: true,
        ..Overrides::default()
    };
    let whole = study.clone().apply(&Overrides::default()).unwrap();
    assert_eq!((whole.quick, whole.is_quick), (None, false));
    assert_eq!(study.apply(&short).unwrap(), quick);
}

#[test]
fn what_quick_does_not_say_is_as_in_the_whole_run() {
    let study = meant(&text("[quick]", ""));
    let quick = study.clone().shortened().expect("it has one");
    assert_eq!((&quick.modes, &quick.sweeps), (&study.modes, &study.sweeps));
    assert_eq!((quick.rounds, quick.measure), (study.rounds, study.measure));
}

#[test]
fn a_sweep_of_modes_that_are_left_out_is_left_out() {
    let top = "[quick]\nmodes = [\"mysql single\"]";
    let study = meant(&text(top, ONLY_QUICK));
    assert_eq!(study.shortened().expect("it has one").sweeps.len(), 1);
}

#[test]
fn mistakes_of_a_short_run() {
    let short = Overrides {
        is_quick: true,
        ..Overrides::default()
    };
    let none = meant(&text("", "")).apply(&short).unwrap_err();
    assert_snapshot!(none.to_string(), @"command line: --quick: given study; is for studies with a [quick] table");
    let wrong = |top: &str, sweep: &str| mistakes(&text(top, sweep));
    assert!(wrong("", ONLY_QUICK).contains("give it a [quick]"));
    assert!(wrong("[quick]", "only = \"full\"").contains("one for the short"));
    assert!(wrong("[quick]", "only = \"fast\"").contains("must be one of full, quick"));
    assert!(wrong("[quick]\nmodes = [\"async\"]", "").contains("must be one of mysql single"));
    assert!(wrong("[quick]\nround = 1", "").contains("did you mean rounds?"));
    assert!(wrong("", "modes = [\"mysql asyn\"]").contains("did you mean mysql async?"));
    assert!(wrong("", "measure = \"1ms\"").contains("must be a time from 100 ms"));
    assert!(wrong("", "rounds = 0").contains("from 1 to 1000"));
}

#[test]
fn long_windows_of_a_sweep_count() {
    let sweep = |rounds| {
        format!(
            "measure = \"1h\"\nrounds = {rounds}\nconnections = [{}]",
            (1..=100)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .join(",")
        )
    };
    assert!(mistakes(&text("", &sweep(1))).contains("would take"));
    assert_eq!(
        meant(&text("", "measure = \"1h\"\nrounds = 1")).sweeps[0].rounds,
        Some(1)
    );
}

#[test]
fn a_mode_can_have_tls_and_a_price() {
    let with = |lines: &str| {
        let line = format!("mode = \"async\"\n{lines}");
        text("", "").replace("mode = \"async\"", &line)
    };
    let study = meant(&with("tls = true\nprice_usd_per_hour = 0.24"));
    assert_eq!(study.modes[1].label, "mysql async TLS");
    assert_eq!(study.modes[1].price_usd_per_hour, Some(0.24));
    assert!(study.has_tls(&study.modes[1]) && !study.has_tls(&study.modes[0]));
    for price in ["0", "-1", "\"cheap\"", "inf", "2e6"] {
        let said = mistakes(&with(&format!("price_usd_per_hour = {price}")));
        assert!(said.contains("US dollars per hour"), "{said}");
    }
}

#[test]
fn distances_can_have_a_rate_and_a_jitter() {
    let distances = |extra: &str| {
        let given = format!("distances = [{{ ab = \"1ms\", ac = \"1ms\", bc = \"1ms\"{extra} }}]");
        text("", "").replace("rtt = \"1ms\"", &given)
    };
    let study = meant(&distances(", rate = \"25Mbit/s\", jitter = \"3ms\""));
    let found = &study.sweeps[0].distances[0];
    assert_eq!(found.label, "1 ms, jitter 3 ms, 25 Mbit/s");
    assert_eq!(found.rate_bits_per_s, Some(25_000_000));
    assert_eq!(
        (found.jitter, found.equal_rtt()),
        (Some(Duration::from_millis(3)), None)
    );
    assert!(
        meant(&distances("")).sweeps[0].distances[0]
            .equal_rtt()
            .is_some()
    );
    assert!(mistakes(&distances(", rate = \"1bit/s\"")).contains("rate"));
}
