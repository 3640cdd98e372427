//! Who is let in, and who is waited for.

use std::io::Read;
use std::sync::mpsc::channel;

use super::*;

#[test]
fn drivers_join_are_set_by_their_clocks_and_go_when_the_run_is_over() {
    let door = door();
    let (address, ticket) = way_in(&door);
    let study = Some(StudyName::of("a/copy.toml", STUDY));
    let drivers = [
        driver(entry(&address, &ticket)),
        driver(Entry {
            study,
            ..entry(&address, &ticket)
        }),
    ];
    let mut joined = joined(door, 2, PATIENCE);
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    assert!(
        told[0].starts_with("waiting for 2 drivers; each is started with: "),
        "{told:?}"
    );
    for (number, line) in (1..).zip(&told[1..]) {
        assert!(line.starts_with(&format!("driver {number} (")), "{line}");
        assert!(
            line.contains("has joined; its clock is ") && line.contains(" this host's, ± "),
            "{line}"
        );
    }
    // All are here: nobody is told anything.
    let (outcome, told) = gathered(&mut joined);
    assert_eq!((outcome, told.len()), (Ok(()), 0));
    assert!(
        joined
            .told()
            .contains("2 drivers that had joined, on one host; ")
    );
    drop(joined);
    for driver in drivers {
        assert_eq!(driver.join().unwrap(), Ok(()));
    }
}

#[test]
fn a_stranger_another_version_and_another_study_are_not_let_in() {
    let door = door();
    let (address, ticket) = way_in(&door);
    let knocking = thread::spawn(move || {
        let hello = Hello::of(&ticket, None);
        let refused = |ticket: &Ticket, hello: &Hello| refused(&address, ticket, hello);
        let mut all = Vec::new();
        // The right certificate and a wrong token.
        let guess = Ticket::to(&ticket.fingerprint);
        all.push(refused(&guess, &Hello::of(&guess, None)));
        let old = Hello {
            version: "0.0.9".to_owned(),
            ..hello.clone()
        };
        all.push(refused(&ticket, &old));
        let other = StudyName::of("theirs.toml", "rounds = 3\n");
        all.push(refused(&ticket, &Hello::of(&ticket, Some(other))));
        // The right token and another certificate: it is told to nobody.
        let elsewhere = Ticket {
            fingerprint: "0f".repeat(32),
            ..ticket.clone()
        };
        let wrong = join(&entry(&address, &elsewhere), &mut |_| {}).unwrap_err();
        assert_eq!(wrong.exit_code(), 2);
        all.push(wrong.to_string());
        // No TLS at all, and nothing more.
        let mut plain = TcpStream::connect(&address).unwrap();
        plain.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let _ = plain.read_to_end(&mut Vec::new());
        let last = made(&(address.clone(), ticket.clone()), |command| {
            Some(well(&command))
        });
        (all, ticket, last)
    });
    let mut joined = joined(door, 1, PATIENCE);
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    drop(joined);
    let (refused, ticket, last) = knocking.join().unwrap();
    last.join().unwrap();
    let expected = [
        "its token is not this run's",
        "it is acklab \"0.0.9\"",
        "it is for the study theirs.toml, and the run is of ours.toml",
        "environment: ACKLAB_TOKEN: is of another run: the certificate at 127.0.0.1:",
    ];
    for (refused, expected) in refused.iter().zip(expected) {
        assert!(refused.contains(expected), "{refused}");
    }
    for expected in &expected[..3] {
        let is_told = |line: &String| line.contains("was not let in") && line.contains(expected);
        assert!(told.iter().any(is_told), "{told:?}");
    }
    let strangers = told.iter().filter(|line| line.contains("was not let in"));
    assert!(strangers.count() >= 5, "{told:?}");
    assert!(!told.concat().contains(&ticket.token[..]), "{told:?}");
}

/// Each byte alone came in time, and TLS waits for the rest of what they begin.
#[test]
fn a_stranger_who_says_nothing_whole_is_sent_away() {
    /// Of a first record that says it has 16 KiB: half a minute of them.
    const BYTES_MAX: usize = 300;
    let door = door();
    let way_in = way_in(&door);
    let mut socket = TcpStream::connect(&way_in.0).unwrap();
    let stranger = thread::spawn(move || {
        let head = [0x16, 3, 1, 0x40, 0];
        let mut bytes = head.into_iter().chain(std::iter::repeat(0)).take(BYTES_MAX);
        bytes.all(|byte| {
            thread::sleep(Duration::from_millis(100));
            socket.write_all(&[byte]).is_ok()
        })
    });
    let one = made(&way_in, |command| Some(well(&command)));
    let mut joined = joined(door, 1, PATIENCE);
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    assert!(
        told[1].ends_with("was not let in: no answer in 2 s"),
        "{told:?}"
    );
    assert!(!stranger.join().unwrap(), "it said all that it had to say");
    drop(joined);
    one.join().unwrap();
}

/// As when a run is started again: whoever waits with the old file takes the new one.
#[test]
fn a_driver_waits_for_the_file_of_the_run_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let door = door();
    let (address, ticket) = way_in(&door);
    let old = Ticket::to(&"0f".repeat(32));
    std::fs::write(&path, old.text()).unwrap();
    let waits = Entry {
        ticket: TicketFrom::File(path.clone()),
        ..entry(&address, &old)
    };
    let (tell, told) = channel();
    let driver = thread::spawn(move || join(&waits, &mut |words| tell.send(words).unwrap()));
    let mut joined = joined(door, 1, PATIENCE);
    let run = thread::spawn(move || gathered(&mut joined));
    let first = told.recv().unwrap();
    assert!(first.contains("token is of another run"), "{first}");
    let _file = TicketFile::write(&path, &ticket).unwrap();
    run.join().unwrap().0.unwrap();
    assert_eq!(driver.join().unwrap(), Ok(()));
}

#[test]
fn a_driver_whose_file_stays_of_another_run_is_told_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let door = door();
    let way_in = way_in(&door);
    let old = Ticket::to(&"0f".repeat(32));
    std::fs::write(&path, old.text()).unwrap();
    let waits = Entry {
        ticket: TicketFrom::File(path.clone()),
        within: Duration::from_secs(5),
        ..entry(&way_in.0, &old)
    };
    let mut joined = joined(door, 1, PATIENCE);
    let run = thread::spawn(move || gathered(&mut joined));
    let told = join(&waits, &mut |_| {}).unwrap_err();
    assert_eq!(told.exit_code(), 2);
    let expected = format!(
        "command line: --token: given {}; is of another",
        path.display()
    );
    assert!(told.to_string().starts_with(&expected), "{told}");
    let last = made(&way_in, |command| Some(well(&command)));
    let (outcome, told) = run.join().unwrap();
    outcome.unwrap();
    last.join().unwrap();
    let refused = told.iter().filter(|line| line.contains("was not let in"));
    assert!(
        refused.count() < 4,
        "it knocks with a ticket once: {told:?}"
    );
}

#[test]
fn too_few_drivers_are_told_by_who_is_missing() {
    let door = door();
    let one = made(&way_in(&door), |command| Some(well(&command)));
    let mut joined = joined(door, 3, Duration::ZERO);
    let (outcome, _) = gathered(&mut joined);
    let told = outcome.unwrap_err();
    assert_eq!(told.exit_code(), 4);
    let expected = "could not gather 3 drivers: 1 of 3 are here after 0 s: driver 2: it never \
                    came; driver 3: it never came";
    assert_eq!(told.to_string(), expected);
    drop(joined);
    one.join().unwrap();
}
