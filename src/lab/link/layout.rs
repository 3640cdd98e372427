//! From the distances of a study to the settings of the switch.

use crate::error::{Result, breakdown};
use crate::study::{Distances, Network};

use super::{LinkSetting, PairSetting};

/// The settings of every ordered pair among `nodes`, given as (name, site). Between sites half of
/// the round-trip time each way with the network's jitter, loss and rate; inside a site half of
/// `rtt_within_site` each way and nothing else.
///
/// # Errors
/// A breakdown if two nodes stand in sites whose distance is not given.
pub fn pair_settings(
    distances: &Distances,
    network: &Network,
    nodes: &[(String, String)],
) -> Result<Vec<PairSetting>> {
    let mut settings = Vec::new();
    for (from, from_site) in nodes {
        for (to, to_site) in nodes.iter().filter(|(to, _)| to != from) {
            settings.push(PairSetting {
                from: from.clone(),
                to: to.clone(),
                setting: setting_between(distances, network, from_site, to_site)?,
            });
        }
    }
    Ok(settings)
}

fn setting_between(
    distances: &Distances,
    network: &Network,
    from_site: &str,
    to_site: &str,
) -> Result<LinkSetting> {
    if from_site == to_site {
        return Ok(LinkSetting {
            one_way_delay: network.rtt_within_site / 2,
            ..LinkSetting::default()
        });
    }
    let rtt = distances.rtt(from_site, to_site).ok_or_else(|| {
        let status = format!("no round-trip time between sites {from_site} and {to_site}");
        breakdown("lay out the links", status)
    })?;
    Ok(LinkSetting {
        one_way_delay: rtt / 2,
        jitter: distances.jitter.unwrap_or(network.jitter),
        loss: network.loss,
        rate_bits_per_s: distances.rate_bits_per_s.or(network.rate_bits_per_s),
        is_cut: false,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NETWORK: Network = Network {
        rtt_within_site: Duration::from_micros(250),
        jitter: Duration::from_micros(40),
        loss: 0.01,
        rate_bits_per_s: Some(1_000_000_000),
    };

    fn distances() -> Distances {
        let pair = |from: &str, to: &str, us| (from.into(), to.into(), Duration::from_micros(us));
        Distances {
            label: "b near, c far".into(),
            pairs: vec![pair("a", "b", 2_150), pair("c", "a", 8_000)],
            ..Distances::default()
        }
    }

    fn nodes(sites: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, site): &(&str, &str)| ((*name).to_owned(), (*site).to_owned());
        sites.iter().map(owned).collect()
    }

    #[test]
    fn each_pair_gets_half_of_its_own_distance() {
        let nodes = nodes(&[("client", "a"), ("n1", "a"), ("n2", "b")]);
        let settings = pair_settings(&distances(), &NETWORK, &nodes).unwrap();
        assert_eq!(settings.len(), 6);
        let find = |from: &str, to: &str| {
            let found = settings.iter().find(|s| s.from == from && s.to == to);
            found.unwrap().setting
        };
        let within = find("n1", "client");
        assert_eq!(within.one_way_delay, Duration::from_micros(125));
        assert_eq!((within.loss, within.rate_bits_per_s), (0.0, None));
        assert_eq!(within.jitter, Duration::ZERO);
        let between = find("n2", "client");
        assert_eq!(between.one_way_delay, Duration::from_micros(1_075));
        assert_eq!(between, find("n1", "n2"));
        assert_eq!(
            (between.loss, between.rate_bits_per_s),
            (0.01, Some(1_000_000_000))
        );
        assert_eq!(between.jitter, NETWORK.jitter);
    }

    #[test]
    fn distances_can_have_a_jitter_and_a_rate_of_their_own() {
        let own = Distances {
            jitter: Some(Duration::from_micros(3_750)),
            rate_bits_per_s: Some(25_000_000),
            ..distances()
        };
        let nodes = nodes(&[("client", "a"), ("n1", "a"), ("n2", "b")]);
        let settings = pair_settings(&own, &NETWORK, &nodes).unwrap();
        let of = |from: &str, to: &str| {
            let found = settings.iter().find(|s| s.from == from && s.to == to);
            let setting = found.unwrap().setting;
            (setting.jitter.as_micros(), setting.rate_bits_per_s)
        };
        assert_eq!(of("n2", "client"), (3_750, Some(25_000_000)));
        assert_eq!(of("n1", "client"), (0, None));
    }

    #[test]
    fn an_unknown_distance_is_a_breakdown() {
        let nodes = nodes(&[("n2", "b"), ("n3", "c")]);
        let error = pair_settings(&distances(), &NETWORK, &nodes).unwrap_err();
        assert!(
            error.to_string().contains("between sites b and c"),
            "{error}"
        );
    }
}
