//! Columns of who waited for a CPU.

use super::figure::{Figures, Part, estimate, number, words};
use super::numbers::Unit::{Ratio, Share};
use crate::analysis::summary::{CellSummary, Contention};

/// Who waited for a CPU, and what emulating took.
pub fn figures() -> Figures<'static> {
    type OfContention = fn(&Contention) -> Option<f64>;
    let waits: [(&str, u32, &str, OfContention); 7] = [
        ("", 0, "all", |of| Some(of.all)),
        ("_writer", 1, "writer", |of| of.writer),
        ("_replicas", 2, "replicas", |of| of.replicas),
        ("_client", 3, "client", |of| of.client),
        ("_front", 4, "front", |of| of.front),
        ("_links", 5, "links", |of| of.links),
        ("_disks", 6, "disks", |of| of.disks),
    ];
    let wait = |(role, place, title, pick): (&str, u32, &str, OfContention)| {
        let name = format!("contention{role}");
        let share = number(&name, Share, move |cell| pick(cell.contention.as_ref()?));
        share.at(Part::Cpus, place, title)
    };
    let emulators = number("emulators_cpu_share", Share, |cell: &CellSummary| {
        Some(cell.contention?.emulators_cpu_share)
    });
    let cpu_ratio = estimate("cpu_ratio", Ratio, |cell| cell.cpu_ratio);
    let shared = words("ratio_shared", |cell| cell.is_ratio_shared.to_string());
    let mut figures: Figures = waits.into_iter().map(wait).collect();
    figures.extend([emulators.at(Part::Cpus, 7, "emulators"), cpu_ratio, shared]);
    figures
}
