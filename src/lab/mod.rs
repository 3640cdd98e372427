//! The real thing: servers, links and modes on one machine.

#[allow(clippy::module_inception)]
mod lab;
pub mod link;
pub mod mode;
pub mod netns;
pub mod network;
pub mod node;
pub mod options;
mod relay;
pub mod sandbox;
pub mod servers;
pub mod sql;
mod tls;

pub use lab::{Lab, LabSpec};
