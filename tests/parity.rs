//! The judging of the parity bench fires where it should. The bench itself is
//! `cargo bench --bench parity`.

#[path = "../benches/parity/judge.rs"]
#[allow(dead_code)]
mod judge;

use judge::{
    Compared, Figure, Ratios, chi_square, few_failed, mysqlslap_seconds, shape, sysbench_run,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

#[test]
fn the_median_ratio_decides() {
    let ratios = Ratios::of(vec![1.5, 1.02, 0.7]);
    assert_eq!((ratios.median(), ratios.ends()), (1.02, (0.7, 1.5)));
    assert!(ratios.is_within(0.1));
    assert!(!Ratios::of(vec![1.5, 1.11, 1.0]).is_within(0.1));
    assert!(!Ratios::of(vec![0.5, 0.89, 1.0]).is_within(0.1));
    assert_eq!(Ratios::of(vec![1.0, 2.0]).median(), 1.5);
}

#[test]
fn a_higher_rate_for_as_much_of_the_servers_work_is_no_difference() {
    let is_within = |pair| Compared::of(&[pair]).is_within(0.1);
    let theirs = Figure::per_s(340.0, 800.0);
    assert!(is_within((Figure::per_s(400.0, 790.0), theirs)));
    assert!(!is_within((Figure::per_s(400.0, 700.0), theirs)), "less");
    assert!(!is_within((Figure::per_s(400.0, 900.0), theirs)), "more");
    assert!(!is_within((Figure::per_s(300.0, 800.0), theirs)), "slower");
    assert!(!is_within((400.0.into(), theirs)), "not all tell it");
    assert!(is_within((370.0.into(), 340.0.into())));
}

#[test]
fn a_run_in_which_much_failed_is_no_run() {
    assert!(few_failed("acklab", 0, 0).is_ok());
    assert!(few_failed("acklab", 2, 200).is_ok());
    let error = few_failed("sysbench", 2, 199).unwrap_err();
    assert_eq!(error.exit_code(), 4);
    let text = error.to_string();
    assert!(text.contains("time sysbench: 2 transactions"), "{text}");
}

#[test]
fn literals_are_taken_out_of_statements() {
    let (same, numbers) = shape(b"UPDATE sbtest1 SET k=k+1 WHERE id=5021");
    assert_eq!(same, "UPDATE sbtest1 SET k=k+N WHERE id=N");
    assert_eq!(numbers, [1, 5021]);
    let (same, numbers) = shape(b"INSERT INTO t1 VALUES (NULL,17,'a9Z')\0");
    assert_eq!(same, "INSERT INTO t1 VALUES (NULL,N,'S3')");
    assert_eq!(numbers, [17]);
    let (key, numbers) = shape(b"SELECT intcol1,charcol1 FROM t1 WHERE id =  '42'");
    assert_eq!(key, "SELECT intcol1,charcol1 FROM t1 WHERE id =  N");
    assert_eq!(numbers, [42]);
    assert_ne!(shape(b"SELECT 'ab'").0, shape(b"SELECT 'abc'").0);
    assert_eq!(shape(b"SELECT 'open").0, "SELECT 'S4'");
}

/// Half of the draws are one of ten hot keys.
fn keys(seed: u64, hot_share: u32) -> Vec<i64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = |limit: u32| i64::from(random.next_u32() % limit);
    let key = |_| match draw(100) < i64::from(hot_share) {
        true => 5_000 + draw(10),
        false => draw(10_000),
    };
    (0..5_000).map(key).collect()
}

#[test]
fn samples_of_one_distribution_fit_and_others_do_not() {
    let fit = chi_square(&keys(1, 50), &keys(2, 50));
    assert!(fit.p > 0.001 && fit.freedom > 100, "{fit:?}");
    let longer = [keys(3, 50), keys(4, 50)].concat();
    assert!(chi_square(&keys(1, 50), &longer).p > 0.001);
    assert!(chi_square(&keys(1, 50), &keys(2, 20)).p < 1e-9);
    let constant = chi_square(&[7; 50], &[7; 90]);
    assert_eq!((constant.freedom, constant.p), (0, 1.0));
    assert!(chi_square(&[7; 50], &[8; 90]).p < 1e-9);
}

#[test]
fn the_tools_reports_are_read() {
    let text = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.104 |***                                      3
       0.106 |****************************************  40
       2.000 |                                         1

SQL statistics:
    transactions:                        44     (22.01 per sec.)
    queries:                             44     (22.01 per sec.)
    ignored errors:                      2      (0.00 per sec.)
";
    let run = sysbench_run(text).unwrap();
    assert_eq!((run.transactions, run.per_s, run.errors), (44, 22.01, 2));
    assert!((run.latency_us_p50 - 106.0).abs() < 1e-9);
    assert_eq!(sysbench_run("FATAL: unable to connect"), None);
    assert_eq!(
        mysqlslap_seconds(",mixed,1.234,1.234,1.234,2,50\n"),
        Some(1.234)
    );
    assert_eq!(mysqlslap_seconds("Error when connecting"), None);
}
