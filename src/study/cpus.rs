//! Which CPUs nodes are to have.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::limits;

/// As asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cpus {
    /// Two of its own for each node where the host has enough, else shared.
    #[default]
    Auto,
    /// All share all of them.
    Shared,
    /// The writer has one for itself, everybody else shares the rest.
    Writer,
    /// Each node has so many for itself.
    Each(u32),
}

impl Cpus {
    /// What may be written.
    pub fn allowed() -> String {
        format!("{}, \"writer\" or \"shared\"", limits::CPUS.whole_number())
    }
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Cpus, String> {
        let each = |count: &u32| limits::CPUS.holds(u64::from(*count));
        match text {
            "shared" => Ok(Cpus::Shared),
            "writer" => Ok(Cpus::Writer),
            _ => (text.parse().ok().filter(each))
                .map(Cpus::Each)
                .ok_or_else(Cpus::allowed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_word() {
        let read = |text: &str| text.parse::<Cpus>();
        assert_eq!(read("2"), Ok(Cpus::Each(2)));
        assert_eq!(read("writer"), Ok(Cpus::Writer));
        assert_eq!(read("shared"), Ok(Cpus::Shared));
        for wrong in ["0", "65", "-1", "auto", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
