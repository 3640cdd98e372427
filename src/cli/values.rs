//! Values of options, read.

use std::time::Duration;

use crate::study::units;

/// A span of time.
///
/// # Errors
/// What is allowed.
pub fn span(text: &str) -> std::result::Result<Duration, String> {
    units::duration(text).ok_or_else(|| "a time with its unit: 250us, 2.15ms, 1s, 3m".to_owned())
}
