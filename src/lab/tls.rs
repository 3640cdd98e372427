//! A certificate for servers that do not make their own. It proves nothing to anybody: it makes
//! connections cost what encrypted ones cost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::options::Settings;
use crate::error::{Result, Tried};
use crate::study::mode::Family;

/// A self-signed certificate and its key, in files that servers can read.
pub struct Identity {
    certificate: PathBuf,
    key: PathBuf,
}

impl Identity {
    /// Makes both files in a new folder.
    pub fn make(folder: &Path) -> Result<Identity> {
        let tried = || format!("make a certificate in {}", folder.display());
        fs::create_dir_all(folder).tried(tried)?;
        let made = rcgen::generate_simple_self_signed(["acklab".to_owned()]).tried(tried)?;
        let identity = Identity {
            certificate: folder.join("certificate.pem"),
            key: folder.join("key.pem"),
        };
        fs::write(&identity.certificate, made.cert.pem()).tried(tried)?;
        fs::write(&identity.key, made.signing_key.serialize_pem()).tried(tried)?;
        for path in [&identity.certificate, &identity.key] {
            // Readable for the servers' user; the run folder is private to the sandbox's host user.
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).tried(tried)?;
        }
        Ok(identity)
    }

    /// TLS for clients and replication, and between Galera's nodes.
    pub fn settings(&self, family: Family, settings: &mut Settings) {
        let certificate = self.certificate.display().to_string();
        let key = self.key.display().to_string();
        settings.set("ssl_cert", certificate.as_str());
        settings.set("ssl_ca", certificate.as_str());
        settings.set("ssl_key", key.as_str());
        if family == Family::Galera {
            let options = format!(
                "socket.ssl=yes;socket.ssl_cert={certificate};socket.ssl_key={key};\
                 socket.ssl_ca={certificate}"
            );
            settings.set("wsrep_provider_options", options);
        }
    }
}
