//! A walk over TOML that goes on after a mistake, so that a file's mistakes all come at once.
//!
//! Each value knows its key in full and where it stands. Reading one that is wrong notes a mistake
//! and gives `None`; the caller goes on with a default, for nothing is made of a study with
//! mistakes. Keys that nobody asked for are mistakes too: see [`Table::finish`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Mistake, Result};
use crate::study::limits;
use crate::study::units;

/// Reads the file of a given name as text; the error says what is wrong with it.
pub type ReadFile<'a> = dyn Fn(&str) -> std::result::Result<String, String> + 'a;

/// No smaller share is shown as an example of how to write one per cent.
const LEAST_SHOWN: f64 = 0.005;

/// A text that is being read, and the mistakes found in it so far.
pub struct Document<'t> {
    file: &'t str,
    text: &'t str,
    mistakes: RefCell<Vec<(usize, Mistake)>>,
}

/// A value of the document.
#[derive(Clone)]
pub struct Node<'d> {
    document: &'d Document<'d>,
    /// The key in full, e.g. `mode[2].appliers`; items count from 1.
    pub key: String,
    span: Range<usize>,
    value: &'d DeValue<'d>,
}

/// A table of the document.
#[derive(Clone)]
pub struct Table<'d> {
    document: &'d Document<'d>,
    key: String,
    span: Range<usize>,
    entries: BTreeMap<&'d str, (Range<usize>, Node<'d>)>,
    known: RefCell<Vec<String>>,
    /// Known as well, but not worth a mention.
    aliases: RefCell<Vec<String>>,
}

/// The file's syntax as TOML; all its mistakes at once.
pub fn syntax<'t>(file: &str, text: &'t str) -> Result<Spanned<DeTable<'t>>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(root);
    }
    let mistake = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        Mistake::new(
            &place(file, text, start),
            "",
            "",
            &format!("not TOML: {}", error.message()),
        )
    };
    Err(Error::Mistakes(errors.iter().map(mistake).collect()))
}

impl<'d> Document<'d> {
    /// A document to walk; `text` is what [`syntax`] has read.
    pub fn new(file: &'d str, text: &'d str) -> Self {
        Document {
            file,
            text,
            mistakes: RefCell::default(),
        }
    }

    /// The document's outermost table.
    pub fn root(&'d self, root: &'d Spanned<DeTable<'d>>) -> Table<'d> {
        Table::new(self, String::new(), root.span(), root.get_ref())
    }

    /// `value`, unless there were mistakes: then all of them, in the order of the file.
    pub fn conclude<T>(self, value: T) -> Result<T> {
        let mut mistakes = self.mistakes.into_inner();
        if mistakes.is_empty() {
            return Ok(value);
        }
        mistakes.sort_by_key(|(start, _)| *start);
        Err(Error::Mistakes(
            mistakes.into_iter().map(|(_, mistake)| mistake).collect(),
        ))
    }

    fn note(&self, start: usize, key: &str, given: &str, allowed: &str) {
        let place = place(self.file, self.text, start);
        let mistake = Mistake::new(&place, key, given, allowed);
        self.mistakes.borrow_mut().push((start, mistake));
    }
}

fn place(file: &str, text: &str, start: usize) -> String {
    format!("{file}:{}", line(text, start))
}

/// Lines count from 1.
fn line(text: &str, start: usize) -> usize {
    let before = &text.as_bytes()[..start.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

impl<'d> Table<'d> {
    fn new(
        document: &'d Document<'d>,
        key: String,
        span: Range<usize>,
        table: &'d DeTable<'d>,
    ) -> Self {
        let mut entries = BTreeMap::new();
        for (name, value) in table {
            let node = Node {
                document,
                key: join(&key, name.get_ref()),
                span: value.span(),
                value: value.get_ref(),
            };
            entries.insert(name.get_ref().as_ref(), (name.span(), node));
        }
        Table {
            document,
            key,
            span,
            entries,
            known: RefCell::default(),
            aliases: RefCell::default(),
        }
    }

    /// The value of a key, if it was given. From now on the key is known.
    pub fn get(&self, name: &str) -> Option<Node<'d>> {
        let mut known = self.known.borrow_mut();
        if !known.iter().any(|key| key == name) {
            known.push(name.to_owned());
        }
        self.entries.get(name).map(|(_, node)| node.clone())
    }

    /// What is read from the value of a key, if it was given.
    pub fn read<T>(&self, name: &str, read: impl FnOnce(&Node<'d>) -> Option<T>) -> Option<T> {
        self.get(name).and_then(|node| read(&node))
    }

    /// As [`Table::get`], for another spelling of a key, which no message need name.
    pub fn get_alias(&self, name: &str) -> Option<Node<'d>> {
        self.aliases.borrow_mut().push(name.to_owned());
        self.entries.get(name).map(|(_, node)| node.clone())
    }

    /// A time within a range; the default where it is not given, or wrong.
    pub fn time(&self, name: &str, range: limits::Range<Duration>, default: Duration) -> Duration {
        let given = self.get(name).and_then(|node| node.time(range));
        given.unwrap_or(default)
    }

    /// The value of a key that must be given.
    pub fn need(&self, name: &str, allowed: &str) -> Option<Node<'d>> {
        let found = self.get(name);
        if found.is_none() {
            let key = join(&self.key, name);
            self.document
                .note(self.span.start, &key, "", &format!("is missing; {allowed}"));
        }
        found
    }

    /// All keys and values, for tables whose keys the user chooses. All keys become known.
    pub fn entries(&self) -> Vec<(&'d str, Node<'d>)> {
        let mut known = self.known.borrow_mut();
        known.extend(self.entries.keys().map(|name| name.to_string()));
        self.entries
            .iter()
            .map(|(name, (_, node))| (*name, node.clone()))
            .collect()
    }

    /// How many mistakes have been found in the whole document so far.
    pub fn mistakes_so_far(&self) -> usize {
        self.document.mistakes.borrow().len()
    }

    /// Notes a mistake about the table as a whole.
    pub fn wrong(&self, given: &str, allowed: &str) {
        self.document
            .note(self.span.start, &self.key, given, allowed);
    }

    /// Every key that nobody asked for is a mistake. To be called when all have been asked for.
    pub fn finish(&self) {
        let (known, aliases) = (self.known.borrow(), self.aliases.borrow());
        for (name, (span, node)) in &self.entries {
            if !known.iter().chain(aliases.iter()).any(|key| key == name) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let advice = format!("no such key; {}", suggest(name, &known));
                self.document
                    .note(span.start, &node.key, &node.given(), &advice);
            }
        }
    }
}

