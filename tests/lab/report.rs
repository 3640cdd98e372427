//! Reading a report's JSON.

use serde_json::Value;

/// One cell, and one fit, with what they are about.
pub struct Report(pub Value);

impl Report {
    /// All cells.
    pub fn cells(&self) -> &Vec<Value> {
        self.0["cells"].as_array().expect("cells")
    }

    /// The one cell for which this holds.
    pub fn cell(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> &Value {
        let mut found = self.cells().iter().filter(|cell| is_it(cell));
        let cell = found.next().unwrap_or_else(|| panic!("no cell {what}"));
        assert!(found.next().is_none(), "several cells {what}");
        cell
    }

    /// Whether the host may have been too busy in any cell: links were late, a floor was taken off
    /// that was none, or there was not one commit.
    pub fn was_disturbed(&self) -> bool {
        let is_none = |value: &Value| value.as_f64().unwrap_or(0.0) == 0.0;
        self.cells().iter().any(|cell| {
            let commits = [
                &cell["throughput_per_s"]["median"],
                &cell["unchanged_per_s"],
            ];
            let is_void = cell["rounds_void"] != 0;
            is_void || far_off(cell).is_some() || commits.into_iter().all(is_none)
        })
    }

    /// The fit of a row, with the client in that site.
    pub fn anatomy(&self, label: &str, client_site: &str) -> &Value {
        let all = self.0["anatomy"].as_array().expect("anatomy");
        let is_it = |one: &&Value| one["label"] == label && one["client_site"] == client_site;
        let found = all.iter().find(is_it);
        found.unwrap_or_else(|| panic!("no anatomy of {label}, client in {client_site}"))
    }

    /// Round trips per commit of a row.
    pub fn round_trips(&self, label: &str, client_site: &str) -> f64 {
        number(&self.anatomy(label, client_site)["round_trips"]["value"])
    }
}

/// A figure that must be there.
pub fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Names of a cell's flags.
pub fn flags(cell: &Value) -> Vec<&str> {
    let flags = cell["flags"].as_array().expect("flags");
    flags
        .iter()
        .filter_map(|flag| flag["flag"].as_str())
        .collect()
}

/// A round trip that is not near what was asked. Generous: others may be at work on this machine.
/// The emulator's own bench is strict.
fn far_off(cell: &Value) -> Option<String> {
    let pairs = cell["rtts_us"].as_array().expect("rtts_us");
    let mut pairs = pairs.iter();
    pairs.find_map(|pair| {
        let (asked, got) = (number(&pair["asked"]), number(&pair["got"]));
        let is_near = (asked * 0.9 - 200.0..asked * 1.5 + 2_000.0).contains(&got);
        (!is_near).then(|| format!("asked {asked} µs, got {got} µs"))
    })
}

/// What every cell of a run must have, whatever it measured, its round trips too.
pub fn check_cell(cell: &Value) {
    assert_eq!(far_off(cell), None, "{}", cell["id"]);
    check_accounts(cell);
}

/// What every cell of a run must have, wherever its servers stand.
pub fn check_accounts(cell: &Value) {
    let id = &cell["id"];
    assert_eq!(cell["rounds_void"], 0, "{id}: late links");
    assert!(number(&cell["throughput_per_s"]["median"]) > 0.0, "{id}");
    assert!(number(&cell["latency_us"]["samples"]) > 0.0, "{id}");
    let cpu = &cell["cpu_us_per_commit"];
    for part in ["writer", "client", "links"] {
        assert!(number(&cpu[part]) > 0.0, "{id}: {part}");
    }
    assert!(number(&cell["bytes_per_commit"]["client"]) > 0.0, "{id}");
    assert!(number(&cell["packets_per_commit"]["client"]) > 0.0, "{id}");
    let is_single = cell["mode"] == "single";
    let replicas = cpu["replicas"].as_array().expect("replicas");
    let lags = cell["lag_ms"].as_array().expect("lag_ms");
    assert_eq!(
        (replicas.is_empty(), lags.is_empty()),
        (is_single, is_single),
        "{id}"
    );
    for replica in replicas {
        assert!(number(&replica["cpu_us"]) > 0.0, "{id}");
    }
    for lag in lags {
        assert!(
            number(&lag["samples"]) > 0.0 && number(&lag["max"]) > 0.0,
            "{id}: {lag}"
        );
        assert!(lag["catch_up"].is_number(), "{id}: {lag}");
    }
}

/// No error was counted.
pub fn check_no_errors(cell: &Value) {
    let errors = cell["errors"].as_array().expect("errors");
    assert!(errors.is_empty(), "{}: {errors:?}", cell["id"]);
}
