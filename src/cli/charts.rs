//! `report --charts`: a record's charts as files.

use std::fs;
use std::path::Path;

use crate::analysis;
use crate::error::{Mistake, Result, Tried};
use crate::record::store::Record;
use crate::report::charts::{Chart, charts};

/// Draws all charts of a record into a folder, made if need be, and names the files.
pub fn draw(record: &Path, folder: &Path) -> Result<u8> {
    let record = Record::open(record)?;
    let charts = charts(&record, &analysis::summarise(&record));
    if charts.is_empty() {
        let allowed = "holds nothing that can be drawn: no cell of it is measured with an interval";
        return Err(Mistake::new("command line", "--charts", "the record", allowed).into());
    }
    make(folder)?;
    for chart in &charts {
        say!("{}", keep(folder, chart)?);
    }
    Ok(0)
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        let given = format!("{} ({error})", folder.display());
        let allowed = "a folder that is there or can be made";
        Mistake::new("command line", "--charts", &given, allowed).into()
    })
}

/// Written beside and renamed: nobody sees half a chart.
fn keep(folder: &Path, chart: &Chart) -> Result<String> {
    let path = folder.join(format!("{}.svg", chart.name));
    let beside = folder.join(format!(".{}.svg.part", chart.name));
    let tried = || format!("write {}", path.display());
    fs::write(&beside, chart.svg()).tried(tried)?;
    fs::rename(&beside, &path).tried(tried)?;
    Ok(path.display().to_string())
}
