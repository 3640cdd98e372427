//! Records from which nothing can be foretold, and why.

use crate::record::store::Record;

/// Why a record says nothing of other places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Somebody else's servers: nobody knows their links, disks and CPUs.
    Endpoints,
    /// Trials of faults only.
    Faults,
    /// No finished measurement of any cell that is sound.
    Nothing,
    /// All cells were measured once: nobody knows how they scatter.
    OneRound,
    /// Machines of several sizes measured it: nobody knows whose CPUs a commit is for.
    Machines,
    /// No mode has cells that a line can be drawn through.
    NoLine,
}

impl Refusal {
    /// What it is, and what to give in its place.
    pub fn words(self) -> &'static str {
        match self {
            Refusal::Endpoints => {
                "holds somebody else's servers, whose links, disks and CPUs nobody here knows: \
                 give a record of `acklab compare`"
            }
            Refusal::Faults => {
                "holds trials of faults and no cell of a study: give a record of `acklab compare`; \
                 `acklab judge` tells what its trials came to"
            }
            Refusal::Nothing => {
                "holds no finished measurement that is sound: let its run go on with `--resume`, \
                 or give another record"
            }
            Refusal::OneRound => {
                "holds one round, which does not tell how much figures scatter: give a record of \
                 two rounds or more"
            }
            Refusal::Machines => {
                "holds rounds of machines that have not as many CPUs as each other: give a record \
                 of one machine, or of several alike; each part that was merged is one"
            }
            Refusal::NoLine => {
                "holds no mode whose single commits were measured at two distances or more, with \
                 the client beside the writer: give a record of `acklab compare`, or of \
                 `acklab compare --full`"
            }
        }
    }
}

/// Whether anything can be foretold at all, before a line is drawn.
///
/// # Errors
/// Why not.
pub fn check(record: &Record) -> Result<(), Refusal> {
    let header = &record.header;
    if header.study.is_of_endpoints() || !header.endpoints.is_empty() {
        return Err(Refusal::Endpoints);
    }
    if header.cells.is_empty() && !record.campaigns.is_empty() {
        return Err(Refusal::Faults);
    }
    let sound = record.measurements.iter().filter(|m| !m.is_void());
    let mut rounds: Vec<u32> = sound.map(|measurement| measurement.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    match rounds.len() {
        0 => Err(Refusal::Nothing),
        1 => Err(Refusal::OneRound),
        _ if cpus(record).is_none() => Err(Refusal::Machines),
        _ => Ok(()),
    }
}

/// How many CPUs each machine has that measured anything; `None` where not all have as many.
pub fn cpus(record: &Record) -> Option<u32> {
    let header = &record.header;
    let mut each = record.measurements.iter();
    let first = each.next().map_or(&header.host, |one| header.host_of(one));
    let are_alike = each.all(|one| header.host_of(one).cpus == first.cpus);
    are_alike.then_some(first.cpus)
}
