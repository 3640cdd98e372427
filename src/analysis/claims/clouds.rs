//! `clouds-2015`: what databases of clouds reach and where they stop, asked of stand-ins.

use super::grid::{Grid, value};
use super::pick::Cells;
use super::{
    CellSummary, Figure, Finding, Material, Said, Verdict, connections, limits, of_cases, ratio,
    unseen,
};
use crate::analysis::summary::Value;
use crate::record::counter;
use crate::study::articles;

const KEY: &str = "clouds-2015";
/// The study's rows, and whose place they take in the article.
const ROWS: [(&str, &str); 6] = [
    ("local volume", "ec2_57"),
    ("5.6 local volume", "rds"),
    ("sync standby", "cloudsql_sync"),
    ("async standby", "cloudsql_async"),
    ("4 of 6", "aurora"),
    ("16 MB pool", "rds"),
];
const WORKLOADS: [&str; 2] = ["reads", "updates"];
/// What a user's own server of that version is called.
const NEWER: &str = "5.7 local volume";
/// "Several times" is at least this.
const SEVERAL: f64 = 2.0;

/// Verdicts, the article's table and what stood beside it.
pub fn said(material: &Material) -> Said {
    let cells = Cells {
        all: material.cells,
    };
    // Each with whether a whole run of the study can decide it.
    let has_5_7 = cells.all.iter().any(|cell| cell.label == NEWER);
    let judged = [
        (another_zone(cells), true),
        (synchronous_standby(cells), true),
        (newer_server(cells), has_5_7),
        (after_the_load(cells), has_5_7),
        (unfair_without_standby(cells), true),
        (more_iops(cells), true),
        (starved_on_rented_machines(), false),
        (narrow_and_swinging(cells), false),
        (counters_that_stand_still(cells), false),
    ];
    let places = judged.iter().enumerate();
    let beyond = places.filter(|(_, (_, is_decided))| !is_decided);
    let beyond = beyond.map(|(place, _)| place).collect();
    Said {
        findings: judged.into_iter().map(|(finding, _)| finding).collect(),
        tables: table(cells).if_measured(),
        unseen: could_not_see(cells, material),
        beyond,
    }
}

/// "Memory-starved 5.7 on EC2 stayed below RDS although IOPS were not the limit."
fn starved_on_rented_machines() -> Finding {
    Finding::undecided(
        "it compares 5.7 on rented machines with a service, and no stand-in is either: what both \
         reach, `mode = \"endpoint\"` shows, and leaves it to the reader to judge",
    )
}

/// "On Aurora Innodb_data_reads and Innodb_data_writes never count." Judged by writes: each commit
/// was seen to count or not to. What is in memory is not read, so that reads stand still shows
/// nothing.
fn counters_that_stand_still(cells: Cells) -> Finding {
    let is_aurora = |cell: &CellSummary| {
        !cell.counters_per_commit.is_empty() && cell.label.to_lowercase().contains("aurora")
    };
    let counted = |cell: &&CellSummary| match cell.counters_per_commit.get(counter::DATA_WRITES) {
        Some(Some(_)) => Verdict::Contradicted,
        // Others count there, so there was something to count.
        Some(None) if cell.counters_per_commit.values().any(Option::is_some) => Verdict::Confirmed,
        _ => Verdict::Undecided,
    };
    let verdicts: Vec<Verdict> = cells.with(is_aurora).iter().map(counted).collect();
    if verdicts.is_empty() {
        return Finding::undecided(
            "it is about Aurora's own counters: needs an endpoint with Aurora in its label",
        );
    }
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures: vec![],
        reason: "by whether commits move Innodb_data_writes of the endpoint called so; reads are \
                 not judged: they stand still wherever all is in memory"
            .to_owned(),
    }
}

/// The cell of a mode and workload in the study's first sweep that has it.
fn first<'s>(cells: Cells<'s>, label: &str, workload: &str) -> Option<&'s CellSummary> {
    limits::unwatched(cells, label, workload)
}

fn table(cells: Cells) -> Grid {
    let title = "queries/s of stand-ins and, published, of the services whose place they take; \
                 with the 16 MB pool starved of memory; rents of 2015 over this host's rates, of \
                 which only ratios mean anything";
    let prices = WORKLOADS.map(|load| format!("$ per million {load}"));
    let mut grid = Grid::new(title, "1/s", &["reads", "updates", &prices[0], &prices[1]]);
    for (label, service) in ROWS {
        let rate = |workload| value(first(cells, label, workload).and_then(|c| c.throughput_per_s));
        let price =
            |workload| value(first(cells, label, workload).and_then(|c| c.usd_per_million_queries));
        let [reads, updates] = WORKLOADS;
        let here = vec![rate(reads), rate(updates), price(reads), price(updates)];
        let is_measured = here.iter().any(Option::is_some);
        grid.add(label, here, ("", vec![]));
        let note = apart(cells, label).or_else(|| ships(label).map(str::to_owned));
        if let Some(note) = note.filter(|_| is_measured) {
            grid.note_last(Some(note));
        }
        grid.add(label, vec![], (service, there(label, service)));
    }
    grid
}

