//! Which of a server's status counters count at all. Some managed services show counters that stay
//! at zero for ever: no such zero may be taken for a figure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::status::{self, Counters};
use crate::error::Result;
use crate::lab::node::pause;
use crate::lab::sql::Ask;
use crate::record::counter;

/// Counters that every commit moves on a server that counts, and that tell what one costs. Reads of
/// data are not among them: what is in memory is not read, so that `Innodb_data_reads` stands still
/// shows nothing.
pub const COUNTED: [&str; 9] = [
    counter::COMMIT_STATEMENTS,
    counter::ENGINE_COMMITS,
    counter::DATA_WRITES,
    counter::DATA_WRITTEN_BYTES,
    counter::DATA_FLUSHES,
    counter::REDO_LOG_FLUSHES,
    counter::REDO_LOG_WRITTEN_BYTES,
    counter::SENT_BYTES,
    counter::RECEIVED_BYTES,
];

/// Transactions of one attempt to move them.
const COMMITS: u32 = 10;
/// A server that flushes its log once a second has done so twice by then.
const LIMIT: Duration = Duration::from_secs(3);

/// Those of [`COUNTED`] that the server shows, and whether they moved when commits were made in
/// `database`. Others' work can move them as well: then they count.
///
/// # Errors
/// What the server answers instead.
pub fn provoke(writer: &mut impl Ask, database: &str) -> Result<BTreeMap<String, bool>> {
    provoke_for(writer, database, LIMIT)
}

fn provoke_for(
    writer: &mut impl Ask,
    database: &str,
    limit: Duration,
) -> Result<BTreeMap<String, bool>> {
    let table = format!("{database}.acklab_provoked");
    let before = status::read(writer, None)?;
    writer.run(&format!(
        "CREATE TABLE {table} (id INT PRIMARY KEY, pad VARCHAR(200)) ENGINE=InnoDB"
    ))?;
    let start = Instant::now();
    let moved = loop {
        commit_often(writer, &table)?;
        let moved = moved(&before, &status::read(writer, None)?);
        if moved.values().all(|is_moved| *is_moved) || start.elapsed() >= limit {
            break moved;
        }
        pause(Duration::from_millis(100))?;
    };
    writer.run(&format!("DROP TABLE {table}"))?;
    Ok(moved)
}

fn commit_often(writer: &mut impl Ask, table: &str) -> Result<()> {
    for id in 0..COMMITS {
        writer.run("BEGIN")?;
        writer.run(&format!(
            "REPLACE INTO {table} VALUES ({id}, REPEAT('x', 200))"
        ))?;
        writer.run("COMMIT")?;
    }
    Ok(())
}

fn moved(before: &Counters, after: &Counters) -> BTreeMap<String, bool> {
    let shown = COUNTED.iter().filter_map(|name| {
        let (before, after) = (before.get(*name)?, after.get(*name)?);
        Some(((*name).to_owned(), after > before))
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that counts commits but whose writes stand still.
    #[derive(Default)]
    struct Managed {
        commits: u32,
        tables: Vec<String>,
    }

    impl Ask for Managed {
        fn name(&self) -> &str {
            "managed"
        }

        fn run(&mut self, sql: &str) -> Result<()> {
            self.commits += u32::from(sql == "COMMIT");
            if sql.contains(" TABLE ") {
                self.tables
                    .push(sql.split(" (").next().unwrap_or_default().to_owned());
            }
            Ok(())
        }

        fn value(&mut self, _sql: &str) -> Result<Option<String>> {
            Ok(None)
        }

        fn pairs(&mut self, _sql: &str) -> Result<BTreeMap<String, String>> {
            let pair = |name: &str, value: String| (name.to_owned(), value);
            Ok(BTreeMap::from([
                pair("Com_commit", self.commits.to_string()),
                pair("Innodb_data_writes", "0".to_owned()),
                pair("Uptime", self.commits.to_string()),
            ]))
        }
    }

    #[test]
    fn a_counter_that_stands_still_is_not_believed() {
        let mut server = Managed::default();
        let counting = provoke_for(&mut server, "acklab_x", Duration::ZERO).unwrap();
        let expected = [
            (counter::COMMIT_STATEMENTS, true),
            (counter::DATA_WRITES, false),
        ];
        let expected = expected.map(|(name, counts)| (name.to_owned(), counts));
        assert_eq!(counting, expected.into());
        assert_eq!(
            server.tables,
            [
                "CREATE TABLE acklab_x.acklab_provoked",
                "DROP TABLE acklab_x.acklab_provoked"
            ]
        );
    }
}
