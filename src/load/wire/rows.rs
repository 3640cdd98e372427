//! Rows of a result in text: `ProtocolText::ResultsetRow` of the MySQL protocol.

use super::answer::lenenc;

/// The fields of a row as a server sent it. `None` unless these are exactly `N`, none of them NULL.
pub fn fields<const N: usize>(mut row: &[u8]) -> Option<[&[u8]; N]> {
    let mut fields: [&[u8]; N] = [&[]; N];
    for field in &mut fields {
        // NULL has a code of its own in place of a length.
        let (length, rest) = lenenc(row)?;
        let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        *field = value;
        row = rest;
    }
    row.is_empty().then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::super::answer::{Answer, Ended};
    use super::super::frame::{begin_packet, finish_packet};
    use super::*;

    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for payload in payloads {
            let start = begin_packet(&mut out);
            out.extend_from_slice(payload);
            finish_packet(&mut out, start, 1);
        }
        out
    }

    /// All rows of an answer that comes in two pieces, cut at every place.
    fn rows(deprecate_eof: bool, payloads: &[&[u8]]) -> Vec<Vec<u8>> {
        let bytes = packets(payloads);
        let mut seen: Option<Vec<Vec<u8>>> = None;
        for cut in 0..bytes.len() {
            let mut answer = Answer::new(deprecate_eof);
            answer.expect_result();
            let mut rows = Vec::new();
            let begun = answer.feed_rows(&bytes[..cut], |row| rows.push(row.to_vec()));
            assert_eq!(begun, None, "cut at {cut}");
            let ended = answer.feed_rows(&bytes[cut..], |row| rows.push(row.to_vec()));
            assert_eq!(ended, Some(Ended::Well { changed_rows: 0 }));
            assert_eq!(*seen.get_or_insert_with(|| rows.clone()), rows);
        }
        seen.unwrap()
    }

    #[test]
    fn rows_are_handed_out_and_nothing_else_is() {
        let (old, new) = ([0xfe, 0, 0, 2, 0], [0xfe, 0, 0, 2, 0, 0, 0]);
        let (one, two) = (b"\x011\x02ab", b"\x012\x00");
        let expected = [one.to_vec(), two.to_vec()];
        let with_eof: [&[u8]; 7] = [&[2], b"def", b"def", &old, one, two, &old];
        assert_eq!(rows(false, &with_eof), expected);
        let without: [&[u8]; 6] = [&[2], b"def", b"def", one, two, &new];
        assert_eq!(rows(true, &without), expected);
        let none: [&[u8]; 4] = [&[1], b"def", &old, &old];
        assert_eq!(rows(false, &none), [] as [Vec<u8>; 0]);
        assert_eq!(rows(true, &[&[0, 0, 0, 2, 0, 0, 0]]), [] as [Vec<u8>; 0]);
    }

    #[test]
    fn fields_are_as_many_as_were_asked_for() {
        let row = b"\x0217\x00\x03abc";
        assert_eq!(fields::<3>(row), Some([&b"17"[..], b"", b"abc"]));
        assert_eq!(fields::<2>(row), None);
        assert_eq!(fields::<4>(row), None);
        // Cut short, and NULL.
        assert_eq!(fields::<3>(&row[..row.len() - 1]), None);
        assert_eq!(fields::<1>(b"\xfb"), None);
        let long = [&[0xfc, 44, 1][..], &[b'x'; 300]].concat();
        assert_eq!(fields::<1>(&long), Some([&[b'x'; 300][..]]));
    }
}
