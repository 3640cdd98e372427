//! Checks of the load driver at an offered rate against a real server.

use std::time::{Duration, Instant};

use acklab::load::{self, Snapshot};
use acklab::record::histogram;
use acklab::study::SysbenchLoad;
use hdrhistogram::Histogram;

use super::load_checks::{Server, driver, sysbench, transactions};

const ARRIVALS: u64 = 800;
const RATE_PER_S: f64 = 200.0;
/// Five standard deviations of so many independent arrivals.
const TOLERANCE_SHARE: f64 = 0.18;

/// As many transactions become due as are offered, whatever the host does meanwhile.
pub fn offered_rates_are_kept(server: &Server) {
    let workload = sysbench(SysbenchLoad::UpdateNonIndex, true);
    server.prepared_for(&workload);
    let mut job = server.job(&workload, 4);
    job.rate_per_s = Some(RATE_PER_S);
    let mut driver = driver();
    driver.start(&job).expect("a running load");
    driver.mark().expect("a mark");
    let (mut due, mut window_s) = (0, 0.0);
    while due < ARRIVALS {
        std::thread::sleep(Duration::from_millis(50));
        let part = driver.mark().expect("a mark");
        due += part.due;
        window_s += part.window_s;
        assert!(window_s < 60.0, "only {due} were due within a minute");
    }
    let rate_per_s = due as f64 / window_s;
    assert!(
        (rate_per_s / RATE_PER_S - 1.0).abs() < TOLERANCE_SHARE,
        "{rate_per_s} of {RATE_PER_S}"
    );
    let rest = driver.stop().expect("a stop");
    assert!(rest.errors.is_empty(), "{:?}", rest.errors);
}

/// More is offered than one connection can do: all that was not begun is told as such, and the
/// latency of what was runs from its due time.
pub fn what_is_late_is_not_forgotten(server: &Server) {
    let workload = sysbench(SysbenchLoad::UpdateNonIndex, true);
    server.prepared_for(&workload);
    let mut job = server.job(&workload, 1);
    job.rate_per_s = Some(1e6);
    let mut driver = driver();
    driver.start(&job).expect("a running load");
    let begun = Instant::now();
    let deadline = begun + Duration::from_secs(60);
    let mut parts: Vec<Snapshot> = vec![];
    while parts.iter().map(transactions).sum::<u64>() < 200 {
        assert!(Instant::now() < deadline, "not enough within a minute");
        parts.push(driver.mark().expect("a mark"));
    }
    let elapsed_us = begun.elapsed().as_micros() as u64;
    let last = driver.stop().expect("a stop");
    let backlog = last.backlog;
    parts.push(last);
    for part in &parts {
        let ended = count(Some(&part.latency_us)).len();
        let unfinished = count(part.unfinished_us.as_ref()).len();
        assert_eq!(
            part.due,
            ended + part.failed_due + unfinished,
            "its account"
        );
    }
    let sum = load::merge(parts).expect("a merge");
    let failed: u64 = sum.errors.total();
    let served = transactions(&sum) + failed + sum.unanswered;
    assert_eq!(sum.due, served + backlog);
    assert!(backlog > served, "{backlog} of {}", sum.due);
    let ended = count(sum.ended_us.as_ref());
    assert_eq!(ended.len(), transactions(&sum), "whenever they were due");
    // All were due at once, and went one after the other: the last has waited for all of the time.
    let longest_us = ended.max();
    assert!(longest_us * 2 > elapsed_us, "{longest_us} of {elapsed_us}");
}

fn count(text: Option<&String>) -> Histogram<u64> {
    histogram::decode(text.map_or("", |text| text)).expect("a histogram")
}
