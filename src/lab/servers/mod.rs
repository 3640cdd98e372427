//! Servers: where they come from and how they are started.
//!
//! `catalogue` → `fetch` (`apt`, `npm`, `maven`, `tarball`, or nothing to fetch) → [`Program`] →
//! `datadir`.

mod apt;
mod bootstrap;
pub mod cache;
pub mod catalogue;
pub mod client;
pub mod datadir;
mod maven;
mod npm;
mod program;
mod proxies;
mod tarball;
mod wrap;

pub use cache::Cache;
pub use catalogue::{Catalogue, Dialect, Entry, Flavour, ProxyEntry, Source, Version};
pub use program::{Kept, Program};
pub use proxies::ProxyProgram;
