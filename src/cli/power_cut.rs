//! `power-cut`: what is left of acknowledged commits when a server loses its power, or only its
//! life, a copied volume's server its whole site, or a cluster one of its nodes or all.

use std::path::Path;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::disks::need_disks;
use super::measure::{capabilities, exit_code, fetch_missing, format};
use super::progress::Progress;
use super::{need_root, need_tun};
use crate::analysis::mode_settings;
use crate::analysis::trial::{Toll, Verdict, toll};
use crate::error::{Mistake, Result};
use crate::lab::sandbox::{self, Lifetime};
use crate::lab::servers::{Cache, Catalogue};
use crate::report::Format;
use crate::report::trial::{FORMATS, TrialPage, render};
use crate::run::trial::{self, Trial};
use crate::study::fault::{Durability, Fault, Leaves};
use crate::study::{Mode, ModeSpec, Study, written};

/// Exit code of a trial in which a promise was broken.
const BROKEN: u8 = 1;

/// A new server's files, and what the ledger's rows and binary logs add with each end.
const IMAGE_MB: u32 = 512;
const IMAGE_MB_PER_CUT: u32 = 40;
/// What each node of a Galera cluster keeps for others that were away.
const IMAGE_MB_WRITE_SETS: u32 = 256;

/// What is to be tried.
#[derive(Args)]
pub struct Wish {
    /// Server of the catalogue
    #[arg(long, default_value = "mysql")]
    server: String,
    /// One server alone, on a volume with copies in other sites, with replicas there, or a cluster
    #[arg(long, default_value = "single",
          value_parser = PossibleValuesParser::new(["single", "mirror", "quorum", "async",
                                                    "semisync", "galera"]))]
    mode: String,
    /// quorum: copies of the volume, in three sites [default: 6]
    #[arg(long, value_name = "N")]
    copies: Option<u32>,
    /// quorum: copies that must hold what is acknowledged [default: a majority]
    #[arg(long, value_name = "W")]
    write_quorum: Option<u32>,
    /// mirror, quorum: what is waited for at each write [default: write]
    #[arg(long, value_parser = PossibleValuesParser::new(["write", "flush"]))]
    ack: Option<String>,
    /// Round-trip time between sites
    #[arg(long, default_value = "1ms", value_name = "TIME")]
    rtt: String,
    /// How often each server is ended in each way
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    cuts: u32,
    /// innodb_flush_log_at_trx_commit; without it and --sync-binlog, on a copied volume 1 with 1,
    /// else 2 with 0 and 1 with 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=2))]
    flush_log: Option<u32>,
    /// sync_binlog
    #[arg(long, value_name = "N")]
    sync_binlog: Option<u32>,
    /// Only this one; else, of a single server the first two, of galera the last two, of others the
    /// third
    #[arg(long, value_parser = PossibleValuesParser::new(["power-cut", "kill", "site-loss",
                                                          "node-loss", "cluster-loss"]))]
    fault: Option<String>,
    /// What a power cut leaves of writes that were never flushed
    #[arg(long, default_value = "drop-all",
          value_parser = PossibleValuesParser::new(Leaves::ALL.map(|(name, _)| name)))]
    cut: String,
    /// Of the moments, and of what cuts draw by chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How the result is written
    #[arg(long, default_value = "text", value_parser = PossibleValuesParser::new(FORMATS))]
    format: String,
}

impl Wish {
    /// The two ends of the scale, unless one setting at least is given: the other is 1 then.
    fn durabilities(&self) -> Vec<Durability> {
        match (self.flush_log, self.sync_binlog) {
            // Copies keep what is flushed, so that there the loose end of the scale tells nothing.
            (None, None) if ["mirror", "quorum"].contains(&self.mode.as_str()) => {
                vec![Durability::STRICT]
            }
            (None, None) => vec![Durability::LOOSE, Durability::STRICT],
            (flush_log, sync_binlog) => vec![Durability {
                flush_log: flush_log.unwrap_or(Durability::STRICT.flush_log),
                sync_binlog: sync_binlog.unwrap_or(Durability::STRICT.sync_binlog),
            }],
        }
    }

    /// # Errors
    /// A mistake if the mode has no such fault.
    fn faults(&self, mode: &ModeSpec, sites: &[String]) -> Result<Vec<Fault>> {
        let leaves = Leaves::named(&self.cut).unwrap_or(Leaves::Nothing);
        let given = &self.mode;
        let refused = |why: String| Mistake::new("acklab power-cut", "--mode", given, &why);
        let power = Fault::of_power(mode, sites, leaves).map_err(refused)?;
        let can_restart = mode.mode.has_one_server();
        let kill = can_restart.then_some(Fault::Kill);
        let Some(given) = self.fault.as_deref() else {
            let kill = kill.filter(|_| mode.mode == Mode::Single);
            return Ok(power.into_iter().chain(kill).collect());
        };
        let possible = power.into_iter().chain(kill);
        let chosen: Vec<Fault> = possible.filter(|fault| name(*fault) == given).collect();
        if chosen.is_empty() {
            let allowed = match mode.mode {
                Mode::Single => "of a single server it is power-cut or kill",
                Mode::Galera => "of a cluster it is node-loss or cluster-loss",
                _ if can_restart => "with copies of the volume it is kill or site-loss",
                _ => "with replicas it is site-loss",
            };
            return Err(Mistake::new("acklab power-cut", "--fault", given, allowed).into());
        }
        Ok(chosen)
    }

