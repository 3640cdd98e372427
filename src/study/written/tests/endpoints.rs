//! `endpoint`.

use super::*;
use crate::study::endpoint::{Address, Tls};

const URL: &str = "writer = \"mysql://me@db.example:3307\"\n";
const LOAD: &str = "[[sweep]]\nworkload = \"update_index\"\nconnections = [1, 8]\n";

fn with(lines: &str) -> String {
    format!("[[mode]]\nmode = \"endpoint\"\n{lines}{LOAD}")
}

/// A key, the certificate that it belongs to, and words around them.
const BOTH: &str = "s3cret\n-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----\n\
                    -----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\ns3cret\n";

/// As the other tests' reader, with a file of certificates.
fn read_here(text: &str) -> Result<Study> {
    let read_file = |name: &str| match name {
        "ca.pem" | "authority.pem" => Ok("-----BEGIN CERTIFICATE-----\n".to_owned()),
        "key.pem" => Ok("-----BEGIN PRIVATE KEY-----\n".to_owned()),
        "both.pem" => Ok(BOTH.to_owned()),
        _ => Err("No such file or directory".to_owned()),
    };
    parse(text, "study.toml", &capabilities::sample(), &read_file)
}

fn mistakes_here(text: &str) -> String {
    read_here(text).expect_err("mistakes").to_string()
}

#[test]
fn an_endpoint_needs_a_writer_only() {
    let study = read_here(&with(URL)).unwrap();
    assert!(study.is_of_endpoints() && study.tls && study.images.is_none());
    assert_eq!(study.sites, ["here"]);
    let sweep = &study.sweeps[0];
    assert_eq!(
        (&sweep.client_sites, sweep.distances.len()),
        (&study.sites, 1)
    );
    assert!(sweep.distances[0].pairs.is_empty());
    let spec = &study.modes[0];
    assert_eq!(
        (&spec.label[..], spec.nodes),
        ("endpoint db.example:3307", 1)
    );
    let endpoint = spec.endpoint.as_ref().unwrap();
    let writer = Address {
        user: "me".into(),
        host: "db.example".into(),
        port: 3307,
    };
    assert_eq!(endpoint.writer, writer);
    assert_eq!(endpoint.tls, Tls::Verify { ca_pem: None });
    assert_eq!(
        (&endpoint.password_file, &endpoint.database),
        (&None, &None)
    );
}

#[test]
fn an_endpoint_can_be_asked_at_a_pace() {
    let study = read_here(&(with(URL) + "pace = \"20ms\"\n")).unwrap();
    let pace = std::time::Duration::from_millis(20);
    assert_eq!(study.sweeps[0].paces, [pace]);
}

#[test]
fn an_endpoint_can_say_more() {
    let lines = "label = \"ours\"\nreplicas = [\"mysql://r@b\", \"mysql://r@c:7\"]\n\
                 ca = \"ca.pem\"\npassword_file = \"pw\"\ndatabase = \"acklab_bench\"\n";
    let study = read_here(&with(&format!("{URL}{lines}"))).unwrap();
    let spec = &study.modes[0];
    assert_eq!((&spec.label[..], spec.nodes), ("ours", 3));
    let endpoint = spec.endpoint.as_ref().unwrap();
    assert_eq!(endpoint.replicas[1].place(), "c:7");
    assert!(matches!(&endpoint.tls, Tls::Verify { ca_pem: Some(pem) } if pem.contains("BEGIN")));
    assert_eq!(endpoint.password_file.as_deref(), Some("pw"));
    assert_eq!(endpoint.database.as_deref(), Some("acklab_bench"));
    let off = read_here(&with(&format!("{URL}tls = \"off\"\nreplicas = []\n"))).unwrap();
    assert_eq!(
        (off.tls, &off.modes[0].endpoint.as_ref().unwrap().tls),
        (false, &Tls::Off)
    );
}

#[test]
fn of_a_file_of_certificates_nothing_else_is_kept() {
    let study = read_here(&with(&format!("{URL}ca = \"both.pem\"\n"))).unwrap();
    let endpoint = study.modes[0].endpoint.as_ref().unwrap();
    let alone = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    let ca_pem = Some(alone.to_owned());
    assert_eq!(endpoint.tls, Tls::Verify { ca_pem });
}

