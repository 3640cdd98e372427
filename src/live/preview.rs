//! The first rows while a study still runs: what the first round of paced commits came to.

use std::collections::BTreeMap;

use crate::plan::{Cell, Outcome, Plan};
use crate::report::numbers::time;
use crate::study::Study;

/// Medians of the first round, as they come.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preview {
    rows: Vec<Row>,
    /// Labels of the distances, in the order of the table.
    distances: Vec<String>,
    /// Paced cells of the first round that are not measured yet, and where they stand.
    missing: BTreeMap<usize, (usize, String)>,
    has_heading: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    label: String,
    /// Index of the row that it is held against.
    baseline: Option<usize>,
    /// Median latency in µs by distance.
    medians_us: BTreeMap<String, f64>,
    is_told: bool,
}

impl Preview {
    /// Of a study's paced cells under its first paced load; of none nothing is ever shown.
    pub fn of(study: &Study, plan: &Plan) -> Preview {
        let labels = study.modes.iter().map(|spec| &spec.label);
        let row_of = |label: &String| labels.clone().position(|own| own == label);
        let rows = study.modes.iter().map(|spec| Row {
            label: spec.label.clone(),
            baseline: spec.baseline.as_ref().and_then(row_of),
            medians_us: BTreeMap::new(),
            is_told: false,
        });
        let first = plan.cells.iter().find(|cell| cell.pace.is_some());
        let is_meant = |cell: &Cell| {
            cell.pace.is_some() && first.is_some_and(|first| is_same_load(first, cell))
        };
        let mut preview = Preview {
            rows: rows.collect(),
            ..Preview::default()
        };
        for (index, cell) in plan.cells.iter().enumerate().filter(|(_, c)| is_meant(c)) {
            let distances = cell.distances.label.clone();
            if !preview.distances.contains(&distances) {
                preview.distances.push(distances.clone());
            }
            preview.missing.insert(index, (cell.mode, distances));
        }
        preview
    }

    /// Takes in a measurement; the lines of the rows that are complete with it, their baseline's
    /// too.
    pub fn take(&mut self, outcome: &Outcome) -> Vec<String> {
        let Some((mode, distances)) = self.missing.remove(&outcome.cell) else {
            return vec![];
        };
        let median = outcome.latency_us_p50.filter(|_| !outcome.is_void);
        if let Some(us) = median {
            self.rows[mode].medians_us.insert(distances, us as f64);
        }
        let ready: Vec<usize> = (0..self.rows.len())
            .filter(|row| self.is_due(*row))
            .collect();
        let mut lines = Vec::new();
        if !ready.is_empty() && !self.has_heading {
            self.has_heading = true;
            lines.push(self.heading());
        }
        for row in ready {
            lines.push(self.line(&self.rows[row]));
            self.rows[row].is_told = true;
        }
        lines
    }

    fn is_due(&self, index: usize) -> bool {
        let is_complete = |row: usize| !self.missing.values().any(|(mode, _)| *mode == row);
        let row = &self.rows[index];
        let is_new = !row.is_told && !row.medians_us.is_empty();
        is_new && is_complete(index) && row.baseline.is_none_or(is_complete)
    }

    fn heading(&self) -> String {
        format!(
            "preliminary, one round: median of a paced commit (and what it adds), sites apart: {}",
            self.distances.join("; ")
        )
    }

    fn line(&self, row: &Row) -> String {
        let figures = self.distances.iter().map(|distances| {
            let own = row.medians_us.get(distances);
            let base = row
                .baseline
                .and_then(|base| self.rows[base].medians_us.get(distances));
            match (own, base) {
                (None, _) => "–".to_owned(),
                (Some(own), None) => time(*own),
                (Some(own), Some(base)) => format!("{} ({})", time(*own), signed(own - base)),
            }
        });
        let figures: Vec<String> = figures.map(|figure| format!("{figure:>22}")).collect();
        let labels = self.rows.iter().map(|row| row.label.chars().count());
        let width = labels.max().unwrap_or(0);
        format!("  {:<width$}{}", row.label, figures.concat())
    }
}

fn signed(us: f64) -> String {
    match us < 0.0 {
        true => format!("−{}", time(-us)),
        false => format!("+{}", time(us)),
    }
}

/// The same but for mode and distances.
fn is_same_load(one: &Cell, other: &Cell) -> bool {
    let load = |cell: &Cell| Cell {
        id: String::new(),
        mode: 0,
        distances: Default::default(),
        rounds: None,
        ..cell.clone()
    };
    load(one) == load(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::study::written::sample;

    const TEXT: &str = r#"
[[mode]]
server = "mysql"
mode = "single"

[[mode]]
server = "mysql"
mode = "async"

[[sweep]]
workload = "update_index"
pace = "10ms"
rtt = ["0.25ms", "8ms"]

[[sweep]]
workload = "update_index"
connections = 4
rtt = "8ms"
"#;

    fn outcome(cell: usize, us: u64) -> Outcome {
        Outcome {
            cell,
            latency_us_p50: Some(us),
            ..Outcome::default()
        }
    }

    #[test]
    fn a_row_comes_with_its_last_figure_and_its_baseline_s() {
        let study = sample(TEXT);
        let mut preview = Preview::of(&study, &plan(&study));
        for taken in [
            outcome(1, 3_200),
            outcome(3, 2_950),
            outcome(4, 9_000),
            outcome(0, 3_000),
        ] {
            assert_eq!(preview.take(&taken), [""; 0]);
        }
        let lines = preview.take(&outcome(2, 3_000));
        assert!(lines[0].starts_with("preliminary, one round"), "{lines:?}");
        assert!(lines[0].ends_with("0.25 ms; 8 ms"), "{lines:?}");
        assert!(lines[1].contains("mysql single"), "{lines:?}");
        assert!(lines[2].contains("3.20 ms (+200 µs)"), "{lines:?}");
        assert!(lines[2].contains("2.95 ms (−50.0 µs)"), "{lines:?}");
        assert_eq!(lines.len(), 3);
        assert_eq!(
            preview.take(&outcome(1, 3_000)),
            [""; 0],
            "the second round"
        );
    }

    #[test]
    fn a_row_without_a_baseline_waits_for_nobody() {
        let study = sample(TEXT);
        let mut preview = Preview::of(&study, &plan(&study));
        assert_eq!(preview.take(&outcome(0, 3_000)), [""; 0]);
        assert_eq!(preview.take(&outcome(2, 3_000)).len(), 2);
    }

    #[test]
    fn a_study_without_paced_cells_has_none() {
        let study = sample(&TEXT.replace("pace = \"10ms\"", ""));
        let mut preview = Preview::of(&study, &plan(&study));
        assert_eq!(preview.take(&outcome(0, 3_000)), [""; 0]);
    }
}
