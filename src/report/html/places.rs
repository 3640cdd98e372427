//! What parts of the page are called, and which part a figure comes from.

use crate::analysis::Summary;
use crate::analysis::summary::{Anatomy, CellSummary};
use crate::report::anatomy;
use crate::report::cells::OfLoad;

/// Cells whose tables stand on the page, at most; those of one load always do.
const CELLS_MAX: usize = 300;

/// Where figures come from.
pub struct Places<'s> {
    pub summary: &'s Summary,
    pub loads: &'s [OfLoad<'s>],
}

/// How many loads have their tables on the page.
pub fn shown(loads: &[OfLoad<'_>]) -> usize {
    let mut cells = 0;
    let fits = |load: &&OfLoad<'_>| {
        cells += load.cells.len();
        cells <= CELLS_MAX
    };
    let fitting = loads.iter().take_while(fits).count();
    fitting.max(1).min(loads.len())
}

/// Of the part with a load's tables.
pub fn load_id(place: usize) -> String {
    format!("cells-{}", place + 1)
}

/// Of the part with a group's anatomy.
pub fn anatomy_id(place: usize) -> String {
    format!("anatomy-{}", place + 1)
}

/// Of the part with a campaign.
pub fn campaign_id(place: usize) -> String {
    format!("audit-{}", place + 1)
}

impl Places<'_> {
    /// A link to the tables of a cell.
    pub fn cell(&self, cell: &CellSummary) -> String {
        let has_it = |load: &OfLoad<'_>| load.cells.iter().any(|known| known.id == cell.id);
        let place = self.loads[..shown(self.loads)].iter().position(has_it);
        match place {
            Some(place) => format!("#{}", load_id(place)),
            None => "#cells".to_owned(),
        }
    }

    /// A link to a mode's lines.
    pub fn anatomy(&self, one: &Anatomy) -> Option<String> {
        let groups = anatomy::groups(self.summary);
        let has_it = |members: &Vec<&Anatomy>| members.contains(&one);
        let place = groups.iter().position(has_it)?;
        Some(format!("#{}", anatomy_id(place)))
    }

    /// A link to a campaign.
    pub fn campaign(&self, place: usize) -> String {
        format!("#{}", campaign_id(place))
    }
}
