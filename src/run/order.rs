//! What is to be run, and the part of a record's head that follows from it alone.

use std::path::PathBuf;

use super::whole::Whole;
use crate::plan::Plan;
use crate::record::self_test::Part;
use crate::record::store::Record;
use crate::record::{Header, Host};
use crate::study::Study;
use crate::study::articles::bounds_digest;

/// What is to be run, and where it is to be kept.
pub struct Order {
    pub study: Study,
    pub study_text: String,
    pub plan: Plan,
    pub command_line: Vec<String>,
    /// The record's path.
    pub record: PathBuf,
    /// What the lab's test of itself came to on this host.
    pub self_test: Vec<Part>,
    /// What is in it already, of a run that was cut short and is gone on with, or of the parts
    /// before. Of a part, by the indices of that part.
    pub earlier: Option<Record>,
    /// What this is a part of, where the record is of more.
    pub whole: Option<Whole>,
    /// By what this machine is known again.
    pub machine: Option<String>,
    /// A round that another machine had begun and not ended: it is no part of `earlier`, and goes
    /// out of the record.
    pub round_left_out: Option<u32>,
}

impl Order {
    /// The head of its record, which knows no server yet.
    pub fn header(&self, started_unix_ms: u64, host: Host) -> Header {
        Header {
            study: self.study.clone(),
            study_text: self.study_text.clone(),
            cells: self.plan.cells.clone(),
            command_line: self.command_line.clone(),
            started_unix_ms,
            acklab_version: env!("CARGO_PKG_VERSION").to_owned(),
            host: Host {
                machine: self.machine.clone(),
                ..host
            },
            servers: Vec::new(),
            labs: Vec::new(),
            remarks: Vec::new(),
            endpoints: Vec::new(),
            file_system: self.study.images.as_ref().map(|_| "ext4".to_owned()),
            self_test: Some(self.self_test.clone()),
            bounds_sha256: self.study.article.as_deref().and_then(bounds_digest),
            resumed: Vec::new(),
            part: self.plan.part,
            parts: Vec::new(),
        }
    }
}
