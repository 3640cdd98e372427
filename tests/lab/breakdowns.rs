//! Bad days: what was tried, what came of it, the server's last log lines; exit code 4; nothing
//! left behind.

use std::fs;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::ground::{on_bare_ground, on_ground};

#[test]
fn lab_breakdown_without_a_mirror() {
    on_bare_ground("breakdown: no mirror", |ground| {
        ground.file("apt.conf", "Dir::Etc \"/nonexistent\";\n");
        let mut command = ground.command(&["servers", "install", "mysql"]);
        command.env("APT_CONFIG", ground.work.join("apt.conf"));
        let ended = crate::ground::outcome(&mut command, &["servers", "install", "mysql"]);
        ended.fails(4, &["could not find a package mirror"]);
        // Nothing half-done is taken for a server.
        let servers = ground.cache.join("servers");
        assert_eq!(fs::read_dir(servers).expect("the cache").count(), 0);
        let list = ground.run(&["servers"]).good();
        assert!(
            list.lines()
                .any(|line| line.contains("mysql ") && line.contains("not fetched")),
            "{list}"
        );
        ground.nothing_left();
    });
}

/// Puts a file system of that size on a folder for the length of `test`.
fn with_little_room(folder: &Path, size: &str, test: impl FnOnce()) {
    fs::create_dir_all(folder).expect("a folder");
    let (flags, options) = (MsFlags::empty(), format!("size={size}"));
    mount(
        Some("tmpfs"),
        folder,
        Some("tmpfs"),
        flags,
        Some(options.as_str()),
    )
    .expect("a tmpfs");
    test();
    umount2(folder, MntFlags::empty()).expect("nobody holds the tmpfs");
}

/// Data directories do not fit.
#[test]
fn lab_breakdown_on_a_full_disk() {
    on_ground("breakdown: disk full", |ground| {
        // Servers come from where they were; run folders have 150 MB.
        with_little_room(&ground.cache.join("run"), "150m", || {
            for server in ["mysql", "mariadb"] {
                let ended = ground.run(&["up", "async", "--server", server]);
                ended.fails(
                    4,
                    &["could not copy a data directory", "No space left on device"],
                );
                ground.nothing_left_but_mounts();
            }
        });
        ground.nothing_left();
    });
}

/// The record does not fit.
#[test]
fn lab_breakdown_on_a_full_disk_under_the_record() {
    on_ground("breakdown: no room for the record", |ground| {
        let study = ground.file("study.toml", &study(""));
        with_little_room(&ground.work.join("small"), "16k", || {
            let ended = ground.run(&["run", study, "--record", "small/r.acklab"]);
            ended.fails(4, &["could not create the record", "small/r.acklab"]);
            let left = fs::read_dir(ground.work.join("small"))
                .expect("the folder")
                .count();
            assert_eq!(left, 0, "half a record");
        });
        ground.nothing_left();
    });
}

fn study(more: &str) -> String {
    format!(
        "rounds = 1\nwarmup = \"0s\"\nmeasure = \"0.1s\"\n[[mode]]\nserver = \"mariadb\"\n\
         mode = \"async\"\n{more}[[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n"
    )
}

/// One of three servers ends at once.
#[test]
fn lab_breakdown_when_a_node_dies_while_forming() {
    on_ground("breakdown: node dies while forming", |ground| {
        // Data directories have pages of another size.
        let setting = "[mode.node_variables.b]\ninnodb_page_size = \"32k\"\n";
        let file = ground.file("study.toml", &study(setting));
        let ended = ground.run(&["run", file, "--record", "r.acklab"]);
        let parts = ["node mariadb-replication.b", "server ended", "page size"];
        ended.fails(4, &parts);
        assert!(!ground.work.join("r.acklab").exists());
        ground.nothing_left();
    });
}

/// The same in a detached lab, for each family.
#[test]
fn lab_breakdown_when_a_detached_lab_cannot_form() {
    on_ground("breakdown: detached lab", |ground| {
        let own = ground.file("mine.cnf", "[mysqld]\ninnodb_page_size = 32k\n");
        for (mode, server) in [("group", "mysql"), ("galera", "mariadb")] {
            let ended = ground.run(&["up", mode, "--server", server, "--my-cnf", own]);
            // Both flavours' data directories have pages of another size.
            ended.fails(
                4,
                &[
                    &format!("node {server}-{mode}.a"),
                    "server ended",
                    "page size",
                ],
            );
            ground.nothing_left();
        }
    });
}

/// Servers are initialised, too, where the temporary folder is closed to their user.
#[test]
fn lab_a_caller_with_a_temporary_folder_of_its_own_is_served() {
    on_bare_ground("own temporary folder", |ground| {
        let closed = ground.work.join("closed");
        fs::create_dir(&closed).expect("a folder");
        let run = |arguments: &[&str]| {
            let mut command = ground.command(arguments);
            command.env("TMPDIR", &closed);
            crate::ground::outcome(&mut command, arguments).good()
        };
        run(&["up", "single", "--server", "mariadb"]);
        run(&["down"]);
        ground.nothing_left();
    });
}
