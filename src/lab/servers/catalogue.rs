//! The catalogue: servers that acklab knows and how their flavours and versions differ.
//!
//! Everything here is read from `catalogue.toml`, which is part of the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use crate::study::Flavour;
use crate::study::Variables;

/// A server's version, compared number by number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u32>);

impl Version {
    /// Reads the leading dotted numbers: `9.7.4-2` is 9.7.4, `10.11.19-MariaDB` is 10.11.19.
    pub fn parse(text: &str) -> Version {
        let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.').next();
        let parts = numbers.unwrap_or_default().split('.');
        Version(parts.filter_map(|part| part.parse().ok()).collect())
    }
}

/// Where files stand in what was fetched → where they belong below the server's root. Either may
/// be a folder; a `.jar` on the way into what was fetched is entered like one.
pub type Files = BTreeMap<String, String>;

/// Packages of a Debian suite that are unpacked beside a server that was built elsewhere, so that
/// it finds the libraries it was linked with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Libraries {
    /// `own` is the machine's own.
    pub suite: String,
    pub packages: Vec<String>,
}

/// How a server is had.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(tag = "source", rename_all = "lowercase")]
pub enum Source {
    /// Packages of a Debian suite; `own` is the machine's own.
    Apt {
        suite: String,
        packages: Vec<String>,
    },
    /// A package of the npm registry; `package` may name a version: `NAME@VERSION`.
    Npm {
        package: String,
        files: Files,
        libraries: Libraries,
    },
    /// An artifact of a Maven repository: `GROUP:NAME:VERSION`.
    Maven {
        artifact: String,
        files: Files,
        libraries: Libraries,
    },
    /// A binary tarball that the user has.
    Tarball { file: PathBuf },
    /// A program on this machine's PATH.
    Installed { program: String },
}

impl Source {
    /// For people: `apt sid`.
    pub fn label(&self) -> String {
        match self {
            Source::Apt { suite, .. } if suite == "own" => "apt, own suite".into(),
            Source::Apt { suite, .. } => format!("apt {suite}"),
            Source::Npm { .. } => "npm".into(),
            Source::Maven { .. } => "maven".into(),
            Source::Tarball { file } => format!("tarball {}", file.display()),
            Source::Installed { program } => format!("installed {program}"),
        }
    }

    /// Whether a C library and its loader were unpacked with the server.
    pub fn has_loader(&self) -> bool {
        !matches!(self, Source::Tarball { .. } | Source::Installed { .. })
    }
}

/// A server that can be had.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Entry {
    pub name: String,
    pub flavour: Flavour,
    pub about: String,
    /// Where the source always delivers the same: what can be said before it was fetched.
    pub version: Option<String>,
    /// What it comes without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Part>,
    #[serde(flatten)]
    pub source: Source,
}

/// A proxy that can be had, and where its files are: candidates below its root, best first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct ProxyEntry {
    pub name: String,
    pub about: String,
    pub program: Vec<String>,
    pub plugins: Vec<String>,
    pub libraries: Vec<String>,
    /// The option with which it tells its version.
    pub says_version: String,
    #[serde(flatten)]
    pub source: Source,
}

/// Where a flavour keeps its files: candidates below the server's root, best first.
#[derive(Debug, Clone, Deserialize)]
pub struct Layout {
    flavour: Flavour,
    pub program: Vec<String>,
    pub plugins: Vec<String>,
    pub messages: Vec<String>,
    pub charsets: Vec<String>,
    pub libraries: Vec<String>,
    pub galera: Vec<String>,
}

/// Which servers a row of the catalogue is about.
#[derive(Debug, Clone, Deserialize)]
struct Scope {
    flavour: Option<Flavour>,
    since: Option<String>,
    until: Option<String>,
}

impl Scope {
    fn holds(&self, flavour: Flavour, version: &Version) -> bool {
        let since = self.since.as_deref().map(Version::parse);
        let until = self.until.as_deref().map(Version::parse);
        self.flavour.is_none_or(|own| own == flavour)
            && since.is_none_or(|since| *version >= since)
            && until.is_none_or(|until| *version < until)
    }
}

/// What a server may come without, by what the layout calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The library of Galera.
    Galera,
    /// The folder of plugins, semi-sync's and Group Replication's among them.
    Plugins,
}

