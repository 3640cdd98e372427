//! What is known of each row of the study's table of modes: the material of the first screen. Rows
//! are compared at one point, where commits come one at a time, and at one under load.

use crate::analysis::summary::{AddedAt, Anatomy, CellSummary, ModeAgainst, Per};
use crate::analysis::worth::{Disaster, ModeWorth, Verdict};
use crate::analysis::{Summary, modes_against};
use crate::record::store::Record;
use crate::report::columns::anatomy_of;
use crate::report::numbers::middle;
use crate::study::ModeSpec;

/// All rows of which anything is known.
pub struct Material<'s> {
    pub rows: Vec<Row<'s>>,
    /// A cell of the point at which single commits are compared, and of the one under load.
    pub alone: Option<&'s CellSummary>,
    pub loaded: Option<&'s CellSummary>,
}

/// One row.
pub struct Row<'s> {
    pub spec: &'s ModeSpec,
    /// Its cells at these points.
    pub alone: Option<&'s CellSummary>,
    pub loaded: Option<&'s CellSummary>,
    /// All its cells that were measured.
    pub cells: Vec<&'s CellSummary>,
    pub anatomy: Option<&'s Anatomy>,
    /// What it is held against, and what it adds there.
    pub against: Option<ModeAgainst>,
    /// Its faults that are no controls, with their places in the summary.
    pub campaigns: Vec<(usize, &'s ModeWorth)>,
}

/// In the order of the study.
pub fn of<'s>(record: &'s Record, summary: &'s Summary) -> Material<'s> {
    let study = &record.header.study;
    let plain = summary.cells.iter().filter(|cell| cell.moved.is_none());
    let measured: Vec<&CellSummary> = plain.filter(|cell| cell.rounds > 0).collect();
    let alone = alone(&measured);
    let loaded = loaded(&measured, alone);
    let against = modes_against(study, &summary.cells, &summary.anatomy);
    let row = |(index, spec): (usize, &'s ModeSpec)| {
        let own = measured.iter().filter(|cell| cell.point.row == index);
        let cells: Vec<&'s CellSummary> = own.copied().collect();
        let like = |other: Option<&CellSummary>| {
            let load = other?.point.load();
            cells.iter().copied().find(|cell| cell.point.load() == load)
        };
        let (alone, loaded) = (like(alone), like(loaded));
        let campaigns = summary.worth.iter().enumerate();
        let campaigns = campaigns.filter(|(_, it)| it.label == spec.label && !it.is_control);
        Row {
            spec,
            anatomy: alone.and_then(|cell| anatomy_of(summary, cell)),
            against: against.iter().find(|it| it.label == spec.label).cloned(),
            campaigns: campaigns.collect(),
            alone,
            loaded,
            cells,
        }
    };
    let rows = study.modes.iter().enumerate().map(row);
    Material {
        rows: rows.filter(Row::is_known).collect(),
        alone,
        loaded,
    }
}

/// At the middle one of the distances, the fewest connections; best where they rest.
fn alone<'s>(measured: &[&'s CellSummary]) -> Option<&'s CellSummary> {
    let rtt_us = middle(measured.iter().filter_map(|cell| cell.rtt_us_asked));
    let there = measured.iter().filter(|cell| cell.rtt_us_asked == rtt_us);
    let fit = |cell: &&&CellSummary| {
        let has_commits = cell.per == Per::Commit;
        (!has_commits, cell.pace_us.is_none(), cell.connections)
    };
    there.min_by_key(fit).copied()
}

/// Where as much is committed as can be: with the most connections, if possible as far apart.
fn loaded<'s>(
    measured: &[&'s CellSummary],
    alone: Option<&CellSummary>,
) -> Option<&'s CellSummary> {
    let rtt_us = alone.and_then(|cell| cell.rtt_us_asked);
    let is_free = |cell: &&&CellSummary| {
        let is_given = cell.pace_us.is_some() || cell.offered_per_s.is_some();
        !is_given && cell.point.knee.is_none() && cell.throughput_per_s.is_some()
    };
    let fit = |cell: &&&CellSummary| {
        let is_there = cell.rtt_us_asked == rtt_us;
        (is_there, cell.per == Per::Commit, cell.connections)
    };
    // Of several that fit as well the first.
    let free = measured.iter().rev().filter(is_free);
    free.max_by_key(fit).copied()
}

impl Row<'_> {
    fn is_known(&self) -> bool {
        !self.cells.is_empty() || !self.campaigns.is_empty()
    }

    /// What it adds where single commits are compared.
    pub fn added(&self) -> Option<&AddedAt> {
        let id = &self.alone?.id;
        self.against.as_ref()?.at.iter().find(|at| at.id == *id)
    }

    /// Of the faults that take these machines the one that took most from clients, with its place
    /// in the summary; of several alike the one that was tried most often.
    pub fn worst(&self, disaster: Disaster) -> Option<(usize, &ModeWorth)> {
        let own = self.campaigns.iter().copied();
        let own = own.filter(|(_, one)| one.disaster == Some(disaster));
        own.max_by_key(|(_, one)| {
            let worth = &one.worth;
            let sound = worth.trials_sound.max(1);
            let per_mille = worth.trials_with_loss * 1_000 / sound;
            (worth.verdict == Verdict::Broken, per_mille, sound)
        })
    }
}
