//! A closed queueing network of one class: so many clients go round over stations and a delay.
//!
//! What it gives is exact, and what exact mean value analysis gives (Reiser and Lavenberg, 1980,
//! "Mean-value analysis of closed multichain queuing networks"). It is computed by convolution
//! (Buzen, 1973, "Computational algorithms for closed queueing networks with exponential servers"):
//! with stations whose speed depends on how many wait there, the recursion of MVA loses its digits
//! near saturation.

/// Something that clients queue for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Station {
    /// What one client alone takes of it in each round.
    pub demand_us: f64,
    pub speed: Speed,
}

/// How many times as fast a station is with so many clients as with one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// So many servers side by side.
    Servers(u32),
    /// One server that takes several at a time: of n as many as n to this power.
    Batches(f64),
}

impl Speed {
    fn of(self, clients: usize) -> f64 {
        match self {
            Speed::Servers(count) => (clients as f64).min(f64::from(count)),
            Speed::Batches(power) => (clients as f64).powf(power),
        }
    }
}

/// What a network comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// Rounds of all clients together, for each µs.
    pub per_us: f64,
    /// Time of each round at each station, waiting included.
    pub residence_us: Vec<f64>,
}

/// A network of so many clients, its states weighed.
struct Weighed {
    clients: usize,
    /// The unit of time below.
    scale: f64,
    /// Of each number of clients under way, and at each station.
    factors: Vec<Vec<f64>>,
}

/// Rounds of all clients together, for each µs, and nothing of the stations. `None` if nothing
/// takes any time.
pub fn per_us(clients: u32, delay_us: f64, stations: &[Station]) -> Option<f64> {
    Weighed::of(clients, delay_us, stations)?.per_us()
}

/// Solves a network of so many clients. `None` if nothing takes any time.
pub fn solve(clients: u32, delay_us: f64, stations: &[Station]) -> Option<Solved> {
    let weighed = Weighed::of(clients, delay_us, stations)?;
    let per_us = weighed.per_us()?;
    let residence_us = (1..weighed.factors.len()).map(|place| weighed.mean(place) / per_us);
    Some(Solved {
        residence_us: residence_us.collect(),
        per_us,
    })
}

impl Weighed {
    fn of(clients: u32, delay_us: f64, stations: &[Station]) -> Option<Weighed> {
        let count = clients as usize;
        let scale = bound(clients, delay_us, stations)?;
        let delay = of_delay(count, delay_us * scale);
        let stations = stations.iter().map(|one| of_station(count, *one, scale));
        Some(Weighed {
            clients: count,
            scale,
            factors: std::iter::once(delay).chain(stations).collect(),
        })
    }

    fn per_us(&self) -> Option<f64> {
        let all = together(self.factors.iter())?;
        let per_us = self.scale * all[self.clients.checked_sub(1)?] / all[self.clients];
        Some(per_us).filter(|per_us| per_us.is_finite())
    }

    /// One station's states, weighed by those of all others: the clients there, on the average.
    fn mean(&self, place: usize) -> f64 {
        let others = self.factors.iter().enumerate();
        let others = others.filter(|(other, _)| *other != place);
        let others = together(others.map(|(_, factor)| factor)).unwrap_or_default();
        let weight = |(there, own): (usize, &f64)| own * others[self.clients - there];
        let weights: Vec<f64> = self.factors[place].iter().enumerate().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        let clients = weights.iter().enumerate();
        let there = clients.map(|(there, weight)| there as f64 * weight);
        there.sum::<f64>() / sum
    }
}

fn together<'f>(mut factors: impl Iterator<Item = &'f Vec<f64>>) -> Option<Vec<f64>> {
    let first = factors.next()?.clone();
    Some(factors.fold(first, |all, one| convolved(&all, one)))
}

/// More rounds for each µs there cannot be: with this as the unit of time the sums below neither
/// grow nor vanish.
fn bound(clients: u32, delay_us: f64, stations: &[Station]) -> Option<f64> {
    let count = f64::from(clients);
    let of_stations = stations.iter().map(|station| {
        let fastest = station.speed.of(clients as usize);
        station.demand_us / fastest
    });
    let least_us = of_stations.fold(delay_us / count, f64::max);
    (clients > 0 && least_us > 0.0).then(|| 1.0 / least_us)
}

/// The weight of each number of clients under way: the n-th power over n!.
fn of_delay(count: usize, delay: f64) -> Vec<f64> {
    let steps = (1..=count).map(|there| delay / there as f64);
    weights(steps)
}

fn of_station(count: usize, station: Station, scale: f64) -> Vec<f64> {
    let demand = station.demand_us * scale;
    let steps = (1..=count).map(|there| demand / station.speed.of(there));
    weights(steps)
}

/// Products of all steps so far, as parts of the largest: logarithms, for they may be huge.
fn weights(steps: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut logs = vec![0.0];
    for step in steps {
        let last = logs[logs.len() - 1];
        logs.push(last + step.ln());
    }
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter().map(|log| (log - largest).exp()).collect()
}