#[derive(Debug, Clone, Deserialize)]
struct Can {
    #[serde(flatten)]
    scope: Scope,
    /// What the row does not hold without.
    needs: Option<Part>,
    modes: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct PinnedSettings {
    #[serde(flatten)]
    scope: Scope,
    why: String,
    /// It concerns the lab's own servers only, not what a commit costs.
    #[serde(default)]
    lab_only: bool,
    variables: Variables,
}

#[derive(Debug, Clone, Deserialize)]
struct Words {
    #[serde(flatten)]
    scope: Scope,
    /// It is about servers without this.
    lacks: Option<Part>,
    #[serde(flatten)]
    words: BTreeMap<String, toml::Value>,
}

/// The whole catalogue.
#[derive(Debug, Clone, Deserialize)]
pub struct Catalogue {
    #[serde(rename = "server")]
    pub servers: Vec<Entry>,
    #[serde(rename = "proxy")]
    pub proxies: Vec<ProxyEntry>,
    layout: Vec<Layout>,
    can: Vec<Can>,
    terms: Vec<PinnedSettings>,
    words: Vec<Words>,
}

impl Catalogue {
    /// The catalogue that is part of the program.
    pub fn builtin() -> Catalogue {
        let text = include_str!("../../../catalogue.toml");
        toml::from_str(text).expect("catalogue.toml is checked by a test")
    }

    /// The entry of that name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.servers.iter().find(|entry| entry.name == name)
    }

    /// The proxy of that name.
    pub fn proxy(&self, name: &str) -> Option<&ProxyEntry> {
        self.proxies.iter().find(|entry| entry.name == name)
    }

    /// Where files of a flavour are looked for.
    pub fn layout(&self, flavour: Flavour) -> &Layout {
        let found = self.layout.iter().find(|layout| layout.flavour == flavour);
        found.expect("catalogue.toml is checked by a test")
    }

    /// Names of the modes that a server can do that has those parts.
    pub fn modes(
        &self,
        flavour: Flavour,
        version: &Version,
        has: impl Fn(Part) -> bool,
    ) -> Vec<String> {
        let holds = |can: &&Can| can.scope.holds(flavour, version) && can.needs.is_none_or(&has);
        self.can
            .iter()
            .filter(holds)
            .flat_map(|can| can.modes.clone())
            .collect()
    }

    /// Names of the modes that a server can do as far as is known before it was fetched: those of
    /// its flavour's newest where the version is open.
    pub fn modes_of_entry(&self, entry: &Entry) -> Vec<String> {
        let newest = Version(vec![u32::MAX]);
        let version = entry.version.as_deref().map_or(newest, Version::parse);
        self.modes(entry.flavour, &version, |part| !entry.lacks.contains(&part))
    }

    /// What is pinned on every server of that flavour and version, with the reasons.
    pub fn terms(&self, flavour: Flavour, version: &Version) -> Vec<(String, String, String)> {
        triples(self.rows_of_terms(flavour, version))
    }

    /// The same without what concerns the lab's own servers only.
    pub fn shared_terms(
        &self,
        flavour: Flavour,
        version: &Version,
    ) -> Vec<(String, String, String)> {
        let rows = self.rows_of_terms(flavour, version);
        triples(rows.filter(|row| !row.lab_only))
    }

    fn rows_of_terms(
        &self,
        flavour: Flavour,
        version: &Version,
    ) -> impl Iterator<Item = &PinnedSettings> {
        let rows = self.terms.iter();
        rows.filter(move |row| row.scope.holds(flavour, version))
    }

    /// What a server of that flavour and version calls things; later rows win.
    pub fn dialect(
        &self,
        flavour: Flavour,
        version: &Version,
        has: impl Fn(Part) -> bool,
    ) -> Dialect {
        let holds =
            |row: &&Words| row.scope.holds(flavour, version) && !row.lacks.is_some_and(&has);
        let rows = self.words.iter().filter(holds);
        let pairs = rows.flat_map(|row| row.words.iter());
        let text = |value: &toml::Value| value.as_str().unwrap_or_default().to_owned();
        Dialect {
            flavour,
            words: pairs
                .map(|(key, value)| (key.clone(), text(value)))
                .collect(),
        }
    }
}

/// Name, value and reason of each variable.
fn triples<'t>(rows: impl Iterator<Item = &'t PinnedSettings>) -> Vec<(String, String, String)> {
    rows.flat_map(|row| {
        let pairs = row.variables.iter();
        pairs.map(|(name, value)| (name.clone(), value.clone(), row.why.clone()))
    })
    .collect()
}

/// What one server calls things.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialect {
    pub flavour: Flavour,
    words: BTreeMap<String, String>,
}

impl Dialect {
    /// The word for `key`.
    ///
    /// # Panics
    /// If the catalogue has no such word for this server: a fault of the catalogue, not of a user.
    pub fn word(&self, key: &str) -> &str {
        let word = self.words.get(key);
        word.unwrap_or_else(|| panic!("catalogue.toml has no word `{key}` for {:?}", self.flavour))
    }

