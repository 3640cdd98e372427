//! What the user of `compare` asks of a built-in study in one line: distances, connections, the
//! row to hold all others against, and where the servers' files are.

use std::time::Duration;

use super::written::sweeps::{default_label, spellings};
use super::written::walk::one_of_names;
use super::{Distances, Mode, Study, Sweep, limits, units, written};
use crate::error::{Error, Mistake, Result};

const PLACE: &str = "command line";

/// Commits that a window is to hold in the slowest mode: a round's median wants 20.
const COMMITS: u32 = 40;
/// Of the slowest mode at the longest distance.
const TRIPS_MAX: f64 = 2.5;
/// What a commit takes without any distance.
const WORK: Duration = Duration::from_millis(4);
/// Rounds of the cells that only tell whom a mode waits for.
const ROUNDS_MOVED: u32 = 3;

/// As on the command line; what is not given leaves what the study says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// `--distances ab=2ms,ac=30ms,bc=30ms`
    pub distances: Option<String>,
    /// `--connections 1,32`
    pub connections: Vec<u32>,
    /// `--baseline LABEL`
    pub baseline: Option<String>,
    /// `--host-disk`
    pub is_on_host_disk: bool,
}

impl Study {
    /// The study with what is asked in place of its own.
    ///
    /// # Errors
    /// All that cannot be asked, at the place `command line`.
    pub fn asked(mut self, asked: &Asked) -> Result<Study> {
        let mut mistakes = Vec::new();
        let distances = asked.distances.as_deref();
        let distances = distances.map(|text| read_distances(text, &self.sites));
        let distances = distances.and_then(|read| read.map_err(|m| mistakes.extend(m)).ok());
        mistakes.extend(
            asked
                .connections
                .iter()
                .filter_map(|&count| wrong_count(count)),
        );
        if let Some(label) = &asked.baseline {
            let held = self.hold_against(label);
            mistakes.extend(held.err());
        }
        if !mistakes.is_empty() {
            return Err(Error::Mistakes(mistakes));
        }
        if distances.is_some() || !asked.connections.is_empty() {
            self.sweeps = sweeps(&self, distances.as_ref(), &asked.connections);
        }
        if asked.is_on_host_disk {
            self.images = None;
            self.sweeps.iter_mut().for_each(|sweep| sweep.disks.clear());
        }
        let is_ok = written::check_length(&self);
        is_ok.map_err(|advice| Mistake::new(PLACE, "", "", &advice))?;
        Ok(self)
    }

    /// Holds all modes against the one of that label, in place of each server's own baseline.
    ///
    /// # Errors
    /// A mistake if there is no such label.
    pub fn hold_against(&mut self, label: &str) -> std::result::Result<(), Mistake> {
        let labels: Vec<&str> = self.modes.iter().map(|spec| &spec.label[..]).collect();
        if !labels.contains(&label) {
            let allowed = one_of_names(label, &labels);
            return Err(Mistake::new(PLACE, "--baseline", label, &allowed));
        }
        for spec in &mut self.modes {
            spec.baseline = (spec.label != label).then(|| label.to_owned());
        }
        self.baseline = Some(label.to_owned());
        Ok(())
    }
}

fn wrong_count(count: u32) -> Option<Mistake> {
    let is_wrong = !limits::CONNECTIONS.holds(count.into());
    let allowed = limits::CONNECTIONS.whole_number();
    is_wrong.then(|| Mistake::new(PLACE, "--connections", &count.to_string(), &allowed))
}

