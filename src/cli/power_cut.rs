//! `power-cut`: what is left of acknowledged commits when a server loses its power, or only its
//! life, a copied volume's server its whole site, or a cluster one of its nodes or all.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::begin::record_path;
use super::measure::{capabilities, fetch_missing, format, print_kept, run_in_sandbox};
use super::needs::{need_disks, need_root, need_tun};
use crate::analysis::series;
use crate::analysis::trial::Verdict;
use crate::error::{Mistake, Result};
use crate::lab::servers::{Cache, Catalogue};
use crate::plan::Plan;
use crate::record::store::Record;
use crate::report::trial::FORMATS;
use crate::run::Order;
use crate::self_test;
use crate::study::fault::{Durability, Fault, Leaves, Scope};
use crate::study::{Mode, ModeSpec, written};

/// Exit codes: a promise was broken; none was, but whether one was kept is not known.
const BROKEN: u8 = 1;
const UNDECIDED: u8 = 3;

/// A new server's files, and what the ledger's rows and binary logs add with each end.
const IMAGE_MB: u32 = 512;
const IMAGE_MB_PER_CUT: u32 = 40;
/// What each node of a Galera cluster keeps for others that were away.
const IMAGE_MB_WRITE_SETS: u32 = 256;

/// Which faults, on what, and how often.
#[derive(Args)]
pub struct PowerCutOptions {
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
    /// mirror, quorum: what is waited for at each write [default: write]; mirror: DRBD's protocol-c
    #[arg(long, value_parser = PossibleValuesParser::new(["write", "flush", "protocol-c"]))]
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
    /// Where each trial is kept as it ends [default: a new file in this folder]
    #[arg(long, value_name = "PATH")]
    record: Option<PathBuf>,
    /// How the result is written
    #[arg(long, default_value = "text", value_parser = PossibleValuesParser::new(FORMATS))]
    format: String,
}

impl PowerCutOptions {
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
        let kill = can_restart.then_some(Fault::KILL);
        let Some(given) = self.fault.as_deref() else {
            let kill = kill.filter(|_| mode.mode == Mode::Single);
            return Ok(power.into_iter().chain(kill).collect());
        };
        let possible = power.into_iter().chain(kill);
        let chosen: Vec<Fault> = possible
            .filter(|fault| names(*fault).contains(&given))
            .collect();
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

