//! `gmo-innodb-cluster-2022`: Group Replication against asynchronous and semi-synchronous
//! replication, by mysqlslap's seconds.

mod parts;

use super::grid::{Grid, published, value};
use super::pick::{Cells, all};
use super::{Figure, Finding, Material, Said, Verdict, each_above, ratio, unseen};

const KEY: &str = "gmo-innodb-cluster-2022";
const LOADS: [&str; 5] = ["key", "read", "write", "mixed", "update"];
/// The article's columns, and what its study calls them.
const MODES: [&str; 4] = ["group", "group-multi", "async 2 nodes", "semisync 2 nodes"];
/// "About half", "about 24 %": within so much of the published figure.
const ABOUT: f64 = 0.25;
/// Ranges within this of 1 show two modes to be alike.
const ALIKE: [f64; 2] = [0.8, 1.25];
/// The settings of the article's tuning, as small rows can show them.
const KNOBS: [&str; 2] = ["group compresses all", "group spin loops"];

/// Verdicts, the article's table and what stood beside it.
pub fn said(material: &Material) -> Said {
    let cells = Cells {
        all: material.cells,
    };
    Said {
        findings: vec![
            order_of_writes(cells),
            half_the_time(cells),
            no_consistent_difference(cells),
            router(cells),
            tuning_changes_nothing(cells),
            large_transactions(cells),
        ],
        tables: table(cells).if_measured(),
        unseen: could_not_see(cells, material),
        ..Said::default()
    }
}

fn table(cells: Cells) -> Grid {
    let title = "mysqlslap's seconds to run all queries, in the article's form";
    let mut grid = Grid::new(title, "s", &MODES);
    for load in LOADS {
        let workload = format!("mysqlslap {load}");
        let run = |label| value(cells.of(label, &workload).and_then(|cell| cell.run_s));
        grid.add(
            load,
            MODES.map(run).to_vec(),
            (load, published(KEY, &[load])),
        );
    }
    grid
}

/// "Order of write speed: async, then semisync, then group."
fn order_of_writes(cells: Cells) -> Finding {
    let steps = [
        cells.runs("write", "semisync 2 nodes", "async 2 nodes"),
        cells.runs("write", "group", "semisync 2 nodes"),
    ];
    let Some(figures) = all(steps) else {
        return Finding::undecided("not all three were measured with intervals");
    };
    let verdicts: Vec<Verdict> = figures.iter().map(|figure| figure.is_above(1.0)).collect();
    let equal = [
        cells.runs("write", "semisync 3 nodes", "async 3 nodes"),
        cells.runs("write", "group", "semisync 3 nodes"),
    ];
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures: figures
            .into_iter()
            .chain(equal.into_iter().flatten())
            .collect(),
        reason: "two nodes against three, as published, decide; on equal terms of three nodes it \
                 stands beside"
            .to_owned(),
    }
}

/// "Asynchronous inserts run in about half the time of group inserts."
fn half_the_time(cells: Cells) -> Finding {
    let Some(figure) = cells.runs("write", "async 2 nodes", "group") else {
        return Finding::undecided("not both were measured with intervals");
    };
    let beside = [
        cells.runs("write", "async 3 nodes", "group"),
        cells.runs("write", "async 3 nodes", "async 2 nodes"),
        cells.runs("write", "async 2 nodes", "group router"),
    ];
    Finding {
        verdict: figure.is_within(0.5 * (1.0 - ABOUT), 0.5 / (1.0 - ABOUT)),
        figures: [Some(figure)].into_iter().chain(beside).flatten().collect(),
        reason: "about half is taken as 0.38 to 0.67; the group without the Router decides. What \
                 three nodes take in place of two, and the group through the Router, as \
                 published, stand beside"
            .to_owned(),
    }
}

