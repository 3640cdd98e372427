//! What a study may ask for. One place, so that files and command-line options meet the same
//! limits and the same words.

use std::time::Duration;

/// From the smallest to the largest value allowed, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range<T> {
    pub low: T,
    pub high: T,
}

/// Rounds of a study.
pub const ROUNDS: Range<u64> = Range::new(1, 1_000);
/// Rounds of a study that ends when its figures are narrow enough, where none are asked for.
pub const ROUNDS_UNTIL: u32 = 16;
/// Such a study has figures to look at after the first of these.
pub const ROUNDS_LOOKED_AT: Range<u64> = Range::new(4, ROUNDS_UNTIL as u64);
/// How narrow figures may be asked to be. Above a half they would say nothing.
pub const UNTIL: Range<f64> = Range {
    low: 0.001,
    high: 0.5,
};
/// How long a run may take.
pub const BUDGET: Range<Duration> = Range::new(Duration::from_secs(1), STUDY);
/// Seeds: what TOML's integers can hold.
pub const SEED: Range<u64> = Range::new(0, i64::MAX as u64);
/// Load before the window.
pub const WARMUP: Range<Duration> = Range::new(Duration::ZERO, HOUR);
/// The measured window. Below a tenth of a second the ends outweigh the middle.
pub const MEASURE: Range<Duration> = Range::new(Duration::from_millis(100), HOUR);
/// Watching after the load. What a server does is told second by second.
pub const WATCH_AFTER: Range<Duration> = Range::new(Duration::from_secs(1), HOUR);
/// Round-trip times.
pub const RTT: Range<Duration> = Range::new(Duration::ZERO, Duration::from_secs(60));
/// Jitter of one direction.
pub const JITTER: Range<Duration> = Range::new(Duration::ZERO, Duration::from_secs(60));
/// Share of packets lost. More than half is a cut, not a loss.
pub const LOSS: Range<f64> = Range {
    low: 0.0,
    high: 0.5,
};
/// Rate of one direction of a link, in bits per second.
pub const RATE_BITS_PER_S: Range<f64> = Range {
    low: 8e3,
    high: 100e9,
};
/// Nodes of a mode that replicates; nine is a group's own limit.
pub const NODES: Range<u64> = Range::new(2, 9);
/// Copies of a quorum's volume, one on each node.
pub const COPIES: Range<u64> = NODES;
/// What a disk adds to a request. Longer than this is a broken disk, not a slow one.
pub const DISK_DELAY: Range<Duration> = Range::new(Duration::ZERO, Duration::from_secs(10));
/// Reads and writes of a disk in a second. With fewer a server would not start in time.
pub const IOPS: Range<u64> = Range::new(10, 10_000_000);
/// Bytes that a disk reads and writes in a second, in bits as all rates.
pub const BANDWIDTH_BITS_PER_S: Range<f64> = Range {
    low: 8e6,
    high: 800e9,
};
/// Size of a disk's image, in bytes. A data directory takes 190 MB before its first row.
pub const IMAGE_BYTES: Range<u64> = Range::new(400_000_000, 1_000_000_000_000);
/// CPUs that a node has for itself.
pub const CPUS: Range<u64> = Range::new(1, 64);
/// Memory of one server. A smaller one could not even start.
pub const MEMORY_BYTES: Range<u64> = Range::new(32_000_000, 1_000_000_000_000);
/// Parallel applier threads.
pub const APPLIERS: Range<u64> = Range::new(1, 256);
/// Speed of a CPU that is slowed, as a share of what the host gives. A slower one would be left to
/// others for less time than it takes to wake them.
pub const CPU_SPEED: Range<f64> = Range {
    low: 0.05,
    high: 1.0,
};
/// Schemas with the same tables, over which a load is spread.
pub const SCHEMAS: Range<u64> = Range::new(1, 8);
/// Client connections.
pub const CONNECTIONS: Range<u64> = Range::new(1, 10_000);
/// Drivers that join a run from elsewhere.
pub const DRIVERS: Range<u64> = Range::new(1, 1_000);
/// Transactions offered each second.
pub const OFFERED_PER_S: Range<u64> = Range::new(1, 1_000_000);
/// From the end of a connection's transaction to the beginning of its next. With a longer one too
/// few would be in any window.
pub const PACE: Range<Duration> = Range::new(Duration::from_micros(100), Duration::from_secs(10));
/// Planted slowdown: the share of its time for which a connection rests.
pub const SLOWDOWN: Range<f64> = Range {
    low: 0.001,
    high: 0.9,
};
/// A limit that a knee keeps. A longer one would need windows that nobody waits for.
pub const KNEE_P99: Range<Duration> =
    Range::new(Duration::from_micros(100), Duration::from_secs(1));
