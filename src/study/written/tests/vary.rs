//! `[[vary]]`.

use super::*;
use crate::plan::labs;

const GALERA: &str = "\n[[mode]]\nserver = \"mariadb\"\nmode = \"galera\"\nbaseline = \"none\"\n\
                      variables = { innodb_io_capacity = 200 }\n";

fn varied(lines: &str) -> String {
    with_modes(&format!("{SINGLE}{GALERA}[[vary]]\n{lines}\n"))
}

fn labels_of(study: &Study) -> Vec<&str> {
    study.modes.iter().map(|spec| spec.label.as_str()).collect()
}

#[test]
fn sets_and_values_become_modes_beside_their_own() {
    let study = meant(&varied(
        r#"mode = "mysql single"
           sets = { "tuned A" = { sync_binlog = 0, innodb-doublewrite = false } }
           alone = { sync_binlog = [0, 100] }"#,
    ));
    let expected = [
        "mysql single",
        "mysql single tuned A",
        "mysql single sync_binlog=0",
        "mysql single sync_binlog=100",
        "mariadb galera innodb_io_capacity=200",
    ];
    assert_eq!(labels_of(&study), expected);
    let tuned = &study.modes[1];
    assert_eq!(tuned.baseline.as_deref(), Some("mysql single"));
    assert_eq!(tuned.variables["innodb_doublewrite"], "OFF");
    let varied = tuned.varied.as_ref().unwrap();
    assert_eq!((&varied.of[..], varied.changed.len()), ("mysql single", 2));
    assert_eq!(study.modes[4].varied, None);
    assert!(study.screens.is_empty());
}

#[test]
fn a_variant_keeps_what_its_mode_has() {
    let study = meant(&varied("alone = { sync_binlog = 0 }"));
    assert_eq!(study.modes.len(), 4);
    let galera = &study.modes[3];
    let set = |name: &str| galera.variables[name].as_str();
    assert_eq!(
        (set("innodb_io_capacity"), set("sync_binlog")),
        ("200", "0")
    );
    assert_eq!(galera.mode, Mode::Galera);
    // All variants of a mode take turns on its servers.
    let labs = labs(&study);
    let modes: Vec<&[usize]> = labs.iter().map(|lab| &lab.modes[..]).collect();
    assert_eq!(modes, [&[0, 1][..], &[2, 3]]);
    assert!(labs.iter().all(|lab| lab.variants(&study).count() == 1));
    assert_eq!(labs[1].variables["innodb_io_capacity"], "200");
}

const FIVE: &str = "screen = { a_a = [0, 1], b = [1, 2], c = [true, false], d = [\"x\", \"y\"], \
                    e = [1, 2] }";

#[test]
fn a_screen_runs_a_design() {
    let study = meant(&varied(&format!("mode = \"mysql single\"\n{FIVE}")));
    let screen = &study.screens[0];
    assert_eq!(
        (screen.of.as_str(), screen.design.runs()),
        ("mysql single", 16)
    );
    assert_eq!(screen.design.resolution(), Some(5));
    let runs = &labels_of(&study)[1..17];
    assert_eq!(runs, screen.runs);
    // The fifth factor is the product of the others: high where an even number of these is low.
    assert_eq!(
        runs[..3],
        [
            "mysql single screen e",
            "mysql single screen a",
            "mysql single screen b"
        ]
    );
    assert_eq!(runs[15], "mysql single screen abcde");
    let first = &study.modes[1].variables;
    let levels = ["a_a", "b", "c", "d", "e"].map(|name| first[name].as_str());
    assert_eq!(levels, ["0", "1", "ON", "x", "2"]);
}

#[test]
fn the_size_of_a_screen_can_be_chosen() {
    let runs = |lines: &str| {
        let study = meant(&varied(&format!(
            "mode = \"mysql single\"\n{FIVE}\n{lines}"
        )));
        let design = &study.screens[0].design;
        (design.runs(), design.resolution())
    };
    assert_eq!(runs("runs = 8"), (8, Some(3)));
    assert_eq!(runs("runs = 32"), (32, None));
    assert_eq!(runs("resolution = 3"), (8, Some(3)));
    let two = meant(&varied("screen = { a = [0, 1], b = [0, 1] }"));
    assert_eq!(two.screens.len(), 2);
    assert_eq!(two.modes[1].label, "mysql single screen all low");
}

