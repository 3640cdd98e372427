//! Articles whose questions studies ask again: what they published.

use serde::Deserialize;

/// Facts and claims, by the article's key.
const PUBLISHED: &str = include_str!("../../studies/published.toml");

/// What an article says of itself, in words; everything else in it is a figure.
const WORDS: [&str; 7] = [
    "title", "servers", "tool", "measure", "claims", "notes", "columns",
];

/// What an article published.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    pub title: String,
    /// What it ran on.
    pub servers: String,
    /// What it was loaded with, where that is more than its measure says.
    pub tool: Option<String>,
    /// What its figures are.
    pub measure: String,
    /// What a repeat must confirm or contradict.
    pub claims: Vec<String>,
    /// By their name, in alphabetical order, values as they stand in the file.
    pub figures: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Words {
    title: String,
    servers: String,
    tool: Option<String>,
    measure: String,
    claims: Vec<String>,
}

/// Keys of all articles, in alphabetical order.
pub fn article_keys() -> Vec<String> {
    all().keys().cloned().collect()
}

/// What the article of that key published; `None` if there is none of that key.
///
/// # Panics
/// If studies/published.toml is damaged, which a test checks.
pub fn article(key: &str) -> Option<Published> {
    let table = all().remove(key)?;
    let is_figure = |(name, _): &(&String, &toml::Value)| !WORDS.contains(&name.as_str());
    let fields = table.as_table().into_iter().flatten();
    let figures = fields.filter(is_figure);
    let figures = figures
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect();
    let words: Words = table.try_into().expect("studies/published.toml is checked");
    Some(Published {
        title: words.title,
        servers: words.servers,
        tool: words.tool,
        measure: words.measure,
        claims: words.claims,
        figures,
    })
}

/// The numbers at a place in an article's figures: those of a list, or the one that stands there.
/// None where there is no such place, or words.
pub fn numbers(key: &str, path: &[&str]) -> Vec<f64> {
    let all = all();
    let mut place = all.get(key);
    for step in path {
        place = place.and_then(|value| value.get(step));
    }
    let number = |value: &toml::Value| {
        let integer = value.as_integer().map(|integer| integer as f64);
        value.as_float().or(integer)
    };
    match place {
        Some(toml::Value::Array(list)) => list.iter().filter_map(number).collect(),
        other => other.and_then(number).into_iter().collect(),
    }
}

fn all() -> toml::Table {
    PUBLISHED
        .parse()
        .expect("studies/published.toml is checked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_place() {
        let key = numbers("gmo-innodb-cluster-2022", &["key"]);
        assert_eq!(key, [0.214, 0.214, 0.158, 0.152]);
        let rate = numbers("group-replication-2017", &["source_trx_per_s"]);
        assert_eq!(rate, [47332.0]);
        assert_eq!(numbers("gmo-galera-2022", &["tuned_a", "min"])[2], 0.057);
        assert_eq!(
            numbers("clouds-2015", &["starved_read_qps", "aurora"]),
            [0.0; 0]
        );
        assert_eq!(numbers("clouds-2015", &["no", "such"]), [0.0; 0]);
    }

    #[test]
    fn every_article_has_claims_and_figures_are_apart_from_words() {
        let keys = article_keys();
        assert_eq!(keys.len(), 5);
        for key in &keys {
            let article = article(key).expect("it is there");
            assert!(!article.claims.is_empty(), "{key}");
        }
        let clouds = article("clouds-2015").expect("it is there");
        let names: Vec<&str> = clouds.figures.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(names[0], "in_memory_read_qps");
        assert!(names.contains(&"rtt_ms") && !names.contains(&"notes"));
        assert_eq!(article("no-such"), None);
    }
}
