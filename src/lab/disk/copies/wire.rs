//! What copies say to each other, as binary frames: length, version, kind, fields. Numbers are
//! little-endian. TCP keeps bytes right and in order, so that there is no checksum; sizes are
//! checked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::book::{PastGeneration, Reign};
use super::promote::{Survey, Touch};

/// Frames of another version are refused.
pub const VERSION: u8 = 1;
/// Most data bytes in one message. FUSE writes no more than 1 MiB at once.
pub const DATA_BYTES_MAX: usize = 4 << 20;
/// Most bytes of a frame after its length: room for the fields beside the data.
const FRAME_BYTES_MAX: usize = DATA_BYTES_MAX + 4096;
/// Most ended generations told in one `Hello`: a volume is not promoted that often.
const GENERATIONS_MAX: usize = 100_000;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The head's first.
    Hello(Hello),
    /// The copy's answer: what it durably holds.
    Welcome(Welcome),
    /// The copy has promised to obey this generation or newer ones only.
    Refused {
        generation: u64,
    },
    /// The copy's image has another size than the head's.
    Unfit {
        bytes: u64,
    },
    /// From the head: blocks follow, and the copy does not count until it is told so. If `is_full`,
    /// all that is not sent is zero.
    Resync {
        is_full: bool,
    },
    /// A block as it now is, last changed in that epoch.
    Block {
        epoch: u64,
        offset: u64,
        data: Arc<[u8]>,
    },
    /// That was the last block: with it the copy has all up to this write.
    Synced {
        seq: u64,
    },
    /// A write; each has a greater number than the last.
    Write {
        seq: u64,
        offset: u64,
        data: Arc<[u8]>,
    },
    /// All sent so far belongs to this epoch or earlier ones: make it durable, and say so.
    Flush {
        epoch: u64,
    },
    /// From the copy: it has received so many data bytes on this connection, the write of this
    /// number being the last one.
    Received {
        seq: u64,
        bytes: u64,
    },
    /// From the copy: this epoch is durable, and all before it.
    Durable {
        epoch: u64,
    },
    /// From the head: the copy counts from now on.
    Counted,
    /// To be sent back at once.
    Ping {
        token: u64,
    },
    Pong {
        token: u64,
    },
    /// From whoever promotes: obey this generation or newer ones only, and say what you hold.
    Promise {
        generation: u64,
    },
    /// The answer to a promise that was given; one that was not is answered by `Refused`.
    Promised(Survey),
}

/// What a head says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    pub reign: Reign,
    /// Epochs begun.
    pub sealed: u64,
    /// Size of the image.
    pub bytes: u64,
    /// The head goes on alone no sooner than this after it last heard a copy.
    pub timeout: Duration,
    /// `Received` is wanted whenever so many bytes have come.
    pub answer_bytes: u64,
}

/// What a copy durably holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Welcome {
    pub volume: u64,
    pub generation: u64,
    pub epoch: u64,
    /// Whether it holds that, and nothing else.
    pub is_exact: bool,
}

/// Why bytes are no message. The connection cannot be used after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    Version(u8),
    Kind(u8),
    /// Bytes of a frame, or things in a list.
    TooLong(u64),
    /// The fields do not fill the frame, or the frame does not hold them.
    Fields,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Version(given) => write!(f, "version {given}; this is version {VERSION}"),
            Malformed::Kind(given) => write!(f, "unknown kind of message {given}"),
            Malformed::TooLong(given) => write!(f, "length {given} is beyond all bounds"),
            Malformed::Fields => write!(f, "fields and frame differ in length"),
        }
    }
}

impl std::error::Error for Malformed {}

impl Message {
    /// Data bytes carried, which are what queues are measured in.
    pub fn data_bytes(&self) -> u64 {
        match self {
            Message::Block { data, .. } | Message::Write { data, .. } => data.len() as u64,
            _ => 0,
        }
    }