/// What a stand-in sends that the service does not.
fn ships(label: &str) -> Option<&'static str> {
    (label == "4 of 6").then_some("blocks, not log records")
}

/// `reads on 3000 IOPS, 450 Mbit/s, updates on 3000 IOPS, any rate`: where the disks differ.
fn apart(cells: Cells, label: &str) -> Option<String> {
    let on = |load| first(cells, label, load)?.disks.clone();
    let (reads, updates) = (on(WORKLOADS[0])?, on(WORKLOADS[1])?);
    (reads != updates).then(|| format!("reads on {reads}, updates on {updates}"))
}

/// Single figures as they are, two as the ends of a range, which has no middle of its own.
fn there(label: &str, service: &str) -> Vec<Option<Value>> {
    let prefix = if label == "16 MB pool" {
        "starved"
    } else {
        "in_memory"
    };
    let of = |load: &str| {
        let found = articles::numbers(KEY, &[&format!("{prefix}_{load}_qps"), service]);
        let (low, high) = (found.first()?, found.last()?);
        Some(Value {
            value: *low,
            low: (found.len() > 1).then_some(*low),
            high: (found.len() > 1).then_some(*high),
        })
    };
    vec![of("read"), of("update"), None, None]
}

/// "A client in another zone gets about half the queries per second from the same number of
/// connections."
fn another_zone(cells: Cells) -> Finding {
    let near_ones = cells.with(|cell| cell.label == "local volume" && cell.client_site == "a");
    let pair = |near: &CellSummary| {
        let far = cells.first(|far| {
            far.label == near.label
                && far.client_site == "b"
                && (&far.workload, far.connections) == (&near.workload, near.connections)
                && (&far.distances, &far.disks) == (&near.distances, &near.disks)
        })?;
        let (load, n) = (&near.workload, connections(near.connections));
        ratio(format!("{load}, {n}, other zone over same"), far, near)
    };
    let figures: Vec<Figure> = near_ones.into_iter().filter_map(pair).collect();
    let verdicts: Vec<Verdict> = figures.iter().map(|f| f.is_within(0.4, 0.6)).collect();
    if figures.is_empty() {
        return Finding::undecided("both zones were not measured with intervals");
    }
    let (verdict, note) = of_cases(
        &verdicts,
        ": it depends on what is asked and on how many connections ask it: the round trip is the \
         limit for some, the server for others",
    );
    Finding {
        verdict,
        figures,
        reason: format!("0.4 to 0.6 is taken as about half{note}"),
    }
}

/// "Synchronous block replication lowers updates per second several times against asynchronous."
fn synchronous_standby(cells: Cells) -> Finding {
    let of = |label| first(cells, label, "updates");
    let figure = |above: &'static str, below: &'static str| {
        ratio(
            format!("updates, {above} over {below}"),
            of(above)?,
            of(below)?,
        )
    };
    let Some(own) = figure("async standby", "sync standby") else {
        return Finding::undecided("both standbys were not measured with intervals");
    };
    Finding {
        verdict: own.is_above(SEVERAL),
        figures: [Some(own), figure("async standby", "4 of 6")]
            .into_iter()
            .flatten()
            .collect(),
        reason: "several is taken as twice and more; the standby stands in another zone".to_owned(),
    }
}

/// "5.7 answers reads at about the speed of 5.6 but nearly doubles updates."
fn newer_server(cells: Cells) -> Finding {
    let pair = |label: &str, load: &str| {
        let (above, below) = (
            first(cells, label, load)?,
            first(cells, "5.6 local volume", load)?,
        );
        ratio(format!("{load}, {label} over 5.6"), above, below)
    };
    let own: Vec<Figure> = WORKLOADS.iter().filter_map(|l| pair(NEWER, l)).collect();
    if own.len() < 2 {
        let newest = WORKLOADS
            .iter()
            .filter_map(|load| pair("local volume", load));
        return Finding {
            figures: newest.collect(),
            ..Finding::undecided("needs a 5.7 server of your own; the newest stands beside")
        };
    }
    Finding {
        verdict: Verdict::of_all(&[own[0].is_within(0.8, 1.25), own[1].is_within(1.5, 2.5)]),
        figures: own,
        reason: "0.8 to 1.25 is taken as about, 1.5 to 2.5 as nearly double".to_owned(),
    }
}

