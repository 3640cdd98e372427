//! Takes out of the texts of a record what is nobody else's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use super::marks::Mark;
use super::{home, secret};
use crate::record::histogram;

/// The first letters of every histogram as text: the sign of its form.
const HISTOGRAM: &str = "HISTE";
/// Secrets shorter than this are not looked for letter by letter: they would be found everywhere.
const SHORTEST: usize = 4;
/// The table of what servers wrote into their logs.
const LOGS: &str = "server_log";
/// Where a record has what servers told: their variables and what they answered; and what the
/// machine's name is called there.
const TOLD_BY_SERVERS: [&str; 3] = ["variables", "errors", "refused"];
const HOSTNAME: &str = "hostname";

/// What must not be in a pack, known letter by letter.
#[derive(Clone, Default)]
pub struct Known {
    /// Passwords.
    pub secrets: Vec<String>,
    /// Names of users of this machine.
    pub users: Vec<String>,
    /// Names of this machine.
    pub hosts: Vec<String>,
}

/// Scrubs texts, and counts what it took out of them.
#[derive(Default)]
pub struct Scrubber {
    known: Known,
    counts: RefCell<BTreeMap<Mark, usize>>,
    /// Names of machines, from what their servers said.
    hosts: RefCell<Vec<String>>,
}

impl Scrubber {
    /// One that knows some secrets letter by letter, besides those that it finds by what stands
    /// around them.
    pub fn new(mut known: Known) -> Scrubber {
        known.secrets.retain(|secret| secret.len() >= SHORTEST);
        // A secret that is part of another goes after it.
        known
            .secrets
            .sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        known.users.retain(|user| user.len() > 1 && user != "root");
        let hosts = std::mem::take(&mut known.hosts);
        let hosts = hosts.into_iter();
        let hosts = hosts.filter(|host| host.len() > 1 && host != "localhost");
        Scrubber {
            hosts: RefCell::new(hosts.collect()),
            known,
            ..Scrubber::default()
        }
    }

    /// How much of each kind was taken out so far.
    pub fn counts(&self) -> BTreeMap<Mark, usize> {
        self.counts.borrow().clone()
    }

    /// A text of one of a record's tables, which may be a JSON document; `None` where nothing
    /// changes.
    pub fn column(&self, table: &str, text: &str) -> Option<String> {
        let scrubbed = match table {
            LOGS => Some(self.log(text)),
            _ => self.document(text),
        };
        scrubbed.filter(|scrubbed| scrubbed != text)
    }

    fn document(&self, text: &str) -> Option<String> {
        let document = match text.trim_start().starts_with(['{', '[']) {
            true => serde_json::from_str::<Value>(text).ok(),
            false => None,
        };
        match document {
            Some(document) => {
                let scrubbed = self.value(document.clone(), false);
                (scrubbed != document).then(|| scrubbed.to_string())
            }
            None => Some(self.text(text)),
        }
    }

    /// A text, line by line. Names of machines stay.
    pub fn text(&self, text: &str) -> String {
        if is_histogram(text) {
            return text.to_owned();
        }
        let text = self.without(text, Mark::PrivateKey, secret::private_keys);
        let text = self.known.secrets.iter().fold(text, |text, secret| {
            let found = |text: &str| places(text, secret);
            self.without(&text, Mark::Secret, found)
        });
        let text = self.without(&text, Mark::Secret, in_lines);
        let names = |text: &str| home::names(text, &self.known.users);
        self.without(&text, Mark::User, names)
    }

    /// A text that a server wrote: its machine's name goes as well.
    pub fn log(&self, text: &str) -> String {
        let hosts = self.hosts.borrow();
        hosts.iter().fold(self.text(text), |text, host| {
            let found = |text: &str| words(text, host);
            self.without(&text, Mark::Host, found)
        })
    }

    /// The text with a mark in place of all that is found in it.
    fn without(&self, text: &str, mark: Mark, find: impl Fn(&str) -> Vec<Range<usize>>) -> String {
        let found = find(text);
        let mut scrubbed = String::new();
        let mut at = 0;
        for range in &found {
            scrubbed.push_str(&text[at..range.start]);
            scrubbed.push_str(mark.text());
            at = range.end;
        }
        let before = found
            .iter()
            .filter(|range| text[(*range).clone()] == *mark.text());
        self.count(mark, found.len() - before.count());
        scrubbed + &text[at..]
    }

