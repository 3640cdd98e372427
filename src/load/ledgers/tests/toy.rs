//! Servers that are told what to answer.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::self_test::null_server::{ONE_ROW, greeting};

/// What a server does about a statement.
pub enum Reply {
    Ok,
    /// A result of rows, each of as many fields.
    Rows(Vec<Vec<String>>),
    Error(u16),
    /// It answers neither this nor anything else.
    Silence,
    HangUp,
}

const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];

/// A running server.
pub struct Toy {
    pub address: SocketAddr,
    logins: Arc<AtomicU64>,
}

impl Toy {
    /// `answer` is asked for each statement, in the order in which they come.
    pub fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Toy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let logins = Arc::<AtomicU64>::default();
        let (answer, counted) = (Arc::new(answer), Arc::clone(&logins));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, counted) = (Arc::clone(&answer), Arc::clone(&counted));
                // It ends with its connection.
                thread::spawn(move || serve(stream, &counted, &*answer));
            }
        });
        Toy { address, logins }
    }

    /// One that says yes to everything, and that it takes writes.
    pub fn yes() -> Toy {
        Toy::start(|sql| match sql.starts_with("SELECT @@") {
            true => Reply::Rows(vec![vec!["0".into()]]),
            false => Reply::Ok,
        })
    }

    pub fn logins(&self) -> u64 {
        self.logins.load(Ordering::SeqCst)
    }
}

fn serve(
    mut stream: TcpStream,
    logins: &AtomicU64,
    answer: &dyn Fn(&str) -> Reply,
) -> io::Result<()> {
    send(&mut stream, &[&greeting()])?;
    receive(&mut stream)?;
    send(&mut stream, &[&ONE_ROW])?;
    logins.fetch_add(1, Ordering::SeqCst);
    loop {
        let command = receive(&mut stream)?;
        let Some((3, sql)) = command.split_first() else {
            return Ok(());
        };
        match answer(&String::from_utf8_lossy(sql)) {
            Reply::Ok => send(&mut stream, &[&ONE_ROW])?,
            Reply::Rows(rows) => send_rows(&mut stream, &rows)?,
            Reply::Error(number) => {
                let [low, high] = number.to_le_bytes();
                let error = [&[0xff, low, high][..], b"#HY000as it was told"].concat();
                send(&mut stream, &[&error])?;
            }
            // Until its client gives up.
            Reply::Silence => {
                while receive(&mut stream).is_ok() {}
                return Ok(());
            }
            Reply::HangUp => return Ok(()),
        }
    }
}

fn send_rows(stream: &mut TcpStream, rows: &[Vec<String>]) -> io::Result<()> {
    let columns = rows.first().map_or(1, Vec::len);
    let count = [columns as u8];
    let rows: Vec<Vec<u8>> = rows.iter().map(|row| encoded(row)).collect();
    let mut packets = vec![&count[..]];
    packets.extend((0..columns).map(|_| &b"def"[..]));
    packets.push(&EOF);
    packets.extend(rows.iter().map(Vec::as_slice));
    packets.push(&EOF);
    send(stream, &packets)
}

fn encoded(row: &[String]) -> Vec<u8> {
    let field = |field: &String| [&[field.len() as u8][..], field.as_bytes()].concat();
    row.iter().flat_map(field).collect()
}

/// All at once. Our clients mind no sequence numbers.
fn send(stream: &mut TcpStream, payloads: &[&[u8]]) -> io::Result<()> {
    let framed = |payload: &&[u8]| {
        let head = [payload.len() as u8, 0, 0, 0];
        [&head[..], payload].concat()
    };
    let bytes: Vec<u8> = payloads.iter().flat_map(framed).collect();
    stream.write_all(&bytes)
}

fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// Sleeps a little, for whoever waits for another thread.
pub fn nap() {
    thread::sleep(Duration::from_millis(1));
}
