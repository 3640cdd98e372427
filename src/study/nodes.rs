//! Where the nodes of a lab stand, and what they are called.

/// The site of each of `nodes` nodes: one in each site in turn, from the first on.
pub fn sites_of(sites: &[String], nodes: u32) -> Vec<String> {
    sites.iter().cycle().take(nodes as usize).cloned().collect()
}

/// A name for each node, given its site: the site's own for the first that stands there, then with
/// a number (`a`, `b`, `c`, `a2`, `b2`, `c2`). No name is given twice, nor is any site's name given
/// to a node that stands elsewhere.
pub fn names(sites_of_nodes: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (index, site) in sites_of_nodes.iter().enumerate() {
        let is_first = !sites_of_nodes[..index].contains(site);
        let numbered = (2..).map(|number| format!("{site}{number}"));
        let is_free = |name: &String| !names.contains(name) && !sites_of_nodes.contains(name);
        let name = match is_first {
            true => Some(site.clone()),
            false => numbered.into_iter().find(is_free),
        };
        names.extend(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn named(sites: &[&str], nodes: u32) -> Vec<String> {
        let sites: Vec<String> = sites.iter().map(|site| site.to_string()).collect();
        names(&sites_of(&sites, nodes))
    }

    #[test]
    fn nodes_are_named_after_their_sites_and_then_numbered() {
        assert_eq!(named(&["a", "b", "c"], 2), ["a", "b"]);
        assert_eq!(
            named(&["a", "b", "c"], 7),
            ["a", "b", "c", "a2", "b2", "c2", "a3"]
        );
    }

    #[test]
    fn a_site_whose_name_ends_in_a_number_keeps_it() {
        assert_eq!(named(&["a", "a2"], 4), ["a", "a2", "a3", "a22"]);
    }

    proptest! {
        #[test]
        fn no_name_is_given_twice(
            sites in prop::collection::btree_set("[ab][0-9]{0,2}", 1..5),
            nodes in 1u32..10,
        ) {
            let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
            let names = named(&sites, nodes);
            let different: BTreeSet<&String> = names.iter().collect();
            prop_assert_eq!((names.len(), different.len()), (nodes as usize, nodes as usize));
        }
    }
}
