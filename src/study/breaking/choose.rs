//! Which faults of the catalogue are asked for, in which modes of which servers, and how often.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::Mistake;
use crate::study::fault_catalogue::{self, Case, CatalogueRow};
use crate::study::faults::fit::misfits;
use crate::study::faults::{Control, Fault};
use crate::study::written::walk::one_of_names;
use crate::study::{Capabilities, Flavour, ModeSpec};

/// Where these mistakes are.
pub const PLACE: &str = "command line";
/// All rows of the catalogue that break something.
pub const ALL: &str = "all";
/// Trials of what makes vanish what a row shows, where all rows are asked for.
const COUNTER_TRIALS: u32 = 1;
/// Modes that faults can be injected in.
pub const MODES: [&str; 8] = [
    "single",
    "async",
    "semisync",
    "group",
    "group-multi",
    "galera",
    "mirror",
    "quorum",
];
/// Servers that are broken if none is named.
const SERVERS: [&str; 2] = ["mysql", "mariadb"];

/// A server of the catalogue, and the name of a mode.
pub type Pair = (String, String);

/// A fault in a mode, so often.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    pub spec: ModeSpec,
    /// Between all sites, where the mode does not stand as the command has it.
    pub rtt: Option<Duration>,
    pub fault: Fault,
    pub trials: u32,
    /// Nobody asked for it: it shows whether the check is awake.
    pub is_control: bool,
}

impl Chosen {
    /// Whether its mode copies a volume.
    pub fn has_copies(&self) -> bool {
        self.spec.mode.family().copies_volume()
    }
}

/// Rows that are asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// What every mode is asked first: the writer's machine dies.
    First,
    /// These, with what makes vanish what they show.
    Named(Vec<&'static CatalogueRow>),
    All,
}

impl Rows {
    /// By names, and by numbers of known anomalies.
    ///
    /// # Errors
    /// All names that are none.
    pub fn of(names: &[String]) -> Result<Rows, Vec<Mistake>> {
        if names.iter().any(|name| name == ALL) {
            return Ok(Rows::All);
        }
        let (mut named, mut mistakes) = (Vec::new(), Vec::new());
        for name in names {
            match of_name(name) {
                Ok(rows) => named.extend(rows),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        let is_named = |row: &&CatalogueRow| {
            let mut named = named.iter();
            named.any(|other: &&CatalogueRow| other.fault.name == row.fault.name)
        };
        match (names.is_empty(), mistakes.is_empty()) {
            (true, _) => Ok(Rows::First),
            (_, false) => Err(mistakes),
            _ => Ok(Rows::Named(
                fault_catalogue::all().iter().filter(is_named).collect(),
            )),
        }
    }
}

fn of_name(name: &str) -> Result<Vec<&'static CatalogueRow>, Mistake> {
    let Ok(number) = name.parse::<u32>() else {
        let row = fault_catalogue::named(name);
        let none = || fault_catalogue::no_such_fault(PLACE, "FAULT", name);
        return row.map(|row| vec![row]).ok_or_else(none);
    };
    let rows = fault_catalogue::all().iter();
    let rows: Vec<&CatalogueRow> = rows.filter(|row| row.numbers.contains(&number)).collect();
    if !rows.is_empty() {
        return Ok(rows);
    }
    let mut missing = fault_catalogue::missing().iter();
    let allowed = match missing.find(|missing| missing.number == number) {
        Some(missing) => format!("has no fault ({}): {}", missing.title, missing.why),
        None => "is the number of no known anomaly: `acklab break --list` has them all".to_owned(),
    };
    Err(Mistake::new(PLACE, "FAULT", name, &allowed))
}

/// Servers and modes to choose from.
#[derive(Debug)]
pub struct Field<'c> {
    pub capabilities: &'c Capabilities,
    pub servers: Vec<String>,
    /// None is all.
    pub modes: Vec<String>,
}

