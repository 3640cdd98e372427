//! What `acklab break` does, as a study: faults of the catalogue, in the modes that they are for,
//! and controls beside them.
//!
//! - `choose`: which faults, in which modes; `cover`: the short run

pub mod choose;
mod cover;

use std::collections::BTreeMap;
use std::time::Duration;

use self::choose::{Choice, Chosen, Field, PLACE, Pair, Rows};
use self::cover::cover;
use super::asked::{equally_apart, read_distances};
use super::fault::Leaves;
use super::fault_catalogue;
use super::faults::{Deed, Fault, Injection, Target, When};
use super::{Capabilities, Distances, ModeSpec, Study, Sweep, Variables, slug, units, written};
use crate::error::{Error, Mistake, Result};

/// What all of its studies are called.
pub const NAME: &str = "break";
/// What rows of the catalogue call the window that they leave a site.
const WINDOW_TOLD: &str = "0.3 s later";

/// As on the command line; what is empty or `None` is as the catalogue has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Breaking {
    /// Names of faults, numbers of known anomalies, or `all`.
    pub faults: Vec<String>,
    pub servers: Vec<String>,
    pub modes: Vec<String>,
    /// `--distances ab=2ms,ac=30ms,bc=30ms`
    pub distances: Option<String>,
    /// Of each fault in each mode.
    pub trials: Option<u32>,
    /// From the cut of a site's links until it loses its power.
    pub window: Option<Duration>,
    /// Server variables that all nodes are to have besides what the catalogue says.
    pub variables: Variables,
    /// What power cuts leave of what was not flushed.
    pub leaves: Option<Leaves>,
    pub seed: u64,
    /// Each deed and each mode once.
    pub is_quick: bool,
    /// Whether single commits are measured before anything is broken.
    pub has_price: bool,
}

impl Breaking {
    /// The study, and its text without its faults.
    ///
    /// # Errors
    /// All that cannot be asked.
    pub fn study(&self, capabilities: &Capabilities) -> Result<(Study, String)> {
        let field = Field::of(capabilities, &self.servers, &self.modes).map_err(Error::Mistakes)?;
        let pairs = field.with_single();
        let text = self.text(&pairs);
        let no_file = |_: &str| Err(String::new());
        let base = written::parse(&text, "acklab break", capabilities, &no_file)?;
        let alone = |spec: &ModeSpec| ModeSpec {
            baseline: None,
            ..spec.clone()
        };
        let specs = base.modes.iter().map(alone);
        let plain: BTreeMap<Pair, ModeSpec> = pairs.into_iter().zip(specs).collect();
        let choice = Choice {
            field: &field,
            plain: &plain,
            sites: &base.sites,
            trials: self.trials,
        };
        let mut chosen = merged(self.chosen(&choice)?);
        self.open_window(&mut chosen)?;
        let at = self.apart(&base, &chosen)?;
        Ok((self.with(base, &chosen, (&plain, at)), text))
    }

    /// Modes as they are by default, and single commits at three distances.
    fn text(&self, pairs: &[Pair]) -> String {
        let mode = |(server, mode): &Pair| {
            let server = toml::Value::String(server.clone());
            format!("\n[[mode]]\nserver = {server}\nmode = \"{mode}\"\n")
        };
        let modes: String = pairs.iter().map(mode).collect();
        format!(
            "name = \"{NAME}\"\n\
             title = \"what an acknowledged commit is worth\"\n\
             seed = {}\n\
             rounds = 3\n\
             warmup = \"0.15s\"\n\
             measure = \"0.7s\"\n\
             disk = {{ flush = \"0.5ms\" }}\n\
             images = {{ place = \"memory\", size = \"800MB\" }}\n\
             {modes}\n\
             [[sweep]]\n\
             workload = \"update_index\"\n\
             connections = 1\n\
             pace = \"10ms\"\n\
             rtt = [\"2ms\", \"0.25ms\", \"8ms\"]\n",
            self.seed
        )
    }

