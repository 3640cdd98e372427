//! The delays that a measurement really had: what its own packets and flushes waited in the window,
//! and, where that was not kept or is too little, what probes beside the window found.

use std::collections::BTreeMap;

use crate::analysis::{cells, disks};
use crate::plan::Point;
use crate::record::{LinkTraffic, Measurement};
use crate::study::nodes;

/// Two sites, in the order of their names.
pub type Pair = (String, String);

/// Fewer packets each way, or flushes, than this say little of a delay.
const NEEDED: u64 = 20;

/// Round-trip times by pair of sites, and flush times by site; in µs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delays {
    pub rtts_us: BTreeMap<Pair, f64>,
    pub flushes_us: BTreeMap<String, f64>,
    /// Of the writer's disk alone.
    pub writer_flush_us: Option<f64>,
}

/// As probes found them before and after the window.
pub fn probed(measurement: &Measurement) -> Delays {
    let rtts = cells::rtts_by_site(measurement).into_iter();
    Delays {
        rtts_us: rtts.map(|(pair, (_, got))| (pair, got)).collect(),
        flushes_us: disks::flush_us_by_site(measurement),
        writer_flush_us: disks::flush_us_of_writer(measurement),
    }
}

/// As packets and flushes had them in the window.
pub fn in_window(measurement: &Measurement, point: &Point, sites: &[String]) -> Delays {
    let stands = sites_of_nodes(point, sites);
    Delays {
        rtts_us: rtts_in_window(&measurement.links, &stands),
        flushes_us: flushes_in_window(measurement, &stands),
        writer_flush_us: disks::writer(measurement).and_then(|disk| {
            let mut mean = Mean::default();
            mean.add(disk.flush_time_us, disk.flushes);
            mean.value()
        }),
    }
}

fn sites_of_nodes(point: &Point, sites: &[String]) -> BTreeMap<String, String> {
    let stands = nodes::sites_of(sites, point.nodes.max(1));
    let servers = nodes::names(&stands).into_iter().zip(stands);
    let client = |site: &String| (format!("client.{site}"), site.clone());
    servers.chain(sites.iter().map(client)).collect()
}

/// Both ways together: means over all packets from one site to the other.
fn rtts_in_window(links: &[LinkTraffic], stands: &BTreeMap<String, String>) -> BTreeMap<Pair, f64> {
    let mut ways: BTreeMap<Pair, Mean> = BTreeMap::new();
    for link in links {
        let (from, to) = (stands.get(&link.from), stands.get(&link.to));
        if let (Some(from), Some(to), Some(delay_us)) = (from, to, link.delay_us) {
            let way = ways.entry((from.clone(), to.clone())).or_default();
            way.add(delay_us * link.packets as f64, link.packets);
        }
    }
    let back = |(from, to): &Pair| ways.get(&(to.clone(), from.clone()));
    let there = ways.iter().filter(|((from, to), _)| from < to);
    let both =
        |(pair, there): (&Pair, &Mean)| Some((pair.clone(), there.value()? + back(pair)?.value()?));
    there.filter_map(both).collect()
}

fn flushes_in_window(
    measurement: &Measurement,
    stands: &BTreeMap<String, String>,
) -> BTreeMap<String, f64> {
    let mut means: BTreeMap<String, Mean> = BTreeMap::new();
    for disk in &measurement.disks {
        if let Some(site) = stands.get(&disk.node) {
            let mean = means.entry(site.clone()).or_default();
            mean.add(disk.flush_time_us, disk.flushes);
        }
    }
    let told = |(site, mean): (String, Mean)| Some((site, mean.value()?));
    means.into_iter().filter_map(told).collect()
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, sum: f64, count: u64) {
        self.sum += sum;
        self.count += count;
    }

    fn value(&self) -> Option<f64> {
        (self.count >= NEEDED).then(|| self.sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::DiskUse;

    fn link(from: &str, to: &str, packets: u64, delay_us: Option<f64>) -> LinkTraffic {
        LinkTraffic {
            from: from.into(),
            to: to.into(),
            packets,
            delay_us,
            ..LinkTraffic::default()
        }
    }

    fn of(links: Vec<LinkTraffic>) -> Delays {
        let measurement = Measurement {
            links,
            disks: vec![DiskUse {
                node: "a".into(),
                flushes: 20,
                flush_time_us: 80_400.0,
                ..DiskUse::default()
            }],
            ..Measurement::default()
        };
        let point = Point {
            nodes: 4,
            ..Point::default()
        };
        in_window(&measurement, &point, &["a", "b", "c"].map(str::to_owned))
    }

    #[test]
    fn both_ways_make_a_round_trip_and_every_packet_counts_alike() {
        let delays = of(vec![
            link("a", "b", 30, Some(4_000.0)),
            link("a2", "b", 10, Some(4_400.0)),
            link("b", "a", 20, Some(4_020.0)),
            link("client.a", "a", 99, Some(120.0)),
        ]);
        let pair = ("a".to_owned(), "b".to_owned());
        assert_eq!(delays.rtts_us, [(pair, 8_120.0)].into());
        assert_eq!(delays.flushes_us, [("a".to_owned(), 4_020.0)].into());
    }

    #[test]
    fn a_far_client_tells_of_its_way() {
        let delays = of(vec![
            link("client.b", "a", 20, Some(3_000.0)),
            link("a", "client.b", 20, Some(3_010.0)),
        ]);
        assert_eq!(
            delays.rtts_us.values().copied().collect::<Vec<f64>>(),
            [6_010.0]
        );
    }

    #[test]
    fn few_packets_one_way_only_or_an_older_record_tell_nothing() {
        let few = of(vec![
            link("a", "b", 30, Some(4_000.0)),
            link("b", "a", 19, Some(4_000.0)),
            link("a", "c", 30, Some(4_000.0)),
        ]);
        assert_eq!(few.rtts_us, BTreeMap::new());
        let older = of(vec![link("a", "b", 30, None), link("b", "a", 30, None)]);
        assert_eq!(older.rtts_us, BTreeMap::new());
    }
}
