//! Is the first limit of a study named where it is known, because it was planted?
//!
//! Each plant begins with a study in which the thing hardly matters. What that carries, and what a
//! commit takes of the thing there, tells how to set it: alone it would let through a third of
//! that, or two thirds. Then it is by far, or just, the first limit.

use super::probe::{Parts, Telling};
use crate::analysis;
use crate::analysis::summary::{CellSummary, FirstLimit, Summary};
use crate::error::Result;
use crate::record::self_test::Check;
use crate::study::Thing;

/// A planted limit lets through so many times less than all else does; so many of them may remain
/// without a name then.
const FACTORS: [(f64, usize); 2] = [(3.0, 0), (1.5, 1)];
/// In short this one alone.
const QUICK: &str = "round trips";
/// Of the study without a plant, which only tells its size, and with it.
const ROUNDS: [u32; 2] = [2, 6];
/// What can be asked for; what would be less cannot be planted.
const SPEED_LEAST: f64 = 0.05;
const IOPS_LEAST: f64 = 10.0;
/// Of the hot row.
const CONNECTIONS: f64 = 8.0;

/// Something to be planted.
struct Plant {
    name: &'static str,
    /// What is to be named.
    thing: Thing,
    /// The study's lines up to its sweep.
    head: &'static str,
    /// The sweep's lines, given those that plant it or do without.
    sweep: fn(&str) -> String,
    without: &'static str,
    /// Given what was measured without, and how many times less is to get through.
    with: fn(&CellSummary, f64) -> Option<String>,
}

const SINGLE: &str = "[[mode]]\nserver = \"mysql\"\nmode = \"single\"\n";
const SEMISYNC: &str =
    "sites = [\"a\", \"b\"]\n[[mode]]\nserver = \"mysql\"\nmode = \"semisync\"\n";
/// Rows that few transactions want at once.
const SUMS: &str = "setup = [\"CREATE TABLE sums (id INT PRIMARY KEY, n INT NOT NULL)\", \
                    \"INSERT INTO sums WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 \
                    FROM n WHERE i < 1000) SELECT i, 0 FROM n\"]\n";

