//! `cpu_speed` and `schemas`.

use super::*;
use crate::study::CpuSpeed;

fn with_axis(line: &str) -> String {
    with_sweep(&format!(
        "workload = \"update_index\"\nrtt = \"1ms\"\n{line}"
    ))
}

#[test]
fn cpus_are_slowed_alike_or_part_by_part() {
    let speeds = |line: &str| meant(&with_axis(line)).sweeps[0].cpu_speeds.clone();
    assert_eq!(speeds(""), []);
    assert_eq!(speeds("cpu_speed = 0.8"), [CpuSpeed::of_all(0.8)]);
    // However it is written, and to the last digit.
    assert_eq!(speeds("cpu_speed = \"70%\""), speeds("cpu_speed = 0.7"));
    let several = "cpu_speed = [1, \"5%\", { writer = \"80%\", rest = 0.5 }]";
    let some = CpuSpeed {
        writer: 0.8,
        replicas: 1.0,
        rest: 0.5,
    };
    let expected = [CpuSpeed::default(), CpuSpeed::of_all(0.05), some];
    assert_eq!(speeds(several), expected);
}

#[test]
fn a_speed_is_a_share_of_known_parts() {
    let wrong = |line: &str| mistakes(&with_axis(line));
    assert_snapshot!(wrong("cpu_speed = [0.04, 1.1, \"fast\"]"), @r#"
    study.toml:9: sweep[1].cpu_speed[1]: given 0.04; must be a share from 0.05 to 1, or "5%" up to "100%"
    study.toml:9: sweep[1].cpu_speed[2]: given 1.1; must be a share from 0.05 to 1, or "5%" up to "100%"
    study.toml:9: sweep[1].cpu_speed[3]: given "fast"; must be a share from 0.05 to 1, or "5%" up to "100%"
    "#);
    assert_snapshot!(wrong("cpu_speed = { writter = 0.5 }"), @"study.toml:9: sweep[1].cpu_speed.writter: given 0.5; no such key; did you mean writer?");
    assert_snapshot!(wrong("cpu_speed = []"), @"study.toml:9: sweep[1].cpu_speed: given []; must not be empty");
}

#[test]
fn schemas_are_few_and_not_mysqlslaps() {
    let schemas = |line: &str| meant(&with_axis(line)).sweeps[0].schemas.clone();
    assert_eq!(schemas(""), [0u32; 0]);
    assert_eq!(schemas("schemas = 2"), [2]);
    assert_eq!(schemas("schemas = [1, 8]"), [1, 8]);
    let wrong = |line: &str| mistakes(&with_axis(line));
    assert_snapshot!(wrong("schemas = [0, 9]"), @r#"
    study.toml:9: sweep[1].schemas[1]: given 0; must be a whole number from 1 to 8
    study.toml:9: sweep[1].schemas[2]: given 9; must be a whole number from 1 to 8
    "#);
    let slap = with_axis("schemas = 2").replace("update_index", "mysqlslap write");
    assert_snapshot!(mistakes(&slap), @"study.toml:9: sweep[1].schemas: given 2; is not for mysqlslap's workloads: that tool has a schema of its own");
}

#[test]
fn both_multiply_the_cells_of_a_study() {
    let study = |line: &str| format!("rounds = 30\nmeasure = \"1h\"\n{}", with_axis(line));
    assert_eq!(meant(&study("")).sweeps.len(), 1);
    for line in [
        "cpu_speed = [0.5, 0.6, 0.7, 0.8, 0.9, 1]",
        "schemas = [1, 2, 3, 4, 5, 6]",
    ] {
        let told = mistakes(&study(line));
        assert!(told.contains("would take"), "{told}");
    }
}
