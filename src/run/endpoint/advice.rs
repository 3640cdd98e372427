//! What a lab would have pinned otherwise. At somebody else's servers nothing is set: it is said.

use std::collections::BTreeMap;

use crate::lab::servers::Catalogue;
use crate::lab::servers::catalogue::{Flavour, Version};

/// One sentence for each variable whose value differs from the equal terms of labs.
pub fn advice(catalogue: &Catalogue, variables: &BTreeMap<String, String>) -> Vec<String> {
    let value = |name: &str| variables.get(name).map_or("", String::as_str);
    let version = value("version");
    let is_mariadb = [version, value("version_comment")]
        .iter()
        .any(|text| text.to_lowercase().contains("mariadb"));
    let flavour = match is_mariadb {
        true => Flavour::Mariadb,
        false => Flavour::Mysql,
    };
    let terms = catalogue.shared_terms(flavour, &Version::parse(version));
    let differing = terms.into_iter().filter_map(|(name, wanted, why)| {
        let there = variables.get(&name)?;
        let sentence = format!("{name} is {there}; labs have {wanted}, for {why}");
        (!is_same(there, &wanted)).then_some(sentence)
    });
    differing.collect()
}

/// Whether two values mean the same: sizes with and without their letter, switches as words and
/// numbers.
fn is_same(one: &str, other: &str) -> bool {
    plain(one) == plain(other)
}

fn plain(value: &str) -> String {
    let lower = value.trim().to_lowercase();
    match lower.as_str() {
        "on" | "true" => return "1".to_owned(),
        "off" | "false" => return "0".to_owned(),
        _ => {}
    }
    let shift = match lower.chars().last() {
        Some('k') => 10,
        Some('m') => 20,
        Some('g') => 30,
        _ => return lower,
    };
    let number = lower[..lower.len() - 1].parse::<u64>();
    number.map_or(lower, |number| (number << shift).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice_on(pairs: &[(&str, &str)]) -> Vec<String> {
        let variables = pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        advice(&Catalogue::builtin(), &variables.collect())
    }

    #[test]
    fn what_differs_is_told_and_what_is_alike_is_not() {
        let alike = [
            ("version", "9.7.1"),
            ("sync_binlog", "1"),
            ("innodb_buffer_pool_size", "134217728"),
            ("performance_schema", "OFF"),
            ("max_connections", "151"),
        ];
        assert_eq!(advice_on(&alike), [""; 0]);
        let unlike = advice_on(&[("version", "9.7.1"), ("sync_binlog", "0")]);
        assert_eq!(unlike.len(), 1);
        assert!(
            unlike[0].starts_with("sync_binlog is 0; labs have 1, for "),
            "{unlike:?}"
        );
    }

    #[test]
    fn the_flavour_is_read_from_what_the_server_says() {
        let retry = ("wsrep_retry_autocommit", "1");
        assert_eq!(
            advice_on(&[("version", "10.11.19-MariaDB"), retry]).len(),
            1
        );
        assert_eq!(advice_on(&[("version", "8.0.36"), retry]), [""; 0]);
    }

    #[test]
    fn sizes_and_switches_are_compared_by_what_they_mean() {
        assert!(is_same("64K", "65536") && is_same("ON", "1") && is_same("O_DIRECT", "o_direct"));
        assert!(!is_same("1G", "1M") && !is_same("ON", "OFF"));
    }
}