/// "Single-primary and multi-primary show no consistent difference."
fn no_consistent_difference(cells: Cells) -> Finding {
    let pairs = LOADS
        .iter()
        .filter_map(|load| cells.runs(load, "group-multi", "group"));
    let figures: Vec<Figure> = pairs.collect();
    let slower = figures.iter().filter(|figure| figure.low > 1.0).count();
    let faster = figures.iter().filter(|figure| figure.high < 1.0).count();
    let is_alike = |figure: &Figure| figure.low >= ALIKE[0] && figure.high <= ALIKE[1];
    let are_alike = figures.iter().all(is_alike);
    let (verdict, reason) = match (slower, faster) {
        _ if figures.len() < 2 => return Finding::undecided("fewer than two loads were measured"),
        (0, 0) if are_alike => (
            Verdict::Confirmed,
            "all within 0.8 to 1.25, none shown apart",
        ),
        (0, 0) => (
            Verdict::Undecided,
            "none shown apart, but the ranges are too wide to say more",
        ),
        (1.., 1..) => (
            Verdict::Confirmed,
            "faster in some loads and slower in others",
        ),
        (same, 0) | (0, same) if 2 * same >= figures.len() => (
            Verdict::Contradicted,
            "at least half of the loads differ, all the same way",
        ),
        _ => (
            Verdict::Undecided,
            "fewer than half of the loads differ, the same way",
        ),
    };
    Finding {
        verdict,
        figures,
        reason: reason.to_owned(),
    }
}

/// "The Router adds about 24 % to key reads and 13 % to table scans."
fn router(cells: Cells) -> Finding {
    let added = [("key", 0.24), ("read", 0.13)];
    let through = added.map(|(load, _)| cells.runs(load, "group router", "group"));
    let Some(figures) = all(through) else {
        return Finding::undecided("no group was measured through a Router as well as direct");
    };
    let verdicts: Vec<Verdict> = figures
        .iter()
        .zip(added)
        .map(|(figure, (_, added))| figure.is_within(1.0 + added / 2.0, 1.0 + added * 2.0))
        .collect();
    let beside = added.map(|(load, _)| cells.runs(load, "async router", "async 3 nodes"));
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures: figures
            .into_iter()
            .chain(beside.into_iter().flatten())
            .collect(),
        reason: "half to twice as much added is taken as about; the group decides, and what has \
                 no consensus stands beside"
            .to_owned(),
    }
}

/// "Compression threshold and communication-thread sleep settings changed nothing, or made it 10 %
/// slower."
fn tuning_changes_nothing(cells: Cells) -> Finding {
    let pair = |(label, load)| cells.runs(load, label, "group");
    let pairs = [
        ("group compresses all", "write"),
        ("group spin loops", "write"),
        ("group compresses all", "update"),
        ("group spin loops", "update"),
    ];
    let Some(figures) = all(pairs.map(pair)) else {
        return Finding::undecided("the settings were not measured with intervals on small rows");
    };
    let within = |figure: &Figure| figure.is_within(ALIKE[0], ALIKE[1]);
    let verdicts: Vec<Verdict> = figures.iter().map(within).collect();
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures,
        reason:
            "0.8 to 1.25 is taken as nothing, or 10 % slower; by default compression begins at \
                 1,000,000 bytes, far above these rows, so it is held against a threshold of 100 \
                 bytes, below all of them"
                .to_owned(),
    }
}

/// "Large transactions might gain much from that tuning."
///
/// A setting gains if it is faster than the default. By default a group compresses all that is
/// longer than 1,000,000 bytes, so no threshold can gain on these; what turning compression off
/// loses tells what the default is worth.
fn large_transactions(cells: Cells) -> Finding {
    let with = |label: &str| cells.of(label, "2 MB");
    let gain = |label: &str| {
        ratio(
            format!("{label} over group, 2 MB each"),
            with(label)?,
            with("group")?,
        )
    };
    let figures = ["group no compression", "group spin loops"].map(gain);
    if figures.iter().all(Option::is_none) {
        return Finding::undecided("no large transactions were measured with intervals");
    }
    Finding {
        verdict: Verdict::of_any(&each_above(&figures, 1.5)),
        figures: figures.into_iter().flatten().collect(),
        reason:
            "commits/s over the default's, over links with a rate; one setting that gains half \
                 as much again is enough, and all must have been measured to say that none does. \
                 By default what is longer than 1,000,000 bytes is compressed: a lower threshold \
                 changes nothing for these, and turning it off tells what the default is worth. \
                 LZ4, which the group uses, makes about half of these rows, as of much text"
                .to_owned(),
    }
}

fn could_not_see(cells: Cells, material: &Material) -> Vec<String> {
    let mut said = Vec::new();
    for load in ["key", "write"] {
        said.extend(parts::taken_apart(cells, load));
    }
    said.extend(parts::cpu(cells, "key"));
    let writes = cells.with(|cell| {
        let is_knob = KNOBS.contains(&&cell.label[..]);
        cell.workload == "mysqlslap write" && !is_knob
    });
    said.extend(unseen::costs(&writes));
    said.extend(unseen::round_trips(material));
    said.extend(unseen::host_bound(material.cells));
    said
}
