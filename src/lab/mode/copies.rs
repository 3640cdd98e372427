//! One server on a volume with copies: `mirror`, `quorum`. The other nodes run no server.

use super::super::lab::{Lab, READY_LIMIT};
use super::super::options::Settings;
use super::replication::{self, Company};
use crate::error::{Result, breakdown};
use crate::lab::disk::copies::{Change, Reach, Terms};
use crate::lab::disk::replica::UNANSWERED_BYTES_MAX;
use crate::lab::disk::{CopySet, Volume, VolumeSpec};
use crate::lab::redo;
use crate::study::mode::COPY_TIMEOUT;
use crate::study::{Mode, ModeSpec, WhenShort};

/// The first head of a volume.
const FIRST_GENERATION: u64 = 1;

/// Gives each node a copy of one volume; the first node's leads and shows its file system.
pub fn make_disks(lab: &mut Lab, specs: Vec<VolumeSpec>) -> Result<()> {
    for (node, spec) in lab.nodes.iter_mut().zip(specs) {
        node.volume = Some(Volume::follow(spec, &node.place)?);
    }
    let group = group(lab)?;
    let head = lab.volume(0)?;
    head.lead(&group.lead(head.address()?, FIRST_GENERATION, true, READY_LIMIT))?;
    (1..lab.nodes.len()).try_for_each(|i| lab.volume(i)?.set_upkeep(false))
}

/// Where the copies are, and what the lab's mode holds them to.
pub fn group(lab: &Lab) -> Result<CopySet> {
    let Some(mode) = &lab.spec.copied else {
        return Err(breakdown("find the copies of a volume", "there are none"));
    };
    let address = |i| lab.volume(i)?.address();
    Ok(CopySet {
        terms: terms(mode, lab.nodes.len(), lab.spec.seed),
        members: (0..lab.nodes.len()).map(address).collect::<Result<_>>()?,
    })
}

fn terms(mode: &Mode, copies: usize, seed: u64) -> Terms {
    let (write_quorum, ack, when_short, timeout) = match *mode {
        Mode::Mirror {
            ack,
            when_short,
            timeout,
        } => (copies, ack, when_short, timeout),
        Mode::Quorum {
            write_quorum, ack, ..
        } => (write_quorum as usize, ack, WhenShort::Block, COPY_TIMEOUT),
        _ => unreachable!("the family of a lab is its modes' family"),
    };
    Terms {
        volume: seed.max(1),
        peers: copies - 1,
        write_quorum,
        ack,
        when_short,
        timeout,
        unanswered_bytes_max: UNANSWERED_BYTES_MAX,
    }
}

/// The server knows nothing of the copies: its settings are those of `single`.
pub fn settings(lab: &Lab, _i: usize) -> Settings {
    replication::base_settings(lab)
}

/// Starts the one server.
pub fn form(lab: &mut Lab) -> Result<()> {
    lab.start(0, &[])?;
    lab.nodes[0].wait_accepting()?;
    redo::use_once(&mut lab.nodes[0])
}

/// What the volume waits for was fixed when it was made; all its copies have to be whole.
pub fn enter(lab: &mut Lab, _spec: &ModeSpec) -> Result<()> {
    lab.volume(0)?.wait_whole(lab.nodes.len(), READY_LIMIT)
}

/// What a mirror's head says of itself, and what befell it since it was last asked.
pub fn company(lab: &Lab, writer: usize, before: Option<Company>) -> Result<Company> {
    let standing = lab.volume(writer)?.standing()?;
    let alone = Some(Reach::Alone);
    let went = standing
        .changes
        .iter()
        .filter(|change| matches!(change, Change::Reach { reach, .. } if Some(*reach) == alone));
    // What befell it before the first look is another's matter.
    let times = before.map_or(0, |before| before.times + went.count() as u64);
    Ok(Company {
        is_alone: standing.reach == alone,
        times,
    })
}
