//! What a list says of a record.

use crate::record::store::Look;
use crate::report::numbers::count;

/// Modes and servers that are named; of more their number is.
const NAMED_MAX: usize = 4;

/// One file of a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Its name in the folder.
    pub name: String,
    /// By which the list is in order: when the run began, or when the file was changed last.
    pub unix_ms: u64,
    pub what: What,
}

/// A record, or why it is none that can be read.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Record {
        title: String,
        /// What it holds, in a sentence.
        sentence: String,
        state: State,
    },
    Unreadable(String),
}

/// How far its run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Finished,
    /// Somebody writes to it.
    Running,
    /// Nobody does, and it did not go through to its end.
    Open,
}

/// `6 modes of mysql 9.7.1, mariadb 10.11.19; 96 of 96 measurements, 20 trials of faults`
pub fn sentence(look: &Look) -> String {
    let header = &look.header;
    let modes = &header.study.modes;
    let servers = header.servers.iter();
    let servers: Vec<String> = servers
        .map(|it| format!("{} {}", it.name, it.version))
        .collect();
    let of = match servers.len() {
        0 => String::new(),
        1..=NAMED_MAX => format!(" of {}", servers.join(", ")),
        more => format!(" of {more} servers"),
    };
    let labels: Vec<&str> = modes.iter().map(|spec| &spec.label[..]).collect();
    let what = match labels.len() {
        1..=NAMED_MAX => labels.join(", "),
        more => count(more as u64, "mode") + &of,
    };
    let measurements = count(look.measurements as u64, "measurement");
    let cells = count(header.cells.len() as u64, "cell");
    let measured = (!header.cells.is_empty()).then(|| format!("{measurements} of {cells}"));
    let trials = count(look.trials as u64, "trial");
    let asks = !header.study.injections.is_empty() || look.trials > 0;
    let injected = asks.then(|| format!("{trials} of faults"));
    let held: Vec<String> = measured.into_iter().chain(injected).collect();
    match held.is_empty() {
        true => format!("{what}; nothing is in it yet"),
        false => format!("{what}; {}", held.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Cell;
    use crate::record::{Header, ServerFacts};
    use crate::study::faults::Injection;
    use crate::study::{ModeSpec, Study};

    fn look(modes: usize, cells: usize, measurements: usize, trials: usize) -> Look {
        let mode = |number| ModeSpec {
            label: format!("mode {number}"),
            ..ModeSpec::default()
        };
        Look {
            header: Header {
                study: Study {
                    modes: (1..=modes).map(mode).collect(),
                    ..Study::default()
                },
                cells: vec![Cell::default(); cells],
                servers: vec![ServerFacts {
                    name: "mysql".to_owned(),
                    version: "9.7.1".to_owned(),
                    source: String::new(),
                }],
                ..Header::default()
            },
            measurements,
            trials,
            finished: false,
        }
    }

    #[test]
    fn a_sentence_says_what_a_record_holds() {
        assert_eq!(
            sentence(&look(2, 1, 3, 0)),
            "mode 1, mode 2; 3 measurements of 1 cell"
        );
        assert_eq!(
            sentence(&look(6, 24, 96, 5)),
            "6 modes of mysql 9.7.1; 96 measurements of 24 cells, 5 trials of faults"
        );
        let mut asked = look(1, 0, 0, 0);
        assert_eq!(sentence(&asked), "mode 1; nothing is in it yet");
        asked.header.study.injections = vec![Injection {
            fault: Default::default(),
            trials: 5,
            modes: vec![],
        }];
        assert_eq!(sentence(&asked), "mode 1; 0 trials of faults");
    }
}
