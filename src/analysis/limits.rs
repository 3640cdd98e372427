//! What stops a mode from committing more: what becomes of throughput when one thing is moved, held
//! round by round against the cell that it is moved from. See docs/method/limits.md.

use std::collections::BTreeMap;

use super::interval::{Noise, Risk, estimate};
use super::summary::{
    CellSummary, CpuUser, Estimate, FirstLimit, Limits, MovedThing, Point, SettingUnit,
};
use crate::record::Role;
use crate::study::{CpuSpeed, Delay, Disk, Moved, Thing};

/// Appliers or rows are the limit from this elasticity on,
const OF_LAYOUT: f64 = 0.25;
/// if the lower end of its interval lies above this.
const OF_LAYOUT_LOW: f64 = 0.1;
/// More appliers have servers of their own: two labs may differ by less than this.
const GAIN_LOW: f64 = 1.05;
/// CPUs that are not slower by this at least tell nothing.
const SLOWED_MOST: f64 = 0.95;
/// A time or a capacity is one from this on.
const OF_SPEED: f64 = 0.2;
/// From this elasticity of connections on more of them would carry more.
const OF_CONNECTIONS: f64 = 0.5;

/// Of each cell that others are moved from, in the order of these cells, which is the study's.
pub fn of(cells: &[CellSummary], risk: Risk) -> Vec<Limits> {
    let mut points: Vec<(&CellSummary, Vec<&CellSummary>)> = Vec::new();
    for cell in cells {
        if cell.moved.is_none() {
            points.push((cell, vec![]));
        } else if let Some((_, moved)) = points.last_mut() {
            moved.push(cell);
        }
    }
    points.retain(|(_, moved)| !moved.is_empty());
    let all = points.into_iter();
    all.map(|(base, moved)| limits(base, &moved, risk))
        .collect()
}

fn limits(base: &CellSummary, moved: &[&CellSummary], risk: Risk) -> Limits {
    let held = moved.iter().filter_map(|cell| Held::of(base, cell));
    let held: Vec<Held> = held.collect();
    let moved: Vec<MovedThing> = held.iter().map(|one| one.told(base, risk)).collect();
    let connections = moved.iter().find(|one| one.thing == Thing::Connections);
    let (connections, sum) = (connections.and_then(ends), sum(&held, risk));
    Limits {
        id: base.id.clone(),
        label: base.label.clone(),
        workload: base.workload.clone(),
        connections: base.connections,
        client_site: base.client_site.clone(),
        distances: base.distances.clone(),
        disks: base.disks.clone(),
        per: base.per,
        throughput_per_s: base.throughput_per_s,
        sum,
        first_limit: first_limit(&moved, sum),
        more_connections: connections
            .is_some_and(|(median, low, _)| median >= OF_CONNECTIONS && low > 0.0),
        moved,
    }
}

/// A cell in which something is moved, and what its throughput is over that of the cell it is moved
/// from, in each round that both have.
struct Held<'a> {
    cell: &'a CellSummary,
    moved: Moved,
    /// How far it was moved: of CPUs what was got.
    speed: f64,
    ratios: BTreeMap<u32, f64>,
}