    fn chosen(&self, choice: &Choice<'_>) -> Result<Vec<Chosen>> {
        if self.is_quick {
            return Ok(short(choice));
        }
        let rows = Rows::of(&self.faults).map_err(Error::Mistakes)?;
        let mut chosen = choice.of(&rows).map_err(Error::Mistakes)?;
        self.set(&mut chosen);
        self.set_leaves(&mut chosen)?;
        let has_copies = chosen.iter().any(Chosen::has_copies);
        let controls = choice.controls(&chosen, has_copies);
        chosen.extend(controls);
        Ok(chosen)
    }

    /// Modes with the variables that were asked for; none is a control any more: those run beside.
    fn set(&self, chosen: &mut [Chosen]) {
        for it in chosen.iter_mut().filter(|_| !self.variables.is_empty()) {
            it.spec.variables.extend(self.variables.clone());
            it.spec.label = written::labels::of(&it.spec);
            it.fault.control = None;
        }
    }

    /// Sites are left alone for as long as was asked.
    fn open_window(&self, chosen: &mut [Chosen]) -> Result<()> {
        let Some(window) = self.window else {
            return Ok(());
        };
        let asked = chosen.iter_mut().filter(|it| !it.is_control);
        let opened = asked.map(|it| open_window(&mut it.fault, window));
        if opened.filter(|is_opened| *is_opened).count() > 0 {
            return Ok(());
        }
        let rows = fault_catalogue::all().iter();
        let named = rows.filter(|row| open_window(&mut row.fault.clone(), window));
        let names: Vec<&str> = named.map(|row| &row.fault.name[..]).collect();
        let given = units::show_compact(window);
        let allowed = format!("no fault asked for has one: it is for {}", names.join(", "));
        Err(Mistake::new(PLACE, "--window", &given, &allowed).into())
    }

    /// Disks keep what was asked of what was not flushed. Such a fault has a name of its own, and
    /// is no control any more.
    fn set_leaves(&self, chosen: &mut [Chosen]) -> Result<()> {
        let Some(leaves) = self.leaves else {
            return Ok(());
        };
        let mut has_cut = false;
        for fault in chosen.iter_mut().map(|it| &mut it.fault) {
            let mut is_cut = false;
            for step in &mut fault.steps {
                if let Deed::PowerCut(_, left) = &mut step.deed {
                    (*left, is_cut) = (leaves, true);
                }
            }
            if is_cut {
                fault.name = format!("{}-{}", fault.name, leaves.name());
                fault.control = None;
            }
            has_cut |= is_cut;
        }
        if has_cut {
            return Ok(());
        }
        let allowed = "nothing that is asked for cuts anybody's power";
        Err(Mistake::new(PLACE, "--leaves", leaves.name(), allowed).into())
    }

    /// The distances at which faults are injected.
    fn apart(&self, base: &Study, chosen: &[Chosen]) -> Result<Distances> {
        let usual = base.sweeps.iter().find_map(|sweep| sweep.distances.first());
        let Some(text) = self.distances.as_deref() else {
            return Ok(usual.cloned().unwrap_or_default());
        };
        let at = read_distances(text, &base.sites).map_err(Error::Mistakes)?;
        let longest = at.pairs.iter().map(|(_, _, rtt)| *rtt).max();
        let longest = longest.unwrap_or_default();
        let too_far = chosen.iter().filter_map(|it| {
            let most = written::copies_rtt_max(&it.spec).filter(|most| *most < longest)?;
            Some((&it.spec.label, most))
        });
        let too_far: BTreeMap<&String, Duration> = too_far.collect();
        let mistake = |(label, most): (&String, Duration)| {
            let most = units::show(most);
            let allowed = format!("copies of {label} must answer within {most}");
            Mistake::new(PLACE, "--distances", text, &allowed)
        };
        let mistakes: Vec<Mistake> = too_far.into_iter().map(mistake).collect();
        match mistakes.is_empty() {
            true => Ok(at),
            false => Err(Error::Mistakes(mistakes)),
        }
    }

