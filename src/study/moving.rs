//! The study that finds what limits another: each of its points, and the same point once more for
//! each thing that can be moved there. docs/method/limits.md says what is made of it.

mod here;

use super::mode::{Family, ModeSpec};
use super::movable::{PLACE, mistakes};
use super::sweep::Sweep;
use super::{Study, limits, written};
use crate::error::{Error, Mistake, Result};
pub use here::CpuParts;
use here::{Here, more};

/// The study that finds what limits this one. Each cell that is moved comes after the one that it
/// is moved from, with none but others of it between them. What comes after a load is left out, and
/// so are faults and an article's question.
///
/// # Errors
/// All that it cannot be asked of: what is offered, mysqlslap's loads, appliers that rest,
/// somebody else's servers, rounds that end by themselves; or that it would be too long.
pub fn limits(study: &Study, parts: CpuParts) -> Result<Study> {
    let mistakes = mistakes(study);
    if !mistakes.is_empty() {
        return Err(Error::Mistakes(mistakes));
    }
    let copies = study.modes.iter().map(|spec| more_appliers(study, spec));
    let copies: Vec<Option<ModeSpec>> = copies.collect();
    let mut sweeps = Vec::new();
    for point in study.sweeps.iter().flat_map(|sweep| points(study, sweep)) {
        let moved = Here::of(study, &point, &copies, parts).map(|here| here.moved());
        sweeps.push(point);
        sweeps.extend(moved.unwrap_or_default());
    }
    check_count(sweeps.len())?;
    let is_measured = |spec: &ModeSpec| {
        let mut all = sweeps.iter();
        all.any(|sweep: &Sweep| sweep.modes.contains(&spec.label))
    };
    let copies = copies.into_iter().flatten().filter(is_measured);
    // Each cell is held against its own point, and none against another mode.
    let alone = |spec: &ModeSpec| ModeSpec {
        baseline: None,
        ..spec.clone()
    };
    let modes = study.modes.iter().map(alone).chain(copies).collect();
    let whole = Study {
        title: format!("{}: its limits", study.title),
        article: None,
        injections: vec![],
        quick: None,
        modes,
        sweeps,
        ..study.clone()
    };
    let is_ok = written::check_length(&whole);
    is_ok.map_err(|advice| Mistake::new(PLACE, "", "", &advice))?;
    Ok(whole)
}

fn check_count(cells: usize) -> Result<()> {
    let most = limits::CELLS_OF_LIMITS;
    if cells <= most {
        return Ok(());
    }
    let allowed = format!(
        "at most {most}, the moved ones included: fewer modes, workloads, connections, distances, \
         disks or client sites"
    );
    Err(Mistake::new(PLACE, "", &format!("{cells} cells"), &allowed).into())
}

/// Every point of a sweep, as a sweep of its own.
fn points(study: &Study, sweep: &Sweep) -> Vec<Sweep> {
    let modes = study.modes.iter().map(|spec| &spec.label);
    let modes = modes.filter(|label| sweep.has_mode(label));
    let whole = Sweep {
        modes: modes.cloned().collect(),
        watch_after: None,
        ..sweep.clone()
    };
    let mut all = vec![whole];
    all = split(all, |point| &mut point.workloads);
    all = split(all, |point| &mut point.connections);
    all = split(all, |point| &mut point.paces);
    all = split(all, |point| &mut point.client_sites);
    all = split(all, |point| &mut point.distances);
    all = split(all, |point| &mut point.disks);
    all = split(all, |point| &mut point.cpu_speeds);
    all = split(all, |point| &mut point.schemas);
    split(all, |point| &mut point.modes)
}

/// Each of them once for each of its values on an axis; as it is where it has none.
fn split<T>(points: Vec<Sweep>, axis: fn(&mut Sweep) -> &mut Vec<T>) -> Vec<Sweep> {
    let of_point = |mut point: Sweep| -> Vec<Sweep> {
        let values = std::mem::take(axis(&mut point));
        if values.is_empty() {
            return vec![point];
        }
        let with = |value: T| {
            let mut one = point.clone();
            *axis(&mut one) = vec![value];
            one
        };
        values.into_iter().map(with).collect()
    };
    points.into_iter().flat_map(of_point).collect()
}

/// The mode with more appliers, in a row of its own, where there are any at work. A variant's
/// variables are among its own, so that servers formed with them are the same.
fn more_appliers(study: &Study, spec: &ModeSpec) -> Option<ModeSpec> {
    // Elsewhere no commit waits for an applier.
    let has_appliers = matches!(spec.mode.family(), Family::Group | Family::Galera);
    let appliers = more(spec.appliers);
    let is_allowed = limits::APPLIERS.holds(appliers.into());
    (has_appliers && spec.nodes > 1 && is_allowed).then(|| ModeSpec {
        label: free_label(study, &format!("{}, {appliers} appliers", spec.label)),
        appliers,
        baseline: None,
        varied: None,
        ..spec.clone()
    })
}

