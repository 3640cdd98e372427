//! Where secrets stand in a text: behind names that tell so, in URLs, in SQL, as private keys.

use std::ops::Range;

/// What the last word of a secret's name is.
const LAST_WORDS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "filekey",
    "apikey",
    "psk",
    "credential",
    "credentials",
];
/// What its name ends in, where the last word alone may be of something else.
const ENDINGS: [&str; 7] = [
    "_token",
    "_auth",
    "_secret_id",
    "_private_key",
    "_api_key",
    "_access_key",
    "_secret_key",
];
/// Variables of servers that end so and hold none.
const NO_SECRETS: [&str; 4] = [
    "caching_sha2_password",
    "disconnect_on_expired_password",
    "mysql_native_password",
    "sha256_password",
];
/// Values that tell only whether there is one.
const SWITCHES: [&str; 7] = ["on", "off", "yes", "no", "true", "false", "force"];
/// Behind which SQL has a secret in quotes.
const SQL_WORDS: [&str; 3] = ["identified", "password", "passwd"];
/// What a server says of the first password that it makes up.
const MADE_UP: &str = "temporary password is generated for";

/// Whether a value of that name is a secret: `report_password`, `--wsrep-sst-auth`.
pub fn is_named(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_lowercase();
    let name = name.replace(['-', '.'], "_");
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    let last = name.rsplit('_').next().unwrap_or(name);
    // The whole name may be one: `api_key`.
    let whole = format!("_{name}");
    let is_one = LAST_WORDS.contains(&last) || ENDINGS.iter().any(|end| whole.ends_with(end));
    is_one && !NO_SECRETS.contains(&name)
}

/// Whether a value can be a secret at all.
pub fn can_be(value: &str) -> bool {
    let value = value.trim();
    let is_switch = SWITCHES.contains(&value.to_lowercase().as_str());
    // Some servers show so many stars in its place.
    !value.is_empty() && !is_switch && value.chars().any(|c| c != '*')
}

/// Private keys in PEM form, from their first line to their last, or to the end of the text.
pub fn private_keys(text: &str) -> Vec<Range<usize>> {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "-----END ";
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find(BEGIN).map(|at| from + at) {
        from = begin + BEGIN.len();
        let line = text[from..].lines().next().unwrap_or_default();
        let kind = line.split("-----").next().unwrap_or_default();
        if !kind.ends_with("PRIVATE KEY") {
            continue;
        }
        let end = format!("{END}{kind}-----");
        let after = text[from..].find(&end).map(|at| from + at + end.len());
        found.push(begin..after.unwrap_or(text.len()));
        from = after.unwrap_or(text.len());
    }
    found
}

