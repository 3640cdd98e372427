//! An article's table in its own form: what was published, and what was measured here.

use serde::{Deserialize, Serialize};

use crate::analysis::interval::Estimate;
use crate::analysis::summary::Value;
use crate::study::articles;

/// A table of figures of one unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    pub title: String,
    /// `s`, `commits/s`…; what the ends of a range are, if they are no interval.
    pub unit: String,
    pub columns: Vec<String>,
    pub rows: Vec<GridRow>,
}

/// One row; where both were given, the published one stands below the one measured here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GridRow {
    pub name: String,
    /// Of another machine, shown and never compared: what the article's figures are called.
    pub published: Option<String>,
    /// One for each column.
    pub figures: Vec<Option<Value>>,
    /// What the figures leave to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Grid {
    /// A table without rows.
    pub fn new(title: &str, unit: &str, columns: &[&str]) -> Grid {
        Grid {
            title: title.to_owned(),
            unit: unit.to_owned(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: vec![],
        }
    }

    /// Adds what was measured, and below it what the article published under that name.
    pub fn add(
        &mut self,
        name: &str,
        here: Vec<Option<Value>>,
        (published, there): (&str, Vec<Option<Value>>),
    ) {
        let both = [(None, here), (Some(published.to_owned()), there)];
        for (published, figures) in both {
            if figures.iter().any(Option::is_some) {
                self.rows.push(GridRow {
                    name: name.to_owned(),
                    published,
                    figures,
                    note: None,
                });
            }
        }
    }

    /// Says more of what was measured and added last.
    pub fn note_last(&mut self, note: Option<String>) {
        let mut measured = self.rows.iter_mut().filter(|row| row.published.is_none());
        if let Some(row) = measured.next_back() {
            row.note = note;
        }
    }

    /// The table, if there is anything measured in it.
    pub fn if_measured(self) -> Vec<Grid> {
        match self.rows.iter().any(|row| row.published.is_none()) {
            true => vec![self],
            false => vec![],
        }
    }
}

/// An estimate as a table has it.
pub fn value(estimate: Option<Estimate>) -> Option<Value> {
    estimate.map(Value::from)
}

/// Plain published numbers.
pub fn published(key: &str, path: &[&str]) -> Vec<Option<Value>> {
    let plain = |value| {
        Some(Value {
            value,
            low: None,
            high: None,
        })
    };
    articles::numbers(key, path)
        .into_iter()
        .map(plain)
        .collect()
}