    /// The study with what was chosen in place of its own modes and sweeps.
    fn with(
        &self,
        base: Study,
        chosen: &[Chosen],
        (plain, at): (&BTreeMap<Pair, ModeSpec>, Distances),
    ) -> Study {
        let mut rows: Vec<Row> = Vec::new();
        let mut injections: Vec<Injection> = Vec::new();
        for it in chosen {
            let label = label_of(&mut rows, it);
            inject(&mut injections, it, label);
        }
        if self.has_price {
            hold_against_single(&mut rows, plain);
        }
        Study {
            sweeps: sweeps(&base, &rows, at),
            modes: rows.into_iter().map(|row| row.spec).collect(),
            injections,
            is_quick: self.is_quick,
            ..base
        }
    }
}

/// Each deed and each mode once, and all controls.
fn short(choice: &Choice<'_>) -> Vec<Chosen> {
    let mut controls = choice.controls(&[], true);
    for control in &mut controls {
        // Of nothing one would tell next to nothing.
        if !control.fault.steps.is_empty() {
            control.trials = 1;
        }
    }
    let mut all = cover(&choice.candidates(), &controls);
    all.extend(controls);
    all
}

/// One of each fault in each mode: rows may ask for the same.
fn merged(chosen: Vec<Chosen>) -> Vec<Chosen> {
    let mut all: Vec<Chosen> = Vec::new();
    for it in chosen {
        let is_same = |known: &&mut Chosen| {
            (&known.spec, known.rtt, &known.fault.name) == (&it.spec, it.rtt, &it.fault.name)
        };
        let Some(known) = all.iter_mut().find(is_same) else {
            all.push(it);
            continue;
        };
        let reach = it.fault.reach.iter();
        let more = reach.filter(|reach| !known.fault.reach.contains(reach));
        let more: Vec<_> = more.copied().collect();
        known.fault.reach.extend(more);
        known.fault.control = known.fault.control.or(it.fault.control);
        known.trials = known.trials.max(it.trials);
        known.is_control &= it.is_control;
    }
    all
}

/// Whether the fault leaves a site, or the first nodes, to themselves for a while before their
/// power goes; then for this long.
fn open_window(fault: &mut Fault, window: Duration) -> bool {
    let mut is_opened = false;
    for at in 1..fault.steps.len() {
        let Deed::CutLinks(links) = fault.steps[at - 1].deed else {
            continue;
        };
        let Deed::PowerCut(whom @ (Target::Site | Target::First(_)), _) = fault.steps[at].deed
        else {
            continue;
        };
        if links.from == whom {
            fault.steps[at].when = When::After {
                min: window,
                max: window,
            };
            is_opened = true;
        }
    }
    if is_opened {
        let told = format!("{} later", units::show(window));
        fault.title = fault.title.replace(WINDOW_TOLD, &told);
    }
    is_opened
}

/// A mode of the study.
struct Row {
    spec: ModeSpec,
    /// As it was chosen, under the label that it had then.
    chosen: ModeSpec,
    rtt: Option<Duration>,
    has_price: bool,
}

/// The label of what was chosen among the modes, which it joins if need be.
fn label_of(rows: &mut Vec<Row>, it: &Chosen) -> String {
    let is_it = |row: &&mut Row| row.chosen == it.spec && row.rtt == it.rtt;
    if let Some(row) = rows.iter_mut().find(is_it) {
        row.has_price |= !it.is_control && it.rtt.is_none();
        return row.spec.label.clone();
    }
    let own = match it.rtt {
        Some(rtt) => format!("{} at {}", it.spec.label, units::show(rtt)),
        None => it.spec.label.clone(),
    };
    let numbered = (2..).map(|number| format!("{own} ({number})"));
    let mut labels = std::iter::once(own.clone()).chain(numbered);
    let is_free = |label: &String| {
        let mut rows = rows.iter();
        !rows.any(|row| slug(&row.spec.label) == slug(label))
    };
    let label = labels.find(is_free).unwrap_or_default();
    rows.push(Row {
        spec: ModeSpec {
            label: label.clone(),
            baseline: None,
            ..it.spec.clone()
        },
        chosen: it.spec.clone(),
        rtt: it.rtt,
        has_price: !it.is_control && it.rtt.is_none(),
    });
    label
}

