//! What two tools' figures and statements come to. Nothing here runs anything.

use acklab::error::{Result, breakdown};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Ratios of one tool's figure to the other's, one of each pair of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratios(Vec<f64>);

impl Ratios {
    /// At least one is wanted.
    pub fn of(mut ratios: Vec<f64>) -> Ratios {
        ratios.sort_by(f64::total_cmp);
        Ratios(ratios)
    }

    pub fn median(&self) -> f64 {
        let (below, above) = ((self.0.len() - 1) / 2, self.0.len() / 2);
        (self.0[below] + self.0[above]) / 2.0
    }

    /// The lowest and the highest.
    pub fn ends(&self) -> (f64, f64) {
        (self.0[0], self.0[self.0.len() - 1])
    }

    /// Whether the median differs from 1 by at most this share.
    pub fn is_within(&self, share: f64) -> bool {
        (self.median() - 1.0).abs() <= share
    }
}

/// What a run of one tool tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    pub told: f64,
    /// CPU time of the server for each transaction, where `told` is a rate.
    pub server_cpu_us: Option<f64>,
}

impl From<f64> for Figure {
    fn from(told: f64) -> Figure {
        Figure {
            told,
            server_cpu_us: None,
        }
    }
}

impl Figure {
    /// Transactions per second, each of which took the server so long.
    pub fn per_s(per_s: f64, server_cpu_us: f64) -> Figure {
        Figure {
            told: per_s,
            server_cpu_us: Some(server_cpu_us),
        }
    }
}

/// acklab's figure, and the tool's.
pub type Pair = (Figure, Figure);

/// Ratios of pairs.
pub struct Compared {
    pub told: Ratios,
    /// Where all runs tell it.
    pub server_cpu: Option<Ratios>,
}

impl Compared {
    /// At least one pair is wanted.
    pub fn of(pairs: &[Pair]) -> Compared {
        let told = |(ours, theirs): &Pair| ours.told / theirs.told;
        let server = |(ours, theirs): &Pair| Some(ours.server_cpu_us? / theirs.server_cpu_us?);
        let server: Option<Vec<f64>> = pairs.iter().map(server).collect();
        Compared {
            told: Ratios::of(pairs.iter().map(told).collect()),
            server_cpu: server.map(Ratios::of),
        }
    }

    /// Whether the figures differ by at most this share. A higher rate for which the server works
    /// as long for each transaction is none of the server's: the other tool waits longer for
    /// itself. A lower rate is a difference whatever the server does.
    pub fn is_within(&self, share: f64) -> bool {
        let is_as_much_work = |ratios: &Ratios| ratios.is_within(share);
        self.told.is_within(share)
            || self.told.median() > 1.0 && self.server_cpu.as_ref().is_some_and(is_as_much_work)
    }
}

/// A timed run tells something only if next to nothing failed in it: sysbench does a failed
/// transaction once more, acklab goes on to the next. Of many clients that write few rows some are
/// answered with a deadlock.
///
/// # Errors
/// A breakdown if more than one transaction in a hundred did.
pub fn few_failed(tool: &str, errors: u64, transactions: u64) -> Result<()> {
    if errors * 100 <= transactions {
        return Ok(());
    }
    let status =
        format!("{errors} transactions failed, {transactions} did not: its figure is none");
    Err(breakdown(format!("time {tool}"), status))
}

/// A statement without its literals: numbers are `N`, texts `'S'` with their length, a NUL byte
/// at its end is left out; and the numbers in their order.
pub fn shape(sql: &[u8]) -> (String, Vec<i64>) {
    let sql = String::from_utf8_lossy(sql);
    let (mut shape, mut numbers) = (String::new(), Vec::new());
    let mut rest = sql.trim_end_matches('\0');
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        let bare = word.trim_matches('\'');
        match bare.parse() {
            Ok(number) => {
                numbers.push(number);
                shape.push('N');
            }
            Err(_) if first == '\'' => shape += &format!("'S{}'", bare.len()),
            Err(_) => shape += word,
        }
        rest = after;
    }
    (shape, numbers)
}

