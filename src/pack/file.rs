//! A file of a pack.

/// One file of a pack: its name below the pack's folder, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl File {
    pub fn new(name: &str, bytes: impl Into<Vec<u8>>) -> File {
        File {
            name: name.to_owned(),
            bytes: bytes.into(),
        }
    }
}
