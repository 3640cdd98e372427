//! What pid 1 and a volume's process say to each other: one JSON document per line.

use std::net::SocketAddrV4;
use std::os::fd::RawFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::copies::promote::Survey;
use super::counters::VolumeCounters;
use super::replica::{Lead, Standing};
use super::store::CutReport;
use crate::study::disk::{Disk, PowerCut};

/// From pid 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Make the image, all zeros, in upkeep. The first request, and only once.
    Open(Opening),
    /// Serve the image as a file, by a mount that only this process holds. Whoever held the file
    /// that was served before must have let go of it, or is waited for.
    Serve,
    /// The file served has been opened: from now on it lives as long as it is open.
    LetGo,
    /// Another pace, for requests that come from now on.
    Set(Disk),
    /// In upkeep no request takes time, and none is counted.
    Upkeep(bool),
    Counters,
    /// The power fails: whatever is not answered yet, and every further request, is an error.
    Freeze,
    /// The power fails at that time of the machine's monotonic clock, in ns, so that several lose
    /// it at once; and whoever asks waits, until `Freeze`.
    HaltAt(u64),
    /// What the cut leaves becomes the image, as soon as the file served is let go of; in upkeep.
    Cut(PowerCut),
    /// Something befalls the disk.
    Befall(Trouble),
    /// What the disk holds, as a whole, is kept or becomes another.
    Turn(Turn),
    /// Say what becomes of requests.
    Condition,
    /// Be the head of several copies.
    Lead(Lead),
    /// Obey this generation or newer ones only.
    Promise(u64),
    /// Say how it stands as one of several copies.
    Stand,
}

/// What befalls a disk besides a loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// Requests wait.
    Stall,
    /// They go on, if they wait.
    GoOn,
    /// They fail.
    Fail,
    /// They fail, and what the disk held is gone.
    Destroy,
}

/// What is done with all that a disk holds. But for the first it is done as soon as the file served
/// is let go of, and the disk is in upkeep afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Remember it: nobody uses the disk, and all is durable.
    Keep,
    /// Put it back as it was when it was kept.
    GoBack,
    /// The disk that failed works again.
    Mend,
    /// A new disk, all zeros, takes the place of one that was destroyed.
    Renew,
}

/// A disk to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// Size of the image.
    pub bytes: u64,
    /// The folder in which the image is kept; in memory if there is none. Nothing is left there: it
    /// is a file without a name, which goes when the process ends.
    pub folder: Option<PathBuf>,
    pub disk: Disk,
    /// Of delays drawn by chance.
    pub seed: u64,
    /// Where heads may call, if it is one of several copies.
    pub listen: Option<SocketAddrV4>,
}

/// From the volume, one for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// To `Open`, with notes on what the kernel refused, as whole sentences.
    Ready(Vec<String>),
    /// To `Serve`: the mount's descriptor in the volume's process.
    Serving(RawFd),
    Done,
    Counters(VolumeCounters),
    /// To `HaltAt`: when the power had failed.
    Halted(u64),
    Cut(CutReport),
    /// To `Turn`: blocks that were put back.
    Turned(u64),
    Condition(Condition),
    Promised(Survey),
    Stands(Standing),
    /// Nothing was changed, and why.
    Refused(String),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::study::disk::Delay;

    fn survives<T>(value: &T)
    where
        T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug,
    {
        let line = serde_json::to_string(value).unwrap();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(&serde_json::from_str::<T>(&line).unwrap(), value);
    }

    #[test]
    fn requests_and_replies_survive_the_pipe() {
        let disk = Disk {
            flush: Delay::LogNormal {
                median: Duration::from_micros(900),
                p99: Duration::from_millis(4),
            },
            iops: Some(3000),
            ..Disk::default()
        };
        survives(&Request::Open(Opening {
            bytes: 1 << 30,
            folder: Some(PathBuf::from("a\nb")),
            disk,
            seed: u64::MAX,
            listen: Some("198.18.0.1:7".parse().unwrap()),
        }));
        survives(&Request::Cut(PowerCut::Torn {
            seed: 7,
            sector_bytes: 512,
        }));
        survives(&Request::Befall(Trouble::GoOn));
        survives(&Request::Turn(Turn::GoBack));
        survives(&Request::Condition);
        survives(&Reply::Turned(u64::MAX));
        survives(&Reply::Condition(Condition::NoPower));
        survives(&Reply::Counters(VolumeCounters::default()));
        survives(&Reply::Refused("why".to_owned()));
    }
}
