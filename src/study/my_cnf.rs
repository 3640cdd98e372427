//! The user's own option file: what of it servers read, and nothing else is kept of it.

use super::Flavour;

/// Groups of an option file that servers of that flavour read.
pub fn groups(flavour: Flavour) -> &'static [&'static str] {
    match flavour {
        Flavour::Mysql => &["mysqld", "server"],
        Flavour::Mariadb => &["mysqld", "server", "mariadb", "mariadbd", "galera"],
    }
}

/// The same text with every line blank that no server reads: comments, includes, and the groups of
/// clients, where passwords stand. What is left keeps its line's number.
pub fn of_servers(text: &str) -> String {
    let mut is_ours = false;
    let kept = |line: &str| {
        let bare = line.trim();
        let group = bare
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(group) = group {
            is_ours = [Flavour::Mysql, Flavour::Mariadb]
                .iter()
                .any(|flavour| groups(*flavour).contains(&group));
        }
        match is_ours && !bare.starts_with(['#', ';', '!']) {
            true => line.to_owned(),
            false => String::new(),
        }
    };
    let lines: Vec<String> = text.split('\n').map(kept).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_client_s_is_not_kept() {
        let text = "# s3cret\n[client]\npassword = s3cret\n[mysqld]\n; s3cret\nport=1\n\
                    !include s3cret\n[mysql]\npassword=s3cret\n[galera]\nwsrep_on = ON";
        let kept = of_servers(text);
        assert_eq!(
            kept,
            "\n\n\n[mysqld]\n\nport=1\n\n\n\n[galera]\nwsrep_on = ON"
        );
        assert_eq!(of_servers("[mysqld]\n"), "[mysqld]\n");
    }
}
