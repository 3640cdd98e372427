//! MySQL's client protocol, as much of it as a load driver needs.

pub mod answer;
pub mod encode;
pub mod frame;
pub mod login;
pub mod rows;
