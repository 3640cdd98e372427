//! The host's CPUs, and who of a study runs on which.

use std::fs;
use std::path::Path;

use crate::error::{Mistake, Result};
use crate::lab::affinity;
use crate::plan::{Cpu, Placement, labs, place};
use crate::study::Study;
use crate::study::cpus::Cpus;

/// Where the kernel tells of CPUs and NUMA nodes.
const SYSTEM: &str = "/sys/devices/system";

/// Who runs on which CPUs of this host.
///
/// # Errors
/// A mistake with the arithmetic if the study asks for more than there are.
pub fn placement(study: &Study) -> Result<Placement> {
    let host = host(&affinity::allowed()?, Path::new(SYSTEM));
    let nodes = labs(study).iter().map(|lab| lab.nodes).max().unwrap_or(0);
    place(&host, nodes, study.cpus).map_err(|too_few| {
        let given = match study.cpus {
            Cpus::Each(each) => each.to_string(),
            _ => "\"writer\"".to_owned(),
        };
        let allowed = format!("{too_few}: ask for fewer, or say \"shared\"");
        Mistake::new("this machine", "cpus", &given, &allowed).into()
    })
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
