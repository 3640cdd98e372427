//! A server of the user's own, from a tarball in the layout of the official ones.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use acklab::lab::servers::{Cache, Catalogue};

use crate::ground::{Ground, on_bare_ground, with_lab};

const TOP: &str = "mariadb-mine-linux-x86_64";

/// Builds the tarball from this machine's own MariaDB in the user's cache.
fn tarball(ground: &Ground) -> PathBuf {
    let cache = Cache::of_user().expect("the user's cache");
    let program = cache
        .install(&Catalogue::builtin(), "mariadb", &|_| ())
        .expect("MariaDB");
    let top = ground.work.join(TOP);
    for folder in ["bin", "lib", "share"] {
        fs::create_dir_all(top.join(folder)).expect("a folder");
    }
    let root = program.root;
    copy(&root.join("usr/sbin/mariadbd"), &top.join("bin/server"));
    copy(&root.join("usr/lib/mysql/plugin"), &top.join("lib/plugin"));
    for part in fs::read_dir(root.join("usr/share/mysql"))
        .expect("share")
        .flatten()
    {
        copy(&part.path(), &top.join("share").join(part.file_name()));
    }
    for library in missing_libraries(&top.join("bin/server")) {
        let found = root.join("usr/lib/x86_64-linux-gnu").join(&library);
        copy(&found, &top.join("lib").join(library));
    }
    write_starter(&top.join("bin/mariadbd"));
    let file = ground.work.join("mine.tar.xz");
    let mut tar = Command::new("tar");
    tar.env("XZ_OPT", "-0 -T2")
        .arg("-cJf")
        .arg(&file)
        .arg("-C")
        .arg(&ground.work)
        .arg(TOP);
    assert!(tar.status().expect("tar").success());
    file
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-aL").arg(from).arg(to).status();
    assert!(status.expect("cp").success(), "{}", from.display());
}

/// Official servers find libraries of their own by their run path; a packaged one has none.
fn missing_libraries(program: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(program).output().expect("ldd");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let missing = text.lines().filter(|line| line.contains("not found"));
    missing
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

fn write_starter(path: &Path) {
    let text = "#!/bin/sh\nbin=$(dirname \"$0\")\n\
                LD_LIBRARY_PATH=$bin/../lib exec \"$bin/server\" \"$@\"\n";
    fs::write(path, text).expect("a starter");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
}

#[test]
fn lab_tarball_is_added_and_runs() {
    on_bare_ground("tarball", |ground| {
        let file = tarball(ground);
        let file = file.to_str().expect("a path in UTF-8");
        let told = ground
            .run(&["servers", "add", file, "--name", "mine-10"])
            .good();
        assert!(
            told.contains("mine-10 1") && told.contains("semisync"),
            "{told}"
        );
        assert!(
            !told.contains("galera"),
            "there is no provider in it: {told}"
        );
        let list = ground.run(&["servers"]).good();
        let is_there = |line: &str| line.contains("mine-10") && line.contains("fetched");
        assert!(list.lines().any(is_there), "{list}");
        with_lab(ground, &["single", "--server", "mine-10"], || {
            let base = ground.value("a", "SELECT @@basedir");
            assert!(base.contains("servers/mine-10/root"), "{base}");
            assert!(ground.value("a", "SELECT VERSION()").contains("MariaDB"));
        });
        let taken = ground.run(&["servers", "add", file, "--name", "mine-10"]);
        taken.fails(2, &["--name", "mine-10", "not taken yet"]);
        refusals(ground);
    });
}

fn refusals(ground: &Ground) {
    let add = |file: &str, name: &str| ground.run(&["servers", "add", file, "--name", name]);
    let text = ground.file("text.tar.xz", "no tarball at all");
    add(text, "x").fails(2, &["text.tar.xz", "tarball"]);
    add("absent.tar.xz", "x").fails(2, &["absent.tar.xz"]);
    add(text, "a/b").fails(2, &["--name", "a/b"]);
    ground.file("readme", "no server");
    let mut tar = Command::new("tar");
    tar.current_dir(&ground.work)
        .args(["-cf", "other.tar", "./readme"]);
    assert!(tar.status().expect("tar").success());
    add("other.tar", "x").fails(2, &["other.tar", "bin/mariadbd"]);
    let servers = fs::read_dir(ground.cache.join("servers"))
        .expect("servers")
        .flatten();
    let names: Vec<_> = servers.map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["mine-10"], "something half-done was left");
}
