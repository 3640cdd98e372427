//! Whether the first writer goes on without the others, where its mode may: looked at again and
//! again, by its own counters.

use crate::lab::mode::Company;

/// What looks have shown so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Alone {
    last: Option<Company>,
    /// The last moment at which it was certain to be in company; µs of the history's clock.
    with_others_us: u64,
    /// That moment, once it was not any more.
    pub went_us: Option<u64>,
    /// Whether the last look was answered.
    pub is_known: bool,
    /// Somebody took over: what that one does is another matter.
    pub is_over: bool,
}

impl Alone {
    /// What was answered last, for the next question.
    pub fn last(&self) -> Option<Company> {
        self.last
    }

    /// An answer to what was asked at that time.
    pub fn see(&mut self, asked_us: u64, company: Company) {
        let again = self.last.is_some_and(|last| company.times > last.times);
        if !company.is_alone && !again {
            self.with_others_us = asked_us;
        } else if self.went_us.is_none() {
            self.went_us = Some(self.with_others_us);
        }
        self.last = Some(company);
        self.is_known = true;
    }

    /// It did not answer.
    pub fn miss(&mut self) {
        self.is_known = false;
    }

    /// The last moment at which it said that it was in company, if it has said nothing else since.
    pub fn in_company_us(&self) -> Option<u64> {
        let is_heard = self.last.is_some() && self.went_us.is_none();
        is_heard.then_some(self.with_others_us)
    }

    /// Its server starts anew, and counts from nothing.
    pub fn begin_again(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn company(is_alone: bool, times: u64) -> Company {
        Company { is_alone, times }
    }

    fn seen(looks: &[(u64, Company)]) -> Alone {
        let mut alone = Alone::default();
        for (at_us, company) in looks {
            alone.see(*at_us, *company);
        }
        alone
    }

    #[test]
    fn the_last_moment_in_company_is_what_counts() {
        let with = company(false, 3);
        assert_eq!(seen(&[(10, with), (20, with)]).went_us, None);
        let went = seen(&[(10, with), (20, with), (30, company(true, 3))]);
        assert_eq!(went.went_us, Some(20));
        // It went and came back between two looks.
        let back = seen(&[(10, with), (20, company(false, 4)), (30, company(false, 4))]);
        assert_eq!(back.went_us, Some(10));
        // Only the first time counts.
        let twice = seen(&[(10, company(true, 3)), (20, with), (30, company(true, 4))]);
        assert_eq!(twice.went_us, Some(0));
    }

    #[test]
    fn what_was_not_answered_is_not_known() {
        let mut alone = Alone::default();
        assert!(!alone.is_known);
        alone.see(10, company(false, 0));
        assert!(alone.is_known);
        alone.miss();
        assert!(!alone.is_known && alone.last().is_some());
        assert_eq!(alone.in_company_us(), Some(10), "until then it was");
        alone.see(20, company(true, 1));
        assert_eq!(alone.in_company_us(), None);
        assert_eq!(Alone::default().in_company_us(), None);
    }

    #[test]
    fn a_server_that_starts_anew_counts_from_nothing() {
        let mut alone = seen(&[(10, company(false, 7))]);
        alone.begin_again();
        alone.see(20, company(false, 0));
        alone.see(30, company(false, 0));
        assert_eq!(alone.went_us, None);
        alone.see(40, company(false, 1));
        assert_eq!(alone.went_us, Some(30));
    }
}
