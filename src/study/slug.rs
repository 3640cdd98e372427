//! Names as they stand in identifiers.

/// A name as it can stand in an identifier: lower case, everything but letters, digits, `.` and
/// `_` as a dash. Labels must differ in this form.
pub fn slug(text: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c| !keep(c))
        .filter(|word| !word.is_empty())
        .collect();
    words.join("-")
}