/// The label, with a number if some mode has it.
fn free_label(study: &Study, label: &str) -> String {
    let is_free = |label: &String| study.modes.iter().all(|spec| spec.label != *label);
    let numbered = (2..).map(|number| format!("{label} ({number})"));
    let mut all = std::iter::once(label.to_owned()).chain(numbered);
    all.find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::here::times;
    use super::*;
    use crate::study::disk::{Delay, Disk};
    use crate::study::moved::Thing;
    use crate::study::sweep::CpuSpeed;
    use crate::study::written::sample;
    use crate::study::{Apply, Mode, Workload};

    const TEXT: &str = r#"
disk = { flush = "0.5ms", iops = 3000 }

[[mode]]
server = "mysql"
mode = "single"

[[mode]]
server = "mysql"
mode = "group"

[[sweep]]
workload = "update_index"
connections = 2
rtt = "2.15ms"
"#;

    /// The text with another line in the sweep.
    fn with(line: &str) -> Study {
        sample(&format!("{TEXT}{line}\n"))
    }

    fn turned(study: &Study) -> Study {
        limits(study, CpuParts::Shared).unwrap()
    }

    fn changed(mut study: Study, change: impl FnOnce(&mut Study)) -> Study {
        change(&mut study);
        study
    }

    /// What follows the first point of that mode, up to the next that is not moved.
    fn moved<'s>(study: &'s Study, label: &str) -> Vec<&'s Sweep> {
        let mut all = study.sweeps.iter();
        let is_base = |sweep: &&Sweep| sweep.moved.is_none() && sweep.modes == [label];
        all.find(is_base).expect("the point itself");
        all.take_while(|sweep| sweep.moved.is_some()).collect()
    }

    fn words(study: &Study, label: &str) -> String {
        let moved = moved(study, label);
        let words = moved.iter().filter_map(|sweep| sweep.moved);
        let words: Vec<&str> = words.map(|moved| moved.thing.word()).collect();
        words.join(" ")
    }

    /// The one sweep in which that thing of the second mode is moved.
    fn one(study: &Study, thing: Thing) -> &Sweep {
        let is_it = |sweep: &&Sweep| sweep.moved.is_some_and(|moved| moved.thing == thing);
        let mut all = moved(study, "mysql group").into_iter();
        all.find(is_it).expect("it is moved")
    }

    #[test]
    fn each_thing_is_moved_where_it_can_be_and_nowhere_else() {
        let study = turned(&sample(TEXT));
        let single = "flush iops shared-cpu schemas connections";
        assert_eq!(words(&study, "mysql single"), single);
        let group = "distance flush iops shared-cpu appliers schemas connections";
        assert_eq!(words(&study, "mysql group"), group);
        let here = changed(sample(TEXT), |study| {
            study.sweeps[0].distances[0].pairs.clear();
        });
        assert!(!words(&turned(&here), "mysql group").contains("distance"));
        let far = turned(&with("client = \"b\""));
        assert!(words(&far, "mysql single").starts_with("distance flush"));
        let paced = turned(&with("pace = \"10ms\""));
        let rests = one(&paced, Thing::Pace).paces[0];
        assert_eq!(rests, Duration::from_micros(12_500));
        let reads = changed(sample(TEXT), |study| {
            let load = crate::study::SysbenchLoad::PointSelect;
            study.sweeps[0].workloads = vec![Workload::sysbench(load)];
        });
        let moved = words(&turned(&reads), "mysql group");
        assert!(!moved.contains("appliers") && !moved.contains("schemas"));
        let alone = turned(&changed(sample(TEXT), |study| {
            study.sweeps[0].connections = vec![1];
        }));
        assert!(!words(&alone, "mysql single").contains("schemas"));
        let named = changed(sample(TEXT), |study| {
            study.sweeps[0].workloads = vec![Workload::Custom {
                name: "own".to_owned(),
                setup: vec!["CREATE TABLE `acklab`.t (id INT)".to_owned()],
                transactions: vec![],
                prepared: true,
            }];
        });
        assert!(!words(&turned(&named), "mysql group").contains("schemas"));
    }

    #[test]
    fn links_have_a_rate_to_move_where_one_is_given_and_sites_are_apart() {
        let mut study = sample(TEXT);
        study.network.rate_bits_per_s = Some(100_000_000);
        let turned = turned(&study);
        assert!(!words(&turned, "mysql single").contains("link-rate"));
        let moved = one(&turned, Thing::LinkRate);
        assert_eq!(moved.distances[0].rate_bits_per_s, Some(80_000_000));
        assert_eq!(moved.distances[0].label, "2.15 ms, rate × 0.8");
    }

    #[test]
    fn cpus_are_moved_by_the_parts_that_have_their_own() {
        let none = limits(&sample(TEXT), CpuParts::None).unwrap();
        assert!(!words(&none, "mysql single").contains("cpu"));
        let slowest = changed(sample(TEXT), |study| {
            study.sweeps[0].cpu_speeds = vec![CpuSpeed::of_all(0.05)];
        });
        assert!(!words(&turned(&slowest), "mysql single").contains("cpu"));
        let cpus = |parts, label| {
            let study = limits(&sample(TEXT), parts).unwrap();
            let words = words(&study, label);
            let cpus = words.split(' ').filter(|word| word.ends_with("cpu"));
            cpus.map(str::to_owned).collect::<Vec<String>>()
        };
        let (single, group) = ("mysql single", "mysql group");
        assert_eq!(cpus(CpuParts::Writer, group), ["writer-cpu", "rest-cpu"]);
        assert_eq!(cpus(CpuParts::All, single), ["writer-cpu", "rest-cpu"]);
        assert_eq!(
            cpus(CpuParts::All, group),
            ["writer-cpu", "replicas-cpu", "rest-cpu"]
        );
        let slowed = |parts, thing| {
            let study = limits(&sample(TEXT), parts).unwrap();
            let speed = &one(&study, thing).cpu_speeds[0];
            [speed.writer, speed.replicas, speed.rest]
        };
        let shared = slowed(CpuParts::Shared, Thing::SharedCpu);
        assert_eq!(shared, [0.8, 0.8, 0.8]);
        let rest = slowed(CpuParts::Writer, Thing::RestCpu);
        assert_eq!(rest, [1.0, 0.8, 0.8], "replicas are among them");
        assert_eq!(slowed(CpuParts::All, Thing::RestCpu), [1.0, 1.0, 0.8]);
        let writer = slowed(CpuParts::All, Thing::WriterCpu);
        assert_eq!(writer, [0.8, 1.0, 1.0]);
    }

    #[test]
    fn times_are_a_quarter_longer_and_capacities_a_fifth_less() {
        let study = turned(&sample(TEXT));
        let far = &one(&study, Thing::Distance).distances[0];
        let rtt = Duration::from_nanos(2_687_500);
        assert!(far.pairs.iter().all(|(_, _, own)| *own == rtt), "{far:?}");
        assert_eq!(far.label, "2.15 ms × 1.25");
        let slow = &one(&study, Thing::Flush).disks[0];
        let flush = Delay::Constant(Duration::from_micros(625));
        assert_eq!((slow.all.flush, slow.all.iops), (flush, Some(3_000)));
        assert!(slow.label.ends_with(", flush × 1.25"), "{}", slow.label);
        assert_eq!(one(&study, Thing::Iops).disks[0].all.iops, Some(2_400));
        let speeds = moved(&study, "mysql group");
        let speeds = speeds.iter().filter_map(|sweep| sweep.moved);
        assert!(
            speeds
                .clone()
                .all(|one| (one.speed < 1.0) == one.thing.scales())
        );
        assert!(
            speeds
                .filter(|one| one.thing.scales())
                .all(|one| one.speed == 0.8)
        );
    }

    #[test]
    fn drawn_times_are_moved_with_both_their_figures_and_in_all_sites() {
        let mut study = sample(TEXT);
        let ms = Duration::from_millis;
        let drawn = Delay::LogNormal {
            median: ms(4),
            p99: ms(8),
        };
        let disks = &mut study.sweeps[0].disks[0];
        let even = Delay::Uniform {
            low: ms(0),
            high: ms(4),
        };
        let of_b = Disk {
            flush: drawn,
            read: even,
            ..disks.all
        };
        disks.by_site.insert("b".to_owned(), of_b);
        let turned = turned(&study);
        let flush = one(&turned, Thing::Flush).disks[0].of("b").flush;
        let expected = Delay::LogNormal {
            median: ms(5),
            p99: ms(10),
        };
        assert_eq!(flush, expected);
        let read = one(&turned, Thing::Read).disks[0].of("b").read;
        let expected = Delay::Uniform {
            low: ms(0),
            high: ms(5),
        };
        assert_eq!(read, expected);
        // The single server stands in a, where nothing is added to a read.
        assert!(!words(&turned, "mysql single").contains("read"));
    }

    #[test]
    fn there_is_more_of_appliers_schemas_and_connections() {
        let study = turned(&sample(TEXT));
        let (own, copy) = (&study.modes[1], &study.modes[2]);
        assert_eq!(study.modes.len(), 3, "a single server has no appliers");
        assert_eq!(copy.appliers, more(own.appliers));
        assert_eq!(
            copy.label,
            format!("mysql group, {} appliers", copy.appliers)
        );
        assert_eq!((&copy.baseline, copy.mode), (&None, own.mode));
        let appliers = one(&study, Thing::Appliers);
        assert_eq!(appliers.modes, std::slice::from_ref(&copy.label));
        let speed = appliers.moved.unwrap().speed;
        assert_eq!(speed, times(own.appliers, copy.appliers));
        assert_eq!(one(&study, Thing::Schemas).schemas, [2]);
        assert_eq!(one(&study, Thing::Connections).connections, [3]);
        assert_eq!([1, 2, 4, 5, 16].map(more), [2, 3, 5, 7, 20]);
        let used = study.sweeps.iter().filter(|s| s.modes == appliers.modes);
        assert_eq!(used.count(), 1, "with no other point");
    }

    #[test]
    fn what_would_be_beyond_a_limit_is_not_moved() {
        let mut study = sample(TEXT);
        for (_, _, rtt) in &mut study.sweeps[0].distances[0].pairs {
            *rtt = limits::RTT.high;
        }
        study.sweeps[0].disks[0].all.iops = Some(limits::IOPS.low as u32);
        study.modes[1].appliers = limits::APPLIERS.high as u32;
        study.sweeps[0].connections = vec![limits::CONNECTIONS.high as u32];
        let turned = turned(&study);
        assert_eq!(words(&turned, "mysql group"), "flush shared-cpu schemas");
        assert_eq!(turned.modes.len(), 2);
    }

    #[test]
    fn the_points_stay_and_what_follows_the_load_is_left_out() {
        let two = "connections = [1, 8]\nclient = [\"a\", \"b\"]";
        let mut study = sample(&TEXT.replace("connections = 2", two));
        study.injections = vec![crate::study::faults::Injection {
            fault: crate::study::faults::Fault::default(),
            trials: 1,
            modes: vec![],
        }];
        study.article = Some("clouds-2015".to_owned());
        study.sweeps[0].watch_after = Some(Duration::from_secs(9));
        let turned = turned(&study);
        let kept = turned.sweeps.iter().filter(|sweep| sweep.moved.is_none());
        assert_eq!(kept.count(), 2 * 2 * 2);
        assert!(turned.injections.is_empty() && turned.article.is_none());
        let watched = turned.sweeps.iter().any(|s| s.watch_after.is_some());
        assert!(!watched);
        let alone = turned.modes[..2].iter().zip(&study.modes);
        for (turned, asked) in alone {
            assert_eq!((&turned.label, &turned.baseline), (&asked.label, &None));
        }
    }

    #[test]
    fn what_throughput_does_not_tell_of_is_a_mistake() {
        type Change = fn(&mut Study);
        let said = |change: Change| {
            let study = changed(sample(TEXT), change);
            let refused = limits(&study, CpuParts::Shared).unwrap_err();
            refused.to_string()
        };
        let cases: [(Change, &str); 4] = [
            (
                |study| study.sweeps[0].rates_per_s = vec![500],
                "rate: given 500/s",
            ),
            (
                |study| {
                    let p99 = Duration::from_millis(20);
                    study.sweeps[0].knee = Some(crate::study::Knee { p99 });
                },
                "knee: given 20 ms",
            ),
            (
                |study| {
                    let load = crate::study::MysqlslapLoad::Key;
                    study.sweeps[0].workloads = vec![Workload::mysqlslap(load)];
                },
                "workload: given mysqlslap key",
            ),
            (|study| study.modes[0].mode = Mode::Endpoint, "mode: given"),
        ];
        let deletes = said(|study| {
            let load = crate::study::SysbenchLoad::Delete;
            study.sweeps[0].workloads = vec![Workload::sysbench(load)];
        });
        assert!(deletes.contains("workload: given delete"), "{deletes}");
        for (change, key) in cases {
            let said = said(change);
            assert!(said.contains(key), "{key}: {said}");
            assert!(said.contains("closed loops only"), "{said}");
        }
        let after = said(|study| study.sweeps[0].apply = Apply::After);
        assert!(after.contains("apply: given after"), "{after}");
        let until = said(|study| study.until = Some(0.05));
        assert!(until.contains("--until: given 5%"), "{until}");
        let many = said(|study| study.sweeps[0].connections = (1..=200).collect());
        assert!(many.contains("at most 2000"), "{many}");
    }
}
