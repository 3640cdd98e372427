//! What became of the parts on this host: one file in the cache, with the last outcome of each
//! part, in short and whole.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Result, Tried};
use crate::record::self_test::Part;

fn file(cache: &Path) -> PathBuf {
    cache.join("self-test.json")
}

/// The last outcomes of each part that was run here. None if nothing can be read: it is run again.
pub fn kept(cache: &Path) -> Vec<Part> {
    let text = fs::read_to_string(file(cache)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Keeps a part's outcome in place of its last. A short one takes no whole one's place: it tells
/// less.
///
/// # Errors
/// A breakdown if the file cannot be written.
pub fn keep(cache: &Path, part: Part) -> Result<()> {
    let mut all = kept(cache);
    let is_same = |other: &Part| (&other.name, other.is_quick) == (&part.name, part.is_quick);
    all.retain(|other| !is_same(other));
    all.push(part);
    let what = || format!("keep the outcome in {}", file(cache).display());
    let text = serde_json::to_string_pretty(&all).tried(what)?;
    // Beside, and renamed: no half file is ever read.
    let beside = file(cache).with_extension("new");
    fs::write(&beside, text).tried(what)?;
    fs::rename(&beside, file(cache)).tried(what)
}
