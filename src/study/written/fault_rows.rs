//! `faults.toml`: the catalogue's faults, in the words of a study, and what each must show where.

use super::walk::{Document, Node, Table, syntax};
use super::{faults, modes, sites};
use crate::error::Result;
use crate::study::capabilities::Capabilities;
use crate::study::faults::fit::misfits;
use crate::study::faults::row::{Case, CatalogueRow, EXPECTED, Expected, FaultCatalogue, Missing};
use crate::study::{ModeSpec, limits};

/// Trials of a row, if it does not say.
const TRIALS: u32 = 5;
/// Known anomalies are numbered up to this.
const NUMBERS: limits::Range<u64> = limits::Range::new(1, 99);

/// The catalogue that `text` is. `file` is its name, for messages.
///
/// # Errors
/// All mistakes of the text, each with its line, key, what was given and what is allowed; a fault
/// that cannot be injected in one of its modes is one.
pub fn parse(text: &str, file: &str, capabilities: &Capabilities) -> Result<FaultCatalogue> {
    let root = syntax(file, text)?;
    let document = Document::new(file, text);
    let catalogue = catalogue(&document.root(&root), capabilities);
    document.conclude(catalogue)
}

fn catalogue(table: &Table<'_>, capabilities: &Capabilities) -> FaultCatalogue {
    let tables = |key: &str| table.get(key).map(|node| node.tables()).unwrap_or_default();
    let (rows, lacking) = (tables("fault"), tables("missing"));
    table.finish();
    let row = |table: &Table<'_>| row(table, capabilities);
    FaultCatalogue {
        rows: rows.iter().filter_map(row).collect(),
        missing: lacking.iter().filter_map(missing).collect(),
    }
}

fn missing(table: &Table<'_>) -> Option<Missing> {
    let number = table.need("number", &NUMBERS.whole_number());
    let number = number.and_then(|node| node.count(NUMBERS));
    let words = |key: &str| {
        let node = table.need(key, "a line must be given");
        node.and_then(|node| node.words().map(str::to_owned))
    };
    let (title, why) = (words("title"), words("why"));
    table.finish();
    Some(Missing {
        number: number?,
        title: title?,
        why: why?,
    })
}

fn row(table: &Table<'_>, capabilities: &Capabilities) -> Option<CatalogueRow> {
    let written = faults::read(table, &[]);
    let numbers = table.read("numbers", Node::list).unwrap_or_default();
    let trials = table.read("trials", |node| node.count(limits::TRIALS));
    let sites = sites::read(table);
    let cases_of = |key: &str| {
        let tables = table.get(key).map(|node| node.tables()).unwrap_or_default();
        let cases = |table: &Table<'_>| cases(table, capabilities, &sites);
        tables.iter().flat_map(cases).collect::<Vec<Case>>()
    };
    let (on, counters) = (cases_of("on"), cases_of("counter"));
    table.finish();
    if on.is_empty() {
        table.wrong("", "needs on = [...]: the modes that it is for");
    }
    let fault = written.fault.clone()?;
    let own = counters.iter().filter(|case| case.instead.is_none());
    for case in on.iter().chain(own) {
        let found = misfits(&fault, &case.spec, &sites);
        written.note(&case.spec.label, &found);
    }
    Some(CatalogueRow {
        numbers: numbers
            .iter()
            .filter_map(|node| node.count(NUMBERS))
            .collect(),
        fault,
        trials: trials.unwrap_or(TRIALS),
        sites,
        cases: on,
        counters,
    })
}

/// One for each mode that a table makes.
fn cases(table: &Table<'_>, capabilities: &Capabilities, sites: &[String]) -> Vec<Case> {
    let expected = |key: &str| {
        table
            .get(key)
            .map(|node| expected(&node))
            .unwrap_or_default()
    };
    let words = |key: &str| table.read(key, Node::words).map(str::to_owned);
    let case = Case {
        spec: ModeSpec::default(),
        rtt: table.read("rtt", |node| node.time(limits::RTT)),
        all: expected("expect"),
        any: expected("one_of"),
        reach: table
            .get("reach")
            .map(|node| faults::reaches(&node))
            .unwrap_or_default(),
        instead: words("fault"),
        because: words("because"),
    };
    let around = modes::Surroundings {
        capabilities,
        sites,
        read_file: &|file| Err(format!("no {file} here")),
    };
    // The keys above are known by now; that all others are the mode's is told there.
    let specs = modes::read(vec![table.clone()], &around);
    let of_mode = |spec: ModeSpec| Case {
        spec,
        ..case.clone()
    };
    specs.into_iter().map(of_mode).collect()
}

fn expected(node: &Node<'_>) -> Vec<Expected> {
    let nodes = node.list().unwrap_or_default();
    let expected = |node: &Node<'_>| node.one_of(&EXPECTED);
    nodes.iter().filter_map(expected).collect()
}
