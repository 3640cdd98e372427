//! Names of people in paths: `/home/NAME`, and any part of a path that is a name known to be one.

use std::ops::Range;

/// Below these each part of a path is somebody's name.
const HOMES: [&str; 2] = ["/home/", "/Users/"];

/// Where such names stand in a text, in order; `users` are names of people.
pub fn names(text: &str, users: &[String]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    // Parts of paths: what stands between slashes, or between one and the end of a word.
    while let Some(slash) = text[start..].find('/').map(|at| start + at) {
        let part = slash + 1..end_of_part(text, slash + 1);
        let is_below_home = HOMES.iter().any(|home| text[..=slash].ends_with(home));
        let is_known = users.iter().any(|user| *user == text[part.clone()]);
        if !part.is_empty() && (is_below_home || is_known) {
            found.push(part);
        }
        start = slash + 1;
    }
    found
}

fn end_of_part(text: &str, start: usize) -> usize {
    let ends = |c: char| c.is_whitespace() || "/\"'`,;:()<>[]{}=\\".contains(c);
    let end = text[start..].find(ends);
    end.map_or(text.len(), |at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<&str> {
        let users = ["mia".to_owned()];
        let names = names(text, &users);
        names.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn names_below_home_and_known_ones_are_found() {
        assert_eq!(told("/home/jo/my.cnf:3 and /Users/ann"), ["jo", "ann"]);
        assert_eq!(told("--record=/srv/mia/x.acklab"), ["mia"]);
        assert_eq!(told("\"/var/home/jo\", '/home/é.b/x'"), ["jo", "é.b"]);
    }

    #[test]
    fn other_parts_stay() {
        for text in [
            "/home",
            "/home/",
            "mia",
            "/srv/mias/x",
            "/homes/jo",
            "10/100",
            "",
        ] {
            assert_eq!(told(text), [""; 0], "{text}");
        }
    }
}
