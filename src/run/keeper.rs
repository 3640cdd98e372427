//! The record of a run, and where in it belongs what is found.

use super::again::{place, unmade_of};
use super::order::Order;
use super::whole::{Whole, trials};
use crate::error::{Mistake, Result};
use crate::plan::Cell;
use crate::record::store::{Record, Store};
use crate::record::trials::Campaign;
use crate::record::{Header, LabFacts, Measurement, Resumed, ServerFacts, ServerLog};

/// A record that an order's findings are kept in, by the indices of the whole that it is of.
pub struct Keeper<'o> {
    store: Store,
    whole: Option<&'o Whole>,
    /// How often the run was gone on with.
    segment: usize,
    /// The place of what the run before ended with, and is made again.
    unmade: Option<(u32, usize, u32)>,
}

impl<'o> Keeper<'o> {
    /// A new record, or the one that is gone on with: its servers must be the same.
    ///
    /// # Errors
    /// A mistake if they are not, or the record's place cannot be written to.
    pub fn open(order: &'o Order, own: Header) -> Result<Keeper<'o>> {
        let whole = order.whole.as_ref();
        let header = match whole {
            Some(whole) => whole.header(own),
            None => own,
        };
        let (store, segment) = match &order.earlier {
            None => (Store::create(&order.record, &header)?, 0),
            Some(earlier) => go_on(order, earlier, header)?,
        };
        Ok(Keeper {
            store,
            whole,
            segment,
            unmade: unmade_of(order).map(place),
        })
    }

    /// Cells that have joined the order become part of the record. Only where that is of the whole
    /// order does anybody know their place.
    pub fn join(&mut self, cells: &[Cell]) -> Result<()> {
        self.store.join(cells)
    }

    pub fn append(&mut self, measurement: &Measurement) -> Result<()> {
        let cell = measurement.cell;
        let kept = Measurement {
            cell: self.whole.map_or(cell, |whole| whole.places[cell]),
            segment: self.segment,
            ..measurement.clone()
        };
        match self.unmade == Some(place(measurement)) {
            true => self.store.replace(&kept),
            false => self.store.append(&kept),
        }
    }

    pub fn append_campaign(&mut self, mode: usize, number: u32, one: &Campaign) -> Result<()> {
        let mut kept = one.clone();
        for trial in &mut kept.trials {
            (trial.number, trial.segment) = (number, self.segment);
        }
        self.store.append_campaign(self.place(mode), number, &kept)
    }

    pub fn keep_logs(&mut self, logs: &[ServerLog]) -> Result<()> {
        self.store.keep_logs(logs)
    }

    /// The order has gone through to its end.
    pub fn finish(self) -> Result<()> {
        match self.whole.is_none_or(|whole| whole.is_last) {
            true => self.store.finish(),
            false => Ok(()),
        }
    }

    fn place(&self, mode: usize) -> usize {
        self.whole.map_or(mode, |whole| whole.modes[mode])
    }
}

/// The record, and how often its run was gone on with.
fn go_on(order: &Order, earlier: &Record, header: Header) -> Result<(Store, usize)> {
    check_servers(order, &earlier.header, &header)?;
    let mut store = Store::resume(&order.record)?;
    let left_out = measurements_left_out(order, earlier, &store)?;
    let before = (earlier.measurements.len(), trials(earlier));
    let was = earlier.header.clone();
    let told = match &order.whole {
        Some(whole) => {
            let mut told = gone_on(was, &header, (whole.resumed, left_out));
            add(&mut told, header);
            told
        }
        None if before == (0, 0) => begun_anew(was, header, left_out),
        None => gone_on(was, &header, (Some(before), left_out)),
    };
    store.go_on(&told, order.round_left_out)?;
    Ok((store, told.resumed.len()))
}

/// How many measurements go out with their round. Between the reading of a record and the lock on
/// it labs are formed: nobody may have gone on with it meanwhile.
fn measurements_left_out(order: &Order, earlier: &Record, store: &Store) -> Result<usize> {
    let mut now = store.read()?;
    if let Some(whole) = &order.whole {
        now = whole.own(&now);
    }
    let there = now.measurements.len();
    let is_kept = |round: u32| Some(round) != order.round_left_out;
    now.measurements.retain(|one| is_kept(one.round));
    match now == *earlier {
        true => Ok(there - now.measurements.len()),
        false => {
            let given = order.record.display().to_string();
            let allowed = "was gone on with meanwhile: begin again";
            Err(Mistake::new("command line", "--resume", &given, allowed).into())
        }
    }
}

/// With what there was before, if that is to be told.
fn gone_on(
    mut told: Header,
    own: &Header,
    (before, left_out): (Option<(usize, usize)>, usize),
) -> Header {
    let resumed = before.map(|before| resumed(&told, own, before, left_out));
    told.resumed.extend(resumed);
    told
}

/// Where nothing is left of what was there before, no machine before has a part in it: all is told
/// as of a run that was begun here, but for the words that began it.
fn begun_anew(was: Header, own: Header, left_out: usize) -> Header {
    let mut told = Header {
        command_line: was.command_line,
        ..own
    };
    told.remarks.push(format!(
        "Measurements of a half round that another machine had made before, and of which nothing \
         is here: {left_out}."
    ));
    told
}

/// What is told of going on: of another machine than the one before all that is its own.
fn resumed(
    was: &Header,
    own: &Header,
    (measurements, trials): (usize, usize),
    measurements_left_out: usize,
) -> Resumed {
    let is_other = !was.last_host().is_same_machine(&own.host);
    let elsewhere = is_other.then_some(own);
    Resumed {
        started_unix_ms: own.started_unix_ms,
        measurements,
        trials,
        measurements_left_out,
        part: None,
        host: own.host.clone(),
        labs: elsewhere.map_or_else(Vec::new, |own| own.labs.clone()),
        self_test: elsewhere.and_then(|own| own.self_test.clone()),
    }
}

/// Servers of one name are one program.
fn check_servers(order: &Order, earlier: &Header, header: &Header) -> Result<()> {
    let is_other = |now: &ServerFacts| {
        let mut known = earlier.servers.iter();
        match known.find(|known| known.name == now.name) {
            Some(known) => known != now,
            // Another part has others.
            None => order.whole.is_none(),
        }
    };
    if !header.servers.iter().any(is_other) {
        return Ok(());
    }
    let named = |header: &Header| {
        let each = header.servers.iter();
        let each: Vec<String> = each.map(|s| format!("{} {}", s.name, s.version)).collect();
        each.join(", ")
    };
    let given = order.record.display().to_string();
    let allowed = format!(
        "was measured on {}, and here are {}: begin a new record",
        named(earlier),
        named(header)
    );
    Err(Mistake::new("command line", "--resume", &given, &allowed).into())
}

/// What another part's head knows that is not told yet.
fn add(told: &mut Header, own: Header) {
    for server in own.servers {
        if !told.servers.iter().any(|known| known.name == server.name) {
            told.servers.push(server);
        }
    }
    for lab in own.labs {
        if !told.labs.iter().any(|known| known.modes == lab.modes) {
            let family = family(&told.labs, &lab.family);
            told.labs.push(LabFacts { family, ..lab });
        }
    }
    for remark in own.remarks {
        if !told.remarks.contains(&remark) {
            told.remarks.push(remark);
        }
    }
}

/// A lab's name, or with a number where another part has one of that name.
fn family(labs: &[LabFacts], name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name} {number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let is_free = |name: &String| !labs.iter().any(|lab| lab.family == *name);
    names.find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Host;
    use crate::record::self_test::Part;

    fn lab(family: &str, modes: &[&str]) -> LabFacts {
        LabFacts {
            family: family.to_owned(),
            modes: modes.iter().map(|label| (*label).to_owned()).collect(),
            ready_seconds: 1.0,
            overridden: vec![],
            variables: [].into(),
        }
    }

    fn of_machine(name: &str) -> Header {
        let of_its_own = Part {
            name: name.to_owned(),
            ..Part::default()
        };
        Header {
            host: Host {
                machine: Some(name.to_owned()),
                ..Host::default()
            },
            labs: vec![lab(name, &["a"])],
            self_test: Some(vec![of_its_own]),
            ..Header::default()
        }
    }

    #[test]
    fn what_nothing_is_left_of_is_told_as_begun_here() {
        let was = Header {
            command_line: ["acklab", "run", "x.toml", "--part", "1/3"]
                .map(str::to_owned)
                .into(),
            started_unix_ms: 1,
            resumed: vec![Resumed::default()],
            ..of_machine("a")
        };
        let own = Header {
            started_unix_ms: 2,
            ..of_machine("b")
        };
        let mut told = begun_anew(was.clone(), own.clone(), 3);
        let remark = told.remarks.pop().expect("a remark");
        assert!(remark.ends_with("nothing is here: 3."), "{remark}");
        let expected = Header {
            command_line: was.command_line,
            ..own
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn another_machine_has_its_labs_and_its_self_test_beside_the_firsts() {
        let mut told = of_machine("a");
        let on = |told: &Header, name| resumed(told, &of_machine(name), (5, 2), 3);
        let same = on(&told, "a");
        assert_eq!((same.labs.len(), &same.self_test), (0, &None));
        let counts = (same.measurements, same.trials, same.measurements_left_out);
        assert_eq!(counts, (5, 2, 3));
        let other = on(&told, "b");
        assert_eq!(other.labs, of_machine("b").labs);
        assert_eq!(other.self_test, of_machine("b").self_test);
        told.resumed.push(other);
        assert!(on(&told, "b").labs.is_empty(), "the same as the last");
        assert_eq!(on(&told, "a").labs, of_machine("a").labs);
        let text = serde_json::to_string(&same).unwrap();
        assert!(!text.contains("labs") && !text.contains("self_test"));
    }

    fn server(name: &str) -> ServerFacts {
        ServerFacts {
            name: name.to_owned(),
            version: "1".to_owned(),
            source: String::new(),
        }
    }

    #[test]
    fn each_part_adds_what_is_not_told_yet() {
        let mut told = Header {
            servers: vec![server("mysql")],
            labs: vec![lab("mysql replication", &["a", "b"])],
            remarks: vec!["one".to_owned()],
            ..Header::default()
        };
        let own = Header {
            servers: vec![server("mysql"), server("mariadb")],
            labs: vec![lab("mysql replication", &["c"]), lab("x", &["a", "b"])],
            remarks: ["one", "two"].map(str::to_owned).into(),
            ..Header::default()
        };
        add(&mut told, own);
        assert_eq!(told.servers, [server("mysql"), server("mariadb")]);
        let second = lab("mysql replication 2", &["c"]);
        assert_eq!(told.labs[1..], [second], "formed again is told once");
        assert_eq!(told.remarks, ["one", "two"]);
    }
}
