//! Studies that come with acklab.

use super::written;
use crate::error::Mistake;

const STUDIES: [(&str, &str); 3] = [
    ("compare", include_str!("../../studies/compare.toml")),
    (
        "compare-quick",
        include_str!("../../studies/compare-quick.toml"),
    ),
    (
        "compare-full",
        include_str!("../../studies/compare-full.toml"),
    ),
];

/// The text of a built-in study; `None` if there is none of that name.
pub fn builtin(name: &str) -> Option<&'static str> {
    STUDIES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Names of the built-in studies.
pub fn builtin_names() -> Vec<&'static str> {
    STUDIES.iter().map(|(name, _)| *name).collect()
}

/// What to say of a name that is neither a file nor a built-in study.
pub fn no_such_study(place: &str, name: &str) -> Mistake {
    let advice = written::no_such_study(name);
    Mistake::new(
        place,
        "",
        name,
        &format!("is no file; a built-in study {advice}"),
    )
}
