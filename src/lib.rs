//! What is an acknowledged commit worth, and what does it cost? See ARCHITECTURE.md for the rooms.

pub mod error;
pub mod load;
pub mod plan;
pub mod record;
pub mod study;
