//! A front: a real proxy between clients and servers, in a client's place or in one of its own.
//! Its routes are static, but for those of a Router that has bootstrapped itself, and of an HAProxy
//! that checks its servers' health.

mod checks;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::SocketAddrV4;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::ended::how_ended;
use super::netns::Place;
use super::node::pause;
use super::sandbox::{SERVER_UID, drop_to_server_user};
use super::servers::ProxyProgram;
use super::servers::datadir::{PASSWORD, USER};
use super::sql::Admin;
use crate::error::{Breakdown, Error, Result, Tried};
use crate::study::Proxy;

pub use checks::Checks;

/// How long a front may take until a connection through it answers.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How long each step of one such connection may take: connecting, greeting, login, answer.
const STEP_LIMIT: Duration = Duration::from_secs(15);
/// How long a proxy waits for a server's connection, or for a client's handshake. Longer than the
/// longest way between two sites takes, so that no proxy gives up what a client still waits for.
const CONNECT_S: u64 = 600;
/// Connections of MySQL Router at once, which allows 512 by default: more than any study opens.
const CONNECTIONS_MAX: u64 = 20_000;
/// Lines of its log in a breakdown.
const LOG_LINES: usize = 8;
/// The socket by which an HAProxy that checks its servers tells what came of that.
const STATISTICS: &str = "statistics";
/// Ports that a front may take, from its own on: a Router that has bootstrapped itself listens for
/// readers too, and for two protocols.
pub const PORTS: u16 = 10;

/// What a front is to do: where it listens, and for which servers. One server takes all
/// connections; several take them in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub listen: SocketAddrV4,
    pub servers: Vec<SocketAddrV4>,
    /// The Unix socket of the first server, by which a Router bootstraps itself.
    pub socket: PathBuf,
    /// Only HAProxy has them.
    pub checks: Option<Checks>,
}

/// A running proxy. Dropped, it is ended and reaped.
pub struct Front {
    pub route: Route,
    name: String,
    folder: PathBuf,
    process: Child,
}

impl Front {
    /// Starts a proxy at `place` as the servers' user, its files in `folder`, and waits until as
    /// many connections through it as it has servers have answered a `client`; one that checks its
    /// servers, until it has checked them all, and one connection has. For a Router that bootstraps
    /// itself the cluster's metadata must be there; one that has done so in that folder goes on
    /// with what it made then.
    ///
    /// # Errors
    /// A breakdown with its last log lines if it ends, lets no connection through, finds no server
    /// that takes writes, or does not bootstrap itself.
    pub fn start(
        proxy: Proxy,
        program: &ProxyProgram,
        (place, client): (&Place, &Place),
        route: Route,
        folder: PathBuf,
    ) -> Result<Front> {
        let name = format!("{} (at {})", program.name, place.name);
        let tried = || format!("start {name}");
        fs::create_dir_all(&folder).tried(tried)?;
        chown(&folder, Some(SERVER_UID), Some(SERVER_UID)).tried(tried)?;
        let file = match proxy {
            Proxy::Router => written(&folder, &router_file(&route, program, &folder))?,
            Proxy::RouterBootstrapped => bootstrap(program, place, &route, &folder)?,
            Proxy::Haproxy => written(&folder, &haproxy_file(&route, &folder))?,
        };
        let options: &[&str] = match proxy {
            Proxy::Router | Proxy::RouterBootstrapped => &["--config"],
            Proxy::Haproxy => &["-db", "-f"],
        };
        let log = File::create(folder.join("out")).tried(tried)?;
        let mut command = command(program, place, &folder)?;
        command.args(options).arg(&file);
        command.stdout(log.try_clone().tried(tried)?).stderr(log);
        let process = command.spawn().tried(tried)?;
        let mut front = Front {
            route,
            name,
            folder,
            process,
        };
        front.wait_checked()?;
        front.wait_answering(client, "start")?;
        Ok(front)
    }

    /// Its process, for its CPU account.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A breakdown with its last log lines if it has ended.
    pub fn check_alive(&mut self, doing: &str) -> Result<()> {
        match how_ended(&mut self.process) {
            Some(status) => Err(self.breakdown(doing, &format!("it ended: {status}"))),
            None => Ok(()),
        }
    }

