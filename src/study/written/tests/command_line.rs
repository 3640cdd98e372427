//! What the command line changes.

use super::*;

#[test]
fn the_command_line_meets_the_same_limits() {
    use crate::study::Overrides;
    let study = meant(&with_top(""));
    let given = Overrides {
        rounds: Some(0),
        warmup: Some(Duration::from_secs(7_200)),
        measure: Some(Duration::from_millis(1)),
        seed: Some(u64::MAX),
        ..Overrides::default()
    };
    let error = study.clone().apply(&given).unwrap_err();
    assert_snapshot!(error.to_string(), @r#"
    command line: --rounds: given 0; must be a whole number from 1 to 1000
    command line: --seed: given 18446744073709551615; must be a whole number from 0 to 9223372036854775807
    command line: --warmup: given 2h; must be a time from 0 to 1 h
    command line: --measure: given 1ms; must be a time from 100 ms to 1 h
    "#);
    let narrow = Overrides {
        until: Some(0.0),
        rounds: Some(3),
        budget: Some(Duration::ZERO),
        ..Overrides::default()
    };
    assert_snapshot!(study.clone().apply(&narrow).unwrap_err().to_string(), @r#"
    command line: --until: given 0%; must be a share from 0.1% to 50%
    command line: --rounds: given 3; must be a whole number from 4 to 16
    command line: --budget: given 0ms; must be a time from 1 s to 168 h
    "#);
    let long = Overrides {
        rounds: Some(1_000),
        measure: Some(Duration::from_secs(3_600)),
        ..Overrides::default()
    };
    assert_snapshot!(study.apply(&long).unwrap_err().to_string(), @"command line: 1 cells × 1000 rounds × 3600.5 s of load would take 1000 h; at most 10000 cells and 168 h are allowed: fewer modes, axes or rounds, or shorter windows");
}

#[test]
fn the_command_line_changes_what_it_names_and_nothing_else() {
    use crate::study::Overrides;
    let study = meant(&with_top(""));
    assert_eq!(
        study.clone().apply(&Overrides::default()),
        Ok(study.clone())
    );
    let given = Overrides {
        rounds: Some(9),
        seed: Some(1),
        tls: Some(true),
        my_cnf_text: Some("[mysqld]".to_owned()),
        ..Overrides::default()
    };
    let changed = study.clone().apply(&given).unwrap();
    let expected = Study {
        rounds: 9,
        seed: 1,
        tls: true,
        my_cnf: Some("[mysqld]".to_owned()),
        ..study
    };
    assert_eq!(changed, expected);
}
