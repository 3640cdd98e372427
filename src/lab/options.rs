//! Option files: whose setting wins, and what was overridden.
//!
//! From the weakest to the strongest: equal terms, the user's own `my_cnf`, what the mode needs,
//! the study's variables, what the lab itself needs (addresses and paths).

use std::collections::BTreeMap;

use super::servers::Flavour;
use crate::study::my_cnf;

/// Settings by name; names are written with underscores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Sets `name`, replacing what was there.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(normal(name), value.into());
    }

    /// Adds a plugin to be loaded; these pile up.
    pub fn load_plugin(&mut self, library: &str) {
        let list = self.0.entry("plugin_load_add".into()).or_default();
        if !list.is_empty() {
            list.push(';');
        }
        list.push_str(library);
    }

    /// All of `stronger` over these.
    pub fn overlay(&mut self, stronger: &Settings) {
        let pairs = stronger
            .0
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        self.0.extend(pairs);
    }

    /// The value of `name`, if set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(&normal(name)).map(String::as_str)
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The same with 1 and 0 in place of ON and OFF, for servers that take any word for 0.
    pub fn with_numbers(&self) -> Settings {
        let number = |value: &str| match value.to_ascii_lowercase().as_str() {
            "on" | "true" => "1".to_owned(),
            "off" | "false" => "0".to_owned(),
            _ => value.to_owned(),
        };
        self.iter()
            .map(|(name, value)| (name, number(value)))
            .collect()
    }

    /// Text of an option file.
    pub fn option_file(&self) -> String {
        let line = |(name, value): (&str, &str)| format!("{name} = {value}\n");
        let lines: String = self.iter().map(line).collect();
        // Galera's first state transfer copies files that are alike already: it stays plain, for
        // an encrypted one wants one more program.
        format!("[mysqld]\n{lines}[sst]\nssl_mode = DISABLED\n")
    }
}

impl<N: AsRef<str>, V: Into<String>> FromIterator<(N, V)> for Settings {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(pairs: T) -> Self {
        let mut settings = Settings::default();
        for (name, value) in pairs {
            settings.set(name.as_ref(), value);
        }
        settings
    }
}

fn normal(name: &str) -> String {
    name.trim().replace('-', "_")
}

/// The server's settings of a user's option file: the groups that a server of that flavour reads.
pub fn read_option_file(text: &str, flavour: Flavour) -> Settings {
    let groups = my_cnf::groups(flavour);
    let mut settings = Settings::default();
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';', '!']) {
            continue;
        }
        if let Some(group) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            is_ours = groups.contains(&group);
        } else if is_ours {
            let (name, value) = line.split_once('=').unwrap_or((line, "ON"));
            settings.set(name, value.trim());
        }
    }
    settings
}

/// The variable that a server refused to start with, as its log says it, and the line that says so.
pub fn unknown_variable(log: &[String]) -> Option<(String, String)> {
    log.iter().find_map(|line| {
        let (_, rest) = line.split_once("unknown variable '")?;
        let (setting, _) = rest.split_once('\'')?;
        let name = setting.split('=').next().unwrap_or(setting);
        Some((
            normal(name.trim_start_matches("--")),
            line.trim().to_owned(),
        ))
    })
}

/// Settings of `weaker` that `stronger` replaced by another value: name, given, in force.
pub fn overridden(weaker: &Settings, stronger: &Settings) -> Vec<(String, String, String)> {
    let changed = weaker.iter().filter_map(|(name, given)| {
        let ours = stronger.get(name)?;
        (ours != given).then(|| (name.to_owned(), given.to_owned(), ours.to_owned()))
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "# mine\n[client]\nport=1\n[mysqld]\ninnodb-buffer-pool-size = 1G\n\
                        skip-name-resolve\n[mariadb]\nserver_id=9\n";

    #[test]
    fn groups_of_the_flavour_are_read_and_names_are_made_alike() {
        let mysql = read_option_file(USER, Flavour::Mysql);
        assert_eq!(mysql.get("innodb_buffer_pool_size"), Some("1G"));
        assert_eq!(mysql.get("skip_name_resolve"), Some("ON"));
        assert_eq!(mysql.get("server_id"), None);
        assert_eq!(mysql.get("port"), None);
        let mariadb = read_option_file(USER, Flavour::Mariadb);
        assert_eq!(mariadb.get("server_id"), Some("9"));
    }

    #[test]
    fn what_was_overridden_is_told_with_both_values() {
        let user = read_option_file(USER, Flavour::Mariadb);
        let ours: Settings = [("server-id", "1"), ("port", "3306")].into_iter().collect();
        let told = overridden(&user, &ours);
        assert_eq!(
            told,
            [("server_id".to_owned(), "9".to_owned(), "1".to_owned())]
        );
    }

    #[test]
    fn the_variable_that_a_server_does_not_know_is_read_from_its_log() {
        let unknown = |line: &str| unknown_variable(&[String::new(), line.to_owned()]);
        let mysql = "2026-11-22T17:00:01Z 0 [ERROR] [MY-000067] [Server] unknown variable \
                     'innodb-buffer-pool-sise=1G'.";
        let found = ("innodb_buffer_pool_sise".to_owned(), mysql.to_owned());
        assert_eq!(unknown(mysql), Some(found));
        let old = "mysqld: unknown variable 'a=b=c'";
        assert_eq!(unknown(old).map(|(name, _)| name), Some("a".to_owned()));
        assert_eq!(unknown("[ERROR] Aborting"), None);
    }

    #[test]
    fn switches_can_be_numbers() {
        let pairs = [
            ("a", "ON"),
            ("b", "off"),
            ("c", "True"),
            ("d", "ONE"),
            ("e", "64K"),
        ];
        let settings: Settings = pairs.into_iter().collect();
        let expected = "[mysqld]\na = 1\nb = 0\nc = 1\nd = ONE\ne = 64K\n";
        let text = settings.with_numbers().option_file();
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn plugins_pile_up() {
        let mut settings = Settings::default();
        settings.load_plugin("a.so");
        settings.load_plugin("b.so");
        assert!(
            settings
                .option_file()
                .contains("plugin_load_add = a.so;b.so\n")
        );
    }
}
