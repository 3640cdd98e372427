//! Cells in seeded, interleaved rounds, and how long they will take.

use serde::{Deserialize, Serialize};

use crate::study::{Distances, Workload};

/// One point to measure. Cells of a study are numbered from 0 in the order of its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Readable and unique: `mysql-semisync/update_index/1c/a/2.15ms`.
    pub id: String,
    /// Index into the study's modes.
    pub mode: usize,
    pub workload: Workload,
    pub connections: u32,
    pub distances: Distances,
    pub client_site: String,
}
