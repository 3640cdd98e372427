//! The real thing: servers, links and modes on one machine.

pub mod affinity;
pub mod child;
pub mod cluster_metadata;
pub mod connections;
pub mod disk;
mod ended;
pub mod endpoint;
pub mod front;
pub mod handshake;
pub mod health;
#[allow(clippy::module_inception)]
mod lab;
pub mod link;
pub mod memory;
pub mod mode;
pub mod netns;
pub mod network;
pub mod node;
pub mod options;
pub mod recovery;
mod redo;
mod relay;
pub mod run_folder;
pub mod sandbox;
pub mod servers;
pub mod slow_cpus;
pub mod sql;
mod tls;

pub use lab::{Lab, LabSpec};
