//! What memory limits need, looked at before anything is begun.

use crate::error::Result;
use crate::lab::memory::Controller;
use crate::study::Study;

/// A study that limits a server's memory needs the memory controller.
///
/// # Errors
/// A mistake that says what is missing.
pub fn need_memory(study: &Study) -> Result<()> {
    let is_limited = study.modes.iter().any(|spec| spec.memory_bytes.is_some());
    match is_limited {
        true => Controller::find().map(drop),
        false => Ok(()),
    }
}
