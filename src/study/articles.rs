//! Articles whose questions studies ask again: what they published and claimed, and by which of a
//! study's points each claim is judged. All of it is data, in `studies/articles/`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::Variables;

const ARTICLES: [&str; 5] = [
    include_str!("../../studies/articles/clouds-2015.toml"),
    include_str!("../../studies/articles/gmo-galera-2022.toml"),
    include_str!("../../studies/articles/gmo-innodb-cluster-2022.toml"),
    include_str!("../../studies/articles/group-replication-2017.toml"),
    include_str!("../../studies/articles/sync-binlog-group-commit-2012.toml"),
];
const WORDS: &str = include_str!("../../studies/articles/words.toml");

/// Keys of an article's file that decide no verdict.
const PROSE: [&str; 5] = ["text", "note", "said", "instead", "otherwise"];

/// What an article published, and how a repeat is held against it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Article {
    /// What a study calls it.
    pub key: String,
    pub title: String,
    /// What it ran on.
    pub servers: String,
    /// What it was loaded with, where that is more than its measure says.
    pub tool: Option<String>,
    /// What its figures are.
    pub measure: String,
    /// Figures of other machines: shown, never compared.
    #[serde(default)]
    pub figures: toml::Table,
    /// Selections of points, by the names that the rest of the file has for them.
    #[serde(default)]
    pub points: BTreeMap<String, Selector>,
    pub claim: Vec<Claim>,
    #[serde(default)]
    pub table: Vec<Table>,
    #[serde(default)]
    pub unseen: Vec<Unseen>,
}

/// Points of a study by the values of their axes; what is not given may be anything.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Selector {
    /// The selection that this one narrows; its tables are merged with these.
    pub like: Option<String>,
    /// Other selections, of which one must hold as well.
    pub any: Vec<String>,
    /// What must be added to the study that no built-in one has: a server of the user's own.
    pub needs: Option<String>,
    /// By the names that `analysis/claims/select.rs` has for them.
    #[serde(flatten)]
    pub axes: BTreeMap<String, Asked>,
}

/// Which values of an axis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Asked {
    Flag(bool),
    Count(u32),
    /// A name, `!` before it: any other; a span or a rate with its unit, `none`: no such limit;
    /// `least` or `most` of those that a row has.
    Text(String),
    /// One of these.
    Any(Vec<Asked>),
    /// From `min` to `max`, or all variables that the row sets and nothing else.
    Table(Variables),
}

/// A claim, and what decides it: all parts must hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In the article's words, or nearly so.
    pub text: String,
    #[serde(default)]
    pub part: Vec<Part>,
    /// What stands beside the verdict, and decides nothing.
    #[serde(default)]
    pub beside: Vec<Compared>,
    /// Why it is judged so.
    #[serde(default)]
    pub note: String,
    /// The service that it is about, where nothing else can tell.
    pub needs: Option<String>,
}

/// Two selections, as names of `points`: several names in one text must all hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    pub of: String,
    /// Absent where the figure is not held against another point's.
    pub over: Option<String>,
    /// Axes in which a pair may differ; any of the mode's if none is given.
    #[serde(default)]
    pub differ: Vec<String>,
    pub figure: Quantity,
}

/// What must hold for a claim to do so.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Part {
    /// Selections in the order in which they are taken: the first of which all that is presupposed
    /// holds, else the first that was measured.
    pub of: Vec<String>,
    /// One for each of them, or one for all.
    pub over: Vec<String>,
    /// As in [`Compared`].
    pub differ: Vec<String>,
    /// The figure is not held against the other point's: that is for what is presupposed.
    pub is_alone: bool,
    /// All of them must be so at a point.
    pub figure: Vec<Quantity>,
    /// What it must be: a word of `words.toml`,
    pub is: String,
    /// times this,
    pub times: Option<f64>,
    /// and this much more.
    pub plus: f64,
    pub across: Across,
    /// Fewer points than these decide nothing.
    pub least: usize,
    /// It is left out where nothing of it was measured.
    pub is_optional: bool,
    pub presupposes: Vec<Condition>,
    /// Said where it is not the first selection that is judged.
    pub instead: String,
    /// Judged by counts, and not by a figure.
    pub counted: Option<Counted>,
}

