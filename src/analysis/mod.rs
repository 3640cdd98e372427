//! From a record to what can be said of it. Pure: this room knows no servers and no files.

pub mod interval;
