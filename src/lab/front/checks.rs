//! Health checks of an HAProxy: how it is told to make them, and what came of the first.

use std::time::Duration;

/// From one check of a server to its next, unless it is too far away for that.
const EVERY: Duration = Duration::from_millis(500);
/// A server that can be reached may take so long to tell its health, besides the way there and
/// back.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// How the servers of a route are checked, so that only those get connections that take writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Where health is told, at each server's address.
    pub port: u16,
    /// To the farthest server.
    pub rtt_max: Duration,
    /// The first server that takes writes gets all connections. Without, those that do get them in
    /// turn: where no more than one should.
    pub has_backups: bool,
}

impl Checks {
    /// What is said of all servers. One that is found not to take writes loses its connections.
    pub fn lines(&self) -> String {
        // It waits no longer for a connection than from one check to the next.
        let every = EVERY.max(self.rtt_max * 2);
        let limit = ANSWER_LIMIT + self.rtt_max * 2;
        format!(
            "    option httpchk\n    timeout check {}ms\n    \
             default-server check port {} inter {}ms rise 1 fall 2 \
             on-marked-down shutdown-sessions\n",
            limit.as_millis(),
            self.port,
            every.as_millis(),
        )
    }

    /// What is said of a server besides its address, by its place among them, from 0 on.
    pub fn words(&self, place: usize) -> &'static str {
        match self.has_backups && place > 0 {
            true => " backup",
            false => "",
        }
    }
}

/// By what it tells (`show stat`: CSV, the first line names the columns): why clients should not
/// connect yet; `None` once it has checked all servers, and one takes writes. It takes them all to
/// do so until it has checked them.
pub fn lacks(stats: &str) -> Option<String> {
    let mut lines = stats.lines();
    let head = lines.next().unwrap_or_default().trim_start_matches("# ");
    let column = |name: &str| head.split(',').position(|known| known == name);
    let columns = [column("svname"), column("status"), column("check_status")];
    let [Some(name), Some(status), Some(check)] = columns else {
        return Some("its statistics are not what they should be".to_owned());
    };
    let server = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |at: usize| fields.get(at).map(|text| (*text).to_owned());
        let name = field(name).filter(|name| !["FRONTEND", "BACKEND"].contains(&&name[..]))?;
        // What is under way is marked by an asterisk.
        let check = field(check)?.trim_start_matches("* ").to_owned();
        Some((name, field(status)?, check))
    };
    let servers: Vec<(String, String, String)> = lines.filter_map(server).collect();
    let is_unchecked = |check: &str| ["", "UNK", "INI"].contains(&check);
    if let Some((name, ..)) = servers.iter().find(|(.., check)| is_unchecked(check)) {
        return Some(format!("{name} has not been checked"));
    }
    if servers
        .iter()
        .any(|(_, status, _)| status.starts_with("UP"))
    {
        return None;
    }
    let told = servers.iter();
    let told = told.map(|(name, status, check)| format!("{name} {status} ({check})"));
    let told: Vec<String> = told.collect();
    Some(format!("no server takes writes: {}", told.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(rtt_ms: u64) -> Checks {
        Checks {
            port: 9200,
            rtt_max: Duration::from_millis(rtt_ms),
            has_backups: true,
        }
    }

    #[test]
    fn a_server_is_down_after_two_checks_and_up_after_one() {
        let lines = checks(2).lines();
        let expected = [
            "    option httpchk",
            "    timeout check 1004ms",
            "    default-server check port 9200 inter 500ms rise 1 fall 2 on-marked-down \
             shutdown-sessions",
        ];
        assert_eq!(lines.lines().collect::<Vec<&str>>(), expected);
        let far = checks(400).lines();
        assert!(
            far.contains(" 1800ms\n") && far.contains(" inter 800ms "),
            "{far}"
        );
    }

    #[test]
    fn the_first_of_several_that_take_writes_has_the_others_behind_it() {
        let several = checks(2);
        let one = Checks {
            has_backups: false,
            ..several
        };
        assert_eq!(
            [0, 1, 2].map(|at| several.words(at)),
            ["", " backup", " backup"]
        );
        assert_eq!([0, 1].map(|at| one.words(at)), ["", ""]);
    }

    /// As HAProxy 2.6 tells it, with fewer columns.
    fn told(servers: [(&str, &str); 2]) -> Option<String> {
        let rows = (1..).zip(servers);
        let rows = rows.map(|(i, (status, check))| format!("acklab,s{i},0,{status},1,{check},,\n"));
        let rows: String = rows.collect();
        lacks(&format!(
            "# pxname,svname,qcur,status,weight,check_status,check_code,\n\
             acklab,FRONTEND,,OPEN,,,,\n{rows}acklab,BACKEND,0,UP,1,,,\n\n"
        ))
    }

    #[test]
    fn clients_wait_until_all_servers_are_checked_and_one_takes_writes() {
        assert_eq!(told([("UP", "L7OK"), ("DOWN", "L7STS")]), None);
        assert_eq!(told([("DOWN", "L4CON"), ("UP 1/2", "* L7OK")]), None);
        let unchecked = Some("s2 has not been checked".to_owned());
        assert_eq!(told([("UP", "L7OK"), ("UP 1/2", "INI")]), unchecked);
        assert_eq!(told([("UP", "L7OK"), ("UP 1/2", "* INI")]), unchecked);
        assert_eq!(told([("UP", "L7OK"), ("UP", "")]), unchecked);
        let none = told([("DOWN", "L7STS"), ("DOWN", "L4TOUT")]);
        assert_eq!(
            none.as_deref(),
            Some("no server takes writes: s1 DOWN (L7STS), s2 DOWN (L4TOUT)")
        );
        assert!(lacks("").is_some() && lacks("Unknown command.\n").is_some());
    }
}
