//! `judge`: what the trials of a record come to, once more.

use std::io::Write;
use std::path::Path;

use crate::analysis::worth::Verdict;
use crate::analysis::worth::campaign::worst;
use crate::analysis::{self, Summary};
use crate::error::{Mistake, Result};
use crate::record::store::Record;
use crate::report::Format;
use crate::report::worth::{self, FORMATS};

/// Exit codes: a promise was broken; none was, but whether one was kept is not known.
const BROKEN: u8 = 1;
const UNDECIDED: u8 = 3;

/// Judges all trials of a record by what it holds alone; the exit code is that of the worst.
pub fn run(path: &Path, format: &str) -> Result<u8> {
    let record = Record::open(path)?;
    if record.campaigns.is_empty() {
        let given = path.display().to_string();
        let allowed = "holds no trial of a fault that `acklab break`, or a study's [[fault]], \
                       injected: `acklab report` tells what it has";
        return Err(Mistake::new("command line", "RECORD", &given, allowed).into());
    }
    print(&record, format)
}

/// Prints what the trials of a record came to; the exit code.
pub fn print(record: &Record, format: &str) -> Result<u8> {
    let named = self::format(format)?;
    let summary = analysis::summarise(record);
    let text = worth::render(&summary, named);
    // A reader that stops reading early (`| head`) is no fault.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(code(&summary))
}

/// One of the formats that trials can be told in.
pub fn format(name: &str) -> Result<Format> {
    let is_known = FORMATS.contains(&name);
    let named = Format::named(name).filter(|_| is_known);
    named.ok_or_else(|| {
        let allowed = format!("one of {}", FORMATS.join(", "));
        Mistake::new("command line", "--format", name, &allowed).into()
    })
}

fn code(summary: &Summary) -> u8 {
    let verdicts = summary.worth.iter().map(|one| one.worth.verdict);
    match worst(verdicts) {
        Some(Verdict::Broken) => BROKEN,
        Some(Verdict::Undecided) | None => UNDECIDED,
        Some(Verdict::Kept | Verdict::LostNoPromise | Verdict::NoneLostNoPromise) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::worth::example;

    #[test]
    fn a_breach_is_told_before_a_doubt() {
        let mut record = example();
        let told = |record: &Record| code(&analysis::summarise(record));
        assert_eq!(told(&record), BROKEN);
        record.campaigns.remove(&3);
        assert_eq!(told(&record), UNDECIDED);
        record.campaigns.remove(&5);
        assert_eq!(told(&record), 0, "lost, no promise");
        record.campaigns.clear();
        assert_eq!(told(&record), UNDECIDED);
    }

    #[test]
    fn there_are_no_cells_that_csv_could_have() {
        let told = print(&example(), "csv").unwrap_err().to_string();
        assert!(
            told.contains("--format: given csv; one of text, markdown, json"),
            "{told}"
        );
    }
}
