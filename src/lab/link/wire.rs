//! What the switch's parent and the switch say to each other: one JSON document per line.

use std::net::Ipv4Addr;
use std::os::fd::RawFd;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{PairSetting, SwitchCounters};

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
}

/// From the switch, one for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// To `Hello`, with notes on what the kernel refused.
    Ready(Vec<String>),
    Done,
    Counters(SwitchCounters),
    /// Nothing was changed, and why.
    Refused(String),
}

/// The switch's command line: `[seed, name=address=fd…]`. Its parent is at its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    pub seed: u64,
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
        seed.chain(self.ports.iter().map(port)).collect()
    }

    /// Back from words; `None` if they are none of ours.
    pub fn parse(words: &[String]) -> Option<Arguments> {
        let (seed, ports) = words.split_first()?;
        Some(Arguments {
            seed: seed.parse().ok()?,
            ports: ports.iter().map(|w| parse_port(w)).collect::<Option<_>>()?,
        })
    }
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
        let arguments = Arguments {
            seed: 7,
            ports: vec![port],
        };
        let words = arguments.to_words();
        assert_eq!(words, ["7", "n=1=198.18.0.1=5"]);
        assert_eq!(Arguments::parse(&words), Some(arguments));
    }

    #[test]
    fn other_words_are_refused() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(Arguments::parse(&[]), None);
        assert_eq!(Arguments::parse(&words("seven")), None);
        assert_eq!(Arguments::parse(&words("7 a=198.18.0.1")), None);
        assert_eq!(Arguments::parse(&words("7 a=localhost=3")), None);
    }
}