    /// Waits until it has checked all servers, and one takes writes, if it checks them at all.
    fn wait_checked(&mut self) -> Result<()> {
        let start = Instant::now();
        while let Some(lacks) = self.lacks() {
            self.check_alive("start")?;
            if start.elapsed() > START_LIMIT {
                let seconds = START_LIMIT.as_secs();
                let status = format!("not ready after {seconds} s: {lacks}");
                return Err(self.breakdown("start", &status));
            }
            pause(Duration::from_millis(20))?;
        }
        Ok(())
    }

    fn lacks(&self) -> Option<String> {
        self.route.checks?;
        match self.statistics() {
            Ok(told) => checks::lacks(&told),
            Err(error) => Some(format!("it tells no statistics: {error}")),
        }
    }

    fn statistics(&self) -> io::Result<String> {
        let mut socket = UnixStream::connect(self.folder.join(STATISTICS))?;
        socket.set_read_timeout(Some(STEP_LIMIT))?;
        socket.write_all(b"show stat\n")?;
        let mut told = String::new();
        socket.read_to_string(&mut told)?;
        Ok(told)
    }

    /// Waits until as many connections through it as it has servers, or one where it checks them,
    /// have answered a `client`.
    ///
    /// # Errors
    /// A breakdown, `doing` that, with its last log lines if it ends or lets no connection through.
    pub fn wait_answering(&mut self, client: &Place, doing: &str) -> Result<()> {
        let start = Instant::now();
        let wanted = match self.route.checks {
            Some(_) => 1,
            None => self.route.servers.len(),
        };
        for _ in 0..wanted {
            while let Err(refusal) = self.try_connection(client)? {
                self.check_alive(doing)?;
                if start.elapsed() > START_LIMIT {
                    let seconds = START_LIMIT.as_secs();
                    let status = format!("no answer through it after {seconds} s: {refusal}");
                    return Err(self.breakdown(doing, &status));
                }
                pause(Duration::from_millis(20))?;
            }
        }
        Ok(())
    }

    /// One connection of a client's, as the load's user; the inner error is a refusal.
    fn try_connection(&self, client: &Place) -> Result<std::result::Result<(), mysql::Error>> {
        let address = self.route.listen;
        client.netns.run(|| {
            let mut connection = Admin::connect_to(address, (USER, PASSWORD), STEP_LIMIT)?;
            connection.value("SELECT 1").map(drop)
        })
    }

