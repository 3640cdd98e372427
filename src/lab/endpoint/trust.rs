//! Whom a client believes: well-known authorities, and those that a study names.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use mysql::SslOpts;
use nix::sys::memfd::{MFdFlags, memfd_create};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde::{Deserialize, Serialize};

use crate::error::{Result, Tried, breakdown};

/// What a load must keep to on a server of somebody else's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// What the server's certificate must be for, where TLS is on: a name or an address.
    pub server_name: String,
    /// Authorities beside the well-known ones, as PEM.
    pub ca_pem: Option<String>,
}

impl Guest {
    /// The authorities to verify by.
    ///
    /// # Errors
    /// A breakdown if the study's cannot be read.
    pub fn roots(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let pem = self.ca_pem.as_deref().unwrap_or_default();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.tried(|| "read the certificates of `ca`".into())?;
            let added = roots.add(certificate);
            added.tried(|| "take a certificate of `ca` for an authority's".into())?;
        }
        Ok(roots)
    }

    /// What the certificate must be for.
    ///
    /// # Errors
    /// A breakdown if it is neither a name nor an address.
    pub fn name(&self) -> Result<ServerName<'static>> {
        let name = ServerName::try_from(self.server_name.clone());
        name.map_err(|_| {
            let tried = format!("verify a certificate for {}", self.server_name);
            breakdown(tried, "that is neither a name nor an address")
        })
    }
}

/// The same for connections of the mysql crate, which takes authorities from files only. These are
/// in memory, and gone with this value.
#[derive(Debug)]
pub struct Authorities {
    file: Option<File>,
}

impl Authorities {
    /// Keeps a PEM text where it can be opened by path.
    ///
    /// # Errors
    /// A breakdown if the kernel gives no memory file.
    pub fn of(ca_pem: Option<&str>) -> Result<Authorities> {
        let Some(pem) = ca_pem else {
            return Ok(Authorities { file: None });
        };
        let tried = || "keep the certificates of `ca` in memory".to_owned();
        let memory = memfd_create("ca.pem", MFdFlags::MFD_CLOEXEC).tried(tried)?;
        let mut file = File::from(memory);
        file.write_all(pem.as_bytes()).tried(tried)?;
        Ok(Authorities { file: Some(file) })
    }

    /// TLS with verification.
    pub fn options(&self) -> SslOpts {
        let path = |file: &File| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        SslOpts::default().with_root_cert_path(self.file.as_ref().map(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(server_name: &str, ca_pem: Option<String>) -> Guest {
        let server_name = server_name.to_owned();
        Guest {
            server_name,
            ca_pem,
        }
    }

    #[test]
    fn authorities_of_a_study_come_on_top() {
        let made = rcgen::generate_simple_self_signed(["ours".to_owned()]).unwrap();
        let count = |pem| guest("db", pem).roots().map(|roots| roots.len());
        let known = count(None).unwrap();
        assert!(known > 50, "{known}");
        assert_eq!(count(Some(made.cert.pem().repeat(2))).unwrap(), known + 2);
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(count(Some(broken.to_owned())).is_err());
    }

    #[test]
    fn names_and_addresses_can_be_verified() {
        for name in ["db.example", "10.0.0.1", "fd00::1"] {
            assert!(guest(name, None).name().is_ok(), "{name}");
        }
        assert!(guest("not a name", None).name().is_err());
    }

    #[test]
    fn the_file_of_authorities_can_be_read_again_and_again() {
        let authorities = Authorities::of(Some("pem")).unwrap();
        let options = authorities.options();
        let path = options.root_cert_path().unwrap();
        for _ in 0..2 {
            assert_eq!(std::fs::read_to_string(path).unwrap(), "pem");
        }
    }
}
