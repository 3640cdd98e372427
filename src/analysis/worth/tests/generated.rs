//! Ten thousand made-up trials with one anomaly each: exactly that is found, and nothing else.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::made::{Made, Setting};
use super::planted::Planted;

#[test]
fn each_of_ten_thousand_planted_anomalies_is_found_and_nothing_else() {
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
}
