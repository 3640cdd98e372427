//! `pack` and `run --again`: what a pack holds is the same study once more, and servers' logs.

use acklab::record::store::{Record, server_logs};

use crate::ground::on_ground;

/// One server, one cell.
const SMALL: &str = r#"
seed = 5
warmup = "0.1s"
measure = "0.3s"
[[mode]]
server = "mysql"
mode = "single"
variables = { max_connections = "99" }
[[sweep]]
workload = "update_index"
rtt = "0.25ms"
"#;

#[test]
fn lab_again_runs_what_a_pack_holds() {
    on_ground("a pack, run again", |ground| {
        let study = ground.file("study.toml", SMALL);
        let options = ["--rounds", "2", "--seed", "7", "--record", "r.acklab"];
        ground.run(&[&["run", study][..], &options].concat()).good();
        let logs = server_logs(&ground.work.join("r.acklab")).expect("logs");
        assert_eq!(logs.len(), 1, "{logs:?}");
        assert!(logs[0].log.contains("ready for connections"), "{logs:?}");
        ground.run(&["pack", "r.acklab", "-o", "r.zip"]).good();
        let run = ground.run(&["run", "--again", "r.zip", "--record", "again.acklab"]);
        assert!(run.err.contains("again: study, as of "), "{}", run.err);
        for same in ["mysql", "acklab", "CPU", "memory", "kernel"] {
            let told = format!("differs here: {same}");
            let mut lines = run.err.lines();
            assert!(!lines.any(|line| line.starts_with(&told)), "{}", run.err);
        }
        run.good();
        ground.nothing_left();
        let read = |name: &str| Record::open(&ground.work.join(name)).expect("a record");
        let (then, now) = (read("r.acklab"), read("again.acklab"));
        assert_eq!((now.header.study.seed, now.measurements.len()), (7, 2));
        assert_eq!(now.header.study, then.header.study);
        assert_eq!(now.header.cells, then.header.cells);
        assert_eq!(now.header.servers, then.header.servers);
    });
}