/// `ab=2ms,ac=30ms,bc=30ms`: a round-trip time for each pair of sites.
///
/// # Errors
/// All that is wrong with it, at `--distances` of the command line.
pub fn read_distances(
    text: &str,
    sites: &[String],
) -> std::result::Result<Distances, Vec<Mistake>> {
    let wrong = |given: &str, allowed: &str| Mistake::new(PLACE, "--distances", given, allowed);
    let mut mistakes = Vec::new();
    let mut pairs: Vec<(String, String, Duration)> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (key, time) = part.split_once('=').unwrap_or((part, ""));
        let rtt = units::duration(time.trim()).filter(|rtt| limits::RTT.holds(*rtt));
        match (pair(key.trim(), sites), rtt) {
            (None, _) => mistakes.push(wrong(part, &example(sites))),
            (_, None) => mistakes.push(wrong(part, &limits::RTT.time_for(Some(time.trim())))),
            (Some((a, b)), Some(_)) if pairs.iter().any(|p| (&p.0, &p.1) == (&a, &b)) => {
                mistakes.push(wrong(part, "must name each pair of sites once"));
            }
            (Some((a, b)), Some(rtt)) => pairs.push((a, b, rtt)),
        }
    }
    let all = sites.len() * sites.len().saturating_sub(1) / 2;
    if mistakes.is_empty() && pairs.len() < all {
        mistakes.push(wrong(text, &example(sites)));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    pairs.sort();
    Ok(apart(pairs))
}

/// All sites as far from each other.
pub fn equally_apart(sites: &[String], rtt: Duration) -> Distances {
    let pairs = pairs_of(sites).into_iter();
    apart(pairs.map(|(one, other)| (one, other, rtt)).collect())
}

fn apart(pairs: Vec<(String, String, Duration)>) -> Distances {
    Distances {
        label: default_label(&pairs),
        pairs,
        ..Distances::default()
    }
}

/// The two sites that a key names, under any spelling, in the study's order.
fn pair(key: &str, sites: &[String]) -> Option<(String, String)> {
    let is_key = |a: &String, b: &String| {
        let (usual, others) = spellings(a, b);
        usual == key || others.iter().any(|other| other == key)
    };
    let pairs = pairs_of(sites);
    let mut pairs = pairs.into_iter();
    pairs.find(|(a, b)| is_key(a, b))
}

fn pairs_of(sites: &[String]) -> Vec<(String, String)> {
    let of = |(index, a): (usize, &String)| {
        let others = sites[index + 1..].iter();
        others.map(|b| (a.clone(), b.clone())).collect::<Vec<_>>()
    };
    sites.iter().enumerate().flat_map(of).collect()
}

fn example(sites: &[String]) -> String {
    let pairs = pairs_of(sites);
    let each = pairs
        .iter()
        .map(|(a, b)| format!("{}=2ms", spellings(a, b).0));
    let each: Vec<String> = each.collect();
    format!(
        "must be a round-trip time for each pair of sites: {}",
        each.join(",")
    )
}

/// Paced commits at one connection, then the others as a closed loop; at distances that differ also
/// what tells whom a mode waits for.
fn sweeps(study: &Study, distances: Option<&Distances>, connections: &[u32]) -> Vec<Sweep> {
    let has_one = connections.is_empty() || connections.contains(&1);
    let many: Vec<u32> = connections
        .iter()
        .copied()
        .filter(|count| *count > 1)
        .collect();
    let paced = study.sweeps.iter().filter(|sweep| !sweep.paces.is_empty());
    let paced: Vec<&Sweep> = paced.collect();
    let mut all: Vec<Sweep> = Vec::new();
    match distances {
        None if has_one => all.extend(paced.into_iter().cloned()),
        Some(at) if has_one => {
            let first = paced.first().map(|sweep| placed(study, sweep, at));
            all.extend(first.iter().flat_map(|sweep| moved(study, sweep, at)));
            all.splice(0..0, first);
        }
        _ => {}
    }
    if connections.is_empty() || !many.is_empty() {
        all.extend(shared(study, distances, &many));
    }
    all
}