/// What a claim says of many points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Across {
    /// It holds at each.
    #[default]
    All,
    /// At one of them, which is enough.
    Any,
    /// The article names none: where it holds at one and fails at another, it depends.
    Cases,
}

/// Ends of servers: seen of `some`, never of `none`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    pub what: Loss,
    pub none: Trials,
    pub some: Trials,
}

/// What is counted of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Acknowledged and missing.
    Lost,
    /// In the table or in the binary log only.
    Apart,
}

/// Trials of faults.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trials {
    pub mode: Vec<String>,
    /// Names of faults; any if empty.
    pub fault: Vec<String>,
    pub flush_log: Option<u32>,
    pub sync_binlog: Option<u32>,
}

/// Something that is presupposed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    #[serde(default)]
    pub at: At,
    pub figure: Quantity,
    pub is: String,
    /// What is so where it does not hold.
    pub otherwise: String,
}

/// Of which point of a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    #[default]
    Of,
    Over,
}

/// A figure of a point.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    Throughput,
    Applied,
    CommittedOverApplied,
    /// By replicas that have the machine to themselves, after a load under which they rested.
    AppliedAlone,
    /// What was committed under that load over it.
    CommittedOverAppliedAlone,
    CpuAppliedAlone,
    CommitsPerRoundTrip,
    RunTime,
    /// Mean and extremes of single iterations.
    Iterations,
    ConnectShare,
    P50,
    P95,
    Unevenness,
    Dips,
    /// As many as there may have been.
    DipsPerMinute,
    /// Its range holds four fifths of all gaps.
    DipGap,
    BusyAfterLoad,
    UsdPerMillion,
    BoundedUpTo,
    FirstBeyond,
    HighestOffered,
    CpuWriter,
    CpuFront,
    CpuReplicas,
    BytesBetween,
    CatchUp,
    FlushesWriter,
    ReadsWriter,
    HostBusy,
    /// Rounds in which all nodes together had used up the host's CPUs.
    HostBoundRounds,
    /// A server's own counter, over all nodes and rounds.
    Counter(String),
    /// Errors of that number told to clients, for 1000 commits.
    #[serde(rename = "errors_per_1000")]
    ErrorsPer1000(u16),
    /// Of the two variables of a screening design that gain most: over the product of both gains.
    GainsTogether,
}

/// The article's table, with what was measured here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub title: String,
    pub unit: String,
    pub column: Vec<Column>,
    #[serde(default)]
    pub row: Vec<Row>,
    /// A row for each point of these; `row` has what was published of them only.
    pub each: Option<String>,
}

/// What a column narrows each row's selection by, and its figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub name: String,
    #[serde(default)]
    pub of: String,
    pub figure: Quantity,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    #[serde(default)]
    pub name: String,
    pub of: String,
    /// What the published row is called.
    pub published: Option<String>,
    /// Places in `figures`, one for each column, or one list for all.
    #[serde(default)]
    pub at: Vec<String>,
    /// Ends of the ranges around a list.
    #[serde(default)]
    pub ends: Vec<String>,
    pub note: Option<String>,
}

/// What the article could not see: one kind of sentence.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Unseen {
    /// Figures of each point, by the labels of their modes.
    Each {
        /// Where the figure's own name does not do.
        say: Option<String>,
        of: String,
        figure: Vec<Quantity>,
        /// Into the unit that is said.
        times: Option<f64>,
    },
    /// Ratios of pairs.
    Ratios { say: String, pairs: Vec<Compared> },
    /// A sentence, where any of these points was measured.
    Words { of: String, say: String },
}

