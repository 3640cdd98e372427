//! Where an endpoint's name leads, and the round trips to it.

use std::net::{SocketAddr, ToSocketAddrs};

use super::access::Access;
use super::connection::Connection;
use crate::error::{Result, Tried, breakdown};
use crate::lab::handshake::{rtt_us, rtts_us};
use crate::study::endpoint::Address;

/// Round trips to a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Handshake {
    /// Where its name led.
    pub target: SocketAddr,
    /// In the order in which they were made.
    pub rtts_us: Vec<f64>,
}

/// Makes some connections and closes them at once, then logs in once: a server that looks up its
/// clients' names counts connections that come to nothing, and with `max_connect_errors` of them
/// in a row it locks their host out for good. A login ends the row, so it is tried after a failure
/// as well.
///
/// # Errors
/// A breakdown if the name leads nowhere, or nothing answers there; as [`Connection::open`].
pub fn handshakes(access: &Access) -> Result<Handshake> {
    let made = bare(&access.address);
    let logged_in = Connection::try_login(access);
    let made = made?;
    logged_in?;
    Ok(made)
}

fn bare(address: &Address) -> Result<Handshake> {
    let target = first_that_answers(address)?;
    Ok(Handshake {
        target,
        rtts_us: rtts_us(target, &address.place())?,
    })
}

fn first_that_answers(address: &Address) -> Result<SocketAddr> {
    let tried = || format!("find {}", address.place());
    let found = (address.host.as_str(), address.port).to_socket_addrs();
    let mut last = breakdown(tried(), "no address is known for this name");
    for target in found.tried(tried)? {
        match rtt_us(target, &address.place()) {
            Ok(_) => return Ok(target),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::study::network::HANDSHAKES;

    #[test]
    fn handshakes_are_made_with_whoever_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        let address = Address {
            user: "u".into(),
            host: "127.0.0.1".into(),
            port: target.port(),
        };
        let made = bare(&address).unwrap();
        assert_eq!((made.target, made.rtts_us.len()), (target, HANDSHAKES));
        assert!(made.rtts_us.iter().all(|us| *us > 0.0));
        drop(listener);
        let error = bare(&address).unwrap_err().to_string();
        assert!(
            error.contains("127.0.0.1") && error.contains("refused"),
            "{error}"
        );
    }
}
