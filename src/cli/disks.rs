//! What emulated disks need, looked at before anything is begun.

use crate::error::{Error, Result};
use crate::lab::disk::{check_room, missing};
use crate::plan::labs;
use crate::study::Study;

/// A study on emulated disks needs what they are made of, and room for their images.
///
/// # Errors
/// Mistakes that tell all that this machine lacks.
pub fn need_disks(study: &Study) -> Result<()> {
    let Some(images) = &study.images else {
        return Ok(());
    };
    let missing = missing();
    if !missing.is_empty() {
        return Err(Error::Mistakes(missing));
    }
    check_room(images, image_count(study))
}

/// Every node of every lab has an image: all labs stand at the same time.
fn image_count(study: &Study) -> u64 {
    labs(study).iter().map(|lab| u64::from(lab.nodes)).sum()
}