    fn count(&self, mark: Mark, count: usize) {
        if count > 0 {
            *self.counts.borrow_mut().entry(mark).or_default() += count;
        }
    }

    /// A document; `is_server_s`: of what servers told.
    fn value(&self, value: Value, is_server_s: bool) -> Value {
        match value {
            Value::String(text) if is_server_s => Value::String(self.log(&text)),
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(values) => self.list(values, is_server_s),
            Value::Object(members) => {
                if is_server_s {
                    self.learn_host(members.get(HOSTNAME));
                }
                let mut scrubbed = serde_json::Map::new();
                for (name, value) in members {
                    let is_server_s = is_server_s || TOLD_BY_SERVERS.contains(&&name[..]);
                    let value = match value {
                        Value::String(text) if secret::is_named(&name) => self.hidden(&text),
                        value => self.value(value, is_server_s),
                    };
                    scrubbed.insert(free(&scrubbed, self.text(&name)), value);
                }
                Value::Object(scrubbed)
            }
            other => other,
        }
    }

    /// Of a name and what stands behind it (`["wsrep_sst_auth", "given", "used"]`) no more than the
    /// name is kept where that is a secret's.
    fn list(&self, values: Vec<Value>, is_server_s: bool) -> Value {
        let mut is_behind_name = false;
        let one = |value: Value| match value {
            Value::String(text) if is_behind_name => self.hidden(&text),
            value => {
                let name = value.as_str();
                is_behind_name |= name.is_some_and(secret::is_named);
                self.value(value, is_server_s)
            }
        };
        Value::Array(values.into_iter().map(one).collect())
    }

    fn hidden(&self, text: &str) -> Value {
        if !secret::can_be(text) || text == Mark::Secret.text() {
            return Value::String(text.to_owned());
        }
        self.count(Mark::Secret, 1);
        Value::String(Mark::Secret.to_string())
    }

    fn learn_host(&self, told: Option<&Value>) {
        let name = told.and_then(Value::as_str).unwrap_or_default();
        let mut hosts = self.hosts.borrow_mut();
        let is_new = !hosts.iter().any(|known| known == name);
        if is_new && name.len() > 1 && name != "localhost" && name != Mark::Host.text() {
            hosts.push(name.to_owned());
        }
    }
}

fn is_histogram(text: &str) -> bool {
    text.starts_with(HISTOGRAM) && histogram::decode(text).is_ok()
}

/// A name that no other member has.
fn free(members: &serde_json::Map<String, Value>, name: String) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    let is_free = |name: &String| !members.contains_key(name);
    names.find(is_free).unwrap_or(name.clone())
}

/// Secrets that stand in one line each.
fn in_lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let of_line = secret::in_line(line).into_iter();
        found.extend(of_line.map(|range| start + range.start..start + range.end));
        start += line.len();
    }
    found
}

fn places(text: &str, part: &str) -> Vec<Range<usize>> {
    let found = text.match_indices(part);
    found.map(|(at, part)| at..at + part.len()).collect()
}