impl<'a> Held<'a> {
    fn of(base: &CellSummary, cell: &'a CellSummary) -> Option<Held<'a>> {
        let of_round = |(round, own): (&u32, &f64)| {
            let base = base.by_round.throughput_per_s.get(round)?;
            Some((*round, own / base))
        };
        let all = cell.by_round.throughput_per_s.iter();
        let mut ratios: BTreeMap<u32, f64> = all.filter_map(of_round).collect();
        let moved = cell.moved?;
        let got = speed_got(base, cell, moved.thing);
        // Of no throughput at all there is no logarithm.
        let is_told = ratios.values().all(|ratio| ratio.is_normal());
        if !is_told || got.is_some_and(|got| !(0.0..SLOWED_MOST).contains(&got)) {
            ratios.clear();
        }
        Some(Held {
            cell,
            moved,
            speed: got.unwrap_or(moved.speed),
            ratios,
        })
    }

    fn elasticities(&self) -> BTreeMap<u32, f64> {
        let scale = self.speed.ln();
        let all = self.ratios.iter();
        all.map(|(round, ratio)| (*round, ratio.ln() / scale))
            .collect()
    }

    fn told(&self, base: &CellSummary, risk: Risk) -> MovedThing {
        let Moved { thing, speed } = self.moved;
        let ratios = self.ratios.values().copied();
        let (from, to, unit) = setting(&base.point, &self.cell.point, self.moved);
        MovedThing {
            id: self.cell.id.clone(),
            thing,
            speed,
            from,
            to,
            unit,
            throughput_per_s: self.cell.throughput_per_s,
            ratio: over(ratios, Noise::Multiplies, risk),
            elasticity: over(self.elasticities().into_values(), Noise::Adds, risk),
            used_by: used_by(base, self.cell, thing),
        }
    }
}

/// How much slower CPUs really were; `None` of what is no CPU, and where nobody looked.
fn speed_got(base: &CellSummary, cell: &CellSummary, thing: Thing) -> Option<f64> {
    let part = |speed: CpuSpeed| match thing {
        Thing::WriterCpu | Thing::SharedCpu => Some(speed.writer),
        Thing::ReplicasCpu => Some(speed.replicas),
        Thing::RestCpu => Some(speed.rest),
        _ => None,
    };
    let own = part(cell.cpu_speed_got?)?;
    Some(own / base.cpu_speed_got.map_or(Some(1.0), part)?)
}

fn over(values: impl Iterator<Item = f64>, noise: Noise, risk: Risk) -> Option<Estimate> {
    let values: Vec<f64> = values.collect();
    estimate(&values, noise, risk)
}

/// Of all times and capacities in each round that has them all: what the cell they are moved from
/// strayed by is in each of them.
fn sum(held: &[Held], risk: Risk) -> Option<Estimate> {
    let scaling = held.iter().filter(|one| one.moved.thing.scales());
    let all: Vec<BTreeMap<u32, f64>> = scaling.map(Held::elasticities).collect();
    let (first, others) = all.split_first()?;
    let of_round = |(round, own): (&u32, &f64)| {
        let mut others = others.iter();
        others.try_fold(*own, |sum, other| Some(sum + other.get(round)?))
    };
    over(first.iter().filter_map(of_round), Noise::Adds, risk)
}

/// How the load is laid out comes first: where transactions wait for an applier or for each other
/// they wait through whatever time that takes, so that a time would be named in its place. So none
/// is, as long as these have no interval.
fn first_limit(moved: &[MovedThing], sum: Option<Estimate>) -> FirstLimit {
    let of = |thing: Thing| moved.iter().find(|one| one.thing == thing);
    if let Some(appliers) = of(Thing::Appliers).filter(|one| is_of_layout(one)) {
        let appliers = appliers.from as u32;
        return FirstLimit::Appliers { appliers };
    }
    if of(Thing::Schemas).is_some_and(is_of_layout) {
        return FirstLimit::Rows;
    }
    let mut layout = [Thing::Appliers, Thing::Schemas].into_iter().filter_map(of);
    match layout.any(|one| ends(one).is_none()) {
        true => FirstLimit::Undecided,
        false => of_speeds(moved, sum),
    }
}

fn is_of_layout(one: &MovedThing) -> bool {
    let gains = one.ratio.and_then(|ratio| ratio.low) >= Some(GAIN_LOW);
    gains && ends(one).is_some_and(|(median, low, _)| median >= OF_LAYOUT && low > OF_LAYOUT_LOW)
}

/// The median of its elasticity, and the ends of its interval.
fn ends(one: &MovedThing) -> Option<(f64, f64, f64)> {
    let of = one.elasticity?;
    Some((of.median, of.low?, of.high?))
}

/// The time or capacity with the largest elasticity, and with it the one that may have more all the
/// same.
fn of_speeds(moved: &[MovedThing], sum: Option<Estimate>) -> FirstLimit {
    let scaling: Vec<&MovedThing> = moved.iter().filter(|one| one.thing.scales()).collect();
    let mut told: Vec<(Thing, f64, f64, f64)> = (scaling.iter())
        .filter_map(|one| ends(one).map(|(median, low, high)| (one.thing, median, low, high)))
        .collect();
    told.sort_by(|(_, one, ..), (_, other, ..)| other.total_cmp(one));
    let Some(&(larger, median, low, _)) = told.first() else {
        return FirstLimit::Undecided;
    };
    // All come to 1, or a little more: so much is left for those without an interval.
    let left = Limits::SUM_MAX - told.iter().map(|(_, median, ..)| median).sum::<f64>();
    if told.len() < scaling.len() && left >= low {
        return FirstLimit::Undecided;
    }
    // More lies in what was not moved than in any of what was.
    if sum
        .and_then(|sum| sum.high)
        .is_some_and(|high| 1.0 - high > median)
    {
        return FirstLimit::NothingMoved;
    }
    if low <= 0.0 || median < OF_SPEED {
        return match told.iter().any(|(.., high)| *high > OF_SPEED) {
            true => FirstLimit::Undecided,
            false => FirstLimit::NothingMoved,
        };
    }
    let others = told[1..].iter().filter(|(.., high)| *high >= low);
    match others.max_by(|(.., one), (.., other)| one.total_cmp(other)) {
        Some(&(other, ..)) => FirstLimit::Alike { larger, other },
        None => FirstLimit::One { thing: larger },
    }
}

/// What a thing was, and what it is where it is moved. Of values that are not all alike it is told
/// how many times as large they are.
fn setting(base: &Point, cell: &Point, moved: Moved) -> (f64, f64, SettingUnit) {
    let Moved { thing, speed } = moved;
    let to = value(cell, thing);
    // Where the distances give no rate it is the network's.
    let of_network = to.filter(|_| thing == Thing::LinkRate);
    let from = value(base, thing).or(of_network.map(|to| to / speed));
    match (from, to) {
        (Some(from), Some(to)) => (from, to, unit(thing)),
        _ if thing.is_time() => (1.0, 1.0 / speed, SettingUnit::Times),
        _ => (1.0, speed, SettingUnit::Times),
    }
}

fn unit(thing: Thing) -> SettingUnit {
    match thing {
        Thing::Distance | Thing::Read | Thing::Write | Thing::Flush | Thing::Pace => {
            SettingUnit::Us
        }
        Thing::LinkRate => SettingUnit::BitsPerS,
        Thing::Iops => SettingUnit::PerS,
        Thing::Bandwidth => SettingUnit::BytesPerS,
        Thing::WriterCpu | Thing::ReplicasCpu | Thing::RestCpu | Thing::SharedCpu => {
            SettingUnit::Share
        }
        Thing::Appliers | Thing::Schemas | Thing::Connections => SettingUnit::Count,
    }
}

/// The one value that a thing has at a point; `None` where it has several, or none.
fn value(point: &Point, thing: Thing) -> Option<f64> {
    let speed = &point.cpu_speed;
    match thing {
        Thing::Distance => rtt_us(point),
        Thing::LinkRate => point.distances.rate_bits_per_s.map(|rate| rate as f64),
        Thing::Read => delay_us(point, |disk| disk.read),
        Thing::Write => delay_us(point, |disk| disk.write),
        Thing::Flush => delay_us(point, |disk| disk.flush),
        Thing::Pace => point.pace.map(|pace| pace.as_secs_f64() * 1e6),
        Thing::Iops => alike(point, |disk| disk.iops)?.map(f64::from),
        Thing::Bandwidth => {
            alike(point, |disk| disk.bandwidth_bytes_per_s)?.map(|bytes| bytes as f64)
        }
        Thing::WriterCpu | Thing::SharedCpu => Some(speed.writer),
        Thing::ReplicasCpu => Some(speed.replicas),
        Thing::RestCpu => Some(speed.rest),
        Thing::Appliers => Some(point.appliers.into()),
        Thing::Schemas => Some(point.schemas.into()),
        Thing::Connections => Some(point.connections.into()),
    }
}

fn rtt_us(point: &Point) -> Option<f64> {
    let mut rtts = point.distances.pairs.iter().map(|(_, _, rtt)| *rtt);
    let first = rtts.next()?;
    let are_alike = rtts.all(|rtt| rtt == first);
    are_alike.then_some(first.as_secs_f64() * 1e6)
}

fn delay_us(point: &Point, pick: fn(&Disk) -> Delay) -> Option<f64> {
    let delay = alike(point, pick)?;
    Some(delay.median().as_secs_f64() * 1e6)
}

/// What all disks of a point have in common.
fn alike<T: PartialEq>(point: &Point, pick: fn(&Disk) -> T) -> Option<T> {
    let disks = point.disks.as_ref()?;
    let first = pick(&disks.all);
    let mut others = disks.by_site.values();
    others.all(|disk| pick(disk) == first).then_some(first)
}

/// Who used the CPUs that several share, and that are slower in the second cell.
fn used_by(base: &CellSummary, cell: &CellSummary, thing: Thing) -> Vec<CpuUser> {
    let is_rest = match thing {
        Thing::SharedCpu => false,
        Thing::RestCpu => true,
        _ => return vec![],
    };
    let cpu = &base.cpu_us_per_commit;
    let disks = &base.disk_cpu_us_per_commit;
    let followers = f64::from(base.point.nodes.saturating_sub(1));
    let with_replicas = cell.point.cpu_speed.replicas != base.point.cpu_speed.replicas;
    let replicas = cpu.replicas.iter().map(|one| one.cpu_us).sum::<f64>();
    let used = [
        (Role::Writer, cpu.writer.filter(|_| !is_rest)),
        (Role::Replica, Some(replicas).filter(|_| with_replicas)),
        (Role::Client, cpu.client),
        (Role::Front, cpu.front),
        (Role::Links, cpu.links),
        (
            Role::Disk,
            sum_of([disks.writer, disks.replica.map(|one| one * followers)]),
        ),
    ];
    let used = used.into_iter().filter_map(|(role, us)| Some((role, us?)));
    let used: Vec<(Role, f64)> = used.filter(|(_, us)| *us > 0.0).collect();
    let all: f64 = used.iter().map(|(_, us)| us).sum();
    let share = |(role, us): (Role, f64)| CpuUser {
        role,
        share: us / all,
    };
    let mut users: Vec<CpuUser> = used.into_iter().map(share).collect();
    users.sort_by(|one, other| other.share.total_cmp(&one.share));
    users
}

/// `None` where none of them is known.
fn sum_of(parts: [Option<f64>; 2]) -> Option<f64> {
    parts.into_iter().flatten().reduce(|sum, part| sum + part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOWER: f64 = 0.8;
    const ROUNDS: u32 = 8;

    /// A cell with these rates in its rounds.
    fn cell(moved: Option<Moved>, rates: impl Iterator<Item = f64>) -> CellSummary {
        let mut cell = CellSummary {
            moved,
            ..CellSummary::default()
        };
        cell.by_round.throughput_per_s = (1..).zip(rates).collect();
        cell
    }

    /// What is measured where each of these things is moved, if this is the rate then: the host
    /// wanders from round to round, and each cell by some tenths of a per cent.
    fn measured(things: &[(Thing, f64)], rate: impl Fn(Option<Thing>) -> f64) -> Vec<CellSummary> {
        let rates = |thing: Option<Thing>, index: u32| {
            let rate = rate(thing);
            (1..=ROUNDS).map(move |round| {
                let strays = f64::from((round * 7 + index * 3) % 5) - 2.0;
                rate * 0.97_f64.powi(round as i32) * (1.0 + 0.001 * strays)
            })
        };
        let mut cells = vec![cell(None, rates(None, 0))];
        for (index, (thing, speed)) in (1..).zip(things.iter().copied()) {
            let moved = Moved { thing, speed };
            cells.push(cell(Some(moved), rates(Some(thing), index)));
        }
        cells
    }

    fn slower(things: &[Thing]) -> Vec<(Thing, f64)> {
        things.iter().map(|thing| (*thing, SLOWER)).collect()
    }

    fn elasticity(moved: &[MovedThing], thing: Thing) -> Option<Estimate> {
        let mut all = moved.iter();
        all.find(|one| one.thing == thing)?.elasticity
    }

    fn only(cells: &[CellSummary]) -> Limits {
        let mut all = of(cells, Risk::ONE_LOOK);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    fn median(limits: &Limits, thing: Thing) -> f64 {
        elasticity(&limits.moved, thing).expect("a figure").median
    }

    /// What a quarter more comes to of a time that takes this share.
    fn expected(share: f64) -> f64 {
        (1.0 + 0.25 * share).ln() / 1.25_f64.ln()
    }

    proptest! {
        #[test]
        fn of_times_that_add_up_the_larger_is_named(
            a in 1.0_f64..10.0,
            b in 1.0_f64..10.0,
            c in 0.0_f64..5.0,
        ) {
            let (most, all) = (a.max(b), a + b + c);
            // Else more is missing than any of them has.
            prop_assume!(most > 1.3 * a.min(b) && most > 0.3 * all && most > 1.2 * c);
            let things = slower(&[Thing::Distance, Thing::Flush]);
            let cells = measured(&things, |thing| {
                let of = |own: Thing, time: f64| match thing {
                    Some(moved) if moved == own => time / SLOWER,
                    _ => time,
                };
                1.0 / (of(Thing::Distance, a) + of(Thing::Flush, b) + c)
            });
            let limits = only(&cells);
            for (thing, time) in [(Thing::Distance, a), (Thing::Flush, b)] {
                let found = median(&limits, thing);
                prop_assert!((found - expected(time / all)).abs() < 0.03, "{found}");
            }
            let sum = limits.sum.expect("a sum").median;
            prop_assert!((sum - expected(a / all) - expected(b / all)).abs() < 0.06);
            // A step of a quarter makes a little more of each than its share.
            let shares = 1.0 - c / all;
            prop_assert!(sum > shares - 0.06 && sum < 1.13 * shares + 0.06, "{sum} {shares}");
            let larger = if a > b { Thing::Distance } else { Thing::Flush };
            let named = match limits.first_limit {
                FirstLimit::One { thing } => Some(thing),
                FirstLimit::Alike { larger, .. } => Some(larger),
                _ => None,
            };
            prop_assert_eq!(named, Some(larger));
        }

        #[test]
        fn of_capacities_the_one_that_is_full_is_named(
            full in 0usize..3,
            spare in prop::array::uniform2(1.3_f64..9.0),
        ) {
            let things = [Thing::Iops, Thing::Bandwidth, Thing::SharedCpu];
            let others = (0..3).filter(|index| *index != full).zip(spare);
            let mut room = [100.0; 3];
            for (index, times) in others {
                room[index] *= times;
            }
            let cells = measured(&slower(&things), |thing| {
                let left = |(own, room): (&Thing, &f64)| {
                    if thing == Some(*own) { room * SLOWER } else { *room }
                };
                let rooms = things.iter().zip(&room).map(left);
                rooms.fold(f64::INFINITY, f64::min)
            });
            let limits = only(&cells);
            let thing = things[full];
            prop_assert_eq!(limits.first_limit, FirstLimit::One { thing });
            prop_assert!((median(&limits, thing) - 1.0).abs() < 0.03);
            let sum = limits.sum.expect("a sum").median;
            prop_assert!((sum - 1.0).abs() < 0.06, "{sum}");
        }
    }

    /// What was moved, with this elasticity.
    fn row(thing: Thing, median: f64, half: f64) -> MovedThing {
        MovedThing {
            id: String::new(),
            thing,
            speed: SLOWER,
            from: 4.0,
            to: 5.0,
            unit: SettingUnit::Count,
            throughput_per_s: None,
            ratio: Some(Estimate {
                median: 1.2,
                low: Some(1.1),
                high: Some(1.3),
            }),
            elasticity: Some(Estimate {
                median,
                low: Some(median - half),
                high: Some(median + half),
            }),
            used_by: vec![],
        }
    }

    #[test]
    fn how_the_load_is_laid_out_comes_before_times() {
        let distance = row(Thing::Distance, 0.9, 0.05);
        let of = |rows: &[MovedThing]| {
            let all = [std::slice::from_ref(&distance), rows].concat();
            first_limit(&all, None)
        };
        let (appliers, rows) = (Thing::Appliers, Thing::Schemas);
        let found = of(&[row(rows, 0.9, 0.1), row(appliers, 0.5, 0.2)]);
        assert_eq!(found, FirstLimit::Appliers { appliers: 4 });
        assert_eq!(of(&[row(rows, 0.5, 0.2)]), FirstLimit::Rows);
        let thing = Thing::Distance;
        assert_eq!(of(&[row(rows, 0.24, 0.1)]), FirstLimit::One { thing });
        assert_eq!(of(&[row(appliers, 0.6, 0.55)]), FirstLimit::One { thing });
        let connections = row(Thing::Connections, 1.0, 0.1);
        assert_eq!(of(&[connections]), FirstLimit::One { thing });
        // Two labs may differ by so much; and what has no interval may be the limit.
        let mut differ = row(appliers, 0.6, 0.1);
        differ.ratio = Some(Estimate {
            median: 1.1,
            low: Some(1.04),
            high: Some(1.2),
        });
        assert_eq!(of(&[differ]), FirstLimit::One { thing });
        let mut open = row(rows, 0.6, 0.1);
        open.elasticity = None;
        assert_eq!(of(&[open]), FirstLimit::Undecided);
    }

    #[test]
    fn the_largest_is_named_alone_where_no_other_may_be_larger() {
        let thing = Thing::Flush;
        let of = |median, half, other| {
            let other = row(Thing::Distance, other, 0.05);
            first_limit(&[other, row(thing, median, half)], None)
        };
        assert_eq!(of(0.6, 0.1, 0.4), FirstLimit::One { thing });
        let alike = FirstLimit::Alike {
            larger: thing,
            other: Thing::Distance,
        };
        assert_eq!(of(0.6, 0.2, 0.4), alike);
        assert_eq!(of(0.19, 0.01, 0.0), FirstLimit::NothingMoved);
        assert_eq!(of(0.3, 0.31, 0.0), FirstLimit::Undecided);
        let mut alone = row(thing, 0.9, 0.0);
        alone.elasticity = Some(Estimate::without_interval(0.9));
        assert_eq!(first_limit(&[alone], None), FirstLimit::Undecided);
        assert_eq!(first_limit(&[], None), FirstLimit::Undecided);
    }

    #[test]
    fn what_is_not_known_is_not_passed_over() {
        let of = |rows: &[MovedThing], sum| first_limit(rows, sum);
        let mut open = row(Thing::Distance, 0.9, 0.1);
        open.elasticity = None;
        let flush = row(Thing::Flush, 0.22, 0.07);
        // The distance may have all that is left of 1.
        assert_eq!(of(&[open, flush.clone()], None), FirstLimit::Undecided);
        let sum = Some(Estimate {
            median: 0.27,
            low: Some(0.22),
            high: Some(0.32),
        });
        assert_eq!(of(&[flush], sum), FirstLimit::NothingMoved);
        // Not the next by its median, but the one that may have most.
        let thing = |thing, median, half| row(thing, median, half);
        let rows = [
            thing(Thing::Distance, 0.6, 0.05),
            thing(Thing::Flush, 0.45, 0.03),
            thing(Thing::Iops, 0.4, 0.35),
        ];
        let expected = FirstLimit::Alike {
            larger: Thing::Distance,
            other: Thing::Iops,
        };
        assert_eq!(of(&rows, None), expected);
    }

    #[test]
    fn of_cpus_it_counts_how_slow_they_really_were() {
        let things = slower(&[Thing::WriterCpu]);
        let mut cells = measured(&things, |thing| if thing.is_some() { 75.0 } else { 100.0 });
        let got = |writer| {
            Some(CpuSpeed {
                writer,
                ..CpuSpeed::default()
            })
        };
        cells[1].cpu_speed_got = got(0.75);
        let limits = only(&cells);
        let found = elasticity(&limits.moved, Thing::WriterCpu).expect("a figure");
        assert!((found.median - 1.0).abs() < 0.02, "{found:?}");
        cells[1].cpu_speed_got = got(0.99);
        assert_eq!(only(&cells).moved[0].elasticity, None);
    }

    #[test]
    fn a_cell_without_figures_has_no_elasticity_and_leaves_no_sum() {
        let things = slower(&[Thing::Distance, Thing::Flush]);
        let fifth_less = |thing: Option<Thing>| match thing {
            Some(Thing::Flush) => 80.0,
            _ => 100.0,
        };
        let mut cells = measured(&things, fifth_less);
        assert!(only(&cells).sum.is_some());
        cells[1].by_round.throughput_per_s.clear();
        let limits = only(&cells);
        assert_eq!((limits.moved[0].elasticity, limits.sum), (None, None));
        let thing = Thing::Flush;
        assert_eq!(limits.first_limit, FirstLimit::One { thing });
        for rate in cells[2].by_round.throughput_per_s.values_mut() {
            *rate = 0.0;
        }
        assert_eq!(only(&cells).first_limit, FirstLimit::Undecided);
    }

    #[test]
    fn rounds_are_paired_and_cells_belong_to_the_last_that_is_not_moved() {
        let things = [(Thing::Connections, 2.0)];
        let doubled = |thing: Option<Thing>| if thing.is_some() { 200.0 } else { 100.0 };
        let mut cells = measured(&things, doubled);
        cells.push(cell(None, std::iter::empty()));
        cells.extend(measured(&slower(&[Thing::Distance]), |_| 100.0));
        let all = of(&cells, Risk::ONE_LOOK);
        assert_eq!(all.len(), 2, "one of three has nothing moved");
        let ratio = all[0].moved[0].ratio.expect("a ratio");
        assert!((ratio.median - 2.0).abs() < 0.01, "{ratio:?}");
        let width = ratio.high.unwrap() - ratio.low.unwrap();
        assert!(width < 0.02, "the host wandered by a fifth: {ratio:?}");
        assert!(all[0].more_connections && !all[1].more_connections);
        assert_eq!(all[0].first_limit, FirstLimit::Undecided);
        assert_eq!(all[1].first_limit, FirstLimit::NothingMoved);
    }

    #[test]
    fn who_uses_the_cpus_that_are_slower_is_told_by_its_share() {
        let mut base = CellSummary::default();
        base.point.nodes = 3;
        base.cpu_us_per_commit.writer = Some(500.0);
        base.cpu_us_per_commit.client = Some(10.0);
        base.cpu_us_per_commit.links = Some(25.0);
        base.cpu_us_per_commit.links_spin = Some(5.0);
        base.disk_cpu_us_per_commit.writer = Some(20.0);
        base.disk_cpu_us_per_commit.replica = Some(20.0);
        let users = |thing| {
            let all = used_by(&base, &base, thing).into_iter();
            let told = all.map(|user| (user.role, (user.share * 100.0).round()));
            told.collect::<Vec<(Role, f64)>>()
        };
        let rest = [
            (Role::Disk, 63.0),
            (Role::Links, 26.0),
            (Role::Client, 11.0),
        ];
        assert_eq!(users(Thing::RestCpu), rest);
        assert_eq!(users(Thing::SharedCpu)[0], (Role::Writer, 84.0));
        assert!(users(Thing::Distance).is_empty());
    }
}
