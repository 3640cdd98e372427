//! What a volume counts.

use serde::{Deserialize, Serialize};

/// A reply sent later than this after its due time is *late*.
pub const LATE_BOUND_US: u64 = 300;

/// All that a volume has answered since it was opened. What upkeep (making a file system, checking
/// it) asks of the disk is not in it.
///
/// A head's flush counts once, from its arrival until enough copies have it. At a copy the requests
/// are its head's: writes received, blocks it was caught up with among them, and flushes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeCounters {
    /// Reads answered with data. The kernel merges and splits requests: these are what came down.
    pub reads: u64,
    /// Writes answered as done.
    pub writes: u64,
    /// Flushes of the write cache answered as done.
    pub flushes: u64,
    /// Of the reads.
    pub bytes_read: u64,
    /// Of the writes.
    pub bytes_written: u64,
    /// Time from each flush's arrival to its answer, summed. Flushes do not overlap.
    pub flush_ns_sum: u64,
    /// Requests answered with an error, which a disk does only when its power is cut, when it is
    /// told to fail, or when the host's own storage failed.
    pub failed_requests: u64,
    /// Requests answered by the timer, at a time of their own.
    pub timed_replies: u64,
    /// Of these, replies sent more than [`LATE_BOUND_US`] after their due time.
    pub late_replies: u64,
    /// Largest lateness since the previous reading of the counters.
    pub lateness_us_max: u64,
    /// Sum over all timed replies; one sent early counts as 0.
    pub lateness_ns_sum: u64,
    /// CPU time of the volume's process.
    pub cpu_ns: u64,
    /// Time in which the device that its file system stands on had a request under way; `None`
    /// where nothing is mounted, and over a span in which the device became another.
    #[serde(default)]
    pub busy_ms: Option<u64>,
}

impl VolumeCounters {
    /// What was added since an earlier reading of the same volume.
    pub fn since(&self, earlier: &VolumeCounters) -> VolumeCounters {
        let busy = self.busy_ms.zip(earlier.busy_ms);
        VolumeCounters {
            busy_ms: busy.and_then(|(now, then)| now.checked_sub(then)),
            ..self.combined(earlier, |now, then| now - then)
        }
    }

    /// Adds what another stretch of the same volume counted.
    pub fn add(&mut self, stretch: &VolumeCounters) {
        let busy = self.busy_ms.zip(stretch.busy_ms);
        *self = VolumeCounters {
            busy_ms: busy.map(|(own, other)| own + other),
            ..self.combined(stretch, |own, other| own + other)
        };
    }

    /// Mean time of a flush, in µs; none if there was none.
    pub fn flush_us_mean(&self) -> Option<f64> {
        (self.flushes > 0).then(|| self.flush_ns_sum as f64 / 1e3 / self.flushes as f64)
    }

    /// Every counter combined with its counterpart, the time busy left out; the largest lateness
    /// stays.
    fn combined(&self, other: &VolumeCounters, by: fn(u64, u64) -> u64) -> VolumeCounters {
        VolumeCounters {
            reads: by(self.reads, other.reads),
            writes: by(self.writes, other.writes),
            flushes: by(self.flushes, other.flushes),
            bytes_read: by(self.bytes_read, other.bytes_read),
            bytes_written: by(self.bytes_written, other.bytes_written),
            flush_ns_sum: by(self.flush_ns_sum, other.flush_ns_sum),
            failed_requests: by(self.failed_requests, other.failed_requests),
            timed_replies: by(self.timed_replies, other.timed_replies),
            late_replies: by(self.late_replies, other.late_replies),
            lateness_us_max: self.lateness_us_max,
            lateness_ns_sum: by(self.lateness_ns_sum, other.lateness_ns_sum),
            cpu_ns: by(self.cpu_ns, other.cpu_ns),
            busy_ms: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every counter different, so that none can stand in for another.
    fn counters(factor: u64) -> VolumeCounters {
        VolumeCounters {
            reads: factor,
            writes: 2 * factor,
            flushes: 3 * factor,
            bytes_read: 4 * factor,
            bytes_written: 5 * factor,
            flush_ns_sum: 6_000 * factor,
            failed_requests: 7 * factor,
            timed_replies: 8 * factor,
            late_replies: 9 * factor,
            lateness_us_max: 10,
            lateness_ns_sum: 11 * factor,
            cpu_ns: 12 * factor,
            busy_ms: Some(13 * factor),
        }
    }

    #[test]
    fn since_is_the_difference_and_a_stretch_is_added() {
        let added = counters(5).since(&counters(2));
        assert_eq!(added, counters(3));
        let mut begin = counters(2);
        begin.add(&added);
        assert_eq!(begin, counters(5));
    }

    #[test]
    fn a_device_that_became_another_was_busy_for_an_unknown_time() {
        let later = VolumeCounters {
            busy_ms: Some(1),
            ..counters(5)
        };
        assert_eq!(later.since(&counters(2)).busy_ms, None);
    }

    #[test]
    fn a_mean_needs_a_flush() {
        assert_eq!(counters(2).flush_us_mean(), Some(2.0));
        assert_eq!(VolumeCounters::default().flush_us_mean(), None);
    }
}
