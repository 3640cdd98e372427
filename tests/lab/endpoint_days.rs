//! Endpoints that refuse, that cannot be trusted, and that go away half-way.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::certificates::{replace, show};
use crate::endpoints::{
    PASSWORD, PLACES, SHORT, TRUSTED, as_client, claims, databases, keeps_the_secret, prepare, run,
    study,
};
use crate::ground::{Ground, on_ground, with_lab};

/// Each bad day ends with its code and its words, and leaves what was there.
#[test]
fn lab_endpoint_bad_days_are_told_and_leave_nothing() {
    on_ground("endpoint: bad days", |ground| {
        with_lab(ground, &["single", "--server", "mysql", "--tls"], || {
            let authority = prepare(ground, &[]);
            authority.certify(ground, "other", &["other.example"], false);
            for sql in [
                "CREATE DATABASE acklab_mine",
                "CREATE TABLE acklab_mine.t (id INT)",
            ] {
                ground.run(&["sql", "a", sql]).good();
            }
            let before = databases(ground);
            let fails = |writer: &str, lines: &str, code: i32, parts: &[&str]| {
                let told = run(
                    ground,
                    &study(SHORT, writer, lines),
                    &["--record", "r.acklab"],
                );
                told.fails(code, parts);
                keeps_the_secret(ground, &told);
                assert!(!ground.work.join("r.acklab").exists());
                assert_eq!(
                    (databases(ground), claims(ground)),
                    (before.clone(), 0),
                    "{told:?}"
                );
            };
            certificates_are_checked(ground, &fails);
            logins_are_checked(ground, &fails);
            let mine = format!("{TRUSTED}database = \"acklab_mine\"\n");
            let refused = ["198.18.0.1:3306", "acklab_mine", "is not this run's"];
            fails("guest@198.18.0.1", &mine, 2, &refused);
            assert_eq!(ground.value("a", "SELECT COUNT(*) FROM acklab_mine.t"), "0");
            ground.run(&["sql", "a", "SET GLOBAL read_only = 1"]).good();
            fails(
                "guest@198.18.0.1",
                TRUSTED,
                2,
                &["writer", "is read-only", "read_only is ON"],
            );
            ground.run(&["sql", "a", "SET GLOBAL read_only = 0"]).good();
            fails(
                "guest@198.18.0.1:3307",
                TRUSTED,
                4,
                &["198.18.0.1:3307", "refused"],
            );
            fails("guest@no.such.invalid", TRUSTED, 4, &["no.such.invalid"]);
        });
    });
}

/// MySQL takes no expired certificate; MariaDB does, and shows it. One that is good comes first.
#[test]
fn lab_endpoint_with_an_expired_certificate() {
    on_ground("endpoint: expired certificate", |ground| {
        with_lab(ground, &["single", "--server", "mariadb", "--tls"], || {
            let authority = prepare(ground, &[]);
            authority.certify(ground, "old", &PLACES, true);
            let before = databases(ground);
            let text = study(SHORT, "guest@198.18.0.1", TRUSTED);
            replace(ground, "good");
            let told = run(ground, &text, &["--record", "g.acklab"]);
            assert_eq!(told.code, Some(0), "{told:?}");
            let tls = &ground.json("g.acklab")["endpoints"][0]["tls"];
            let tls = tls.as_str().expect("what it was");
            assert!(
                tls.starts_with("verified by the study's ca, TLSv1"),
                "{tls}"
            );
            replace(ground, "old");
            let told = run(ground, &text, &["--record", "o.acklab"]);
            let parts = [
                "198.18.0.1:3306",
                "trust its certificate",
                "out of its time",
            ];
            told.fails(4, &parts);
            keeps_the_secret(ground, &told);
            assert_eq!((databases(ground), claims(ground)), (before, 0));
        });
    });
}

type Fails<'a> = &'a dyn Fn(&str, &str, i32, &[&str]);

