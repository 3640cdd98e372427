//! Whose requests are answered: a person's on this machine, who asks for our own pages.
//!
//! A page of another site, open in the same browser, can send requests here. It must learn nothing
//! from them. A name of its own that leads to 127.0.0.1 is told by `Host`; a request of one page
//! for what belongs to another site, by what browsers say of it themselves.

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};

/// Names of this machine for itself.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    /// A whole sentence for whoever reads the answer.
    pub words: &'static str,
}

/// Looks at all that can be known before anything is done.
pub fn check(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let refuse = |status, words| Err(Refusal { status, words });
    if ![Method::GET, Method::HEAD].contains(method) {
        let words = "Nothing can be changed here: ask by GET or HEAD.";
        return refuse(StatusCode::METHOD_NOT_ALLOWED, words);
    }
    let Some(host) = own_host(uri, headers) else {
        let words = "Records are served to this machine alone, by the names 127.0.0.1 and \
                     localhost.";
        return refuse(StatusCode::FORBIDDEN, words);
    };
    if !is_of_ours(headers, &host) {
        let words = "Another site's page asked for this. Type the address yourself.";
        return refuse(StatusCode::FORBIDDEN, words);
    }
    Ok(())
}

/// The host that was asked for, with its port, if it is this machine by a name of its own.
fn own_host(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?.to_ascii_lowercase();
    // A request names one host. One in its first line counts before the header: it must be ours.
    let is_one = hosts.next().is_none();
    let is_same = uri
        .authority()
        .is_none_or(|it| it.as_str().eq_ignore_ascii_case(&host));
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => &host,
    };
    let is_own = NAMES.contains(&name);
    (is_one && is_same && is_own).then_some(host)
}

/// Whether a person asked, or one of our own pages.
fn is_of_ours(headers: &HeaderMap, host: &str) -> bool {
    let all_are = |name: &str, is_good: &dyn Fn(&str) -> bool| {
        let mut values = headers.get_all(name).iter();
        values.all(|value| value.to_str().is_ok_and(is_good))
    };
    let origin = format!("http://{host}");
    all_are("sec-fetch-site", &|site| {
        ["same-origin", "none"].contains(&site)
    }) && all_are("origin", &|asked| asked.eq_ignore_ascii_case(&origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(method: &str, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name: header::HeaderName = name.parse().unwrap();
            all.append(name, value.parse().unwrap());
        }
        let (method, uri) = (method.parse().unwrap(), uri.parse().unwrap());
        check(&method, &uri, &all).map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in [
            "127.0.0.1:8808",
            "localhost",
            "LocalHost:1",
            "[::1]:80",
            "127.0.0.1",
        ] {
            assert_eq!(told("GET", "/", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:8808",
            "localhost.evil.example",
            "evil.example:127",
            "127.0.0.1@evil.example",
            "127.0.0.2",
            "",
            ":80",
        ] {
            assert_eq!(told("GET", "/", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(told("GET", "/", &[]), 403, "none");
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(told("GET", "/", &two), 403);
        let host = [("host", "localhost")];
        assert_eq!(told("GET", "http://evil.example/", &host), 403);
        assert_eq!(told("GET", "http://localhost/", &host), 200);
    }

    #[test]
    fn other_sites_learn_nothing() {
        let with = |name, value| told("GET", "/", &[("host", "localhost:9"), (name, value)]);
        assert_eq!(with("sec-fetch-site", "none"), 200, "typed by a person");
        assert_eq!(with("sec-fetch-site", "same-origin"), 200);
        // Another port of this machine is the same site, and somebody else's program.
        for site in ["cross-site", "same-site", "", "none, none"] {
            assert_eq!(with("sec-fetch-site", site), 403, "{site}");
        }
        assert_eq!(with("origin", "http://localhost:9"), 200);
        for origin in [
            "null",
            "http://evil.example",
            "http://localhost:8",
            "https://localhost:9",
        ] {
            assert_eq!(with("origin", origin), 403, "{origin}");
        }
    }

    #[test]
    fn nothing_can_be_changed() {
        for method in [
            "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
        ] {
            assert_eq!(told(method, "/", &[("host", "localhost")]), 405, "{method}");
        }
        assert_eq!(told("HEAD", "/", &[("host", "localhost")]), 200);
    }
}
