//! What stops a mode from committing more: found by moving each thing.

use crate::ground::on_ground;
use crate::report::number;
use crate::studies::TRIES;

/// A commit waits for 40 ms of distance and for hardly anything else.
const FAR: &str = r#"
rounds = 6
warmup = "0.2s"
measure = "1s"
cpus = "shared"
sites = ["a", "b"]
[[mode]]
server = "mysql"
mode = "semisync"
nodes = 2
[[sweep]]
workload = "update_index"
rtt = "40ms"
"#;

#[test]
fn lab_limits_name_the_distance_where_a_commit_waits_for_little_else() {
    on_ground("limits: the distance", |ground| {
        let study = ground.file("study.toml", FAR);
        let arguments = ["limits", study, "--record", "r.acklab"];
        let mut printed = ground.run(&arguments).good();
        for _ in 1..TRIES {
            let is_decided = printed.contains("first limit: distance")
                && printed.contains("more connections would carry more");
            if is_decided {
                break;
            }
            // A busy host may leave it open.
            std::fs::remove_file(ground.work.join("r.acklab")).expect("the record");
            printed = ground.run(&arguments).good();
        }
        ground.nothing_left();
        assert!(printed.contains("first limit: distance"), "{printed}");
        assert!(printed.contains("A quarter more RTT costs"), "{printed}");
        let again = ground.run(&["report", "r.acklab"]).good();
        assert_eq!(printed, again, "a record's report is always the same");
        let report = ground.json("r.acklab");
        let limits = &report["limits"][0];
        let first = &limits["first_limit"];
        // On a busy host something else may seem to matter, too; not more than this.
        let named = first.get("thing").or(first.get("larger"));
        assert_eq!(
            named.and_then(|name| name.as_str()),
            Some("distance"),
            "{limits}"
        );
        assert_eq!(limits["more_connections"], true, "{limits}");
        let moved = limits["moved"].as_array().expect("what was moved");
        let things: Vec<&str> = moved
            .iter()
            .filter_map(|one| one["thing"].as_str())
            .collect();
        assert_eq!(
            things,
            ["distance", "shared-cpu", "connections"],
            "{limits}"
        );
        let elasticity = number(&moved[0]["elasticity"]["median"]);
        assert!((0.6..1.3).contains(&elasticity), "{limits}");
        // The moved ones are in no ordinary table.
        assert_eq!(
            report["cells"].as_array().map(Vec::len),
            Some(4),
            "{report}"
        );
        assert!(!printed.contains("40 ms × 1.25"), "{printed}");
    });
}
