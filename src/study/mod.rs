//! What is asked. Pure: this room knows no clocks, files, processes or SQL.
//!
//! [`Study`] is the study *as meant*: every default filled in, every value checked. `written` holds
//! the study *as written* (TOML) and turns it into this.

pub mod builtin;
pub mod capabilities;
pub mod limits;
pub mod mode;
pub mod network;
pub mod overrides;
pub mod units;
pub mod workload;
pub mod written;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use builtin::{builtin, builtin_names};
pub use capabilities::{Capabilities, Capability, Flavour};
pub use mode::{Consistency, Mode, ModeSpec, WaitPoint};
pub use network::{Distances, Network};
pub use overrides::Overrides;
pub use workload::{Arrival, MysqlslapLoad, Statement, SysbenchLoad, Workload};

/// A study as meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Short name, as in `acklab run NAME`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Seed of the order of cells and of the load.
    pub seed: u64,
    /// How often every cell is measured.
    pub rounds: u32,
    /// Load before the measured window of each cell.
    pub warmup: Duration,
    /// The measured window of each cell.
    pub measure: Duration,
    /// Sites, in order; node `i` of a mode stands in site `i`. The writer is in the first.
    pub sites: Vec<String>,
    /// Properties shared by all links.
    pub network: Network,
    /// TLS on every connection, replication included.
    pub tls: bool,
    /// The user's own server settings, applied to every server before what the lab pins:
    /// text of an option file.
    pub my_cnf: Option<String>,
    /// Modes to compare, in the order of the table.
    pub modes: Vec<ModeSpec>,
    /// Groups of axes; each is crossed with all modes.
    pub sweeps: Vec<Sweep>,
}

/// One group of axes: the product of all lists, for every mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Load to run.
    pub workloads: Vec<Workload>,
    /// Numbers of client connections.
    pub connections: Vec<u32>,
    /// Distances between the sites.
    pub distances: Vec<Distances>,
    /// Sites of the client.
    pub client_sites: Vec<String>,
}

/// Server variables by name, values as they stand in an option file.
pub type Variables = BTreeMap<String, String>;

/// A name as it can stand in an identifier: lower case, everything but letters, digits, `.` and
/// `_` as a dash. Labels must differ in this form.
pub fn slug(text: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c| !keep(c))
        .filter(|word| !word.is_empty())
        .collect();
    words.join("-")
}
