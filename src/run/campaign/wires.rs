//! Which links a step means, by the names of places.

use std::collections::BTreeSet;

use crate::lab::link::{Change, LinkChange};
use crate::study::faults::{Between, Target, Way};

/// All places of a lab, each with its name and its site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// By the index of their nodes.
    pub nodes: Vec<(String, String)>,
    /// Those of clients, and of fronts, which are on their side.
    pub clients: Vec<(String, String)>,
}

impl Places {
    fn everybody(&self) -> Vec<String> {
        let all = self.nodes.iter().chain(&self.clients);
        all.map(|(name, _)| name.clone()).collect()
    }

    fn of(&self, nodes: impl IntoIterator<Item = usize>) -> Vec<String> {
        let found = nodes.into_iter().filter_map(|i| self.nodes.get(i));
        found.map(|(name, _)| name.clone()).collect()
    }

    /// The clients in the first writer's site.
    fn first_clients(&self) -> Vec<String> {
        let first = self.nodes.first().map(|(_, site)| site);
        let there = self.clients.iter().filter(|(_, site)| Some(site) == first);
        there.map(|(name, _)| name.clone()).collect()
    }
}

/// What the links of a lab have become.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wires {
    /// By steps, in their order.
    pub changes: Vec<LinkChange>,
    /// Sets of nodes that were cut off from all others, both ways.
    pub islands: Vec<Vec<usize>>,
    /// Nodes without power, which say and hear nothing.
    pub dark: BTreeSet<usize>,
    /// Neither do the clients in the first writer's site: that has no power.
    pub is_site_dark: bool,
    /// Nodes whose copy of a volume has come back, and whose server has not: clients hear nothing
    /// of them.
    pub mute: BTreeSet<usize>,
}

impl Wires {
    /// All changes of links as distances make them.
    pub fn all(&self, places: &Places) -> Vec<LinkChange> {
        let mut all = self.darkness(places);
        all.extend(self.changes.iter().cloned());
        all
    }

    /// What steps have made of links is undone. Whoever has no power stays dark.
    pub fn heal(&mut self) {
        self.changes.clear();
        self.islands.clear();
    }

    /// All have power, and no server runs any more that had lost it. Its kernel lives on here: it
    /// would send clients once more what had been on its way.
    pub fn lighten(&mut self) {
        self.mute.append(&mut self.dark);
        self.is_site_dark = false;
    }

    /// A node's server may be heard again: whether it was not.
    pub fn power_on(&mut self, node: usize) -> bool {
        let was_dark = self.dark.remove(&node);
        let was_mute = self.mute.remove(&node);
        self.is_site_dark &= !self.dark.is_empty();
        was_dark || was_mute
    }

    /// What becomes of the links of whoever has no power; nothing where all have.
    pub fn darkness(&self, places: &Places) -> Vec<LinkChange> {
        let mut dark = places.of(self.dark.iter().copied());
        if self.is_site_dark {
            dark.extend(places.first_clients());
        }
        let mute = places.of(self.mute.iter().copied());
        let clients = places.clients.iter().map(|(name, _)| name.clone());
        let cut = |from: Vec<String>, to: Vec<String>| match from.is_empty() || to.is_empty() {
            true => vec![],
            false => ways(Way::Both, (from, to), Change::Cut),
        };
        let mut all = cut(dark, places.everybody());
        all.extend(cut(mute, clients.collect()));
        all
    }
}

/// What a step makes of links, its roles given as nodes: those that it names first, and those that
/// it names second, if it does.
///
/// To a site belong the clients in it. They stay with it; from a site that is parted from all
/// others the other clients are parted, too.
pub fn changes(
    between: &Between,
    (from, to): (&[usize], Option<&[usize]>),
    places: &Places,
    change: Change,
) -> Vec<LinkChange> {
    let mut first = places.of(from.iter().copied());
    if between.from == Target::Site {
        first.extend(places.first_clients());
    }
    let others = (0..places.nodes.len()).filter(|i| !from.contains(i));
    let mut second = match to {
        Some(to) => places.of(to.iter().copied()),
        None => places.of(others),
    };
    let is_parted = between.from == Target::Site && to.is_none();
    if between.with_clients || is_parted {
        second.extend(places.clients.iter().map(|(name, _)| name.clone()));
    } else if between.to == Some(Target::Site) {
        second.extend(places.first_clients());
    }
    second.retain(|name| !first.contains(name));
    ways(between.way, (first, second), change)
}

