//! What a record says, for whoever has no acklab.

use super::file::File;
use crate::analysis;
use crate::record::store::Record;
use crate::report::{Format, html, render, worth};

/// The report as text and as a table, and the page, as far as there is something to tell.
pub fn files(record: &Record) -> Vec<File> {
    let summary = analysis::summarise(record);
    let text = match record.header.cells.is_empty() && !record.campaigns.is_empty() {
        true => worth::render(&summary, Format::Text),
        false => render(&summary, Format::Text),
    };
    let mut files = vec![File::new("report.txt", text)];
    if !record.header.cells.is_empty() {
        files.push(File::new("report.csv", render(&summary, Format::Csv)));
    }
    let page = html::render(record, &summary);
    files.extend(page.map(|page| File::new("report.html", page)));
    files
}
