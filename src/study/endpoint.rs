//! Somebody else's servers, as a study names them.

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

/// MySQL's port, if a URL names none.
const DEFAULT_PORT: u16 = 3306;

/// What the name of every database begins with that acklab makes on a server of somebody else's.
pub const DATABASE_PREFIX: &str = "acklab_";

/// What is hidden of a URL.
const HIDDEN: &str = "…";

/// An account on a server that somebody else runs. Its password is nowhere in a study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    pub user: String,
    /// A name, or an IP address without brackets.
    pub host: String,
    pub port: u16,
}

/// How connections to it are kept from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    /// Encrypted, and the server's certificate proves its name: to well-known authorities, or to
    /// those of this PEM text.
    Verify { ca_pem: Option<String> },
    /// In clear.
    Off,
}

/// A writer and its replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointSpec {
    pub writer: Address,
    pub replicas: Vec<Address>,
    pub tls: Tls,
    /// The file that holds the password of all of them, as the study names it.
    pub password_file: Option<String>,
    /// The database to be made; one of a random name if the study does not say.
    pub database: Option<String>,
}

impl Tls {
    /// Whether connections are encrypted.
    pub fn is_on(&self) -> bool {
        *self != Tls::Off
    }

    /// As tables say it.
    pub fn word(&self) -> &'static str {
        match self {
            Tls::Verify { ca_pem: None } => "verified",
            Tls::Verify { ca_pem: Some(_) } => "verified by the study's ca",
            Tls::Off => "off",
        }
    }
}

impl Address {
    /// The account that a URL names.
    ///
    /// # Errors
    /// What is allowed in its place. It never holds any of the URL, which may hold a password.
    pub fn parse(text: &str) -> Result<Address, String> {
        const FORM: &str = "must be mysql://USER@HOST:PORT";
        let url = Url::parse(text).map_err(|error| format!("{FORM} ({error})"))?;
        if url.password().is_some() {
            return Err(
                "holds a password, which would be kept in the record and seen by others: leave it \
                 out, and give it in a file (password_file), in the environment \
                 (ACKLAB_PASSWORD), or when asked on a terminal"
                    .to_owned(),
            );
        }
        let has_more = url.query().is_some() || url.fragment().is_some();
        if url.scheme() != "mysql" || has_more || url.username().is_empty() {
            return Err(FORM.to_owned());
        }
        if !["", "/"].contains(&url.path()) {
            return Err(format!(
                "{FORM}: acklab works in a database of its own making"
            ));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(FORM)?;
        let user = percent_decode_str(url.username()).decode_utf8();
        Ok(Address {
            user: user.map_err(|_| FORM)?.into_owned(),
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(DEFAULT_PORT),
        })
    }

    /// `HOST:PORT`
    pub fn place(&self) -> String {
        let Address { host, port, .. } = self;
        match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        }
    }

    /// What a row of it is called.
    pub fn label(&self) -> String {
        match self.port {
            DEFAULT_PORT => format!("endpoint {}", self.host),
            _ => format!("endpoint {}", self.place()),
        }
    }
}

/// A URL, or what was meant to be one, without anything that may be a password.
pub fn without_password(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let Some((account, place)) = rest.rsplit_once('@') else {
        return format!("{scheme}{}", shown_place(rest));
    };
    let user = match account.split_once(':') {
        Some((user, _)) => format!("{user}:{HIDDEN}"),
        None => account.to_owned(),
    };
    format!("{scheme}{user}@{}", shown_place(place))
}

/// Host and port; whatever else follows may be anything.
fn shown_place(text: &str) -> String {
    let (place, rest) = match text.find(['/', '?', '#']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let shown = match place.rsplit_once(':') {
        Some((host, port)) if !is_port(port) => format!("{host}:{HIDDEN}"),
        _ => place.to_owned(),
    };
    let is_more = !["", "/"].contains(&rest);
    format!("{shown}{}", if is_more { HIDDEN } else { "" })
}

/// Whether a database may bear that name: its own sign first, and nothing that wants quoting.
pub fn is_database_name(name: &str) -> bool {
    let rest = name.strip_prefix(DATABASE_PREFIX).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (1..=40).contains(&rest.len()) && rest.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_accounts() {
        let told = |text: &str| {
            let address = Address::parse(text).expect(text);
            (address.user.clone(), address.place())
        };
        let is = |user: &str, place: &str| (user.to_owned(), place.to_owned());
        assert_eq!(
            told("mysql://me@db.example:3307"),
            is("me", "db.example:3307")
        );
        assert_eq!(told("mysql://me@10.1.2.3/"), is("me", "10.1.2.3:3306"));
        assert_eq!(
            told("mysql://me@[fd00::7]:33060"),
            is("me", "[fd00::7]:33060")
        );
        assert_eq!(told("mysql://me%40corp@db"), is("me@corp", "db:3306"));
        assert_eq!(
            Address::parse("mysql://me@db").unwrap().label(),
            "endpoint db"
        );
    }

    #[test]
    fn other_urls_are_refused_and_say_nothing_of_what_was_given() {
        for text in [
            "mysql://me:s3cret@db",
            "mysql://me:s3cret@db:s3cret",
            "me:s3cret@db",
            "postgres://s3cret@db",
            "mysql://db/s3cret",
            "mysql://me@db/s3cret",
            "mysql://me@db?password=s3cret",
            "mysql://me@db#s3cret",
            "mysql://me@db:s3cret",
            "mysql://@db",
            "mysql://me@",
            "s3cret",
        ] {
            let advice = Address::parse(text).expect_err(text);
            assert!(!advice.contains("s3cret"), "{text}: {advice}");
        }
        let advice = Address::parse("mysql://me:s3cret@db").unwrap_err();
        assert!(advice.contains("password_file") && advice.contains("ACKLAB_PASSWORD"));
    }

    #[test]
    fn what_is_shown_of_a_url_holds_no_password() {
        for (text, shown) in [
            ("mysql://me:s3cret@db:3306", "mysql://me:…@db:3306"),
            ("mysql://me:s3@cr:et#s3cret@db", "mysql://me:…@db"),
            ("me:s3cret@db", "me:…@db"),
            ("mysql://me:s3cret", "mysql://me:…"),
            ("mysql://me@db:s3cret", "mysql://me@db:…"),
            ("mysql://me@db?password=s3cret", "mysql://me@db…"),
            ("mysql://me@db/", "mysql://me@db"),
        ] {
            assert_eq!(without_password(text), shown);
            assert!(!shown.contains("s3cret"));
        }
    }

    #[test]
    fn databases_bear_the_sign() {
        assert!(is_database_name("acklab_x7") && is_database_name("acklab_a_b"));
        let long = format!("acklab_{}", "x".repeat(41));
        for name in ["acklab_", "acklab", "mine", "acklab_X", "acklab_a`b", &long] {
            assert!(!is_database_name(name), "{name}");
        }
    }
}
