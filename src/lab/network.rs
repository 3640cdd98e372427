//! All places of a sandbox and the one switch between them: servers of every lab, clients, fronts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::link::change::{self, Change, LinkChange};
use super::link::seen::{self, CutEchoes, LinkSeen, Way};
use super::link::{
    Keep, Kept, LinkNode, PairSetting, Probe, Switch, SwitchCounters, SwitchOptions, median,
    pair_settings,
};
use super::netns::Place;
use crate::error::{Result, breakdown};
use crate::study::{Distances, Network as LinkTerms, nodes};

/// Echoes of one asked-and-got probe, and the time between them.
const PROBE_ECHOES: usize = 11;
const PROBE_INTERVAL: Duration = Duration::from_millis(1);

/// The number of the clients' labs in addresses: 198.19.0.x.
const CLIENTS: u8 = 19;

/// The number of the fronts' places in addresses: 198.19.1.x.
const FRONTS: u8 = 1;

/// A lab's name and the site of each of its nodes.
pub type Wanted = (String, Vec<String>);

/// Where a place is, after it has been handed to its node.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Whereabouts {
    pub name: String,
    pub site: String,
    pub address: Ipv4Addr,
}

/// The switch and the clients' places.
pub struct Network {
    pub switch: Switch,
    /// By site.
    pub clients: BTreeMap<String, Place>,
    /// Places for fronts, by site; of those sites only that were asked for.
    pub fronts: BTreeMap<String, Place>,
    members: Vec<Whereabouts>,
    terms: LinkTerms,
    /// What a round trip takes beyond the delays that are set; taken off them.
    pub floor: Duration,
}

impl Network {
    /// Makes all places, starts the switch and measures its floor; losses and jitter are drawn by
    /// `seed`. Returns the places of each lab's nodes too.
    pub fn build(
        labs: &[Wanted],
        client_sites: &[String],
        front_sites: &[String],
        (terms, seed): (LinkTerms, u64),
    ) -> Result<(Network, Vec<Vec<Place>>)> {
        let mut links = Vec::new();
        let mut places = Vec::new();
        for (number, (lab, sites)) in labs.iter().enumerate() {
            let third =
                u8::try_from(number).map_err(|_| breakdown("number the labs", "too many"))?;
            places.push(make_places(lab, sites, [198, 18, third], &mut links)?);
        }
        let clients = make_places("client", client_sites, [198, CLIENTS, 0], &mut links)?;
        let fronts = make_places("front", front_sites, [198, CLIENTS, FRONTS], &mut links)?;
        let members = places
            .iter()
            .flatten()
            .chain(&clients)
            .chain(&fronts)
            .map(whereabouts)
            .collect();
        let options = SwitchOptions {
            seed,
            ..SwitchOptions::default()
        };
        let switch = Switch::start_with(&options, links)?;
        let by_site = |places: Vec<Place>| {
            let named = places.into_iter().map(|place| (place.site.clone(), place));
            named.collect()
        };
        let mut network = Network {
            switch,
            clients: by_site(clients),
            fronts: by_site(fronts),
            members,
            terms,
            floor: Duration::ZERO,
        };
        network.refresh_floor()?;
        Ok((network, places))
    }

    /// Measures anew what the switch itself adds, which follows the host's state, and takes it off
    /// all delays. For quiet moments.
    pub fn refresh_floor(&mut self) -> Result<()> {
        let Some(client) = self.clients.values().next() else {
            return Ok(());
        };
        if let Some(other) = self
            .members
            .iter()
            .find(|member| member.name != client.name)
        {
            self.floor = self
                .switch
                .measure_floor(&client.netns, &client.name, &other.name)?;
        }
        Ok(())
    }

    /// Names, sites and addresses of all places.
    pub fn members(&self) -> &[Whereabouts] {
        &self.members
    }

    /// Moves the sites to these distances.
    pub fn set_distances(&self, distances: &Distances) -> Result<()> {
        self.switch.set(&self.settings(distances)?)
    }

    /// The same, and some links are changed until distances are set again.
    ///
    /// # Errors
    /// A breakdown if a change names a place that there is not, or befalls no link: then nothing
    /// is changed.
    pub fn set_links(&self, distances: &Distances, changes: &[LinkChange]) -> Result<()> {
        let mut settings = self.settings(distances)?;
        change::apply(&mut settings, changes)?;
        self.switch.set(&settings)
    }

    /// What can be seen of changes that were made by [`Network::set_links`], of each one after the
    /// other, in their order. `nodes` are the labs' places that a change begins at.
    ///
    /// # Errors
    /// A breakdown if a change begins at another place, or if nothing can be probed.
    pub fn see_links(&self, changes: &[LinkChange], nodes: &[&Place]) -> Result<Vec<LinkSeen>> {
        let see = |change: &LinkChange| {
            seen::see(&self.switch, change.change, &self.ways(change, nodes)?)
        };
        changes.iter().map(see).collect()
    }

