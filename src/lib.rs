//! What is an acknowledged commit worth, and what does it cost? See ARCHITECTURE.md for the rooms.

pub mod analysis;
pub mod error;
pub mod plan;
pub mod record;
pub mod report;
pub mod study;
