//! Studies of somebody else's servers: how one gets in there, and a run without a sandbox.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

use super::progress::Lines;
use super::view::{self, Look, Prepared};
use crate::error::{Mistake, Result, Tried};
use crate::lab::endpoint::{Access, Secret};
use crate::lab::sandbox::hear_requests_to_stop;
use crate::lab::servers::Cache;
use crate::plan::Schedule;
use crate::run::Order;
use crate::run::endpoint::{self, Accesses, Drivers, PASSWORD_VARIABLE};
use crate::study::{EndpointSpec, Study};

/// Runs a study of endpoints. `folder` is the study file's.
///
/// # Errors
/// A mistake if there is no password; else what ended the run early.
pub fn run(
    (order, schedule): (&Order, &mut dyn Schedule),
    folder: &Path,
    (cache, drivers): (&Cache, Drivers),
    look: Look,
) -> Result<()> {
    let accesses = accesses(&order.study, folder)?;
    hear_requests_to_stop();
    if !look.is_live {
        let place = (cache.path.as_path(), drivers);
        return endpoint::run((order, schedule), &accesses, place, &Lines::of(order));
    }
    let start = Instant::now();
    let (mouth, ear) = view::pipes()?;
    // In this order: what is said must be heard before it is printed.
    let _watching = Prepared::of(ear)?.begin(start);
    let _standing_in = mouth.stand_in()?;
    let events = mouth.listener(look.begin(order), start);
    let place = (cache.path.as_path(), drivers);
    endpoint::run((order, schedule), &accesses, place, &events)
}

fn accesses(study: &Study, folder: &Path) -> Result<Accesses> {
    let endpoints = study.modes.iter().filter_map(|spec| spec.endpoint.as_ref());
    let of_one = |endpoint| Ok(accesses_of(endpoint, &password(endpoint, folder)?));
    endpoints.map(of_one).collect()
}

/// The writer's, then each replica's.
fn accesses_of(endpoint: &EndpointSpec, password: &Secret) -> Vec<Access> {
    let replicas = (1..).zip(&endpoint.replicas);
    let named = replicas.map(|(number, address)| (format!("replica {number}"), address));
    let all = std::iter::once(("writer".to_owned(), &endpoint.writer)).chain(named);
    let access = |(name, address): (String, &_)| Access {
        name,
        address: Clone::clone(address),
        tls: endpoint.tls.clone(),
        password: password.clone(),
    };
    all.map(access).collect()
}

/// From the study's file, else from the environment, else from whoever sits at the terminal.
fn password(endpoint: &EndpointSpec, folder: &Path) -> Result<Secret> {
    let writer = &endpoint.writer;
    if let Some(file) = &endpoint.password_file {
        return of_file(&folder.join(file));
    }
    match std::env::var(PASSWORD_VARIABLE) {
        Ok(password) => return Ok(password.into()),
        Err(std::env::VarError::NotPresent) => {}
        Err(_) => {
            let allowed = "must be text in UTF-8";
            return Err(Mistake::new("environment", PASSWORD_VARIABLE, "", allowed).into());
        }
    }
    let who = format!("password of {} at {}", writer.user, writer.place());
    if std::io::stdin().is_terminal() {
        let typed = rpassword::prompt_password(format!("{who}: "));
        return Ok(typed.tried(|| format!("ask for the {who}"))?.into());
    }
    let allowed = "is missing: give it in a file (password_file), in the environment \
                   (ACKLAB_PASSWORD), or on a terminal";
    Err(Mistake::new(&writer.place(), "password", "", allowed).into())
}

/// The one line of a file.
fn of_file(path: &Path) -> Result<Secret> {
    let wrong = |allowed: String| {
        let given = path.display().to_string();
        Mistake::new("study", "password_file", &given, &allowed)
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("must be a file that can be read: {error}")))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.contains(['\n', '\0']) {
        return Err(wrong("must hold the password alone, on one line".to_owned()).into());
    }
    Ok(line.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password_in(text: &str) -> std::result::Result<String, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pw");
        std::fs::write(&path, text).expect("a file");
        let read = of_file(&path).map(|secret| secret.to_string());
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_holds_one_password() {
        assert_eq!(password_in("s3 cret\n").as_deref(), Ok("s3 cret"));
        assert_eq!(password_in("s3cret\r\n").as_deref(), Ok("s3cret"));
        assert_eq!(password_in("").as_deref(), Ok(""));
        let error = password_in("user\ns3cret\n").unwrap_err();
        assert!(
            error.contains("on one line") && !error.contains("s3cret"),
            "{error}"
        );
        let error = of_file(Path::new("/no/such")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
