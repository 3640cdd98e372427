use std::process::ExitCode;
use acklab::error::Result;
use acklab::lab::*;
use acklab::lab::servers::*;
use acklab::lab::sandbox::*;
use acklab::study::*;
use acklab::study::mode::Family;
use std::time::*;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("acklab: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
fn dispatch(words: &[String]) -> Result<u8> {
    match words.split_first() {
        Some((verb, rest)) if verb == "switch" => link::switch::serve(rest).map(|()| 0),
        Some((verb, rest)) if verb == "try" => try_lab(rest),
        _ => Ok(0),
    }
}
fn try_lab(words: &[String]) -> Result<u8> {
    let cache = Cache::of_user()?;
    let catalogue = Catalogue::builtin();
    let fam = match words[1].as_str() { "group" => Family::Group, "galera" => Family::Galera, _ => Family::Replication };
    let t = Instant::now();
    let _p = cache.install(&catalogue, &words[0], &|s| println!("{s}"))?;
    println!("installed {:?}", t.elapsed());
    run(&cache.path, Lifetime::FrontEnd, |inside| {
        let work = || -> Result<()> {
            let cache = Cache::at(std::path::Path::new("/run/acklab/cache"))?;
            let program = cache.program(&catalogue, &words[0])?.unwrap();
            servers::datadir::ensure(&cache, &program, &|s| println!("{s}"))?;
            println!("data {:?}", t.elapsed());
            let sites: Vec<String> = ["a","b","c"].map(String::from).into();
            let terms = Network { rtt_within_site: Duration::from_micros(250), jitter: Duration::ZERO, loss: 0.0, rate_bits_per_s: None };
            let (net, mut places) = network::Network::build(&[("x".into(), sites.clone())], &["a".to_string()], terms)?;
            println!("net {:?} floor {:?}", t.elapsed(), net.floor);
            let ms = Duration::from_micros(2150);
            net.set_distances(&Distances { label: "".into(), pairs: vec![("a".into(),"b".into(),ms),("a".into(),"c".into(),ms),("b".into(),"c".into(),ms)] })?;
            let spec = LabSpec { name: "x".into(), family: fam, sites, binary_log: true, appliers: 4, spread: false, tls: false, my_cnf: None, variables: Default::default(), node_variables: Default::default() };
            let mut lab = Lab::form(spec, program, places.remove(0), &cache, &inside.run)?;
            println!("formed {:?} {:?}", lab.ready, t.elapsed());
            let m = |mode: Mode| ModeSpec { label: "x".into(), server: "x".into(), mode, nodes: 3, appliers: 4, binary_log: true, spread: false, baseline: None, variables: Default::default(), node_variables: Default::default() };
            let modes = match fam {
                Family::Replication => vec![Mode::Single, Mode::Async, Mode::Semisync { wait_for: 1, wait_point: WaitPoint::AfterSync, timeout: Duration::from_secs(10) }, Mode::Single],
                Family::Group => vec![Mode::Group { consistency: Consistency::BeforeOnPrimaryFailover }, Mode::GroupMulti { consistency: Consistency::Eventual }, Mode::Group { consistency: Consistency::After }],
                Family::Galera => vec![Mode::Galera],
            };
            lab.nodes[0].run("create table acklab.t (id int primary key, v int)")?;
            lab.nodes[0].run("insert into acklab.t values (1,1)")?;
            for mode in modes {
                let t2 = Instant::now();
                let spec = m(mode);
                lab.enter(&spec)?;
                let entered = t2.elapsed();
                let mut times = vec![];
                for _ in 0..40 { let t3 = Instant::now(); lab.nodes[0].run("update acklab.t set v = v + 1")?; times.push(t3.elapsed()); }
                times.sort();
                let replicas = lab.members(&spec); let replicas = 1.max(replicas.start)..replicas.end.max(1);
                let lag = acklab::observe::lag::measure(&mut lab, replicas)?;
                println!("{mode:?} entered {entered:?} update p50 {:?} p90 {:?} lag {:?}", times[20], times[36], lag);
            }
            Ok(())
        };
        match work() { Ok(()) => 0, Err(e) => { eprintln!("{e}"); 4 } }
    })
}