/// The closed loops; a study without one has its first sweep as one, where many connections are
/// asked for.
fn shared(study: &Study, distances: Option<&Distances>, many: &[u32]) -> Vec<Sweep> {
    let own = study.sweeps.iter().filter(|sweep| sweep.paces.is_empty());
    let mut all: Vec<Sweep> = own.cloned().collect();
    if all.is_empty() && !many.is_empty() {
        let first = study.sweeps.first().cloned();
        all.extend(first.map(|sweep| Sweep {
            paces: vec![],
            ..sweep
        }));
    }
    if let Some(at) = distances {
        all.truncate(1);
        all.iter_mut()
            .for_each(|sweep| sweep.distances = vec![at.clone()]);
    }
    if !many.is_empty() {
        all.iter_mut()
            .for_each(|sweep| sweep.connections = many.to_vec());
    }
    all
}

/// The sweep at these distances, its window long enough for them.
fn placed(study: &Study, sweep: &Sweep, at: &Distances) -> Sweep {
    let longest = at
        .pairs
        .iter()
        .map(|(_, _, rtt)| *rtt)
        .max()
        .unwrap_or_default();
    let pace = sweep.paces.iter().copied().max().unwrap_or_default();
    let needed = (pace + WORK + longest.mul_f64(TRIPS_MAX)) * COMMITS;
    let own = sweep.measure.unwrap_or(study.measure);
    Sweep {
        distances: vec![at.clone()],
        measure: Some(needed.max(own).min(limits::MEASURE.high)),
        ..sweep.clone()
    }
}

