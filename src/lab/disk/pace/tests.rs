use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;

use super::*;

const SEED: u64 = 11;
const SECOND: Duration = Duration::from_secs(1);

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn capped(iops: u32) -> Disk {
    Disk {
        iops: Some(iops),
        ..Disk::default()
    }
}

/// So many draws of a flush's delay, in order of size.
fn draws(flush: Delay, count: usize, seed: u64) -> Vec<Duration> {
    let disk = Disk {
        flush,
        ..Disk::default()
    };
    let mut pace = Pace::new(disk, seed);
    let mut draws: Vec<Duration> = (0..count)
        .map(|_| pace.due(SECOND, Kind::Flush, 0) - SECOND)
        .collect();
    draws.sort();
    draws
}

/// Requests done in each of some seconds by a client with so many under way, who hears of each
/// and sends the next so much late.
fn done_per_s(disk: Disk, depth: usize, late: Duration, bytes: u64) -> Vec<usize> {
    let mut pace = Pace::new(disk, SEED);
    let mut send_at: BinaryHeap<Reverse<Duration>> = (0..depth).map(|_| Reverse(us(0))).collect();
    let mut done = vec![0; 3];
    while let Some(Reverse(now)) = send_at.pop() {
        let kind = if now.subsec_micros().is_multiple_of(3) {
            Kind::Read
        } else {
            Kind::Write
        };
        let due = pace.due(now, kind, bytes);
        let Some(count) = done.get_mut(due.as_secs() as usize) else {
            break;
        };
        *count += 1;
        send_at.push(Reverse(due + late));
    }
    // In the first second the disk was idle before.
    done.split_off(1)
}

fn assert_near(got: &[usize], asked: usize) {
    let allowed = asked * 95 / 100..=asked * 105 / 100;
    assert!(got.iter().all(|got| allowed.contains(got)), "{got:?}");
}

/// Arrivals as a client without a plan makes them: bursts, even stretches, rests.
fn arrivals(count: usize, gap_us_max: u64, seed: u64) -> Vec<Duration> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut now = Duration::ZERO;
    let mut arrive = || {
        now += match chance.random_range(0..10) {
            0..4 => Duration::ZERO,
            4..9 => us(chance.random_range(0..=gap_us_max)),
            _ => us(chance.random_range(0..=20 * gap_us_max)),
        };
        now
    };
    (0..count).map(|_| arrive()).collect()
}

/// Most of an amount that fell into any one second.
fn most_in_a_second(done: &[(Duration, u64)]) -> u64 {
    let mut most = 0;
    let mut sum = 0;
    let mut first = 0;
    for (due, amount) in done {
        sum += amount;
        while done[first].0 + SECOND <= *due {
            sum -= done[first].1;
            first += 1;
        }
        most = most.max(sum);
    }
    most
}

proptest! {
    #[test]
    fn a_disk_of_which_nothing_is_asked_is_done_at_once(
        now_ns in 0..u64::MAX / 2, bytes in any::<u64>(), kind in 0..3,
    ) {
        let kind = [Kind::Read, Kind::Write, Kind::Flush][kind as usize];
        let now = Duration::from_nanos(now_ns);
        let mut pace = Pace::new(Disk::default(), SEED);
        prop_assert_eq!(pace.due(now, kind, bytes), now);
        prop_assert_eq!(pace.due(now, kind, bytes), now);
    }

    #[test]
    fn nothing_is_done_before_it_comes(
        seed in any::<u64>(),
        iops in proptest::option::of(1..100_000_u32),
        bandwidth_bytes_per_s in proptest::option::of(1..1_000_000_000_u64),
        median_us in 0..10_000_u64, p99_us in 0..100_000_u64, write_cache in any::<bool>(),
    ) {
        let (median, p99) = (us(median_us), us(p99_us));
        let write = Delay::LogNormal { median, p99 };
        let read = Delay::Uniform { low: median, high: p99 };
        let flush = Delay::Constant(median);
        let disk = Disk { read, write, flush, iops, bandwidth_bytes_per_s, write_cache };
        let mut pace = Pace::new(disk, seed);
        for (at, now) in arrivals(60, 1_000, seed).into_iter().enumerate() {
            let kind = [Kind::Read, Kind::Write, Kind::Flush][at % 3];
            prop_assert!(pace.due(now, kind, 4096) >= now);
        }
    }

    #[test]
    fn no_second_has_more_requests_than_the_cap(
        iops in 1..5_000_u32, gap_us in 1..2_000_u64, seed in any::<u64>(),
    ) {
        let mut pace = Pace::new(capped(iops), SEED);
        let arrivals = arrivals(4 * iops as usize, gap_us, seed);
        let done = arrivals.into_iter().enumerate().map(|(at, now)| {
            let kind = if at % 3 == 0 { Kind::Read } else { Kind::Write };
            (pace.due(now, kind, 4096), 1)
        });
        let done: Vec<(Duration, u64)> = done.collect();
        // One more fits at the ends of the second.
        let most = most_in_a_second(&done);
        prop_assert!(most <= u64::from(iops) * 105 / 100 + 1, "{} in a second", most);
    }

    #[test]
    fn no_second_has_more_bytes_than_the_cap(
        rate in 100_000..100_000_000_u64, gap_us in 1..2_000_u64, seed in any::<u64>(),
    ) {
        let disk = Disk { bandwidth_bytes_per_s: Some(rate), ..Disk::default() };
        let mut pace = Pace::new(disk, SEED);
        let done = arrivals(2_000, gap_us, seed).into_iter().enumerate().map(|(at, now)| {
            let bytes = 512 * (1 + at as u64 % 64);
            let kind = if at % 3 == 0 { Kind::Read } else { Kind::Write };
            (pace.due(now, kind, bytes), bytes)
        });
        let done: Vec<(Duration, u64)> = done.collect();
        let most = most_in_a_second(&done);
        // A request is done with its last byte: of the first, some passed before.
        prop_assert!(most <= rate + 64 * 512, "{} in a second", most);
    }
}

