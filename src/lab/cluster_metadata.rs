//! What makes a group an InnoDB Cluster: the metadata in which MySQL Router looks its members up.
//!
//! They are acklab's own, not MySQL Shell's: the tables and views by which a Router finds a group,
//! with the columns that it reads and writes, and one cluster. Routers of 8.0 and later read this
//! version of them; that of today's Shell has routing guidelines besides.

use super::lab::Lab;
use super::node::{Node, PORT};
use crate::error::Result;

/// Where a Router looks.
const SCHEMA: &str = "mysql_innodb_cluster_metadata";
/// Any fixed UUID, as of the group: there is one cluster in each group.
const CLUSTER: &str = "ac1ab000-0000-4000-8000-000000000002";

/// A member as the metadata have it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    server_uuid: String,
    /// Host and port.
    address: String,
}

/// Writes the metadata of a group at its first node, a primary, unless they are there. The others
/// get them as all else.
///
/// # Errors
/// A breakdown with the last log lines of the node that did not do it.
pub fn write(lab: &mut Lab) -> Result<()> {
    let is_there =
        format!("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'");
    if lab.nodes[0].value(&is_there)?.as_deref() != Some("0") {
        return Ok(());
    }
    let group = asked(&mut lab.nodes[0], "SELECT @@group_replication_group_name")?;
    let members = lab
        .nodes
        .iter_mut()
        .map(member)
        .collect::<Result<Vec<_>>>()?;
    let mut statements = statements(&group, &members).into_iter();
    statements.try_for_each(|sql| lab.nodes[0].run(&sql))
}

fn member(node: &mut Node) -> Result<Member> {
    Ok(Member {
        server_uuid: asked(node, "SELECT @@server_uuid")?,
        address: format!("{}:{PORT}", node.place.address),
    })
}

fn asked(node: &mut Node, sql: &str) -> Result<String> {
    let value = node.value(sql)?;
    value.ok_or_else(|| node.breakdown(sql, "there is no such value"))
}

/// All statements, in an order in which each finds what it needs.
fn statements(group: &str, members: &[Member]) -> Vec<String> {
    let number_and_member = (1..).zip(members);
    let rows = number_and_member.map(|(number, member): (u32, &Member)| {
        let Member {
            server_uuid,
            address,
        } = member;
        format!(
            "INSERT INTO {SCHEMA}.v2_instances VALUES ({number}, '{CLUSTER}', '{server_uuid}', \
             '{address}', '{address}', NULL, '{{}}', '{address}')"
        )
    });
    let cluster = format!(
        "INSERT INTO {SCHEMA}.v2_gr_clusters VALUES ('{CLUSTER}', 'acklab', '{group}', '{{}}')"
    );
    let objects = TABLES
        .iter()
        .map(|(name, columns)| format!("CREATE TABLE {SCHEMA}.{name} ({columns}) ENGINE=InnoDB"));
    let views = VIEWS.iter().map(|(name, select)| {
        let select = select.replace("FROM ", &format!("FROM {SCHEMA}."));
        let select = select.replace("JOIN ", &format!("JOIN {SCHEMA}."));
        format!("CREATE VIEW {SCHEMA}.{name} AS {select}")
    });
    std::iter::once(format!("CREATE DATABASE {SCHEMA}"))
        .chain(objects)
        .chain(views)
        .chain([cluster])
        .chain(rows)
        .collect()
}

/// A group lets nobody write to a table without a primary key.
const TABLES: [(&str, &str); 5] = [
    (
        "v2_gr_clusters",
        "cluster_id CHAR(36) PRIMARY KEY, cluster_name VARCHAR(63) NOT NULL, \
         group_name CHAR(36) NOT NULL, router_options JSON",
    ),
    (
        "v2_instances",
        "instance_id INT UNSIGNED PRIMARY KEY, cluster_id CHAR(36) NOT NULL, \
         mysql_server_uuid CHAR(36) NOT NULL, address VARCHAR(255) NOT NULL, \
         endpoint VARCHAR(255) NOT NULL, xendpoint VARCHAR(255), attributes JSON NOT NULL, \
         label VARCHAR(255)",
    ),
    // Of clusters that are one another's: there are none.
    (
        "v2_cs_members",
        "cluster_id CHAR(36) PRIMARY KEY, clusterset_id CHAR(36)",
    ),
    // A Router enters itself as it bootstraps, and says then and again that it is there.
    (
        "v2_routers",
        "router_id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, router_name VARCHAR(255) NOT NULL, \
         product_name VARCHAR(128) NOT NULL, address VARCHAR(255) NOT NULL, version VARCHAR(63), \
         last_check_in TIMESTAMP NULL, attributes JSON, cluster_id CHAR(36), \
         clusterset_id CHAR(36), options JSON, UNIQUE KEY (address, router_name)",
    ),
    // What a Router's account is granted a right to, though this version has no use for it.
    (
        "router_stats",
        "router_id INT UNSIGNED PRIMARY KEY, last_check_in TIMESTAMP NULL",
    ),
];

/// The version comes first: a Router takes all columns of its one row.
const VIEWS: [(&str, &str); 4] = [
    (
        "schema_version",
        "SELECT 2 AS major, 2 AS minor, 0 AS patch",
    ),
    (
        "v2_this_instance",
        "SELECT i.cluster_id, i.instance_id, c.cluster_name, 'gr' AS cluster_type \
         FROM v2_instances i JOIN v2_gr_clusters c ON c.cluster_id = i.cluster_id \
         WHERE i.instance_id = 1",
    ),
    (
        "v2_router_options",
        "SELECT router_id, clusterset_id, options AS router_options FROM v2_routers",
    ),
    ("routers", "SELECT * FROM v2_routers"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<Member> {
        let member = |number: u8| Member {
            server_uuid: format!("uuid-{number}"),
            address: format!("198.18.0.{number}:3306"),
        };
        (1..=3).map(member).collect()
    }

    #[test]
    fn every_member_is_found_under_its_address() {
        let all = statements("a-group", &members());
        let inserts: Vec<&String> = all.iter().filter(|sql| sql.starts_with("INSERT")).collect();
        assert_eq!(inserts.len(), 4);
        assert!(inserts[0].contains("'acklab', 'a-group'"), "{}", inserts[0]);
        let second = "VALUES (2, 'ac1ab000-0000-4000-8000-000000000002', 'uuid-2', \
                      '198.18.0.2:3306', '198.18.0.2:3306', NULL, '{}', '198.18.0.2:3306')";
        assert!(inserts[2].ends_with(second), "{}", inserts[2]);
    }

    /// Nothing depends on a current database, which the lab's connection does not have.
    #[test]
    fn every_object_is_named_in_full_and_every_table_has_a_key() {
        let all = statements("a-group", &members());
        assert_eq!(all[0], "CREATE DATABASE mysql_innodb_cluster_metadata");
        for sql in &all[1..] {
            for (before, _) in sql.match_indices("v2_") {
                assert!(sql[..before].ends_with("metadata."), "{sql}");
            }
            let is_table = sql.starts_with("CREATE TABLE");
            assert!(!is_table || sql.contains("PRIMARY KEY"), "{sql}");
        }
        let made = |kind: &str| all.iter().filter(|sql| sql.starts_with(kind)).count();
        assert_eq!((made("CREATE TABLE"), made("CREATE VIEW")), (5, 4));
    }
}