    /// Size of each node's image.
    fn image_mb(&self) -> u32 {
        let write_sets = match self.mode.as_str() {
            "galera" => IMAGE_MB_WRITE_SETS,
            _ => 0,
        };
        IMAGE_MB + write_sets + IMAGE_MB_PER_CUT * self.cuts
    }

    /// The keys of the mode beyond its name, as they were given: a study's reader tells which of
    /// them the mode has.
    fn mode_keys(&self) -> String {
        let number = |key: &str, given: Option<u32>| given.map(|given| format!("{key} = {given}"));
        let keys = [
            number("copies", self.copies),
            number("write_quorum", self.write_quorum),
            self.ack.as_ref().map(|ack| format!("ack = \"{ack}\"")),
        ];
        keys.into_iter().flatten().map(|key| key + "\n").collect()
    }

    /// As a study, so that it is checked like any other.
    fn study_text(&self) -> String {
        let server = toml::Value::String(self.server.clone()).to_string();
        let mode = |durability: &Durability| {
            let Durability {
                flush_log,
                sync_binlog,
            } = durability;
            format!(
                "[[mode]]\nserver = {server}\nmode = \"{}\"\nlabel = \"{}\"\n{}\
                 [mode.variables]\ninnodb_flush_log_at_trx_commit = {flush_log}\n\
                 sync_binlog = {sync_binlog}\n",
                self.mode,
                durability.label(),
                self.mode_keys()
            )
        };
        let modes: String = self.durabilities().iter().map(mode).collect();
        format!(
            "name = \"power-cut\"\nseed = {}\n[images]\nplace = \"memory\"\nsize = \"{}MB\"\n\
             {modes}\
             [[sweep]]\nworkload = \"update_index\"\nrtt = {}\n",
            self.seed,
            self.image_mb(),
            toml::Value::String(self.rtt.clone())
        )
    }
}

/// As the command line calls it.
fn name(fault: Fault) -> &'static str {
    match fault {
        Fault::Kill => "kill",
        Fault::PowerCut(_) => "power-cut",
        Fault::SiteLoss { .. } | Fault::SourceLoss { .. } => "site-loss",
        Fault::NodeLoss { .. } => "node-loss",
        Fault::ClusterLoss { .. } => "cluster-loss",
    }
}

/// Tries it and prints what it came to.
pub fn run(wish: &Wish, words: &[String]) -> Result<u8> {
    let format = format(&wish.format)?;
    need_root("power-cut")?;
    need_tun("power-cut")?;
    let cache = Cache::of_user()?;
    let catalogue = Catalogue::builtin();
    let known = capabilities(&cache, &catalogue)?;
    let none = |_: &str| Err(String::new());
    let study = written::parse(&wish.study_text(), "acklab power-cut", &known, &none)?;
    let faults = wish.faults(&study.modes[0], &study.sites)?;
    need_disks(&study)?;
    fetch_missing(&study, &cache, &catalogue)?;
    let server = server(&study, &cache, &catalogue)?;
    let trial = Trial {
        study,
        durabilities: wish.durabilities(),
        faults,
        cuts: wish.cuts,
    };
    sandbox::run(&cache.path, Lifetime::FrontEnd, |inside| {
        let mut found = Vec::new();
        let outcome = Cache::at(&Path::new(sandbox::INSIDE).join("cache")).and_then(|cache| {
            trial::run(&trial, &cache, &inside.run, &mut found, &Progress::new())
        });
        let tolls: Vec<Toll> = found.iter().map(toll).collect();
        let is_broken = tolls.iter().any(|toll| toll.verdict == Verdict::Broken);
        if tolls.iter().any(|toll| toll.cuts > 0) {
            let page = page(wish, &trial.study, server, tolls, words);
            print(&page, format);
        }
        match exit_code(outcome) {
            0 if is_broken => BROKEN,
            code => code,
        }
    })
}

/// Name and version.
fn server(study: &Study, cache: &Cache, catalogue: &Catalogue) -> Result<String> {
    let name = study.modes[0].server.clone();
    let program = cache.program(catalogue, &name)?;
    let version = program.map(|program| format!(" {}", program.kept.version));
    Ok(name + &version.unwrap_or_default())
}

