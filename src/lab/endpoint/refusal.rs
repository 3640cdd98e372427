//! What a server of somebody else's answered instead of a result, in words that say who can mend
//! it: the user (a mistake) or nobody here (a breakdown).

use std::io;

use mysql::{DriverError, Error as SqlError};
use mysql_common::proto::codec::error::PacketCodecError;
use rustls::{CertificateError, Error as TlsError};

use super::access::Access;
use crate::error::{Error, Mistake, breakdown};

/// There is no such database, or no such table in it.
pub const NOT_THERE: [u16; 2] = [1049, 1146];
/// All that an account needs there, and on which databases.
const PRIVILEGES: &str = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX";
const DATABASES: &str = r"`acklab\_%`.*";
/// MySQL's codes for a login refused.
const LOGIN_REFUSED: [u16; 3] = [1045, 1698, 3118];
/// A privilege is missing: on a database, a table, a column, a routine, the server.
const NOT_ALLOWED: [u16; 5] = [1044, 1142, 1143, 1370, 1227];
/// An option of the server's forbids the statement; which, says the text.
const OPTION_PREVENTS: u16 = 1290;
/// It takes no writes at all.
const READ_ONLY: [u16; 2] = [1836, 1792];

/// What `doing` (an infinitive) came to.
pub fn refused(access: &Access, doing: &str, error: &SqlError) -> Error {
    if let Some(tls) = tls_error(error) {
        return distrusted(access, tls);
    }
    match error {
        SqlError::MySqlError(said) if LOGIN_REFUSED.contains(&said.code) => {
            login_refused(access, &said.message)
        }
        SqlError::MySqlError(said) if NOT_ALLOWED.contains(&said.code) => {
            not_allowed(access, doing, &said.message)
        }
        SqlError::MySqlError(said)
            if READ_ONLY.contains(&said.code)
                || said.code == OPTION_PREVENTS && is_about_read_only(&said.message) =>
        {
            is_read_only(access, &said.message)
        }
        SqlError::DriverError(DriverError::TlsNotSupported) => no_tls(access),
        SqlError::MySqlError(said) => broke(access, doing, &said.to_string()),
        SqlError::DriverError(error) => broke(access, doing, &error.to_string()),
        other => match io_error(other) {
            Some(error) => broke(access, doing, &error.to_string()),
            None => broke(access, doing, &other.to_string()),
        },
    }
}

fn broke(access: &Access, doing: &str, status: &str) -> Error {
    let place = access.address.place();
    breakdown(format!("{doing} at {place} ({})", access.name), status)
}

fn mistake(access: &Access, key: &str, given: &str, allowed: &str) -> Error {
    Mistake::new(&access.address.place(), key, given, allowed).into()
}

fn login_refused(access: &Access, said: &str) -> Error {
    let given = format!("user {} and a password", access.address.user);
    let allowed = format!(
        "is refused there ({said}): an account that may log in from here, and its password in \
         password_file, in ACKLAB_PASSWORD, or when asked"
    );
    mistake(access, "password", &given, &allowed)
}

fn not_allowed(access: &Access, doing: &str, said: &str) -> Error {
    let allowed = format!(
        "may not {doing} ({said}): it needs GRANT {PRIVILEGES} ON {DATABASES} and nothing else"
    );
    let given = format!("user {}", access.address.user);
    mistake(access, "privileges", &given, &allowed)
}

/// A server that takes no writes cannot be a writer.
pub fn is_read_only(access: &Access, said: &str) -> Error {
    let allowed = format!("is read-only ({said}): give the address of the server that is written");
    mistake(access, &access.name, &access.address.place(), &allowed)
}

fn no_tls(access: &Access) -> Error {
    let allowed = "offers no TLS: turn it on there, or say tls = \"off\" to send password and data \
                   in clear";
    mistake(access, "tls", "", allowed)
}

fn is_about_read_only(message: &str) -> bool {
    message.contains("read-only") || message.contains("read_only")
}

/// The fault of TLS in it, if there is one.
fn tls_error(error: &SqlError) -> Option<&TlsError> {
    match error {
        SqlError::TlsError(mysql::error::tls::TlsError::Tls(error)) => Some(error),
        other => io_error(other)?.get_ref()?.downcast_ref(),
    }
}

