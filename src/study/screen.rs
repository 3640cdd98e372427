//! Screening designs: which combinations of two-level factors tell each factor's effect, in few
//! runs.
//!
//! A regular fractional factorial: some factors, the basic ones, take all combinations; the level
//! of each other one follows from a product of theirs, its generator. Two effects whose products
//! come to the same in every run cannot be told apart: they are aliases. A *word* is a set of
//! factors whose product never changes; the shortest word's length is the design's resolution. From
//! V on no main effect and no interaction of two is the alias of another. The generators are those
//! of least aberration: as few words of three factors as can be, then of four, and so on (Fries and
//! Hunter, "Minimum aberration 2^(k-p) designs", Technometrics 22, 1980).

use serde::{Deserialize, Serialize};

use super::limits;

/// Which factors are high in which run. Sets of factors and of basic factors are bits, the first
/// factor's the lowest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    /// Basic factors: there are two to this power runs.
    basic: u32,
    /// Of each factor the basic ones whose product it is; of a basic one itself alone.
    columns: Vec<u32>,
}

/// A variable and its two levels, as they stand in an option file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    pub name: String,
    pub low: String,
    pub high: String,
}

/// A design over variables of one mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    /// Label of the mode that is varied.
    pub of: String,
    pub factors: Vec<Factor>,
    pub design: Design,
    /// Labels of the modes that are its runs, in the design's order.
    pub runs: Vec<String>,
}

/// What a factor is called in labels and tables: `a` for the first.
pub fn letter(factor: usize) -> char {
    char::from(b'a' + factor as u8)
}

impl Design {
    /// The best design of so many runs.
    ///
    /// # Errors
    /// What is wrong with the number, in words.
    pub fn of_runs(factors: usize, runs: u32) -> Result<Design, String> {
        let basic = runs.trailing_zeros();
        let most = 1_u64 << factors;
        let least = (factors as u64 + 1).next_power_of_two().min(most);
        let most = most.min(limits::SCREEN_RUNS.high);
        if !runs.is_power_of_two() || !(least..=most).contains(&u64::from(runs)) {
            return Err(format!(
                "must be a power of two from {least} to {most} for {factors} factors: with fewer \
                 runs two factors would be one, more are never needed"
            ));
        }
        Ok(search(factors, basic))
    }

    /// The smallest design of that resolution at least.
    pub fn of_resolution(factors: usize, resolution: u32) -> Design {
        let least = (factors as u32 + 1).next_power_of_two().trailing_zeros();
        let is_enough = |design: &Design| design.resolution().is_none_or(|got| got >= resolution);
        let mut sizes = least.min(factors as u32)..factors as u32;
        let found = sizes.find_map(|basic| Some(search(factors, basic)).filter(is_enough));
        found.unwrap_or_else(|| search(factors, factors as u32))
    }

    /// Number of runs.
    pub fn runs(&self) -> u32 {
        1 << self.basic
    }

    /// Number of factors.
    pub fn factors(&self) -> usize {
        self.columns.len()
    }

    /// Whether a factor takes its high level in a run. The first run has all basic ones low.
    pub fn is_high(&self, run: u32, factor: usize) -> bool {
        self.is_positive(run, 1 << factor)
    }

    /// Sign of the product of some factors in a run, high being +1 and low −1.
    pub fn is_positive(&self, run: u32, factors: u32) -> bool {
        // Basic factors that meet themselves give +1; of the rest each low one turns the sign.
        let lows = self.column(factors) & !run;
        lows.count_ones().is_multiple_of(2)
    }

    /// The contrast that a product of factors is: products of one contrast are aliases.
    pub fn column(&self, factors: u32) -> u32 {
        let held = self.columns.iter().enumerate();
        let held = held.filter(|(factor, _)| factors >> factor & 1 == 1);
        held.fold(0, |column, (_, own)| column ^ own)
    }

    /// Length of the shortest word; `None` if all combinations are run.
    pub fn resolution(&self) -> Option<u32> {
        let words = words(self.basic, &self.columns[self.basic as usize..]);
        words.iter().map(|word| word.count_ones()).min()
    }
}

/// Words of a design whose factors beyond the basic ones have these generators.
fn words(basic: u32, generators: &[u32]) -> Vec<u32> {
    let mut words = Vec::new();
    for (index, generator) in generators.iter().enumerate() {
        extend(&mut words, generator | 1 << (basic as usize + index));
    }
    words
}

/// With each new generator its own word, and its product with every word there was.
fn extend(words: &mut Vec<u32>, word: u32) {
    let products: Vec<u32> = words.iter().map(|other| other ^ word).collect();
    words.push(word);
    words.extend(products);
}

/// How many words there are of each length: less is better, at the short end first.
type Lengths = [u32; limits::SCREEN_FACTORS.high as usize + 1];

fn lengths(words: &[u32]) -> Lengths {
    let mut lengths = Lengths::default();
    for word in words {
        lengths[word.count_ones() as usize] += 1;
    }
    lengths
}

/// The design of least aberration; of several the first in the order of generators.
fn search(factors: usize, basic: u32) -> Design {
    let products = (1..1_u32 << basic).filter(|column| column.count_ones() > 1);
    let mut search = Search {
        basic,
        products: products.collect(),
        wanted: factors - basic as usize,
        chosen: Vec::new(),
        best: None,
    };
    search.descend(0, &[]);
    let (_, generators) = search.best.unwrap_or_default();
    let own = (0..basic).map(|factor| 1 << factor);
    Design {
        basic,
        columns: own.chain(generators).collect(),
    }
}

struct Search {
    basic: u32,
    /// What a generator can be.
    products: Vec<u32>,
    /// Number of generators.
    wanted: usize,
    chosen: Vec<u32>,
    best: Option<(Lengths, Vec<u32>)>,
}

impl Search {
    /// All choices that go on with a product from `first` on. More generators only add words: what
    /// is no better than the best so far never will be.
    fn descend(&mut self, first: usize, words: &[u32]) {
        let lengths = lengths(words);
        if self.best.as_ref().is_some_and(|(best, _)| *best <= lengths) {
            return;
        }
        if self.chosen.len() == self.wanted {
            self.best = Some((lengths, self.chosen.clone()));
            return;
        }
        for index in first..self.products.len() {
            let product = self.products[index];
            let mut words = words.to_vec();
            extend(
                &mut words,
                product | 1 << (self.basic as usize + self.chosen.len()),
            );
            self.chosen.push(product);
            self.descend(index + 1, &words);
            self.chosen.pop();
        }
    }
}

#[cfg(test)]
mod tests;
