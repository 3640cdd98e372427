//! Records of real runs, which `tests/reports.rs` has reports of.

use std::fs::File;
use std::io::copy;

use crate::record::store::Record;

/// The kept record of that name.
pub fn kept(name: &str) -> Record {
    let folder = tempfile::tempdir().expect("a folder");
    let packed = File::open(format!("tests/fixtures/{name}.acklab.zip")).expect("a packed record");
    let mut packed = zip::ZipArchive::new(packed).expect("a zip archive");
    let path = folder.path().join("record");
    let mut file = File::create(&path).expect("a file");
    copy(&mut packed.by_index(0).expect("one file in it"), &mut file).expect("its content");
    Record::open(&path).expect("a record")
}
