//! The checker, checked.

pub mod made;
pub mod planted;

mod garbage;
mod generated;
mod mutants;
