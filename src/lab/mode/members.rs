//! A group as its members see it: each has a view of its own.

use std::collections::BTreeMap;

use crate::lab::sql::Row;

/// What is asked of a member.
pub const ASK: &str = "SELECT MEMBER_HOST, MEMBER_STATE, MEMBER_ROLE \
                       FROM performance_schema.replication_group_members";

/// A member's state (MySQL's manual, "Group Replication Server States").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Online,
    /// It gets what it missed.
    Recovering,
    /// The one who says it does not hear it.
    Unreachable,
    /// It was put out, or has given up: it is in no group, and refuses writes if it is set to.
    Error,
    /// It is in no group.
    Offline,
}

impl State {
    fn read(word: &str) -> Option<State> {
        Some(match word {
            "ONLINE" => State::Online,
            "RECOVERING" => State::Recovering,
            "UNREACHABLE" => State::Unreachable,
            "ERROR" => State::Error,
            "OFFLINE" => State::Offline,
            _ => return None,
        })
    }
}

/// A member as another sees it, or it itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub state: State,
    pub is_primary: bool,
}

/// The group as one member sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Index of the node that says it.
    pub by: usize,
    /// Those that it counts as members, by the index of their nodes.
    pub members: BTreeMap<usize, Seen>,
}

impl View {
    /// From what node `by` answers to [`ASK`]; `addresses` are those of all nodes.
    pub fn read(by: usize, rows: &[Row], addresses: &[String]) -> View {
        let seen = |row: &Row| {
            let said = |column: &str| row.get(column).map_or("", String::as_str);
            let host = said("MEMBER_HOST");
            let node = addresses.iter().position(|address| address == host)?;
            let state = State::read(said("MEMBER_STATE"))?;
            let is_primary = said("MEMBER_ROLE") == "PRIMARY";
            Some((node, Seen { state, is_primary }))
        };
        let members = rows.iter().filter_map(seen).collect();
        View { by, members }
    }

    /// The state of the one who says it.
    pub fn own(&self) -> State {
        let own = self.members.get(&self.by);
        own.map_or(State::Offline, |own| own.state)
    }

    /// Whether it is in a group and hears more than half of it. Without, it commits nothing.
    pub fn has_majority(&self) -> bool {
        let is_in = matches!(self.own(), State::Online | State::Recovering);
        let is_heard = |seen: &&Seen| seen.state != State::Unreachable;
        let heard = self.members.values().filter(is_heard).count();
        is_in && heard * 2 > self.members.len()
    }

    /// The primaries that it hears, whether or not they hear a majority.
    pub fn primaries(&self) -> Vec<usize> {
        let is_primary = |seen: &Seen| seen.is_primary && seen.state == State::Online;
        let all = self.members.iter();
        all.filter(|(_, seen)| is_primary(seen))
            .map(|(&node, _)| node)
            .collect()
    }

    /// Whether the group is these, and all of them are ONLINE.
    pub fn is_whole(&self, nodes: &[usize]) -> bool {
        let is_online = |node: &usize| {
            let seen = self.members.get(node);
            seen.is_some_and(|seen| seen.state == State::Online)
        };
        self.members.len() == nodes.len() && nodes.iter().all(is_online)
    }

    /// Whether it will not come to be in that node's group unless it joins it: it is in none, or
    /// goes on in another. One that hears too few may hear them again.
    pub fn is_out_of_group_of(&self, node: usize) -> bool {
        matches!(self.own(), State::Error | State::Offline) || self.goes_on_without(node)
    }

    /// Whether it goes on in a group that that node is no member of.
    pub fn goes_on_without(&self, node: usize) -> bool {
        self.has_majority() && !self.members.contains_key(&node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What node `by` says of three nodes: host's last number, state, role.
    fn view(by: usize, said: &[(u8, &str, &str)]) -> View {
        let addresses: Vec<String> = (1..=3).map(|i| format!("198.18.0.{i}")).collect();
        let row = |(host, state, role): &(u8, &str, &str)| -> Row {
            let host = match host {
                0 => String::new(),
                host => format!("198.18.0.{host}"),
            };
            let pairs = [
                ("MEMBER_HOST", &host[..]),
                ("MEMBER_STATE", *state),
                ("MEMBER_ROLE", *role),
            ];
            let owned = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
            owned.into_iter().collect()
        };
        View::read(by, &said.iter().map(row).collect::<Vec<Row>>(), &addresses)
    }

    #[test]
    fn a_whole_group_has_one_primary() {
        let whole = view(
            1,
            &[
                (2, "ONLINE", "SECONDARY"),
                (1, "ONLINE", "PRIMARY"),
                (3, "ONLINE", "SECONDARY"),
            ],
        );
        assert!(whole.has_majority() && whole.is_whole(&[0, 1, 2]));
        assert!(!whole.is_whole(&[0, 1]));
        assert_eq!((whole.own(), whole.primaries()), (State::Online, vec![0]));
    }

    /// It still says that it is ONLINE and PRIMARY.
    #[test]
    fn a_primary_in_a_minority_has_no_majority() {
        let lonely = view(
            0,
            &[
                (1, "ONLINE", "PRIMARY"),
                (2, "UNREACHABLE", "SECONDARY"),
                (3, "UNREACHABLE", "SECONDARY"),
            ],
        );
        assert!(!lonely.has_majority() && !lonely.goes_on_without(1));
        assert_eq!((lonely.own(), lonely.primaries()), (State::Online, vec![0]));
        let two_of_three = view(
            1,
            &[
                (1, "UNREACHABLE", "PRIMARY"),
                (2, "ONLINE", "SECONDARY"),
                (3, "ONLINE", "SECONDARY"),
            ],
        );
        assert!(two_of_three.has_majority() && !two_of_three.goes_on_without(0));
        assert!(two_of_three.primaries().is_empty(), "none is elected yet");
    }

    #[test]
    fn a_member_that_was_put_out_is_seen_by_those_who_go_on() {
        let others = view(1, &[(2, "ONLINE", "PRIMARY"), (3, "ONLINE", "SECONDARY")]);
        assert!(others.goes_on_without(0) && !others.goes_on_without(2));
        let itself = view(0, &[(1, "ERROR", "")]);
        assert_eq!(itself.own(), State::Error);
        assert!(!itself.has_majority() && itself.primaries().is_empty());
    }

    /// Both sides were forced to go on, or one was begun anew.
    #[test]
    fn who_has_a_group_of_its_own_has_to_leave_it() {
        let alone = view(0, &[(1, "ONLINE", "PRIMARY")]);
        assert!(alone.has_majority() && alone.is_out_of_group_of(1));
        assert!(!alone.is_out_of_group_of(0));
        let waits = view(0, &[(1, "ONLINE", "PRIMARY"), (2, "UNREACHABLE", "")]);
        assert!(!waits.has_majority() && !waits.is_out_of_group_of(1));
        assert!(view(0, &[(1, "ERROR", "")]).is_out_of_group_of(1));
        let joins = view(
            0,
            &[(1, "RECOVERING", "SECONDARY"), (2, "ONLINE", "PRIMARY")],
        );
        assert!(joins.has_majority() && !joins.is_out_of_group_of(1));
    }

    #[test]
    fn who_is_in_no_group_is_offline() {
        for said in [&[(0, "OFFLINE", "")][..], &[(1, "OFFLINE", "")], &[]] {
            let view = view(0, said);
            assert_eq!(view.own(), State::Offline);
            assert!(!view.has_majority());
        }
        assert_eq!(view(0, &[(1, "DREAMING", "")]).own(), State::Offline);
    }
}
