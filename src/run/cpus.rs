//! The host's CPUs, and who of a study runs on which.

use std::fs;
use std::path::Path;

use crate::error::{Error, Mistake, Result};
use crate::lab::affinity;
use crate::plan::{Cpu, Placement, Whose, labs, place};
use crate::study::cpus::Cpus;
use crate::study::{CpuSpeed, Study};

/// Where the kernel tells of CPUs and NUMA nodes.
const SYSTEM: &str = "/sys/devices/system";

/// Who runs on which CPUs of this host.
///
/// # Errors
/// A mistake with the arithmetic if the study asks for more than there are, and one for each speed
/// of CPUs that they cannot have because of who shares them.
pub fn placement(study: &Study) -> Result<Placement> {
    let allowed = affinity::allowed()?;
    let host = host(&allowed, Path::new(SYSTEM));
    let nodes = labs(study).iter().map(|lab| lab.nodes).max().unwrap_or(0);
    let placement = place(&host, nodes, study.cpus).map_err(|too_few| {
        let given = match study.cpus {
            Cpus::Each(each) => each.to_string(),
            _ => "\"writer\"".to_owned(),
        };
        let allowed = format!("{too_few}: ask for fewer, or say \"shared\"");
        Error::from(Mistake::new("this machine", "cpus", &given, &allowed))
    })?;
    let speeds = study.sweeps.iter().flat_map(|sweep| &sweep.cpu_speeds);
    let mistakes = speeds.filter_map(|speed| at_odds(&placement, &allowed, *speed, nodes > 1));
    let mistakes: Vec<Mistake> = mistakes.collect();
    match mistakes.is_empty() {
        true => Ok(placement),
        false => Err(Error::Mistakes(mistakes)),
    }
}

/// What is wrong with a speed of CPUs that some parts share.
fn at_odds(
    placement: &Placement,
    all: &[u32],
    speed: CpuSpeed,
    has_replicas: bool,
) -> Option<Mistake> {
    let [one, other] = placement.at_odds(all, speed, has_replicas)?;
    let apart = match one {
        Whose::Writer => "cpus = \"writer\"",
        _ => "cpus = 1, where there are enough",
    };
    let [one, other] = [one, other].map(Whose::word);
    let allowed =
        format!("{one} and {other} share CPUs here: give both the same speed, or say {apart}");
    let mistake = Mistake::new("this machine", "cpu_speed", &speed.words(), &allowed);
    Some(mistake)
}

/// These CPUs, with what the kernel tells of each; without that, each is a core of its own.
fn host(allowed: &[u32], system: &Path) -> Vec<Cpu> {
    let read = |path: String| fs::read_to_string(system.join(path)).unwrap_or_default();
    let first = |list: &str| ids(list).min();
    let numa_nodes: Vec<u32> = ids(&read("node/online".to_owned())).collect();
    let holds =
        |node: &u32, id| ids(&read(format!("node/node{node}/cpulist"))).any(|cpu| cpu == id);
    let cpu = |&id: &u32| Cpu {
        id,
        core: first(&read(format!("cpu/cpu{id}/topology/thread_siblings_list"))).unwrap_or(id),
        numa_node: numa_nodes
            .iter()
            .copied()
            .find(|node| holds(node, id))
            .unwrap_or(0),
    };
    allowed.iter().map(cpu).collect()
}

/// The numbers of a list such as `0-3,8`.
fn ids(list: &str) -> impl Iterator<Item = u32> + '_ {
    let spans = list.trim().split(',').filter_map(|span| {
        let (from, to) = span.split_once('-').unwrap_or((span, span));
        Some(from.parse().ok()?..=to.parse().ok()?)
    });
    spans.flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_read() {
        assert_eq!(
            ids("0-2,8,10-11\n").collect::<Vec<_>>(),
            [0, 1, 2, 8, 10, 11]
        );
        assert_eq!(ids("\n").count(), 0);
    }

    #[test]
    fn who_shares_cpus_and_is_not_equally_fast_is_told() {
        let told = |placement: &Placement, speed| {
            let mistake = at_odds(placement, &[0, 1], speed, true);
            mistake.map(|mistake| mistake.to_string())
        };
        let writer = CpuSpeed {
            writer: 0.5,
            ..CpuSpeed::default()
        };
        let said = "this machine: cpu_speed: given writer's CPUs at 50%; writer and rest share \
                    CPUs here: give both the same speed, or say cpus = \"writer\"";
        assert_eq!(told(&Placement::Shared, writer).as_deref(), Some(said));
        let alone = Placement::Own {
            nodes: vec![vec![0]],
            rest: vec![1],
        };
        assert_eq!(told(&alone, writer), None);
        let rest = CpuSpeed {
            rest: 0.5,
            ..CpuSpeed::default()
        };
        let said = told(&alone, rest).expect("a mistake");
        assert!(said.contains("replicas and rest share"), "{said}");
        assert!(said.ends_with("or say cpus = 1, where there are enough"));
    }

    #[test]
    fn cores_and_numa_nodes_are_found_where_the_kernel_tells_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("node/online", "0-1\n");
        write("node/node0/cpulist", "0,2\n");
        write("node/node1/cpulist", "1,3\n");
        write("cpu/cpu3/topology/thread_siblings_list", "1,3\n");
        let cpu = |id, core, numa_node| Cpu {
            id,
            core,
            numa_node,
        };
        let expected = [cpu(0, 0, 0), cpu(3, 1, 1)];
        assert_eq!(host(&[0, 3], folder.path()), expected);
        let untold = Path::new("/nonexistent");
        assert_eq!(host(&[5], untold), [cpu(5, 5, 0)]);
    }
}
