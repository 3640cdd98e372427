use super::super::Verdict::Undecided;
use super::super::{Claim, Material, Verdict, judge};
use super::group_replication::GROUP;
use crate::analysis::example::articles::{clouds, galera, group_replication};
use crate::analysis::summary::CellSummary;
use crate::study::{Study, capabilities, written};

/// These cells, and nothing else.
pub fn material(cells: &[CellSummary]) -> Material<'_> {
    Material {
        servers: &[],
        cells,
        tolls: &[],
        anatomy: &[],
        effects: &[],
        is_quick: false,
    }
}

pub fn claims_of(key: &str, cells: &[CellSummary], is_quick: bool) -> Vec<Claim> {
    let material = Material {
        is_quick,
        ..material(cells)
    };
    judge(key, &material).expect("an article").1
}

pub fn verdicts(key: &str, cells: &[CellSummary]) -> Vec<Verdict> {
    claims_of(key, cells, false)
        .iter()
        .map(|claim| claim.verdict)
        .collect()
}

/// The cells after a change to those of one mode and workload.
pub fn changed(
    mut cells: Vec<CellSummary>,
    label: &str,
    workload: &str,
    change: impl Fn(&mut CellSummary),
) -> Vec<CellSummary> {
    let is_it = |cell: &&mut CellSummary| cell.label == label && cell.workload == workload;
    let found: Vec<&mut CellSummary> = cells.iter_mut().filter(is_it).collect();
    assert!(!found.is_empty(), "{label} {workload}");
    found.into_iter().for_each(change);
    cells
}

pub const INNODB: &str = "gmo-innodb-cluster-2022";
pub const GALERA: &str = "gmo-galera-2022";
pub const CLOUDS: &str = "clouds-2015";

#[test]
fn every_claim_of_every_article_has_a_rule() {
    for key in crate::study::articles::article_keys() {
        for claim in claims_of(&key, &[], false) {
            assert_eq!(claim.verdict, Undecided, "{key}: {}", claim.claim);
            assert!(!claim.reason.contains("no rule"), "{key}: {}", claim.claim);
            assert!(
                !claim.reason.is_empty() && claim.figures.is_empty(),
                "{key}: {claim:?}"
            );
        }
    }
}

#[test]
fn what_a_short_run_leaves_open_says_so() {
    let mut cells = galera();
    cells.retain(|cell| cell.label != "default slave_threads 4");
    let open = |is_quick| {
        let second = &claims_of(GALERA, &cells, is_quick)[1];
        assert_eq!(second.verdict, Undecided);
        second.reason.contains("short run")
    };
    assert_eq!((open(true), open(false)), (true, false));
    let decided = &claims_of(GALERA, &galera(), true)[0];
    assert!(!decided.reason.contains("short run"), "{decided:?}");
}

#[test]
fn what_no_run_decides_is_not_laid_on_the_short_one() {
    let advised = |cells: &[CellSummary]| -> Vec<usize> {
        let claims = claims_of(CLOUDS, cells, true).into_iter().enumerate();
        let open = claims.filter(|(_, claim)| claim.verdict == Undecided);
        let told = open.filter(|(_, claim)| claim.reason.contains("short run"));
        told.map(|(place, _)| place).collect()
    };
    // All of it is missing, but neither 5.7 nor services are in the whole run either.
    assert_eq!(advised(&[]), [0, 1, 4, 5]);
    // With a 5.7 server of one's own the whole run may watch it after its load.
    assert_eq!(advised(&clouds()), [3]);
    let mut without = clouds();
    without.retain(|cell| cell.label != "5.7 local volume");
    assert!(advised(&without).is_empty());
    // The second half of this one needs a server.
    let second = |cells: &[CellSummary]| claims_of(GROUP, cells, true).swap_remove(1);
    let mut newest = group_replication();
    newest.retain(|cell| cell.label != "logical clock 16");
    let open = second(&newest);
    assert_eq!(open.verdict, Undecided);
    assert!(!open.reason.contains("short run"), "{open:?}");
    assert!(second(&[]).reason.contains("short run"));
}

/// The one sentence that starts so.
pub fn sentence<'s>(said: &'s [String], start: &str) -> &'s str {
    let mut found = said.iter().filter(|sentence| sentence.starts_with(start));
    let first = found.next().unwrap_or_else(|| panic!("{start}: {said:?}"));
    assert_eq!(found.next(), None, "{start}");
    first
}

/// A built-in study, as read with the sample of servers.
pub fn study(key: &str) -> Study {
    let text = crate::study::builtin(key).expect("a study");
    let no_file = |_: &str| Err("no files here".to_owned());
    let servers = capabilities::sample();
    written::parse(text, "study.toml", &servers, &no_file).expect("no mistake")
}