fn page(
    wish: &Wish,
    study: &Study,
    server: String,
    tolls: Vec<Toll>,
    words: &[String],
) -> TrialPage {
    let mode = &study.modes[0].mode;
    TrialPage {
        server,
        mode: mode.name().to_owned(),
        settings: mode_settings(mode).into_iter().collect(),
        distances: study.sweeps[0].distances[0].label.clone(),
        seed: wish.seed,
        cut: wish.cut.clone(),
        tolls,
        command_line: words.to_vec(),
    }
}

fn print(page: &TrialPage, format: Format) {
    use std::io::Write;
    let mut out = std::io::stdout();
    // A reader that stops reading early (`| head`) is no fault.
    let _ = out.write_all(render(page, format).as_bytes());
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish() -> Wish {
        Wish {
            server: "mysql".to_owned(),
            mode: "single".to_owned(),
            copies: None,
            write_quorum: None,
            ack: None,
            rtt: "2ms".to_owned(),
            cuts: 3,
            flush_log: None,
            sync_binlog: None,
            fault: None,
            cut: "torn-512".to_owned(),
            seed: 7,
            format: "text".to_owned(),
        }
    }

    #[test]
    fn both_ends_of_the_scale_and_both_faults_unless_one_is_chosen() {
        let cut = Fault::PowerCut(Leaves::Torn(512));
        assert_eq!(
            wish().durabilities(),
            [Durability::LOOSE, Durability::STRICT]
        );
        let faults = |wish: &Wish| {
            let study = study(wish);
            wish.faults(&study.modes[0], &study.sites)
        };
        assert_eq!(faults(&wish()).unwrap(), [cut, Fault::Kill]);
        let chosen = Wish {
            sync_binlog: Some(0),
            fault: Some("power-cut".to_owned()),
            ..wish()
        };
        let durability = Durability {
            flush_log: 1,
            sync_binlog: 0,
        };
        assert_eq!(chosen.durabilities(), [durability]);
        assert_eq!(faults(&chosen).unwrap(), [cut]);
        let copied = |write_quorum, fault: Option<&str>| {
            faults(&Wish {
                mode: "quorum".to_owned(),
                write_quorum: Some(write_quorum),
                fault: fault.map(str::to_owned),
                ..wish()
            })
        };
        let loss = |is_covered| Fault::SiteLoss {
            leaves: Leaves::Torn(512),
            is_covered,
        };
        assert_eq!(copied(4, None).unwrap(), [loss(true)]);
        // Two copies stand in the writer's own site.
        assert_eq!(copied(2, None).unwrap(), [loss(false)]);
        assert_eq!(copied(4, Some("kill")).unwrap(), [Fault::Kill]);
        let mistake = copied(4, Some("power-cut")).unwrap_err().to_string();
        assert!(mistake.contains("kill or site-loss"), "{mistake}");
    }

    #[test]
    fn a_cluster_loses_a_node_or_all_unless_one_is_chosen() {
        let leaves = Leaves::Torn(512);
        let (one, all) = (Fault::NodeLoss { leaves }, Fault::ClusterLoss { leaves });
        let faults = |fault: Option<&str>| {
            let wish = Wish {
                server: "mariadb".to_owned(),
                mode: "galera".to_owned(),
                fault: fault.map(str::to_owned),
                ..wish()
            };
            let study = study(&wish);
            assert_eq!((study.modes.len(), study.modes[0].nodes), (2, 3));
            wish.faults(&study.modes[0], &study.sites)
        };
        assert_eq!(faults(None).unwrap(), [one, all]);
        assert_eq!(faults(Some("cluster-loss")).unwrap(), [all]);
        for other in ["kill", "site-loss"] {
            let mistake = faults(Some(other)).unwrap_err().to_string();
            assert!(mistake.contains("node-loss or cluster-loss"), "{mistake}");
        }
    }

    fn study(wish: &Wish) -> Study {
        let catalogue = Catalogue::builtin();
        let mut known = crate::study::Capabilities::default();
        for name in ["mysql", "mariadb"] {
            let entry = catalogue.entry(name).unwrap();
            known.servers.insert(
                name.to_owned(),
                crate::study::Capability {
                    flavour: entry.flavour,
                    version: entry.version.clone(),
                    modes: catalogue.modes_of_entry(entry),
                },
            );
        }
        let none = |_: &str| Err(String::new());
        written::parse(&wish.study_text(), "x", &known, &none).unwrap()
    }

    #[test]
    fn each_pair_of_settings_has_a_server_on_a_disk_of_its_own() {
        let study = study(&wish());
        let labs = crate::plan::labs(&study);
        assert_eq!((labs.len(), study.seed), (2, 7));
        assert!(study.images.is_some());
        assert!(labs.iter().all(|lab| lab.nodes == 1 && lab.binary_log));
        assert_eq!(labs[0].variables["sync_binlog"], "0");
    }
}