/// Between which bounds a word holds; absent: no bound on that side.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// What to say of them beside a verdict; nothing where they say it themselves.
    #[serde(default)]
    pub said: String,
}

impl Article {
    /// An article as its file has it.
    ///
    /// # Errors
    /// In the words of the reader, with the line; a selection that is like no other.
    pub fn from_text(text: &str) -> Result<Article, String> {
        let mut table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        if let Some(toml::Value::Table(points)) = table.get_mut("points") {
            *points = narrowed(points)?;
        }
        // Read once more as it stands, so that mistakes have their lines.
        toml::from_str::<Article>(text).map_err(|error| format!("{error}"))?;
        from_table(table)
    }

    /// The numbers at a place in its figures (`rtt_ms.gcp_min`): those of a list, or the one that
    /// stands there. None where there is no such place, or words.
    pub fn numbers(&self, place: &str) -> Vec<f64> {
        let mut steps = place.split('.');
        let first = steps.next().and_then(|name| self.figures.get(name));
        let found = steps.fold(first, |value, name| value.and_then(|value| value.get(name)));
        let number = |value: &toml::Value| {
            let integer = value.as_integer().map(|integer| integer as f64);
            value.as_float().or(integer)
        };
        match found {
            Some(toml::Value::Array(list)) => list.iter().filter_map(number).collect(),
            other => other.and_then(number).into_iter().collect(),
        }
    }
}

fn from_table<T: DeserializeOwned>(table: toml::Table) -> Result<T, String> {
    table.try_into().map_err(|error| format!("{error}"))
}

/// Each selection with what it has from the one that it is like. That one may be like another.
fn narrowed(points: &toml::Table) -> Result<toml::Table, String> {
    let whole = |name: &String| Ok((name.clone(), toml::Value::Table(one(points, name, 0)?)));
    points.keys().map(whole).collect()
}

fn one(points: &toml::Table, name: &str, depth: usize) -> Result<toml::Table, String> {
    let found = points.get(name).and_then(toml::Value::as_table);
    let own = found.ok_or_else(|| format!("points.{name}: there is no such selection"))?;
    match own.get("like").and_then(toml::Value::as_str) {
        Some(_) if depth > points.len() => Err(format!("points.{name}: is like itself")),
        Some(other) => Ok(merged(one(points, other, depth + 1)?, own)),
        None => Ok(own.clone()),
    }
}

fn merged(mut below: toml::Table, above: &toml::Table) -> toml::Table {
    for (name, value) in above {
        let value = match (below.remove(name), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merged(old, new).into(),
            (_, value) => value.clone(),
        };
        below.insert(name.clone(), value);
    }
    below
}

fn all() -> impl Iterator<Item = Article> {
    let read = |text| Article::from_text(text).expect("a test reads studies/articles");
    ARTICLES.into_iter().map(read)
}

/// Keys of all articles, in alphabetical order.
pub fn article_keys() -> Vec<String> {
    all().map(|article| article.key).collect()
}

/// The article of that key; `None` if there is none.
///
/// # Panics
/// If a file in studies/articles is damaged, which a test checks.
pub fn article(key: &str) -> Option<Article> {
    all().find(|article| article.key == key)
}

/// A digest of all that the claims of an article are judged by: points, rules, and the bounds of
/// words. A record keeps it from before its first measurement, so that a bound which was changed
/// later is seen. `None` if there is no such article.
pub fn bounds_digest(key: &str) -> Option<String> {
    let text = ARTICLES.into_iter().find(|text| {
        let article = Article::from_text(text);
        article.is_ok_and(|article| article.key == key)
    })?;
    Some(digest_of(text, WORDS))
}

