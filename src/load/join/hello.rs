//! The first line of a driver that joins a run, and the answer to it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::ticket::Ticket;
use super::tls::hex;
use crate::lab::endpoint::Secret;

/// The longest of the two lines, in bytes.
pub const LINE_MAX: usize = 4 << 10;

/// A study, and by what its file is told from others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyName {
    pub name: String,
    /// SHA-256 of its text, hexadecimal.
    pub digest: String,
}

impl StudyName {
    /// Of a study's text.
    pub fn of(name: &str, text: &str) -> StudyName {
        StudyName {
            name: name.to_owned(),
            digest: hex(&Sha256::digest(text.as_bytes())),
        }
    }
}

/// What a driver says first. A field that another version does not send is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    pub token: Secret,
    /// acklab's.
    pub version: String,
    /// What this driver's machine calls itself.
    pub host: String,
    /// The study that it is to drive, where it was told.
    pub study: Option<StudyName>,
}

impl Hello {
    /// Of this program, on this machine.
    pub fn of(ticket: &Ticket, study: Option<StudyName>) -> Hello {
        let host = nix::unistd::gethostname();
        Hello {
            token: ticket.token.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: host.map_or(String::new(), |host| host.to_string_lossy().into_owned()),
            study,
        }
    }

    /// Why a run of that token and study does not take this driver. A version is told to nobody
    /// without the token.
    pub fn refusal(&self, token: &Secret, study: &StudyName) -> Option<String> {
        // Digests: how long comparing takes tells nothing of the token.
        let is_token = Sha256::digest(self.token.as_bytes()) == Sha256::digest(token.as_bytes());
        if !is_token {
            return Some(
                "its token is not this run's: take the file that this run wrote".to_owned(),
            );
        }
        let version = env!("CARGO_PKG_VERSION");
        if self.version != version {
            return Some(format!(
                "it is acklab {:?}, and the run is {version}: both must be the same",
                self.version
            ));
        }
        let other = self.study.as_ref().filter(|own| own.digest != study.digest);
        other.map(|own| {
            format!(
                "it is for the study {}, and the run is of {}, whose text is another",
                own.name, study.name
            )
        })
    }
}

/// What the run says to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It is this one of so many, from 1 on.
    Welcome {
        number: u32,
        of: u32,
        study: String,
    },
    Refused {
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_version_and_study_must_be_the_runs() {
        let study = StudyName::of("ours.toml", "rounds = 2\n");
        let ticket = Ticket::to("");
        let hello = Hello::of(&ticket, None);
        let refusal = |hello: &Hello| hello.refusal(&ticket.token, &study);
        assert_eq!(refusal(&hello), None);
        let same = Some(StudyName::of("a/copy.toml", "rounds = 2\n"));
        let named = |study| Hello {
            study,
            ..hello.clone()
        };
        assert_eq!(refusal(&named(same)), None, "the text counts, not the path");
        let other = Some(StudyName::of("theirs.toml", "rounds = 3\n"));
        let told = refusal(&named(other)).unwrap();
        assert!(
            told.contains("theirs.toml") && told.contains("ours.toml"),
            "{told}"
        );
        let old = Hello {
            version: "0.0.9".to_owned(),
            ..hello.clone()
        };
        let told = refusal(&old).unwrap();
        assert!(
            told.contains("0.0.9") && told.contains("must be the same"),
            "{told}"
        );
        let stranger = Hello {
            token: "guess".into(),
            ..old
        };
        let told = refusal(&stranger).unwrap();
        assert!(told.contains("token") && !told.contains("0.0.9"), "{told}");
        assert!(refusal(&Hello::default()).unwrap().contains("token"));
    }
}
