//! Certificates for servers, by an authority of the test's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::ground::Ground;

/// Where servers see the cache.
const INSIDE: &str = "/run/acklab/cache/tls";

/// An authority's certificates for servers, in files that they can read.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("an authority").pem();
        Authority {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// A certificate for these names, in the ground's cache.
    pub fn certify(&self, ground: &Ground, name: &str, names: &[&str], is_expired: bool) {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params
            .distinguished_name
            .push(DnType::CommonName, "a server");
        if is_expired {
            (params.not_before, params.not_after) =
                (date_time_ymd(2019, 1, 1), date_time_ymd(2020, 1, 1));
        }
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let folder = ground.cache.join("tls");
        fs::create_dir_all(&folder).expect("a folder");
        for (file, text) in [
            (format!("{name}.pem"), certificate.pem()),
            (format!("{name}.key"), key.serialize_pem()),
            ("ca.pem".to_owned(), self.pem.clone()),
        ] {
            let path = folder.join(file);
            fs::write(&path, text).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("readable");
        }
    }

    /// The same as a study's `ca`.
    pub fn file(&self, ground: &Ground) {
        ground.file("ca.pem", &self.pem);
    }
}

/// From now on the node shows that certificate.
pub fn show(ground: &Ground, node: &str, name: &str) {
    for (variable, file) in [
        ("ssl_ca", "ca.pem".to_owned()),
        ("ssl_cert", format!("{name}.pem")),
        ("ssl_key", format!("{name}.key")),
    ] {
        let sql = format!("SET GLOBAL {variable} = '{INSIDE}/{file}'");
        ground.run(&["sql", node, &sql]).good();
    }
    ground
        .run(&["sql", node, "ALTER INSTANCE RELOAD TLS"])
        .good();
}

/// Puts a certificate in the place of the one that the lab made for MariaDB.
pub fn replace(ground: &Ground, name: &str) {
    let folder = ground
        .run_folders()
        .remove(0)
        .join("mariadb-replication.tls");
    let from = ground.cache.join("tls");
    for (file, to) in [("pem", "certificate.pem"), ("key", "key.pem")] {
        let text = fs::read(from.join(format!("{name}.{file}"))).expect("a certificate");
        let to = folder.join(to);
        assert!(to.exists(), "{}", to.display());
        fs::write(to, text).expect("a file of the lab's");
    }
    ground.run(&["sql", "a", "FLUSH SSL"]).good();
}