/// The same with one distance moved after the other, in the modes that can wait for a peer. Two
/// peers at different distances are needed, or there is nothing to tell apart.
fn moved(study: &Study, sweep: &Sweep, at: &Distances) -> Option<Sweep> {
    let [writer, b, c] = &study.sites[..] else {
        return None;
    };
    let (to_b, to_c, between) = (at.rtt(writer, b)?, at.rtt(writer, c)?, at.rtt(b, c)?);
    if to_b == to_c {
        return None;
    }
    let placed = |to_b, to_c, between| {
        let pair = |from: &String, to: &String, rtt| (from.clone(), to.clone(), rtt);
        apart(vec![
            pair(writer, b, to_b),
            pair(writer, c, to_c),
            pair(b, c, between),
        ])
    };
    let (near, far) = (to_b.min(to_c), to_b.max(to_c));
    let waits = |spec: &&super::ModeSpec| spec.nodes > 1 && spec.mode != Mode::Async;
    let modes = study.modes.iter().filter(waits);
    let modes: Vec<String> = modes.map(|spec| spec.label.clone()).collect();
    (!modes.is_empty()).then(|| Sweep {
        distances: vec![
            placed(to_c, to_b, between),
            placed(near, near, near),
            placed(far, far, far),
        ],
        modes,
        rounds: Some(ROUNDS_MOVED),
        ..sweep.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::written::sample;

    const TEXT: &str = r#"
rounds = 4
measure = "2s"
disk = { flush = "0.5ms" }

[[mode]]
server = "mysql"
mode = "single"

[[mode]]
server = "mysql"
mode = "async"

[[mode]]
server = "mysql"
mode = "group"

[[sweep]]
workload = "update_index"
pace = "10ms"
rtt = ["0.25ms", "8ms"]

[[sweep]]
workload = "update_index"
connections = 4
rtt = "2.15ms"
"#;

    fn zones() -> Asked {
        Asked {
            distances: Some("ab=2ms,ca=30ms, bc=30ms".to_owned()),
            connections: vec![1, 32],
            ..Asked::default()
        }
    }

    fn said(asked: &Asked) -> String {
        sample(TEXT).asked(asked).unwrap_err().to_string()
    }

    #[test]
    fn zones_are_measured_paced_moved_and_shared() {
        let study = sample(TEXT).asked(&zones()).unwrap();
        let [paced, moved, shared] = &study.sweeps[..] else {
            panic!("{:?}", study.sweeps);
        };
        assert_eq!(paced.distances[0].label, "a-b 2 ms, a-c 30 ms, b-c 30 ms");
        assert_eq!(
            (paced.distances.len(), &paced.connections[..]),
            (1, &[1][..])
        );
        // 40 commits of 10 + 4 + 75 ms.
        assert_eq!(paced.measure, Some(Duration::from_millis(3_560)));
        let labels: Vec<&str> = moved.distances.iter().map(|d| &d.label[..]).collect();
        assert_eq!(labels, ["a-b 30 ms, a-c 2 ms, b-c 30 ms", "2 ms", "30 ms"]);
        assert_eq!(moved.modes, ["mysql group"]);
        assert_eq!((moved.measure, moved.rounds), (paced.measure, Some(3)));
        assert_eq!(
            (&shared.connections[..], shared.paces.len()),
            (&[32][..], 0)
        );
        assert_eq!(shared.distances, paced.distances);
    }

    #[test]
    fn peers_equally_far_need_no_moving() {
        let asked = Asked {
            distances: Some("ab=2ms,ac=2ms,bc=1ms".to_owned()),
            ..Asked::default()
        };
        let study = sample(TEXT).asked(&asked).unwrap();
        let connections: Vec<&[u32]> = study.sweeps.iter().map(|s| &s.connections[..]).collect();
        assert_eq!(connections, [&[1][..], &[4]]);
    }

    #[test]
    fn connections_alone_leave_the_distances() {
        let asked = |connections: &[u32]| Asked {
            connections: connections.to_vec(),
            ..Asked::default()
        };
        let study = |connections| sample(TEXT).asked(&asked(connections)).unwrap();
        assert_eq!(study(&[1]).sweeps, sample(TEXT).sweeps[..1]);
        let many = study(&[8, 16]);
        assert_eq!(many.sweeps.len(), 1);
        assert_eq!(many.sweeps[0].connections, [8, 16]);
        assert_eq!(many.sweeps[0].distances[0].label, "2.15 ms");
    }

    #[test]
    fn many_connections_need_no_sweep_of_their_own() {
        let parts: Vec<&str> = TEXT.split("[[sweep]]").collect();
        let study = sample(&parts[..2].join("[[sweep]]"))
            .asked(&zones())
            .unwrap();
        let last = study.sweeps.last().unwrap();
        assert_eq!((&last.connections[..], last.paces.len()), (&[32][..], 0));
        assert_eq!(study.sweeps.len(), 3);
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let asked = Asked {
            distances: Some("ab=2,ax=3ms,ba=1ms,ab=1ms".to_owned()),
            connections: vec![0],
            baseline: Some("mysql asinc".to_owned()),
            ..Asked::default()
        };
        let said = said(&asked);
        for part in [
            "given ab=2; must be a time from 0 to 60 s, with its unit, such as \"2.15ms\"",
            "given ax=3ms; must be a round-trip time for each pair of sites: ab=2ms,",
            "each pair of sites once",
            "--connections: given 0",
            "did you mean mysql async?",
            "mysql group",
        ] {
            assert!(said.contains(part), "{part} is not in\n{said}");
        }
        let lacking = Asked {
            distances: Some("ab=2ms".to_owned()),
            ..Asked::default()
        };
        assert!(self::said(&lacking).contains("each pair"));
    }

    #[test]
    fn one_row_can_be_the_baseline_of_all() {
        let mut study = sample(TEXT);
        study.hold_against("mysql async").unwrap();
        let baselines: Vec<Option<&str>> = study
            .modes
            .iter()
            .map(|spec| spec.baseline.as_deref())
            .collect();
        let held = Some("mysql async");
        assert_eq!(baselines, [held, None, held]);
        assert_eq!(study.baseline.as_deref(), held);
    }

    #[test]
    fn the_host_s_disk_takes_the_place_of_emulated_ones() {
        let asked = Asked {
            is_on_host_disk: true,
            ..Asked::default()
        };
        let study = sample(TEXT).asked(&asked).unwrap();
        assert_eq!(study.images, None);
        assert!(study.sweeps.iter().all(|sweep| sweep.disks.is_empty()));
        assert!(sample(TEXT).images.is_some());
    }
}
