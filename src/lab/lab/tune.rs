//! Other variables for the running servers of a lab, for a while: set under them where that has the
//! same effect, else by starting them anew on the same data.

use std::collections::BTreeSet;

use super::{Lab, Tuning};
use crate::error::{Error, Mistake, Result};
use crate::lab::mode;
use crate::lab::node::Node;
use crate::study::mode::Family;
use crate::study::{ModeSpec, Variables};

/// What servers change in the background: under load it would not be in force at once.
const NOT_AT_ONCE: [&str; 3] = [
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
];

/// A statement that names a session's own value of a variable that has none.
const IS_GLOBAL_ONLY: u16 = 1229;

/// What is tried here, for breakdowns.
const TUNING: &str = "give a server its own variables back";

impl Lab {
    /// Finds out how the lab can be given the variables of these variants, and tries them as far as
    /// that can be done without starting the servers anew.
    ///
    /// # Errors
    /// A mistake with the server's own words: a variable that it does not know, or a value that it
    /// refuses.
    pub fn prepare(&mut self, variants: &[&ModeSpec]) -> Result<()> {
        let changed = variants.iter().flat_map(|spec| &spec.varied);
        let names: BTreeSet<&String> = changed.flat_map(|varied| varied.changed.keys()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let original = self.read_variables(&names)?;
        let is_group = self.spec.family == Family::Group;
        let is_dynamic = !is_group
            && names
                .iter()
                .all(|name| is_settable(&mut self.nodes[0], name));
        self.tuning = Some(Tuning {
            in_force: original[0].clone(),
            original,
            is_dynamic,
            ..Tuning::default()
        });
        let own = self.spec.variables.clone();
        for spec in variants {
            match is_dynamic {
                true => self.tune(&spec.variables)?,
                false => self.check_options(spec)?,
            }
        }
        match is_dynamic {
            true => self.tune(&own),
            false => Ok(()),
        }
    }

    /// Gives all servers these variables, beside what the lab's modes have in common. Where any
    /// variant needs its servers started anew they always are: all blocks begin alike.
    ///
    /// # Errors
    /// A breakdown with the server's last log lines if it does not come up, or is not as it was
    /// where nothing else was asked; a mistake if what is in force is not what was asked.
    pub fn tune(&mut self, wanted: &Variables) -> Result<()> {
        let Some(tuning) = &self.tuning else {
            return Ok(());
        };
        let is_dynamic = tuning.is_dynamic;
        if is_dynamic && self.spec.variables == *wanted {
            return Ok(());
        }
        self.spec.variables = wanted.clone();
        self.decide_settings();
        match is_dynamic {
            true => self.set_running(wanted)?,
            false => self.start_anew()?,
        }
        self.check_in_force(wanted)
    }

    /// The varied variables as the writer says that they are; empty where no mode is a variant.
    pub fn in_force(&self) -> Variables {
        let tuning = self.tuning.as_ref();
        tuning
            .map(|tuning| tuning.in_force.clone())
            .unwrap_or_default()
    }

    /// These variables of each server.
    fn read_variables(&mut self, names: &BTreeSet<&String>) -> Result<Vec<Variables>> {
        let servers = self.servers();
        let read = |node: &mut Node| {
            let all = node.pairs("SHOW GLOBAL VARIABLES")?;
            let named = |name: &&String| {
                let value = all.get(*name).cloned().ok_or_else(|| unknown(node, name))?;
                Ok(((*name).clone(), value))
            };
            names.iter().map(named).collect()
        };
        self.nodes[servers].iter_mut().map(read).collect()
    }

    /// Has the server read a variant's option file, without being started.
    fn check_options(&mut self, spec: &ModeSpec) -> Result<()> {
        let words = self
            .program
            .dialect()
            .optional("check_options")
            .map(str::to_owned);
        let Some(words) = words else {
            return Ok(());
        };
        let settings = self.settings_of(0, &spec.variables).1;
        let words: Vec<&str> = words.split(' ').collect();
        self.nodes[0].check_options(&self.program, &settings, &words, &spec.label)
    }

    /// Sets under the running servers what is wanted, and the rest back.
    fn set_running(&mut self, wanted: &Variables) -> Result<()> {
        mode::hold(self)?;
        let original = self.tuning.as_ref().map(|tuning| tuning.original.clone());
        let servers = self.servers();
        for (node, original) in self.nodes[servers]
            .iter_mut()
            .zip(original.unwrap_or_default())
        {
            for (name, value) in &original {
                let value = wanted.get(name).unwrap_or(value);
                let sql = format!("SET GLOBAL {name} = {}", literal(value));
                let told = node.run(&sql);
                told.map_err(|error| match wanted.contains_key(name) {
                    true => refused(node, &sql, error),
                    false => error,
                })?;
            }
        }
        Ok(())
    }

    /// Ends all servers and starts them with their settings, on the data that they had. The writer
    /// is the last to go and the first to come.
    fn start_anew(&mut self) -> Result<()> {
        self.stop_servers()?;
        mode::form(self)
    }

    /// Reads back what was asked.
    fn check_in_force(&mut self, wanted: &Variables) -> Result<()> {
        let Some(mut tuning) = self.tuning.take() else {
            return Ok(());
        };
        let names: BTreeSet<&String> = tuning.original.iter().flat_map(|one| one.keys()).collect();
        let found = self.read_variables(&names)?;
        for (i, found) in found.iter().enumerate() {
            let mut all = tuning.original[i].iter();
            let wrong = all.find_map(|(name, original)| {
                let why = refusal(name, wanted.get(name), &found[name], original)?;
                Some((wanted.contains_key(name), why))
            });
            match wrong {
                Some((true, why)) => return Err(in_vain(&self.nodes[i], &why)),
                Some((false, why)) => return Err(self.nodes[i].breakdown(TUNING, &why)),
                None => {}
            }
        }
        tuning.in_force = found.into_iter().next().unwrap_or_default();
        if let Some(alike) = tuning.note(wanted) {
            return Err(in_vain(&self.nodes[0], &alike));
        }
        self.tuning = Some(tuning);
        Ok(())
    }
}

impl Tuning {
    /// Remembers what came of each value. Two that come to the same are no two levels: says so.
    fn note(&mut self, wanted: &Variables) -> Option<String> {
        for (name, got) in &self.in_force {
            let Some(asked) = wanted.get(name) else {
                continue;
            };
            let seen = self.seen.entry(name.clone()).or_default();
            let same = seen
                .iter()
                .find(|(other, was)| *was == got && !is_same(other, asked));
            if let Some((other, _)) = same {
                return Some(format!(
                    "{name} = {other} and {name} = {asked} are both {got} there"
                ));
            }
            seen.insert(asked.clone(), got.clone());
        }
        None
    }
}

fn unknown(node: &Node, name: &str) -> Error {
    let allowed = format!("SHOW GLOBAL VARIABLES knows no {name}: take one that this server has");
    Mistake::new(&format!("node {}", node.place.name), "vary", name, &allowed).into()
}

/// What to say of values that were taken and are not in force.
fn in_vain(node: &Node, why: &str) -> Error {
    Mistake::new(&format!("node {}", node.place.name), "vary", "", why).into()
}

/// What to say of a statement that came to nothing: the server's own answer to it is the user's to
/// mend.
fn refused(node: &mut Node, sql: &str, error: Error) -> Error {
    let is_answer = node.error_of(sql).is_some();
    match error {
        Error::Breakdown(breakdown) if is_answer => {
            let place = format!("node {}", node.place.name);
            let allowed = format!("the server refuses it: {}", breakdown.status);
            Mistake::new(&place, "vary", sql, &allowed).into()
        }
        error => error,
    }
}

/// Whether setting it under a running server does what starting with it does: it can be set, at
/// once, and no session that is there already goes on with a value of its own.
fn is_settable(node: &mut Node, name: &str) -> bool {
    if NOT_AT_ONCE.contains(&name) {
        return false;
    }
    let refused = node.error_of(&format!("SET SESSION {name} = @@GLOBAL.{name}"));
    refused == Some(IS_GLOBAL_ONLY)
        && node
            .run(&format!("SET GLOBAL {name} = @@GLOBAL.{name}"))
            .is_ok()
}

/// Why what is in force is not what was asked, or, where nothing was, as it was before. A server
/// may round a value; it must not leave things as they were.
fn refusal(name: &str, asked: Option<&String>, got: &str, original: &str) -> Option<String> {
    let Some(asked) = asked else {
        let was = format!("{name} was {original} and is {got} after it was set back");
        return (got != original).then_some(was);
    };
    let is_taken = is_same(asked, got) || is_among(asked, got) || got != original;
    (!is_taken).then(|| format!("{name} = {asked} was asked, and {got} is in force as before"))
}

/// Whether two spellings mean one value.
fn is_same(one: &str, other: &str) -> bool {
    let number = |text: &str| bytes(text).or_else(|| text.trim().parse::<f64>().ok());
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one == other,
        _ => switch(one) == switch(other),
    }
}

