//! Servers from packages of the npm registry, through the npm client.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::apt::succeeded;
use super::catalogue::Files;
use super::client::NPM;
use super::tarball;
use crate::error::{Result, Tried, breakdown};

/// What a package says of itself.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Manifest {
    name: String,
    version: String,
}

/// Fetches `package` and puts `files` in their places below `root`; `work` is a scratch folder.
/// Returns the package's name and version.
///
/// None of the package's own scripts is run, and what it depends on is not fetched.
///
/// # Errors
/// A mistake if npm is missing, a breakdown with its first lines if it cannot deliver.
pub fn fetch(package: &str, files: &Files, work: &Path, root: &Path) -> Result<String> {
    fs::create_dir_all(work).tried(|| format!("make {}", work.display()))?;
    NPM.run(
        work,
        &arguments(package, work),
        &format!("fetch package {package} with npm"),
    )?;
    let unpacked = work.join("package");
    let output = tarball::untar(&fetched(work, package)?, &unpacked)?;
    succeeded(&output, &format!("unpack package {package}"))?;
    for (from, to) in files {
        put(&unpacked.join(from), &root.join(to))?;
    }
    let path = unpacked.join("package.json");
    let tried = || format!("read {}", path.display());
    let text = fs::read_to_string(&path).tried(tried)?;
    let manifest: Manifest = serde_json::from_str(&text).tried(tried)?;
    Ok(format!("{} {}", manifest.name, manifest.version))
}

/// A cache of its own keeps the user's as it is.
fn arguments(package: &str, work: &Path) -> Vec<String> {
    let cache = work.join("cache").display().to_string();
    let words = ["pack", package, "--cache", &cache, "--loglevel=error"];
    words.map(str::to_owned).into()
}

/// The tarball that `npm pack` left in its folder.
fn fetched(work: &Path, package: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(work).tried(|| format!("read {}", work.display()))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let found = paths.find(|path| path.extension().is_some_and(|ending| ending == "tgz"));
    found.ok_or_else(|| breakdown(format!("find package {package}"), "npm left no tarball"))
}

/// Moves a file or a folder to its place.
fn put(from: &Path, to: &Path) -> Result<()> {
    let tried = || format!("put {} at {}", from.display(), to.display());
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).tried(tried)?;
    }
    fs::rename(from, to).tried(tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_whatever_else_it_holds() {
        let text = r#"{"name": "x", "version": "5.6.24002", "os": ["linux"], "scripts": {}}"#;
        let manifest: Manifest = serde_json::from_str(text).expect("a manifest");
        assert_eq!(manifest.name + &manifest.version, "x5.6.24002");
    }

    #[test]
    fn files_find_their_places_and_an_absent_one_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        fs::create_dir_all(folder.path().join("server/share")).expect("a folder");
        fs::write(folder.path().join("server/share/x"), "1").expect("a file");
        put(&folder.path().join("server/share"), &root.join("usr/share")).expect("put");
        assert_eq!(
            fs::read_to_string(root.join("usr/share/x")).expect("x"),
            "1"
        );
        let error = put(&folder.path().join("server/none"), &root.join("bin/none"));
        let told = error.expect_err("there is no such file").to_string();
        assert!(told.contains("server/none"), "{told}");
    }

    #[test]
    fn a_folder_without_a_tarball_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("x.json"), "").expect("a file");
        assert!(fetched(folder.path(), "x").is_err());
        fs::write(folder.path().join("x-1.tgz"), "").expect("a file");
        let found = fetched(folder.path(), "x").expect("a tarball");
        assert!(found.ends_with("x-1.tgz"));
    }
}
