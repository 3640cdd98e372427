//! Kept records: those of `tests/fixtures`, each packed.

use std::fs::File;
use std::io::copy;
use std::path::{Path, PathBuf};

use zip::ZipArchive;

/// The record of that name, unpacked into a folder.
///
/// # Panics
/// If there is none, or the folder cannot be written to.
pub fn unpacked(name: &str, folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packed = root.join(format!("tests/fixtures/{name}.acklab.zip"));
    let packed = File::open(packed).expect("a packed record");
    let mut packed = ZipArchive::new(packed).expect("a zip archive");
    let mut inside = packed.by_index(0).expect("one file in it");
    let path = folder.join(format!("{name}.acklab"));
    copy(&mut inside, &mut File::create(&path).expect("a file")).expect("its content");
    path
}
