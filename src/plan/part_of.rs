//! A part of a study, where others measure the rest of it: on another machine, or at another time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which part of how many. It has whole rounds of the whole study's plan, and of each fault whole
/// trials, all under the numbers that they have in the whole.
///
/// They are dealt out one after the other: of three parts the first has rounds 1, 4, 7… So parts
/// differ by one round at most, and what is measured in a study's first rounds alone is spread over
/// them. What a part has follows from its number: to go on with one, and to put all together,
/// nothing else need be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PartOf {
    /// From 1 on.
    pub number: u32,
    pub of: u32,
}

/// More parts than this nobody has machines for, and no study rounds.
const PARTS_MAX: u32 = 10_000;

impl PartOf {
    /// Whether the round, or the trial, of that number belongs to it; from 1 on.
    pub fn has(self, number: u32) -> bool {
        number % self.of == self.number % self.of
    }

    /// All parts of as many, in their order.
    pub fn all(of: u32) -> impl Iterator<Item = PartOf> {
        (1..=of).map(move |number| PartOf { number, of })
    }
}

/// Numbers from 1 to `last` that belong to a part, or all of them.
pub fn own_numbers(part: Option<PartOf>, last: u32) -> impl Iterator<Item = u32> {
    (1..=last).filter(move |number| part.is_none_or(|part| part.has(*number)))
}

impl fmt::Display for PartOf {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{}/{}", self.number, self.of)
    }
}

impl FromStr for PartOf {
    type Err = String;

    fn from_str(text: &str) -> Result<PartOf, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(number, of)| Some((whole(number)?, whole(of)?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) && of <= PARTS_MAX => {
                Ok(PartOf { number, of })
            }
            Some((_, of)) if (1..=PARTS_MAX).contains(&of) => Err(format!(
                "of {of} parts, the first is 1/{of} and the last {of}/{of}"
            )),
            Some((_, of)) if of > PARTS_MAX => Err(format!("at most {PARTS_MAX} parts")),
            _ => Err("a part and how many there are, as 3/8: the third of eight".to_owned()),
        }
    }
}

/// Digits alone: no sign, no space.
fn whole(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_by_its_number_and_how_many_there_are() {
        assert_eq!("3/8".parse(), Ok(PartOf { number: 3, of: 8 }));
        assert_eq!(
            "1/1".parse::<PartOf>().map(|part| part.to_string()),
            Ok("1/1".into())
        );
        for (given, told) in [
            ("0/8", "the first is 1/8 and the last 8/8"),
            ("9/8", "the first is 1/8 and the last 8/8"),
            ("0/0", "as 3/8"),
            ("1/0", "as 3/8"),
            ("x", "as 3/8"),
            ("", "as 3/8"),
            ("3", "as 3/8"),
            ("/8", "as 3/8"),
            ("+1/8", "as 3/8"),
            ("-1/8", "as 3/8"),
            ("1/8/2", "as 3/8"),
            ("1/4294967297", "as 3/8"),
            ("1/20000", "at most 10000 parts"),
        ] {
            let refused = given.parse::<PartOf>().expect_err(given);
            assert!(refused.contains(told), "{given}: {refused}");
        }
    }

    #[test]
    fn each_number_is_of_one_part() {
        for of in 1..=7 {
            for number in 1..=20 {
                let owners = PartOf::all(of).filter(|part| part.has(number)).count();
                assert_eq!(owners, 1, "{number} of {of}");
            }
            let counts = PartOf::all(of).map(|part| own_numbers(Some(part), 20).count());
            let counts: Vec<usize> = counts.collect();
            let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
            assert!(
                spread <= 1 && counts.iter().sum::<usize>() == 20,
                "{counts:?}"
            );
        }
        let second = PartOf { number: 2, of: 3 };
        assert!(own_numbers(Some(second), 8).eq([2, 5, 8]));
        assert!(own_numbers(None, 3).eq(1..=3));
    }
}
