//! Servers: where they come from and how they are started.
//!
//! `catalogue` → `fetch` (`apt`, `tarball`, or nothing to fetch) → [`Program`] → `datadir`.

mod apt;
pub mod cache;
pub mod catalogue;
pub mod datadir;
mod program;
mod tarball;
mod wrap;

pub use cache::Cache;
pub use catalogue::{Catalogue, Dialect, Entry, Flavour, Source, Version};
pub use program::{Kept, Program};
