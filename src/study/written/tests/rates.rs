//! Offered rates, and the search for one.

use super::*;
use crate::study::{Knee, Overrides};

fn with_load(lines: &str) -> String {
    with_sweep(&format!(
        "workload = \"update_index\"\nrtt = \"1ms\"\n{lines}"
    ))
}

#[test]
fn a_rate_of_nothing_is_a_mistake() {
    for rate in ["0", "[500, 0]", "-1"] {
        let said = mistakes(&with_load(&format!("rate = {rate}")));
        assert!(said.contains("a whole number from 1 to 1000000"), "{said}");
    }
}

#[test]
fn a_knee_needs_a_limit_that_can_be_kept() {
    let study = meant(&with_load(
        "knee = { p99 = \"20ms\" }\nconnections = [16, 64]",
    ));
    let p99 = Duration::from_millis(20);
    assert_eq!(study.sweeps[0].knee, Some(Knee { p99 }));
    let wrong = |knee: &str| mistakes(&with_load(&format!("knee = {knee}")));
    for p99 in ["0s", "50us", "2s"] {
        let said = wrong(&format!("{{ p99 = \"{p99}\" }}"));
        assert!(
            said.contains("knee.p99") && said.contains("to 1 s"),
            "{said}"
        );
    }
    assert!(wrong("{ p99 = 20 }").contains("with its unit"));
    assert!(wrong("\"20ms\"").contains("must be a table: { p99 ="));
    assert!(wrong("{}").contains("is missing"));
    assert!(wrong("{ p95 = \"1ms\", p99 = \"1ms\" }").contains("no such key"));
}

#[test]
fn a_search_chooses_its_rates_itself() {
    let knee = "knee = { p99 = \"20ms\" }";
    for other in ["rate = 500", "pace = \"10ms\""] {
        let said = mistakes(&with_load(&format!("{knee}\n{other}")));
        assert!(said.contains("chooses its rates itself"), "{said}");
    }
    let said = mistakes(&with_load(knee).replace("update_index", "mysqlslap update"));
    assert!(said.contains("that tool has no rate"), "{said}");
}

#[test]
fn a_search_has_no_budget() {
    let study = meant(&with_load("knee = { p99 = \"20ms\" }"));
    let given = Overrides {
        until: Some(0.05),
        budget: Some(Duration::from_secs(600)),
        ..Overrides::default()
    };
    let said = study.clone().apply(&given).unwrap_err().to_string();
    assert!(
        said.contains("--until") && said.contains("--budget"),
        "{said}"
    );
    assert!(said.contains("nobody knows beforehand"), "{said}");
    let other = meant(&with_load("rate = 500")).apply(&given);
    assert!(other.is_ok(), "{other:?}");
    assert!(study.apply(&Overrides::default()).is_ok());
}
