//! What goes into a pack, and the pack itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::file::File;
use super::marks::Mark;
use super::scrub::Scrubber;
use super::{RECORD, hlog, manifest, readme, reports};
use crate::error::{Mistake, Result, Tried};
use crate::record::ServerLog;
use crate::record::store::{Record, copy, server_logs};
use crate::study::endpoint::Tls;

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub files: usize,
    /// In words: how much of what was left out.
    pub left_out: Vec<String>,
}

/// Packs a record into the file `to`, which is replaced if it is there.
///
/// # Errors
/// A mistake if `path` is no record, or `to` cannot be written; a breakdown if the machine refuses.
pub fn write(path: &Path, to: &Path, scrubber: &Scrubber) -> Result<Packed> {
    // Told as what it is, before anything is made.
    Record::open(path)?;
    let folder = tempfile::tempdir().tried(|| "make a folder for a pack".to_owned())?;
    let copied = folder.path().join(RECORD);
    copy(path, &copied, &|table, text| scrubber.column(table, text))?;
    let record = Record::open(&copied)?;
    let bytes = fs::read(&copied).tried(|| "read the copy of the record".to_owned())?;
    let mut files = vec![File::new(RECORD, bytes)];
    files.extend(of_study(&record));
    files.extend(reports::files(&record));
    files.extend(hlog::logs(&record)?);
    files.extend(of_servers(&server_logs(&copied)?));
    let left_out = left_out(&scrubber.counts());
    let readme = readme::text(&record, &files, &left_out);
    files.insert(0, File::new(readme::NAME, readme));
    let listed = files.iter().map(|file| (&file.name[..], &file.bytes[..]));
    let list = manifest::text(listed);
    files.insert(1, File::new(manifest::NAME, list));
    keep(to, &files)?;
    Ok(Packed {
        files: files.len(),
        left_out,
    })
}

/// The study as it was written, what it was run with, and all that is known of the run as a whole.
fn of_study(record: &Record) -> Vec<File> {
    let header = &record.header;
    let mut files = vec![File::new("study.toml", header.study_text.as_bytes())];
    if let Some(settings) = &header.study.my_cnf {
        files.push(File::new("my.cnf", settings.as_bytes()));
    }
    let endpoints = header
        .study
        .modes
        .iter()
        .filter_map(|spec| spec.endpoint.as_ref());
    for (number, endpoint) in (1..).zip(endpoints) {
        if let Tls::Verify { ca_pem: Some(pem) } = &endpoint.tls {
            files.push(File::new(&format!("ca-{number}.pem"), pem.as_bytes()));
        }
    }
    let run = serde_json::to_string_pretty(header).unwrap_or_default();
    files.push(File::new("run.json", run));
    files
}

/// A file for each server's log; labs of one name that came after one another are numbered.
fn of_servers(logs: &[ServerLog]) -> Vec<File> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let file = |log: &ServerLog| {
        let name = format!("{}.{}", plain(&log.lab), plain(&log.node));
        let number = seen.entry(name.clone()).or_default();
        *number += 1;
        let name = match *number {
            1 => format!("logs/{name}.log"),
            number => format!("logs/{name}.{number}.log"),
        };
        File::new(&name, log.log.as_bytes())
    };
    logs.iter().map(file).collect()
}

/// As it can stand in the name of a file.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(plain).collect()
}

fn left_out(counts: &BTreeMap<Mark, usize>) -> Vec<String> {
    let counted = |mark: &Mark| Some(mark.counted(*counts.get(mark)?));
    Mark::ALL.iter().filter_map(counted).collect()
}

/// Written beside and renamed: nobody sees half a pack, and an older one stays until then.
fn keep(to: &Path, files: &[File]) -> Result<()> {
    let wrong = |error: std::io::Error| {
        let given = format!("{} ({error})", to.display());
        let allowed = "a file that can be written, in a folder that is there";
        Mistake::new("acklab pack", "--output", &given, allowed)
    };
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut beside = tempfile::Builder::new()
        .prefix(".acklab-pack.")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(wrong)?;
    let stem = to.file_stem().unwrap_or_default().to_string_lossy();
    let top = plain_stem(&stem);
    zip_all(beside.as_file_mut(), &top, files).tried(|| format!("write {}", to.display()))?;
    let kept = beside.persist(to).map(drop);
    kept.map_err(|error| wrong(error.error).into())
}

/// The one folder that all is in: whoever unpacks it has no loose files.
fn plain_stem(stem: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain = |c: char| if is_plain(c) { c } else { '-' };
    let stem: String = stem.trim_start_matches('.').chars().map(plain).collect();
    if stem.is_empty() {
        "pack".to_owned()
    } else {
        stem
    }
}

/// The same files give the same bytes: no entry has the time of its writing.
fn zip_all(out: impl Write + Seek, top: &str, files: &[File]) -> zip::result::ZipResult<()> {
    let mut zip = ZipWriter::new(out);
    for file in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(file.bytes.len() as u64 >= u64::from(u32::MAX));
        zip.start_file(format!("{top}/{}", file.name), options)?;
        zip.write_all(&file.bytes)?;
    }
    zip.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_one_name_have_files_of_their_own() {
        let log = |lab: &str, node: &str| ServerLog {
            lab: lab.to_owned(),
            node: node.to_owned(),
            log: "x\n".to_owned(),
        };
        let files = of_servers(&[
            log("mysql", "a"),
            log("mysql", "b"),
            log("mysql", "a"),
            log("../m y", "/a"),
        ]);
        let names: Vec<&str> = files.iter().map(|file| &file.name[..]).collect();
        let expected = [
            "logs/mysql.a.log",
            "logs/mysql.b.log",
            "logs/mysql.a.2.log",
            "logs/---m-y.-a.log",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_folder_has_a_plain_name() {
        assert_eq!(plain_stem("compare-2026"), "compare-2026");
        assert_eq!(plain_stem("../a b"), "-a-b");
        assert_eq!(plain_stem(".."), "pack");
    }
}
