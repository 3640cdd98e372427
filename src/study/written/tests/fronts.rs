//! `front`, `front_at` and `memory`.

use super::*;
use crate::study::{Front, FrontAt, Proxy};

fn specs(lines: &str) -> Vec<ModeSpec> {
    meant(&with_mode("mysql", "single", lines)).modes
}

fn front(proxy: Proxy, at: FrontAt) -> Option<Front> {
    Some(Front { proxy, at })
}

#[test]
fn clients_connect_to_servers_unless_a_front_is_asked_for() {
    let fronts = |lines| {
        let specs = specs(lines).into_iter();
        specs.map(|spec| spec.front).collect::<Vec<_>>()
    };
    assert_eq!(fronts(""), [None]);
    assert_eq!(fronts("front = \"direct\""), [None]);
    let router = front(Proxy::Router, FrontAt::Client);
    assert_eq!(fronts("front = \"router\""), [router]);
    let own = [Proxy::Haproxy, Proxy::Router].map(|proxy| front(proxy, FrontAt::Own));
    let lines = "front_at = \"own\"\nfront = [\"haproxy\", \"direct\", \"router\"]";
    assert_eq!(fronts(lines), [own[0], None, own[1]]);
}

#[test]
fn a_list_of_fronts_makes_modes_with_labels_told_apart() {
    let labels_of = |lines: &str| labels(&format!("{SINGLE}{lines}"));
    assert_eq!(
        labels_of("front = [\"direct\", \"router\", \"haproxy\"]"),
        [
            "mysql single",
            "mysql single via router / mysql single",
            "mysql single via haproxy / mysql single"
        ]
    );
    assert_eq!(
        labels_of("label = \"s\"\nfront_at = \"own\"\nfront = [\"direct\", \"router\"]"),
        ["s", "s via router apart / s"]
    );
    assert_eq!(labels_of("label = \"s\"\nfront = \"router\""), ["s"]);
}

#[test]
fn a_mode_is_held_against_the_single_behind_the_same_front() {
    let both = "front = [\"direct\", \"router\"]";
    let modes = format!("{SINGLE}{both}\n[[mode]]\nserver = \"mysql\"\nmode = \"group\"\n{both}");
    assert_eq!(
        labels(&modes),
        [
            "mysql single",
            "mysql single via router / mysql single",
            "mysql group / mysql single",
            "mysql group via router / mysql single via router"
        ]
    );
    let modes = format!("{SINGLE}{SINGLE}memory = \"1GB\"\n[[mode]]\nserver = \"mysql\"\n");
    let modes = modes + "mode = \"async\"\nmemory = \"1GB\"";
    let found = labels(&modes);
    assert_eq!(
        found[1..],
        [
            "mysql single in 1 GB",
            "mysql async in 1 GB / mysql single in 1 GB"
        ]
    );
}

#[test]
fn what_is_no_front_is_a_mistake() {
    let wrong = |lines| mistakes(&with_mode("mysql", "single", lines));
    assert_snapshot!(wrong("front = \"roter\""), @r#"study.toml:4: mode[1].front: given "roter"; must be one of direct, router, router-bootstrapped, haproxy; did you mean router?"#);
    assert_snapshot!(wrong("front = \"mysql://db.example:3306\""), @r#"study.toml:4: mode[1].front: given "mysql://db.example:3306"; must be one of direct, router, router-bootstrapped, haproxy"#);
    assert_snapshot!(wrong("front = true"), @"study.toml:4: mode[1].front: given true; must be one of direct, router, router-bootstrapped, haproxy");
    assert_snapshot!(wrong("front = []"), @"study.toml:4: mode[1].front: given []; must not be empty");
    assert_snapshot!(wrong("front = [\"router\", \"router\"]"), @r#"study.toml:4: mode[1].front[2]: given "router"; is given twice"#);
    assert_snapshot!(wrong("front = \"router\"\nfront_at = \"server\""), @r#"study.toml:5: mode[1].front_at: given "server"; must be one of client, own"#);
    assert_snapshot!(wrong("front_at = \"own\""), @r#"study.toml:4: mode[1].front_at: given "own"; is for modes with a front: say front = "router" or "haproxy""#);
}

#[test]
fn a_router_bootstraps_itself_against_clusters_alone() {
    let of = |mode: &str, lines: &str| {
        let specs = meant(&with_mode("mysql", mode, lines)).modes.into_iter();
        specs.map(|spec| spec.front).collect::<Vec<_>>()
    };
    let bootstrapped = front(Proxy::RouterBootstrapped, FrontAt::Client);
    let line = "front = \"router-bootstrapped\"";
    for mode in ["group", "group-multi"] {
        assert_eq!(of(mode, line), [bootstrapped]);
    }
    // Said so or not, clients go to one primary.
    assert_eq!(
        of("group-multi", &format!("{line}\nspread = false")),
        [bootstrapped]
    );
    let wrong = |mode, lines: &str| mistakes(&with_mode("mysql", mode, lines));
    assert_snapshot!(wrong("async", line), @r#"study.toml:4: mode[1].front: given "router-bootstrapped"; is for group and group-multi, which have members to find; say "router" for static routes"#);
    let spread = format!("spread = true\n{line}");
    assert_snapshot!(wrong("group-multi", &spread), @r#"study.toml:5: mode[1].front: given "router-bootstrapped"; sends all clients to one primary, so spread must be false; say "router" for all in turn"#);
    let both = "front = [\"router\", \"router-bootstrapped\"]";
    assert_eq!(
        labels(&format!(
            "[[mode]]\nserver = \"mysql\"\nmode = \"group\"\n{both}"
        )),
        [
            "mysql group via router",
            "mysql group via router-bootstrapped"
        ]
    );
}

#[test]
fn memory_is_a_size_with_limits() {
    let memory = |lines| specs(lines).remove(0).memory_bytes;
    assert_eq!(
        (memory(""), memory("memory = \"2GB\"")),
        (None, Some(2_000_000_000))
    );
    let wrong = |lines| mistakes(&with_mode("mysql", "single", lines));
    assert_snapshot!(wrong("memory = 2000"), @r#"study.toml:4: mode[1].memory: given 2000; must be a size from 32 MB to 1000 GB, such as "2GB""#);
    assert_snapshot!(wrong("memory = \"1MB\""), @r#"study.toml:4: mode[1].memory: given "1MB"; must be a size from 32 MB to 1000 GB, such as "2GB""#);
}

#[test]
fn settings_tell_of_fronts_and_memory() {
    let settings = |lines| crate::study::ModeSpec::clone(&specs(lines)[0]);
    let json = |lines| serde_json::to_value(settings(lines)).expect("JSON");
    assert_eq!(json("front = \"haproxy\"")["front"]["proxy"], "haproxy");
    // In records as in studies.
    for proxy in [Proxy::Router, Proxy::RouterBootstrapped, Proxy::Haproxy] {
        assert_eq!(serde_json::to_value(proxy).expect("JSON"), proxy.name());
    }
    // A record of before there were fronts is read as one without.
    let mut old = json("");
    for key in ["front", "memory_bytes"] {
        old.as_object_mut().expect("an object").remove(key);
    }
    let read: ModeSpec = serde_json::from_value(old).expect("a mode");
    assert_eq!((read.front, read.memory_bytes), (None, None));
}
