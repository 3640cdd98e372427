//! Loads that are spread over several schemas: that each has its tables, and its connections.

use serde_json::Value;

use crate::ground::on_ground;
use crate::report::{Report, check_no_errors, number};
use crate::studies::report_whose;

/// Of the first workload only connections to the second schema change a row. The last one's tables
/// are made anew before each cell.
const SPREAD: &str = r#"
rounds = 1
warmup = "0.2s"
measure = "0.6s"
[workload.asked]
tool = "custom"
setup = ["CREATE TABLE asked (id INT PRIMARY KEY, n BIGINT)", "INSERT INTO asked VALUES (1, 0)"]
[[workload.asked.transaction]]
name = "ask"
statement = ["UPDATE asked SET n = n + 1 WHERE id = 1 AND DATABASE() = 'acklab2'"]
[[mode]]
server = "mysql"
mode = "async"
nodes = 2
baseline = "none"
[[mode]]
server = "mariadb"
mode = "single"
[[sweep]]
workload = ["asked", "update_index", "insert"]
connections = 4
rtt = "0.25ms"
schemas = [1, 2]
"#;

/// The cells of the workload that asks for its schema, and whether they have two.
fn asking(report: &Report) -> Vec<(&Value, bool)> {
    let is_it = |cell: &&Value| {
        let workload = cell["workload"].as_str().unwrap_or_default();
        workload.starts_with("asked")
    };
    let cells = report.cells().iter().filter(is_it);
    cells.map(|cell| (cell, cell["schemas"] == 2)).collect()
}

/// One of two connections changes its row where there are two schemas, and none where there is one.
fn check_asking(report: &Report) {
    let asking = asking(report);
    assert_eq!(asking.len(), 4);
    for (cell, has_two) in asking {
        let changed = number(&cell["throughput_per_s"]["median"]);
        let unchanged = number(&cell["unchanged_per_s"]);
        assert!(unchanged > 0.0, "{cell}");
        assert_eq!(changed > 0.0, has_two, "{cell}");
    }
}

#[test]
fn lab_schemas_share_the_load() {
    on_ground("schemas: two", |ground| {
        let report = report_whose(ground, SPREAD, check_asking);
        assert_eq!(report.cells().len(), 12);
        for cell in report.cells() {
            check_no_errors(cell);
            // Replicas catch up with what is written to either schema.
            let lags = cell["lag_ms"].as_array().expect("lag_ms");
            assert_eq!(lags.len(), usize::from(cell["mode"] == "async"), "{cell}");
            let is_level = |lag: &Value| lag["catch_up"].is_number();
            assert!(lags.iter().all(is_level), "{cell}");
        }
        let printed = ground.run(&["report", "r.acklab"]).good();
        // Wherever lines were broken.
        let words: Vec<&str> = printed.split_whitespace().collect();
        assert!(words.join(" ").contains("in 2 schemas"), "{printed}");
    });
}
