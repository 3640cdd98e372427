//! Keeps the packets of chosen streams as they are handed over, in a file of the parent's, which
//! outlives the switch.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;

use super::stream::Segment;

/// The file stays in memory: no more is kept than this.
pub const KEPT_BYTES_MAX: u64 = 256 << 20;

/// What is kept, and how far.
pub struct Keeper {
    file: Option<File>,
    bytes_max: u64,
    /// Paths, and ports that what is kept comes from.
    wanted: BTreeSet<(usize, u16)>,
    used_bytes: u64,
    lost: Option<String>,
}

impl Keeper {
    /// Keeps nothing yet; nothing ever without a file.
    pub fn new(file: Option<File>, bytes_max: u64) -> Keeper {
        Keeper {
            file,
            bytes_max,
            wanted: BTreeSet::new(),
            used_bytes: 0,
            lost: None,
        }
    }

    /// Keeps these from now on, from the beginning of the file on.
    pub fn begin(&mut self, wanted: BTreeSet<(usize, u16)>) -> Result<(), String> {
        if self.file.is_none() {
            return Err("the switch was given no file to keep packets in".to_owned());
        }
        self.wanted = wanted;
        self.used_bytes = 0;
        self.lost = None;
        Ok(())
    }

    /// A packet was handed over at the end of a path.
    pub fn take(&mut self, path: usize, packet: &[u8]) {
        if self.wanted.is_empty() || self.lost.is_some() {
            return;
        }
        let segment = Segment::of(packet).filter(Segment::is_of_use);
        if segment.is_some_and(|segment| self.wanted.contains(&(path, segment.from.port()))) {
            self.lost = self.write(packet).err();
        }
    }

    /// How many bytes of the file are packets, and why not all were kept, if so.
    pub fn kept(&self) -> (u64, Option<String>) {
        (self.used_bytes, self.lost.clone())
    }

    fn write(&mut self, packet: &[u8]) -> Result<(), String> {
        let file = self.file.as_ref().ok_or("there is no file")?;
        let used_bytes = self.used_bytes + packet.len() as u64;
        if used_bytes > self.bytes_max {
            return Err(format!("there were more than {} bytes", self.bytes_max));
        }
        let written = file.write_all_at(packet, self.used_bytes);
        written.map_err(|error| error.to_string())?;
        self.used_bytes = used_bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::samples::{SERVER_PORT, packet};
    use super::super::stream::streams;
    use super::*;

    const PATH: usize = 5;
    const PORT: u16 = 40_000;

    fn keeper(bytes_max: u64) -> (Keeper, File) {
        let file = tempfile::tempfile().unwrap();
        let mut keeper = Keeper::new(Some(file.try_clone().unwrap()), bytes_max);
        keeper.begin([(PATH, SERVER_PORT)].into()).unwrap();
        (keeper, file)
    }

    fn kept(keeper: &Keeper, file: &File) -> Vec<u8> {
        let mut packets = vec![0; keeper.kept().0 as usize];
        file.read_exact_at(&mut packets, 0).unwrap();
        let streams = streams(&packets);
        streams
            .into_iter()
            .flat_map(|stream| stream.bytes)
            .collect()
    }

    #[test]
    fn only_what_is_wanted_is_kept() {
        let (mut keeper, file) = keeper(10_000);
        keeper.take(PATH, &packet(PORT, 9, true, b""));
        keeper.take(PATH, &packet(PORT, 10, false, b"hello"));
        let so_far = keeper.kept().0;
        // Another path, an empty segment, another port, no TCP at all.
        keeper.take(PATH + 1, &packet(PORT, 15, false, b"x"));
        keeper.take(PATH, &packet(PORT, 15, false, b""));
        let mut other_port = packet(PORT, 15, false, b"x");
        other_port[21] += 1;
        keeper.take(PATH, &other_port);
        keeper.take(PATH, &[0x45; 60]);
        assert_eq!(keeper.kept(), (so_far, None));
        keeper.take(PATH, &packet(PORT, 15, false, b" world"));
        assert_eq!(kept(&keeper, &file), b"hello world");
    }

    #[test]
    fn it_begins_anew_and_ends() {
        let (mut keeper, file) = keeper(10_000);
        keeper.take(PATH, &packet(PORT, 10, false, b"a longer one"));
        keeper.begin([(PATH, SERVER_PORT)].into()).unwrap();
        assert_eq!(keeper.kept(), (0, None));
        keeper.take(PATH, &packet(PORT, 22, false, b"short"));
        assert_eq!(kept(&keeper, &file), b"short");
        keeper.begin(BTreeSet::new()).unwrap();
        keeper.take(PATH, &packet(PORT, 27, false, b"x"));
        assert_eq!(keeper.kept(), (0, None));
    }

    /// What came later is missing from then on, also where it would have found room: a stream has
    /// no holes that are nobody's.
    #[test]
    fn too_much_is_said() {
        let (mut keeper, file) = keeper(150);
        keeper.take(PATH, &packet(PORT, 10, false, &[7; 50]));
        keeper.take(PATH, &packet(PORT, 60, false, &[7; 50]));
        keeper.take(PATH, &packet(PORT, 60, false, &[7; 5]));
        let (_, lost) = keeper.kept();
        assert_eq!(lost.unwrap(), "there were more than 150 bytes");
        assert_eq!(kept(&keeper, &file), [7; 50]);
        keeper.begin([(PATH, SERVER_PORT)].into()).unwrap();
        assert_eq!(keeper.kept(), (0, None));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        File::create(&path).unwrap();
        let read_only = File::open(&path).unwrap();
        let mut keeper = Keeper::new(Some(read_only), 10_000);
        keeper.begin([(PATH, SERVER_PORT)].into()).unwrap();
        keeper.take(PATH, &packet(PORT, 10, false, b"hello"));
        assert!(matches!(keeper.kept(), (0, Some(_))));
        let mut without = Keeper::new(None, 10_000);
        assert!(without.begin([(PATH, SERVER_PORT)].into()).is_err());
    }
}