/// So many measurements find a knee of which nothing was known, unless some stray.
pub const KNEE_TRIES: u32 = 16;
/// Semi-synchronous timeout.
pub const SEMISYNC_TIMEOUT: Range<Duration> = Range::new(Duration::from_millis(1), HOUR);
/// Between sites with copies of a volume: their connections are given up after twice this.
pub const COPIES_RTT_MAX: Duration = Duration::from_millis(500);
/// How long a copy of a volume may say nothing. Pauses of a busy host are shorter.
pub const COPY_TIMEOUT: Range<Duration> = Range::new(Duration::from_millis(200), HOUR);
/// Trials of each fault in each mode.
pub const TRIALS: Range<u64> = Range::new(1, 1_000);
/// Steps of a fault.
pub const FAULT_STEPS: usize = 50;
/// From one step of a fault to the next, and from the last to the end. Minutes are what timeouts of
/// servers take.
pub const FAULT_AFTER: Range<Duration> = Range::new(Duration::ZERO, Duration::from_secs(600));
/// How long a step waits for its event.
pub const FAULT_LIMIT: Range<Duration> =
    Range::new(Duration::from_millis(100), Duration::from_secs(600));
/// How long nothing is acknowledged until that is an event: commits of a mode may take as long as
/// a round trip to the farthest site.
pub const FAULT_SILENCE: Range<Duration> =
    Range::new(Duration::from_millis(100), Duration::from_secs(60));
/// How long a client hears nothing until it takes its connection for dead.
pub const CLIENT_TIMEOUT: Range<Duration> =
    Range::new(Duration::from_millis(100), Duration::from_secs(60));
/// Commits, or transactions behind, that a step waits for.
pub const FAULT_COMMITS: Range<u64> = Range::new(1, 10_000_000);
/// Share of packets that a fault takes. More is a cut.
pub const FAULT_LOSS: Range<f64> = Range {
    low: 0.001,
    high: 0.99,
};
/// What a fault adds to a link's delay, or a flush takes on a slow disk.
pub const FAULT_DELAY: Range<Duration> =
    Range::new(Duration::from_micros(100), Duration::from_secs(60));
/// Bytes that are left on a disk that is filled.
pub const FAULT_LEAVE_BYTES: Range<u64> = Range::new(0, 1_000_000_000);
/// Share of its trials in which a control loses something.
pub const CONTROL_SHARE: Range<f64> = Range {
    low: 0.01,
    high: 1.0,
};
/// Factors of a screening design: with more the search for its generators takes long.
pub const SCREEN_FACTORS: Range<u64> = Range::new(2, 10);
/// Runs of a screening design.
pub const SCREEN_RUNS: Range<u64> = Range::new(4, 128);
/// Resolutions that can be asked of one. V tells all interactions of two apart.
pub const SCREEN_RESOLUTION: Range<u64> = Range::new(3, 5);
/// Price of a mode's nodes.
pub const PRICE_USD_PER_HOUR_MAX: f64 = 1_000_000.0;
/// Cells of a study.
pub const CELLS: usize = 10_000;
/// Cells of a study that finds what limits another, of which each point has a dozen.
pub const CELLS_OF_LIMITS: usize = 2_000;
/// Windows of a whole study, laid end to end.
pub const STUDY: Duration = Duration::from_secs(7 * 24 * 3_600);

const HOUR: Duration = Duration::from_secs(3_600);

impl<T: Copy> Range<T> {
    /// From `low` to `high`.
    pub const fn new(low: T, high: T) -> Self {
        Range { low, high }
    }
}

impl<T: Copy + PartialOrd> Range<T> {
    /// Whether `value` is allowed.
    pub fn holds(&self, value: T) -> bool {
        self.low <= value && value <= self.high
    }
}

impl Range<u64> {
    /// In words: `a whole number from 1 to 1000`.
    pub fn whole_number(&self) -> String {
        if self.low == self.high {
            return format!("must be {}", self.low);
        }
        format!("must be a whole number from {} to {}", self.low, self.high)
    }
}

impl Range<f64> {
    /// In words: `must be a share from 0.1% to 50%`.
    pub fn share(&self) -> String {
        let [low, high] = [self.low, self.high].map(super::units::show_percent);
        format!("must be a share from {low} to {high}")
    }
}

impl Range<Duration> {
    /// In words: `a time from 0 to 60 s`.
    pub fn time(&self) -> String {
        let low = match self.low {
            Duration::ZERO => "0".to_owned(),
            low => super::units::show(low),
        };
        // 60 s, not 1 min: the limit is easier compared with round-trip times.
        let high = match self.high.as_secs() {
            60 => "60 s".to_owned(),
            _ => super::units::show(self.high),
        };
        format!("must be a time from {low} to {high}")
    }

    /// The same of what was given; with an example, if that is no time at all.
    pub fn time_for(&self, given: Option<&str>) -> String {
        match given.and_then(super::units::nanoseconds) {
            Some(_) => self.time(),
            None => format!("{}, with its unit, such as \"2.15ms\"", self.time()),
        }
    }
}
