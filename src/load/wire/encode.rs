//! Commands, as bytes to send.

use super::frame::{begin_packet, finish_packet};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

const TYPE_LONGLONG: u8 = 0x08;
const TYPE_STRING: u8 = 0xfe;

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Sent with 64 bits, as sysbench binds its keys, too.
    Int(i64),
    Text(&'a [u8]),
}

/// Appends the end of a session.
pub fn quit(out: &mut Vec<u8>) {
    command(out, COM_QUIT, &[]);
}

/// Appends a statement in text.
pub fn query(out: &mut Vec<u8>, sql: &[u8]) {
    command(out, COM_QUERY, sql);
}

/// Appends the preparation of a statement.
pub fn prepare(out: &mut Vec<u8>, sql: &[u8]) {
    command(out, COM_STMT_PREPARE, sql);
}

fn command(out: &mut Vec<u8>, code: u8, body: &[u8]) {
    let start = begin_packet(out);
    out.push(code);
    out.extend_from_slice(body);
    finish_packet(out, start, 0);
}

/// Appends a statement in text, `pieces` with the values between them.
pub fn query_with<'a>(
    out: &mut Vec<u8>,
    pieces: &[Vec<u8>],
    values: impl Iterator<Item = Value<'a>>,
) {
    let start = begin_packet(out);
    out.push(COM_QUERY);
    let mut pieces = pieces.iter();
    out.extend(pieces.next().into_iter().flatten());
    for (value, piece) in values.zip(pieces) {
        literal(out, value);
        out.extend_from_slice(piece);
    }
    finish_packet(out, start, 0);
}

fn literal(out: &mut Vec<u8>, value: Value) {
    match value {
        Value::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Text(text) => {
            out.push(b'\'');
            for &byte in text {
                if matches!(byte, b'\'' | b'\\') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
            out.push(b'\'');
        }
    }
}

/// Appends the execution of the prepared statement `id`. The types of parameters go with the
/// first execution only, as MySQL's own client library does it.
pub fn execute<'a>(
    out: &mut Vec<u8>,
    id: u32,
    values: impl Iterator<Item = Value<'a>> + Clone,
    with_types: bool,
) {
    let start = begin_packet(out);
    out.push(COM_STMT_EXECUTE);
    out.extend_from_slice(&id.to_le_bytes());
    // No cursor; one iteration.
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    let count = values.clone().count();
    if count > 0 {
        // No value is NULL.
        out.resize(out.len() + count.div_ceil(8), 0);
        out.push(u8::from(with_types));
        if with_types {
            values
                .clone()
                .for_each(|value| out.extend([type_of(value), 0]));
        }
        values.for_each(|value| binary(out, value));
    }
    finish_packet(out, start, 0);
}

fn type_of(value: Value) -> u8 {
    match value {
        Value::Int(_) => TYPE_LONGLONG,
        Value::Text(_) => TYPE_STRING,
    }
}

fn binary(out: &mut Vec<u8>, value: Value) {
    match value {
        Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Text(text) => {
            match text.len() {
                length @ 0..=250 => out.push(length as u8),
                length => {
                    out.push(0xfe);
                    out.extend_from_slice(&(length as u64).to_le_bytes());
                }
            }
            out.extend_from_slice(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_statements_hold_their_values() {
        let pieces = [
            b"UPDATE t SET c=".to_vec(),
            b" WHERE id=".to_vec(),
            Vec::new(),
        ];
        let values = [Value::Text(b"it's \\"), Value::Int(-5)];
        let mut out = Vec::new();
        query_with(&mut out, &pieces, values.into_iter());
        let sql = br"UPDATE t SET c='it\'s \\' WHERE id=-5";
        assert_eq!(out[..5], [sql.len() as u8 + 1, 0, 0, 0, COM_QUERY]);
        assert_eq!(out[5..], sql[..]);
        let mut plain = Vec::new();
        query(&mut plain, sql);
        assert_eq!(plain, out);
    }

    #[test]
    fn executions_are_laid_out_as_the_protocol_says() {
        let values = [Value::Int(7), Value::Int(-1), Value::Text(b"ab")];
        let mut out = Vec::new();
        execute(&mut out, 0x0102, values.into_iter(), true);
        let head = [COM_STMT_EXECUTE, 2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1];
        let types = [TYPE_LONGLONG, 0, TYPE_LONGLONG, 0, TYPE_STRING, 0];
        let body = [&[7, 0, 0, 0, 0, 0, 0, 0][..], &[255; 8], &[2, b'a', b'b']].concat();
        let payload = [&head[..], &types, &body[..]].concat();
        assert_eq!(out[..4], [payload.len() as u8, 0, 0, 0]);
        assert_eq!(out[4..], payload);

        out.clear();
        execute(&mut out, 0x0102, values.into_iter(), false);
        let payload = [&head[..11], &[0], &body[..]].concat();
        assert_eq!(out[4..], payload);

        out.clear();
        execute(&mut out, 1, [].into_iter(), true);
        assert_eq!(out[4..], [COM_STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn long_texts_carry_a_long_length() {
        let text = vec![b'x'; 251];
        let mut out = Vec::new();
        execute(&mut out, 1, [Value::Text(&text)].into_iter(), true);
        let at = 4 + 10 + 1 + 1 + 2;
        assert_eq!(out[at..at + 9], [0xfe, 251, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out.len(), at + 9 + 251);
    }

    #[test]
    fn quitting_is_one_byte() {
        let mut out = Vec::new();
        quit(&mut out);
        assert_eq!(out, [1, 0, 0, 0, 1]);
    }
}
