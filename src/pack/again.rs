//! The study of a record, to be run once more: as it was meant then, with the same seed.

use super::marks::Mark;
use crate::error::{Mistake, Result};
use crate::record::Header;
use crate::study::{Overrides, Study, Variables, breaking, written};

/// A study, and what of it cannot be as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Again {
    pub study: Study,
    /// Server variables whose values a pack left out: they are not set.
    pub not_set: Vec<String>,
}

impl Again {
    /// The study of a record that was opened from `place`.
    ///
    /// # Errors
    /// A mistake if it cannot be run without what a pack left out, or is no study that could have
    /// been written.
    pub fn of(header: &Header, place: &str) -> Result<Again> {
        let mut study = header.study.clone();
        let mut not_set = Vec::new();
        if let Some(text) = study.my_cnf.take() {
            let (kept, left): (Vec<&str>, Vec<&str>) =
                text.lines().partition(|line| is_whole(line));
            not_set.extend(left.iter().map(|line| name(line)));
            study.my_cnf = Some(kept.iter().flat_map(|line| [*line, "\n"]).collect());
        }
        for spec in &mut study.modes {
            if let Some(varied) = &mut spec.varied {
                drop_left_out(&mut varied.changed);
            }
            let of_nodes = spec.node_variables.values_mut();
            for variables in of_nodes.chain([&mut spec.variables]) {
                not_set.extend(drop_left_out(variables));
            }
            if let Some(endpoint) = &mut spec.endpoint {
                // Where it was is another machine's, or another folder's: it is asked for.
                endpoint.password_file = None;
            }
        }
        not_set.sort();
        not_set.dedup();
        if !is_whole(&without_labels(&study)) {
            let given = "a study of which something was left out";
            let allowed = "run the record itself again, or its study.toml with what is missing";
            return Err(Mistake::new(place, "", given, allowed).into());
        }
        let study = checked(study, place)?;
        Ok(Again { study, not_set })
    }
}

/// A record may come from anybody. Names of sites become names of files, clients stand in one of
/// them, and lengths are waited for.
fn checked(study: Study, place: &str) -> Result<Study> {
    let wrong =
        |site: &String, allowed: &str| Err(Mistake::new(place, "sites", site, allowed).into());
    if let Some(site) = study.sites.iter().find(|site| !written::is_site(site)) {
        return wrong(
            site,
            "names of sites must be 1 to 8 lower-case letters or digits",
        );
    }
    let mut clients = study.sweeps.iter().flat_map(|sweep| &sweep.client_sites);
    if let Some(site) = clients.find(|site| !study.sites.contains(site)) {
        return wrong(site, "clients must stand in a site of the study");
    }
    if study.name == breaking::NAME && !study.injections.is_empty() {
        // What `break` makes of its words need not be what a file could say.
        return Ok(study);
    }
    let own = Overrides {
        rounds: Some(study.rounds),
        seed: Some(study.seed),
        warmup: Some(study.warmup),
        measure: Some(study.measure),
        ..Overrides::default()
    };
    study.apply(&own)
}

/// All of it but what its rows are called: by default a label tells the row's variables, and is not
/// what they are set to.
fn without_labels(study: &Study) -> String {
    let text = serde_json::to_string(study).unwrap_or_default();
    let labels = study.modes.iter().map(|spec| &spec.label);
    let written = labels.filter_map(|label| serde_json::to_string(label).ok());
    written.fold(text, |text, label| text.replace(&label, "\"\""))
}

fn is_whole(text: &str) -> bool {
    !Mark::ALL.iter().any(|mark| text.contains(mark.text()))
}

fn name(line: &str) -> String {
    let name = line.split('=').next().unwrap_or(line);
    name.trim().to_owned()
}

fn drop_left_out(variables: &mut Variables) -> Vec<String> {
    let names = variables.iter().filter(|(_, value)| !is_whole(value));
    let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
    variables.retain(|_, value| is_whole(value));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{ImagePlace, Images};

    const TEXT: &str = "seed = 7\nrounds = 3\n[[mode]]\nserver = \"mysql\"\nmode = \"async\"\n\
                        variables = { report_password = \"<left-out>\", max_connections = \"99\" }\n\
                        [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n";

    fn header() -> Header {
        let mut study = written::sample(TEXT);
        study.quick = None;
        Header {
            study,
            ..Header::default()
        }
    }

    fn refused(header: &Header) -> String {
        Again::of(header, "x.zip")
            .expect_err("a mistake")
            .to_string()
    }

    #[test]
    fn the_same_study_comes_out_but_for_what_was_left_out() {
        let mut header = header();
        let my_cnf = "[mysqld]\nwsrep-sst-auth = <left-out>\nport = 1\n";
        header.study.my_cnf = Some(my_cnf.to_owned());
        let again = Again::of(&header, "x.zip").expect("a study");
        assert_eq!(again.not_set, ["report_password", "wsrep-sst-auth"]);
        let mut expected = header.study.clone();
        expected.my_cnf = Some("[mysqld]\nport = 1\n".to_owned());
        expected.modes[0].variables.remove("report_password");
        assert_eq!(again.study, expected);
        assert_eq!((again.study.seed, again.study.rounds), (7, 3));
    }

    #[test]
    fn what_cannot_be_run_without_is_refused() {
        let mut header = header();
        header.study.images = Some(Images {
            place: ImagePlace::Folder("/home/<user>/images".to_owned()),
            bytes: 1 << 30,
        });
        let told = refused(&header);
        assert!(
            told.starts_with("x.zip: ") && told.contains("record itself"),
            "{told}"
        );
    }

    #[test]
    fn what_nobody_could_have_written_is_refused() {
        let mut other = header();
        other.study.sites[1] = "../../x".to_owned();
        let told = refused(&other);
        assert!(told.contains("sites: given ../../x"), "{told}");
        let mut other = header();
        other.study.sweeps[0].client_sites = vec!["d".to_owned()];
        assert!(
            refused(&other).contains("in a site of the study"),
            "{}",
            refused(&other)
        );
        let mut other = header();
        other.study.rounds = u32::MAX;
        assert!(refused(&other).contains("--rounds"), "{}", refused(&other));
    }
}
