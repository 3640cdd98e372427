//! How many of some may miss by chance alone, so that few sound hosts are told otherwise.

use statrs::distribution::{Binomial, DiscreteCDF};

/// One of so many hosts whose figures are sound may be told otherwise, for each check.
const BY_CHANCE: f64 = 0.05;

/// Each of some misses with this chance: so many of them may (a binomial's upper end).
pub fn at_most(missed: f64, of: usize) -> usize {
    let Ok(binomial) = Binomial::new(missed, of as u64) else {
        return 0;
    };
    let is_rare = |more: &u64| binomial.sf(*more) <= BY_CHANCE;
    (0..=of as u64).find(is_rare).unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_may_miss_as_do_by_chance_and_no_more() {
        assert_eq!(at_most(0.05, 120), 10);
        assert_eq!([at_most(0.2, 40), at_most(0.1, 40)], [12, 7]);
        assert_eq!([at_most(0.2, 6), at_most(0.1, 6)], [3, 2]);
        assert_eq!(at_most(0.05, 0), 0);
    }
}
