//! How a driver ends: by what keeps it from driving, or with its run.

use std::io::BufReader;
use std::net::TcpListener;

use super::*;
use crate::load::join::hello::Answer;
use crate::load::join::tls::Identity;

/// What keeps a load from running at all ends the run, as of one driver: it is no driver's fault.
#[test]
fn a_driver_that_cannot_connect_is_a_breakdown_that_names_it() {
    let door = door();
    let all = [1, 2].map(|_| {
        made(&way_in(&door), |command| match command {
            Command::Start(job) if job.driver == 1 => Some(Reply::Failed {
                tried: "connect session 0".to_owned(),
                status: "refused".to_owned(),
            }),
            other => Some(well(&other)),
        })
    });
    let mut joined = joined(door, 2, PATIENCE);
    gathered(&mut joined).0.unwrap();
    let job = job(4);
    let told = joined.start(&job).unwrap_err().to_string();
    assert!(
        told.starts_with("could not connect session 0 (driver 2 ("),
        "{told}"
    );
    assert!(told.ends_with(": refused"), "{told}");
    drop(joined);
    all.into_iter().for_each(|driver| driver.join().unwrap());
}

#[test]
fn a_driver_finds_no_run_in_time_or_a_run_that_goes_without_a_word() {
    let ticket = Ticket::to(&"0f".repeat(32));
    let nobody = Entry {
        within: Duration::ZERO,
        ..entry("127.0.0.1:1", &ticket)
    };
    let told = join(&nobody, &mut |_| {}).unwrap_err();
    assert_eq!(told.exit_code(), 4);
    assert!(told.to_string().contains("refused"), "{told}");
    let no_file = Entry {
        ticket: TicketFrom::File("/no/such/token".into()),
        ..nobody
    };
    let told = join(&no_file, &mut |_| {}).unwrap_err().to_string();
    assert!(told.contains("/no/such/token is not there"), "{told}");
}

/// As when it is killed: there is no end of TLS, only one of the connection.
#[test]
fn a_run_that_is_gone_without_a_word_is_no_end_that_was_meant() {
    let identity = Identity::new().unwrap();
    let ticket = Ticket::to(&identity.fingerprint);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let driver = driver(entry(&address, &ticket));
    let (socket, _) = listener.accept().unwrap();
    let tls = rustls::ServerConnection::new(identity.config.clone()).unwrap();
    let mut stream = BufReader::new(rustls::StreamOwned::new(tls, socket));
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let hello: Hello = serde_json::from_str(&line).unwrap();
    assert_eq!(hello.token, ticket.token);
    let welcome = Answer::Welcome {
        number: 1,
        of: 1,
        study: "ours.toml".to_owned(),
    };
    let welcome = format!("{}\n", serde_json::to_string(&welcome).unwrap());
    let own = stream.get_mut();
    own.write_all(welcome.as_bytes())
        .and_then(|()| own.flush())
        .unwrap();
    drop(stream);
    let told = driver.join().unwrap().unwrap_err();
    assert_eq!(told.exit_code(), 4);
    assert!(
        told.to_string().ends_with("the run is gone without a word"),
        "{told}"
    );
}
