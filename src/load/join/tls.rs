//! TLS between a run and its drivers: a certificate for the run, made as it begins, which drivers
//! know by its fingerprint and by nothing else.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{KeepAlive, TcpKeepIdle, TcpKeepInterval, TcpUserTimeout};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme,
};
use sha2::{Digest, Sha256};

use crate::error::{Result, Tried};

/// What a run's certificate is for. No name is looked at: it is known by its fingerprint.
const NAME: &str = "acklab";
/// A peer that is silent for so long is asked whether it is there,
const ASK_AFTER: Duration = Duration::from_secs(15);
/// again and again,
const ASK_EVERY: Duration = Duration::from_secs(5);
/// and is gone if it acknowledges nothing for so long. That is looked at when it is asked.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// A run's side.
pub struct Identity {
    pub config: Arc<ServerConfig>,
    /// SHA-256 of its certificate, hexadecimal.
    pub fingerprint: String,
}

impl Identity {
    /// Makes a certificate and its key, which are kept in memory alone.
    ///
    /// # Errors
    /// A breakdown if there is none to be had.
    pub fn new() -> Result<Identity> {
        let tried = || "make the run's certificate".to_owned();
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).tried(tried)?;
        let certificate = made.cert.der().clone();
        let fingerprint = fingerprint(&certificate);
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .tried(tried)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key.into())
            .tried(tried)?;
        Ok(Identity {
            config: Arc::new(config),
            fingerprint,
        })
    }
}

/// A driver's side: only the certificate of that fingerprint is believed.
pub fn believing(fingerprint: &str) -> Arc<ClientConfig> {
    let provider = provider();
    let pinned = Pinned {
        fingerprint: fingerprint.to_ascii_lowercase(),
        algorithms: provider.signature_verification_algorithms,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .expect("the provider knows TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth();
    Arc::new(config)
}

/// What a driver calls the run.
pub fn name() -> ServerName<'static> {
    ServerName::try_from(NAME).expect("a name")
}

/// Whether a handshake ended because the certificate was another than the ticket names.
pub fn is_other_certificate(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    inner == Some(&OTHER)
}

/// Notices when the machine at the other end is gone without a word, and sends lines at once.
///
/// # Errors
/// A breakdown if the system refuses it.
pub fn mind(socket: &TcpStream) -> Result<()> {
    let tried = || "set up a driver's connection".to_owned();
    let silence_ms = u32::try_from(SILENCE_LIMIT.as_millis()).unwrap_or(u32::MAX);
    let seconds = |span: Duration| u32::try_from(span.as_secs()).unwrap_or(u32::MAX);
    socket.set_nodelay(true).tried(tried)?;
    setsockopt(socket, KeepAlive, &true).tried(tried)?;
    setsockopt(socket, TcpKeepIdle, &seconds(ASK_AFTER)).tried(tried)?;
    setsockopt(socket, TcpKeepInterval, &seconds(ASK_EVERY)).tried(tried)?;
    setsockopt(socket, TcpUserTimeout, &silence_ms).tried(tried)
}

/// What the verifier says of another certificate.
const OTHER: rustls::Error =
    rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    hex(&Sha256::digest(certificate))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Believes one certificate. That its key is there is verified as for any other.
#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        match fingerprint(end_entity) == self.fingerprint {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(OTHER),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use nix::sys::socket::getsockopt;

    use super::*;

    /// The system looks whether the limit is over only when it asks: 75 s apart by itself.
    #[test]
    fn a_silent_peer_is_asked_often_enough_for_the_limit_to_be_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        mind(&socket).unwrap();
        let first = getsockopt(&socket, TcpKeepIdle).unwrap();
        let next = getsockopt(&socket, TcpKeepInterval).unwrap();
        let limit_ms = getsockopt(&socket, TcpUserTimeout).unwrap();
        assert_eq!((first, next, limit_ms), (15, 5, 30_000));
    }
}
