//! A front: a real proxy between clients and servers, with static routes, in a client's place or
//! in one of its own.

use std::fs::{self, File};
use std::net::SocketAddrV4;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::netns::Place;
use super::node::pause;
use super::sandbox::{SERVER_UID, drop_to_server_user};
use super::servers::ProxyProgram;
use super::servers::datadir::{PASSWORD, USER};
use super::sql::Admin;
use crate::error::{Breakdown, Error, Result, Tried};
use crate::study::Proxy;

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

/// What a front is to do: where it listens, and for which servers. One server takes all
/// connections; several take them in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub listen: SocketAddrV4,
    pub servers: Vec<SocketAddrV4>,
}

/// A running proxy. Dropped, it is ended and reaped.
pub struct Front {
    pub route: Route,
    name: String,
    folder: PathBuf,
    process: Child,
}

impl Front {
    /// Starts a proxy at `place` as the servers' user, its files in the new folder `folder`, and
    /// waits until as many connections through it as it has servers have answered a `client`.
    ///
    /// # Errors
    /// A breakdown with its last log lines if it ends, or lets no connection through.
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
        let (text, option) = match proxy {
            Proxy::Router => (router_file(&route, program, &folder), &["--config"][..]),
            Proxy::Haproxy => (haproxy_file(&route), &["-db", "-f"][..]),
        };
        let file = folder.join("proxy.conf");
        fs::write(&file, text).tried(|| format!("write {}", file.display()))?;
        let log = File::create(folder.join("out")).tried(tried)?;
        let mut command = program.command();
        command.args(option).arg(&file);
        command.env("HOME", "/nonexistent").current_dir(&folder);
        command.stdin(Stdio::null());
        command.stdout(log.try_clone().tried(tried)?).stderr(log);
        place.enter(&mut command)?;
        drop_to_server_user(&mut command);
        let process = command.spawn().tried(tried)?;
        let mut front = Front {
            route,
            name,
            folder,
            process,
        };
        front.wait_answering(client)?;
        Ok(front)
    }

    /// Its process, for its CPU account.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A breakdown with its last log lines if it has ended.
    pub fn check_alive(&mut self, doing: &str) -> Result<()> {
        match self.process.try_wait().ok().flatten() {
            Some(status) => Err(self.breakdown(doing, &format!("it ended: {status}"))),
            None => Ok(()),
        }
    }

    fn wait_answering(&mut self, client: &Place) -> Result<()> {
        let start = Instant::now();
        for _ in 0..self.route.servers.len() {
            while let Err(refusal) = self.try_connection(client)? {
                self.check_alive("start")?;
                if start.elapsed() > START_LIMIT {
                    let seconds = START_LIMIT.as_secs();
                    let status = format!("no answer through it after {seconds} s: {refusal}");
                    return Err(self.breakdown("start", &status));
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
        let lines: Vec<&str> = text.lines().collect();
        let (_, last) = lines.split_at(lines.len().saturating_sub(LOG_LINES));
        Breakdown {
            tried: format!("{doing} {}", self.name),
            status: status.to_owned(),
            log: last.iter().map(|line| (*line).to_owned()).collect(),
        }
        .into()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
fn haproxy_file(route: &Route) -> String {
    let server = |(i, address): (usize, &SocketAddrV4)| format!("    server s{i} {address}\n");
    let servers: String = (1..).zip(&route.servers).map(server).collect();
    format!(
        "global\n    log stderr format raw local0 notice\n\n\
         defaults\n    mode tcp\n    log global\n\
         \x20   timeout connect {CONNECT_S}s\n    timeout client 24h\n    timeout server 24h\n\n\
         listen acklab\n    bind {}\n    balance roundrobin\n{servers}",
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
        }
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
        let file = haproxy_file(&route(2));
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
    }
}