#[test]
fn the_example_in_the_manual_varies() {
    let manual = include_str!("../../../../docs/study.md");
    let blocks = manual.split("```toml\n").skip(1);
    let mut examples = blocks.filter_map(|rest| rest.split("```").next());
    let example = examples.find(|text| text.contains("[[vary]]")).unwrap();
    let mode = "[[mode]]\nserver = \"mariadb\"\nmode = \"galera\"\n";
    let study = meant(&with_modes(&format!("{mode}{example}")));
    assert_eq!(
        (study.modes.len(), study.screens.len()),
        (1 + 3 + 1 + 16, 1)
    );
}

/// The one mistake of these lines holds all these parts.
fn wrong(lines: &str, parts: &[&str]) {
    let told = mistakes(&varied(lines));
    assert_eq!(told.lines().count(), 1, "{lines}: {told}");
    for part in parts {
        assert!(told.contains(part), "no {part:?} in {told}");
    }
}

#[test]
fn mistakes_are_named() {
    wrong("", &["vary[1]", "needs sets, alone or screen"]);
    wrong(
        "mode = \"mysql singel\"\nalone = { x = 1 }",
        &["vary[1].mode", "singel", "did you mean mysql single?"],
    );
    wrong(
        "alone = { x = [1, 1] }",
        &["vary[1].alone.x[2]", "given twice"],
    );
    wrong(
        "alone = { x-y = 1, X_y = 2 }",
        &["given twice, with - and with _"],
    );
    wrong(
        "screen = { x = [1, 2] }",
        &["vary[1].screen", "must hold 2 to 10 variables"],
    );
    wrong(
        "screen = { x = [1, 2], y = 1 }",
        &["screen.y", "must be two levels, [low, high]"],
    );
    wrong(
        "screen = { x = [1, 2], y = [1, 2, 3] }",
        &["screen.y", "two levels"],
    );
    wrong(
        &format!("{FIVE}\nruns = 4"),
        &["vary[1].runs", "given 4", "from 8 to 32"],
    );
    wrong(&format!("{FIVE}\nruns = 12"), &["given 12", "power of two"]);
    wrong(
        &format!("{FIVE}\nresolution = 6"),
        &["resolution", "from 3 to 5"],
    );
    wrong(&format!("{FIVE}\nruns = 16\nresolution = 5"), &["not both"]);
    wrong(
        "alone = { x = 1 }\nruns = 16",
        &["vary[1].runs", "for a screen only"],
    );
    wrong(
        "alone = { x = 1 }\nlow = 2",
        &["vary[1].low", "no such key"],
    );
    wrong(
        "sets = { \"..\" = { x = 1 } }",
        &["must hold a letter or a digit"],
    );
    wrong(
        "mode = \"mariadb galera innodb_io_capacity=200\"\nalone = { innodb_io_capacity = 200 }",
        &["is what mariadb galera innodb_io_capacity=200 has anyway"],
    );
    let again = "mode = \"mysql single\"\nalone = { x = 1 }";
    wrong(
        &format!("{again}\n[[vary]]\n{again}"),
        &["vary[2].alone.x", "there is already"],
    );
    let again = "mode = \"mysql single\"\nscreen = { x = [1, 2], y = [1, 2] }";
    wrong(
        &format!("{again}\n[[vary]]\n{again}"),
        &["vary[2].screen", "there is already"],
    );
    let mode = "[[mode]]\nserver = \"mysql\"\nmode = \"async\"\n\
                node_variables = { b = { x = 1 } }\n[[vary]]\nalone = { x = 2 }\n";
    let told = mistakes(&with_modes(mode));
    assert!(
        told.contains("node_variables of mysql async b:x=1 give x too"),
        "{told}"
    );
}
