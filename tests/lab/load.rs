//! The load driver's own checks, in the client's place of a detached lab.

use std::fs::File;

use nix::sched::{CloneFlags, setns};

use crate::ground::{Ground, on_ground, with_lab};

#[path = "../common/load_checks.rs"]
pub mod load_checks;
#[path = "../common/open_loop_checks.rs"]
pub mod open_loop_checks;

use load_checks::*;
use open_loop_checks::{offered_rates_are_kept, what_is_late_is_not_forgotten};

const ACCOUNT: [&str; 2] = [
    "CREATE USER root@'%' IDENTIFIED BY ''",
    "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION",
];

/// Runs the checks as if they were a client of the lab: on a thread inside its namespace.
pub fn check(server: &str, checks: fn(&Server)) {
    on_ground(&format!("load driver: {server}"), |ground| {
        with_lab(ground, &["single", "--server", server], || {
            for sql in ACCOUNT {
                ground.run(&["sql", "a", sql]).good();
            }
            let target = Server {
                address: ([198, 18, 0, 1], 3306).into(),
                user: "root".to_owned(),
                password: String::new(),
            };
            let inside = || {
                enter_client(ground);
                checks(&target);
            };
            let outcome = std::thread::scope(|scope| scope.spawn(inside).join());
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    });
}

/// Puts the calling thread where the lab's client is.
pub fn enter_client(ground: &Ground) {
    let folder = ground.run_folders().remove(0);
    let first = ground.first_pid(&folder).expect("pid 1 of the lab");
    let path = format!("/proc/{first}/root/run/acklab/netns/client.a");
    let namespace = File::open(&path).expect("the client's namespace");
    setns(&namespace, CloneFlags::CLONE_NEWNET).expect("a way into the client's namespace");
}

#[test]
fn lab_load_driver_on_mysql() {
    check("mysql", |server| {
        statements_are_sysbenchs(server);
        mysqlslap_loads_run(server);
        custom_transactions_run(server);
        errors_are_counted(server);
        offered_rates_are_kept(server);
        what_is_late_is_not_forgotten(server);
        killed_connections_come_back(server);
        accounts_log_in(server, &["caching_sha2_password"], false);
        refusals_name_their_reason(server);
        two_thousand_sessions_work(server);
    });
}

#[test]
fn lab_load_driver_on_mariadb() {
    check("mariadb", |server| {
        statements_are_sysbenchs(server);
        mysqlslap_loads_run(server);
        accounts_log_in(server, &["mysql_native_password"], false);
    });
}