/// `ON`, `TRUE`, `YES` and `1` are one word to an option file; so are their opposites.
fn switch(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    match &lower[..] {
        "on" | "true" | "yes" => "1".to_owned(),
        "off" | "false" | "no" => "0".to_owned(),
        _ => lower,
    }
}

/// Whether `asked` is one of the options that a list of them says: `gcs.fc_limit=64`.
fn is_among(asked: &str, got: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let plain = text.replace(' ', "").to_lowercase();
        plain.split([';', ',']).map(str::to_owned).collect()
    };
    let got = parts(got);
    asked.contains('=')
        && parts(asked)
            .iter()
            .all(|part| part.is_empty() || got.contains(part))
}

/// A size as option files may write it: `16M`.
fn bytes(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let power = "kmgtpe".find(&unit.to_lowercase())? + 1;
    let number: f64 = number.parse().ok()?;
    Some(number * 1024_f64.powi(power as i32))
}

/// A value as SQL takes it: an option file's suffixes are unknown there.
fn literal(value: &str) -> String {
    if let Some(bytes) = bytes(value) {
        return format!("{bytes:.0}");
    }
    match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => value.trim().to_owned(),
        _ => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value_are_one() {
        for (one, other) in [
            ("16M", "16777216"),
            ("on", "1"),
            ("FALSE", "OFF"),
            ("2", "2.0"),
        ] {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in [("16M", "16"), ("on", "off"), ("2", "3"), ("row", "mixed")] {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn values_become_sql() {
        let shown = ["16M", "0", "-1.5", "ON", "it's", ""].map(literal);
        assert_eq!(shown, ["16777216", "0", "-1.5", "'ON'", "'it''s'", "''"]);
    }

    #[test]
    fn a_value_may_be_rounded_but_not_left_out() {
        let asked = |asked: &str, got: &str| refusal("x", Some(&asked.to_owned()), got, "4");
        assert_eq!(asked("5", "5"), None);
        assert_eq!(asked("5", "8"), None);
        assert_eq!(asked("4", "4"), None);
        let left = asked("5", "4").expect("a refusal");
        assert_eq!(left, "x = 5 was asked, and 4 is in force as before");
        assert_eq!(refusal("x", None, "4", "4"), None);
        assert!(refusal("x", None, "5", "4").is_some());
        let options = "a.b = 1; gcs.fc_limit = 64; c = d";
        let fc_limit = |asked: &str| refusal("o", Some(&asked.to_owned()), options, options);
        assert_eq!(fc_limit("gcs.fc_limit=64;c=d"), None);
        assert!(fc_limit("gcs.fc_limit=6").is_some());
    }

    #[test]
    fn two_values_that_come_to_one_are_told() {
        let mut tuning = Tuning::default();
        let mut note = |asked: &str, got: &str| {
            tuning.in_force = [("size".to_owned(), got.to_owned())].into();
            tuning.note(&[("size".to_owned(), asked.to_owned())].into())
        };
        assert_eq!(note("1M", "5242880"), None);
        assert_eq!(note("8M", "8388608"), None);
        assert_eq!(note("1048576", "5242880"), None);
        let told = note("2M", "5242880").expect("a word about it");
        assert!(told.ends_with("size = 2M are both 5242880 there"), "{told}");
    }
}