impl<'c> Field<'c> {
    /// # Errors
    /// Servers that are not known, and modes that none of them has.
    pub fn of(
        capabilities: &'c Capabilities,
        servers: &[String],
        modes: &[String],
    ) -> Result<Field<'c>, Vec<Mistake>> {
        let known: Vec<&str> = capabilities.servers.keys().map(String::as_str).collect();
        let unknown = servers.iter().filter(|name| !known.contains(&&name[..]));
        let unknown =
            unknown.map(|name| Mistake::new(PLACE, "--server", name, &one_of_names(name, &known)));
        let mistakes: Vec<Mistake> = unknown.collect();
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let field = Field {
            capabilities,
            servers: match servers.is_empty() {
                true => SERVERS.map(str::to_owned).into(),
                false => servers.to_vec(),
            },
            modes: modes.to_vec(),
        };
        let nowhere = modes.iter().filter(|mode| !field.has_mode(mode));
        let mistakes: Vec<Mistake> = nowhere.map(|mode| field.no_such_mode(mode)).collect();
        match mistakes.is_empty() {
            true => Ok(field),
            false => Err(mistakes),
        }
    }

    fn has_mode(&self, mode: &str) -> bool {
        self.servers.iter().any(|server| self.can(server, mode))
    }

    fn can(&self, server: &str, mode: &str) -> bool {
        let capability = self.capabilities.get(server);
        capability.is_some_and(|it| it.modes.iter().any(|known| known == mode))
    }

    fn no_such_mode(&self, mode: &str) -> Mistake {
        let can = self.servers.iter().map(|server| {
            let modes = self.capabilities.get(server);
            let modes = modes.map_or_else(String::new, |it| it.modes.join(", "));
            format!("{server} can do {modes}")
        });
        let can: Vec<String> = can.collect();
        let allowed = format!("no server asked for has it: {}", can.join("; "));
        Mistake::new(PLACE, "--mode", mode, &allowed)
    }

    /// All servers asked for, each with all modes asked for that it has.
    pub fn pairs(&self) -> Vec<Pair> {
        let is_asked = |mode: &&str| {
            let mut modes = self.modes.iter();
            self.modes.is_empty() || modes.any(|asked| asked == mode)
        };
        let of_server = |server: &String| {
            let modes = MODES.into_iter().filter(is_asked);
            let modes = modes.filter(|mode| self.can(server, mode));
            let pairs = modes.map(|mode| (server.clone(), mode.to_owned()));
            pairs.collect::<Vec<Pair>>()
        };
        self.servers.iter().flat_map(of_server).collect()
    }

    /// The same, and each server's single mode, which others are held against.
    pub fn with_single(&self) -> Vec<Pair> {
        let mut pairs = self.pairs();
        for server in &self.servers {
            let single = (server.clone(), MODES[0].to_owned());
            if self.can(server, MODES[0]) && !pairs.contains(&single) {
                pairs.push(single);
            }
        }
        pairs
    }

    /// The mode of a case on each of these servers.
    fn specs(&self, case: &Case, pairs: &[Pair]) -> Vec<ModeSpec> {
        let own = &case.spec;
        let is_its = |(server, mode): &&Pair| {
            own.mode.name() == mode && self.stands_for(server) == own.server
        };
        let spec = |(server, _): &Pair| ModeSpec {
            label: own.label.replacen(&own.server, server, 1),
            server: server.clone(),
            ..own.clone()
        };
        pairs.iter().filter(is_its).map(spec).collect()
    }

    /// The server whose cases one has: its own, where it is in the catalogue of faults, else those
    /// of its flavour.
    fn stands_for<'s>(&self, server: &'s str) -> &'s str {
        let mut rows = fault_catalogue::all().iter();
        let is_known = rows.any(|row| row.cases.iter().any(|case| case.spec.server == server));
        let flavour = self.capabilities.get(server).map(|it| it.flavour);
        match flavour.filter(|_| !is_known) {
            None => server,
            Some(Flavour::Mysql) => SERVERS[0],
            Some(Flavour::Mariadb) => SERVERS[1],
        }
    }
}

/// Chooses among what there is.
pub struct Choice<'f> {
    pub field: &'f Field<'f>,
    /// What each pair is if nothing more is said of it.
    pub plain: &'f BTreeMap<Pair, ModeSpec>,
    pub sites: &'f [String],
    /// As often as this, whatever the catalogue says.
    pub trials: Option<u32>,
}

