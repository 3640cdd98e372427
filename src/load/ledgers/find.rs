//! How a client finds who takes its writes.

use super::sql;
use crate::study::faults::Finding;

/// What a client asks a new connection, before it sends any transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    TakesWrites,
    WhoIsThere,
}

/// What it made of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// It stays. The node, where it was told of one.
    Here(Option<u8>),
    /// It goes on.
    Elsewhere,
}

/// Where a client is, and where it goes next.
#[derive(Debug, Clone, Copy)]
pub struct Finder {
    finding: Finding,
    nodes: u8,
    at: u8,
}

impl Question {
    pub fn sql(self) -> &'static str {
        match self {
            Question::TakesWrites => sql::TAKES_WRITES,
            Question::WhoIsThere => sql::WHO_IS_THERE,
        }
    }
}

impl Finder {
    /// Among so many nodes, one at least; it begins at the first writer.
    pub fn new(finding: Finding, nodes: u8, first_writer: u8) -> Self {
        Finder {
            finding,
            nodes,
            at: first_writer,
        }
    }

    /// The node that it is at, or tries next. Behind a proxy it counts for nothing.
    pub fn at(&self) -> u8 {
        self.at
    }

    /// What it asks there.
    pub fn question(&self) -> Option<Question> {
        match self.finding {
            Finding::Asking => Some(Question::TakesWrites),
            Finding::Proxy | Finding::Router => Some(Question::WhoIsThere),
            Finding::List | Finding::Staying => None,
        }
    }

    /// What the one value means that it was answered, if it was one.
    pub fn told(&self, question: Question, value: Option<&[u8]>) -> Found {
        match question {
            Question::TakesWrites if value.is_some_and(is_off) => Found::Here(Some(self.at)),
            Question::TakesWrites => Found::Elsewhere,
            Question::WhoIsThere => Found::Here(value.and_then(|value| self.node_of(value))),
        }
    }

    /// The connection is lost, or the node takes no writes.
    pub fn go_on(&mut self) {
        if matches!(self.finding, Finding::Asking | Finding::List) {
            self.at = (self.at + 1) % self.nodes;
        }
    }

    /// Servers of a lab have their node's index and 1.
    fn node_of(&self, server_id: &[u8]) -> Option<u8> {
        let id: u8 = std::str::from_utf8(server_id).ok()?.parse().ok()?;
        id.checked_sub(1).filter(|node| *node < self.nodes)
    }
}

/// A switch is told as a number, or, where it has more than two positions, as a word.
fn is_off(value: &[u8]) -> bool {
    value == b"0" || value.eq_ignore_ascii_case(b"OFF")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_tried_in_turn_by_those_who_look_for_one() {
        for (finding, expected) in [
            (Finding::Asking, [1, 2, 0, 1]),
            (Finding::List, [1, 2, 0, 1]),
            (Finding::Staying, [1, 1, 1, 1]),
            (Finding::Proxy, [1, 1, 1, 1]),
            (Finding::Router, [1, 1, 1, 1]),
        ] {
            let mut finder = Finder::new(finding, 3, 1);
            let tried = expected.map(|_| {
                let at = finder.at();
                finder.go_on();
                at
            });
            assert_eq!(tried, expected, "{finding:?}");
        }
    }

    #[test]
    fn who_asks_stays_only_where_it_is_told_that_writes_are_taken() {
        let finder = Finder::new(Finding::Asking, 3, 2);
        let question = finder.question().unwrap();
        assert_eq!(question, Question::TakesWrites);
        for yes in ["0", "OFF"] {
            let found = finder.told(question, Some(yes.as_bytes()));
            assert_eq!(found, Found::Here(Some(2)));
        }
        for no in ["1", "ON", "NO_LOCK", "2", ""] {
            let found = finder.told(question, Some(no.as_bytes()));
            assert_eq!(found, Found::Elsewhere, "{no}");
        }
        assert_eq!(finder.told(question, None), Found::Elsewhere);
    }

    #[test]
    fn behind_a_proxy_a_node_is_known_by_its_id() {
        let finder = Finder::new(Finding::Proxy, 3, 0);
        let question = finder.question().unwrap();
        let told = |value: &str| finder.told(question, Some(value.as_bytes()));
        let known = [Found::Here(Some(0)), Found::Here(Some(2))];
        assert_eq!(["1", "3"].map(told), known);
        // Of nobody that is known.
        for odd in ["0", "4", "4711", "-1", "x"] {
            assert_eq!(told(odd), Found::Here(None), "{odd}");
        }
        assert_eq!(finder.told(question, None), Found::Here(None));
        let silent = [Finding::List, Finding::Staying];
        let asks = silent.map(|finding| Finder::new(finding, 3, 0).question());
        assert_eq!(asks, [None, None]);
    }
}
