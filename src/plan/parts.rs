//! A study in parts whose servers need not stand at the same time: lab by lab.

use super::{Cell, labs};
use crate::study::{ModeSpec, Study, Sweep};

/// What one lab serves.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyPart {
    /// The study as if it had these modes alone.
    pub study: Study,
    /// Of each of its modes the index in the whole study.
    pub modes: Vec<usize>,
}

impl StudyPart {
    /// Of each of its cells the index among those of the whole study; `None` if one is not there.
    pub fn places(&self, own: &[Cell], whole: &[Cell]) -> Option<Vec<usize>> {
        let place = |cell: &Cell| {
            let there = Cell {
                mode: self.modes[cell.mode],
                ..cell.clone()
            };
            whole.iter().position(|other| *other == there)
        };
        own.iter().map(place).collect()
    }
}

/// The parts of a study, in the order in which its modes need their labs first. Each mode is in one
/// of them. Faults are injected at the distances of a study's first sweep: the first sweep of each
/// part is the first in the whole study that has its modes.
pub fn parts(study: &Study) -> Vec<StudyPart> {
    labs(study)
        .iter()
        .flat_map(|lab| by_first_sweep(study, &lab.modes))
        .map(|modes| part(study, modes))
        .collect()
}

fn by_first_sweep(study: &Study, modes: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
    for &mode in modes {
        let label = &study.modes[mode].label;
        let first = study.sweeps.iter().position(|sweep| sweep.has_mode(label));
        match groups.iter_mut().find(|(known, _)| *known == first) {
            Some((_, modes)) => modes.push(mode),
            None => groups.push((first, vec![mode])),
        }
    }
    groups.into_iter().map(|(_, modes)| modes).collect()
}

fn part(study: &Study, modes: Vec<usize>) -> StudyPart {
    let specs: Vec<ModeSpec> = modes
        .iter()
        .map(|mode| study.modes[*mode].clone())
        .collect();
    let is_here = |label: &str| specs.iter().any(|spec| spec.label == label);
    let left = |labels: &[String]| -> Vec<String> {
        let labels = labels.iter().filter(|label| is_here(label));
        labels.cloned().collect()
    };
    let has_any = |sweep: &&Sweep| specs.iter().any(|spec| sweep.has_mode(&spec.label));
    let sweeps = study.sweeps.iter().filter(has_any);
    let sweeps = sweeps.map(|sweep| Sweep {
        modes: left(&sweep.modes),
        ..sweep.clone()
    });
    let injections = study.injections.iter();
    let injections = injections.filter_map(|one| one.shortened(one.trials, is_here));
    StudyPart {
        study: Study {
            sweeps: sweeps.collect(),
            injections: injections.collect(),
            screens: vec![],
            quick: None,
            modes: specs.clone(),
            ..study.clone()
        },
        modes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::study::written;

    /// Three labs, one of them with a mode that stands farther apart.
    const TEXT: &str = r#"
images = {}

[[mode]]
server = "mysql"
mode = "single"

[[mode]]
server = "mysql"
mode = "group"

[[mode]]
server = "mysql"
mode = "async"

[[mode]]
server = "mysql"
mode = "semisync"

[[mode]]
server = "mariadb"
mode = "galera"

[[sweep]]
workload = "update_index"
rtt = ["1ms", "2ms"]
modes = ["mysql single", "mysql group", "mysql async", "mariadb galera"]

[[sweep]]
workload = "update_index"
rtt = "20ms"

[[fault]]
name = "writer-dies"
trials = 3

[[fault]]
name = "no-fault"
modes = ["mysql group", "mysql single"]
"#;

    #[test]
    fn each_mode_is_in_one_part_with_all_that_is_asked_of_it() {
        let study = written::sample(TEXT);
        let parts = parts(&study);
        let modes: Vec<&[usize]> = parts.iter().map(|part| &part.modes[..]).collect();
        assert_eq!(modes, [&[0, 2][..], &[3], &[1], &[4]]);
        for part in &parts {
            assert_eq!(labs(&part.study).len(), 1, "{:?}", part.modes);
            let labels = part.modes.iter().map(|mode| &study.modes[*mode].label);
            assert!(labels.eq(part.study.modes.iter().map(|spec| &spec.label)));
        }
        let first = |part: &StudyPart| part.study.sweeps[0].distances[0].label.clone();
        let first: Vec<String> = parts.iter().map(first).collect();
        assert_eq!(first, ["1 ms", "20 ms", "1 ms", "1 ms"]);
        let trials = |study: &Study| crate::plan::injected(study, None).len();
        let sum: usize = parts.iter().map(|part| trials(&part.study)).sum();
        assert_eq!((sum, trials(&study)), (3 * 2 + 5 * 2, sum));
    }

    #[test]
    fn the_cells_of_all_parts_are_those_of_the_whole() {
        let study = written::sample(TEXT);
        let whole = plan(&study).cells;
        let places = parts(&study).into_iter().flat_map(|part| {
            let own = plan(&part.study).cells;
            part.places(&own, &whole).expect("all are there")
        });
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..whole.len()));
        let other = Cell {
            connections: 77,
            ..whole[0].clone()
        };
        assert_eq!(parts(&study)[0].places(&[other], &whole), None);
    }
}