fn certificates_are_checked(ground: &Ground, fails: Fails) {
    let writer = "guest@198.18.0.1";
    // As the server made it itself: nobody knows its authority.
    fails(
        writer,
        TRUSTED,
        2,
        &["198.18.0.1:3306", "ca = \"FILE\"", "tls = \"off\""],
    );
    show(ground, "a", "other");
    fails(
        writer,
        TRUSTED,
        2,
        &["198.18.0.1", "is not whom its certificate is for"],
    );
    show(ground, "a", "good");
    fails(
        writer,
        "password_file = \"pw\"\n",
        2,
        &["vouched for by nobody"],
    );
}

fn logins_are_checked(ground: &Ground, fails: Fails) {
    ground.file("wrong", "not-it");
    let wrong = TRUSTED.replace("\"pw\"", "\"wrong\"");
    fails(
        "guest@198.18.0.1",
        &wrong,
        2,
        &["198.18.0.1:3306", "password", "user guest"],
    );
    fails(
        "guest@198.18.0.1",
        "ca = \"ca.pem\"\n",
        2,
        &["password", "ACKLAB_PASSWORD"],
    );
    let inside = format!("guest:{PASSWORD}@198.18.0.1");
    // The study itself holds it, but nobody else may show it.
    let told = run(ground, &study(SHORT, &inside, TRUSTED), &[]);
    told.fails(
        2,
        &[
            "endpoint.toml:7",
            "mode[1].writer",
            "guest:…@",
            "password_file",
        ],
    );
    assert!(!told.err.contains(PASSWORD), "{}", told.err);
    for sql in [
        &format!("CREATE USER poor@'%' IDENTIFIED BY '{PASSWORD}'")[..],
        "GRANT SELECT, INSERT, UPDATE, DELETE, DROP, INDEX ON `acklab\\_%`.* TO poor@'%'",
    ] {
        ground.run(&["sql", "a", sql]).good();
    }
    fails(
        "poor@198.18.0.1",
        TRUSTED,
        2,
        &["privileges", "user poor", "GRANT", "CREATE"],
    );
}

/// A relay on the way that cuts each connection after so many bytes.
fn relay(to: SocketAddr, bytes: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let own = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(to) else {
                continue;
            };
            let left = Arc::new(AtomicUsize::new(bytes));
            let ways = [
                (
                    client.try_clone().expect("a socket"),
                    server.try_clone().expect("a socket"),
                ),
                (server, client),
            ];
            for (from, to) in ways {
                let left = left.clone();
                std::thread::spawn(move || pass_on(from, to, &left));
            }
        }
    });
    own
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, left: &AtomicUsize) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let before = left.load(Ordering::Relaxed);
        left.store(before.saturating_sub(count), Ordering::Relaxed);
        if before < count || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Enough to connect, to look once, and to drop what was made; too little for a run.
const HALF_WAY_BYTES: usize = 300_000;

#[test]
fn lab_endpoint_that_drops_connections_half_way() {
    on_ground("endpoint: connections dropped", |ground| {
        with_lab(ground, &["single", "--server", "mysql", "--tls"], || {
            prepare(ground, &["a"]);
            let before = databases(ground);
            let way = as_client(ground, || {
                relay(
                    "198.18.0.1:3306".parse().expect("an address"),
                    HALF_WAY_BYTES,
                )
            });
            let writer = format!("guest@{way}");
            // While tables are loaded, and while the load runs.
            let large = study(SHORT, &writer, TRUSTED).replace("= 200", "= 20000");
            let small = study(&SHORT.replace("= 1\n", "= 200\n"), &writer, TRUSTED);
            for (text, record) in [(large, "l.acklab"), (small, "s.acklab")] {
                let told = run(ground, &text, &["--record", record]);
                told.fails(4, &["could not ", &way.to_string()]);
                keeps_the_secret(ground, &told);
                assert_eq!(
                    (databases(ground), claims(ground)),
                    (before.clone(), 0),
                    "{told:?}"
                );
            }
        });
    });
}