/// Every other secret of one line, in order and apart from each other.
pub fn in_line(line: &str) -> Vec<Range<usize>> {
    let mut found = in_urls(line);
    found.extend(behind_names(line));
    found.extend(in_sql(line));
    found.extend(made_up(line));
    found.retain(|range| can_be(&line[range.clone()]));
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in found {
        match apart.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// `mysql://user:SECRET@host`
fn in_urls(line: &str) -> Vec<Range<usize>> {
    let starts = line.match_indices("://").map(|(at, sign)| at + sign.len());
    let secret = |start: usize| {
        let ends = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
        let end = line[start..].find(ends).map_or(line.len(), |at| start + at);
        let account = &line[start..start + line[start..end].rfind('@')?];
        let colon = account.find(':')?;
        Some(start + colon + 1..start + account.len())
    };
    starts.filter_map(secret).collect()
}

/// `NAME = SECRET`, `"NAME": "SECRET"`, `--NAME=SECRET`; without quotes up to the line's end.
fn behind_names(line: &str) -> Vec<Range<usize>> {
    let secret = |name: Range<usize>| {
        if !is_named(&line[name.clone()]) {
            return None;
        }
        let rest = &line[name.end..];
        // `using password: YES)` tells nothing.
        let value = rest.trim_start_matches(['"', '\'', '\\', ']', ' ', '\t']);
        let value = value.strip_prefix([':', '='])?;
        let value = value.trim_start_matches(['>', '=', ' ', '\t']);
        let start = line.len() - value.len();
        let ends = [',', ')', '}', ']'];
        let at = value.find(|c| c == ' ' || ends.contains(&c));
        let (word, after) = value.split_at(at.unwrap_or(value.len()));
        let after = after.trim();
        let is_all = after.is_empty() || !word.is_empty() && after.starts_with(ends);
        if is_all && !can_be(word) {
            return None;
        }
        Some(quoted(line, start).unwrap_or(start..line.trim_end().len()))
    };
    words(line).filter_map(secret).collect()
}

/// `IDENTIFIED BY 'SECRET'`, `SET PASSWORD FOR u = 'SECRET'`, `PASSWORD('SECRET')`
fn in_sql(line: &str) -> Vec<Range<usize>> {
    let is_word =
        |name: &Range<usize>| SQL_WORDS.contains(&line[name.clone()].to_lowercase().as_str());
    let Some(name) = words(line).find(is_word) else {
        return vec![];
    };
    let mut found = Vec::new();
    let mut at = name.end;
    while let Some(quote) = line[at..].find(['\'', '"']).map(|next| at + next) {
        let before = line[..quote].trim_end_matches(['\\', ' ']).to_lowercase();
        let start = quote - usize::from(line[..quote].ends_with('\\'));
        // Between double quotes other things stand too, the statement itself among them.
        let is_value = ["by", "as", "(", "="]
            .iter()
            .any(|end| before.ends_with(end));
        let inside = quoted(line, start).filter(|_| is_value || line[quote..].starts_with('\''));
        at = inside
            .as_ref()
            .map_or(quote + 1, |inside| (inside.end + 1).min(line.len()));
        found.extend(inside);
    }
    found
}

fn made_up(line: &str) -> Option<Range<usize>> {
    let said = line.find(MADE_UP)?;
    let colon = line[said..].find(": ").map(|at| said + at + 2)?;
    Some(colon..line.trim_end().len())
}

/// What stands between quotes, the first of which is at `start`, perhaps behind a backslash; `None`
/// if there is none, or nothing ends it.
fn quoted(line: &str, start: usize) -> Option<Range<usize>> {
    let escape = if line[start..].starts_with('\\') {
        "\\"
    } else {
        ""
    };
    let start = start + escape.len();
    let quote = line[start..]
        .chars()
        .next()
        .filter(|c| "\"'".contains(*c))?;
    let inside = start + 1;
    let mut is_escaped = false;
    for (at, c) in line[inside..].char_indices() {
        match c {
            c if c == quote && (!is_escaped || !escape.is_empty()) => {
                let end = inside + at - usize::from(is_escaped);
                return Some(inside..end);
            }
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    None
}

/// Where names stand: letters, digits, `_`, `-` and `.`.
fn words(line: &str) -> impl Iterator<Item = Range<usize>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].find(is_part)?;
        let end = line[start..].find(|c| !is_part(c));
        at = end.map_or(line.len(), |end| start + end);
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Vec<&str> {
        let found = in_line(line);
        found.into_iter().map(|range| &line[range]).collect()
    }

    #[test]
    fn what_stands_behind_a_telling_name_is_found() {
        for line in [
            "password = s3cret",
            "# Password: s3cret",
            "  report-password=s3cret  ",
            "loose_wsrep_sst_auth = s3cret",
            "hashicorp_key_management_token: s3cret",
            "x = { pwd = \"s3cret\", y = 1 }",
            "{\"password\":\"s3cret\",\"y\":\"z\"}",
            "{\\\"password\\\": \\\"s3cret\\\"}",
            "--password=s3cret",
            "authentication_ldap_simple_bind_root_pwd => 's3cret'",
            "AWS_SECRET_ACCESS_KEY=s3cret",
            "mysql://me:s3cret@db:3306/x",
            "'mysql://me:s3cret@[fd00::7]'",
            "CREATE USER a IDENTIFIED BY 's3cret'",
            "alter user a identified with x by \"s3cret\" require ssl",
            "sql = \"ALTER USER a IDENTIFIED BY 's3cret'\"",
            "sql = \"ALTER USER a IDENTIFIED BY \\\"s3cret\\\"\"",
            "SET PASSWORD FOR a = 's3cret'",
            "SELECT PASSWORD('s3cret')",
            "A temporary password is generated for root@localhost: s3cret",
        ] {
            assert_eq!(told(line), ["s3cret"], "{line}");
        }
        // A quote that ends nowhere, and words without quotes: all that follows.
        assert_eq!(told("password = \"s3 cret"), ["\"s3 cret"]);
        assert_eq!(told("password = s3 cret"), ["s3 cret"]);
        assert_eq!(told("password = no one knows"), ["no one knows"]);
        assert_eq!(told("api_key = s3cret"), ["s3cret"]);
        assert_eq!(told("token: s3cret"), ["s3cret"]);
        assert_eq!(told("keyring_hashicorp_secret_id=s3cret"), ["s3cret"]);
        assert_eq!(told("a:b@c mysql://u:s3@cr:et@h"), ["s3@cr:et"]);
        assert_eq!(told("password = 'one'; pwd = 'two'"), ["one", "two"]);
    }

    #[test]
    fn what_is_no_secret_stays() {
        for line in [
            "",
            "password",
            "password =",
            "password = ********",
            "password_file = \"pw\"",
            "mysql_native_password = ON",
            "validate_password.policy = 1",
            "default_password_lifetime = 0",
            "Access denied for user 'a'@'b' (using password: YES)",
            "default_authentication_plugin = caching_sha2_password",
            "caching_sha2_password = FORCE",
            "mysql://me@db:3306",
            "the tokens: 7",
            "http://host:8080/x",
            "author = me",
        ] {
            assert_eq!(told(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn private_keys_are_found_whole_and_certificates_stay() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
        let text = format!("a\n{certificate}\n{key}\n{certificate}\n{key}\nb");
        let found = private_keys(&text);
        let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, [key, key]);
        let cut = "x -----BEGIN PRIVATE KEY-----\nMIIE";
        let found = private_keys(cut);
        let found: Vec<&str> = found.into_iter().map(|range| &cut[range]).collect();
        assert_eq!(found, [&cut[2..]]);
        assert!(private_keys(certificate).is_empty());
    }
}
