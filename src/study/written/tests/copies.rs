//! `mirror` and `quorum`.

use super::*;
use crate::study::{Ack, WhenShort};

fn spec(mode: &str, lines: &str) -> ModeSpec {
    meant(&with_mode("mysql", mode, lines)).modes.remove(0)
}

#[test]
fn copies_have_defaults() {
    let mirror = spec("mirror", "");
    let expected = Mode::Mirror {
        ack: Ack::Write,
        when_short: WhenShort::Block,
        timeout: Duration::from_secs(6),
    };
    assert_eq!((mirror.mode, mirror.nodes), (expected, 2));
    let quorum = spec("quorum", "");
    let expected = Mode::Quorum {
        copies: 6,
        write_quorum: 4,
        ack: Ack::Write,
    };
    assert_eq!((quorum.mode, quorum.nodes), (expected, 6));
}

#[test]
fn copies_are_as_many_as_nodes() {
    let copies_of = |lines| match spec("quorum", lines) {
        ModeSpec {
            mode:
                Mode::Quorum {
                    copies,
                    write_quorum,
                    ..
                },
            nodes,
            ..
        } => (copies, write_quorum, nodes),
        other => panic!("{other:?}"),
    };
    assert_eq!(copies_of("copies = 3"), (3, 2, 3));
    assert_eq!(copies_of("nodes = 5"), (5, 3, 5));
    assert_eq!(
        copies_of("nodes = 9\ncopies = 9\nwrite_quorum = 1"),
        (9, 1, 9)
    );
}

#[test]
fn copies_are_told_in_labels() {
    let labels = [
        "",
        "ack = \"flush\"",
        "ack = \"protocol-c\"",
        "when_short = \"degrade\"\ntimeout = \"2s\"",
    ]
    .map(|lines| spec("mirror", lines).label);
    assert_eq!(
        labels,
        [
            "mysql mirror",
            "mysql mirror flush",
            "mysql mirror protocol-c",
            "mysql mirror degrade timeout 2 s"
        ]
    );
    let quorum = spec(
        "quorum",
        "copies = 5\nwrite_quorum = 4\nack = \"flush\"\nbinary_log = false",
    );
    assert_eq!(
        quorum.label,
        "mysql quorum block mirror 4/5 flush no binlog"
    );
    assert_eq!(quorum.mode.name(), "quorum");
}

#[test]
fn mistakes_about_copies_are_named() {
    let wrong = |lines| mistakes(&with_mode("mysql", "quorum", lines));
    assert_snapshot!(wrong("copies = 5\nwrite_quorum = 6"), @"study.toml:5: mode[1].write_quorum: given 6; must be from 1 to 5, the number of copies");
    assert_snapshot!(wrong("write_quorum = 0"), @"study.toml:4: mode[1].write_quorum: given 0; must be from 1 to 6, the number of copies");
    assert_snapshot!(wrong("write_quorum = \"four\""), @r#"study.toml:4: mode[1].write_quorum: given "four"; must be a whole number"#);
    let wrong = |mode, lines| mistakes(&with_mode("mysql", mode, lines));
    assert_snapshot!(wrong("quorum", "copies = 6\nnodes = 3"), @"study.toml:4: mode[1].copies: given 6; must be at most 3, the number of nodes: each holds one copy");
    assert_snapshot!(wrong("quorum", "copies = 3\nnodes = 6"), @"study.toml:5: mode[1].nodes: given 6; must be 3, the number of copies: each node holds one");
    assert_snapshot!(wrong("quorum", "copies = 1"), @"study.toml:4: mode[1].copies: given 1; must be a whole number from 2 to 9");
    assert_snapshot!(wrong("quorum", "nodes = 10"), @"study.toml:4: mode[1].nodes: given 10; must be a whole number from 2 to 9");
    assert_snapshot!(wrong("mirror", "nodes = 3"), @"study.toml:4: mode[1].nodes: given 3; must be 2");
    let lonely = format!("sites = [\"a\"]\n{}", with_mode("mysql", "mirror", ""));
    assert_snapshot!(mistakes(&lonely), @"study.toml:2: mode[1]: needs at least two sites, for its copies stand in different ones");
    let lines = "when_short = \"degrade\"\nack = \"disk\"";
    assert_snapshot!(mistakes(&with_mode("mysql", "quorum", lines)), @r#"
    study.toml:4: mode[1].when_short: given "degrade"; is for mode mirror only, not for quorum
    study.toml:5: mode[1].ack: given "disk"; must be one of write, flush
    "#);
    // With several peers it would be another rule.
    assert_snapshot!(mistakes(&with_mode("mysql", "quorum", "ack = \"protocol-c\"")), @r#"study.toml:4: mode[1].ack: given "protocol-c"; must be one of write, flush"#);
    let lines = "copies = 2\nwrite_quorum = 2\nwhen_short = \"stop\"";
    assert_snapshot!(mistakes(&with_mode("mysql", "mirror", lines)), @r#"
    study.toml:4: mode[1].copies: given 2; is for mode quorum only, not for mirror
    study.toml:5: mode[1].write_quorum: given 2; is for mode quorum only, not for mirror
    study.toml:6: mode[1].when_short: given "stop"; must be one of block, degrade, error
    "#);
    assert_snapshot!(mistakes(&with_mode("mysql", "quorum", "timeout = \"2s\"")), @r#"study.toml:4: mode[1].timeout: given "2s"; is for modes semisync and mirror only, not for quorum"#);
    assert_snapshot!(mistakes(&with_mode("mysql", "mirror", "timeout = \"0s\"")), @r#"study.toml:4: mode[1].timeout: given "0s"; must be a time from 200 ms to 1 h"#);
    assert_snapshot!(mistakes(&with_mode("mysql", "async", "ack = \"flush\"")), @r#"study.toml:4: mode[1].ack: given "flush"; is for modes mirror and quorum only, not for async"#);
    let lines = "[mode.node_variables.b]\ninnodb_io_capacity = 100";
    assert_snapshot!(mistakes(&with_mode("mysql", "quorum", lines)), @"study.toml:4: mode[1].node_variables.b: given [mode.node_variables.b]; there is no node of this mode in site b; must be one of a");
}

#[test]
fn words_are_those_that_studies_write() {
    for ack in [Ack::Write, Ack::Flush, Ack::ProtocolC] {
        let lines = format!("ack = \"{}\"", ack.word());
        assert!(matches!(spec("mirror", &lines).mode, Mode::Mirror { ack: got, .. } if got == ack));
        let json = serde_json::to_string(&ack).unwrap();
        assert_eq!(json, format!("\"{}\"", ack.word()));
    }
    for when_short in [WhenShort::Block, WhenShort::Degrade, WhenShort::Error] {
        let lines = format!("when_short = \"{}\"", when_short.word());
        let mode = spec("mirror", &lines).mode;
        assert!(matches!(mode, Mode::Mirror { when_short: got, .. } if got == when_short));
    }
}