/// The same fault, as often, is one injection in several modes.
fn inject(injections: &mut Vec<Injection>, it: &Chosen, label: String) {
    let is_same = |known: &&mut Injection| known.fault == it.fault && known.trials == it.trials;
    match injections.iter_mut().find(is_same) {
        Some(known) => known.modes.push(label),
        None => injections.push(Injection {
            fault: it.fault.clone(),
            trials: it.trials,
            modes: vec![label],
        }),
    }
}

/// Each mode whose price is measured is held against its server's single one, which joins them if
/// need be.
fn hold_against_single(rows: &mut Vec<Row>, plain: &BTreeMap<Pair, ModeSpec>) {
    let priced = rows.iter().filter(|row| row.has_price);
    let mut servers: Vec<String> = priced.map(|row| row.spec.server.clone()).collect();
    servers.dedup();
    for server in servers {
        let Some(single) = plain.get(&(server.clone(), "single".to_owned())) else {
            continue;
        };
        let found = rows
            .iter_mut()
            .find(|row| row.chosen == *single && row.rtt.is_none());
        match found {
            Some(row) => row.has_price = true,
            None => rows.push(Row {
                spec: single.clone(),
                chosen: single.clone(),
                rtt: None,
                has_price: true,
            }),
        }
        let of_server = rows.iter_mut().filter(|row| row.spec.server == server);
        for row in of_server.filter(|row| row.spec.label != single.label) {
            row.spec.baseline = Some(single.label.clone());
        }
    }
}

/// Where each mode stands: those whose price is measured at three distances, of which the first is
/// that of its faults; the others at that alone, where nothing is measured.
fn sweeps(base: &Study, rows: &[Row], at: Distances) -> Vec<Sweep> {
    let Some(usual) = base.sweeps.first() else {
        return vec![];
    };
    let has_price = rows.iter().any(|row| row.spec.baseline.is_some());
    let labels = |is_meant: &dyn Fn(&Row) -> bool| -> Vec<String> {
        let rows = rows.iter().filter(|row| is_meant(row));
        rows.map(|row| row.spec.label.clone()).collect()
    };
    let ground = |distances: Distances, modes: Vec<String>| Sweep {
        distances: vec![distances],
        disks: usual.disks.clone(),
        client_sites: usual.client_sites.clone(),
        modes,
        ..Sweep::default()
    };
    let is_priced = |row: &Row| has_price && row.has_price;
    let priced = labels(&is_priced);
    let measured = |distances: Vec<Distances>| Sweep {
        distances,
        modes: priced.clone(),
        ..usual.clone()
    };
    let others = usual.distances.iter().filter(|it| it.pairs != at.pairs);
    let mut all = vec![
        measured(vec![at.clone()]),
        measured(others.cloned().collect()),
        ground(
            at,
            labels(&|row: &Row| !is_priced(row) && row.rtt.is_none()),
        ),
    ];
    let mut rtts: Vec<Duration> = rows.iter().filter_map(|row| row.rtt).collect();
    rtts.sort_unstable();
    rtts.dedup();
    for rtt in rtts {
        let there = equally_apart(&base.sites, rtt);
        all.push(ground(there, labels(&|row: &Row| row.rtt == Some(rtt))));
    }
    // None would mean all.
    all.retain(|sweep| !sweep.modes.is_empty());
    all
}

#[cfg(test)]
mod tests;
