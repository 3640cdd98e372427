//! Whether a text is markup that a strict reader takes: for tests.

/// Elements that have no end in HTML.
const VOID: [&str; 4] = ["br", "input", "link", "meta"];
/// What stands behind an ampersand.
const ENTITIES: [&str; 5] = ["amp;", "lt;", "gt;", "quot;", "#39;"];

/// Whether tags close in their order, attributes are quoted and said once, and all else is escaped.
pub fn balanced(text: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        is_escaped(&rest[..start])?;
        let tag = &rest[start + 1..];
        let end = tag.find('>').ok_or_else(|| format!("no end: {tag}"))?;
        let inside = &tag[..end];
        rest = &tag[end + 1..];
        if inside.starts_with('!') {
            continue;
        }
        if let Some(name) = inside.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name => continue,
                last => return Err(format!("</{name}> closes {last:?}")),
            }
        }
        let name = inside.split_whitespace().next().unwrap_or_default();
        attributes(&inside[name.len()..])?;
        if VOID.contains(&name) {
            continue;
        }
        open.push(name);
        // What is in them is no markup.
        if ["style", "script"].contains(&name) {
            let close = format!("</{name}>");
            let end = rest.find(&close).ok_or_else(|| format!("no {close}"))?;
            rest = &rest[end..];
        }
    }
    is_escaped(rest)?;
    match open.is_empty() {
        true => Ok(()),
        false => Err(format!("left open: {open:?}")),
    }
}

fn attributes(text: &str) -> Result<(), String> {
    let mut names: Vec<&str> = Vec::new();
    let mut rest = text;
    while !rest.trim().is_empty() {
        let wrong = || format!("attributes: {text}");
        let (name, after) = rest.split_once("=\"").ok_or_else(wrong)?;
        let (value, after) = after.split_once('"').ok_or_else(wrong)?;
        is_escaped(value)?;
        let name = name.strip_prefix(' ').ok_or_else(wrong)?;
        if name.is_empty() || name.contains(' ') || names.contains(&name) {
            return Err(wrong());
        }
        names.push(name);
        rest = after;
    }
    Ok(())
}

fn is_escaped(text: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("{why}: {text}"));
    if text.contains(['<', '>']) {
        return wrong("a bare angle");
    }
    let mut after = text.split('&').skip(1);
    match after.all(|rest| ENTITIES.iter().any(|known| rest.starts_with(known))) {
        true => Ok(()),
        false => wrong("a bare ampersand"),
    }
}

/// All values of an attribute.
pub fn values<'t>(text: &'t str, attribute: &str) -> Vec<&'t str> {
    let start = format!(" {attribute}=\"");
    let after = text.split(&start[..]).skip(1);
    after.filter_map(|rest| rest.split('"').next()).collect()
}

mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_seen() {
        assert_eq!(balanced("<a b=\"c\">x &amp; y<br></a>"), Ok(()));
        assert_eq!(balanced("<!DOCTYPE html><style>a > b{}</style>"), Ok(()));
        for bad in [
            "<a><b></a></b>",
            "<a>",
            "<a>x & y</a>",
            "<a b=\"1\" b=\"2\"></a>",
            "<a b=c></a>",
            "a > b",
        ] {
            assert!(balanced(bad).is_err(), "{bad}");
        }
        assert_eq!(values("<a id=\"x\"><b id=\"y\">", "id"), ["x", "y"]);
    }
}
