//! What became of one mode's commits.

use serde::{Deserialize, Serialize};

use crate::analysis::trial::Toll;

/// What became of one mode's commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModeToll {
    pub label: String,
    pub server: String,
    pub mode: String,
    #[serde(flatten)]
    pub toll: Toll,
}
