//! Where a server of somebody else's is.

use super::secret::Secret;
use super::trust::Guest;
use crate::study::endpoint::{Address, Tls};

/// Where a server is and how one gets in.
#[derive(Debug, Clone)]
pub struct Access {
    /// What it is called in tables: `writer`, `replica 1`.
    pub name: String,
    pub address: Address,
    pub tls: Tls,
    pub password: Secret,
}

impl Access {
    /// What the load must keep to there.
    pub fn guest(&self) -> Guest {
        let ca_pem = match &self.tls {
            Tls::Verify { ca_pem } => ca_pem.clone(),
            Tls::Off => None,
        };
        Guest {
            server_name: self.address.host.clone(),
            ca_pem,
        }
    }
}