fn convolved(one: &[f64], other: &[f64]) -> Vec<f64> {
    let at = |sum: usize| -> f64 { (0..=sum).map(|part| one[part] * other[sum - part]).sum() };
    let sums: Vec<f64> = (0..one.len()).map(at).collect();
    let largest = sums.iter().copied().fold(0.0, f64::max);
    sums.iter().map(|sum| sum / largest).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn server(demand_us: f64) -> Station {
        Station {
            demand_us,
            speed: Speed::Servers(1),
        }
    }

    fn is_near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
    }

    /// The recursion of exact MVA, for servers that take one at a time.
    fn by_recursion(clients: u32, delay_us: f64, demands_us: &[f64]) -> f64 {
        let mut waiting = vec![0.0; demands_us.len()];
        let mut per_us = 0.0;
        for count in 1..=clients {
            let stays: Vec<f64> = demands_us
                .iter()
                .zip(&waiting)
                .map(|(demand, others)| demand * (1.0 + others))
                .collect();
            per_us = f64::from(count) / (delay_us + stays.iter().sum::<f64>());
            waiting = stays.iter().map(|stay| per_us * stay).collect();
        }
        per_us
    }

    #[test]
    fn one_server_and_a_delay_are_the_machine_repairman() {
        let (delay, demand) = (1_000.0, 200.0);
        for clients in [1_u32, 2, 10, 50] {
            // p0 = 1 / Σ N! / (N − k)! (S / Z)^k, and X = (1 − p0) / S.
            let mut term = 1.0;
            let mut sum = 1.0;
            for busy in 0..clients {
                term *= f64::from(clients - busy) * demand / delay;
                sum += term;
            }
            let expected = (1.0 - 1.0 / sum) / demand;
            let solved = solve(clients, delay, &[server(demand)]).unwrap();
            assert!(is_near(solved.per_us, expected), "{clients}");
            let round_us = f64::from(clients) / solved.per_us;
            assert!(is_near(solved.residence_us[0], round_us - delay));
        }
    }

    #[test]
    fn balanced_servers_share_their_clients() {
        // X = N / ((N + K − 1) · D), of K servers without a delay.
        let solved = solve(7, 0.0, &[server(30.0), server(30.0), server(30.0)]).unwrap();
        assert!(is_near(solved.per_us, 7.0 / (9.0 * 30.0)));
    }

    #[test]
    fn as_many_servers_as_clients_are_a_delay() {
        let many = Station {
            demand_us: 200.0,
            speed: Speed::Servers(8),
        };
        let solved = solve(8, 100.0, &[many]).unwrap();
        assert!(is_near(solved.per_us, 8.0 / 300.0));
        let together = Station {
            speed: Speed::Batches(1.0),
            ..many
        };
        let solved = solve(8, 100.0, &[together]).unwrap();
        assert!(is_near(solved.per_us, 8.0 / 300.0));
    }

    #[test]
    fn batches_that_hold_one_are_a_server() {
        let one = Station {
            demand_us: 70.0,
            speed: Speed::Batches(0.0),
        };
        let solved = solve(9, 500.0, &[one]);
        assert_eq!(solved, solve(9, 500.0, &[server(70.0)]));
    }

    #[test]
    fn a_thousand_clients_saturate_what_is_slowest() {
        let stations = [
            Station {
                demand_us: 300.0,
                speed: Speed::Servers(2),
            },
            Station {
                demand_us: 2_000.0,
                speed: Speed::Batches(0.6),
            },
        ];
        let solved = solve(1_000, 30_000.0, &stations).unwrap();
        assert!((solved.per_us - 2.0 / 300.0).abs() < 1e-6, "{solved:?}");
    }

    #[test]
    fn nothing_that_takes_no_time_is_solved() {
        assert_eq!(solve(3, 0.0, &[server(0.0)]), None);
        assert_eq!(solve(0, 10.0, &[server(1.0)]), None);
        let free = solve(3, 10.0, &[server(0.0)]).unwrap();
        assert!(is_near(free.per_us, 0.3));
        assert_eq!(free.residence_us, [0.0]);
    }

    proptest! {
        #[test]
        fn it_is_what_the_recursion_gives_and_within_the_asymptotic_bounds(
            clients in 1u32..80,
            delay_us in 0.0..5_000.0f64,
            demands_us in prop::collection::vec(1.0..900.0f64, 1..4),
        ) {
            let stations: Vec<Station> = demands_us.iter().copied().map(server).collect();
            let solved = solve(clients, delay_us, &stations).unwrap();
            let expected = by_recursion(clients, delay_us, &demands_us);
            prop_assert!((solved.per_us / expected - 1.0).abs() < 1e-6);
            let round_us = delay_us + demands_us.iter().sum::<f64>();
            let slowest_us = demands_us.iter().copied().fold(0.0, f64::max);
            let most = (f64::from(clients) / round_us).min(1.0 / slowest_us);
            let queued_us = f64::from(clients) * (round_us - delay_us);
            let least = f64::from(clients) / (delay_us + queued_us);
            prop_assert!(solved.per_us <= most * (1.0 + 1e-9));
            prop_assert!(solved.per_us >= least * (1.0 - 1e-9));
            let stays_us: f64 = solved.residence_us.iter().sum();
            let rounds = f64::from(clients) / solved.per_us;
            prop_assert!((stays_us + delay_us - rounds).abs() < 1e-6 * rounds);
        }
    }
}
