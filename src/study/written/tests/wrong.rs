//! Mistakes, and how they are told.

use super::*;

#[test]
fn unknown_keys_are_mistakes_everywhere() {
    let text = r#"
        round = 3
        [network]
        loos = 0.1
        [workload.x]
        tool = "sysbench"
        load = "insert"
        table_sise = 5
        [[mode]]
        server = "mysql"
        mode = "single"
        aplliers = 4
        [[sweep]]
        workload = "x"
        rtt = "1ms"
        zzz = 1
        "#;
    assert_snapshot!(mistakes(text), @r#"
    study.toml:2: round: given 3; no such key; did you mean rounds?
    study.toml:4: network.loos: given 0.1; no such key; did you mean loss?
    study.toml:8: workload.x.table_sise: given 5; no such key; did you mean table_size?
    study.toml:12: mode[1].aplliers: given 4; no such key; did you mean appliers?
    study.toml:16: sweep[1].zzz: given 1; no such key; known here are only, workload, connections, rate, pace, knee, rtt, distances, flush, disk, client, cpu_speed, schemas, modes, measure, rounds, watch_after, apply
    "#);
}

#[test]
fn unknown_modes_and_servers_are_mistakes() {
    assert_snapshot!(mistakes(&with_mode("mysql", "grup", "")), @r#"study.toml:3: mode[1].mode: given "grup"; must be one of single, async, semisync, group, group-multi, galera, mirror, quorum, endpoint; did you mean group?"#);
    assert_snapshot!(mistakes(&with_mode("postgres", "single", "")), @r#"study.toml:2: mode[1].server: given "postgres"; must be one of mariadb, mysql, mysql-5.5, mysql-5.6, mysql-5.7"#);
    assert_snapshot!(mistakes(&with_modes("[[mode]]\nlabel = \"x\"")), @r#"
    study.toml:1: mode[1].server: is missing; must be one of mariadb, mysql, mysql-5.5, mysql-5.6, mysql-5.7
    study.toml:1: mode[1].mode: is missing; must be one of single, async, semisync, group, group-multi, galera, mirror, quorum, endpoint
    "#);
}

#[test]
fn a_mode_that_the_server_cannot_do_is_a_mistake() {
    assert_snapshot!(mistakes(&with_mode("mariadb", "group", "")), @r#"study.toml:3: mode[1].mode: given "group"; is not a mode of mariadb, which can do single, async, semisync, galera, mirror, quorum"#);
    assert_snapshot!(mistakes(&with_mode("mysql", "galera", "")), @r#"study.toml:3: mode[1].mode: given "galera"; is not a mode of mysql, which can do single, async, semisync, group, group-multi, mirror, quorum"#);
}

#[test]
fn copies_that_are_too_far_to_be_kept_are_a_mistake() {
    let at =
        |mode: &str, lines: &str, rtt: &str| with_mode("mysql", mode, lines).replace("2.15ms", rtt);
    assert_snapshot!(mistakes(&at("quorum", "", "501ms")), @r#"study.toml:8: sweep[1].rtt: given "501ms"; must be at most 500 ms, for a copy of a volume (mirror, quorum) that is farther is taken for lost"#);
    assert_snapshot!(mistakes(&at("mirror", "timeout = \"300ms\"", "151ms")), @r#"study.toml:8: sweep[1].rtt: given "151ms"; must be at most 150 ms, for a copy of a volume (mirror, quorum) that is farther is taken for lost"#);
    assert_eq!(meant(&at("mirror", "", "500ms")).modes.len(), 1);
    assert_eq!(meant(&at("async", "", "2s")).modes.len(), 1);
}

#[test]
fn rounds_and_times_have_limits() {
    assert_snapshot!(mistakes(&with_top("rounds = 0")), @"study.toml:1: rounds: given 0; must be a whole number from 1 to 1000");
    assert_snapshot!(mistakes(&with_top("rounds = -2")), @"study.toml:1: rounds: given -2; must be a whole number from 1 to 1000");
    assert_snapshot!(mistakes(&with_top("rounds = \"four\"")), @r#"study.toml:1: rounds: given "four"; must be a whole number from 1 to 1000"#);
    assert_snapshot!(mistakes(&with_top("cpus = \"two\"")), @r#"study.toml:1: cpus: given "two"; must be a whole number from 1 to 64, "writer" or "shared""#);
    assert_snapshot!(mistakes(&with_top("measure = \"2h\"")), @r#"study.toml:1: measure: given "2h"; must be a time from 100 ms to 1 h"#);
    assert_snapshot!(mistakes(&with_top("measure = \"0s\"")), @r#"study.toml:1: measure: given "0s"; must be a time from 100 ms to 1 h"#);
    assert_snapshot!(mistakes(&with_top("warmup = 5")), @r#"study.toml:1: warmup: given 5; must be a time from 0 to 1 h, with its unit, such as "2.15ms""#);
    assert_snapshot!(mistakes(&with_top("seed = -1")), @"study.toml:1: seed: given -1; must be a whole number from 0 to 9223372036854775807");
}

#[test]
fn networks_have_limits() {
    let text = "[network]\nloss = 2\nrate = \"25mbit\"\njitter = \"-1us\"";
    assert_snapshot!(mistakes(&with_top(text)), @r#"
    study.toml:2: network.loss: given 2; must be a share from 0 to 0.5, or "0.5%" up to "50%"
    study.toml:3: network.rate: given "25mbit"; must be a rate from 1 kB/s (8 kbit/s) to 100 Gbit/s, such as "25Mbit/s"
    study.toml:4: network.jitter: given "-1us"; must be a time from 0 to 60 s
    "#);
    assert_snapshot!(mistakes(&with_top("[network]\nloss = \"60%\"")), @r#"study.toml:2: network.loss: given "60%"; must be a share from 0 to 0.5, or "0.5%" up to "50%""#);
    let fast = meant(&with_top("[network]\nloss = 0.005\nrate = \"150MB/s\""));
    assert_eq!(fast.network.loss, 0.005);
    assert_eq!(fast.network.rate_bits_per_s, Some(1_200_000_000));
}

#[test]
fn modes_are_checked() {
    assert_snapshot!(mistakes(&with_mode("mysql", "semisync", "wait_for = 3")), @"study.toml:4: mode[1].wait_for: given 3; must be from 1 to 2, the number of replicas");
    assert_snapshot!(mistakes(&with_mode("mysql", "semisync", "wait_for = 0")), @"study.toml:4: mode[1].wait_for: given 0; must be from 1 to 2, the number of replicas");
    assert_snapshot!(mistakes(&with_mode("mariadb", "semisync", "wait_for = 2")), @"study.toml:4: mode[1].wait_for: given 2; must be 1: MariaDB's semi-sync waits for one replica, never more");
    assert_snapshot!(mistakes(&with_mode("mysql", "group", "nodes = 5")), @"study.toml:4: mode[1].nodes: given 5; must be from 2 to 3: one node in each of the sites a, b, c");
    assert_snapshot!(mistakes(&with_mode("mysql", "single", "nodes = 2")), @"study.toml:4: mode[1].nodes: given 2; must be 1");
    let lonely = format!("sites = [\"a\"]\n{}", with_mode("mysql", "async", ""));
    assert_snapshot!(mistakes(&lonely), @"study.toml:2: mode[1]: needs at least two sites, for its nodes stand one in each");
    let pair = format!(
        "sites = [\"a\", \"b\"]\n{}",
        with_mode("mysql", "async", "")
    );
    assert_eq!(meant(&pair).modes[0].nodes, 2);
    assert_snapshot!(mistakes(&with_top("sites = [\"a\", \"a\", \"The North\"]")), @r#"
    study.toml:1: sites[2]: given "a"; is given twice
    study.toml:1: sites[3]: given "The North"; must be 1 to 8 lower-case letters or digits
    "#);
    for mode in ["async", "semisync", "group", "group-multi"] {
        assert!(mistakes(&with_mode("mysql", mode, "binary_log = false")).contains("binary_log"));
    }
    assert_snapshot!(mistakes(&with_mode("mysql", "async", "binary_log = false")), @"study.toml:4: mode[1].binary_log: given false; must be true: async replicates through the binary log");
    assert!(read(&with_mode("mariadb", "galera", "binary_log = false")).is_ok());
    let lines = "wait_for = 1\nconsistency = \"AFTER\"\nspread = true";
    assert_snapshot!(mistakes(&with_mode("mysql", "async", lines)), @r#"
    study.toml:4: mode[1].wait_for: given 1; is for mode semisync only, not for async
    study.toml:5: mode[1].consistency: given "AFTER"; is for modes group and group-multi only, not for async
    study.toml:6: mode[1].spread: given true; is for modes group-multi and galera only, not for async
    "#);
    let lines = "consistency = \"after\"";
    assert_snapshot!(mistakes(&with_mode("mysql", "group", lines)), @r#"study.toml:4: mode[1].consistency: given "after"; must be one of EVENTUAL, BEFORE_ON_PRIMARY_FAILOVER, BEFORE, AFTER, BEFORE_AND_AFTER; did you mean AFTER?"#);
    let lines = "[mode.variables]\n\"a b\" = 1\nx = [1]\n[mode.node_variables.d]\ny = 1";
    assert_snapshot!(mistakes(&with_mode("mysql", "group", lines)), @r#"
    study.toml:5: mode[1].variables.a b: given 1; is not the name of a server variable
    study.toml:6: mode[1].variables.x: given [1]; must be a text of one line, a number, true or false
    study.toml:7: mode[1].node_variables.d: given [mode.node_variables.d]; there is no node of this mode in site d; must be one of a, b, c
    "#);
    let twice = format!("{SINGLE}{SINGLE}");
    assert_snapshot!(mistakes(&with_modes(&twice)), @r#"study.toml:6: mode[2]: given "mysql single" by default; is the label of another mode too; labels must differ by more than punctuation and case; give it a label"#);
    let alike = format!(
        "{SINGLE}\n[[mode]]\nserver = \"mysql\"\nmode = \"async\"\nlabel = \"MySQL: single\""
    );
    assert_snapshot!(mistakes(&with_modes(&alike)), @r#"study.toml:9: mode[2].label: given "MySQL: single"; is the label of another mode too; labels must differ by more than punctuation and case"#);
    let lost = format!(
        "{SINGLE}\n[[mode]]\nserver = \"mysql\"\nmode = \"async\"\nbaseline = \"mysql singel\""
    );
    assert_snapshot!(mistakes(&with_modes(&lost)), @r#"study.toml:9: mode[2].baseline: given "mysql singel"; no other mode has this label; must be one of mysql single, none; did you mean mysql single?"#);
}

#[test]
fn sweeps_are_checked() {
    let lines = "workload = [\"update_idx\", \"mysqlslap writ\"]\nconnections = [0, 20000]\n\
                 client = \"d\"";
    assert_snapshot!(mistakes(&with_sweep(lines)), @r#"
    study.toml:6: sweep[1]: needs rtt = ["2.15ms"] (between all sites), or distances, or both
    study.toml:7: sweep[1].workload[1]: given "update_idx"; must be one of point_select, read_only, read_write, write_only, update_index, update_non_index, insert, delete, mysqlslap key, mysqlslap read, mysqlslap write, mysqlslap mixed, mysqlslap update; did you mean update_index?
    study.toml:7: sweep[1].workload[2]: given "mysqlslap writ"; must be one of point_select, read_only, read_write, write_only, update_index, update_non_index, insert, delete, mysqlslap key, mysqlslap read, mysqlslap write, mysqlslap mixed, mysqlslap update; did you mean mysqlslap write?
    study.toml:8: sweep[1].connections[1]: given 0; must be a whole number from 1 to 10000
    study.toml:8: sweep[1].connections[2]: given 20000; must be a whole number from 1 to 10000
    study.toml:9: sweep[1].client: given "d"; must be one of a, b, c
    "#);
    assert_snapshot!(mistakes(&with_sweep("workload = \"insert\"\nrtt = []")), @"study.toml:8: sweep[1].rtt: given []; must not be empty");
    let lines = "workload = \"insert\"\nrtt = \"1ms\"\nrate = [0, \"fast\"]";
    assert_snapshot!(mistakes(&with_sweep(lines)), @r#"
    study.toml:9: sweep[1].rate[1]: given 0; must be a whole number from 1 to 1000000
    study.toml:9: sweep[1].rate[2]: given "fast"; must be a whole number from 1 to 1000000
    "#);
    let lines = "workload = \"mysqlslap key\"\nrtt = \"1ms\"\nrate = 500";
    assert_snapshot!(mistakes(&with_sweep(lines)), @"study.toml:9: sweep[1].rate: given 500; is not for mysqlslap's workloads: that tool has no rate");
    let lines = "workload = \"insert\"\ndistances = [{ ab = \"1ms\", ba = \"2ms\", ad = \"1ms\" }]";
    assert_snapshot!(mistakes(&with_sweep(lines)), @r#"
    study.toml:8: sweep[1].distances[1].ac: is missing; the round-trip time of each pair of sites must be given
    study.toml:8: sweep[1].distances[1].bc: is missing; the round-trip time of each pair of sites must be given
    study.toml:8: sweep[1].distances[1].ba: given "2ms"; the same pair stands under sweep[1].distances[1].ab already
    study.toml:8: sweep[1].distances[1].ad: given "1ms"; no such key; known here are label, ab, ac, bc, jitter, rate
    "#);
    let lines = "workload = \"insert\"\ndistances = [\n\
                 { label = \"x\", ab = \"1ms\", ac = \"1ms\", bc = \"1ms\" },\n\
                 { label = \"X!\", ab = \"1ms\", ac = \"1ms\", bc = \"2ms\" }]";
    assert_snapshot!(mistakes(&with_sweep(lines)), @r#"study.toml:10: sweep[1].distances[2]: given { label = "X!", ab = "1ms", ac = "1ms", bc = "2ms" }; the label "X!" already stands for other distances"#);
    assert_snapshot!(mistakes(&with_sweep("workload = \"insert\"\nrtt = \"-1ms\"")), @r#"study.toml:8: sweep[1].rtt: given "-1ms"; must be a time from 0 to 60 s"#);
    let list = "workload = \"insert\"\nrtt = [\"1ms\", \"61s\", \"8\"]";
    assert_snapshot!(mistakes(&with_sweep(list)), @r#"
    study.toml:8: sweep[1].rtt[2]: given "61s"; must be a time from 0 to 60 s
    study.toml:8: sweep[1].rtt[3]: given "8"; must be a time from 0 to 60 s, with its unit, such as "2.15ms"
    "#);
}

#[test]
fn servers_are_watched_after_the_load_and_hands_shaken_as_asked() {
    let lines = |span: &str| format!("workload = \"insert\"\nrtt = \"1ms\"\nwatch_after = {span}");
    let study = meant(&with_sweep(&lines("\"60s\"")));
    assert_eq!(study.sweeps[0].watch_after, Some(Duration::from_secs(60)));
    assert!(!study.handshakes && meant(&with_top("handshakes = true")).handshakes);
    assert_snapshot!(mistakes(&with_sweep(&lines("\"0.5s\""))), @r#"study.toml:9: sweep[1].watch_after: given "0.5s"; must be a time from 1 s to 1 h"#);
    assert_snapshot!(mistakes(&with_sweep(&lines("60"))), @r#"study.toml:9: sweep[1].watch_after: given 60; must be a time from 1 s to 1 h, with its unit, such as "2.15ms""#);
    assert_snapshot!(mistakes(&with_top("handshakes = 11")), @"study.toml:1: handshakes: given 11; must be true or false");
    // An hour after each of many cells is longer than any study may be.
    let many = format!(
        "connections = {:?}\n{}",
        Vec::from_iter(1..100),
        lines("\"1h\"")
    );
    assert!(mistakes(&with_sweep(&many)).contains("would take"));
}

#[test]
fn appliers_rest_where_they_can_and_only_there() {
    let of = |server: &str, mode: &str, lines: &str| with_mode(server, mode, "") + lines;
    let after = "apply = \"after\"\n";
    for (server, mode) in [
        ("mysql", "async"),
        ("mysql", "semisync"),
        ("mysql-5.6", "async"),
        ("mariadb", "async"),
        ("mariadb", "semisync"),
    ] {
        let study = meant(&of(server, mode, after));
        assert_eq!(study.sweeps[0].apply, Apply::After, "{server} {mode}");
    }
    let unsaid = meant(&of("mysql", "group", ""));
    assert_eq!(unsaid.sweeps[0].apply, Apply::Meanwhile);
    assert_snapshot!(mistakes(&of("mysql", "group", after)), @r#"study.toml:9: sweep[1].apply: given "after"; is for async and semisync alone, whose appliers can rest while replicas go on receiving: give the sweep modes without mysql group"#);
    for (server, mode) in [
        ("mysql", "single"),
        ("mysql", "group-multi"),
        ("mysql", "mirror"),
        ("mariadb", "galera"),
    ] {
        let told = mistakes(&of(server, mode, after));
        assert!(told.contains("is for async and semisync alone"), "{told}");
    }
    let paced = format!("pace = \"20ms\"\n{after}");
    assert_snapshot!(mistakes(&of("mysql", "async", &paced)), @r#"study.toml:10: sweep[1].apply: given "after"; cannot be with sweep[1].pace (line 9): what is paced leaves appliers too little to do; give one of the two"#);
    let searched = format!("knee = {{ p99 = \"20ms\" }}\n{after}");
    assert!(mistakes(&of("mysql", "async", &searched)).contains("cannot be with sweep[1].knee"));
    let slap = of("mysql", "async", after);
    let slap = slap.replace("update_index", "mysqlslap write");
    assert!(mistakes(&slap).contains("is not for mysqlslap's workloads"));
    assert_snapshot!(mistakes(&of("mysql", "async", "apply = \"soon\"\n")), @r#"study.toml:9: sweep[1].apply: given "soon"; must be one of meanwhile, after"#);
    // A sweep that names its modes does not ask the others.
    let single = "[[mode]]\nserver = \"mysql\"\nmode = \"single\"\n";
    let chosen = format!("modes = \"mysql async\"\n{after}");
    let other = "[[sweep]]\nworkload = \"insert\"\nrtt = \"1ms\"\n";
    let both = [single, &of("mysql", "async", &chosen), other].concat();
    assert_eq!(meant(&both).sweeps[0].apply, Apply::After);
}

#[test]
fn paces_are_times_without_a_rate_and_not_for_mysqlslap() {
    let lines = |workload: &str, rest: &str| {
        with_sweep(&format!("workload = {workload:?}\nrtt = \"1ms\"\n{rest}"))
    };
    let study = meant(&lines("insert", "pace = [\"20ms\", \"10s\"]"));
    let paces = [Duration::from_millis(20), Duration::from_secs(10)];
    assert_eq!(study.sweeps[0].paces, paces);
    let wrong = "pace = [\"0ms\", \"11s\", 20, \"0.05ms\"]";
    assert_snapshot!(mistakes(&lines("insert", wrong)), @r#"
    study.toml:9: sweep[1].pace[1]: given "0ms"; must be a time from 0.1 ms to 10 s
    study.toml:9: sweep[1].pace[2]: given "11s"; must be a time from 0.1 ms to 10 s
    study.toml:9: sweep[1].pace[3]: given 20; must be a time from 0.1 ms to 10 s, with its unit, such as "2.15ms"
    study.toml:9: sweep[1].pace[4]: given "0.05ms"; must be a time from 0.1 ms to 10 s
    "#);
    assert_snapshot!(mistakes(&lines("insert", "rate = 500\npace = \"20ms\"")), @r#"study.toml:10: sweep[1].pace: given "20ms"; cannot be with sweep[1].rate (line 9): a pace waits for the last transaction's end, a rate for none; give one of the two"#);
    assert_snapshot!(mistakes(&lines("mysqlslap key", "pace = \"20ms\"")), @r#"study.toml:9: sweep[1].pace: given "20ms"; is not for mysqlslap's workloads: that tool does not pause; leave it out"#);
}

#[test]
fn a_planted_slowdown_is_of_closed_loops_and_no_default_baseline() {
    let slowed = |share: &str| format!("{SINGLE}slowdown = {share}\n");
    let both = format!("{}{SINGLE}", slowed("\"10%\""));
    let expected = ["mysql single slowed 10% / mysql single", "mysql single"];
    assert_eq!(labels(&both), expected);
    let modes = meant(&with_modes(&both)).modes;
    assert_eq!((modes[0].slowdown, modes[1].slowdown), (Some(0.1), None));
    for share in ["0", "0.95", "\"a tenth\""] {
        let said = mistakes(&with_modes(&slowed(share)));
        assert!(said.contains("must be a share from 0.001 to 0.9"), "{said}");
    }
    let beside = |lines: &str| format!("{both}{SWEEP}\n[[sweep]]\nrtt = \"1ms\"\n{lines}\n");
    let rate = "workload = \"insert\"\nrate = 500";
    let pace = "workload = \"insert\"\npace = \"20ms\"";
    for lines in [rate, pace, "workload = \"mysqlslap key\""] {
        let said = mistakes(&beside(lines));
        let wrong = "mode \"mysql single slowed 10%\"; a slowdown";
        assert!(said.contains(wrong), "{said}");
        let others = format!("modes = [\"mysql single\"]\n{lines}");
        assert_eq!(meant(&beside(&others)).sweeps.len(), 2);
    }
}

#[test]
fn own_workloads_are_checked() {
    let text = r#"
        [workload.a]
        tool = "sysbensh"
        [workload.b]
        tool = "mysqlslap"
        load = "update"
        auto_generate_sql_add_autoincrement = false
        [workload.c]
        tool = "custom"
        [workload.d]
        tool = "custom"
        [[workload.d.transaction]]
        statement = ["UPDATE t SET a = ?", { sql = "SELECT ?, '?'", parameters = [
            { type = "integer", min = 5, max = 1 }, { type = "text" } ] }]
        "#;
    assert_snapshot!(mistakes(&format!("{text}{SINGLE}{SWEEP}")), @r#"
    study.toml:3: workload.a.tool: given "sysbensh"; must be one of sysbench, mysqlslap, custom; did you mean sysbench?
    study.toml:7: workload.b.auto_generate_sql_add_autoincrement: given false; must be true: update looks rows up by primary key
    study.toml:8: workload.c.transaction: is missing; at least one transaction must be given
    study.toml:13: workload.d.transaction[1].statement[1]: given "UPDATE t SET a = ?"; has 1 × ? but 0 parameters; there must be one for each
    study.toml:13: workload.d.transaction[1].statement[2].sql: given "SELECT ?, '?'"; has 1 × ? but 2 parameters; there must be one for each
    study.toml:14: workload.d.transaction[1].statement[2].parameters[1].max: given 1; must be at least 5, the smallest number
    study.toml:14: workload.d.transaction[1].statement[2].parameters[2].length: is missing; the number of letters must be given
    "#);
    let text = "[workload.w]\ntool = \"mysqlslap\"\nload = \"write\"\n\
                auto_generate_sql_add_autoincrement = false\n\
                [[mode]]\nserver = \"mysql\"\nmode = \"group\"\n\
                [[sweep]]\nworkload = \"w\"\nrtt = \"1ms\"";
    assert_snapshot!(mistakes(text), @r#"study.toml:9: sweep[1].workload: given "w"; has no primary key (auto_generate_sql_add_autoincrement = false), which group modes refuse"#);
    assert!(read(&text.replace("\"group\"", "\"async\"")).is_ok());
}

#[test]
fn an_option_file_must_be_readable() {
    assert_snapshot!(mistakes(&with_top("my_cnf = \"lost.cnf\"")), @r#"study.toml:1: my_cnf: given "lost.cnf"; must be an option file that can be read: No such file or directory"#);
}

#[test]
fn a_study_that_nobody_could_wait_for_is_a_mistake() {
    assert_snapshot!(mistakes(&with_top("rounds = 1000\nmeasure = \"1h\"")), @"study.toml:1: 1 cells × 1000 rounds × 3600.5 s of load would take 1000 h; at most 10000 cells and 168 h are allowed: fewer modes, axes or rounds, or shorter windows");
}

#[test]
fn an_empty_study_lacks_modes_and_sweeps() {
    assert_snapshot!(mistakes(""), @r#"
    study.toml:1: mode: is missing; at least one [[mode]] must be given
    study.toml:1: sweep: is missing; at least one [[sweep]] must be given
    "#);
}

#[test]
fn what_is_not_toml_is_told_line_by_line() {
    assert_snapshot!(mistakes("rounds = 4\nseed = = 7\nrounds = 5\ntitle = \"x"), @r#"
    study.toml:2: not TOML: extra `=`, expected nothing
    study.toml:2: not TOML: unexpected key or value, expected newline, `#`
    study.toml:3: not TOML: duplicate key
    study.toml:4: not TOML: invalid basic string, expected `"`
    "#);
}

#[test]
fn several_mistakes_come_at_once_in_the_order_of_the_file() {
    let text = r#"
rounds = 0
tls = "yes"
[[mode]]
server = "mysql"
mode = "semisync"
wait_for = 5
appliers = 0
[[mode]]
server = "mariadb"
mode = "group"
[[sweep]]
workload = "update_index"
rtt = ["-1ms"]
conections = 4
"#;
    assert_snapshot!(mistakes(text), @r#"
    study.toml:2: rounds: given 0; must be a whole number from 1 to 1000
    study.toml:3: tls: given "yes"; must be true or false
    study.toml:7: mode[1].wait_for: given 5; must be from 1 to 2, the number of replicas
    study.toml:8: mode[1].appliers: given 0; must be a whole number from 1 to 256
    study.toml:11: mode[2].mode: given "group"; is not a mode of mariadb, which can do single, async, semisync, galera, mirror, quorum
    study.toml:14: sweep[1].rtt[1]: given "-1ms"; must be a time from 0 to 60 s
    study.toml:15: sweep[1].conections: given 4; no such key; did you mean connections?
    "#);
}

#[test]
fn a_mode_that_nothing_measures_is_told() {
    let text = r#"
        [[mode]]
        label = "measured"
        server = "mysql"
        mode = "async"
        [[mode]]
        label = "forgotten"
        server = "mysql"
        mode = "semisync"
        [[sweep]]
        modes = ["measured"]
        workload = "update_index"
        rtt = "1ms"
        "#;
    assert_snapshot!(mistakes(text), @r#"study.toml:1: given mode "forgotten"; no sweep measures it: name it in the modes of one, or leave it out"#);
    assert!(read(&text.replace("modes = [\"measured\"]", "")).is_ok());
}
