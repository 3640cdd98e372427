//! Bad input: one message that names place, key, value and what is allowed; exit code 2; nothing
//! left behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::common::program;
use crate::ground::{Ground, on_bare_ground, on_ground, outcome};

const GOOD: &str = "[[mode]]\nserver = \"mariadb\"\nmode = \"single\"\n\
                    [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n";

/// Runs the good study with one thing changed.
fn wrong(ground: &Ground, from: &str, to: &str, parts: &[&str]) {
    let text = GOOD.replace(from, to);
    assert_ne!(text, GOOD);
    let file = ground.file("wrong.toml", &text);
    let mut all = vec!["wrong.toml"];
    all.extend(parts);
    ground.run(&["run", file]).fails(2, &all);
}

#[test]
fn lab_mistakes_in_a_study_are_named() {
    on_ground("mistakes: study", |ground| {
        let mut old = wrong_values(ground);
        old.sort();
        let file = ground.file(
            "all.toml",
            &format!("round = 3\nrounds = 0\n{}", GOOD.replace("1ms", "-1ms")),
        );
        // All mistakes of a file at once.
        let all = [
            "all.toml",
            "round",
            "rounds",
            "given 0",
            "rtt",
            "-1ms",
            "0 to 60 s",
        ];
        ground.run(&["run", file]).fails(2, &all);
        let mut left: Vec<String> = files(ground);
        left.sort();
        assert_eq!(
            left,
            ["all.toml", "wrong.toml"],
            "a record or something else was made"
        );
        ground.nothing_left();
    });
}

