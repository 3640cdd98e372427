//! Whether a disk does what it is asked.

use serde::{Deserialize, Serialize};

/// What becomes of requests to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// They are done in their time.
    Works,
    /// They wait until the disk goes on.
    Stalled,
    /// They fail; the disk has power, and loses nothing by that.
    Fails,
    /// They fail for want of power: a cut decides what is left.
    NoPower,
    /// They fail, and what the disk held is gone.
    Destroyed,
}

impl Condition {
    /// Whether every request fails at once.
    pub fn fails(self) -> bool {
        match self {
            Condition::Works | Condition::Stalled => false,
            Condition::Fails | Condition::NoPower | Condition::Destroyed => true,
        }
    }
}
