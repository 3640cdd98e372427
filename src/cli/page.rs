//! `report --html`: a record as one file to look at.

use std::fs;
use std::path::Path;

use crate::analysis;
use crate::error::{Error, Mistake, Result, Tried};
use crate::record::store::Record;
use crate::report::html;

/// Writes the page of a record, if asked with all rows held against one, and names the file.
pub fn write(record: &Path, baseline: Option<&str>, file: &Path) -> Result<u8> {
    if file.is_dir() {
        let allowed = "is a folder: name the file to write, page.html in it, say";
        return Err(mistake(&file.display().to_string(), allowed));
    }
    let is_same = record.canonicalize().ok().zip(file.canonicalize().ok());
    if is_same.is_some_and(|(one, other)| one == other) {
        let allowed = "is the record itself: name another file";
        return Err(mistake(&file.display().to_string(), allowed));
    }
    let mut record = Record::open(record)?;
    if let Some(label) = baseline {
        record.header.study.hold_against(label)?;
    }
    let summary = analysis::summarise(&record);
    let Some(page) = html::render(&record, &summary) else {
        let allowed = "holds no finished measurement of a cell, and no trial of a fault: there is \
                       nothing to show yet";
        return Err(mistake("the record", allowed));
    };
    keep(file, &page)?;
    say!("{}", file.display());
    Ok(0)
}

fn mistake(given: &str, allowed: &str) -> Error {
    Mistake::new("command line", "--html", given, allowed).into()
}

/// Written beside and renamed: nobody sees half a page, and an older one stays until then.
fn keep(file: &Path, page: &str) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let beside = file.with_file_name(format!(".{name}.part"));
    if let Err(error) = fs::write(&beside, page) {
        let _ = fs::remove_file(&beside);
        let given = format!("{} ({error})", file.display());
        let allowed = "a file that can be written, in a folder that is there";
        return Err(mistake(&given, allowed));
    }
    let renamed = fs::rename(&beside, file);
    if renamed.is_err() {
        let _ = fs::remove_file(&beside);
    }
    renamed.tried(|| format!("write {}", file.display()))
}