const PLANTS: [Plant; 8] = [
    Plant {
        name: "round trips",
        thing: Thing::Distance,
        head: SEMISYNC,
        sweep: |given| format!("workload = \"write_only\"\n{given}"),
        without: "rtt = \"0.1ms\"\n",
        with: |cell, factor| Some(format!("rtt = \"{}\"\n", ms(factor * took_s(cell)?))),
    },
    Plant {
        name: "link rate",
        thing: Thing::LinkRate,
        head: SEMISYNC,
        sweep: |given| format!("workload = \"write_only\"\nconnections = 8\n{given}"),
        without: "rtt = \"20ms\"\n",
        with: |cell, factor| {
            let bytes_per_s = per_s(cell)? * cell.bytes_per_commit.replication? / factor;
            Some(format!(
                "[[sweep.distances]]\nab = \"20ms\"\nrate = \"{bytes_per_s:.0}B/s\"\n"
            ))
        },
    },
    Plant {
        name: "flush time",
        thing: Thing::Flush,
        head: SINGLE,
        sweep: |given| format!("workload = \"write_only\"\nrtt = \"0.1ms\"\n{given}"),
        without: "flush = \"0ms\"\n",
        with: |cell, factor| {
            let each_s = factor * took_s(cell)? / cell.flushes_per_commit.writer?;
            Some(format!("flush = \"{}\"\n", ms(each_s)))
        },
    },
    Plant {
        name: "IOPS",
        thing: Thing::Iops,
        head: SINGLE,
        sweep: |given| {
            format!("workload = \"write_only\"\nconnections = 8\nrtt = \"0.1ms\"\n{given}")
        },
        without: "flush = \"1ms\"\n",
        with: |cell, factor| {
            let reads = cell.reads_per_commit.writer.unwrap_or_default();
            let iops = per_s(cell)? * (reads + cell.writes_per_commit.writer?) / factor;
            (iops >= IOPS_LEAST)
                .then(|| format!("[[sweep.disk]]\nflush = \"1ms\"\niops = {iops:.0}\n"))
        },
    },
    Plant {
        name: "CPU of the writer",
        thing: Thing::WriterCpu,
        head: "cpus = \"writer\"\n[[mode]]\nserver = \"mysql\"\nmode = \"single\"\n",
        // What it says is little and what it does is much, or links and driver would be the limit.
        sweep: |given| {
            format!(
                "workload = \"hashes\"\nconnections = 8\nrtt = \"0.1ms\"\nflush = \"0ms\"\n{given}\
                 [workload.hashes]\ntool = \"custom\"\n{SUMS}\
                 [[workload.hashes.transaction]]\nname = \"hash\"\nstatement = [\
                 {{ sql = \"SELECT BENCHMARK(4000, SHA2('acklab', 512))\" }}, \
                 {{ sql = \"UPDATE sums SET n = n + 1 WHERE id = ?\", \
                 parameters = [{{ type = \"integer\", max = 1000 }}] }}]\n"
            )
        },
        without: "",
        with: |cell, factor| {
            let used = per_s(cell)? * cell.cpu_us_per_commit.writer? / 1e6;
            let speed = (used / factor).min(1.0);
            (speed >= SPEED_LEAST).then(|| format!("cpu_speed = {{ writer = {speed:.3} }}\n"))
        },
    },
    Plant {
        name: "one applier",
        thing: Thing::Appliers,
        head: "sites = [\"a\", \"b\"]\n[[mode]]\nserver = \"mariadb\"\nmode = \"galera\"\n\
               appliers = 1\nbinary_log = false\n",
        sweep: |given| {
            format!("workload = \"write_only\"\nconnections = 8\nrtt = \"8ms\"\n{given}")
        },
        without: "flush = \"0ms\"\n",
        with: |cell, factor| {
            let each_s = factor / per_s(cell)? / cell.flushes_per_commit.replica?;
            Some(format!(
                "[[sweep.disk]]\nb = {{ flush = \"{}\" }}\n",
                ms(each_s)
            ))
        },
    },
    Plant {
        name: "hot row",
        thing: Thing::Schemas,
        head: SINGLE,
        // Each keeps its row for a while, as an application does that thinks before it commits.
        sweep: |given| {
            format!(
                "workload = \"kept\"\nconnections = 8\nrtt = \"0.1ms\"\nflush = \"0ms\"\n\
                 [workload.kept]\ntool = \"custom\"\n{SUMS}\
                 [[workload.kept.transaction]]\nname = \"keep\"\nstatement = [{given}, \
                 {{ sql = \"DO SLEEP(0.01)\" }}]\n"
            )
        },
        without: "{ sql = \"UPDATE sums SET n = n + 1 WHERE id = ?\", \
                  parameters = [{ type = \"integer\", max = 1000 }] }",
        with: |cell, factor| {
            // A transaction does nothing but keep its row there. With one row one goes at a time:
            // each takes its time before that, so that so many are on their way.
            let kept_s = took_s(cell)? * CONNECTIONS;
            let before_s = kept_s * (CONNECTIONS / factor - 1.0);
            (before_s > 0.0).then(|| {
                format!(
                    "{{ sql = \"DO SLEEP({before_s:.4})\" }}, \
                 {{ sql = \"UPDATE sums SET n = n + 1 WHERE id = 1\" }}"
                )
            })
        },
    },
    Plant {
        name: "driver",
        thing: Thing::Pace,
        head: SINGLE,
        sweep: |given| {
            format!("workload = \"write_only\"\nrtt = \"0.1ms\"\nflush = \"0ms\"\n{given}")
        },
        without: "",
        with: |cell, factor| Some(format!("pace = \"{}\"\n", ms(factor * took_s(cell)?))),
    },
];

/// Transactions each second.
fn per_s(cell: &CellSummary) -> Option<f64> {
    cell.throughput_per_s.map(|rate| rate.median)
}

/// Seconds from one transaction's end to that of the next one, whose ever it is.
fn took_s(cell: &CellSummary) -> Option<f64> {
    per_s(cell).map(f64::recip)
}

fn ms(seconds: f64) -> String {
    format!("{:.3}ms", seconds * 1e3)
}

fn study(plant: &Plant, given: &str, rounds: u32) -> String {
    let (head, sweep) = (plant.head, (plant.sweep)(given));
    format!(
        "name = \"self-test\"\ntitle = \"one limit, planted\"\nseed = 17\nrounds = {rounds}\n\
         warmup = \"0.3s\"\nmeasure = \"1.5s\"\n{head}[[sweep]]\n{sweep}"
    )
}

/// What came of a plant.
struct Seen {
    plant: &'static Plant,
    factor: f64,
    /// `None`: it could not be planted.
    first: Option<FirstLimit>,
}

impl Seen {
    fn is_named(&self) -> bool {
        self.named() == [self.plant.thing]
    }

    /// "One or the other" is wrong if it is neither.
    fn is_wrong(&self) -> bool {
        let named = self.named();
        !named.is_empty() && !named.contains(&self.plant.thing)
    }

