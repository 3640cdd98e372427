//! Charts as figures, each with its table below.

use super::tables;
use super::texts::paragraph;
use crate::report::charts::{Chart, Subject};
use crate::report::markup::Element;
use crate::report::numbers::count;

/// Charts of one subject, at most; those of seconds are long, and those of many points.
const MOST: usize = 40;
const SECONDS_MOST: usize = 16;
const POINTS_MOST: usize = 24;

/// All charts of the page, by their numbers on it.
pub struct Figures<'c> {
    charts: &'c [Chart],
}

impl<'c> Figures<'c> {
    pub fn of(charts: &'c [Chart]) -> Figures<'c> {
        Figures { charts }
    }

    /// Those of a subject, as many as there is room for, and words for the others.
    pub fn of_subject(&self, subject: Subject) -> Vec<Element> {
        let most = match subject {
            Subject::Seconds => SECONDS_MOST,
            Subject::Percentiles | Subject::Behind => POINTS_MOST,
            _ => MOST,
        };
        let all = self.charts.iter().enumerate();
        let own: Vec<(usize, &Chart)> = all.filter(|(_, it)| it.subject == subject).collect();
        let shown = own.iter().take(most);
        let mut elements: Vec<Element> = shown.map(|(place, it)| figure(*place, it)).collect();
        if let Some(more) = own.len().checked_sub(most).filter(|more| *more > 0) {
            let charts = count(more as u64, "chart");
            elements.push(paragraph(&format!(
                "{charts} more: `acklab report RECORD --charts DIR` draws all of them."
            )));
        }
        elements
    }
}

/// A chart with its caption, and its figures as a table that can be opened.
fn figure(place: usize, chart: &Chart) -> Element {
    let id = format!("fig-{}", place + 1);
    let caption = Element::new("figcaption").text(&chart.title[..]);
    let summary = Element::new("summary").text("Its figures as a table");
    let details = Element::new("details").child(summary);
    let details = details.child(tables::element(&chart.table, &chart.title));
    let figure = Element::new("figure").with("id", &id[..]);
    let figure = figure.child(caption).child(chart.picture.inline(&id));
    figure.child(details)
}