/// "After the load ended, 5.7 kept the disk 20 to 40 % busy."
fn after_the_load(cells: Cells) -> Finding {
    let of = |label: &str| {
        let watched = cells.first(|cell| cell.label == label && !cell.after_load.is_empty());
        watched.and_then(|cell| busy_after(cell, label))
    };
    if let Some(own) = of(NEWER) {
        return Finding {
            verdict: own.is_within(20.0, 40.0),
            figures: vec![own],
            reason: "the range is that of single seconds".to_owned(),
        };
    }
    let figures: Vec<Figure> = ROWS.iter().filter_map(|(label, _)| of(label)).collect();
    let reason = match figures.is_empty() {
        true => "needs a 5.7 server of your own, watched after its load",
        false => {
            "needs a 5.7 server of your own; the newest, and 5.6, stand beside, with the range of \
             single seconds"
        }
    };
    Finding {
        figures,
        ..Finding::undecided(reason)
    }
}

/// Its range is that of single seconds: a disk that rests in between is seen.
fn busy_after(cell: &CellSummary, label: &str) -> Option<Figure> {
    let of = cell.after_load.first()?;
    let percent = |share: Option<f64>| Some(share? * 100.0);
    Some(Figure {
        what: format!(
            "{label}, {}: time in which the disk was busy in the {:.0} s after the load",
            cell.workload, of.watched_s
        ),
        unit: "per cent".to_owned(),
        value: percent(of.after.busy_share)?,
        low: percent(of.busy_share_least)?,
        high: percent(of.busy_share_most)?,
    })
}

/// "The comparison was unfair: RDS ran without its synchronous standby."
fn unfair_without_standby(cells: Cells) -> Finding {
    let of = |label| first(cells, label, "updates");
    let pair = of("local volume").zip(of("sync standby"));
    let what = "updates, without over with a synchronous standby".to_owned();
    let Some(figure) = pair.and_then(|(above, below)| ratio(what, above, below)) else {
        return Finding::undecided("a server without and with it was not measured with intervals");
    };
    Finding {
        verdict: figure.is_above(1.1),
        figures: vec![figure],
        reason: "unfair if leaving it out is worth a tenth and more".to_owned(),
    }
}

/// "10,000 IOPS instead of 3,000 changed almost nothing: reads stopped near 450 Mbit/s."
fn more_iops(cells: Cells) -> Finding {
    let on = |disks: &str| {
        let is_it =
            |cell: &CellSummary| cell.workload == "reads" && cell.disks.as_deref() == Some(disks);
        cells.first(is_it)
    };
    let pair = |above: &str, below: &str| {
        ratio(
            format!("starved reads, {above} over {below}"),
            on(above)?,
            on(below)?,
        )
    };
    let Some(figure) = pair("10000 IOPS, 450 Mbit/s", "3000 IOPS, 450 Mbit/s") else {
        return Finding::undecided("both were not measured with intervals");
    };
    let faster = pair("10000 IOPS, any rate", "10000 IOPS, 450 Mbit/s");
    let mut verdicts = vec![figure.is_within(0.8, 1.25)];
    verdicts.extend(faster.as_ref().map(|figure| figure.is_above(1.1)));
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures: [Some(figure), faster].into_iter().flatten().collect(),
        reason:
            "0.8 to 1.25 is taken as almost nothing, and a faster path must help, for it is the \
                 limit. The 450 Mbit/s are the stand-in's, given to it: 3,000 reads of 16 KiB are \
                 393 of them, so no server could gain more than 1.14 times from more IOPS"
                .to_owned(),
    }
}

/// "Cloud SQL clients stopped near 25 Mbit/s each; its round trip swung between 0.5 and 8 ms."
fn narrow_and_swinging(cells: Cells) -> Finding {
    let at = |distances: &str| {
        cells.first(|cell| cell.distances == distances && cell.workload == "reads")
    };
    let over_plain = |distances: &str| {
        let what = format!("reads, {distances} over 0.7 ms alone");
        ratio(what, at(distances)?, at("0.7 ms")?)
    };
    let figures = ["0.7 ms, 25 Mbit/s", "0.7 ms, 450 Mbit/s", "0.5 to 8 ms"].map(over_plain);
    Finding {
        figures: figures.into_iter().flatten().collect(),
        ..Finding::undecided(
            "it tells of a service, which as an endpoint is left to the reader to judge; what such \
             a link does to the stand-in stands here",
        )
    }
}

fn could_not_see(cells: Cells, material: &Material) -> Vec<String> {
    let labels = ROWS.map(|(label, _)| label);
    let updates: Vec<&CellSummary> = labels
        .iter()
        .filter_map(|label| first(cells, label, "updates"))
        .collect();
    let mut said = unseen::costs(&updates);
    said.extend(unseen::limits(&updates));
    said.extend(limits::said(cells, &labels, &WORKLOADS));
    said.extend(no_price(cells));
    said.extend(unseen::host_bound(material.cells));
    said
}

/// Nothing is made up where the article has no price.
fn no_price(cells: Cells) -> Option<String> {
    let standby = first(cells, "sync standby", "updates")?;
    let said = "sync standby has no price per million queries: the article gives none for a server \
                with a synchronous standby of its own.";
    standby
        .usd_per_million_queries
        .is_none()
        .then(|| said.to_owned())
}
