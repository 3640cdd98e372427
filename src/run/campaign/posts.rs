//! Where clients stand.
//!
//! Applications stand in several sites, and live on when a database's machine dies. So clients are
//! machines of their own, in the first writer's site, and what befalls a node befalls none of them:
//! when only the writer's machine dies, all of them look for who takes over.
//!
//! A site that is cut off, or loses its power, takes along the clients that stand there. If all
//! did, nobody would be left to see who serves afterwards, nor what both sides of a cut take. So of
//! a fault that does that to the first site, half of the clients stand elsewhere, whatever else it
//! says: in the site of the last node that stands in another one.
//!
//! Each half has accounts of its own then. Who is cut off in the middle of a transaction keeps its
//! rows locked, for as long as nobody ends the connection: on the same accounts the clients beside
//! the writer would soon stand still, and hardly anything would be left of what a cut-off writer
//! acknowledges.

use std::ops::Range;

use crate::load::ledgers::{ACCOUNTS, SESSIONS};
use crate::study::faults::{ClientsAt, Deed, Fault, Target};

/// Clients in one site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub site: String,
    pub sessions: u32,
    /// Those that they move amounts between.
    pub accounts: Range<u16>,
    /// Index of the node that they begin with.
    pub first_writer: u8,
}

/// Where the clients of a fault stand, by the sites of the nodes, the first writer's first.
pub fn posts(fault: &Fault, sites: &[String]) -> Vec<Post> {
    let Some(first) = sites.first() else {
        return vec![];
    };
    let post = |site: &String, sessions, accounts| Post {
        site: site.clone(),
        sessions,
        accounts,
        first_writer: 0,
    };
    if fault.clients_at == ClientsAt::EveryNode {
        return at_every_node(sites);
    }
    let are_apart = fault.clients_at == ClientsAt::BothSides || takes_site(fault);
    let elsewhere = sites.iter().rev().find(|site| *site != first);
    match elsewhere.filter(|_| are_apart) {
        Some(other) => {
            let (there, half) = (SESSIONS / 2, ACCOUNTS / 2);
            vec![
                post(first, SESSIONS - there, 0..half),
                post(other, there, half..ACCOUNTS),
            ]
        }
        None => vec![post(first, SESSIONS, 0..ACCOUNTS)],
    }
}

/// One at each node: two at the same one would meet there, as they do on a single server. A single
/// server has all. What they do to the same accounts is what such a fault is for.
fn at_every_node(sites: &[String]) -> Vec<Post> {
    let sessions = if sites.len() > 1 { 1 } else { SESSIONS };
    let post = |(node, site): (u8, &String)| Post {
        site: site.clone(),
        sessions,
        accounts: 0..ACCOUNTS,
        first_writer: node,
    };
    (0..).zip(sites).map(post).collect()
}

/// Whether some step takes the first site from all others, with the clients in it.
fn takes_site(fault: &Fault) -> bool {
    let mut deeds = fault.steps.iter().map(|step| step.deed);
    deeds.any(|deed| match deed {
        Deed::CutLinks(links) => [Some(links.from), links.to].contains(&Some(Target::Site)),
        Deed::PowerCut(target, _) | Deed::DestroyDisk(target) => target == Target::Site,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::study::faults::{Between, Leaves, Step, Way, When};

    fn fault(clients_at: ClientsAt, deeds: &[Deed]) -> Fault {
        let step = |deed: &Deed| Step {
            when: When::Served,
            limit: Duration::ZERO,
            deed: *deed,
        };
        Fault {
            clients_at,
            steps: deeds.iter().map(step).collect(),
            ..Fault::default()
        }
    }

    fn at(fault: &Fault, sites: &[&str]) -> Vec<(String, u32)> {
        let sites: Vec<String> = sites.iter().map(|site| (*site).to_owned()).collect();
        let posts = posts(fault, &sites).into_iter();
        posts.map(|post| (post.site, post.sessions)).collect()
    }

    fn cut(from: Target) -> Deed {
        Deed::CutLinks(Between {
            from,
            to: None,
            way: Way::Both,
            with_clients: false,
        })
    }

    #[test]
    fn clients_outlive_a_machine_and_half_of_them_a_site() {
        let first = ClientsAt::FirstSite;
        let dies = |target| fault(first, &[Deed::PowerCut(target, Leaves::Nothing)]);
        let all = vec![("a".to_owned(), 8)];
        let apart = vec![("a".to_owned(), 4), ("c".to_owned(), 4)];
        let sites = ["a", "b", "c"];
        assert_eq!(at(&dies(Target::Writer), &sites), all);
        assert_eq!(at(&dies(Target::All), &sites), all);
        assert_eq!(at(&dies(Target::Site), &sites), apart);
        assert_eq!(at(&fault(first, &[cut(Target::Site)]), &sites), apart);
        assert_eq!(at(&fault(first, &[cut(Target::Writer)]), &sites), all);
        // A server's death is no site's.
        let killed = fault(first, &[Deed::Kill(Target::Site)]);
        assert_eq!(at(&killed, &sites), all);
    }

    #[test]
    fn clients_of_two_sites_never_wait_for_each_other() {
        let sites = ["a", "b"].map(str::to_owned);
        let accounts = |clients_at| -> Vec<Range<u16>> {
            let posts = posts(&fault(clients_at, &[]), &sites).into_iter();
            posts.map(|post| post.accounts).collect()
        };
        assert_eq!(accounts(ClientsAt::BothSides), [0..32, 32..64]);
        assert_eq!(accounts(ClientsAt::FirstSite), vec![0..ACCOUNTS; 1]);
        // There they are to meet.
        assert_eq!(accounts(ClientsAt::EveryNode), [0..64, 0..64]);
    }

    #[test]
    fn on_both_sides_they_stand_with_the_last_node_that_is_elsewhere() {
        let both = fault(ClientsAt::BothSides, &[]);
        let apart = vec![("a".to_owned(), 4), ("b".to_owned(), 4)];
        assert_eq!(at(&both, &["a", "b", "a"]), apart);
        assert_eq!(at(&both, &["a", "a"]), [("a".to_owned(), 8)]);
        assert!(at(&both, &[]).is_empty());
    }

    #[test]
    fn at_every_node_they_begin_with_their_own() {
        let every = fault(ClientsAt::EveryNode, &[]);
        let sites = ["a", "b", "a"].map(str::to_owned);
        let posts = posts(&every, &sites).into_iter();
        let posts: Vec<(String, u32, u8)> = posts
            .map(|post| (post.site, post.sessions, post.first_writer))
            .collect();
        let [a, b] = ["a", "b"].map(str::to_owned);
        assert_eq!(posts, [(a.clone(), 1, 0), (b, 1, 1), (a.clone(), 1, 2)]);
        assert_eq!(at(&every, &["a"]), [(a, 8)]);
    }
}