    /// Appends the message's frame.
    ///
    /// # Panics
    /// With more than [`DATA_BYTES_MAX`] of data.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.extend_from_slice(&[0; 4]);
        into.push(VERSION);
        into.push(self.kind());
        self.encode_fields(into);
        let bytes = into.len() - start - 4;
        assert!(bytes <= FRAME_BYTES_MAX, "a message of {bytes} bytes");
        into[start..start + 4].copy_from_slice(&(bytes as u32).to_le_bytes());
    }

    fn kind(&self) -> u8 {
        match self {
            Message::Hello(_) => 1,
            Message::Welcome(_) => 2,
            Message::Refused { .. } => 3,
            Message::Unfit { .. } => 4,
            Message::Resync { .. } => 5,
            Message::Block { .. } => 6,
            Message::Synced { .. } => 7,
            Message::Write { .. } => 8,
            Message::Flush { .. } => 9,
            Message::Received { .. } => 10,
            Message::Durable { .. } => 11,
            Message::Counted => 12,
            Message::Ping { .. } => 13,
            Message::Pong { .. } => 14,
            Message::Promise { .. } => 15,
            Message::Promised(_) => 16,
        }
    }

    fn encode_fields(&self, into: &mut Vec<u8>) {
        match self {
            Message::Hello(hello) => hello.encode(into),
            Message::Welcome(welcome) => welcome.encode(into),
            Message::Refused { generation } | Message::Promise { generation } => {
                put(into, &[*generation]);
            }
            Message::Unfit { bytes } => put(into, &[*bytes]),
            Message::Resync { is_full } => into.push(u8::from(*is_full)),
            Message::Block {
                epoch: number,
                offset,
                data,
            }
            | Message::Write {
                seq: number,
                offset,
                data,
            } => {
                put(into, &[*number, *offset]);
                into.extend_from_slice(data);
            }
            Message::Synced { seq } => put(into, &[*seq]),
            Message::Flush { epoch } | Message::Durable { epoch } => put(into, &[*epoch]),
            Message::Received { seq, bytes } => put(into, &[*seq, *bytes]),
            Message::Counted => (),
            Message::Ping { token } | Message::Pong { token } => put(into, &[*token]),
            Message::Promised(survey) => survey.encode(into),
        }
    }

    /// Reads the fields of one frame.
    fn decode(kind: u8, fields: &[u8]) -> Result<Message, Malformed> {
        let mut fields = Fields(fields);
        let message = match kind {
            1 => Message::Hello(Hello::decode(&mut fields)?),
            2 => Message::Welcome(Welcome::decode(&mut fields)?),
            3 => Message::Refused {
                generation: fields.number()?,
            },
            4 => Message::Unfit {
                bytes: fields.number()?,
            },
            5 => Message::Resync {
                is_full: fields.flag()?,
            },
            6 => Message::Block {
                epoch: fields.number()?,
                offset: fields.number()?,
                data: fields.rest(),
            },
            7 => Message::Synced {
                seq: fields.number()?,
            },
            8 => Message::Write {
                seq: fields.number()?,
                offset: fields.number()?,
                data: fields.rest(),
            },
            _ => return Message::decode_short(kind, fields),
        };
        fields.end(message)
    }

    /// The kinds that have numbers only.
    fn decode_short(kind: u8, mut fields: Fields) -> Result<Message, Malformed> {
        let message = match kind {
            9 => Message::Flush {
                epoch: fields.number()?,
            },
            10 => Message::Received {
                seq: fields.number()?,
                bytes: fields.number()?,
            },
            11 => Message::Durable {
                epoch: fields.number()?,
            },
            12 => Message::Counted,
            13 => Message::Ping {
                token: fields.number()?,
            },
            14 => Message::Pong {
                token: fields.number()?,
            },
            15 => Message::Promise {
                generation: fields.number()?,
            },
            16 => Message::Promised(Survey::decode(&mut fields)?),
            other => return Err(Malformed::Kind(other)),
        };
        fields.end(message)
    }
}

impl Hello {
    fn encode(&self, into: &mut Vec<u8>) {
        let reign = &self.reign;
        let timeout_us = self.timeout.as_micros() as u64;
        put(into, &[reign.volume, reign.generation, self.sealed]);
        put(into, &[self.bytes, timeout_us, self.answer_bytes]);
        put(into, &[reign.before.len() as u64]);
        for past in &reign.before {
            put(into, &[past.generation, past.last_epoch]);
        }
    }

