//! Which CPUs each node gets, and which are left for links, disks and drivers. Pure: the host's
//! CPUs are the caller's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::study::CpuSpeed;
use crate::study::cpus::Cpus;

/// CPUs of a node where nobody says how many.
pub const CPUS_EACH: u32 = 2;
/// The least that links, disks and drivers share.
pub const REST_CPUS: u32 = 2;

/// One CPU that may be used: its number, and those of its core and its NUMA node. Hyperthreads are
/// CPUs of the same core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu {
    pub numa_node: u32,
    pub core: u32,
    pub id: u32,
}

/// Who runs where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Everybody on all.
    #[default]
    Shared,
    /// The first nodes of each lab have CPUs of their own: nobody else runs there, but for nodes of
    /// other labs, which are idle meanwhile. Everybody else shares the rest.
    Own {
        nodes: Vec<Vec<u32>>,
        rest: Vec<u32>,
    },
}

/// A part of a lab that runs on CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Writer,
    Replicas,
    /// Links, disks, drivers and fronts.
    Rest,
}

impl Whose {
    /// In the order of [`Placement::parts`].
    const ALL: [Whose; 3] = [Whose::Writer, Whose::Replicas, Whose::Rest];

    /// As studies write it.
    pub fn word(self) -> &'static str {
        match self {
            Whose::Writer => "writer",
            Whose::Replicas => "replicas",
            Whose::Rest => "rest",
        }
    }
}

/// A host has fewer CPUs than were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFew {
    nodes: u32,
    each: u32,
    rest: u32,
    has: u32,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let TooFew {
            nodes,
            each,
            rest,
            has,
        } = self;
        let needed = nodes * each + rest;
        write!(
            f,
            "{nodes} × {each} for nodes and {rest} for links, disks and drivers are {needed}, and \
             this run may use {has}"
        )
    }
}

/// The CPUs of labs with up to `nodes` nodes.
///
/// # Errors
/// The arithmetic, where more are asked for than there are.
pub fn place(host: &[Cpu], nodes: u32, asked: Cpus) -> Result<Placement, TooFew> {
    let (nodes, each, rest) = match asked {
        Cpus::Shared => return Ok(Placement::Shared),
        Cpus::Auto => (nodes, CPUS_EACH, REST_CPUS),
        Cpus::Each(each) => (nodes, each, REST_CPUS),
        Cpus::Writer => (1, 1, 1),
    };
    let has = host.len() as u32;
    match (has >= nodes * each + rest, asked) {
        (true, _) => Ok(dealt(host, nodes, each as usize)),
        (false, Cpus::Auto) => Ok(Placement::Shared),
        (false, _) => Err(TooFew {
            nodes,
            each,
            rest,
            has,
        }),
    }
}

fn dealt(host: &[Cpu], nodes: u32, each: usize) -> Placement {
    let mut free = host.to_vec();
    free.sort();
    let mut begun = BTreeSet::new();
    let mut own = Vec::new();
    for _ in 0..nodes {
        let set = chosen(&free, &begun, each);
        free.retain(|cpu| !set.contains(cpu));
        begun.extend(set.iter().map(|cpu| cpu.core));
        own.push(ids(&set));
    }
    // The hyperthread beside a node's CPU stays idle where the rest has enough without it.
    let apart = without(&free, &begun);
    let rest = match apart.len() >= REST_CPUS as usize {
        true => apart,
        false => free,
    };
    Placement::Own {
        nodes: own,
        rest: ids(&rest),
    }
}

/// For one node: on cores that no other has a part of and on one NUMA node, if there are such; else
/// on such cores; else, those first.
fn chosen(free: &[Cpu], begun: &BTreeSet<u32>, each: usize) -> Vec<Cpu> {
    let whole = without(free, begun);
    let near = whole.chunk_by(|one, next| one.numa_node == next.numa_node);
    let near = near.into_iter().find(|cpus| cpus.len() >= each);
    let beside = free.iter().filter(|cpu| begun.contains(&cpu.core));
    let all = whole.iter().chain(beside);
    match near {
        Some(cpus) => cpus[..each].to_vec(),
        None => all.take(each).copied().collect(),
    }
}

