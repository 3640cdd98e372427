//! What the switch's parent and the switch say to each other: one JSON document per line.

use std::net::Ipv4Addr;
use std::os::fd::RawFd;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Keep, PairSetting, SwitchCounters};

/// Begins the word that names the file for packets.
const KEPT: &str = "kept=";

/// From the parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Answered as soon as the switch forwards packets.
    Hello,
    /// Applied to packets that leave their node from now on; all or none.
    Set(Vec<PairSetting>),
    /// What the switch itself adds to a round trip.
    Floor(Duration),
    Counters,
    /// Packets of these streams that are handed over from now on are kept, from the beginning of
    /// the file on; all or none. What was kept before is forgotten.
    Keep(Vec<Keep>),
    /// How much was kept.
    Kept,
}

/// From the switch, one for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// To `Hello`, with notes on what the kernel refused.
    Ready(Vec<String>),
    Done,
    Counters(SwitchCounters),
    /// So much of the file is packets, one behind the other; and why not all were kept, if so.
    Kept {
        bytes: u64,
        lost: Option<String>,
    },
    /// Nothing was changed, and why.
    Refused(String),
}

/// The switch's command line: `[seed, kept=fd, name=address=fd…]`. Its parent is at its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    pub seed: u64,
    /// The file that packets are kept in. Without it none can be.
    pub kept: Option<RawFd>,
    pub ports: Vec<PortArgument>,
}

/// One node, as told on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortArgument {
    pub name: String,
    pub address: Ipv4Addr,
    pub tun: RawFd,
}

impl Arguments {
    /// As the words of a command line.
    pub fn to_words(&self) -> Vec<String> {
        let port = |p: &PortArgument| format!("{}={}={}", p.name, p.address, p.tun);
        let seed = std::iter::once(self.seed.to_string());
        let kept = self.kept.map(|fd| format!("{KEPT}{fd}"));
        let ports = self.ports.iter().map(port);
        seed.chain(kept).chain(ports).collect()
    }

    /// Back from words; `None` if they are none of ours.
    pub fn parse(words: &[String]) -> Option<Arguments> {
        let (seed, words) = words.split_first()?;
        let (kept, ports) = match words.split_first() {
            Some((first, ports)) if is_kept(first) => (Some(parse_kept(first)?), ports),
            _ => (None, words),
        };
        Some(Arguments {
            seed: seed.parse().ok()?,
            kept,
            ports: ports.iter().map(|w| parse_port(w)).collect::<Option<_>>()?,
        })
    }
}

/// A node's name may be anything, but its word has two signs of equality.
fn is_kept(word: &str) -> bool {
    word.starts_with(KEPT) && word.matches('=').count() == 1
}

fn parse_kept(word: &str) -> Option<RawFd> {
    word.strip_prefix(KEPT)?.parse().ok()
}

fn parse_port(word: &str) -> Option<PortArgument> {
    let (rest, tun) = word.rsplit_once('=')?;
    let (name, address) = rest.rsplit_once('=')?;
    Some(PortArgument {
        name: name.to_owned(),
        address: address.parse().ok()?,
        tun: tun.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_the_command_line() {
        let port = PortArgument {
            name: "n=1".into(),
            address: Ipv4Addr::new(198, 18, 0, 1),
            tun: 5,
        };
        let mut arguments = Arguments {
            seed: 7,
            kept: None,
            ports: vec![port],
        };
        let words = arguments.to_words();
        assert_eq!(words, ["7", "n=1=198.18.0.1=5"]);
        assert_eq!(Arguments::parse(&words), Some(arguments.clone()));
        arguments.kept = Some(9);
        let words = arguments.to_words();
        assert_eq!(words, ["7", "kept=9", "n=1=198.18.0.1=5"]);
        assert_eq!(Arguments::parse(&words), Some(arguments));
    }

    #[test]
    fn a_node_may_be_called_as_the_file_is() {
        let port = PortArgument {
            name: "kept".into(),
            address: Ipv4Addr::new(198, 18, 0, 1),
            tun: 5,
        };
        let arguments = Arguments {
            seed: 7,
            kept: None,
            ports: vec![port],
        };
        assert_eq!(Arguments::parse(&arguments.to_words()), Some(arguments));
    }

    #[test]
    fn other_words_are_refused() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(Arguments::parse(&[]), None);
        assert_eq!(Arguments::parse(&words("seven")), None);
        assert_eq!(Arguments::parse(&words("7 a=198.18.0.1")), None);
        assert_eq!(Arguments::parse(&words("7 a=localhost=3")), None);
        assert_eq!(Arguments::parse(&words("7 kept=none")), None);
    }
}