#[test]
fn the_iops_cap_is_reached_and_held_at_any_depth() {
    for depth in [1, 2, 8, 32] {
        assert_near(&done_per_s(capped(3_000), depth, us(0), 4096), 3_000);
        let delayed = Disk {
            read: Delay::Constant(us(200)),
            write: Delay::Uniform {
                low: us(100),
                high: us(300),
            },
            ..capped(3_000)
        };
        assert_near(&done_per_s(delayed, depth, us(20), 4096), 3_000);
    }
}

#[test]
fn a_client_that_hears_late_still_reaches_the_cap() {
    // At 8,000 a second slots are 125 µs apart: waits of 120 µs and answers 30 µs late.
    let disk = Disk {
        write: Delay::Constant(us(120)),
        read: Delay::Constant(us(120)),
        ..capped(8_000)
    };
    assert_near(&done_per_s(disk, 2, us(30), 4096), 8_000);
    // A pause of 1 ms in every 16 slots is made up for, too.
    let mut pace = Pace::new(capped(8_000), SEED);
    let mut now = us(0);
    let mut done = 0;
    while now < SECOND {
        now = pace.due(now, Kind::Write, 4096);
        done += 1;
        now += if done % 16 == 0 { us(1_000) } else { us(0) };
    }
    assert_near(&[done], 8_000);
}

#[test]
fn slots_are_even_and_after_a_rest_only_a_short_burst_is_free() {
    let mut pace = Pace::new(capped(1_000), SEED);
    let mut take = |now| pace.due(now, Kind::Write, 4096);
    let times: Vec<Duration> = (0..4).map(|_| take(us(0))).collect();
    assert_eq!(times, [us(0), us(1_000), us(2_000), us(3_000)]);
    let times: Vec<Duration> = (0..9).map(|_| take(SECOND)).collect();
    let free = times.iter().filter(|due| **due == SECOND).count();
    // Those of the last 5 ms, and the present one.
    assert_eq!(free, 6);
    assert_eq!(times[6..], [1, 2, 3].map(|ms| SECOND + us(ms * 1_000)));
}

#[test]
fn the_bandwidth_cap_is_reached_and_held_at_any_depth() {
    let disk = Disk {
        bandwidth_bytes_per_s: Some(100 << 20),
        ..Disk::default()
    };
    for depth in [1, 8] {
        assert_near(&done_per_s(disk, depth, us(0), 16 << 10), 6_400);
    }
}

#[test]
fn bytes_share_one_pipe() {
    let disk = Disk {
        bandwidth_bytes_per_s: Some(1_000_000),
        read: Delay::Constant(us(500)),
        ..Disk::default()
    };
    let mut pace = Pace::new(disk, SEED);
    assert_eq!(pace.due(us(0), Kind::Write, 1_000), us(1_000));
    assert_eq!(pace.due(us(0), Kind::Read, 2_000), us(3_500));
    assert_eq!(pace.due(us(100), Kind::Write, 1_000), us(4_000));
    assert_eq!(pace.due(us(9_000), Kind::Write, 1_000), us(10_000));
}

#[test]
fn the_smaller_of_two_caps_holds() {
    let disk = |iops, bytes_per_s| Disk {
        iops: Some(iops),
        bandwidth_bytes_per_s: Some(bytes_per_s),
        ..Disk::default()
    };
    let block = 4096;
    assert_near(
        &done_per_s(disk(1_000, 8_000 * block), 8, us(0), block),
        1_000,
    );
    assert_near(
        &done_per_s(disk(8_000, 1_000 * block), 8, us(0), block),
        1_000,
    );
}