    /// What is to be run: trials alone, and no measurement.
    fn order(&self, cache: &Cache, catalogue: &Catalogue, words: &[String]) -> Result<Order> {
        let known = capabilities(cache, catalogue)?;
        let none = |_: &str| Err(String::new());
        let study_text = self.study_text();
        let mut study = written::parse(&study_text, "acklab power-cut", &known, &none)?;
        study.faults = self.faults(&study.modes[0], &study.sites)?;
        study.power_cuts = self.cuts;
        Ok(Order {
            record: record_path(self.record.as_deref(), &study.name)?,
            study,
            study_text,
            plan: Plan {
                cells: vec![],
                rounds: vec![],
            },
            command_line: words.to_vec(),
            earlier: None,
            whole: None,
            self_test: self_test::kept(&cache.path),
        })
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

/// As the command line calls it: the loss of power of a node is a cluster's loss of a node.
fn names(fault: Fault) -> &'static [&'static str] {
    match (fault.leaves(), fault.scope) {
        (None, _) => &["kill"],
        (_, Scope::Node) => &["power-cut", "node-loss"],
        (_, Scope::Site) => &["site-loss"],
        (_, Scope::All) => &["cluster-loss"],
    }
}

/// Tries it, keeps each trial in a record, and prints what they came to.
pub fn run(asked: &PowerCutOptions, words: &[String]) -> Result<u8> {
    let format = format(&asked.format)?;
    need_root("power-cut")?;
    need_tun("power-cut")?;
    let cache = Cache::of_user()?;
    let catalogue = Catalogue::builtin();
    let order = asked.order(&cache, &catalogue, words)?;
    need_disks(&order.study)?;
    fetch_missing(&order.study, &cache, &catalogue)?;
    eprintln!("record: {}", order.record.display());
    let code = run_in_sandbox((&order, &mut order.plan.schedule()), &cache, |error| error)?;
    print_kept(&order.record, format, None)?;
    match code {
        0 if order.record.exists() => Ok(worst_verdict(&Record::open(&order.record)?)),
        code => Ok(code),
    }
}

/// The exit code of the worst of all verdicts.
fn worst_verdict(record: &Record) -> u8 {
    let series = series(record);
    let is_any = |verdict| series.iter().any(|of| of.series.verdict == verdict);
    match (is_any(Verdict::Broken), is_any(Verdict::Undecided)) {
        (true, _) => BROKEN,
        (_, true) => UNDECIDED,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Study;

    #[derive(clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        asked: PowerCutOptions,
    }

    /// As these words ask.
    fn asked(words: &str) -> PowerCutOptions {
        let all = format!("power-cut --cut torn-512 --seed 7 {words}");
        <CommandLine as clap::Parser>::parse_from(all.split_whitespace()).asked
    }

    fn study(asked: &PowerCutOptions) -> Study {
        written::sample(&asked.study_text())
    }

    fn faults(words: &str) -> Result<Vec<Fault>> {
        let asked = asked(words);
        let study = study(&asked);
        asked.faults(&study.modes[0], &study.sites)
    }

    #[test]
    fn both_ends_of_the_scale_and_all_faults_of_the_mode_unless_one_is_chosen() {
        let of = |scope| Fault::power_cut(Leaves::Torn(512), scope);
        let [node, site, all] = [Scope::Node, Scope::Site, Scope::All].map(of);
        let cluster = "--server mariadb --mode galera";
        for (words, expected) in [
            ("", &[node, Fault::KILL][..]),
            ("--fault power-cut", &[node]),
            ("--mode quorum", &[site]),
            ("--mode quorum --fault kill", &[Fault::KILL]),
            (cluster, &[node, all]),
            (&format!("{cluster} --fault cluster-loss"), &[all]),
            (&format!("{cluster} --fault node-loss"), &[node]),
        ] {
            assert_eq!(faults(words).unwrap(), expected, "{words}");
        }
        for (words, allowed) in [
            ("--mode quorum --fault power-cut", "kill or site-loss"),
            (
                &format!("{cluster} --fault kill"),
                "node-loss or cluster-loss",
            ),
            (
                &format!("{cluster} --fault site-loss"),
                "node-loss or cluster-loss",
            ),
        ] {
            let mistake = faults(words).unwrap_err().to_string();
            assert!(mistake.contains(allowed), "{words}: {mistake}");
        }
        let durabilities = asked("").durabilities();
        assert_eq!(durabilities, [Durability::LOOSE, Durability::STRICT]);
        let durability = Durability {
            flush_log: 1,
            sync_binlog: 0,
        };
        assert_eq!(asked("--sync-binlog 0").durabilities(), [durability]);
    }

    #[test]
    fn a_breach_is_told_before_a_doubt() {
        use crate::analysis::example::Example;
        use crate::analysis::trial::tests::{lossy, without_loss};
        let cut = Fault::power_cut(Leaves::Nothing, Scope::Node);
        let (loose, strict) = (Durability::LOOSE, Durability::STRICT);
        let code = |series: Vec<_>| {
            let mut record = Example::anatomy().record();
            record.header.study.modes[0].mode = Mode::Single;
            record.header.study.modes[0].nodes = 1;
            record.series.insert(0, series);
            worst_verdict(&record)
        };
        let kept = || without_loss(strict, cut);
        let mut doubtful = kept();
        doubtful.trials.pop();
        assert_eq!(code(vec![kept(), lossy(loose, cut)]), 0, "lost, no promise");
        assert_eq!(code(vec![kept(), doubtful.clone()]), UNDECIDED);
        assert_eq!(code(vec![doubtful, lossy(strict, cut)]), BROKEN);
    }

    #[test]
    fn each_pair_of_settings_has_a_server_on_a_disk_of_its_own() {
        let study = study(&asked(""));
        let labs = crate::plan::labs(&study);
        assert_eq!((labs.len(), study.seed), (2, 7));
        assert!(study.images.is_some());
        assert!(labs.iter().all(|lab| lab.nodes == 1 && lab.binary_log));
        assert_eq!(labs[0].variables["sync_binlog"], "0");
    }
}
