//! What is said to servers.

use super::draw::{ACCOUNTS, Drawn, START_BALANCE};

/// Answered by 0 or `OFF` where writes are taken.
pub const TAKES_WRITES: &str = "SELECT @@GLOBAL.read_only";
/// Answered by a node's index and 1, which tells who is behind a proxy.
pub const WHO_IS_THERE: &str = "SELECT @@GLOBAL.server_id";
pub const BEGIN: &str = "BEGIN";
pub const COMMIT: &str = "COMMIT";
pub const ROLLBACK: &str = "ROLLBACK";

/// What both accounts of a transfer have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balances {
    pub from: i64,
    pub to: i64,
}

/// Makes the two tables of a ledger anew in a database, with what all accounts have at the start.
pub fn tables(database: &str) -> Vec<String> {
    let balances = (0..ACCOUNTS).map(|id| format!("({id}, {START_BALANCE})"));
    let balances: Vec<String> = balances.collect();
    vec![
        format!("DROP TABLE IF EXISTS {database}.transfers, {database}.accounts"),
        format!(
            "CREATE TABLE {database}.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL) \
             ENGINE=InnoDB"
        ),
        format!(
            "CREATE TABLE {database}.transfers (id BIGINT AUTO_INCREMENT PRIMARY KEY, \
             debit INT NOT NULL, credit INT NOT NULL, amount INT NOT NULL, \
             token CHAR(16) CHARACTER SET ascii NOT NULL) ENGINE=InnoDB"
        ),
        format!(
            "INSERT INTO {database}.accounts VALUES {}",
            balances.join(", ")
        ),
    ]
}

/// All transfers that are there: token in hexadecimal, debit, credit, amount.
pub fn select_transfers(database: &str) -> String {
    format!("SELECT token, debit, credit, amount FROM {database}.transfers ORDER BY token")
}

/// What every account has, in the order of accounts.
pub fn select_balances(database: &str) -> String {
    format!("SELECT balance FROM {database}.accounts ORDER BY id")
}

/// Both accounts of a transfer. One statement locks them in the order of their keys, so that two
/// transfers never wait for each other on one server.
pub fn update(drawn: &Drawn) -> String {
    let Drawn {
        from, to, amount, ..
    } = drawn;
    format!(
        "UPDATE accounts SET balance = balance + CASE id WHEN {from} THEN -{amount} \
         ELSE {amount} END WHERE id IN ({from}, {to})"
    )
}

/// Both accounts of a transfer as they are: number and balance. With a lock nobody else changes
/// them before the end of the transaction.
pub fn select_both(drawn: &Drawn, is_locking: bool) -> String {
    let Drawn { from, to, .. } = drawn;
    let lock = if is_locking { " FOR UPDATE" } else { "" };
    format!("SELECT id, balance FROM accounts WHERE id IN ({from}, {to}){lock}")
}

/// What they come to by a transfer, written back.
pub fn write_back(drawn: &Drawn, were: Balances) -> String {
    let Drawn {
        from, to, amount, ..
    } = drawn;
    let amount = i64::from(*amount);
    let (less, more) = (were.from - amount, were.to + amount);
    format!(
        "UPDATE accounts SET balance = CASE id WHEN {from} THEN {less} ELSE {more} END \
         WHERE id IN ({from}, {to})"
    )
}

/// Its row.
pub fn insert(drawn: &Drawn) -> String {
    let Drawn {
        token,
        from,
        to,
        amount,
    } = drawn;
    format!(
        "INSERT INTO transfers (debit, credit, amount, token) \
         VALUES ({from}, {to}, {amount}, '{token:016x}')"
    )
}

/// Keys and tokens of all rows after one.
pub fn select_after(id: u64) -> String {
    format!("SELECT id, token FROM transfers WHERE id > {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_two_statements() {
        let drawn = Drawn {
            token: 0xab,
            from: 3,
            to: 0,
            amount: 7,
        };
        assert_eq!(
            update(&drawn),
            "UPDATE accounts SET balance = balance + CASE id WHEN 3 THEN -7 ELSE 7 END \
             WHERE id IN (3, 0)"
        );
        assert_eq!(
            insert(&drawn),
            "INSERT INTO transfers (debit, credit, amount, token) \
             VALUES (3, 0, 7, '00000000000000ab')"
        );
    }

    #[test]
    fn what_was_read_is_written_back() {
        let drawn = Drawn {
            token: 0xab,
            from: 3,
            to: 0,
            amount: 7,
        };
        let plain = "SELECT id, balance FROM accounts WHERE id IN (3, 0)";
        assert_eq!(select_both(&drawn, false), plain);
        assert_eq!(select_both(&drawn, true), format!("{plain} FOR UPDATE"));
        let were = Balances { from: 5, to: 100 };
        assert_eq!(
            write_back(&drawn, were),
            "UPDATE accounts SET balance = CASE id WHEN 3 THEN -2 ELSE 107 END WHERE id IN (3, 0)"
        );
    }

    #[test]
    fn tables_begin_with_what_all_accounts_have() {
        let statements = tables("d");
        assert_eq!(statements.len(), 4);
        let rows = &statements[3];
        assert!(rows.starts_with("INSERT INTO d.accounts VALUES (0, 1000000000), (1, "));
        assert_eq!(rows.matches("1000000000").count(), 64);
    }
}