    /// The word for `key`, if this server has the thing at all: an empty word says that it has not.
    pub fn optional(&self, key: &str) -> Option<&str> {
        let word = self.words.get(key).map(String::as_str);
        word.filter(|word| !word.is_empty())
    }

    /// The template for `key` with `{name}` replaced by its value.
    pub fn fill(&self, key: &str, values: &[(&str, &str)]) -> String {
        let template = self.word(key).to_owned();
        values.iter().fold(template, |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), value)
        })
    }

    /// A word that holds option-file settings, as pairs.
    pub fn settings(&self, key: &str) -> Vec<(String, String)> {
        let words = self.word(key).split_whitespace();
        words
            .map(|word| word.split_once('=').unwrap_or((word, "ON")))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

/// The first of `candidates` that exists below `root`.
pub fn first_existing(root: &Path, candidates: &[String]) -> Option<PathBuf> {
    let paths = candidates.iter().map(|candidate| root.join(candidate));
    paths.into_iter().find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Proxy;

    #[test]
    fn builtin_catalogue_reads_and_has_a_layout_for_each_flavour() {
        let catalogue = Catalogue::builtin();
        for entry in &catalogue.servers {
            assert!(!catalogue.layout(entry.flavour).program.is_empty());
        }
    }

    #[test]
    fn every_front_of_a_study_has_a_proxy() {
        let catalogue = Catalogue::builtin();
        let names: Vec<&str> = catalogue.proxies.iter().map(|e| &e.name[..]).collect();
        let asked = [Proxy::Router, Proxy::Haproxy].map(Proxy::name);
        assert_eq!(names, asked);
        for entry in &catalogue.proxies {
            assert!(catalogue.entry(&entry.name).is_none(), "{}", entry.name);
            assert!(matches!(entry.source, Source::Apt { .. }), "{}", entry.name);
            let text = toml::to_string(entry).expect("TOML");
            assert_eq!(
                toml::from_str::<ProxyEntry>(&text).expect("a proxy"),
                *entry
            );
        }
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(Version::parse("9.7.4-2") > Version::parse("8.0.26"));
        assert!(Version::parse("10.11.19-MariaDB-log") > Version::parse("10.4"));
        assert!(Version::parse("5.7.9") < Version::parse("5.7.17"));
    }

    #[test]
    fn newer_words_win() {
        let catalogue = Catalogue::builtin();
        let words = |version: &str| {
            let dialect = catalogue.dialect(Flavour::Mysql, &Version::parse(version), |_| true);
            ["start_replica", "stop_appliers"].map(|key| dialect.word(key).to_owned())
        };
        assert_eq!(words("5.6.24"), ["START SLAVE", "STOP SLAVE SQL_THREAD"]);
        assert_eq!(words("5.7.44"), words("5.6.24"));
        let newer = ["START REPLICA", "STOP REPLICA SQL_THREAD"];
        assert_eq!(words("8.0.26"), newer);
    }

    #[test]
    fn galera_needs_its_library() {
        let catalogue = Catalogue::builtin();
        let version = Version::parse("10.11.19");
        let modes = |has| catalogue.modes(Flavour::Mariadb, &version, |_| has);
        assert!(modes(true).contains(&"galera".to_owned()));
        assert!(!modes(false).contains(&"galera".to_owned()));
    }

    #[test]
    fn semisync_and_groups_of_mysql_need_its_plugins() {
        let catalogue = Catalogue::builtin();
        let version = Version::parse("5.7.29");
        let modes = |has| catalogue.modes(Flavour::Mysql, &version, |_| has);
        assert_eq!(modes(false), ["single", "async", "mirror", "quorum"]);
        assert!(modes(true).contains(&"semisync".to_owned()));
        let entry = catalogue.entry("mysql-5.7").expect("an entry");
        assert_eq!(catalogue.modes_of_entry(entry), modes(false));
        let plugin = |has| {
            let dialect = catalogue.dialect(Flavour::Mysql, &version, |_| has);
            dialect.optional("semisync_source").map(str::to_owned)
        };
        assert_eq!((plugin(true).is_some(), plugin(false)), (true, None));
    }

    #[test]
    fn group_is_for_newer_mysql_only() {
        let catalogue = Catalogue::builtin();
        let modes = |text| catalogue.modes(Flavour::Mysql, &Version::parse(text), |_| true);
        assert!(!modes("5.6.24").contains(&"group".to_owned()));
        assert!(modes("8.4.3").contains(&"group".to_owned()));
    }

    #[test]
    fn old_servers_are_asked_for_nothing_that_they_do_not_know() {
        let catalogue = Catalogue::builtin();
        let known = |version: &str, word: &str| {
            let dialect = catalogue.dialect(Flavour::Mysql, &Version::parse(version), |_| true);
            let terms = catalogue.terms(Flavour::Mysql, &Version::parse(version));
            dialect.optional(word).is_some() || terms.iter().any(|(name, _, _)| name == word)
        };
        for (word, since) in [
            ("gtid_settings", "5.6.24"),
            ("appliers", "5.6.24"),
            ("innodb_io_capacity_max", "5.6.24"),
            ("innodb_flush_neighbors", "5.6.24"),
            ("binlog_row_image", "5.6.24"),
            ("binlog_checksum", "5.6.24"),
            ("commit_order", "5.7.44"),
            ("semisync_load_source", "5.7.44"),
        ] {
            let is_known = ["5.5.9", "5.6.24", "5.7.44"].map(|version| known(version, word));
            assert_eq!(is_known, [false, since == "5.6.24", true], "{word}");
        }
        assert!(known("5.6.24", "bootstrap_scripts") && !known("5.7.44", "bootstrap_scripts"));
    }

    #[test]
    fn every_server_can_be_kept_from_taking_writes() {
        let catalogue = Catalogue::builtin();
        let words = |flavour, version: &str| {
            let dialect = catalogue.dialect(flavour, &Version::parse(version), |_| true);
            ["refuse_writes", "starts_refusing"].map(|key| dialect.word(key).to_owned())
        };
        let plain = ["SET GLOBAL read_only = ON", "--read-only=1"];
        assert_eq!(words(Flavour::Mysql, "5.5.9"), plain);
        assert_eq!(words(Flavour::Mysql, "5.6.24"), plain);
        assert_eq!(words(Flavour::Mariadb, "11.8.3"), plain);
        let also_root = ["SET GLOBAL super_read_only = ON", "--super-read-only=1"];
        assert_eq!(words(Flavour::Mysql, "5.7.29"), also_root);
        assert_eq!(words(Flavour::Mysql, "9.7.4"), also_root);
    }

    #[test]
    fn every_replica_can_take_over() {
        let catalogue = Catalogue::builtin();
        for (flavour, version, own) in [
            (Flavour::Mysql, "5.6.24", "STOP SLAVE IO_THREAD"),
            (Flavour::Mysql, "9.7.4", "STOP REPLICA IO_THREAD"),
            (Flavour::Mariadb, "10.11.19", "STOP SLAVE IO_THREAD"),
        ] {
            let dialect = catalogue.dialect(flavour, &Version::parse(version), |_| true);
            assert_eq!(dialect.word("stop_receiver"), own);
            for key in ["forget_source", "column_source", "column_sql_state"] {
                assert!(dialect.optional(key).is_some(), "{key} of {version}");
            }
            // Only MariaDB keeps the places of a writer and of a replica apart.
            let is_mariadb = flavour == Flavour::Mariadb;
            assert_eq!(dialect.optional("demote").is_some(), is_mariadb);
        }
    }

    #[test]
    fn modes_of_a_known_version_are_known_before_it_is_fetched() {
        let catalogue = Catalogue::builtin();
        let modes = |name| catalogue.modes_of_entry(catalogue.entry(name).expect("an entry"));
        assert_eq!(modes("mysql-5.5"), ["single", "mirror", "quorum"]);
        assert_eq!(modes("mysql-5.6"), ["single", "async", "mirror", "quorum"]);
        assert!(modes("mysql").contains(&"group".to_owned()));
    }

    #[test]
    fn every_fault_is_for_modes_that_its_servers_can_be_in() {
        let catalogue = Catalogue::builtin();
        for row in crate::study::fault_catalogue::all() {
            for case in row.cases.iter().chain(&row.counters) {
                let (spec, fault) = (&case.spec, &row.fault.name);
                let entry = catalogue.entry(&spec.server).expect("a server");
                let can = catalogue.modes_of_entry(entry);
                let is_one = can.iter().any(|mode| mode == spec.mode.name());
                assert!(is_one, "{fault}: {}", spec.label);
            }
        }
    }

    #[test]
    fn what_is_kept_of_each_source_is_read_again() {
        for entry in Catalogue::builtin().servers {
            let text = toml::to_string(&entry).expect("TOML");
            assert_eq!(toml::from_str::<Entry>(&text).expect("an entry"), entry);
        }
    }

    #[test]
    fn templates_are_filled() {
        let catalogue = Catalogue::builtin();
        let dialect = catalogue.dialect(Flavour::Mysql, &Version::parse("9.7.4"), |_| true);
        let sql = dialect.fill("wait_gtids", &[("gtids", "x:1-5"), ("seconds", "3")]);
        assert_eq!(sql, "SELECT WAIT_FOR_EXECUTED_GTID_SET('x:1-5', 3)");
    }
}
