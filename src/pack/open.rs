//! The record of a pack. A pack may come from anybody: nothing of it is written anywhere but its
//! record, and that only where it is asked for.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::{RECORD, manifest};
use crate::error::{Error, Mistake, Result, Tried};

/// What every zip archive begins with.
const MAGIC: &[u8; 4] = b"PK\x03\x04";
/// A list of 100,000 files.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;
/// More than any record has.
const FILE_BYTES_MAX: u64 = 16 << 30;
/// How much is read at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Whether a file is a zip archive, by its first bytes.
pub fn is_pack(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *MAGIC
}

/// Writes the record of a pack into `folder`, and gives its path. All files of the pack are held
/// against its list of digests.
///
/// # Errors
/// A mistake if it is no pack, or one that is not whole.
pub fn take_out(pack: &Path, folder: &Path) -> Result<PathBuf> {
    let file = File::open(pack).map_err(|error| no_pack(pack, &error.to_string()))?;
    let mut zip = ZipArchive::new(file).map_err(|error| damaged(pack, &error.to_string()))?;
    let (top, list) = list(pack, &mut zip)?;
    let list = manifest::read(&list)
        .ok_or_else(|| damaged(pack, &format!("{} is no list of digests", manifest::NAME)))?;
    check_names(pack, &zip, &top, &list)?;
    let path = folder.join(RECORD);
    for (name, digest) in &list {
        let is_record = *name == RECORD;
        let mut record = match is_record {
            true => Some(File::create(&path).tried(|| format!("write {}", path.display()))?),
            false => None,
        };
        let whole = format!("{top}{name}");
        let read = read_one(&mut zip, &whole, record.as_mut());
        let got = read.map_err(|error| damaged(pack, &format!("{name}: {error}")))?;
        if got != *digest {
            let list = manifest::NAME;
            let status = format!("{name} is not what {list} says that it is");
            return Err(damaged(pack, &status));
        }
    }
    match path.exists() {
        true => Ok(path),
        false => Err(no_pack(pack, &format!("a zip archive without {RECORD}"))),
    }
}

/// The folder that everything is in, with its slash, and the list of digests.
fn list(pack: &Path, zip: &mut ZipArchive<File>) -> Result<(String, String)> {
    let ending = format!("/{}", manifest::NAME);
    let is_list = |name: &Cow<str>| name.ends_with(&ending);
    let name = zip.file_names().filter_map(|name| name.ok()).find(is_list);
    let name = name.map(Cow::into_owned);
    let missing = || no_pack(pack, &format!("a zip archive without {}", manifest::NAME));
    let name = name.ok_or_else(missing)?;
    let entry = zip.by_name(&name);
    let entry = entry.map_err(|error| damaged(pack, &error.to_string()))?;
    let mut text = String::new();
    let read = entry.take(MANIFEST_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| damaged(pack, &format!("{}: {error}", manifest::NAME)))?;
    let top = name.strip_suffix(manifest::NAME).unwrap_or_default();
    Ok((top.to_owned(), text))
}

/// Every file but the list is in the list.
fn check_names(
    pack: &Path,
    zip: &ZipArchive<File>,
    top: &str,
    list: &[(&str, &str)],
) -> Result<()> {
    let known: HashSet<&str> = list.iter().map(|(name, _)| *name).collect();
    let is_listed = |name: &str| {
        let name = name.strip_prefix(top).unwrap_or_default();
        name == manifest::NAME || known.contains(name)
    };
    let mut names = zip.file_names().map(|name| name.unwrap_or_default());
    match names.find(|name| !is_listed(name)) {
        Some(name) => {
            let status = format!("{name} is not in {}", manifest::NAME);
            Err(damaged(pack, &status))
        }
        None => Ok(()),
    }
}

/// Reads a file of a pack to its end, into another one if there is one; its digest.
fn read_one(
    zip: &mut ZipArchive<File>,
    name: &str,
    mut into: Option<&mut File>,
) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let mut entry = zip.by_name(name)?.take(FILE_BYTES_MAX);
    let mut digest = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = entry.read(&mut chunk)?;
        if count == 0 {
            return Ok(manifest::hex(&digest.finalize()));
        }
        digest.update(&chunk[..count]);
        if let Some(file) = &mut into {
            file.write_all(&chunk[..count])?;
        }
    }
}

fn no_pack(path: &Path, given: &str) -> Error {
    let place = path.display().to_string();
    let allowed = "name a pack that `acklab pack` wrote, or a record";
    Mistake::new(&place, "", given, allowed).into()
}

fn damaged(path: &Path, status: &str) -> Error {
    let place = path.display().to_string();
    let given = format!("a damaged pack ({status})");
    Mistake::new(&place, "", &given, "take a whole copy of it").into()
}
