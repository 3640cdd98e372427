//! Blocks with which a file system commits its journal, known by what is in them.

/// The first bytes of each block of a journal that is not data (`JBD2_MAGIC_NUMBER`, big-endian).
const MAGIC: [u8; 4] = [0xC0, 0x3B, 0x39, 0x98];
/// Kinds of such blocks that the kernel writes with a flush before or behind them: a commit, and
/// the journal's superblock in both of its versions.
const COMMITS: [u32; 3] = [2, 3, 4];

/// Whether ext4 writes this with forced unit access where a device has that. The data of files is
/// taken for it too if it begins in the same way; it then waits for more than it has to.
pub fn is_committed_by(data: &[u8]) -> bool {
    let Some((magic, rest)) = data.split_first_chunk::<4>() else {
        return false;
    };
    let kind = rest.first_chunk::<4>().copied().map(u32::from_be_bytes);
    *magic == MAGIC && kind.is_some_and(|kind| COMMITS.contains(&kind))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// As a commit begins.
    pub const COMMIT: [u8; 8] = [0xC0, 0x3B, 0x39, 0x98, 0, 0, 0, 2];

    #[test]
    fn a_commit_is_told_from_descriptors_and_data() {
        assert!(is_committed_by(&COMMIT));
        let mut descriptor = COMMIT;
        descriptor[7] = 1;
        assert!(!is_committed_by(&descriptor));
        assert!(!is_committed_by(&COMMIT[..7]) && !is_committed_by(&[0; 4096]));
    }
}
