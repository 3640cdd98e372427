//! Which machine measured what.

use std::collections::{BTreeMap, BTreeSet};

use super::trials::Trial;
use super::{Header, Host, Measurement, Resumed};

impl Header {
    /// The machine that went on last.
    pub fn last_host(&self) -> &Host {
        self.resumed.last().map_or(&self.host, |last| &last.host)
    }

    /// The machine that a measurement was made on.
    pub fn host_of(&self, measurement: &Measurement) -> &Host {
        self.host_at(measurement.round, measurement.segment)
    }

    /// The machine that a trial was run on; `None` of an older record, which does not say.
    pub fn host_of_trial(&self, trial: &Trial) -> Option<&Host> {
        (trial.number > 0).then(|| self.host_at(trial.number, trial.segment))
    }

    /// Of a round, or a trial, of that number: in parts both are dealt out alike.
    fn host_at(&self, number: u32, segment: usize) -> &Host {
        let mut parts = self.parts.iter();
        let own = parts.find(|one| one.part.has(number));
        let (first, part) = match own {
            Some(own) => (&own.host, Some(own.part)),
            None => (&self.host, None),
        };
        let is_own = |one: &&Resumed| one.part == part;
        let mut resumed = self.resumed.iter().filter(is_own);
        let went_on = segment.checked_sub(1);
        let went_on = went_on.and_then(|before| resumed.nth(before));
        went_on.map_or(first, |one| &one.host)
    }

    /// All machines, each once, in the order in which parts and their going on name them.
    pub fn hosts(&self) -> Vec<&Host> {
        let parts = self.parts.iter().map(|one| &one.host);
        let resumed = self.resumed.iter().map(|one| &one.host);
        let mut all: Vec<&Host> = Vec::new();
        for host in [&self.host].into_iter().chain(parts).chain(resumed) {
            if !all.iter().any(|known| known.is_same_machine(host)) {
                all.push(host);
            }
        }
        all
    }

    /// The place of a machine among [`Header::hosts`].
    pub fn place_of(&self, host: &Host) -> Option<usize> {
        let hosts = self.hosts();
        hosts.iter().position(|known| known.is_same_machine(host))
    }

    /// Of each round that was measured, the places of the machines that did.
    pub fn places_by_round(&self, all: &[Measurement]) -> BTreeMap<u32, BTreeSet<usize>> {
        let mut rounds: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for one in all {
            let place = self.place_of(self.host_of(one));
            rounds.entry(one.round).or_default().extend(place);
        }
        rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PartOf;
    use crate::record::PartFacts;

    fn host(name: &str) -> Host {
        Host {
            cpus: 2,
            machine: (!name.is_empty()).then(|| name.to_owned()),
            ..Host::default()
        }
    }

    #[test]
    fn a_machine_is_known_again_by_its_digest_or_by_what_it_is() {
        assert!(host("a").is_same_machine(&host("a")));
        assert!(!host("a").is_same_machine(&host("b")));
        assert!(
            host("").is_same_machine(&host("a")),
            "one of them is of an older record"
        );
        let larger = Host {
            cpus: 4,
            ..host("")
        };
        assert!(!host("").is_same_machine(&larger));
        let other_fsync = Host {
            fsync_us_p50: 7.0,
            ..host("")
        };
        assert!(host("").is_same_machine(&other_fsync), "probes stray");
    }

    #[test]
    fn each_measurement_has_its_machine() {
        let resumed = |part, name| Resumed {
            part,
            host: host(name),
            ..Resumed::default()
        };
        let measurement = |round, segment| Measurement {
            round,
            segment,
            ..Measurement::default()
        };
        let mut header = Header {
            host: host("a"),
            resumed: vec![resumed(None, "a"), resumed(None, "b")],
            ..Header::default()
        };
        let name = |header: &Header, round, segment| {
            let host = header.host_of(&measurement(round, segment));
            host.machine.clone().expect("a name")
        };
        let own = [0, 1, 2].map(|segment| name(&header, 1, segment));
        assert_eq!(own, ["a", "a", "b"]);
        assert_eq!(header.last_host(), &host("b"));
        let all: Vec<PartOf> = PartOf::all(2).collect();
        let part = |part: PartOf, name| PartFacts {
            part,
            command_line: vec![],
            started_unix_ms: 0,
            host: host(name),
            self_test: None,
            labs: vec![],
        };
        header.parts = vec![part(all[0], "a"), part(all[1], "c")];
        header.resumed = vec![resumed(Some(all[1]), "d")];
        assert_eq!(name(&header, 3, 0), "a", "of the first part");
        assert_eq!(name(&header, 2, 0), "c");
        assert_eq!(name(&header, 4, 1), "d");
        let of_trial = |number, segment| {
            let trial = Trial {
                number,
                segment,
                ..Trial::default()
            };
            let host = header.host_of_trial(&trial)?;
            host.machine.as_deref()
        };
        let own = [(1, 0), (2, 0), (4, 1)].map(|(number, segment)| of_trial(number, segment));
        assert_eq!(own, [Some("a"), Some("c"), Some("d")]);
        assert_eq!(of_trial(0, 0), None, "an older record does not say");
        let names = header.hosts();
        let names: Vec<&str> = names
            .iter()
            .filter_map(|host| host.machine.as_deref())
            .collect();
        assert_eq!(names, ["a", "c", "d"]);
        let measured = [(3, 0), (2, 0), (4, 0), (4, 1)].map(|(r, s)| measurement(r, s));
        let places = header.places_by_round(&measured);
        let expected = [(2, vec![1]), (3, vec![0]), (4, vec![1, 2])];
        let expected = expected.map(|(round, places)| (round, BTreeSet::from_iter(places)));
        assert_eq!(places, BTreeMap::from(expected));
    }
}
