//! Everything that needs real servers, namespaces and links: one serial binary under a
//! machine-wide lock. It wants root and TUN; to leave it out, `cargo test --release -- --skip lab_`.
//!
//! The program is used as a user uses it. Servers come from the user's own cache (fetched into it
//! if they are missing); run folders, records and everything else are the tests' own.

mod common;

#[path = "lab/after.rs"]
mod after;
#[path = "lab/again.rs"]
mod again;
#[path = "lab/applying.rs"]
mod applying;
#[path = "lab/breakdowns.rs"]
mod breakdowns;
#[path = "lab/breaking.rs"]
mod breaking;
#[path = "lab/campaign.rs"]
mod campaign;
#[path = "lab/certificates.rs"]
mod certificates;
#[path = "lab/copies.rs"]
mod copies;
#[path = "lab/cpus.rs"]
mod cpus;
#[path = "lab/disk.rs"]
mod disk;
#[path = "lab/disk_lifetimes.rs"]
mod disk_lifetimes;
#[path = "lab/disk_trouble.rs"]
mod disk_trouble;
#[path = "lab/endpoint_days.rs"]
mod endpoint_days;
#[path = "lab/endpoints.rs"]
mod endpoints;
#[path = "lab/fronts.rs"]
mod fronts;
#[path = "lab/ground.rs"]
mod ground;
#[path = "lab/kills.rs"]
mod kills;
#[path = "lab/limits.rs"]
mod limits;
#[path = "lab/link.rs"]
mod link;
#[path = "lab/link_streams.rs"]
mod link_streams;
#[path = "lab/load.rs"]
mod load;
#[path = "lab/memory.rs"]
mod memory;
#[path = "lab/mistakes.rs"]
mod mistakes;
#[path = "lab/modes.rs"]
mod modes;
#[path = "lab/old.rs"]
mod old;
#[path = "lab/paced.rs"]
mod paced;
#[path = "lab/power.rs"]
mod power;
#[path = "lab/report.rs"]
mod report;
#[path = "lab/schemas.rs"]
mod schemas;
#[path = "lab/studies.rs"]
mod studies;
#[path = "lab/tarball.rs"]
mod tarball;
#[path = "lab/vary.rs"]
mod vary;
