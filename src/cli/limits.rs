//! `limits`: what stops the modes of a study from committing more.

use crate::error::Result;
use crate::lab::slow_cpus;
use crate::plan::Placement;
use crate::run::cpus;
use crate::study::Study;
use crate::study::moving::{self, CpuParts};

/// The study that finds what limits this one, on the CPUs that this host gives its parts.
///
/// # Errors
/// Mistakes: what limits cannot be asked of, or more CPUs than there are.
pub fn of(study: &Study) -> Result<Study> {
    let parts = match slow_cpus::check_allowed() {
        Ok(()) => parts(&cpus::placement(study)?),
        Err(refused) => {
            eprintln!("CPUs are not moved: {refused}");
            CpuParts::None
        }
    };
    moving::limits(study, parts)
}

/// Which parts have CPUs of their own. Where one node of a lab has some, it is the writer.
fn parts(placement: &Placement) -> CpuParts {
    match placement {
        Placement::Shared => CpuParts::Shared,
        Placement::Own { nodes, .. } if nodes.len() < 2 => CpuParts::Writer,
        Placement::Own { .. } => CpuParts::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_placement() {
        let own = |nodes: &[&[u32]]| Placement::Own {
            nodes: nodes.iter().map(|cpus| cpus.to_vec()).collect(),
            rest: vec![6, 7],
        };
        assert_eq!(parts(&Placement::Shared), CpuParts::Shared);
        assert_eq!(parts(&own(&[&[0]])), CpuParts::Writer);
        assert_eq!(parts(&own(&[&[0], &[1], &[2]])), CpuParts::All);
    }
}
