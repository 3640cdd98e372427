//! What places are called, and how many of them a reader reads.

use crate::analysis::diff::told::{Figure, Open, Place, Verdict};
use crate::record::Flag;
use crate::report::label;

/// A reader reads no more lines of a kind.
pub const LINES_MAX: usize = 20;

/// `mysql group, update_index, 1 connection, 2.15 ms`
pub fn place(place: &Place) -> String {
    format!("{}, {}", place.label, load(place))
}

/// `update_index, 1 connection, 2.15 ms, disks: flush 1 ms, client at b, flush moved`
pub fn load(place: &Place) -> String {
    let parts = [
        place.connections.map(label::connections),
        place.distances.clone(),
        place.disks.as_ref().map(|disks| format!("disks: {disks}")),
        (place.client_site.as_ref()).map(|site| format!("client at {site}")),
        place.moved.as_ref().map(|thing| format!("{thing} moved")),
    ];
    let parts = parts.into_iter().flatten();
    let all = std::iter::once(place.workload.clone()).chain(parts);
    all.collect::<Vec<String>>().join(", ")
}

/// What B calls a row too, where it is another name.
pub fn both(label: &str, label_b: Option<&String>) -> String {
    match label_b {
        Some(label_b) => format!("{label} → {label_b}"),
        None => label.to_owned(),
    }
}

pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Worse => "worse",
        Verdict::Better => "better",
        Verdict::CannotTell => "cannot tell",
        Verdict::Alike => "alike",
    }
}

/// Why nobody can tell.
pub fn why(open: Open) -> String {
    match open {
        Open::OneRound(which) => format!("one round in {}", which.name()),
        Open::Lacks(which) => format!("too little in {}", which.name()),
        Open::LacksInARound(which) => format!("a round of {} lacks it", which.name()),
        Open::SeveralMachines => "several machines".to_owned(),
        Open::Zero => "zero has no ratio".to_owned(),
        Open::AsOneOfMany => "alone it would be shown".to_owned(),
        Open::Wide => "too wide".to_owned(),
    }
}

/// Whether a figure has flags that make one doubt it: that the host was waited for is told by
/// *shared*.
pub fn is_doubtful(figure: &Figure) -> bool {
    let mut flags = figure.flags_a.iter().chain(&figure.flags_b);
    flags.any(|count| count.flag != Flag::HostBound)
}