impl<'d> Node<'d> {
    /// The value as it stands in the file, shortened if it is long.
    pub fn given(&self) -> String {
        let text = &self.document.text[self.span.clone()];
        let line = text.lines().next().unwrap_or_default();
        let short: String = line.chars().take(60).collect();
        if short.len() == text.len() {
            short
        } else {
            format!("{short} …")
        }
    }

    /// The line on which it stands.
    pub fn line(&self) -> usize {
        line(self.document.text, self.span.start)
    }

    /// Notes that the value is a mistake.
    pub fn wrong(&self, allowed: &str) {
        self.document
            .note(self.span.start, &self.key, &self.given(), allowed);
    }

    /// The same of a value that must not be shown as it stands.
    pub fn wrong_unseen(&self, shown: &str, allowed: &str) {
        self.document
            .note(self.span.start, &self.key, shown, allowed);
    }

    fn or_wrong<T>(&self, value: Option<T>, allowed: &str) -> Option<T> {
        if value.is_none() {
            self.wrong(allowed);
        }
        value
    }

    /// The value, if it is a text; no mistake if it is not.
    pub fn as_text(&self) -> Option<&'d str> {
        self.value.as_str()
    }

    /// The value, if it is a whole number that fits; no mistake if it is not.
    pub fn as_integer(&self) -> Option<i64> {
        let integer = self.value.as_integer()?;
        i64::from_str_radix(integer.as_str(), integer.radix()).ok()
    }

    /// The value, if it is a finite number; no mistake if it is not.
    pub fn as_number(&self) -> Option<f64> {
        let number: Option<f64> = match self.value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => self.as_integer().map(|integer| integer as f64),
        };
        number.filter(|number| number.is_finite())
    }

    /// Whether it is a table; no mistake if it is not.
    pub fn is_table(&self) -> bool {
        self.value.as_table().is_some()
    }

    /// A text.
    pub fn text(&self) -> Option<&'d str> {
        self.or_wrong(self.as_text(), "must be a text in quotes")
    }

    /// A text that is not empty.
    pub fn words(&self) -> Option<&'d str> {
        let text = self.text()?;
        self.or_wrong(
            Some(text).filter(|text| !text.trim().is_empty()),
            "must not be empty",
        )
    }

    /// Whether it is `true`; what else it may be is told where it is read.
    pub fn is_true(&self) -> bool {
        self.value.as_bool() == Some(true)
    }

    /// `true` or `false`.
    pub fn flag(&self) -> Option<bool> {
        self.or_wrong(self.value.as_bool(), "must be true or false")
    }

    /// A whole number of any sign.
    pub fn integer(&self) -> Option<i64> {
        self.or_wrong(self.as_integer(), "must be a whole number")
    }

    /// A whole number within a range.
    pub fn whole(&self, range: limits::Range<u64>) -> Option<u64> {
        let integer = self.value.as_integer();
        let value = integer.and_then(|i| u64::from_str_radix(i.as_str(), i.radix()).ok());
        self.or_wrong(
            value.filter(|value| range.holds(*value)),
            &range.whole_number(),
        )
    }

    /// A whole number within a range that fits 32 bits.
    pub fn count(&self, range: limits::Range<u64>) -> Option<u32> {
        self.whole(range)
            .and_then(|value| u32::try_from(value).ok())
    }

    /// A time with its unit, within a range.
    pub fn time(&self, range: limits::Range<Duration>) -> Option<Duration> {
        let value = (self.as_text())
            .and_then(units::nanoseconds)
            .filter(|nanos| (0.0..1e18).contains(nanos))
            .map(units::from_nanoseconds)
            .filter(|value| range.holds(*value));
        self.or_wrong(value, &range.time_for(self.as_text()))
    }

    /// A share, as a number or in per cent.
    pub fn share(&self, range: limits::Range<f64>) -> Option<f64> {
        let number = match self.value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => integer.as_str().parse().ok(),
            DeValue::String(text) => units::percent(text),
            _ => None,
        };
        let allowed = format!(
            "must be a share from {} to {}, or \"{}%\" up to \"{}%\"",
            range.low,
            range.high,
            range.low.max(LEAST_SHOWN) * 100.0,
            range.high * 100.0
        );
        self.or_wrong(number.filter(|share| range.holds(*share)), &allowed)
    }

    /// A rate in bits per second.
    pub fn rate(&self, range: limits::Range<f64>) -> Option<u64> {
        let rate = self.as_text().and_then(units::bits_per_s);
        let allowed = "must be a rate from 1 kB/s (8 kbit/s) to 100 Gbit/s, such as \"25Mbit/s\"";
        let rate = self.or_wrong(rate.filter(|rate| range.holds(*rate)), allowed)?;
        Some(rate.round() as u64)
    }

    /// One of a set of names, as what it stands for.
    pub fn one_of<T: Clone>(&self, choices: &[(&str, T)]) -> Option<T> {
        let text = self.as_text();
        let found = choices.iter().find(|(name, _)| Some(*name) == text);
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.wrong(&one_of_names(text.unwrap_or_default(), &names));
        }
        found.map(|(_, value)| value.clone())
    }

    /// A scalar as it would stand in a server's option file.
    pub fn option_value(&self) -> Option<String> {
        match self.value {
            DeValue::String(text) if !text.contains(['\n', '\r']) => Some(text.to_string()),
            DeValue::Integer(_) => self.integer().map(|integer| integer.to_string()),
            DeValue::Float(float) => Some(float.as_str().to_owned()),
            DeValue::Boolean(true) => Some("ON".to_owned()),
            DeValue::Boolean(false) => Some("OFF".to_owned()),
            _ => self.or_wrong(None, "must be a text of one line, a number, true or false"),
        }
    }

    /// A list that is not empty; a single value stands for a list of one.
    pub fn list(&self) -> Option<Vec<Node<'d>>> {
        let items = self.list_or_none();
        self.or_wrong(items.filter(|items| !items.is_empty()), "must not be empty")
    }

    /// A list, which may be empty; a single value stands for a list of one.
    pub fn list_or_none(&self) -> Option<Vec<Node<'d>>> {
        let DeValue::Array(array) = self.value else {
            return Some(vec![self.clone()]);
        };
        let item = |(index, value): (usize, &'d Spanned<DeValue<'d>>)| Node {
            document: self.document,
            key: format!("{}[{}]", self.key, index + 1),
            span: value.span(),
            value: value.get_ref(),
        };
        Some(array.iter().enumerate().map(item).collect())
    }

    /// A table.
    pub fn table(&self) -> Option<Table<'d>> {
        self.table_such_as("must be a table")
    }

    /// A table, where `allowed` says more of it.
    pub fn table_such_as(&self, allowed: &str) -> Option<Table<'d>> {
        let table = self.or_wrong(self.value.as_table(), allowed)?;
        Some(Table::new(
            self.document,
            self.key.clone(),
            self.span.clone(),
            table,
        ))
    }

    /// A list of tables: `[[name]]` any number of times.
    pub fn tables(&self) -> Vec<Table<'d>> {
        self.list()
            .unwrap_or_default()
            .iter()
            .filter_map(Node::table)
            .collect()
    }
}

