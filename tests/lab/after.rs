//! What servers and their disks still do when the load has ended.

use serde_json::Value;

use crate::ground::on_ground;
use crate::report::{Report, number};
use crate::studies::report_of;

/// Changed pages wait in the pool: a server that writes them slowly is still at it afterwards. A
/// volume sends many of them at once, so the link has a rate: without one all are due at once, and
/// the switch is late with the last.
const WATCHED: &str = r#"
rounds = 1
warmup = "0.2s"
measure = "1s"
sites = ["a", "b"]
handshakes = true
disk = { write = "0.3ms", flush = "0.3ms" }
images = { size = "600MB" }
[[mode]]
server = "mysql"
mode = "single"
[[mode]]
server = "mysql"
mode = "mirror"
[[sweep]]
workload = "update_index"
connections = 8
distances = [{ ab = "1ms", rate = "1Gbit/s" }]
client = ["a", "b"]
watch_after = "3s"
[[sweep]]
modes = ["mysql single"]
workload = "update_index"
connections = 8
distances = [{ ab = "1ms", rate = "1Gbit/s" }]
"#;

/// Least, median and most of a cell's handshakes, in µs.
fn handshakes(cell: &Value) -> [f64; 3] {
    let made = &cell["handshakes_us"][0];
    assert_eq!(
        (&made["node"], &made["samples"]),
        (&"writer".into(), &22.into())
    );
    ["min", "p50", "max"].map(|key| number(&made[key]))
}

fn check_watched(cell: &Value) {
    let id = &cell["id"];
    let nodes = cell["after_load"].as_array().expect("after_load");
    let expected = if cell["mode"] == "mirror" { 2 } else { 1 };
    assert_eq!(nodes.len(), expected, "{id}");
    let writer = &nodes[0];
    assert!(number(&writer["watched_s"]) >= 2.9, "{id}: {writer}");
    let [idle, window, after] = ["idle", "window", "after"].map(|span| &writer[span]);
    for span in [idle, window, after] {
        let share = number(&span["busy_share"]);
        assert!((0.0..=1.0).contains(&share), "{id}: {writer}");
    }
    for key in [
        "cpu_s_per_s",
        "writes_per_s",
        "bytes_written_per_s",
        "busy_share",
    ] {
        let (under, rest) = (number(&window[key]), number(&after[key]));
        assert!(under > 0.0 && rest >= 0.0, "{id}: {key}: {writer}");
    }
    // Changed pages may be written faster after the load than under it; nobody asks for CPU then.
    let cpu = |span: &Value| number(&span["cpu_s_per_s"]);
    assert!(cpu(window) > cpu(after), "{id}: {writer}");
    let [least, most] = ["busy_share_least", "busy_share_most"].map(|key| number(&writer[key]));
    let mean = number(&after["busy_share"]);
    assert!(least <= mean && mean <= most, "{id}: {writer}");
    // On a copy nothing is mounted, and no server runs.
    for copy in &nodes[1..] {
        assert!(copy["window"]["cpu_s_per_s"].is_null(), "{copy}");
        assert!(copy["after"]["busy_share"].is_null(), "{copy}");
        assert!(number(&copy["window"]["writes_per_s"]) > 0.0, "{copy}");
    }
}

#[test]
fn lab_study_watches_what_goes_on_after_the_load() {
    on_ground("study: after the load", |ground| {
        let report: Report = report_of(ground, WATCHED, &[]);
        let is_watched = |cell: &&Value| !cell["watch_after_s"].is_null();
        let (watched, plain): (Vec<&Value>, Vec<&Value>) =
            report.cells().iter().partition(is_watched);
        assert_eq!((watched.len(), plain.len()), (4, 1));
        watched.into_iter().for_each(check_watched);
        assert!(plain[0]["after_load"].is_null(), "{}", plain[0]);
        let (mut near_us, mut far_us) = (0.0_f64, f64::INFINITY);
        for cell in report.cells() {
            let [min, p50, max] = handshakes(cell);
            assert!(min <= p50 && p50 <= max, "{cell}");
            match cell["client_site"] == "b" {
                true => far_us = far_us.min(min),
                false => near_us = near_us.max(min),
            }
        }
        // 1 ms between the sites, 0.25 ms within one: half of the difference at least.
        assert!(far_us > near_us + 375.0, "{near_us} {far_us}");
        let printed = ground.run(&["report", "r.acklab"]).good();
        for words in [
            "s after the load (under it; idle): CPU",
            "TCP handshake: writer",
        ] {
            assert!(printed.contains(words), "{words}");
        }
    });
}