    /// All that may be it: "one or the other" names two.
    fn named(&self) -> Vec<Thing> {
        match self.first {
            Some(FirstLimit::Appliers { .. }) => vec![Thing::Appliers],
            Some(FirstLimit::Rows) => vec![Thing::Schemas],
            Some(FirstLimit::One { thing }) => vec![thing],
            Some(FirstLimit::Alike { larger, other }) => vec![larger, other],
            Some(FirstLimit::NothingMoved | FirstLimit::Undecided) | None => vec![],
        }
    }

    fn told(&self) -> String {
        let named: Vec<&str> = self.named().into_iter().map(Thing::word).collect();
        let named = match named.is_empty() {
            true => "nothing".to_owned(),
            false => named.join(" or "),
        };
        format!("{} {}: {named}", self.plant.name, times(self.factor))
    }
}

fn times(factor: f64) -> String {
    format!("{factor}-fold")
}

/// Plants each, and looks for what is named.
pub fn run(parts: &mut Parts, tell: &mut Telling, is_quick: bool) -> Result<Vec<Check>> {
    let is_run = |plant: &&Plant| !is_quick || plant.name == QUICK;
    let factors = if is_quick {
        &FACTORS[..1]
    } else {
        &FACTORS[..]
    };
    let mut seen = Vec::new();
    for plant in PLANTS.iter().filter(is_run) {
        seen.extend(seen_of(plant, parts, factors)?);
    }
    let named = factors.iter().map(|factor| all_named(&seen, *factor));
    let checks: Vec<Check> = named.chain([none_wrong(&seen)]).collect();
    checks.iter().for_each(tell);
    Ok(checks)
}

fn seen_of(
    plant: &'static Plant,
    parts: &mut Parts,
    factors: &[(f64, usize)],
) -> Result<Vec<Seen>> {
    let slug = plant.name.replace(' ', "-");
    let without = study(plant, plant.without, ROUNDS[0]);
    let record = (parts.run_study)(&format!("self-test-limits-{slug}"), &without)?;
    let size = analysis::summarise(&record);
    let mut seen = Vec::new();
    for (factor, _) in factors {
        let first = match size
            .cells
            .first()
            .and_then(|cell| (plant.with)(cell, *factor))
        {
            Some(given) => {
                let name = format!("self-test-limits-{slug}-{}", times(*factor));
                let text = study(plant, &given, ROUNDS[1]);
                first_limit(&analysis::summarise(&(parts.run_limits)(&name, &text)?))
            }
            None => None,
        };
        seen.push(Seen {
            plant,
            factor: *factor,
            first,
        });
    }
    Ok(seen)
}

fn first_limit(summary: &Summary) -> Option<FirstLimit> {
    summary.limits.first().map(|limits| limits.first_limit)
}

fn all_named(seen: &[Seen], (factor, unnamed_most): (f64, usize)) -> Check {
    let all: Vec<&Seen> = seen.iter().filter(|one| one.factor == factor).collect();
    let named = all.iter().filter(|one| one.is_named()).count();
    let least = all.len().saturating_sub(unnamed_most);
    let others = all.iter().filter(|one| !one.is_named());
    Check {
        what: format!("limits that were planted {}", times(factor)),
        must_hold: format!("at least {least} of {} are named", all.len()),
        reached: format!("{named} of {}{}", all.len(), listed(others.copied())),
        holds: named >= least && named > 0,
    }
}

fn none_wrong(seen: &[Seen]) -> Check {
    let wrong = || seen.iter().filter(|one| one.is_wrong());
    Check {
        what: "limits that were not planted".to_owned(),
        must_hold: "none is named".to_owned(),
        reached: format!("{} of {}{}", wrong().count(), seen.len(), listed(wrong())),
        holds: wrong().count() == 0 && !seen.is_empty(),
    }
}

