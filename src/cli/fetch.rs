//! What a study needs and the cache has not: fetched before anything is measured.

use crate::error::Result;
use crate::lab::servers::{Cache, Catalogue};
use crate::plan::labs;
use crate::run::fronts;
use crate::study::{Proxy, Study};

/// Fetches the servers of a study that are not in the cache.
pub fn fetch_missing(study: &Study, cache: &Cache, catalogue: &Catalogue) -> Result<()> {
    for lab in labs(study) {
        if cache.program(catalogue, &lab.server)?.is_none() {
            let name = &lab.server;
            let say = |text: &str| eprintln!("fetching {name}: {text}");
            let program = cache.install(catalogue, name, &say)?;
            eprintln!(
                "fetched {name} {} from {}",
                program.kept.version, program.kept.origin
            );
        }
    }
    fetch_fronts(study, cache, catalogue)
}

/// Fetches the proxies of a study that are not in the cache.
fn fetch_fronts(study: &Study, cache: &Cache, catalogue: &Catalogue) -> Result<()> {
    for name in fronts::proxies(study).into_iter().map(Proxy::name) {
        if cache.proxy(catalogue, name)?.is_none() {
            let say = |text: &str| eprintln!("fetching {name}: {text}");
            let program = cache.install_proxy(catalogue, name, &say)?;
            eprintln!("fetched {name} from {}", program.origin);
        }
    }
    Ok(())
}
