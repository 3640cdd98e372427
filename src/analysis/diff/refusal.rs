//! Records that cannot be compared, and why.

use std::fmt;
use std::time::Duration;

use serde_json::to_value;

use super::places::Spot;
use super::told::Which;
use crate::plan::Axis;
use crate::record::Header;
use crate::record::store::Record;
use crate::study::{ImagePlace, Images, units};

/// Windows, or warm-ups, may differ by so many times. In longer ones a server does what it does not
/// do in shorter ones: it writes pages back, and its caches are warm.
const TIMES_MAX: f64 = 2.0;
/// So many cells of each record are looked at for what comes nearest.
const LOOKED_AT: usize = 200;

/// Why nothing is compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    NothingMeasured(Which),
    /// One is of a lab, the other of servers that somebody else runs.
    Kinds(Which),
    /// One is on emulated disks, the other on the host's own.
    Disks(Which),
    /// Images of disks are in memory in one record, in files in the other.
    Images(Which),
    FileSystems([Option<String>; 2]),
    /// What all links share is not the same.
    Links,
    Warmups([Duration; 2]),
    Windows([Duration; 2]),
    /// With the axes in which those cells differ that come nearest.
    NothingInCommon(Vec<Axis>),
}

/// What speaks against comparing two records, whatever their cells are.
///
/// # Errors
/// The first of it.
pub fn check([a, b]: [&Record; 2]) -> Result<(), Refusal> {
    for (which, record) in [(Which::A, a), (Which::B, b)] {
        if record.measurements.is_empty() && record.campaigns.is_empty() {
            return Err(Refusal::NothingMeasured(which));
        }
    }
    let headers = [&a.header, &b.header];
    let is_of_endpoints = headers.map(|header| header.study.is_of_endpoints());
    if let Some(which) = only_one(is_of_endpoints) {
        return Err(Refusal::Kinds(which));
    }
    let has_disks = headers.map(|header| header.study.images.is_some());
    if let Some(which) = only_one(has_disks) {
        return Err(Refusal::Disks(which));
    }
    if let Some(which) = only_one(headers.map(is_in_memory)) {
        return Err(Refusal::Images(which));
    }
    if a.header.file_system != b.header.file_system {
        let both = headers.map(|header| header.file_system.clone());
        return Err(Refusal::FileSystems(both));
    }
    if a.header.study.network != b.header.study.network {
        return Err(Refusal::Links);
    }
    let warmups = headers.map(|header| header.study.warmup);
    let are_measured = !a.measurements.is_empty() && !b.measurements.is_empty();
    match are_measured && !are_as_long(warmups) {
        true => Err(Refusal::Warmups(warmups)),
        false => Ok(()),
    }
}

/// Whether two spans are nearly as long, so that they mean the same.
pub fn are_as_long([one, other]: [Duration; 2]) -> bool {
    let (short, long) = (one.min(other), one.max(other));
    long.as_secs_f64() <= TIMES_MAX * short.as_secs_f64()
}

/// The axes in which those two differ that are most alike.
pub fn nearest(a: &[Spot], b: &[Spot], besides: &[Axis]) -> Vec<Axis> {
    let differ = |one: &Spot, other: &Spot| {
        let mut axes = one.point.differs_in(&other.point);
        axes.retain(|axis| !besides.contains(axis));
        axes
    };
    let others = &b[..b.len().min(LOOKED_AT)];
    let all = a.iter().take(LOOKED_AT);
    let each = all.flat_map(|one| others.iter().map(move |other| differ(one, other)));
    each.min_by_key(Vec::len).unwrap_or_default()
}

/// The one of which alone it is so.
fn only_one(both: [bool; 2]) -> Option<Which> {
    match both {
        [true, false] => Some(Which::A),
        [false, true] => Some(Which::B),
        _ => None,
    }
}

fn is_in_memory(header: &Header) -> bool {
    let place = |images: &Images| images.place == ImagePlace::Memory;
    header.study.images.as_ref().is_some_and(place)
}