    /// Sends echoes into cuts that were made by [`Network::set_links`], and waits for nothing.
    ///
    /// # Errors
    /// As those of [`Network::see_links`].
    pub fn send_into_cuts(&self, cuts: &[LinkChange], nodes: &[&Place]) -> Result<Vec<CutEchoes>> {
        let send = |cut: &LinkChange| CutEchoes::send(&self.switch, &self.ways(cut, nodes)?);
        cuts.iter().map(send).collect()
    }

    /// What can be seen of cuts that echoes were sent into.
    ///
    /// # Errors
    /// As those of [`Network::see_links`].
    pub fn see_cuts(&self, echoes: Vec<CutEchoes>) -> Result<Vec<LinkSeen>> {
        let echoes = echoes.into_iter();
        echoes.map(|sent| sent.see(&self.switch)).collect()
    }

    /// Whether one way is as distances make it, of which a change was undone: by the switch's own
    /// account, and as far as echoes tell.
    ///
    /// # Errors
    /// As those of [`Network::see_links`].
    pub fn is_undone(
        &self,
        distances: &Distances,
        change: Change,
        (from, to): (&str, &str),
        nodes: &[&Place],
    ) -> Result<bool> {
        let settings = self.settings(distances)?;
        let of = |from: &str, to: &str| {
            let mut all = settings.iter();
            all.find(|pair| pair.from == from && pair.to == to)
        };
        let Some((there, back)) = of(from, to).zip(of(to, from)) else {
            return Ok(false);
        };
        let (there, back) = (there.setting, back.setting);
        let is_set = self.switch.setting(from, to) == there;
        let way = self.way((from, to), nodes)?;
        Ok(is_set && seen::is_undone(&self.switch, change, &way, (there, back))?)
    }

    /// Keeps what these streams hand over from now on: see [`Switch::keep`].
    pub fn keep(&self, wanted: &[Keep]) -> Result<()> {
        self.switch.keep(wanted)
    }

    /// What they have handed over since: see [`Switch::kept`].
    pub fn kept(&self) -> Result<Kept> {
        self.switch.kept()
    }

    fn ways<'a>(&'a self, change: &'a LinkChange, nodes: &[&'a Place]) -> Result<Vec<Way<'a>>> {
        let ways = change.ways();
        ways.map(|way| self.way(way, nodes)).collect()
    }

    fn way<'a>(&'a self, (from, to): (&'a str, &'a str), nodes: &[&'a Place]) -> Result<Way<'a>> {
        let tried = "see what became of links";
        let unknown = |name: &str| breakdown(tried, format!("no place is called {name}"));
        let nodes = nodes.iter().copied();
        let mut places = nodes
            .chain(self.clients.values())
            .chain(self.fronts.values());
        let place = places.find(|place| place.name == from);
        let mut members = self.members.iter();
        let member = members.find(|member| member.name == to);
        Ok(Way {
            from: &place.ok_or_else(|| unknown(from))?.netns,
            to,
            address: member.ok_or_else(|| unknown(to))?.address,
        })
    }

    fn settings(&self, distances: &Distances) -> Result<Vec<PairSetting>> {
        let named = |member: &Whereabouts| (member.name.clone(), member.site.clone());
        let nodes: Vec<(String, String)> = self.members.iter().map(named).collect();
        pair_settings(distances, &self.terms, &nodes)
    }

    /// Everything counted since the start.
    pub fn counters(&self) -> Result<SwitchCounters> {
        self.switch.counters()
    }

    /// The round-trip time asked between two sites.
    pub fn rtt_asked(&self, distances: &Distances, from: &str, to: &str) -> Duration {
        let between = distances.rtt(from, to);
        between
            .filter(|_| from != to)
            .unwrap_or(self.terms.rtt_within_site)
    }
}

/// Median of a short series of probes from one place to another, in µs.
pub fn probe_rtt_us(from: &Place, to: Ipv4Addr) -> Result<f64> {
    let probe = Probe::new(&from.netns, &from.name)?;
    let rtts_us = probe.rtts_us(to, PROBE_ECHOES, PROBE_INTERVAL)?;
    median(&rtts_us).ok_or_else(|| breakdown(format!("probe {to}"), "no echo came back"))
}

fn whereabouts(place: &Place) -> Whereabouts {
    Whereabouts {
        name: place.name.clone(),
        site: place.site.clone(),
        address: place.address,
    }
}

fn make_places(
    lab: &str,
    sites: &[String],
    prefix: [u8; 3],
    links: &mut Vec<LinkNode>,
) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for ((i, site), node) in (1u8..).zip(sites).zip(nodes::names(sites)) {
        let name = format!("{lab}.{node}");
        let address = Ipv4Addr::new(prefix[0], prefix[1], prefix[2], i);
        let (place, tun) = Place::create(&name, site, address)?;
        links.push(LinkNode { name, address, tun });
        places.push(place);
    }
    Ok(places)
}