fn digest_of(article: &str, words: &str) -> String {
    let judged_by = |text: &str, keys: &[&str]| {
        let mut table: toml::Table = text.parse().unwrap_or_default();
        table.retain(|key, _| keys.is_empty() || keys.contains(&key));
        let mut value = toml::Value::Table(table);
        without_prose(&mut value);
        value.to_string()
    };
    let both = judged_by(article, &["claim", "points"]) + &judged_by(words, &[]);
    let digest = Sha256::digest(both.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn without_prose(value: &mut toml::Value) {
    match value {
        toml::Value::Table(table) => {
            table.retain(|key, _| !PROSE.contains(&key));
            table.iter_mut().for_each(|(_, value)| without_prose(value));
        }
        toml::Value::Array(all) => all.iter_mut().for_each(without_prose),
        _ => {}
    }
}

/// Words of articles and what they are taken as.
///
/// # Panics
/// If studies/articles/words.toml is damaged, which a test checks.
pub fn words() -> BTreeMap<String, Bounds> {
    toml::from_str(WORDS).expect("a test reads studies/articles/words.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_place() {
        let numbers = |key: &str, place: &str| article(key).expect("an article").numbers(place);
        let key = numbers("gmo-innodb-cluster-2022", "key");
        assert_eq!(key, [0.214, 0.214, 0.158, 0.152]);
        let rate = numbers("group-replication-2017", "source_trx_per_s");
        assert_eq!(rate, [47332.0]);
        assert_eq!(numbers("gmo-galera-2022", "tuned_a.min")[2], 0.057);
        for nothing in ["starved_read_qps.aurora", "no.such"] {
            assert_eq!(numbers("clouds-2015", nothing), [0.0; 0]);
        }
    }

    #[test]
    fn a_bound_that_is_changed_is_seen_and_a_sentence_is_not() {
        let (article, words) = (ARTICLES[0], WORDS);
        let own = digest_of(article, words);
        assert_eq!(own.len(), 64);
        let key = Article::from_text(article).unwrap().key;
        assert_eq!(bounds_digest(&key).as_ref(), Some(&own));
        let low = words.replacen("low = 1.0", "low = 1.1", 1);
        assert_ne!(low, words);
        assert_ne!(digest_of(article, &low), own);
        let rule = article.replacen("is = \"half\"", "is = \"several\"", 1);
        assert_ne!(rule, article);
        assert_ne!(digest_of(&rule, words), own);
        let prose = article.replacen("\"synchronous block", "\"a synchronous block", 1);
        assert_ne!(prose, article);
        assert_eq!(digest_of(&prose, words), own);
        assert_eq!(bounds_digest("no-such"), None);
    }

    #[test]
    fn every_article_and_every_word_can_be_read() {
        let keys = article_keys();
        assert!(keys.len() == 5 && keys.is_sorted(), "{keys:?}");
        assert!(all().all(|article| !article.claim.is_empty()));
        assert_eq!(article("no-such"), None);
        let sound = |word: &Bounds| word.low.or(word.high).is_some();
        assert!(words().values().all(sound));
    }

    #[test]
    fn a_selection_has_what_the_one_it_is_like_has() {
        let text = |points: &str| {
            let head = "key = 'k'\ntitle = 't'\nservers = 's'\nmeasure = 'm'\nclaim = []\n";
            Article::from_text(&format!("{head}{points}"))
        };
        let both = "[points.a]\nnodes = 3\nvariables = { x = '1', y = '1' }\n\
                    [points.b]\nlike = 'a'\nvariables = { y = '2' }\n";
        let b = text(both).expect("sound").points["b"].clone();
        assert_eq!(b.axes["nodes"], Asked::Count(3));
        let both = [("x", "1"), ("y", "2")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(b.axes["variables"], Asked::Table(both.into()));
        let wrong = |points| text(points).expect_err("a mistake");
        assert!(wrong("[points.a]\nlike = 'b'").contains("no such selection"));
        assert!(wrong("[points.a]\nlike = 'a'").contains("like itself"));
        let negative = wrong("[points.a]\nnodes = -1");
        assert!(negative.contains("line 6"), "{negative}");
    }
}