    fn decode(fields: &mut Fields) -> Result<Hello, Malformed> {
        let [volume, generation, sealed] = fields.numbers()?;
        let [bytes, timeout_us, answer_bytes, generations] = fields.numbers()?;
        if generations > GENERATIONS_MAX as u64 {
            return Err(Malformed::TooLong(generations));
        }
        let past = |_| {
            fields
                .numbers()
                .map(|[generation, last_epoch]| PastGeneration {
                    generation,
                    last_epoch,
                })
        };
        let before = (0..generations).map(past).collect::<Result<_, _>>()?;
        Ok(Hello {
            reign: Reign {
                volume,
                generation,
                before,
            },
            sealed,
            bytes,
            timeout: Duration::from_micros(timeout_us),
            answer_bytes,
        })
    }
}

impl Welcome {
    fn encode(self, into: &mut Vec<u8>) {
        put(into, &[self.volume, self.generation, self.epoch]);
        into.push(u8::from(self.is_exact));
    }

    fn decode(fields: &mut Fields) -> Result<Welcome, Malformed> {
        let [volume, generation, epoch] = fields.numbers()?;
        Ok(Welcome {
            volume,
            generation,
            epoch,
            is_exact: fields.flag()?,
        })
    }
}

impl Survey {
    fn encode(self, into: &mut Vec<u8>) {
        put(into, &[self.volume, self.generation, self.sealed, self.seq]);
        put(into, &[self.durable_epoch, self.led]);
        into.push(self.touch as u8);
    }

    fn decode(fields: &mut Fields) -> Result<Survey, Malformed> {
        let [volume, generation, sealed, seq] = fields.numbers()?;
        let [durable_epoch, led] = fields.numbers()?;
        let touch = match fields.byte()? {
            0 => Touch::Proven,
            1 => Touch::Unsure,
            2 => Touch::Behind,
            3 => Touch::DurableOnly,
            _ => return Err(Malformed::Fields),
        };
        Ok(Survey {
            volume,
            generation,
            sealed,
            seq,
            durable_epoch,
            led,
            touch,
        })
    }
}

/// Appends numbers.
fn put(into: &mut Vec<u8>, numbers: &[u64]) {
    for number in numbers {
        into.extend_from_slice(&number.to_le_bytes());
    }
}

/// The unread fields of a frame.
struct Fields<'f>(&'f [u8]);

impl Fields<'_> {
    fn number(&mut self) -> Result<u64, Malformed> {
        let (number, rest) = self.0.split_first_chunk().ok_or(Malformed::Fields)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    fn numbers<const COUNT: usize>(&mut self) -> Result<[u64; COUNT], Malformed> {
        let mut numbers = [0; COUNT];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Ok(numbers)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let (byte, rest) = self.0.split_first().ok_or(Malformed::Fields)?;
        self.0 = rest;
        Ok(*byte)
    }

    fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Fields),
        }
    }

    fn rest(&mut self) -> Arc<[u8]> {
        std::mem::take(&mut self.0).into()
    }

    fn end(self, message: Message) -> Result<Message, Malformed> {
        match self.0 {
            [] => Ok(message),
            _ => Err(Malformed::Fields),
        }
    }
}

/// Bytes as they come, cut into messages.
#[derive(Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// How far they have been read.
    read: usize,
}

impl Inbox {
    /// More bytes have come.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message that has come in full.
    ///
    /// # Errors
    /// When the bytes are no message; then no later one can be found either.
    pub fn next_message(&mut self) -> Result<Option<Message>, Malformed> {
        let Some((length, rest)) = self.bytes[self.read..].split_first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(Malformed::TooLong(length as u64));
        }
        let Some(frame) = rest.get(..length) else {
            return Ok(None);
        };
        let message = match frame {
            [VERSION, kind, fields @ ..] => Message::decode(*kind, fields)?,
            [version, _, ..] => return Err(Malformed::Version(*version)),
            _ => return Err(Malformed::Fields),
        };
        self.read += 4 + length;
        Ok(Some(message))
    }
}