fn files(ground: &Ground) -> Vec<String> {
    let entries = fs::read_dir(&ground.work)
        .expect("the working folder")
        .flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn wrong_values(ground: &Ground) -> Vec<String> {
    wrong(ground, "workload", "work_load", &["work_load", "workload"]);
    wrong(
        ground,
        "\"single\"",
        "\"singel\"",
        &["mode[1].mode", "singel", "single"],
    );
    let cannot = ["mode[1].mode", "group", "not a mode of mariadb", "galera"];
    wrong(ground, "\"single\"", "\"group\"", &cannot);
    wrong(
        ground,
        "[[mode]]",
        "rounds = 0\n[[mode]]",
        &["rounds", "given 0", "1 to 1000"],
    );
    wrong(
        ground,
        "1ms",
        "-1ms",
        &["sweep[1].rtt", "-1ms", "0 to 60 s"],
    );
    wrong(
        ground,
        "\"mariadb\"",
        "\"postgres\"",
        &["mode[1].server", "postgres", "mysql"],
    );
    wrong(
        ground,
        "[[mode]]",
        "my_cnf = \"no.cnf\"\n[[mode]]",
        &["my_cnf", "no.cnf"],
    );
    files(ground)
}

#[test]
fn lab_mistakes_on_the_command_line_are_named() {
    on_ground("mistakes: command line", |ground| {
        let good = ground.file("good.toml", GOOD);
        ground
            .run(&["run", "absent.toml"])
            .fails(2, &["absent.toml", "compare-quick"]);
        ground.file("binary.toml", "");
        fs::write(ground.work.join("binary.toml"), [0xff, 0xfe, 0]).expect("a file");
        ground
            .run(&["run", "binary.toml"])
            .fails(2, &["binary.toml", "a readable text file"]);
        ground
            .run(&["run", good, "--rounds", "0"])
            .fails(2, &["--rounds", "given 0", "1 to 1000"]);
        ground
            .run(&["run", good, "--format", "xml"])
            .fails(2, &["--format", "xml", "json"]);
        let measure = ground.run(&["run", good, "--measure", "1ms"]);
        measure.fails(2, &["--measure", "1ms", "100 ms"]);
        ground
            .run(&["run", good, "--my-cnf", "no.cnf"])
            .fails(2, &["--my-cnf", "no.cnf"]);
        // More than any host has: 3 × 64 and two for the rest.
        let many = ground.file("many.toml", &GOOD.replace("single", "async"));
        let cpus = ground.run(&["run", many, "--cpus", "64"]);
        cpus.fails(
            2,
            &[
                "cpus: given 64",
                "3 × 64 for nodes",
                "are 194",
                "ask for fewer",
            ],
        );
        ground.file("there.acklab", "mine");
        let there = ground.run(&["run", good, "--record", "there.acklab"]);
        there.fails(2, &["--record", "there.acklab", "never overwritten"]);
        assert_eq!(
            fs::read(ground.work.join("there.acklab")).expect("the file"),
            b"mine"
        );
        ground
            .run(&["report", "there.acklab"])
            .fails(2, &["there.acklab"]);
        let up = ["up", "single", "--rtt", "-1ms"];
        ground.run(&up).fails(2, &["-1ms", "0 to 60 s"]);
        ground
            .run(&["up", "galera", "--server", "mysql"])
            .fails(2, &["galera", "mysql"]);
        ground
            .run(&["down"])
            .fails(2, &["no lab is up", "acklab up"]);
        ground
            .run(&["servers", "install", "oracle"])
            .fails(2, &["oracle", "one of mysql, "]);
        ground.nothing_left();
    });
}

/// Known only once a server has refused it: its own words stand below.
#[test]
fn lab_mistakes_a_variable_that_the_server_does_not_know_is_named() {
    on_ground("mistakes: unknown variable", |ground| {
        let setting = "[mode.variables]\ninnodb_buffer_pool_sise = \"1G\"\n[[sweep]]";
        let words = "unknown variable 'innodb_buffer_pool_sise=1G'";
        for server in ["mariadb", "mysql"] {
            let text = GOOD.replace("[[sweep]]", setting);
            let file = ground.file("wrong.toml", &text.replace("mariadb", server));
            let place = "wrong.toml:5: variables.innodb_buffer_pool_sise: given 1G";
            let ended = ground.run(&["run", file, "--record", "r.acklab"]);
            ended.fails(2, &[place, words]);
        }
        let good = ground.file("good.toml", GOOD);
        let own = ground.file("mine.cnf", "[mysqld]\n# ours\ninnodb-buffer-pool-sise=1G\n");
        let place = "mine.cnf:3: innodb_buffer_pool_sise: given 1G";
        let ended = ground.run(&["run", good, "--my-cnf", own, "--record", "r.acklab"]);
        ended.fails(2, &[place, words]);
        let up = ["up", "single", "--server", "mariadb", "--my-cnf", own];
        ground.run(&up).fails(2, &[place, words]);
        assert!(!ground.work.join("r.acklab").exists());
        ground.nothing_left();
    });
}

/// A record in the sandbox's own /run would be lost with it.
#[test]
fn lab_mistakes_records_below_run_are_refused() {
    on_ground("mistakes: record below /run", |ground| {
        let good = ground.file("good.toml", GOOD);
        let ended = ground.run(&["run", good, "--record", "/run/r.acklab"]);
        ended.fails(2, &["--record", "/run/r.acklab"]);
        ground.nothing_left();
    });
}

#[test]
fn lab_mistakes_an_ordinary_user_is_told_so() {
    on_bare_ground("mistakes: not root", |ground| {
        let folder = tempfile::tempdir().expect("a folder");
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), open).expect("an open folder");
        chown(folder.path(), Some(65_534), Some(65_534)).expect("a folder of nobody's");
        let copy = folder.path().join("acklab");
        fs::copy(program(), &copy).expect("a copy of the program");
        for arguments in [
            &["up", "single"][..],
            &["compare"],
            &["break"],
            &["down"],
            &["sql", "a", "SELECT 1"],
        ] {
            let mut command = Command::new(&copy);
            command
                .args(arguments)
                .uid(65_534)
                .gid(65_534)
                .current_dir(folder.path());
            command.env("ACKLAB_CACHE", folder.path().join("cache"));
            outcome(&mut command, arguments).fails(2, &[arguments[0], "user id 65534", "as root"]);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
        ground.nothing_left();
    });
}

#[test]
fn lab_mistakes_a_machine_without_tun_is_told_so() {
    on_ground("mistakes: no TUN", |ground| {
        let none: Option<&str> = None;
        let flags = MsFlags::empty();
        mount(Some("tmpfs"), "/dev/net", Some("tmpfs"), flags, none).expect("an empty /dev/net");
        let good = ground.file("good.toml", GOOD);
        for arguments in [&["up", "single"][..], &["run", good]] {
            ground
                .run(arguments)
                .fails(2, &["/dev/net/tun", "no such device", "`tun` module"]);
        }
        let check = ground.run(&["check"]);
        assert_eq!(check.code, Some(3), "{check:?}");
        assert!(
            check.out.contains("NO  TUN") && check.out.contains("cannot run"),
            "{check:?}"
        );
        umount2("/dev/net", MntFlags::empty()).expect("/dev/net back");
        ground.nothing_left();
    });
}
