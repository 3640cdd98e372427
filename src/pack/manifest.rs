//! The list of a pack's files with their digests, as `sha256sum -c` reads it.

use sha2::{Digest, Sha256};

/// Its own name.
pub const NAME: &str = "MANIFEST.sha256";

/// The digest of some bytes, in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A digest as text.
pub fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Its text: a line for each file, of digest and name.
pub fn text<'f>(files: impl Iterator<Item = (&'f str, &'f [u8])>) -> String {
    files
        .map(|(name, bytes)| format!("{}  {name}\n", digest(bytes)))
        .collect()
}

/// Names and digests of a text; `None` if that is no such list.
pub fn read(text: &str) -> Option<Vec<(&str, &str)>> {
    let is_digest =
        |digest: &&str| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let line = |line| {
        let (digest, name): (&str, &str) = str::split_once(line, "  ")?;
        Some((name, digest)).filter(|(name, digest)| !name.is_empty() && is_digest(digest))
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let files = [("a b", &b""[..]), ("x/c", &b"abc"[..])];
        let text = text(files.into_iter());
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert!(text.starts_with(&format!("{empty}  a b\n")), "{text}");
        let read = read(&text).expect("a list");
        assert_eq!(read[0], ("a b", empty));
        assert_eq!(read[1], ("x/c", &digest(b"abc")[..]));
        assert_eq!(super::read(&text[1..]), None);
        assert_eq!(super::read("no list\n"), None);
    }
}