fn other(which: Which) -> &'static str {
    match which {
        Which::A => Which::B.name(),
        Which::B => Which::A.name(),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spans = |[a, b]: [Duration; 2]| (units::show(a), units::show(b));
        match self {
            Refusal::NothingMeasured(which) => {
                let which = which.name();
                write!(
                    f,
                    "{which} has no finished cell: its run ended before the first one"
                )
            }
            Refusal::Kinds(which) => write!(
                f,
                "{} is of servers that somebody else runs, {} of a lab: their machines and links \
                 are others, and nobody could tell what a difference comes from",
                which.name(),
                other(*which)
            ),
            Refusal::Disks(which) => write!(
                f,
                "{} is on emulated disks, {} on its host's own: a flush is not the same thing \
                 there",
                which.name(),
                other(*which)
            ),
            Refusal::Images(which) => write!(
                f,
                "the emulated disks of {} are in memory, those of {} in files of its host: the \
                 host's disk would be in one of both only",
                which.name(),
                other(*which)
            ),
            Refusal::FileSystems(both) => {
                let [a, b] = both.each_ref().map(|one| one.as_deref().unwrap_or("none"));
                write!(f, "the file system on emulated disks is {a} in A, {b} in B")
            }
            Refusal::Links => f.write_str(
                "the links differ in what all of them share: the round trip within a site, jitter, \
                 loss or rate",
            ),
            Refusal::Warmups(both) => {
                let (a, b) = spans(*both);
                write!(
                    f,
                    "the warm-up is {a} in A, {b} in B: more than twofold, so that servers are in \
                     another state"
                )
            }
            Refusal::Windows(both) => {
                let (a, b) = spans(*both);
                write!(
                    f,
                    "measured windows are {a} in A, {b} in B: more than twofold, and a longer one \
                     has what a shorter one does not reach"
                )
            }
            Refusal::NothingInCommon(axes) => {
                f.write_str("nothing in common: no cell of A is one of B by mode and load")?;
                let names: Vec<String> = axes.iter().map(|axis| name(*axis)).collect();
                match names.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; the nearest differ in: {}", names.join(", ")),
                }
            }
        }
    }
}

/// As JSON has it: `client_site` is read as well as said.
fn name(axis: Axis) -> String {
    let value = to_value(axis).ok();
    let word = value.and_then(|value| value.as_str().map(str::to_owned));
    word.unwrap_or_default().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;
    use crate::study::Mode;

    fn refused(change: impl Fn(&mut Record)) -> Option<Refusal> {
        let record = Example::anatomy().record();
        let mut other = record.clone();
        change(&mut other);
        check([&record, &other]).err()
    }

    fn images(place: ImagePlace) -> Option<Images> {
        Some(Images { place, bytes: 1 })
    }

    #[test]
    fn a_record_is_compared_with_one_of_its_kind() {
        assert_eq!(refused(|_| ()), None);
        let empty = refused(|record| record.measurements.clear());
        assert_eq!(empty, Some(Refusal::NothingMeasured(Which::B)));
        let endpoint = refused(|record| record.header.study.modes[0].mode = Mode::Endpoint);
        assert_eq!(endpoint, Some(Refusal::Kinds(Which::B)));
        let file_system = refused(|record| record.header.file_system = Some("xfs".into()));
        let told = file_system.expect("another").to_string();
        assert!(told.ends_with("is ext4 in A, xfs in B"), "{told}");
        let links = refused(|record| record.header.study.network.loss = 0.01);
        assert_eq!(links, Some(Refusal::Links));
    }

    #[test]
    fn disks_must_be_of_one_kind() {
        let place = |place: Option<ImagePlace>| {
            let mut record = Example::anatomy().record();
            record.header.study.images = place.and_then(images);
            record
        };
        let (memory, folder) = (ImagePlace::Memory, ImagePlace::Folder("x".into()));
        let of = |one, other| check([&place(one), &place(other)]).err();
        let disks = of(Some(memory.clone()), None);
        assert_eq!(disks, Some(Refusal::Disks(Which::A)));
        let moved = of(Some(folder.clone()), Some(memory));
        assert_eq!(moved, Some(Refusal::Images(Which::B)));
        let elsewhere = Some(ImagePlace::Folder("y".into()));
        assert_eq!(of(Some(folder), elsewhere), None);
    }

    #[test]
    fn spans_mean_the_same_up_to_twofold() {
        let ms = Duration::from_millis;
        assert!(are_as_long([ms(200), ms(400)]) && are_as_long([ms(0), ms(0)]));
        assert!(!are_as_long([ms(401), ms(200)]) && !are_as_long([ms(0), ms(1)]));
        let warm = refused(|record| record.header.study.warmup = Duration::from_secs(30));
        let told = warm.expect("another state").to_string();
        assert!(told.contains("1 s in A, 30 s in B"), "{told}");
    }

    #[test]
    fn what_has_nothing_in_common_is_told_by_what_comes_nearest() {
        let told = Refusal::NothingInCommon(vec![Axis::Distances, Axis::ClientSite]).to_string();
        assert!(
            told.ends_with("differ in: distances, client site"),
            "{told}"
        );
    }
}