#[test]
fn delays_of_requests_under_way_together_overlap() {
    let disk = Disk {
        write: Delay::Constant(us(800)),
        flush: Delay::Constant(us(2_000)),
        ..Disk::default()
    };
    let mut pace = Pace::new(disk, SEED);
    for now in [0, 0, 0, 1, 2, 3] {
        assert_eq!(pace.due(us(now), Kind::Write, 4096), us(now + 800));
        assert_eq!(pace.due(us(now), Kind::Flush, 0), us(now + 2_000));
    }
}

#[test]
fn flushes_take_no_slot_and_no_bandwidth() {
    let disk = Disk {
        bandwidth_bytes_per_s: Some(1_000_000),
        flush: Delay::Constant(us(70)),
        ..capped(10)
    };
    let mut pace = Pace::new(disk, SEED);
    for _ in 0..100 {
        assert_eq!(pace.due(us(0), Kind::Flush, 1 << 30), us(70));
    }
    assert_eq!(pace.due(us(0), Kind::Write, 1_000), us(1_000));
    assert_eq!(pace.due(us(0), Kind::Flush, 0), us(70));
}

#[test]
fn without_a_write_cache_a_flush_costs_nothing() {
    let disk = Disk {
        flush: Delay::Constant(us(5_000)),
        write: Delay::Constant(us(100)),
        write_cache: false,
        ..Disk::default()
    };
    let mut pace = Pace::new(disk, SEED);
    assert_eq!(pace.due(us(7), Kind::Flush, 0), us(7));
    assert_eq!(pace.due(us(7), Kind::Write, 4096), us(107));
}

#[test]
fn another_setting_holds_from_the_next_request_on_an_idle_disk() {
    let mut pace = Pace::new(capped(1), SEED);
    let times = [0, 1, 2].map(|_| pace.due(us(0), Kind::Write, 4096));
    assert_eq!(times, [0, 1, 2].map(Duration::from_secs));
    let write = Delay::Constant(us(50));
    pace.set(Disk {
        write,
        ..capped(1_000)
    });
    assert_eq!(pace.due(us(10), Kind::Write, 4096), us(60));
    assert_eq!(pace.due(us(10), Kind::Write, 4096), us(1_050));
}

#[test]
fn log_normal_delays_have_the_median_and_p99_asked() {
    for (median, p99) in [
        (us(1_000), us(4_000)),
        (us(80), us(10_000)),
        (us(500), us(501)),
    ] {
        let draws = draws(Delay::LogNormal { median, p99 }, 20_000, SEED);
        let ratio = |at: usize, asked: Duration| draws[at].as_secs_f64() / asked.as_secs_f64();
        // The standard error of the widest one's median is 1.8 %, and of its p99 5.6 %.
        assert!((ratio(10_000, median) - 1.0).abs() < 0.05, "{median:?}");
        assert!((ratio(19_800, p99) - 1.0).abs() < 0.12, "{p99:?}");
    }
}

#[test]
fn a_log_normal_delay_without_a_spread_is_constant() {
    for (median, p99) in [(us(9), us(9)), (us(9), us(3)), (us(0), us(9))] {
        let draws = draws(Delay::LogNormal { median, p99 }, 100, SEED);
        assert!(draws.iter().all(|draw| *draw == median));
    }
}

#[test]
fn uniform_delays_fill_their_range() {
    let (low, high) = (us(100), us(300));
    let draws = draws(Delay::Uniform { low, high }, 20_000, SEED);
    assert!(low <= draws[0] && draws[0] < us(101));
    assert!(us(299) < draws[19_999] && draws[19_999] <= high);
    let quarter = |at: usize| draws[at * 5_000].as_micros();
    assert!((148..152).contains(&quarter(1)) && (248..252).contains(&quarter(3)));
}

#[test]
fn draws_repeat_with_their_seed() {
    let (median, p99) = (us(100), us(900));
    for delay in [
        Delay::LogNormal { median, p99 },
        Delay::Uniform {
            low: median,
            high: p99,
        },
    ] {
        assert_eq!(draws(delay, 100, 1), draws(delay, 100, 1));
        assert_ne!(draws(delay, 100, 1), draws(delay, 100, 2));
    }
}

#[test]
fn reads_do_not_change_what_flushes_draw() {
    let delay = Delay::Uniform {
        low: us(0),
        high: SECOND,
    };
    let disk = Disk {
        read: delay,
        write: delay,
        flush: delay,
        ..Disk::default()
    };
    let flushes = |reads: usize| {
        let mut pace = Pace::new(disk, SEED);
        let mut flush = || {
            for _ in 0..reads {
                pace.due(us(0), Kind::Read, 512);
            }
            pace.due(us(0), Kind::Flush, 0)
        };
        [flush(), flush(), flush()]
    };
    assert_eq!(flushes(0), flushes(5));
    let mut pace = Pace::new(disk, SEED);
    let [read, write, flush] =
        [Kind::Read, Kind::Write, Kind::Flush].map(|kind| pace.due(us(0), kind, 512));
    assert!(read != write && write != flush && flush != read);
}