/// The fault of the connection in it: some of the crate's errors wrap another's.
fn io_error(error: &SqlError) -> Option<&io::Error> {
    match error {
        SqlError::IoError(error) | SqlError::CodecError(PacketCodecError::Io(error)) => Some(error),
        _ => None,
    }
}

fn distrusted(access: &Access, error: &TlsError) -> Error {
    let TlsError::InvalidCertificate(reason) = error else {
        return broke(access, "agree on TLS", &error.to_string());
    };
    let host = &access.address.host;
    use CertificateError as Why;
    let (key, allowed) = match reason {
        Why::Expired | Why::ExpiredContext { .. } | Why::NotValidYet => {
            return broke(access, "trust its certificate", &expired(reason));
        }
        Why::NotValidForName | Why::NotValidForNameContext { .. } => (
            "host",
            format!("is not whom its certificate is for ({reason}): give the name that it is for"),
        ),
        _ => (
            "ca",
            format!(
                "is vouched for by nobody who is known ({reason}): say ca = \"FILE\" with its \
                 authority's certificate, or tls = \"off\" to send password and data in clear"
            ),
        ),
    };
    mistake(access, key, host, &allowed)
}

fn expired(reason: &CertificateError) -> String {
    format!("it is out of its time ({reason}): it must be renewed there; nothing was sent")
}

#[cfg(test)]
mod tests {
    use mysql::MySqlError;

    use super::*;
    use crate::lab::endpoint::Secret;
    use crate::study::endpoint::{Address, Tls};

    fn access() -> Access {
        Access {
            name: "writer".into(),
            address: Address {
                user: "me".into(),
                host: "db".into(),
                port: 3306,
            },
            tls: Tls::Off,
            password: Secret::from("s3cret"),
        }
    }

    fn refusal_of(error: SqlError) -> (u8, String) {
        let error = refused(&access(), "run `X`", &error);
        assert!(!error.to_string().contains("s3cret"));
        (error.exit_code(), error.to_string())
    }

    fn server_error(code: u16, message: &str) -> SqlError {
        SqlError::MySqlError(MySqlError {
            state: "HY000".into(),
            message: message.into(),
            code,
        })
    }

    /// As it comes through the crate's layers.
    fn distrust(reason: CertificateError) -> SqlError {
        let error = TlsError::InvalidCertificate(reason);
        let error = io::Error::new(io::ErrorKind::InvalidData, error);
        SqlError::CodecError(PacketCodecError::Io(error))
    }

    #[test]
    fn what_the_user_can_mend_is_a_mistake() {
        for (error, part) in [
            (server_error(1045, "Access denied"), "ACKLAB_PASSWORD"),
            (server_error(1044, "Access denied to database"), "GRANT"),
            (
                server_error(1290, "running with the --read-only option"),
                "is read-only",
            ),
            (
                SqlError::DriverError(DriverError::TlsNotSupported),
                "tls = \"off\"",
            ),
            (distrust(CertificateError::UnknownIssuer), "ca = \"FILE\""),
            (distrust(CertificateError::NotValidForName), "is not whom"),
        ] {
            let (code, text) = refusal_of(error);
            assert!(
                code == 2 && text.contains(part) && text.contains("db:3306"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_grant_is_the_one_that_is_documented() {
        let documented = include_str!("../../../docs/study.md");
        let shown = format!("`{PRIVILEGES}` on `` {DATABASES} ``");
        assert!(documented.contains(&shown), "{shown}");
        let (_, text) = refusal_of(server_error(1142, "CREATE command denied"));
        let grant = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON `acklab\\_%`.*";
        assert!(
            text.contains(&format!("{grant} and nothing else")),
            "{text}"
        );
    }

    #[test]
    fn the_rest_is_a_breakdown() {
        let lost = io::Error::new(io::ErrorKind::ConnectionReset, "reset by peer");
        for (error, part) in [
            (server_error(1040, "Too many connections"), "Too many"),
            (
                server_error(1290, "running with the --secure-file-priv option"),
                "secure-file",
            ),
            (SqlError::IoError(lost), "reset by peer"),
            (distrust(CertificateError::Expired), "renewed"),
        ] {
            let (code, text) = refusal_of(error);
            assert!(
                code == 4 && text.contains(part) && text.contains("db:3306"),
                "{text}"
            );
        }
    }
}