    fn breakdown(&self, doing: &str, status: &str) -> Error {
        let text = fs::read_to_string(self.folder.join("out")).unwrap_or_default();
        let tried = format!("{doing} {}", self.name);
        ended(tried, status, &text)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A breakdown with the last lines that a proxy said.
fn ended(tried: String, status: &str, said: &str) -> Error {
    let lines: Vec<&str> = said.lines().collect();
    let (_, last) = lines.split_at(lines.len().saturating_sub(LOG_LINES));
    Breakdown {
        tried,
        status: status.to_owned(),
        log: last.iter().map(|line| (*line).to_owned()).collect(),
    }
    .into()
}

/// A proxy's program at a place, as the servers' user; its options are still to come.
fn command(program: &ProxyProgram, place: &Place, folder: &Path) -> Result<Command> {
    let mut command = program.command();
    command.env("HOME", "/nonexistent").current_dir(folder);
    command.stdin(Stdio::null());
    place.enter(&mut command)?;
    drop_to_server_user(&mut command);
    Ok(command)
}

/// A file with that configuration.
fn written(folder: &Path, text: &str) -> Result<PathBuf> {
    let file = folder.join("proxy.conf");
    fs::write(&file, text).tried(|| format!("write {}", file.display()))?;
    Ok(file)
}

/// Has MySQL Router bootstrap itself if it has not, and waits until it has: it gets an account of
/// its own, makes certificates, and writes its configuration, whose file this is.
fn bootstrap(
    program: &ProxyProgram,
    place: &Place,
    route: &Route,
    folder: &Path,
) -> Result<PathBuf> {
    let tried = || format!("bootstrap {} (at {})", program.name, place.name);
    let made = folder.join("bootstrapped");
    let file = made.join("mysqlrouter.conf");
    if file.exists() {
        return Ok(file);
    }
    let mut command = command(program, place, folder)?;
    command.args(bootstrap_options(route, program, &made));
    let log = folder.join("bootstrap.out");
    let out = File::create(&log).tried(tried)?;
    command.stdout(out.try_clone().tried(tried)?).stderr(out);
    let mut process = command.spawn().tried(tried)?;
    let ended_by_itself = wait_ended(&mut process);
    if !matches!(ended_by_itself, Ok(Some(_))) {
        let _ = process.kill();
        let _ = process.wait();
    }
    let said = || fs::read_to_string(&log).unwrap_or_default();
    match ended_by_itself? {
        Some(status) if status.success() => Ok(file),
        Some(status) => Err(ended(tried(), &format!("it ended: {status}"), &said())),
        None => Err(ended(tried(), "it did not end in time", &said())),
    }
}

/// `None` once its time is over; an error also where the run is asked to stop.
fn wait_ended(process: &mut Child) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < START_LIMIT {
        let ended = process.try_wait();
        if let Some(status) = ended.tried(|| "wait for a Router's bootstrap".to_owned())? {
            return Ok(Some(status));
        }
        pause(Duration::from_millis(20))?;
    }
    Ok(None)
}

/// What MySQL Router bootstraps itself with. All that it writes is its own default, but for where
/// it listens, and for limits that no study shall meet, as in [`router_file`]. Without its REST
/// interface, which would take one port of all Routers at a place. It asks for the password of
/// the server's root, who has none: its input is empty.
fn bootstrap_options(route: &Route, program: &ProxyProgram, made: &Path) -> Vec<String> {
    let address = route.listen.ip();
    let port = route.listen.port();
    let plugins = program.plugins.as_ref();
    let plugins = plugins.map(|path| format!("DEFAULT.plugin_folder={}", path.display()));
    let set = [
        "DEFAULT.logging_folder=".to_owned(),
        format!("DEFAULT.max_total_connections={CONNECTIONS_MAX}"),
        format!("routing:bootstrap_rw.connect_timeout={CONNECT_S}"),
        format!("routing:bootstrap_rw.client_connect_timeout={CONNECT_S}"),
        format!("routing:bootstrap_rw.max_connect_errors={}", u32::MAX),
    ];
    let set = set.into_iter().chain(plugins);
    [
        "--bootstrap=root@localhost".to_owned(),
        format!("--bootstrap-socket={}", route.socket.display()),
        format!("--directory={}", made.display()),
        format!("--name=acklab-{port}"),
        format!("--report-host={address}"),
        format!("--conf-bind-address={address}"),
        format!("--conf-base-port={port}"),
        "--disable-rest".to_owned(),
    ]
    .into_iter()
    .chain(set.map(|option| format!("--conf-set-option={option}")))
    .collect()
}

/// MySQL Router's configuration. `PASSTHROUGH`: TLS, if any, is between client and server.
fn router_file(route: &Route, program: &ProxyProgram, folder: &Path) -> String {
    let folder = folder.display();
    let plugins = program.plugins.as_ref();
    let plugins = plugins.map(|path| format!("plugin_folder = {}\n", path.display()));
    let servers: Vec<String> = route.servers.iter().map(ToString::to_string).collect();
    let strategy = match route.servers.len() {
        1 => "first-available",
        _ => "round-robin",
    };
    format!(
        "[DEFAULT]\n{}runtime_folder = {folder}\ndata_folder = {folder}\nlogging_folder =\n\
         max_total_connections = {CONNECTIONS_MAX}\n\n\
         [logger]\nlevel = INFO\n\n\
         [routing:acklab]\nbind_address = {}\nbind_port = {}\ndestinations = {}\n\
         routing_strategy = {strategy}\nprotocol = classic\nclient_ssl_mode = PASSTHROUGH\n\
         server_ssl_mode = AS_CLIENT\nconnect_timeout = {CONNECT_S}\n\
         client_connect_timeout = {CONNECT_S}\nmax_connect_errors = {}\n",
        plugins.unwrap_or_default(),
        route.listen.ip(),
        route.listen.port(),
        servers.join(","),
        u32::MAX,
    )
}

/// HAProxy's configuration: connections are handed on as they are, as many as its files allow.
fn haproxy_file(route: &Route, folder: &Path) -> String {
    let words = |i: usize| route.checks.map_or("", |checks| checks.words(i));
    let server = |(i, address): (usize, &SocketAddrV4)| {
        let (number, words) = (i + 1, words(i));
        format!("    server s{number} {address}{words}\n")
    };
    let servers: String = route.servers.iter().enumerate().map(server).collect();
    let statistics = folder.join(STATISTICS);
    let statistics = format!("    stats socket {}\n", statistics.display());
    let statistics = route.checks.map(|_| statistics).unwrap_or_default();
    let checks = route.checks.map(|checks| checks.lines());
    let checks = checks.unwrap_or_default();
    format!(
        "global\n    log stderr format raw local0 notice\n{statistics}\n\
         defaults\n    mode tcp\n    log global\n\
         \x20   timeout connect {CONNECT_S}s\n    timeout client 24h\n    timeout server 24h\n\n\
         listen acklab\n    bind {}\n    balance roundrobin\n{checks}{servers}",
        route.listen
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(servers: u8) -> Route {
        let address = |i| SocketAddrV4::new([198, 18, 0, i].into(), 3306);
        Route {
            listen: SocketAddrV4::new([198, 19, 0, 1].into(), 6446),
            servers: (1..=servers).map(address).collect(),
            socket: "/run/a/sock".into(),
            checks: None,
        }
    }

    #[test]
    fn router_bootstraps_itself_by_the_socket_and_listens_where_it_is_told() {
        let options = |plugins| {
            let program = ProxyProgram::example(plugins);
            bootstrap_options(&route(1), &program, Path::new("/run/f/bootstrapped"))
        };
        let own = options(Some("/x/plugin"));
        for option in [
            "--bootstrap=root@localhost",
            "--bootstrap-socket=/run/a/sock",
            "--directory=/run/f/bootstrapped",
            "--conf-bind-address=198.19.0.1",
            "--conf-base-port=6446",
            "--report-host=198.19.0.1",
            "--conf-set-option=DEFAULT.plugin_folder=/x/plugin",
            "--conf-set-option=DEFAULT.max_total_connections=20000",
        ] {
            assert!(own.iter().any(|one| one == option), "{option} in {own:?}");
        }
        // TLS, pools and the cache's times are what it writes by itself.
        for word in ["ssl", "idle", "sharing", "ttl"] {
            assert!(
                !own.iter().any(|one| one.contains(word)),
                "{word} in {own:?}"
            );
        }
        assert_eq!(options(None).len(), own.len() - 1);
    }

    #[test]
    fn router_sends_all_to_one_server_and_takes_several_in_turn() {
        let program = ProxyProgram::example(Some("/x/plugin"));
        let file = |servers| router_file(&route(servers), &program, Path::new("/run/f"));
        let one = file(1);
        for line in [
            "plugin_folder = /x/plugin",
            "bind_address = 198.19.0.1",
            "bind_port = 6446",
            "destinations = 198.18.0.1:3306",
            "routing_strategy = first-available",
            "client_ssl_mode = PASSTHROUGH",
        ] {
            assert!(one.lines().any(|own| own == line), "{line} in\n{one}");
        }
        let two = file(2);
        assert!(
            two.contains("\ndestinations = 198.18.0.1:3306,198.18.0.2:3306\n"),
            "{two}"
        );
        assert!(two.contains("\nrouting_strategy = round-robin\n"), "{two}");
    }

    #[test]
    fn haproxy_has_a_line_for_each_server() {
        let file = haproxy_file(&route(2), Path::new("/run/f"));
        let of = |word: &str| {
            let lines = file
                .lines()
                .map(str::trim)
                .filter(|line| line.starts_with(word));
            lines.map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(
            of("server "),
            ["server s1 198.18.0.1:3306", "server s2 198.18.0.2:3306"]
        );
        assert_eq!(of("bind"), ["bind 198.19.0.1:6446"]);
        assert_eq!(of("mode"), ["mode tcp"]);
        assert_eq!(of("balance"), ["balance roundrobin"]);
        assert!(!file.contains("check") && !file.contains("stats"), "{file}");
    }

    #[test]
    fn haproxy_checks_its_servers_where_that_is_asked() {
        let checked = Route {
            checks: Some(Checks {
                port: 9200,
                rtt_max: Duration::from_millis(2),
                has_backups: true,
            }),
            ..route(2)
        };
        let file = haproxy_file(&checked, Path::new("/run/f"));
        let expected = "\
global
    log stderr format raw local0 notice
    stats socket /run/f/statistics

defaults
    mode tcp
    log global
    timeout connect 600s
    timeout client 24h
    timeout server 24h

listen acklab
    bind 198.19.0.1:6446
    balance roundrobin
    option httpchk
    timeout check 1004ms
    default-server check port 9200 inter 500ms rise 1 fall 2 on-marked-down shutdown-sessions
    server s1 198.18.0.1:3306
    server s2 198.18.0.2:3306 backup
";
        assert_eq!(file, expected);
    }
}