fn without(cpus: &[Cpu], begun: &BTreeSet<u32>) -> Vec<Cpu> {
    let apart = cpus.iter().filter(|cpu| !begun.contains(&cpu.core));
    apart.copied().collect()
}

fn ids(cpus: &[Cpu]) -> Vec<u32> {
    let mut ids: Vec<u32> = cpus.iter().map(|cpu| cpu.id).collect();
    ids.sort_unstable();
    ids
}

impl Placement {
    /// The CPUs that node `i` of a lab has for itself; none where it shares the rest.
    pub fn of_node(&self, i: usize) -> &[u32] {
        match self {
            Placement::Own { nodes, .. } => nodes.get(i).map_or(&[], Vec::as_slice),
            Placement::Shared => &[],
        }
    }

    /// The CPUs of the writer, of the replicas, and of everybody else, of `all` that the run may
    /// use. Parts may share them.
    pub fn parts(&self, all: &[u32]) -> [Vec<u32>; 3] {
        let Placement::Own { nodes, rest } = self else {
            return [all.to_vec(), all.to_vec(), all.to_vec()];
        };
        let writer = nodes.first().unwrap_or(rest).clone();
        let replicas: Vec<u32> = nodes.iter().skip(1).flatten().copied().collect();
        let replicas = match replicas.is_empty() {
            true => rest.clone(),
            false => replicas,
        };
        [writer, replicas, rest.clone()]
    }

    /// Two parts that share CPUs and are to be of different speeds; `None` if there are none such.
    /// Without replicas nothing is said of theirs.
    pub fn at_odds(&self, all: &[u32], speed: CpuSpeed, has_replicas: bool) -> Option<[Whose; 2]> {
        let (parts, speeds) = (self.parts(all), speed.parts());
        let is_there = |part: usize| has_replicas || part != 1;
        let are_at_odds = |&(one, other): &(usize, usize)| {
            is_there(one)
                && is_there(other)
                && speeds[one] != speeds[other]
                && parts[one].iter().any(|cpu| parts[other].contains(cpu))
        };
        let found = [(0, 2), (0, 1), (1, 2)].into_iter().find(are_at_odds);
        found.map(|(one, other)| [Whose::ALL[one], Whose::ALL[other]])
    }

    /// The CPUs that are to be slower than the host gives them, each with its speed.
    pub fn slowed(&self, all: &[u32], speed: CpuSpeed) -> BTreeMap<u32, f64> {
        let (parts, speeds) = (self.parts(all), speed.parts());
        let mut found = BTreeMap::new();
        // Where there are no replicas, nobody has asked for their speed: the rest's counts.
        for part in [1, 2, 0] {
            found.extend(parts[part].iter().map(|cpu| (*cpu, speeds[part])));
        }
        found.retain(|_, speed| *speed < 1.0);
        found
    }

    /// A whole sentence for the reader of a record.
    pub fn told(&self, cpus: usize) -> String {
        let Placement::Own { nodes, rest } = self else {
            return format!(
                "CPUs are shared: all nodes, links, disks and drivers run on the same {cpus}."
            );
        };
        let rest = listed(rest);
        let each: Vec<String> = nodes.iter().map(|own| listed(own)).collect();
        match &each[..] {
            [writer] => format!(
                "CPUs are shared: the writer has CPU {writer} for itself, everybody else runs on \
                 {rest}."
            ),
            _ => format!(
                "Each node has CPUs of its own ({}); links, disks and drivers run on {rest}: \
                 throughput is that of as many machines.",
                each.join("; ")
            ),
        }
    }
}

