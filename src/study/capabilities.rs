//! What the servers at hand can do: a plain value that the study is checked against.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The family of servers that one belongs to. They share SQL, not replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    Mysql,
    Mariadb,
}

impl Flavour {
    /// The product's name.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Mysql => "MySQL",
            Flavour::Mariadb => "MariaDB",
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one server of the catalogue can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    pub flavour: Flavour,
    /// As far as it is known before the server was fetched.
    pub version: Option<String>,
    /// Names of the modes it can do (`Mode::name`).
    pub modes: Vec<String>,
}

/// What each server of the catalogue can do, by the server's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    pub servers: BTreeMap<String, Capability>,
}

impl Capabilities {
    /// What a server can do; `None` if the catalogue has no such server.
    pub fn get(&self, server: &str) -> Option<&Capability> {
        self.servers.get(server)
    }
}

/// A small catalogue for tests of this room and of `plan`.
#[cfg(test)]
pub fn sample() -> Capabilities {
    let capability = |flavour, modes: &[&str]| Capability {
        flavour,
        version: None,
        modes: modes.iter().map(|mode| mode.to_string()).collect(),
    };
    let mysql = [
        "single",
        "async",
        "semisync",
        "group",
        "group-multi",
        "mirror",
        "quorum",
    ];
    let mariadb = ["single", "async", "semisync", "galera", "mirror", "quorum"];
    let old = ["single", "mirror", "quorum"];
    let gtids = ["single", "async", "mirror", "quorum"];
    let servers = [
        ("mysql", capability(Flavour::Mysql, &mysql)),
        ("mysql-5.5", capability(Flavour::Mysql, &old)),
        ("mysql-5.6", capability(Flavour::Mysql, &gtids)),
        ("mysql-5.7", capability(Flavour::Mysql, &gtids)),
        ("mariadb", capability(Flavour::Mariadb, &mariadb)),
    ];
    Capabilities {
        servers: servers.map(|(name, can)| (name.to_owned(), can)).into(),
    }
}
