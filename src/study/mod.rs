//! What is asked. Pure: this room knows no clocks, files, processes or SQL.
//!
//! [`Study`] is the study *as meant*: every default filled in, every value checked. `written` holds
//! the study *as written* (TOML) and turns it into this.

pub mod articles;
pub mod asked;
pub mod breaking;
pub mod builtin;
pub mod capabilities;
pub mod cpus;
pub mod disk;
pub mod endpoint;
pub mod fault;
pub mod fault_catalogue;
pub mod faults;
pub mod front;
pub mod limits;
pub mod mode;
mod movable;
pub mod moved;
pub mod moving;
pub mod my_cnf;
pub mod network;
pub mod nodes;
pub mod overrides;
pub mod quick;
pub mod screen;
mod slug;
mod sweep;
pub mod units;
pub mod workload;
pub mod written;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use asked::Asked;
pub use builtin::{builtin, builtin_names};
pub use capabilities::{Capabilities, Capability, Flavour};
pub use disk::{Delay, Disk, Disks, ImagePlace, Images, PowerCut};
pub use endpoint::EndpointSpec;
use faults::{ClientsAt, Injection};
pub use front::{Front, FrontAt, Proxy};
pub use mode::{Ack, Consistency, Mode, ModeSpec, Variables, Varied, WaitPoint, WhenShort};
pub use moved::{Moved, Thing};
pub use network::{Distances, Network};
pub use overrides::Overrides;
pub use quick::Quick;
pub use screen::Screen;
pub use slug::slug;
pub use sweep::{Apply, CpuSpeed, Knee, Sweep};
pub use workload::{Arrival, MysqlslapLoad, Statement, SysbenchLoad, Workload};

/// A study as meant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Short name, as in `acklab run NAME`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Key in studies/articles/ of the article whose question this asks again, if any.
    #[serde(default)]
    pub article: Option<String>,
    /// Seed of the order of cells and of the load.
    pub seed: u64,
    /// How often every cell is measured.
    pub rounds: u32,
    /// Load before the measured window of each cell.
    pub warmup: Duration,
    /// The measured window of each cell.
    pub measure: Duration,
    /// Sites, in order; node `i` of a mode stands in site `i` modulo their number ([`nodes`]). The
    /// writer is in the first.
    pub sites: Vec<String>,
    /// Properties shared by all links.
    pub network: Network,
    /// TLS on every connection, replication included.
    pub tls: bool,
    /// The user's own server settings, applied to every server before what the lab pins: text of
    /// an option file, of which no more is kept than servers read.
    pub my_cnf: Option<String>,
    /// The images of emulated disks, if all labs stand on such; else on plain folders.
    #[serde(default)]
    pub images: Option<Images>,
    /// Faults that are injected under load after the last round, each in modes of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<Injection>,
    /// Whether each window has TCP handshakes between client and server before and after it. With
    /// somebody else's servers it always has.
    #[serde(default)]
    pub handshakes: bool,
    /// Which CPUs nodes have for themselves.
    #[serde(default)]
    pub cpus: cpus::Cpus,
    /// Half of a figure's interval over the figure: cells whose main figure is as narrow as that
    /// are measured no more. `None` measures all of them in all rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// No round begins that would end later than this, from the first lab on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Duration>,
    /// Label of the row that the user holds all others against, in place of each server's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Modes to compare, in the order of the table.
    pub modes: Vec<ModeSpec>,
    /// Screening designs whose runs are some of the modes.
    #[serde(default)]
    pub screens: Vec<Screen>,
    /// Groups of axes; each is crossed with all modes, or with those that it names.
    pub sweeps: Vec<Sweep>,
    /// The short run of the same study, if it has one.
    #[serde(default)]
    pub quick: Option<Box<Quick>>,
    /// This is that short run.
    #[serde(default)]
    pub is_quick: bool,
}

impl Study {
    /// Whether clients of that mode, and its replication, use TLS.
    pub fn has_tls(&self, spec: &ModeSpec) -> bool {
        match &spec.endpoint {
            Some(endpoint) => endpoint.tls.is_on(),
            None => spec.tls.unwrap_or(self.tls),
        }
    }

    /// Whether clients of that mode write to all its nodes: in its load, or beside a fault.
    pub fn is_spread(&self, spec: &ModeSpec) -> bool {
        let mut injections = self.injections.iter();
        let is_beside = |one: &Injection| {
            one.fault.clients_at == ClientsAt::EveryNode && one.modes.contains(&spec.label)
        };
        spec.spread || injections.any(is_beside)
    }

    /// The short run; `None` if the study has none.
    pub fn shortened(mut self) -> Option<Study> {
        let quick = *self.quick.take()?;
        self.modes.retain(|spec| quick.modes.contains(&spec.label));
        let is_left = |sweep: &Sweep| self.modes.iter().any(|spec| sweep.has_mode(&spec.label));
        let is_there = |label: &str| self.modes.iter().any(|spec| spec.label == label);
        let short = |injection: &Injection| injection.shortened(quick.trials, is_there);
        Some(Study {
            injections: self.injections.iter().filter_map(short).collect(),
            rounds: quick.rounds,
            warmup: quick.warmup,
            measure: quick.measure,
            sweeps: quick.sweeps.into_iter().filter(is_left).collect(),
            is_quick: true,
            ..self
        })
    }
}

impl Study {
    /// Whether it is of somebody else's servers. One that is asks for no lab at all.
    pub fn is_of_endpoints(&self) -> bool {
        self.modes.iter().any(|spec| spec.mode == Mode::Endpoint)
    }
}
