//! A variable that a server does not know is the user's to mend, if the user gave it: told with the
//! line where it stands and the server's own words.

use std::path::Path;

use crate::error::{Breakdown, Error, Mistake};
use crate::lab::options::{read_option_file, unknown_variable};
use crate::lab::servers::Catalogue;
use crate::study::{ModeSpec, Study};

/// Where the user may have given it.
pub struct Given<'a> {
    /// What the study's text is called, and that text.
    pub file: &'a str,
    pub text: &'a str,
    pub study: &'a Study,
    /// The option file of the command line, if there is one; else the study's own counts.
    pub my_cnf: Option<&'a Path>,
}

impl Given<'_> {
    /// The mistake that a server's refusal is. Any other error stays what it is, and so does the
    /// refusal of a variable that nobody but acklab itself has set.
    pub fn mistake_in(&self, error: Error) -> Error {
        let mistake = match &error {
            Error::Breakdown(breakdown) => self.find(breakdown),
            _ => None,
        };
        mistake.map_or(error, Error::from)
    }

    fn find(&self, breakdown: &Breakdown) -> Option<Mistake> {
        let (name, words) = unknown_variable(&breakdown.log)?;
        let (place, key, value) = self.in_modes(&name).or_else(|| self.in_my_cnf(&name))?;
        let allowed = format!(
            "the server knows no such variable; could not {}:\n    {words}",
            breakdown.tried
        );
        Some(Mistake::new(&place, &key, &value, &allowed))
    }

    /// Place, key and value of a variable among those of the study's modes.
    fn in_modes(&self, name: &str) -> Option<(String, String, String)> {
        let found = |spec: &ModeSpec| {
            let (key, value) = of_mode(spec, name)?;
            let place = match line_of(self.text, name) {
                Some(line) => format!("{}:{line}", self.file),
                None => format!("{}: mode {}", self.file, spec.label),
            };
            Some((place, key, value))
        };
        self.study.modes.iter().find_map(found)
    }

    fn in_my_cnf(&self, name: &str) -> Option<(String, String, String)> {
        let text = self.study.my_cnf.as_deref()?;
        let catalogue = Catalogue::builtin();
        let servers = self.study.modes.iter().map(|spec| &spec.server);
        let mut flavours = servers.filter_map(|server| Some(catalogue.entry(server)?.flavour));
        let value = flavours.find_map(|flavour| {
            let settings = read_option_file(text, flavour);
            settings.get(name).map(str::to_owned)
        })?;
        let file = match self.my_cnf {
            Some(path) => path.display().to_string(),
            None => format!("my_cnf of {}", self.file),
        };
        let line = line_of(text, name).map_or(String::new(), |line| format!(":{line}"));
        Some((file + &line, name.to_owned(), value))
    }
}

/// Key and value of a mode's variable, or of one of its nodes'.
fn of_mode(spec: &ModeSpec, name: &str) -> Option<(String, String)> {
    let is_it = |(given, _): &(&String, &String)| given.replace('-', "_") == name;
    if let Some((given, value)) = spec.variables.iter().find(is_it) {
        return Some((format!("variables.{given}"), value.clone()));
    }
    spec.node_variables.iter().find_map(|(node, variables)| {
        let (given, value) = variables.iter().find(is_it)?;
        Some((format!("node_variables.{node}.{given}"), value.clone()))
    })
}

/// The number of the first line, from 1 on, that has the name as a word outside a comment; a hyphen
/// in it is as good as an underscore.
fn line_of(text: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let has_it = |line: &str| {
        let code = line.split('#').next().unwrap_or_default().replace('-', "_");
        code.split(|c| !is_part(c)).any(|word| word == name)
    };
    text.lines().position(has_it).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::breakdown;
    use crate::study::written;

    const STUDY: &str = "# innodb_buffer_pool_sise: no\n[[mode]]\nserver = \"mariadb\"\n\
                         mode = \"async\"\nlabel = \"mine\"\n[mode.variables]\n\
                         innodb_buffer_pool_sise = \"1G\"\n[mode.node_variables.b]\n\
                         no_such = 1\n[[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n";

    fn study(my_cnf: Option<&str>) -> Study {
        Study {
            my_cnf: my_cnf.map(str::to_owned),
            ..written::sample(STUDY)
        }
    }

    fn refusal(name: &str) -> Error {
        Breakdown {
            tried: "start (node mariadb-replication.a)".to_owned(),
            status: "the server ended: exit status: 7".to_owned(),
            log: vec![
                "2026-11-22 17:00:00 0 [Note] Starting".to_owned(),
                format!("2026-11-22 17:00:01 0 [ERROR] mariadbd: unknown variable '{name}'"),
                "2026-11-22 17:00:01 0 [ERROR] Aborting".to_owned(),
            ],
        }
        .into()
    }

    fn mistake(study: &Study, my_cnf: Option<&Path>, text: &str, name: &str) -> Error {
        let given = Given {
            file: "s.toml",
            text,
            study,
            my_cnf,
        };
        given.mistake_in(refusal(name))
    }

    #[test]
    fn a_variable_of_the_studys_is_named_with_its_line() {
        let study = study(None);
        let found = mistake(&study, None, STUDY, "innodb_buffer_pool_sise=1G");
        let expected = "s.toml:7: variables.innodb_buffer_pool_sise: given 1G; the server knows no \
                        such variable; could not start (node mariadb-replication.a):\n    \
                        2026-11-22 17:00:01 0 [ERROR] mariadbd: unknown variable \
                        'innodb_buffer_pool_sise=1G'";
        assert_eq!(
            (found.exit_code(), found.to_string().as_str()),
            (2, expected)
        );
        let of_node = mistake(&study, None, STUDY, "no_such=1").to_string();
        assert!(
            of_node.starts_with("s.toml:9: node_variables.b.no_such: given 1;"),
            "{of_node}"
        );
        // A text in which it cannot be found.
        let elsewhere = mistake(&study, None, "", "no_such=1").to_string();
        assert!(
            elsewhere.starts_with("s.toml: mode mine: node_variables.b.no_such"),
            "{elsewhere}"
        );
    }

    #[test]
    fn one_of_an_option_file_is_named_with_its_line_there() {
        let study = study(Some("[mysqld]\n\nno-such-size = 2M\n"));
        let name = "no_such_size=2M";
        let found = mistake(&study, Some(Path::new("my.cnf")), STUDY, name).to_string();
        assert!(
            found.starts_with("my.cnf:3: no_such_size: given 2M;"),
            "{found}"
        );
        let found = mistake(&study, None, STUDY, name).to_string();
        assert!(
            found.starts_with("my_cnf of s.toml:3: no_such_size: given 2M;"),
            "{found}"
        );
    }

    #[test]
    fn what_the_user_did_not_give_is_no_mistake_of_the_users() {
        let study = study(None);
        assert_eq!(mistake(&study, None, STUDY, "our_own=1").exit_code(), 4);
        let given = Given {
            file: "s.toml",
            text: STUDY,
            study: &study,
            my_cnf: None,
        };
        let other = breakdown("start", "no room");
        assert_eq!(given.mistake_in(other.clone()), other);
    }
}