impl Choice<'_> {
    /// All that rows ask for here.
    ///
    /// # Errors
    /// Faults that were asked for and cannot be where they were asked for.
    pub fn of(&self, rows: &Rows) -> Result<Vec<Chosen>, Vec<Mistake>> {
        match rows {
            Rows::First => self.first(),
            Rows::Named(rows) => self.named(rows),
            Rows::All => {
                let pairs = self.field.pairs();
                let rows = fault_catalogue::all().iter();
                // One trial of each case, which is its share, has no interval.
                let rows = rows.filter(|row| !row.only_looks());
                Ok(rows.flat_map(|row| self.cases(row, &pairs, true)).collect())
            }
        }
    }

    /// Of each pair the first row of its mode, with the mode as the row has it. It is plain where
    /// it was asked for by its name, or the row has nothing of the server at all.
    fn first(&self) -> Result<Vec<Chosen>, Vec<Mistake>> {
        let (mut all, mut mistakes) = (Vec::new(), Vec::new());
        for pair in self.field.pairs() {
            let mut rows = fault_catalogue::all().iter();
            let Some(row) = rows.find(|row| row.is_first() && row.is_for(&pair.1)) else {
                continue;
            };
            let pair = [pair];
            let cases = row.cases.iter().map(|case| (case, row.trials));
            let chosen = self.chosen(row, cases, &pair);
            let own = self.field.stands_for(&pair[0].0);
            let has_others = row.cases.iter().any(|case| case.spec.server == own);
            if chosen.is_empty() && (!self.field.modes.is_empty() || !has_others) {
                self.plainly(row, &pair[0], (&mut all, &mut mistakes));
            }
            all.extend(chosen);
        }
        match mistakes.is_empty() {
            true => Ok(all),
            false => Err(mistakes),
        }
    }

    /// Their cases and counters; where none is for a mode that was asked for by its name, or for a
    /// server at all, the fault in the plain mode, if it can be there.
    fn named(&self, rows: &[&'static CatalogueRow]) -> Result<Vec<Chosen>, Vec<Mistake>> {
        let (mut all, mut mistakes) = (Vec::new(), Vec::new());
        let pairs = self.field.pairs();
        for &row in rows {
            let chosen = self.cases(row, &pairs, false);
            let is_met = |(server, mode): &&Pair| {
                let mut chosen = chosen.iter();
                match self.field.modes.is_empty() {
                    true => !row.is_for(mode) || chosen.any(|it| it.spec.server == *server),
                    false => {
                        chosen.any(|it| it.spec.server == *server && it.spec.mode.name() == mode)
                    }
                }
            };
            let unmet: Vec<&Pair> = pairs.iter().filter(|pair| !is_met(pair)).collect();
            for pair in unmet {
                self.plainly(row, pair, (&mut all, &mut mistakes));
            }
            all.extend(chosen);
        }
        match mistakes.is_empty() {
            true if all.is_empty() => Err(vec![nothing(rows)]),
            true => Ok(all),
            false => Err(mistakes),
        }
    }

    /// All cases and counters of a row. Where all rows are asked for, a row's trials are shared out
    /// among its cases.
    fn cases(&self, row: &'static CatalogueRow, pairs: &[Pair], is_among: bool) -> Vec<Chosen> {
        let of = |cases: &'static [Case]| {
            let cases = cases.iter().map(|case| (case, row.trials));
            self.chosen(row, cases, pairs)
        };
        let (mut cases, mut counters) = (of(&row.cases), of(&row.counters));
        // A control that is to lose in a share of its trials is held against that in each mode.
        let is_share = matches!(row.fault.control, Some(Control::Loses(_)));
        if is_among && self.trials.is_none() {
            // What only keeps what other rows lose is a counter here, too.
            match fault_catalogue::is_mere_counter(row) {
                true => share_out(COUNTER_TRIALS, &mut cases),
                false if is_share => {}
                false => share_out(row.trials, &mut cases),
            }
            share_out(COUNTER_TRIALS, &mut counters);
        }
        cases.extend(counters);
        cases
    }

    fn chosen<'r>(
        &self,
        row: &'static CatalogueRow,
        cases: impl Iterator<Item = (&'r Case, u32)>,
        pairs: &[Pair],
    ) -> Vec<Chosen> {
        let of_case = |(case, trials): (&Case, u32)| {
            let fault = row.fault_in(case, fault_catalogue::named);
            let specs = self.field.specs(case, pairs).into_iter();
            let chosen = specs.map(|spec| Chosen {
                spec,
                rtt: case.rtt,
                fault: fault.clone(),
                trials: self.trials.unwrap_or(trials),
                is_control: false,
            });
            chosen.collect::<Vec<Chosen>>()
        };
        cases.flat_map(of_case).collect()
    }

    /// A row's fault in a mode that it has no case of. Nothing is foretold of it then.
    fn plainly(
        &self,
        row: &'static CatalogueRow,
        pair: &Pair,
        (all, mistakes): (&mut Vec<Chosen>, &mut Vec<Mistake>),
    ) {
        let Some(spec) = self.plain.get(pair) else {
            return;
        };
        let mut fault = row.fault.clone();
        fault.control = None;
        match misfits(&fault, spec, self.sites).first() {
            None => all.push(Chosen {
                spec: spec.clone(),
                rtt: None,
                fault,
                trials: self.trials.unwrap_or(row.trials),
                is_control: false,
            }),
            Some(misfit) => {
                let step = misfit.step.map(|step| format!(", step {}", step + 1));
                let step = step.unwrap_or_default();
                let key = format!("{}{step}", fault.name);
                mistakes.push(Mistake::new(PLACE, &key, &spec.label, &misfit.why));
            }
        }
    }

    /// All cases of all rows, without counters and without distances of their own.
    pub fn candidates(&self) -> Vec<Chosen> {
        let pairs = self.field.pairs();
        let of_row = |row: &'static CatalogueRow| {
            let cases = row.cases.iter().filter(|case| case.rtt.is_none());
            self.chosen(row, cases.map(|case| (case, row.trials)), &pairs)
        };
        fault_catalogue::all().iter().flat_map(of_row).collect()
    }

    /// Controls that nobody asked for, each in one mode: if it can be in one that is asked for.
    /// Those of copied volumes are for whoever asks for such.
    pub fn controls(&self, asked: &[Chosen], has_copies: bool) -> Vec<Chosen> {
        let every = Field {
            modes: vec![],
            servers: self.field.servers.clone(),
            capabilities: self.field.capabilities,
        };
        let pairs = every.pairs();
        let here = Choice {
            field: &every,
            plain: self.plain,
            sites: self.sites,
            trials: self.trials,
        };
        // A control's schedule in a mode that it is no control of shows nothing of the check.
        let is_asked = |name: &str| {
            let mut same = asked.iter().filter(|it| it.fault.name == name);
            same.any(|it| it.fault.control.is_some())
        };
        let rows = fault_catalogue::controls().into_iter();
        let rows = rows.filter(|row| !is_asked(&row.fault.name));
        let control = |row: &'static CatalogueRow| {
            let cases = row.cases.iter().map(|case| (case, row.trials));
            let all = here.chosen(row, cases, &pairs);
            let is_alike = |it: &&Chosen| asked.iter().any(|other| other.spec == it.spec);
            let found = all.iter().find(is_alike).or(all.first())?;
            Some(Chosen {
                trials: found.trials.min(row.trials),
                is_control: true,
                ..found.clone()
            })
        };
        let all = rows.filter_map(control);
        all.filter(|it| has_copies || !it.has_copies()).collect()
    }
}

/// As many trials to each, the first ones more if they do not go up, and one at least.
fn share_out(trials: u32, among: &mut [Chosen]) {
    let count = u32::try_from(among.len()).unwrap_or(u32::MAX).max(1);
    for (at, it) in (0..).zip(among) {
        it.trials = (trials / count + u32::from(at < trials % count)).max(1);
    }
}

fn nothing(rows: &[&CatalogueRow]) -> Mistake {
    let names: Vec<&str> = rows.iter().map(|row| &row.fault.name[..]).collect();
    let allowed = "is for no mode of the servers that are asked for: `acklab break --list` has \
                   the modes of each";
    Mistake::new(PLACE, "FAULT", &names.join(", "), allowed)
}