#[test]
fn passwords_are_refused_and_not_shown() {
    let url = "writer = \"mysql://me:s3cret@db\"\nreplicas = \"mysql://r:s3cret@c\"\n";
    for key in ["password", "pwd"] {
        let text = mistakes_here(&with(&format!("{url}{key} = \"s3cret\"\n")));
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(text.matches("password_file").count(), 3, "{text}");
    }
    assert_snapshot!(mistakes_here(&with("writer = \"mysql://me:s3cret@db\"\n")), @"study.toml:3: mode[1].writer: given mysql://me:…@db; holds a password, which would be kept in the record and seen by others: leave it out, and give it in a file (password_file), in the environment (ACKLAB_PASSWORD), or when asked on a terminal");
}

#[test]
fn mistakes_about_endpoints_are_named() {
    let wrong = |lines: &str| mistakes_here(&with(&format!("{URL}{lines}")));
    assert_snapshot!(mistakes_here(&with("")), @"study.toml:1: mode[1].writer: is missing; a URL must be given: mysql://USER@HOST:PORT");
    assert_snapshot!(wrong("ca = \"no.pem\"\n"), @r#"study.toml:4: mode[1].ca: given "no.pem"; must be a file that can be read: No such file or directory"#);
    assert_snapshot!(wrong("ca = \"key.pem\"\n"), @r#"study.toml:4: mode[1].ca: given "key.pem"; holds no certificate in PEM form"#);
    assert_snapshot!(wrong("tls = \"off\"\nca = \"ca.pem\"\n"), @r#"study.toml:5: mode[1].ca: given "ca.pem"; verifies nothing with tls = "off""#);
    assert_snapshot!(wrong("database = \"mine\"\n"), @r#"study.toml:4: mode[1].database: given "mine"; must be acklab_ and 1 to 40 lower-case letters, digits or _"#);
    assert!(wrong("nodes = 3\n").contains("mode[1].nodes: given 3; no such key"));
}

#[test]
fn what_only_labs_have_is_refused() {
    let text = format!(
        "sites = [\"a\"]\ntls = true\nmy_cnf = \"own.cnf\"\n{}rtt = \"1ms\"\n\
         watch_after = \"2s\"\napply = \"after\"\ncpu_speed = 0.5\nschemas = 2\n",
        with(URL)
    );
    let text = mistakes_here(&text);
    for key in [
        "sites",
        "tls",
        "my_cnf",
        "sweep[1].rtt",
        "sweep[1].watch_after",
        "sweep[1].apply",
        "sweep[1].cpu_speed",
        "sweep[1].schemas",
    ] {
        let line = text
            .lines()
            .find(|line| line.contains(&format!(": {key}: ")))
            .expect(key);
        assert!(
            line.contains("not for studies of endpoints") || key == "my_cnf",
            "{line}"
        );
    }
    let study = read_here(&with(URL)).unwrap();
    let overrides = crate::study::Overrides {
        tls: Some(true),
        my_cnf_text: Some(String::new()),
        ..Default::default()
    };
    let text = study.apply(&overrides).expect_err("mistakes").to_string();
    assert!(
        text.contains("--tls") && text.contains("--my-cnf"),
        "{text}"
    );
}

#[test]
fn the_manuals_endpoint_is_without_mistakes() {
    let manual = include_str!("../../../../docs/study.md");
    let examples = manual.split("```toml\n").skip(1);
    let mut texts = examples.filter_map(|rest| rest.split("```").next());
    let text = texts
        .find(|text| text.contains("endpoint"))
        .expect("an example");
    let study = read_here(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((study.modes[0].nodes, study.is_of_endpoints()), (2, true));
}

#[test]
fn endpoints_and_labs_do_not_mix() {
    let text = mistakes_here(&format!("{SINGLE}{}", with(URL)));
    assert!(text.contains("a study is either of endpoints or of servers that acklab starts"));
}
