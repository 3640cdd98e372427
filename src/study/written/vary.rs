//! `[[vary]]`: variants of modes that differ in server variables alone.

use std::collections::BTreeSet;

use super::modes::{GIVEN_TWICE, plain_name, variables};
use super::walk::{Node, Table, one_of_names};
use crate::study::screen::{Design, Factor, Screen, letter};
use crate::study::{ModeSpec, Variables, Varied, limits, slug};

/// Resolution of a screening design, if the study does not say: every interaction of two can be
/// told.
const DEFAULT_RESOLUTION: u32 = 5;

/// The modes with their variants behind each, and the screening designs among these.
pub fn read(study: &Table<'_>, modes: Vec<ModeSpec>) -> (Vec<ModeSpec>, Vec<Screen>) {
    let tables = study.get("vary").map(|node| node.tables());
    let mut grown = Grown::of(&modes);
    for table in tables.unwrap_or_default() {
        vary(&table, &modes, &mut grown);
    }
    let behind = |(mode, variants): (ModeSpec, Vec<ModeSpec>)| [vec![mode], variants].concat();
    let all = modes.into_iter().zip(grown.variants).flat_map(behind);
    (all.collect(), grown.screens)
}

/// What has been made of the modes so far.
struct Grown {
    /// Of each mode, in the order of the study.
    variants: Vec<Vec<ModeSpec>>,
    screens: Vec<Screen>,
    /// Labels that are taken, as slugs.
    taken: BTreeSet<String>,
}

impl Grown {
    fn of(modes: &[ModeSpec]) -> Grown {
        Grown {
            variants: vec![Vec::new(); modes.len()],
            screens: Vec::new(),
            taken: modes.iter().map(|mode| slug(&mode.label)).collect(),
        }
    }

    /// A variant of mode `index`, unless something is wrong with it; its label.
    fn add(
        &mut self,
        modes: &[ModeSpec],
        index: usize,
        variation: &Variation<'_>,
    ) -> Option<String> {
        let (base, node) = (&modes[index], &variation.node);
        let spec = variant(base, &variation.name, &variation.changed);
        let own = base.node_variables.values().flatten();
        let mut clashing = own.filter(|(name, _)| variation.changed.contains_key(*name));
        if let Some((name, _)) = clashing.next() {
            let of = &base.label;
            node.wrong(&format!(
                "node_variables of {of} give {name} too, and would win"
            ));
            return None;
        }
        if spec.variables == base.variables && !variation.is_run {
            node.wrong(&format!("is what {} has anyway", base.label));
            return None;
        }
        if !self.taken.insert(slug(&spec.label)) {
            node.wrong(&format!(
                "makes a mode called {:?}, which there is already",
                spec.label
            ));
            return None;
        }
        let label = spec.label.clone();
        self.variants[index].push(spec);
        Some(label)
    }
}

/// One set of variables in place of a mode's own.
struct Variation<'d> {
    /// What its label says beside the mode's.
    name: String,
    changed: Variables,
    /// Where it stands in the study.
    node: Node<'d>,
    /// It is a run of a screening design, which may have a mode's own values in it.
    is_run: bool,
}

fn variant(base: &ModeSpec, name: &str, changed: &Variables) -> ModeSpec {
    let mut variables = base.variables.clone();
    variables.extend(changed.clone());
    ModeSpec {
        label: format!("{} {name}", base.label),
        baseline: Some(base.label.clone()),
        variables,
        varied: Some(Varied {
            of: base.label.clone(),
            changed: changed.clone(),
        }),
        ..base.clone()
    }
}

fn vary(table: &Table<'_>, modes: &[ModeSpec], grown: &mut Grown) {
    let bases = bases(table, modes);
    let (sets, alone) = (table.get("sets"), table.get("alone"));
    let screen = table.get("screen");
    if sets.is_none() && alone.is_none() && screen.is_none() {
        table.wrong("", "needs sets, alone or screen: what is to be varied");
    }
    let mut variations: Vec<Variation<'_>> = sets.iter().flat_map(of_sets).collect();
    variations.extend(alone.iter().flat_map(of_alone));
    let screen = of_screen(table, screen);
    table.finish();
    for index in bases {
        for variation in &variations {
            grown.add(modes, index, variation);
        }
        if let Some((node, factors, design)) = &screen {
            let runs = (0..design.runs()).map(|run| of_run(node, factors, design, run));
            let labels = runs.map(|run| grown.add(modes, index, &run));
            let labels: Option<Vec<String>> = labels.collect();
            grown.screens.extend(labels.map(|runs| Screen {
                of: modes[index].label.clone(),
                factors: factors.clone(),
                design: design.clone(),
                runs,
            }));
        }
    }
}

/// Indices of the modes that are varied: those that are named, or all.
fn bases(table: &Table<'_>, modes: &[ModeSpec]) -> Vec<usize> {
    let Some(node) = table.get("mode") else {
        return (0..modes.len()).collect();
    };
    let labels: Vec<&str> = modes.iter().map(|mode| &mode.label[..]).collect();
    let index = |node: &Node<'_>| {
        let label = node.text()?;
        let found = labels.iter().position(|known| *known == label);
        if found.is_none() {
            node.wrong(&format!(
                "is no mode's label; {}",
                one_of_names(label, &labels)
            ));
        }
        found
    };
    let nodes = node.list().unwrap_or_default();
    nodes.iter().filter_map(index).collect()
}