fn ways(way: Way, (from, to): (Vec<String>, Vec<String>), change: Change) -> Vec<LinkChange> {
    let there = LinkChange {
        from: from.clone(),
        to: to.clone(),
        change,
    };
    let back = LinkChange {
        from: to,
        to: from,
        change,
    };
    match way {
        Way::There => vec![there],
        Way::Back => vec![back],
        Way::Both => vec![there, back],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        let named = |all: &[(&str, &str)]| {
            let all = all.iter();
            all.map(|(name, site)| ((*name).to_owned(), (*site).to_owned()))
                .collect()
        };
        Places {
            nodes: named(&[("n.a", "a"), ("n.b", "b"), ("n.a2", "a")]),
            clients: named(&[("client.a", "a"), ("client.b", "b")]),
        }
    }

    fn between(from: Target, to: Option<Target>, with_clients: bool) -> Between {
        Between {
            from,
            to,
            way: Way::There,
            with_clients,
        }
    }

    /// From whom to whom, of what goes there only.
    fn cut(between: &Between, from: &[usize], to: Option<&[usize]>) -> (String, String) {
        let found = changes(between, (from, to), &places(), Change::Cut);
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        (one.from.join(" "), one.to.join(" "))
    }

    fn pair(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn clients_go_on_reaching_a_node_that_others_cannot() {
        let plain = between(Target::Writer, None, false);
        assert_eq!(cut(&plain, &[0], None), pair("n.a", "n.b n.a2"));
        let with = between(Target::Writer, None, true);
        let all = pair("n.a", "n.b n.a2 client.a client.b");
        assert_eq!(cut(&with, &[0], None), all);
        let one = between(Target::Writer, Some(Target::Replica(1)), false);
        assert_eq!(cut(&one, &[0], Some(&[1])), pair("n.a", "n.b"));
    }

    #[test]
    fn a_site_keeps_its_clients_and_is_parted_from_all_others() {
        let site = between(Target::Site, None, false);
        let parted = pair("n.a n.a2 client.a", "n.b client.b");
        assert_eq!(cut(&site, &[0, 2], None), parted);
        let from_one = between(Target::Replica(1), Some(Target::Site), false);
        let reached = pair("n.b", "n.a n.a2 client.a");
        assert_eq!(cut(&from_one, &[1], Some(&[0, 2])), reached);
        // Between two sets clients are not concerned.
        let two = between(Target::Site, Some(Target::Replica(1)), false);
        assert_eq!(
            cut(&two, &[0, 2], Some(&[1])),
            pair("n.a n.a2 client.a", "n.b")
        );
    }

    #[test]
    fn each_way_is_a_change_of_its_own() {
        let of = |way| {
            let between = Between {
                way,
                ..between(Target::Writer, Some(Target::Replica(1)), false)
            };
            let found = changes(&between, (&[0], Some(&[1])), &places(), Change::Lose(0.5));
            found.into_iter().map(|one| one.from.join(" ")).collect()
        };
        let found: Vec<Vec<String>> = [Way::There, Way::Back, Way::Both].map(of).to_vec();
        assert_eq!(found, [vec!["n.a"], vec!["n.b"], vec!["n.a", "n.b"]]);
    }

    #[test]
    fn who_has_no_power_is_heard_by_nobody() {
        let mut wires = Wires::default();
        assert!(wires.all(&places()).is_empty());
        wires.dark.insert(1);
        let [out, back] = &wires.all(&places())[..] else {
            panic!("not both ways");
        };
        assert_eq!((out.from.len(), out.to.len()), (1, 5));
        assert_eq!((&back.from, &back.to), (&out.to, &out.from));
        let ways: Vec<(&str, &str)> = out.ways().collect();
        assert_eq!(ways.len(), 4, "none to itself");
        wires.is_site_dark = true;
        let dark = &wires.darkness(&places())[0];
        assert_eq!(dark.from, ["n.b", "client.a"]);
    }

    /// A client was told "done" by a machine that was dead for a second, when links were healed.
    #[test]
    fn who_has_no_power_says_nothing_after_links_are_healed() {
        let mut wires = Wires::default();
        wires.dark.insert(1);
        wires.islands.push(vec![1]);
        let before = wires.all(&places());
        wires.heal();
        assert_eq!((wires.all(&places()), wires.islands.len()), (before, 0));
        // Its copy of a volume comes back, and its server does not.
        wires.lighten();
        let to_clients = &wires.all(&places())[0];
        assert_eq!(to_clients.from, ["n.b"]);
        assert!(
            to_clients
                .to
                .iter()
                .all(|place| place.starts_with("client."))
        );
        assert!(wires.power_on(1) && !wires.power_on(1));
        assert!(wires.all(&places()).is_empty());
    }
}
