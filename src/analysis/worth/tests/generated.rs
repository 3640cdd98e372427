//! Ten thousand made-up trials with one anomaly each: exactly that is found, and nothing else.

use nix::sys::resource::{UsageWho, getrusage};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::made::{Made, Setting};
use super::planted::Planted;

/// CPU time that ten thousand may take.
const CPU_MAX_S: i64 = 60;

fn cpu_s() -> i64 {
    let used = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    used.user_time().tv_sec() + used.system_time().tv_sec()
}

#[test]
fn each_of_ten_thousand_planted_anomalies_is_found_and_nothing_else() {
    let before_s = cpu_s();
    let mut counts = [0_usize; Planted::ALL.len()];
    for seed in 0..10_000 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let setting = Setting::ALL[random.random_range(0..Setting::ALL.len())];
        let fitting = (0..Planted::ALL.len()).filter(|at| Planted::ALL[*at].fits(setting));
        let fitting: Vec<usize> = fitting.collect();
        let at = fitting[random.random_range(0..fitting.len())];
        let planted = Planted::ALL[at];
        let mut made = Made::legal(setting, &mut random);
        planted.plant(&mut made);
        let judged = made.judged();
        let what = format!("seed {seed}: {planted:?} in {setting:?}");
        assert_eq!(judged.counts, made.counts, "{what}: {:?}", judged.promise);
        assert_eq!(judged.doubts, made.doubts, "{what}");
        assert_eq!(judged.verdict, made.verdict, "{what}: {:?}", judged.promise);
        counts[at] += 1;
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    let took_s = cpu_s() - before_s;
    assert!(took_s <= CPU_MAX_S, "{took_s} s");
}
