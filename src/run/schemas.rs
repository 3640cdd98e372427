//! Schemas with the same tables and the same rows, over which a load is spread.

use crate::error::Result;
use crate::lab::Lab;
use crate::lab::servers::datadir::{DATABASE, USER};

/// Names of so many schemas. The first is the one that every data directory has.
pub fn names(count: u32) -> Vec<String> {
    let further = (2..=count).map(|number| format!("{DATABASE}{number}"));
    std::iter::once(DATABASE.to_owned())
        .chain(further)
        .collect()
}

/// Makes those of them that a new data directory has not, and lets clients use them.
///
/// # Errors
/// A breakdown if the writer refuses.
pub fn make(lab: &mut Lab, names: &[String]) -> Result<()> {
    let writer = &mut lab.nodes[0];
    for name in names.iter().filter(|name| *name != DATABASE) {
        writer.run(&format!("CREATE DATABASE IF NOT EXISTS {name}"))?;
        writer.run(&format!("GRANT ALL ON {name}.* TO '{USER}'@'%'"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_schema_is_that_of_every_lab_and_the_others_have_numbers() {
        assert_eq!(names(1), ["acklab"]);
        assert_eq!(names(3), ["acklab", "acklab2", "acklab3"]);
        assert_eq!(names(0), names(1));
    }
}
