//! The real thing: namespaces, links, disks, servers. This room knows nothing of load's results.

pub mod link;
pub mod netns;
