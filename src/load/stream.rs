//! A non-blocking TCP connection, plain or through TLS.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, connect, socket};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};

use crate::error::Result;
use crate::lab::endpoint::Guest;

/// One connection. Reads and writes fail with `WouldBlock` rather than wait.
pub struct Stream {
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
    /// Bytes that the socket did not take yet.
    unsent: Vec<u8>,
}

impl Stream {
    /// Begins to connect; the socket becomes writable when that has ended.
    pub fn connect(target: SocketAddr) -> io::Result<Self> {
        let family = if target.is_ipv4() {
            AddressFamily::Inet
        } else {
            AddressFamily::Inet6
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket(family, SockType::Stream, flags, None)?;
        match connect(fd.as_raw_fd(), &SockaddrStorage::from(target)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        // SAFETY: the descriptor is ours, open and a TCP socket; ownership moves with it.
        let socket = unsafe { TcpStream::from_raw_fd(fd.into_raw_fd()) };
        socket.set_nodelay(true)?;
        Ok(Stream {
            socket,
            tls: None,
            unsent: Vec::new(),
        })
    }

    /// How connecting ended.
    pub fn connected(&self) -> io::Result<()> {
        self.socket.take_error()?.map_or(Ok(()), Err)
    }

    /// Everything after this goes through TLS.
    pub fn start_tls(&mut self, tls: &Tls) -> io::Result<()> {
        let address = ServerName::from(self.socket.peer_addr()?.ip());
        let name = tls.server_name.clone().unwrap_or(address);
        let connection = ClientConnection::new(tls.config.clone(), name);
        let mut tls = connection.map_err(io::Error::other)?;
        tls.set_buffer_limit(None);
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Whether one short read says that nothing more is waiting.
    pub fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// Reads what there is; 0 bytes mean that the server has closed.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.socket.read(buffer);
        };
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if tls.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            tls.process_new_packets().map_err(io::Error::other)?;
            // The handshake answers by itself.
            flush_tls(tls, &mut self.socket)?;
        }
    }

    /// Sends all of it, now or when the socket is writable again.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(bytes)?;
            return flush_tls(tls, &mut self.socket);
        }
        let mut sent = 0;
        if self.unsent.is_empty() {
            sent = write_some(&mut self.socket, bytes)?;
        }
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Goes on with what was not sent yet.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            return flush_tls(tls, &mut self.socket);
        }
        if !self.unsent.is_empty() {
            let sent = write_some(&mut self.socket, &self.unsent)?;
            self.unsent.drain(..sent);
        }
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Writes until all is gone or the socket is full; tells how much.
fn write_some(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match socket.write(&bytes[sent..]) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

fn flush_tls(tls: &mut ClientConnection, socket: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(socket) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How a job's connections are encrypted.
pub struct Tls {
    config: Arc<ClientConfig>,
    /// What the certificate must be for, where it is verified.
    server_name: Option<ServerName<'static>>,
}

impl Tls {
    /// Verified on a server of somebody else's.
    ///
    /// # Errors
    /// A breakdown if a guest's name or authorities are of no use.
    pub fn of(guest: Option<&Guest>) -> Result<Tls> {
        Ok(Tls {
            config: match guest {
                Some(guest) => verifying(guest)?,
                None => tls_config(),
            },
            server_name: guest.map(Guest::name).transpose()?,
        })
    }
}

fn verifying(guest: &Guest) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the default versions")
        .with_root_certificates(guest.roots()?)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// TLS as database clients mostly use it: encrypted, the server's certificate not verified, since
/// the servers of a lab make their own.
fn tls_config() -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let schemes = provider
        .signature_verification_algorithms
        .supported_schemes();
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the default versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(schemes)))
        .with_no_client_auth();
    Arc::new(config)
}

#[derive(Debug)]
struct AnyCertificate(Vec<SignatureScheme>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}
