//! axe-core, which looks for what keeps people out: fetched with npm for this test alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::browser::{Browser, installed};

const PACKAGE: &str = "axe-core@4.11.0";

/// Its script, fetched once for each target folder; `Err` says why there is none.
pub fn script() -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axe-core");
    let script = folder.join("package/axe.min.js");
    if !script.is_file() {
        fetch(&folder)?;
    }
    std::fs::read_to_string(&script).map_err(|error| format!("{}: {error}", script.display()))
}

fn fetch(folder: &Path) -> Result<(), String> {
    if installed(&["npm"]).is_none() {
        return Err("npm is not installed".to_owned());
    }
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    run(folder, "npm", &["pack", "--silent", PACKAGE])?;
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut packed = files.filter(|path| path.extension().is_some_and(|it| it == "tgz"));
    let packed: PathBuf = packed.next().ok_or("npm left no tarball")?;
    let packed = packed.to_string_lossy().into_owned();
    run(folder, "tar", &["-xzf", &packed, "package/axe.min.js"])
}

fn run(folder: &Path, program: &str, words: &[&str]) -> Result<(), String> {
    let output = Command::new(program)
        .args(words)
        .current_dir(folder)
        .output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program} {words:?}: {said}")),
    }
}

/// Faults of the open page that are serious or worse, each with the elements that have it.
pub fn faults(browser: &mut Browser, script: &str) -> Vec<String> {
    browser.tell(script);
    let told = browser.tell(
        "axe.run(document, {resultTypes: ['violations']}).then(function (all) {
            return all.violations.map(function (one) {
                return {impact: one.impact, id: one.id, help: one.help,
                    nodes: one.nodes.slice(0, 5).map(function (node) { return node.html; })};
            });
        })",
    );
    let all = told.as_array().cloned().unwrap_or_default();
    let is_serious = |one: &&Value| one["impact"] == "serious" || one["impact"] == "critical";
    for one in all.iter().filter(|one| !is_serious(one)) {
        println!("axe, {}: {} {}", one["impact"], one["id"], one["help"]);
    }
    all.iter()
        .filter(is_serious)
        .map(Value::to_string)
        .collect()
}