/// `{ "tuned A" = { name = value, … }, … }`
fn of_sets<'d>(node: &Node<'d>) -> Vec<Variation<'d>> {
    let entries = node.table().map(|table| table.entries());
    let set = |(name, node): (&str, Node<'d>)| {
        if !name.contains(char::is_alphanumeric) {
            node.wrong("its name must hold a letter or a digit");
        }
        Variation {
            name: name.trim().to_owned(),
            changed: variables(&node),
            node,
            is_run: false,
        }
    };
    entries.unwrap_or_default().into_iter().map(set).collect()
}

/// `{ name = [value, …], … }`: each value a variant.
fn of_alone<'d>(node: &Node<'d>) -> Vec<Variation<'d>> {
    let one = |name: &str, (value, node): (String, Node<'d>)| Variation {
        name: format!("{name}={value}"),
        changed: [(name.to_owned(), value)].into(),
        node,
        is_run: false,
    };
    let each = levels(node).into_iter();
    each.flat_map(|(name, _, values)| values.into_iter().map(move |value| one(&name, value)))
        .collect()
}

/// A variable, where it stands, and its values, each with its place.
type Levels<'d> = (String, Node<'d>, Vec<(String, Node<'d>)>);

/// Variables with their values; what is given twice is a mistake.
fn levels<'d>(node: &Node<'d>) -> Vec<Levels<'d>> {
    let mut all: Vec<Levels<'d>> = Vec::new();
    let entries = node.table().map(|table| table.entries());
    for (name, node) in entries.unwrap_or_default() {
        let Some(name) = plain_name(name, &node) else {
            continue;
        };
        if all.iter().any(|(known, ..)| *known == name) {
            node.wrong(GIVEN_TWICE);
            continue;
        }
        let mut values: Vec<(String, Node<'d>)> = Vec::new();
        for item in node.list().unwrap_or_default() {
            let Some(value) = item.option_value() else {
                continue;
            };
            if values.iter().any(|(known, _)| *known == value) {
                item.wrong("is given twice");
                continue;
            }
            values.push((value, item));
        }
        all.push((name, node, values));
    }
    all
}

/// The factors of a screening design, and which of their combinations are run.
fn of_screen<'d>(
    table: &Table<'d>,
    screen: Option<Node<'d>>,
) -> Option<(Node<'d>, Vec<Factor>, Design)> {
    let (runs, resolution) = (table.get("runs"), table.get("resolution"));
    let Some(screen) = screen else {
        for node in runs.iter().chain(&resolution) {
            node.wrong("is for a screen only");
        }
        return None;
    };
    if let (Some(runs), Some(_)) = (&runs, &resolution) {
        runs.wrong("one of runs and resolution must be given, not both");
    }
    let factors = factors(&screen)?;
    let count = factors.len();
    if let Some(node) = runs {
        let asked = node.count(limits::SCREEN_RUNS)?;
        let design = Design::of_runs(count, asked);
        let design = design.map_err(|advice| node.wrong(&advice)).ok()?;
        return Some((screen, factors, design));
    }
    let resolution = match resolution {
        Some(node) => node.count(limits::SCREEN_RESOLUTION)?,
        None => DEFAULT_RESOLUTION,
    };
    let design = Design::of_resolution(count, resolution);
    Some((screen, factors, design))
}

/// `{ name = [low, high], … }`
fn factors(screen: &Node<'_>) -> Option<Vec<Factor>> {
    let all = levels(screen);
    let factor = |(name, node, values): &Levels<'_>| {
        let [(low, _), (high, _)] = &values[..] else {
            node.wrong("must be two levels, [low, high]");
            return None;
        };
        Some(Factor {
            name: name.clone(),
            low: low.clone(),
            high: high.clone(),
        })
    };
    let factors: Vec<Option<Factor>> = all.iter().map(factor).collect();
    let allowed = limits::SCREEN_FACTORS;
    if !allowed.holds(factors.len() as u64) {
        let (low, high) = (allowed.low, allowed.high);
        screen.wrong(&format!("must hold {low} to {high} variables"));
        return None;
    }
    factors.into_iter().collect()
}

/// A run is called after the factors that are high in it, as is usual: `screen abd`.
fn of_run<'d>(node: &Node<'d>, factors: &[Factor], design: &Design, run: u32) -> Variation<'d> {
    let is_high = |factor: &usize| design.is_high(run, *factor);
    let level = |(index, factor): (usize, &Factor)| {
        let value = if is_high(&index) {
            &factor.high
        } else {
            &factor.low
        };
        (factor.name.clone(), value.clone())
    };
    let high: String = (0..factors.len()).filter(is_high).map(letter).collect();
    Variation {
        name: match high.is_empty() {
            true => "screen all low".to_owned(),
            false => format!("screen {high}"),
        },
        changed: factors.iter().enumerate().map(level).collect(),
        node: node.clone(),
        is_run: true,
    }
}
