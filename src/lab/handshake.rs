//! Round-trip time as TCP's handshake shows it: from the first packet until the answer to it. Any
//! server answers that, whatever it lets a user see.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::error::{Result, Tried};
use crate::study::network::HANDSHAKES;

/// An answer later than this is none.
const LIMIT: Duration = Duration::from_secs(5);

/// Makes some connections, one after another, and closes them at once: what each took, in µs.
/// `place` is what a message calls the target.
///
/// # Errors
/// A breakdown if nothing answers there.
pub fn rtts_us(target: SocketAddr, place: &str) -> Result<Vec<f64>> {
    (0..HANDSHAKES).map(|_| rtt_us(target, place)).collect()
}

/// One of them.
///
/// # Errors
/// As there.
pub fn rtt_us(target: SocketAddr, place: &str) -> Result<f64> {
    let begin = Instant::now();
    let stream = TcpStream::connect_timeout(&target, LIMIT);
    let rtt_us = begin.elapsed().as_secs_f64() * 1e6;
    stream.tried(|| format!("connect to {place} ({target})"))?;
    Ok(rtt_us)
}