/// How well two samples fit one distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    pub distance: f64,
    pub freedom: usize,
    /// The share of pairs of samples from one distribution that differ more than these.
    pub p: f64,
}

/// Values of both samples that a bin holds at least. Hot keys have bins of their own by it.
const BIN_COUNT_MIN: usize = 20;

/// Chi-square of two samples, in bins that follow the values of both.
pub fn chi_square(ours: &[i64], theirs: &[i64]) -> Fit {
    let bins = bins(ours, theirs);
    let (n, m) = (ours.len() as f64, theirs.len() as f64);
    let part = |&(a, b): &(usize, usize)| {
        let difference = (m / n).sqrt() * a as f64 - (n / m).sqrt() * b as f64;
        difference * difference / (a + b) as f64
    };
    let distance = bins.iter().map(part).sum();
    let freedom = bins.len().saturating_sub(1);
    let p = match ChiSquared::new(freedom as f64) {
        Ok(distribution) => distribution.sf(distance),
        // One bin: all values are one.
        Err(_) => 1.0,
    };
    Fit {
        distance,
        freedom,
        p,
    }
}

fn bins(ours: &[i64], theirs: &[i64]) -> Vec<(usize, usize)> {
    let mut all: Vec<(i64, bool)> = ours.iter().map(|&value| (value, true)).collect();
    all.extend(theirs.iter().map(|&value| (value, false)));
    all.sort_unstable();
    let mut bins = vec![];
    let mut open = (0, 0);
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        let ours = same.iter().filter(|(_, is_ours)| *is_ours).count();
        open = (open.0 + ours, open.1 + same.len() - ours);
        if open.0 + open.1 >= BIN_COUNT_MIN {
            bins.push(std::mem::take(&mut open));
        }
    }
    match bins.last_mut() {
        Some(last) => *last = (last.0 + open.0, last.1 + open.1),
        None => bins.push(open),
    }
    bins
}

/// What a run of sysbench printed.
#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchRun {
    pub transactions: u64,
    pub per_s: f64,
    /// From its histogram, whose buckets are 1.8 % wide.
    pub latency_us_p50: f64,
    pub errors: u64,
}

/// Reads sysbench's report, printed with `--histogram=on`.
pub fn sysbench_run(text: &str) -> Option<SysbenchRun> {
    let numbers = |title: &str| -> Option<Vec<f64>> {
        let mut lines = text.lines().map(str::trim);
        let line = lines.find_map(|line| line.strip_prefix(title))?;
        let words = line.split(|c: char| !c.is_ascii_digit() && c != '.');
        Some(words.filter_map(|word| word.parse().ok()).collect())
    };
    let transactions = numbers("transactions:")?;
    Some(SysbenchRun {
        transactions: *transactions.first()? as u64,
        per_s: *transactions.get(1)?,
        latency_us_p50: 1e3 * median_of_histogram(text)?,
        errors: *numbers("ignored errors:")?.first()? as u64,
    })
}

/// Lines such as `0.105 |*** 1234`, from the shortest to the longest, in ms.
fn median_of_histogram(text: &str) -> Option<f64> {
    let bucket = |line: &str| -> Option<(f64, u64)> {
        let (value, bar) = line.split_once('|')?;
        let count = bar.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        Some((value.trim().parse().ok()?, count.parse().ok()?))
    };
    let buckets: Vec<(f64, u64)> = text.lines().filter_map(bucket).collect();
    let all: u64 = buckets.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    let middle = buckets.iter().find(|(_, count)| {
        below += count;
        2 * below >= all
    });
    middle.map(|(value_ms, _)| *value_ms)
}

/// Seconds and number of queries that a run of mysqlslap printed with `--csv`.
pub fn mysqlslap_seconds(text: &str) -> Option<f64> {
    let line = text.lines().rfind(|line| line.contains(','))?;
    // Engine, load, average, minimum, maximum, clients, queries per client.
    line.split(',').nth(2)?.parse().ok()
}
