//! Lists in a `[[mode]]`.

use super::*;

#[test]
fn lists_of_nodes_and_appliers_make_modes_of_all_combinations() {
    let specs = |lines: &str| meant(&with_mode("mysql", "async", lines)).modes;
    let found = specs("nodes = [2, 3]\nappliers = [1, 4]\nbaseline = \"none\"");
    let counts: Vec<(u32, u32)> = found.iter().map(|s| (s.nodes, s.appliers)).collect();
    assert_eq!(counts, [(2, 1), (2, 4), (3, 1), (3, 4)]);
    let labels: Vec<&str> = found.iter().map(|spec| spec.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "mysql async 2 nodes 1 applier",
            "mysql async 2 nodes",
            "mysql async 1 applier",
            "mysql async"
        ]
    );
    let named = specs("label = \"far\"\nappliers = [1, 16]\nfront = [\"direct\", \"haproxy\"]");
    let labels: Vec<&str> = named.iter().map(|spec| spec.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "far 1 applier",
            "far 1 applier via haproxy",
            "far 16 appliers",
            "far 16 appliers via haproxy"
        ]
    );
}

#[test]
fn a_mode_with_several_numbers_of_nodes_waits_for_no_more_than_the_fewest_have() {
    let wrong = |lines| mistakes(&with_mode("mysql", "semisync", lines));
    assert_snapshot!(wrong("nodes = [2, 3]\nwait_for = 2"), @"study.toml:5: mode[1].wait_for: given 2; must be from 1 to 1, the number of replicas");
    assert_snapshot!(wrong("nodes = [2, 2]"), @"study.toml:4: mode[1].nodes[2]: given 2; is given twice");
    assert_snapshot!(wrong("appliers = []"), @"study.toml:4: mode[1].appliers: given []; must not be empty");
    assert_snapshot!(wrong("nodes = [2, 4]"), @"study.toml:4: mode[1].nodes[2]: given 4; must be from 2 to 3: one node in each of the sites a, b, c");
}
