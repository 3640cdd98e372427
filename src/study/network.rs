//! Distances between sites.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// TCP handshakes of one probe. Servers lock out a host with a hundred connections in a row that
/// come to nothing; at somebody else's servers a login after each probe ends the row.
pub const HANDSHAKES: usize = 11;

/// What all links share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Round-trip time between two nodes of the same site (the client and its server, say).
    pub rtt_within_site: Duration,
    /// Largest extra one-way delay, drawn evenly from zero to this, and anew after a while; order
    /// kept.
    pub jitter: Duration,
    /// Share of packets lost between sites, 0 to 1.
    pub loss: f64,
    /// Rate of each direction of each link between sites; `None` for no limit.
    pub rate_bits_per_s: Option<u64>,
}

/// A matrix of round-trip times between sites.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// What tables call it: `2.15 ms`, or `b near (2.15 ms), c far (8 ms)`.
    pub label: String,
    /// Round-trip time of each pair of sites, both orders meaning the same; each pair once.
    pub pairs: Vec<(String, String, Duration)>,
    /// The network's jitter between sites, where it is another here.
    #[serde(default)]
    pub jitter: Option<Duration>,
    /// Rate of each link between sites, where it is another here.
    #[serde(default)]
    pub rate_bits_per_s: Option<u64>,
}

impl Distances {
    /// The round-trip time between two sites; `None` for a site with itself or an unknown pair.
    pub fn rtt(&self, from: &str, to: &str) -> Option<Duration> {
        let is_pair = |a: &str, b: &str| (a == from && b == to) || (a == to && b == from);
        self.pairs
            .iter()
            .find(|(a, b, _)| is_pair(a, b))
            .map(|(_, _, rtt)| *rtt)
    }

    /// The one round-trip time that all pairs share, if they do and nothing else moves it.
    pub fn equal_rtt(&self) -> Option<Duration> {
        if self.jitter.is_some() || self.rate_bits_per_s.is_some() {
            return None;
        }
        let (_, _, first) = self.pairs.first()?;
        self.pairs
            .iter()
            .all(|(_, _, rtt)| rtt == first)
            .then_some(*first)
    }
}
