//! Messages as bytes.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use crate::lab::disk::copies::book::{PastGeneration, Reign};
use crate::lab::disk::copies::promote::{Survey, Touch};
use crate::lab::disk::copies::wire::{
    DATA_BYTES_MAX, Hello, Inbox, Malformed, Message, VERSION, Welcome,
};

fn data() -> impl Strategy<Value = Arc<[u8]>> {
    prop::collection::vec(any::<u8>(), 0..5000).prop_map(Arc::from)
}

fn hello() -> impl Strategy<Value = Message> {
    let line = any::<(u64, u64)>().prop_map(|(generation, last_epoch)| PastGeneration {
        generation,
        last_epoch,
    });
    let before = prop::collection::vec(line, 0..5);
    (before, any::<[u64; 5]>(), any::<u32>()).prop_map(|(before, numbers, timeout_us)| {
        let [volume, generation, sealed, bytes, answer_bytes] = numbers;
        Message::Hello(Hello {
            reign: Reign {
                volume,
                generation,
                before,
            },
            sealed,
            bytes,
            timeout: Duration::from_micros(timeout_us.into()),
            answer_bytes,
        })
    })
}

fn survey() -> impl Strategy<Value = Message> {
    let touch = prop_oneof![
        Just(Touch::Proven),
        Just(Touch::Unsure),
        Just(Touch::Behind)
    ];
    (any::<[u64; 6]>(), touch).prop_map(|(numbers, touch)| {
        let [volume, generation, sealed, seq, durable_epoch, led] = numbers;
        Message::Promised(Survey {
            volume,
            generation,
            sealed,
            seq,
            durable_epoch,
            led,
            touch,
        })
    })
}

fn welcome() -> impl Strategy<Value = Message> {
    any::<([u64; 3], bool)>().prop_map(|([volume, generation, epoch], is_exact)| {
        Message::Welcome(Welcome {
            volume,
            generation,
            epoch,
            is_exact,
        })
    })
}

fn short() -> impl Strategy<Value = Message> {
    (0..11_u8, any::<[u64; 2]>()).prop_map(|(which, [first, second])| match which {
        0 => Message::Refused { generation: first },
        1 => Message::Unfit { bytes: first },
        2 => Message::Resync {
            is_full: first % 2 == 0,
        },
        3 => Message::Synced { seq: first },
        4 => Message::Flush { epoch: first },
        5 => Message::Received {
            seq: first,
            bytes: second,
        },
        6 => Message::Durable { epoch: first },
        7 => Message::Counted,
        8 => Message::Ping { token: first },
        9 => Message::Pong { token: first },
        _ => Message::Promise { generation: first },
    })
}

fn message() -> impl Strategy<Value = Message> {
    let block = (any::<(u64, u64)>(), data());
    let write = (any::<(u64, u64)>(), data());
    prop_oneof![
        hello(),
        survey(),
        welcome(),
        short(),
        block.prop_map(|((epoch, offset), data)| Message::Block {
            epoch,
            offset,
            data
        }),
        write.prop_map(|((seq, offset), data)| Message::Write { seq, offset, data }),
    ]
}

fn encode(messages: &[Message]) -> Vec<u8> {
    let mut bytes = Vec::new();
    messages
        .iter()
        .for_each(|message| message.encode(&mut bytes));
    bytes
}

fn read(bytes: &[u8]) -> Result<Option<Message>, Malformed> {
    let mut inbox = Inbox::default();
    inbox.extend(bytes);
    inbox.next_message()
}

proptest! {
    #[test]
    fn messages_survive_however_the_bytes_come(
        messages in prop::collection::vec(message(), 1..6),
        piece in 1..6000_usize,
    ) {
        let mut inbox = Inbox::default();
        let mut found = Vec::new();
        for piece in encode(&messages).chunks(piece) {
            inbox.extend(piece);
            while let Some(message) = inbox.next_message().expect("messages") {
                found.push(message);
            }
        }
        prop_assert_eq!(found, messages);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let framed = [&(bytes.len() as u32).to_le_bytes()[..], &[VERSION], &bytes].concat();
        let _ = read(&framed);
        let _ = read(&bytes);
    }

    #[test]
    fn a_frame_cut_short_or_drawn_out_is_no_message(message in short()) {
        let mut bytes = encode(&[message]);
        let length = bytes.len() as u32 - 4;
        bytes.push(0);
        bytes[..4].copy_from_slice(&(length + 1).to_le_bytes());
        prop_assert_eq!(read(&bytes), Err(Malformed::Fields));
        if length > 2 {
            bytes[..4].copy_from_slice(&(length - 1).to_le_bytes());
            prop_assert_eq!(read(&bytes), Err(Malformed::Fields));
        }
    }
}

#[test]
fn a_full_message_fits() {
    let data: Arc<[u8]> = vec![1; DATA_BYTES_MAX].into();
    let (seq, offset) = (1, 2);
    let message = Message::Write { seq, offset, data };
    assert_eq!(
        read(&encode(std::slice::from_ref(&message))),
        Ok(Some(message))
    );
}

#[test]
fn what_is_wrong_is_said() {
    let frame = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    assert_eq!(read(&frame(&[9, 12])), Err(Malformed::Version(9)));
    assert_eq!(read(&frame(&[VERSION, 99])), Err(Malformed::Kind(99)));
    assert_eq!(read(&frame(&[VERSION])), Err(Malformed::Fields));
    let too_long = u32::MAX.to_le_bytes();
    assert_eq!(read(&too_long), Err(Malformed::TooLong(u32::MAX.into())));
    // A flag that is neither yes nor no.
    assert_eq!(read(&frame(&[VERSION, 5, 2])), Err(Malformed::Fields));
    let mut hello = vec![VERSION, 1];
    hello.extend([0; 6 * 8]);
    hello.extend(u64::MAX.to_le_bytes());
    assert_eq!(read(&frame(&hello)), Err(Malformed::TooLong(u64::MAX)));
}
