//! One load, dealt out to drivers that run side by side.

use super::job::Job;

/// Part `i` of `total` connections over `count` drivers.
pub fn share(total: u32, count: u32, i: u32) -> u32 {
    total / count + u32::from(i < total % count)
}

/// What each of so many drivers is to do of a load, or of as many as have a connection each: they
/// begin together, share its connections and its rate, and use random streams and keys of their
/// own.
pub fn split(job: &Job, drivers: u32) -> Vec<Job> {
    let count = drivers.min(job.connections).max(1);
    let part = |driver: u32| {
        let connections = share(job.connections, count, driver);
        let of_all = f64::from(connections) / f64::from(job.connections.max(1));
        Job {
            connections,
            driver,
            drivers: count,
            rate_per_s: job.rate_per_s.map(|rate| rate * of_all),
            waits: true,
            ..job.clone()
        }
    };
    (0..count).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::job::tests::example;

    #[test]
    fn connections_and_rate_are_dealt_out_and_nothing_is_left_over() {
        let job = Job {
            connections: 103,
            rate_per_s: Some(500.0),
            unique_from: 40,
            ..example()
        };
        let parts = split(&job, 50);
        assert_eq!(parts.len(), 50);
        let connections: Vec<u32> = parts.iter().map(|part| part.connections).collect();
        assert_eq!(connections.iter().sum::<u32>(), 103);
        assert!(connections.iter().all(|count| [2, 3].contains(count)));
        let rate: f64 = parts.iter().filter_map(|part| part.rate_per_s).sum();
        assert!((rate - 500.0).abs() < 1e-9, "{rate}");
        for (driver, part) in (0..).zip(&parts) {
            assert_eq!((part.driver, part.drivers, part.waits), (driver, 50, true));
            assert_eq!(part.unique_from, 40);
        }
    }

    #[test]
    fn each_that_drives_has_a_connection() {
        let job = Job {
            connections: 3,
            ..example()
        };
        let parts = split(&job, 50);
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.connections == 1));
        assert_eq!(split(&job, 1)[0].connections, 3);
    }
}