fn listed(ids: &[u32]) -> String {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    ids.join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As Linux counts: the first threads of all cores, then the second ones.
    fn host(numa_nodes: u32, cores: u32, threads: u32) -> Vec<Cpu> {
        let core = |core: u32| {
            (0..threads).map(move |thread| Cpu {
                numa_node: core * numa_nodes / cores,
                core,
                id: thread * cores + core,
            })
        };
        (0..cores).flat_map(core).collect()
    }

    fn own(host: &[Cpu], nodes: u32, asked: Cpus) -> (Vec<Vec<u32>>, Vec<u32>) {
        match place(host, nodes, asked) {
            Ok(Placement::Own { nodes, rest }) => (nodes, rest),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_each_and_two_for_the_rest_are_taken_unasked() {
        for cpus in 1..=64 {
            let found = place(&host(1, cpus, 1), 3, Cpus::Auto);
            let is_shared = found == Ok(Placement::Shared);
            assert_eq!(is_shared, cpus < 8, "{cpus}");
        }
        let (nodes, rest) = own(&host(1, 8, 1), 3, Cpus::Auto);
        assert_eq!(nodes, [[0, 1], [2, 3], [4, 5]]);
        assert_eq!(rest, [6, 7]);
    }

    #[test]
    fn hyperthreads_of_a_core_go_to_one_node() {
        let (nodes, rest) = own(&host(1, 4, 2), 3, Cpus::Each(2));
        assert_eq!(nodes, [[0, 4], [1, 5], [2, 6]]);
        assert_eq!(rest, [3, 7]);
    }

    #[test]
    fn the_other_thread_of_a_nodes_core_stays_idle_if_it_can() {
        let (nodes, rest) = own(&host(1, 4, 2), 3, Cpus::Each(1));
        assert_eq!((nodes, rest), (vec![vec![0], vec![1], vec![2]], vec![3, 7]));
        let (nodes, rest) = own(&host(1, 3, 2), 3, Cpus::Each(1));
        let all = vec![3, 4, 5];
        assert_eq!((nodes, rest), (vec![vec![0], vec![1], vec![2]], all));
    }

    #[test]
    fn a_node_stays_on_one_numa_node_if_it_can() {
        let (nodes, _) = own(&host(2, 12, 1), 3, Cpus::Each(3));
        assert_eq!(nodes, [[0, 1, 2], [3, 4, 5], [6, 7, 8]]);
        let (nodes, rest) = own(&host(2, 10, 1), 2, Cpus::Each(4));
        assert_eq!(
            (nodes, rest),
            (vec![vec![0, 1, 2, 3], vec![5, 6, 7, 8]], vec![4, 9])
        );
        let (nodes, _) = own(&host(4, 8, 1), 2, Cpus::Each(3));
        assert_eq!(nodes, [[0, 1, 2], [3, 4, 5]], "no NUMA node has three");
    }

    #[test]
    fn the_writer_alone_needs_one_cpu_and_one_for_everybody_else() {
        let (nodes, rest) = own(&host(1, 2, 1), 3, Cpus::Writer);
        assert_eq!((nodes, rest), (vec![vec![0]], vec![1]));
        let one = place(&host(1, 1, 1), 3, Cpus::Writer).unwrap_err();
        let said =
            "1 × 1 for nodes and 1 for links, disks and drivers are 2, and this run may use 1";
        assert_eq!(one.to_string(), said);
    }

    #[test]
    fn too_few_are_told_with_the_arithmetic_and_shared_is_always_possible() {
        let two = host(1, 2, 1);
        let said =
            "3 × 2 for nodes and 2 for links, disks and drivers are 8, and this run may use 2";
        assert_eq!(place(&two, 3, Cpus::Each(2)).unwrap_err().to_string(), said);
        assert_eq!(place(&two, 9, Cpus::Shared), Ok(Placement::Shared));
        assert_eq!(
            place(&host(1, 64, 1), 3, Cpus::Shared),
            Ok(Placement::Shared)
        );
    }

    #[test]
    fn what_it_says_tells_three_machines_from_one() {
        let told = |asked| place(&host(1, 8, 1), 3, asked).unwrap().told(8);
        assert!(
            told(Cpus::Auto).contains("(0, 1; 2, 3; 4, 5); links, disks and drivers run on 6, 7")
        );
        assert!(told(Cpus::Writer).starts_with("CPUs are shared: the writer has CPU 0"));
        assert!(told(Cpus::Shared).contains("the same 8."));
    }

    fn speed(writer: f64, replicas: f64, rest: f64) -> CpuSpeed {
        CpuSpeed {
            writer,
            replicas,
            rest,
        }
    }

    #[test]
    fn each_part_has_its_cpus_and_may_share_them() {
        let parts = |cpus, asked| {
            let placement = place(&host(1, cpus, 1), 3, asked).unwrap();
            placement.parts(&Vec::from_iter(0..cpus))
        };
        assert_eq!(parts(2, Cpus::Shared), [[0, 1], [0, 1], [0, 1]]);
        assert_eq!(parts(2, Cpus::Writer), [[0], [1], [1]]);
        let own: [Vec<u32>; 3] = [vec![0, 1], vec![2, 3, 4, 5], vec![6, 7]];
        assert_eq!(parts(8, Cpus::Auto), own);
    }

    #[test]
    fn parts_that_share_cpus_are_equally_fast() {
        let all = [0, 1];
        let odds = |asked, speed, has_replicas| {
            let placement = place(&host(1, 2, 1), 3, asked).unwrap();
            placement.at_odds(&all, speed, has_replicas)
        };
        let slow_writer = speed(0.5, 1.0, 1.0);
        let found = odds(Cpus::Shared, slow_writer, true);
        assert_eq!(found, Some([Whose::Writer, Whose::Rest]));
        assert_eq!(odds(Cpus::Shared, CpuSpeed::of_all(0.5), true), None);
        assert_eq!(odds(Cpus::Writer, slow_writer, true), None);
        let slow_rest = speed(1.0, 1.0, 0.5);
        let found = odds(Cpus::Writer, slow_rest, true);
        assert_eq!(found, Some([Whose::Replicas, Whose::Rest]));
        assert_eq!(odds(Cpus::Writer, slow_rest, false), None, "there are none");
        assert_eq!(odds(Cpus::Writer, speed(1.0, 0.5, 0.5), true), None);
    }

    #[test]
    fn the_cpus_of_slower_parts_are_slowed_and_no_others() {
        let slowed = |cpus, asked, speed| -> Vec<(u32, f64)> {
            let placement = place(&host(1, cpus, 1), 3, asked).unwrap();
            let all = Vec::from_iter(0..cpus);
            placement.slowed(&all, speed).into_iter().collect()
        };
        assert_eq!(slowed(2, Cpus::Shared, CpuSpeed::default()), []);
        let all = slowed(2, Cpus::Shared, CpuSpeed::of_all(0.8));
        assert_eq!(all, [(0, 0.8), (1, 0.8)]);
        let writer = slowed(2, Cpus::Writer, speed(0.5, 1.0, 1.0));
        assert_eq!(writer, [(0, 0.5)]);
        let replicas = slowed(8, Cpus::Auto, speed(1.0, 0.9, 1.0));
        assert_eq!(replicas, [(2, 0.9), (3, 0.9), (4, 0.9), (5, 0.9)]);
        // A single server has no replicas whose speed could be asked for.
        let alone = place(&host(1, 2, 1), 1, Cpus::Writer).unwrap();
        let rest = alone.slowed(&[0, 1], speed(1.0, 1.0, 0.5));
        assert_eq!(rest, [(1, 0.5)].into());
    }

    proptest! {
        #[test]
        fn nobody_shares_and_no_core_is_divided_without_need(
            numa_nodes in 1u32..4,
            cores in 1u32..64,
            threads in 1u32..=2,
            nodes in 1u32..=9,
            each in 1u32..=8,
        ) {
            let host = host(numa_nodes, cores, threads);
            let Ok(placement) = place(&host, nodes, Cpus::Each(each)) else {
                prop_assert!(cores * threads < nodes * each + REST_CPUS);
                return Ok(());
            };
            let Placement::Own { nodes: own, rest } = placement else {
                return Err(TestCaseError::fail("asked for, and shared"));
            };
            let all: Vec<u32> = own.iter().flatten().chain(&rest).copied().collect();
            let different: BTreeSet<u32> = all.iter().copied().collect();
            prop_assert_eq!(all.len(), different.len());
            prop_assert!(different.iter().all(|id| host.iter().any(|cpu| cpu.id == *id)));
            prop_assert!(own.len() == nodes as usize && rest.len() >= REST_CPUS as usize);
            prop_assert!(own.iter().all(|set| set.len() == each as usize));
            if nodes * each.div_ceil(threads) <= cores && numa_nodes == 1 {
                let core = |id: &u32| id % cores;
                let cores_of = |set: &Vec<u32>| -> BTreeSet<u32> { set.iter().map(core).collect() };
                let cores_used: usize = own.iter().map(|set| cores_of(set).len()).sum();
                let together: BTreeSet<u32> = own.iter().flat_map(cores_of).collect();
                prop_assert_eq!(cores_used, together.len(), "a core of two nodes");
            }
        }
    }
}