/// What may stand for `given`: the nearest name first, if one is near.
pub fn one_of_names(given: &str, names: &[&str]) -> String {
    let allowed = format!("must be one of {}", names.join(", "));
    match nearest(given, names) {
        Some(near) => format!("{allowed}; did you mean {near}?"),
        None => allowed,
    }
}

fn suggest(given: &str, known: &[&str]) -> String {
    match nearest(given, known) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("known here are {}", known.join(", ")),
    }
}

/// The known word nearest to `given`, if a slip of the hand could lead from one to the other.
pub fn nearest<'k>(given: &str, known: &[&'k str]) -> Option<&'k str> {
    // Case is the commonest slip of all: `after` for `AFTER`.
    let lower = given.to_lowercase();
    let distance = |word: &str| strsim::damerau_levenshtein(&lower, &word.to_lowercase());
    // One letter for another in a name of one or two is no slip but another name.
    let long = known.iter().filter(|word| word.chars().count() > 2);
    let near = long.min_by_key(|word| distance(word))?;
    let slips = 1 + near.chars().count() / 4;
    (distance(near) <= slips && given.chars().count() > 2).then_some(near)
}

fn join(table: &str, name: &str) -> String {
    if table.is_empty() {
        name.to_owned()
    } else {
        format!("{table}.{name}")
    }
}
