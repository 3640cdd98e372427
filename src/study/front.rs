//! Fronts: what clients connect to in place of a server.

use serde::{Deserialize, Serialize};

/// A program that hands connections on to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proxy {
    /// MySQL Router with static routes.
    Router,
    /// MySQL Router as it bootstraps itself against an InnoDB Cluster: it finds the primaries by
    /// the cluster's metadata, and TLS ends in it.
    RouterBootstrapped,
    /// HAProxy in TCP mode.
    Haproxy,
}

impl Proxy {
    /// Its name in studies; where it is a program of its own, in the catalogue too.
    pub fn name(self) -> &'static str {
        match self {
            Proxy::Router => "router",
            Proxy::RouterBootstrapped => "router-bootstrapped",
            Proxy::Haproxy => "haproxy",
        }
    }

    /// The one of the same program that the catalogue knows.
    pub fn program(self) -> Proxy {
        match self {
            Proxy::Router | Proxy::RouterBootstrapped => Proxy::Router,
            Proxy::Haproxy => Proxy::Haproxy,
        }
    }
}

/// Where a front runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrontAt {
    /// Beside its clients: between them and it lies no link.
    Client,
    /// At a place of its own in its clients' site.
    Own,
}

impl FrontAt {
    /// As studies write it.
    pub fn word(self) -> &'static str {
        match self {
            FrontAt::Client => "client",
            FrontAt::Own => "own",
        }
    }
}

/// What stands between clients and servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Front {
    pub proxy: Proxy,
    pub at: FrontAt,
}

impl Front {
    /// As labels have it: `via router`, `via haproxy apart`.
    pub fn words(self) -> String {
        let apart = match self.at {
            FrontAt::Client => "",
            FrontAt::Own => " apart",
        };
        format!("via {}{apart}", self.proxy.name())
    }
}