fn listed<'s>(seen: impl Iterator<Item = &'s Seen>) -> String {
    let told: Vec<String> = seen.map(Seen::told).collect();
    match told.is_empty() {
        true => String::new(),
        false => format!(" ({})", told.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::{ByRole, CpuPerCommit, Estimate, Traffic};
    use crate::study::moving::{self, CpuParts};
    use crate::study::written::sample;

    /// A cell of 500 transactions a second.
    fn cell() -> CellSummary {
        let each = ByRole {
            writer: Some(3.0),
            replica: Some(1.0),
        };
        CellSummary {
            throughput_per_s: Some(Estimate {
                median: 500.0,
                low: None,
                high: None,
            }),
            bytes_per_commit: Traffic {
                replication: Some(1_500.0),
                ..Traffic::default()
            },
            cpu_us_per_commit: CpuPerCommit {
                writer: Some(900.0),
                ..CpuPerCommit::default()
            },
            flushes_per_commit: each,
            writes_per_commit: each,
            ..CellSummary::default()
        }
    }

    fn first(named: Thing) -> FirstLimit {
        match named {
            Thing::Appliers => FirstLimit::Appliers { appliers: 1 },
            Thing::Schemas => FirstLimit::Rows,
            thing => FirstLimit::One { thing },
        }
    }

    /// All plants, named by what `name` says.
    fn seen(name: impl Fn(&Plant, f64) -> Option<FirstLimit>) -> Vec<Seen> {
        let of = |plant: &'static Plant| {
            FACTORS.map(|(factor, _)| Seen {
                plant,
                factor,
                first: name(plant, factor),
            })
        };
        PLANTS.iter().flat_map(of).collect()
    }

    #[test]
    fn studies_are_without_mistakes_and_the_planted_thing_can_be_moved() {
        for plant in &PLANTS {
            let without = sample(&study(plant, plant.without, ROUNDS[0]));
            assert_eq!((without.modes.len(), without.sweeps.len()), (1, 1));
            for (factor, _) in FACTORS {
                let given = (plant.with)(&cell(), factor).expect(plant.name);
                let planted = sample(&study(plant, &given, ROUNDS[1]));
                let parts = match plant.thing {
                    Thing::WriterCpu => CpuParts::Writer,
                    _ => CpuParts::Shared,
                };
                let limits = moving::limits(&planted, parts).unwrap();
                let mut moved = limits.sweeps.iter().filter_map(|sweep| sweep.moved);
                assert!(moved.any(|one| one.thing == plant.thing), "{}", plant.name);
            }
        }
        assert!(PLANTS.iter().any(|plant| plant.name == QUICK));
    }

    #[test]
    fn a_limit_is_planted_as_large_as_it_is_to_be() {
        let with = |name: &str| {
            let mut all = PLANTS.iter();
            let plant = all.find(|plant| plant.name == name).expect("a plant");
            (plant.with)(&cell(), 3.0).unwrap()
        };
        // 2 ms for each of 500/s; a third of them is to get through.
        assert!(with("round trips").contains("rtt = \"6.000ms\""));
        assert!(with("link rate").contains("rate = \"250000B/s\""));
        assert!(
            with("flush time").contains("flush = \"2.000ms\""),
            "three each"
        );
        assert!(with("IOPS").contains("iops = 500"), "three each");
        assert!(with("CPU of the writer").contains("writer = 0.150"));
        assert!(with("one applier").contains("flush = \"6.000ms\""));
        // Eight connections at 500/s take 16 ms each.
        let before = format!("SLEEP({:.4})", 0.016 * (8.0 / 3.0 - 1.0));
        assert!(with("hot row").contains(&before), "{before}");
        assert!(with("driver").contains("pace = \"6.000ms\""));
    }

    #[test]
    fn all_must_be_named_but_one_that_is_just_a_limit_and_none_wrongly() {
        let holds = |seen: &[Seen]| {
            let named = FACTORS.map(|factor| all_named(seen, factor).holds);
            (named, none_wrong(seen).holds)
        };
        let right = |plant: &Plant| Some(first(plant.thing));
        assert_eq!(holds(&seen(|plant, _| right(plant))), ([true, true], true));
        let but_one = |factor: f64, instead: Option<FirstLimit>| {
            seen(move |plant, planted| match plant.name {
                "IOPS" if planted == factor => instead,
                _ => right(plant),
            })
        };
        let none = Some(FirstLimit::NothingMoved);
        assert_eq!(holds(&but_one(1.5, none)), ([true, true], true));
        assert_eq!(holds(&but_one(3.0, none)), ([false, true], true));
        assert_eq!(holds(&but_one(3.0, None)), ([false, true], true));
        let wrong = but_one(1.5, Some(first(Thing::Flush)));
        assert_eq!(holds(&wrong), ([true, true], false));
        let told = none_wrong(&wrong).reached;
        assert_eq!(told, "1 of 16 (IOPS 1.5-fold: flush)");
        // One of two is not named; that it is one of them is not wrong, and neither is.
        let either = |larger, other| Some(FirstLimit::Alike { larger, other });
        let it = but_one(3.0, either(Thing::Iops, Thing::Flush));
        assert_eq!(holds(&it), ([false, true], true));
        let neither = but_one(1.5, either(Thing::Flush, Thing::Distance));
        assert_eq!(holds(&neither), ([true, true], false));
        let told = none_wrong(&neither).reached;
        assert_eq!(told, "1 of 16 (IOPS 1.5-fold: flush or distance)");
        let two = seen(|plant, planted| match plant.name {
            "IOPS" | "driver" if planted == 1.5 => None,
            _ => right(plant),
        });
        assert_eq!(holds(&two), ([true, false], true));
    }
}
