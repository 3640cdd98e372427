//! What is an acknowledged commit worth, and what does it cost? See ARCHITECTURE.md for the rooms.

pub mod analysis;
pub mod cli;
pub mod error;
pub mod lab;
pub mod live;
pub mod load;
pub mod model;
pub mod observe;
pub mod pack;
pub mod plan;
pub mod record;
pub mod report;
pub mod run;
pub mod self_test;
pub mod serve;
pub mod study;
