//! What stands in a pack where something was left out.

use std::fmt;

/// A kind of what is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A password, a token or the like.
    Secret,
    PrivateKey,
    /// Of somebody on the machine: in paths.
    User,
    /// Of the machine: in what its servers say.
    Host,
}

impl Mark {
    pub const ALL: [Mark; 4] = [Mark::Secret, Mark::PrivateKey, Mark::User, Mark::Host];

    /// The text itself. What cannot do without a thing tells by it that it was left out.
    pub fn text(self) -> &'static str {
        match self {
            Mark::Secret => "<left-out>",
            Mark::PrivateKey => "<private-key-left-out>",
            Mark::User => "<user>",
            Mark::Host => "<host>",
        }
    }

    /// What it stands for, one and several.
    fn names(self) -> [&'static str; 2] {
        match self {
            Mark::Secret => ["password or token", "passwords or tokens"],
            Mark::PrivateKey => ["private key", "private keys"],
            Mark::User => ["user name in a path", "user names in paths"],
            Mark::Host => ["name of the machine", "names of the machine"],
        }
    }

    /// `3 private keys`
    pub fn counted(self, count: usize) -> String {
        let [one, several] = self.names();
        format!("{count} {}", if count == 1 { one } else { several })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
