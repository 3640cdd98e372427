//! What clients of a trial connect to who find the writer by a proxy: an HAProxy beside them, which
//! asks a responder at each node whether its server takes writes; or a MySQL Router, which has
//! bootstrapped itself and asks the group's members.

use std::net::SocketAddrV4;
use std::process::Command;

use super::posts::Post;
use super::subject::Subject;
use crate::error::{Result, breakdown};
use crate::lab::front::{Checks, Front, Route};
use crate::lab::health::{self, Question, Responder, Task};
use crate::lab::node::{Node, PORT};
use crate::study::Proxy;
use crate::study::mode::Family;

/// A proxy beside the clients of each post, which lets them through to whoever takes writes, and
/// what tells an HAProxy who does, at each node. Both are there for as long as they live.
///
/// # Errors
/// A breakdown with the last words of what does not start.
pub fn raise(
    subject: &Subject<'_>,
    proxy: Proxy,
    posts: &[Post],
) -> Result<(Vec<Responder>, Vec<Front>)> {
    let responders = match proxy {
        Proxy::Haproxy => responders(subject)?,
        Proxy::Router | Proxy::RouterBootstrapped => vec![],
    };
    let posts = posts.iter().enumerate();
    let fronts = posts.map(|(number, post)| front(subject, proxy, &post.site, number));
    Ok((responders, fronts.collect::<Result<_>>()?))
}

fn responders(subject: &Subject<'_>) -> Result<Vec<Responder>> {
    let addresses = subject.addresses();
    let addresses: Vec<String> = addresses.iter().map(|at| at.ip().to_string()).collect();
    let family = subject.spec.mode.family();
    let start = |(i, node): (usize, &Node)| {
        let task = Task {
            listen: SocketAddrV4::new(node.place.address, health::PORT),
            socket: node.socket(),
            question: question(family, i, &addresses),
        };
        let mut command = Command::new("/proc/self/exe");
        command.arg("health");
        node.place.enter(&mut command)?;
        Responder::start(command, &node.place.name, &task)
    };
    nodes(subject).iter().enumerate().map(start).collect()
}

/// What tells that node `i`, of those at these addresses, takes writes.
fn question(family: Family, i: usize, addresses: &[String]) -> Question {
    match family {
        Family::Group => Question::Primary {
            by: i,
            addresses: addresses.to_vec(),
        },
        Family::Galera => Question::Synced,
        Family::Replication | Family::Mirror | Family::Quorum | Family::Endpoint => {
            Question::Writable
        }
    }
}

/// A proxy beside the clients in a site. It listens where a server would: none stands there.
fn front(subject: &Subject<'_>, proxy: Proxy, site: &str, number: usize) -> Result<Front> {
    let network = &subject.rig.network;
    let none = || breakdown(format!("start a proxy in {site}"), "no place is for it");
    let client = network.clients.get(site).ok_or_else(none)?;
    let nodes = nodes(subject);
    let rtts = nodes
        .iter()
        .map(|node| network.rtt_asked(subject.distances, site, node.site()));
    let server = |node: &Node| SocketAddrV4::new(node.place.address, PORT);
    let checks = Checks {
        port: health::PORT,
        rtt_max: rtts.max().unwrap_or_default(),
        has_backups: subject.spec.mode.is_multi_writer(),
    };
    let route = Route {
        listen: SocketAddrV4::new(client.address, PORT),
        servers: nodes.iter().map(server).collect(),
        socket: nodes[0].socket(),
        checks: Some(checks).filter(|_| proxy == Proxy::Haproxy),
    };
    let fronts = &subject.rig.fronts;
    fronts.raise_for_trial(proxy, client, route, number)
}

fn nodes<'s>(subject: &'s Subject<'_>) -> &'s [Node] {
    &subject.lab_seen().nodes[..subject.count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_its_own_word_for_who_takes_writes() {
        let addresses = ["198.18.0.1", "198.18.0.2"].map(str::to_owned);
        let of = |family| question(family, 1, &addresses);
        for family in [Family::Replication, Family::Mirror, Family::Quorum] {
            assert_eq!(of(family), Question::Writable, "{family:?}");
        }
        assert_eq!(of(Family::Galera), Question::Synced);
        let member = Question::Primary {
            by: 1,
            addresses: addresses.to_vec(),
        };
        assert_eq!(of(Family::Group), member);
    }
}
