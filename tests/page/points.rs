//! Whether the page's model is the program's: random places, kept records and numbers made up so
//! that each branch is met.

use std::process::Command;

use acklab::analysis::summary::WaitsFor;
use acklab::model::{
    Appliers, At, AtConnections, Coefficients, Cpus, Demand, Model, Pipeline, Several, Single,
    evaluate,
};
use acklab::record::store::Record;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::browser::{Browser, installed};
use super::{DESK, address, page, record_and_page, seen};

const POINTS: usize = 1_000;
/// What the page may be off by.
const OFF_MAX: f64 = 0.001;
const FORETELL: [&str; 2] = ["compare", "group-replication-2017"];

/// One place, and what it is evaluated with.
struct Asked {
    of: Coefficients,
    at: At,
}

struct Chance(ChaCha8Rng);

impl Chance {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0.random_range(low..high)
    }

    /// Of all ratios alike.
    fn ratio(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.0.random_range(0..count) == 0
    }

    fn maybe<T>(&mut self, it: impl FnOnce(&mut Chance) -> T) -> Option<T> {
        let is_there = !self.one_in(4);
        is_there.then(|| it(self))
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.0.random_range(0..all.len())].clone()
    }
}

/// Anything that `acklab predict` can be asked.
fn place(chance: &mut Chance, sites: &[String]) -> At {
    let mut rtts_us = Vec::new();
    let equal_us = chance.ratio(20.0, 300_000.0);
    let is_equal = chance.one_in(3);
    for (index, one) in sites.iter().enumerate() {
        for other in &sites[index + 1..] {
            let us = match (is_equal, chance.one_in(12)) {
                (true, _) => equal_us,
                (false, true) => 0.0,
                (false, false) => chance.ratio(20.0, 300_000.0),
            };
            // In either order.
            match chance.one_in(2) {
                true => rtts_us.push((other.clone(), one.clone(), us)),
                false => rtts_us.push((one.clone(), other.clone(), us)),
            }
        }
    }
    if chance.one_in(40) {
        rtts_us.pop();
    }
    At {
        rtts_us,
        flush_us: chance.maybe(|it| it.ratio(10.0, 50_000.0)),
        connections: match chance.one_in(3) {
            true => 1,
            false => chance.ratio(1.0, 400.0) as u32,
        },
        cpus: match chance.one_in(4) {
            true => Cpus::Shared(chance.ratio(1.0, 65.0) as u32),
            false => Cpus::Own(chance.ratio(1.0, 65.0) as u32),
        },
    }
}

fn demand(chance: &mut Chance) -> Demand {
    Demand {
        rest_us: chance.between(-50.0, 900.0),
        growth: chance.between(0.0, 0.05),
        fall: chance.between(0.0, 1.0),
    }
}

fn ratios(chance: &mut Chance, low: f64, high: f64) -> Vec<AtConnections> {
    let mut all = Vec::new();
    for connections in [4, 16, 64] {
        let ratio = chance.ratio(low, high);
        all.extend(chance.maybe(|_| AtConnections { connections, ratio }));
    }
    all
}

fn several(chance: &mut Chance) -> Several {
    let pipeline = |chance: &mut Chance| Pipeline {
        floor_us: chance.ratio(10.0, 500.0),
        power: match chance.one_in(3) {
            true => 0.0,
            false => chance.between(0.0, 1.0),
        },
        is_copied: chance.one_in(3),
    };
    let appliers = |chance: &mut Chance| Appliers {
        threads: 4,
        flushes: chance.between(0.0, 3.0),
        floor_us: chance.ratio(10.0, 500.0),
        together: chance.between(0.5, 4.0),
        cpu_us: chance.between(0.0, 600.0),
        hold_back: chance.one_in(2),
    };
    Several {
        writer_cpu: demand(chance),
        host_cpu: chance.maybe(demand),
        pipeline: chance.maybe(pipeline),
        appliers: chance.maybe(appliers),
        medians: ratios(chance, 0.5, 1.0),
        p99s: ratios(chance, 1.5, 9.0),
    }
}

fn made_up(chance: &mut Chance) -> Coefficients {
    let sites: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let sites = sites[..chance.pick(&[1, 2, 3, 3, 3, 4])].to_vec();
    let ways = [
        WaitsFor::Nobody,
        WaitsFor::Nearest,
        WaitsFor::Kth(2),
        WaitsFor::Farthest,
        WaitsFor::Site("c".to_owned()),
        WaitsFor::Each,
        WaitsFor::Ring,
        WaitsFor::OrderAndFarthest,
        WaitsFor::Undecided,
    ];
    let mut waits_for = vec![chance.pick(&ways)];
    while chance.one_in(2) {
        waits_for.push(chance.pick(&ways));
    }
    Coefficients {
        sites,
        single: Single {
            work_us: chance.between(-300.0, 4_000.0),
            round_trips: chance.between(0.0, 5.0),
            waits_for,
            flushes: chance.maybe(|it| it.between(0.0, 4.0)),
            flush_us: chance.ratio(10.0, 5_000.0),
            mean_ratio: chance.between(0.9, 1.6),
            tail_us: chance.maybe(|it| it.ratio(100.0, 90_000.0)),
        },
        several: chance.maybe(several),
    }
}