/// Where a name stands that is no part of a longer one.
fn words(text: &str, name: &str) -> Vec<Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric();
    let mut found = places(text, name);
    found.retain(|range| {
        let before = text[..range.start].chars().next_back();
        let after = text[range.end..].chars().next();
        ![before, after].into_iter().flatten().any(is_part)
    });
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scrubber() -> Scrubber {
        Scrubber::new(Known {
            secrets: ["k3y", "known-s3cret", "known-s3cret-too"]
                .map(str::to_owned)
                .into(),
            users: ["mia", "root", "x"].map(str::to_owned).into(),
            hosts: ["my-laptop", "localhost"].map(str::to_owned).into(),
        })
    }

    fn scrubbed(document: Value) -> (Value, Scrubber) {
        let scrubber = scrubber();
        let text = document.to_string();
        let scrubbed = scrubber.column("run", &text).unwrap_or(text);
        (serde_json::from_str(&scrubbed).expect("JSON"), scrubber)
    }

    #[test]
    fn texts_lose_secrets_and_names() {
        let scrubber = scrubber();
        let text = "# known-s3cret-too\npassword = \"a\"\n/home/jo/x /srv/mia/y k3y /x/root\n";
        assert_eq!(
            scrubber.text(text),
            "# <left-out>\npassword = \"<left-out>\"\n/home/<user>/x /srv/<user>/y k3y /x/root\n"
        );
        let counted = [(Mark::Secret, 2), (Mark::User, 2)];
        assert_eq!(scrubber.counts(), counted.into());
        // Once more changes nothing, and counts nothing.
        let again = scrubber.text(&scrubber.text(text));
        assert_eq!(scrubber.text(&again), again);
        assert_eq!(
            scrubber.counts(),
            [(Mark::Secret, 4), (Mark::User, 4)].into()
        );
    }

    #[test]
    fn members_of_documents_with_telling_names_are_hidden() {
        let (found, scrubber) = scrubbed(json!({
            "report_password": "s3cret", "old_password": "", "mysql_native_password": "ON",
            "overridden": [["wsrep_sst_auth", "u:s3cret", "s3cret"], ["port", "1", "2"]],
            "command_line": ["acklab", "--set", "report_password=s3cret", "/home/jo/acklab"],
            "losses": {"known-s3cret": 1, "known-s3cret-too": 2},
            "count": 7, "share": 0.1, "none": null
        }));
        assert_eq!(
            found,
            json!({
                "report_password": "<left-out>", "old_password": "",
                "mysql_native_password": "ON",
                "overridden": [
                    ["wsrep_sst_auth", "<left-out>", "<left-out>"], ["port", "1", "2"]
                ],
                "command_line": [
                    "acklab", "--set", "report_password=<left-out>", "/home/<user>/acklab"
                ],
                "losses": {"<left-out>": 1, "<left-out> (2)": 2},
                "count": 7, "share": 0.1, "none": null
            })
        );
        assert_eq!(
            scrubber.counts(),
            [(Mark::Secret, 6), (Mark::User, 1)].into()
        );
    }

    #[test]
    fn a_machine_s_name_goes_out_of_what_its_servers_said_and_stays_elsewhere() {
        let (found, scrubber) = scrubbed(json!({
            "labs": [{"variables": {"a": {
                "general_log_file": "db1.log", "hostname": "db1", "x": "db10 db1-relay"
            }}}],
            "study": {"name": "db1"}
        }));
        assert_eq!(
            found,
            json!({
                "labs": [{"variables": {"a": {
                    "general_log_file": "<host>.log", "hostname": "<host>",
                    "x": "db10 <host>-relay"
                }}}],
                "study": {"name": "db1"}
            })
        );
        let told = scrubber.column("server_log", "[Note] started on db1.");
        assert_eq!(told.as_deref(), Some("[Note] started on <host>."));
        assert_eq!(scrubber.text("db1"), "db1");
    }

    #[test]
    fn what_servers_answered_loses_the_machines_name() {
        let (told, _) = scrubbed(json!({
            "errors": ["Access denied for user 'a'@'my-laptop'", "at localhost"],
            "label": "my-laptop",
        }));
        let mark = Mark::Host.text();
        let errors = json!([
            format!("Access denied for user 'a'@'{mark}'"),
            "at localhost"
        ]);
        assert_eq!(
            (&told["errors"], &told["label"]),
            (&errors, &json!("my-laptop"))
        );
    }

    #[test]
    fn what_holds_nothing_is_not_touched() {
        let mut latency = histogram::empty();
        latency.record_n(1_300, 99).expect("a value");
        let latency = histogram::encode(&latency);
        assert!(latency.starts_with(HISTOGRAM));
        let part = latency[6..12].to_owned();
        let scrubber = Scrubber::new(Known {
            secrets: vec![part],
            ..Known::default()
        });
        for text in [&latency[..], "{\"a\":1e3}", "{no JSON", "", "2.15 ms"] {
            assert_eq!(scrubber.column("run", text), None, "{text}");
        }
        assert_eq!(scrubber.counts(), BTreeMap::new());
    }
}
