//! Studies that come with acklab.

use super::written::walk::one_of_names;
use crate::error::Mistake;

const STUDIES: [(&str, &str); 9] = [
    ("compare", include_str!("../../studies/compare.toml")),
    (
        "compare-quick",
        include_str!("../../studies/compare-quick.toml"),
    ),
    (
        "compare-full",
        include_str!("../../studies/compare-full.toml"),
    ),
    ("anatomy", include_str!("../../studies/anatomy.toml")),
    (
        "group-commit",
        include_str!("../../studies/group-commit.toml"),
    ),
    (
        "gmo-innodb-cluster-2022",
        include_str!("../../studies/gmo-innodb-cluster-2022.toml"),
    ),
    (
        "clouds-2015",
        include_str!("../../studies/clouds-2015.toml"),
    ),
    (
        "group-replication-2017",
        include_str!("../../studies/group-replication-2017.toml"),
    ),
    (
        "gmo-galera-2022",
        include_str!("../../studies/gmo-galera-2022.toml"),
    ),
];

/// Studies that also go by the name of the article that they repeat.
const ALSO: [(&str, &str); 1] = [("sync-binlog-group-commit-2012", "group-commit")];

/// The text of a built-in study; `None` if there is none of that name.
pub fn builtin(name: &str) -> Option<&'static str> {
    let also = ALSO.iter().find(|(also, _)| *also == name);
    let name = also.map_or(name, |(_, name)| name);
    STUDIES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Names of the built-in studies.
pub fn builtin_names() -> Vec<&'static str> {
    STUDIES.iter().map(|(name, _)| *name).collect()
}

/// The other name of a built-in study, if it has one.
pub fn other_name(name: &str) -> Option<&'static str> {
    let also = ALSO.iter().find(|(_, known)| *known == name);
    also.map(|(also, _)| *also)
}

/// What to say of a name that is neither a file nor a built-in study.
pub fn no_such_study(place: &str, name: &str) -> Mistake {
    let advice = one_of_names(name, &builtin_names());
    Mistake::new(
        place,
        "",
        name,
        &format!("is no file; a built-in study {advice}"),
    )
}
