//! A screening design whose effects are known.

use super::{Example, Truth, Waits, equal, spec};
use crate::record::store::Record;
use crate::study::screen::{Design, Factor, Screen, letter};
use crate::study::{Mode, ModeSpec, Variables, Varied};

/// What each variable does to throughput, whatever the others are.
pub const ALONE: [f64; 5] = [2.0, 3.0, 1.0, 1.0, 1.5];
/// What a and b do together, over the product of what each does alone.
pub const TOGETHER: f64 = 0.25;

fn factors() -> Vec<Factor> {
    let factor = |(name, low, high): (&str, &str, &str)| Factor {
        name: name.into(),
        low: low.into(),
        high: high.into(),
    };
    let all = [
        ("innodb_flush_log_at_trx_commit", "1", "2"),
        ("sync_binlog", "1", "0"),
        ("innodb_autoinc_lock_mode", "1", "2"),
        ("innodb_doublewrite", "ON", "OFF"),
        ("innodb_buffer_pool_size", "16M", "64M"),
    ];
    all.map(factor).to_vec()
}

/// One run as a mode, and how fast it is.
fn run(base: &ModeSpec, factors: &[Factor], design: &Design, run: u32) -> Truth {
    let is_high = |factor: &usize| design.is_high(run, *factor);
    let high: Vec<usize> = (0..factors.len()).filter(is_high).collect();
    let level = |(index, factor): (usize, &Factor)| {
        let value = if is_high(&index) {
            &factor.high
        } else {
            &factor.low
        };
        (factor.name.clone(), value.clone())
    };
    let changed: Variables = factors.iter().enumerate().map(level).collect();
    let letters: String = high.iter().map(|factor| letter(*factor)).collect();
    let times: f64 = high.iter().map(|factor| ALONE[*factor]).product();
    let together = if is_high(&0) && is_high(&1) {
        TOGETHER
    } else {
        1.0
    };
    Truth {
        spec: ModeSpec {
            label: format!("{} screen {letters}", base.label),
            baseline: Some(base.label.clone()),
            variables: changed.clone(),
            varied: Some(Varied {
                of: base.label.clone(),
                changed,
            }),
            ..base.clone()
        },
        work_us: 4_000.0 / times / together,
        waits: Waits::Nearest,
        round_trips: 0.0,
        flushes: [0.0; 3],
        hidden: 0.0,
    }
}

/// A record of that many runs of five variables, and of the mode that is varied.
pub fn screened(runs: u32) -> Record {
    let (factors, design) = (factors(), Design::of_runs(5, runs).unwrap());
    let base = spec("mariadb single", Mode::Single, 1, None);
    let runs: Vec<Truth> = (0..runs)
        .map(|number| run(&base, &factors, &design, number))
        .collect();
    let screen = Screen {
        of: base.label.clone(),
        factors,
        design,
        runs: runs.iter().map(|truth| truth.spec.label.clone()).collect(),
    };
    let mut truths = vec![Truth {
        spec: base,
        work_us: 4_000.0,
        waits: Waits::Nearest,
        round_trips: 0.0,
        flushes: [0.0; 3],
        hidden: 0.0,
    }];
    truths.extend(runs);
    let example = Example {
        truths,
        distances: vec![equal(0.25)],
        ..Example::default()
    };
    let mut record = example.record();
    record.header.study.screens = vec![screen];
    let header = &record.header;
    for measurement in &mut record.measurements {
        let mode = header.cells[measurement.cell].mode;
        measurement.in_force = header.study.modes[mode].variables.clone();
    }
    record
}