fn of_records(chance: &mut Chance) -> Vec<Asked> {
    let models = FORETELL.map(|name| {
        let record = Record::open(&record_and_page(name).0).expect("a record");
        Model::of(&record).expect("a record that tells")
    });
    let all = models.iter().flat_map(Model::coefficients);
    let all: Vec<Coefficients> = all.map(|(_, of)| of.clone()).collect();
    let sites: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let mut point = |_| Asked {
        of: chance.pick(&all),
        at: place(chance, &sites),
    };
    (0..POINTS).map(&mut point).collect()
}

/// What the page's own script says of these; `None` where nothing runs it.
fn by_script(all: &[Asked]) -> Option<Value> {
    let asked: Vec<Value> = all
        .iter()
        .map(|it| json!({"of": it.of, "at": it.at}))
        .collect();
    let told = "JSON.stringify(ASKED.map(function (it) {
        return model.evaluate(it.of, it.at, true);
    }))";
    let told = told.replace("ASKED", &json!(asked).to_string());
    if let Some(mut browser) = Browser::start() {
        browser.open(&address(&page("compare")), DESK, false);
        return serde_json::from_str(&browser.text(&told)).ok();
    }
    let node = installed(&["node", "nodejs"])?;
    let path = seen().join("points.js");
    let model = include_str!("../../src/report/html/model.js");
    std::fs::write(&path, format!("{model}\nconsole.log({told});\n")).expect("a file");
    let output = Command::new(node).arg(&path).output().expect("node");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).ok()
}

/// How far two answers are apart at most, as a share; what is no number must be the same.
fn apart(one: &Value, other: &Value) -> Result<f64, String> {
    let differ = || Err(format!("{one} is not {other}"));
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            let [a, b] = [a, b].map(|it| it.as_f64().unwrap_or(f64::NAN));
            let most = a.abs().max(b.abs());
            Ok(if most > 0.0 {
                (a - b).abs() / most
            } else {
                0.0
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut each = a.iter().zip(b).map(|(a, b)| apart(a, b));
            each.try_fold(0.0, |most, it| Ok(f64::max(most, it?)))
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            let mut each = a.values().zip(b.values()).map(|(a, b)| apart(a, b));
            each.try_fold(0.0, |most, it| Ok(f64::max(most, it?)))
        }
        _ if one == other => Ok(0.0),
        _ => differ(),
    }
}

#[test]
fn the_page_s_model_is_the_program_s_at_a_thousand_places() {
    let mut chance = Chance(ChaCha8Rng::seed_from_u64(15));
    let made = |chance: &mut Chance| {
        let of = made_up(chance);
        let at = place(chance, &of.sites);
        Asked { of, at }
    };
    let of_records = of_records(&mut chance);
    let made: Vec<Asked> = (0..POINTS).map(|_| made(&mut chance)).collect();
    for (name, all) in [("kept records", of_records), ("made up", made)] {
        let Some(told) = by_script(&all) else {
            return println!("skipped: neither a Chromium nor node is installed");
        };
        let told = told.as_array().expect("an answer for each");
        assert_eq!(told.len(), all.len());
        let mut most: f64 = 0.0;
        let mut foretold = 0;
        for (asked, told) in all.iter().zip(told) {
            let expected = json!(evaluate(&asked.of, &asked.at));
            let off = apart(&expected, told).unwrap_or_else(|why| {
                panic!("{why}: {} at {:?}", json!(asked.of), asked.at);
            });
            assert!(off <= OFF_MAX, "{off}: {expected} {told} {:?}", asked.at);
            most = most.max(off);
            foretold += usize::from(!expected.is_null());
        }
        println!(
            "{name}: {foretold} of {} foretold, at most {most:e} apart",
            all.len()
        );
        assert!(foretold > POINTS / 2, "{name}: {foretold}");
    }
}

#[test]
fn an_answer_that_differs_is_seen() {
    let one = json!({"p50_us": {"low": 100.0, "high": 200.0}, "limits": ["work"]});
    assert_eq!(apart(&one, &one), Ok(0.0));
    let mut other = one.clone();
    other["p50_us"]["high"] = json!(201.0);
    assert!(apart(&one, &other).is_ok_and(|off| (off - 0.005).abs() < 1e-4));
    other["limits"] = json!(["distance"]);
    assert!(apart(&one, &other).is_err());
    assert!(apart(&one, &Value::Null).is_err());
}
