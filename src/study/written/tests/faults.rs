//! `[[fault]]`.

use super::*;
use crate::study::faults::words::TARGETS;
use crate::study::faults::{
    Between, Choose, ClientsAt, Control, Deed, Finding, Injection, Leaves, Promotion, Reach,
    Target, Way, When, Writing,
};
use crate::study::{Overrides, fault_catalogue};

const MODES: &str = r#"
[[mode]]
server = "mysql"
mode = "single"
[[mode]]
server = "mysql"
mode = "async"
[[mode]]
server = "mysql"
mode = "group"
"#;

/// A study of three modes on emulated disks, with these lines at its end.
fn with(lines: &str) -> String {
    format!("images = {{}}\n{MODES}{SWEEP}\n{lines}")
}

fn injections(lines: &str) -> Vec<Injection> {
    meant(&with(lines)).injections
}

/// A fault of one step, in the asynchronous mode.
fn of_step(step: &str) -> String {
    let head = "[[fault]]\nname = \"own\"\nmodes = \"mysql async\"\n";
    format!("{head}[[fault.step]]\n{step}\n")
}

/// The step, whose mode has nothing against it.
fn step(step: &str) -> (When, Deed) {
    let found = injections(&of_step(step));
    let step = &found[0].fault.steps[0];
    (step.when, step.deed)
}

/// The one mistake of such a study holds all these parts.
fn wrong(lines: &str, parts: &[&str]) {
    let told = mistakes(&with(lines));
    assert_eq!(told.lines().count(), 1, "{lines}: {told}");
    for part in parts {
        assert!(told.contains(part), "no {part:?} in {told}");
    }
}

#[test]
fn a_fault_has_steps_and_defaults() {
    let found = injections(
        r#"[[fault]]
        name = "own-1"
        [[fault.step]]
        after = "0.2s..1.5s"
        do = "power cut"
        to = "writer"
        leaves = "torn-512"
        in_flight = true
        acknowledged = 100
        [[fault.step]]
        do = "promote"
        "#,
    );
    let [one] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (one.trials, &one.modes[..]),
        (5, &["mysql async".to_owned()][..])
    );
    let fault = &one.fault;
    assert_eq!((&fault.name[..], &fault.title[..]), ("own-1", "own-1"));
    assert_eq!(fault.client_timeout, Duration::from_secs(2));
    assert_eq!(fault.afterwards, Duration::from_secs(3));
    assert_eq!(
        fault.reach,
        [Reach::InFlight(0), Reach::AcknowledgedBefore(0, 100)]
    );
    assert_eq!((fault.control, fault.finding), (None, Finding::Asking));
    let first = &fault.steps[0];
    let (min, max) = (Duration::from_millis(200), Duration::from_millis(1_500));
    assert_eq!(first.when, When::After { min, max });
    assert_eq!(first.limit, Duration::from_secs(30));
    assert_eq!(
        first.deed,
        Deed::PowerCut(Target::Writer, Leaves::Torn(512))
    );
    let promotion = Promotion {
        choose: Choose::MostReceived,
        is_fenced: true,
        is_given_others: false,
    };
    assert_eq!(fault.steps[1].deed, Deed::Promote(promotion));
    let at_once = When::After {
        min: Duration::ZERO,
        max: Duration::ZERO,
    };
    assert_eq!(fault.steps[1].when, at_once);
}

#[test]
fn a_fault_says_more_of_its_clients_and_of_what_must_be_seen() {
    let found = injections(
        r#"[[fault]]
        name = "own"
        title = "my own"
        modes = "mysql async"
        trials = 9
        finding = "list"
        clients = "both sides"
        writing = "read first"
        client_timeout = "0.5s"
        afterwards = "10s"
        reach = ["behind", "both wrote"]
        control = { loses = "80%" }
        step = [
            { do = "cut links", from = "site", way = "back", with_clients = true },
            { after = "1s", do = "promote", choose = "most executed", fenced = false,
              given_others = true, limit = "2s" },
        ]
        "#,
    );
    let (one, fault) = (&found[0], &found[0].fault);
    assert_eq!((one.trials, &fault.title[..]), (9, "my own"));
    assert_eq!(
        (fault.finding, fault.clients_at, fault.writing),
        (Finding::List, ClientsAt::BothSides, Writing::ReadFirst)
    );
    assert_eq!(fault.client_timeout, Duration::from_millis(500));
    assert_eq!(fault.afterwards, Duration::from_secs(10));
    assert_eq!(fault.reach, [Reach::Behind, Reach::BothWrote]);
    assert_eq!(fault.control, Some(Control::Loses(0.8)));
    let links = Between {
        from: Target::Site,
        to: None,
        way: Way::Back,
        with_clients: true,
    };
    assert_eq!(fault.steps[0].deed, Deed::CutLinks(links));
    assert_eq!(fault.steps[1].limit, Duration::from_secs(2));
}

#[test]
fn every_deed_is_read_by_its_name() {
    let links = "from = \"writer\"\nto = \"replica 1\"";
    for (name, more) in [
        ("kill", ""),
        ("pause", ""),
        ("stall disk", ""),
        ("fail disk", ""),
        ("destroy disk", ""),
        ("block appliers", ""),
        ("rejoin", ""),
        ("begin rejoin", ""),
        ("power cut", "leaves = \"random\""),
        ("slow disk", "flush = \"50ms\""),
        ("fill disk", "leave = \"1MB\""),
    ] {
        let (_, deed) = step(&format!("do = {name:?}\nto = \"replica 1\"\n{more}"));
        assert_eq!(
            (deed.name(), deed.target()),
            (name, Some(Target::Replica(1)))
        );
    }
    for (name, more) in [
        ("cut links", ""),
        ("lose packets", "share = \"5%\""),
        ("slow links", "delay = \"100ms\""),
    ] {
        let (_, deed) = step(&format!("do = {name:?}\n{links}\n{more}"));
        assert_eq!(deed.name(), name);
        let between = deed.links().expect("links");
        assert_eq!(
            (between.from, between.to),
            (Target::Writer, Some(Target::Replica(1)))
        );
    }
    let (_, deed) = step("do = \"fill disk\"\nto = \"replicas\"\nleave = \"1.5kB\"");
    assert_eq!(deed, Deed::FillDisk(Target::Replicas, 1_500));
    // What is undone, or done to members only, is in the catalogue, which has every deed.
    let known = crate::study::written::faults::deeds();
    let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let in_rows = fault_catalogue::all()
        .iter()
        .flat_map(|row| &row.fault.steps);
    let mut in_rows: Vec<&str> = in_rows.map(|step| step.deed.name()).collect();
    in_rows.sort_unstable();
    in_rows.dedup();
    let is_known = |name: &&&str| known.contains(*name);
    assert_eq!(in_rows.iter().filter(is_known).count(), known.len());
}

#[test]
fn every_moment_and_event_is_read() {
    let when = |lines: &str| step(&format!("{lines}\ndo = \"kill\"\nto = \"replica 2\"")).0;
    let span = |min, max| {
        let [min, max] = [min, max].map(Duration::from_millis);
        When::After { min, max }
    };
    assert_eq!(when("after = \"300ms\""), span(300, 300));
    assert_eq!(when("at = \"1s .. 2s\""), span(1_000, 2_000));
    assert_eq!(when("after_commits = 7"), When::Commits(7));
    assert_eq!(when("when = \"served\""), When::Served);
    assert_eq!(
        when("when = \"silent\"\nfor = \"1s\""),
        When::Silent(Duration::from_secs(1))
    );
    assert_eq!(
        when("when = \"behind\"\nof = \"replica 1\"\nby = 50"),
        When::Behind(Target::Replica(1), 50)
    );
    let group = of_step("when = \"expelled\"\nof = \"replica 1\"\ndo = \"kill\"\nto = \"donor\"");
    let told = mistakes(&with(&group));
    assert!(told.contains("never comes in async"), "{told}");
    let found = injections(
        r#"[[fault]]
        name = "own"
        step = [
            { do = "cut links", from = "replica 1" },
            { when = "expelled", of = "replica 1", do = "heal links" },
            { when = "transfer", do = "kill", to = "donor" },
        ]"#,
    );
    assert_eq!(found[0].modes, ["mysql group"]);
    assert_eq!(found[0].fault.steps[2].when, When::Transfer);
}

#[test]
fn every_role_is_read() {
    for (name, target) in TARGETS {
        let lines = "[[fault]]\nname = \"own\"\nmodes = \"mysql group\"\n";
        let cut = "{ do = \"power cut\", to = \"replica 1\" }";
        let text = format!("{lines}step = [{cut}, {{ do = \"destroy disk\", to = {name:?} }}]\n");
        let told = read(&with(&text));
        // Whether anybody is left is another matter.
        if let Ok(study) = told {
            let deed = study.injections[0].fault.steps[1].deed;
            assert_eq!(deed, Deed::DestroyDisk(target));
        } else {
            let told = mistakes(&with(&text));
            assert!(!told.contains("must be one of"), "{name}: {told}");
        }
    }
}

#[test]
fn a_name_alone_is_the_catalogues() {
    let found =
        injections("[[fault]]\nname = \"writer-dies\"\n[[fault]]\nname = \"member-dies\"\n");
    let told = |one: &Injection| format!("{} in {}", one.fault.name, one.modes.join(", "));
    let told: Vec<String> = found.iter().map(told).collect();
    assert_eq!(
        told,
        ["writer-dies in mysql async", "member-dies in mysql group"]
    );
    let known = fault_catalogue::named("writer-dies").expect("a row");
    assert_eq!(found[0].fault, known.fault);
    let other = injections("[[fault]]\nname = \"writer-dies\"\nafterwards = \"9s\"\n");
    assert_eq!(other[0].fault.afterwards, Duration::from_secs(9));
    assert_eq!(other[0].fault.steps, known.fault.steps);
}

#[test]
fn mistakes_of_a_fault() {
    wrong(
        "[[fault]]\nname = \"writer-dyes\"\n",
        &["did you mean writer-dies?", "has no step"],
    );
    wrong(
        "[[fault]]\nname = \"writer-dies\"\nmodes = \"mysql single\"\n",
        &[
            "fault[1]: given mode \"mysql single\"",
            "no replica that could take over",
        ],
    );
    wrong(
        "[[fault]]\nname = \"writer-dies\"\nstep = []\n",
        &["is a fault of the catalogue"],
    );
    wrong(
        "[[fault]]\nname = \"Own\"\nstep = []\n",
        &["lower-case letters"],
    );
    let twice = "[[fault]]\nname = \"own\"\nstep = []\n".repeat(2);
    wrong(
        &twice,
        &["fault[2]: given own; is the name of another fault of mysql single too"],
    );
    let steps = "{ do = \"heal links\" }, ".repeat(51);
    let many = format!("[[fault]]\nname = \"own\"\nmodes = []\nstep = [{steps}]\n");
    assert!(mistakes(&with(&many)).contains("must be at most 50 steps"));
    let unemulated = with("[[fault]]\nname = \"writer-dies\"\n").replace("images = {}", "");
    assert!(mistakes(&unemulated).contains("needs emulated disks"));
    let nowhere = injections_of_single("[[fault]]\nname = \"writer-dies\"\n");
    assert!(
        nowhere.contains("can be injected in none of the modes"),
        "{nowhere}"
    );
}

/// What is told of a study of one server.
fn injections_of_single(lines: &str) -> String {
    mistakes(&format!("images = {{}}\n{SINGLE}{SWEEP}\n{lines}"))
}

#[test]
fn mistakes_of_a_step() {
    let told = |step: &str, parts: &[&str]| wrong(&of_step(step), parts);
    told(
        "do = \"kil\"\nto = \"writer\"",
        &["fault[1].step[1].do", "did you mean kill?"],
    );
    told(
        "do = \"kill\"\nto = \"replica 3\"",
        &["given mode \"mysql async\"", "no replica 3"],
    );
    told("do = \"kill\"\nto = \"writter\"", &["did you mean writer?"]);
    told(
        "do = \"kill\"",
        &["step[1].to: is missing; a role must be given"],
    );
    told(
        "do = \"kill\"\nto = \"replica 1\"\nleaves = \"random\"",
        &["leaves: given \"random\"; is not for \"kill\", which takes to"],
    );
    let kill = "do = \"kill\"\nto = \"replica 1\"\n";
    told(
        &format!("{kill}after = \"11min\""),
        &["from 0 to 10 min", "0.2s..1.5s"],
    );
    told(&format!("{kill}after = \"2s..1s\""), &["0.2s..1.5s"]);
    told(&format!("{kill}after = 3"), &["given 3", "0.2s..1.5s"]);
    told(
        &format!("{kill}after = \"1s\"\nafter_commits = 5"),
        &["after_commits: given 5; is a second moment"],
    );
    told(
        &format!("{kill}of = \"writer\""),
        &["is for steps with an event"],
    );
    told(
        &format!("{kill}when = \"behind\"\nof = \"replica 1\""),
        &["by: is missing"],
    );
    told(
        &format!("{kill}when = \"served\"\nfor = \"1s\""),
        &["is not for \"served\", which takes nothing more"],
    );
    told(&format!("{kill}zzz = 1"), &["no such key"]);
    let lose = "do = \"lose packets\"\nfrom = \"writer\"\n";
    told(&format!("{lose}share = 1"), &["share from 0.001 to 0.99"]);
    told(lose, &["share: is missing"]);
    let fill = "do = \"fill disk\"\nto = \"writer\"\n";
    told(
        &format!("{fill}leave = \"2GB\""),
        &["a size from 0 B to 1 GB"],
    );
    told(
        "do = \"power cut\"\nto = \"writer\"",
        &["leaves nobody who takes writes"],
    );
}

#[test]
fn all_mistakes_come_at_once() {
    let text = with(
        r#"[[fault]]
        name = "own"
        client_timeout = "1ms"
        control = "losses"
        finding = "guessing"
        step = [{ do = "kill" }, { to = "writer" }]
        "#,
    );
    let told = mistakes(&text);
    for part in [
        "fault[1].client_timeout: given \"1ms\"",
        "fault[1].control: given \"losses\"; must be one of nothing, loses undelivered",
        "fault[1].finding: given \"guessing\"; must be one of asking, list, staying, proxy",
        "fault[1].step[1].to: is missing",
        "fault[1].step[2].do: is missing; must be one of kill,",
    ] {
        assert!(told.contains(part), "no {part:?} in\n{told}");
    }
    assert_eq!(told.lines().count(), 5, "{told}");
}

#[test]
fn a_mode_that_is_a_mistake_is_no_reason_against_a_fault() {
    let text = with("[[fault]]\nname = \"writer-dies\"\nmodes = \"mysql async\"\n");
    let text = text.replace(
        "mode = \"async\"",
        "mode = \"asinc\"\nlabel = \"mysql async\"",
    );
    let told = mistakes(&text);
    assert!(told.contains("given \"asinc\""), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_mode_that_only_a_fault_names_is_measured() {
    let text = with("[[fault]]\nname = \"member-dies\"\n").replace(
        "workload = \"update_index\"",
        "modes = [\"mysql single\", \"mysql async\"]\nworkload = \"update_index\"",
    );
    assert_eq!(meant(&text).injections[0].modes, ["mysql group"]);
    let without = text.replace("[[fault]]\nname = \"member-dies\"\n", "");
    assert!(mistakes(&without).contains("no sweep measures it"));
}

#[test]
fn the_short_run_has_as_many_trials_as_it_says() {
    let faults = "[[fault]]\nname = \"writer-dies\"\n[[fault]]\nname = \"member-dies\"\n";
    let quick = Overrides {
        is_quick: true,
        ..Overrides::default()
    };
    let short = |lines: &str| {
        let study = meant(&with(&format!("{faults}[quick]\n{lines}\n")));
        study.apply(&quick).expect("a short run").injections
    };
    assert!(short("").is_empty());
    let found = short("trials = 2\nmodes = [\"mysql single\", \"mysql group\"]");
    let [one] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((&one.fault.name[..], one.trials), ("member-dies", 2));
    assert_eq!(short("trials = 100")[0].trials, 5);
}

#[test]
fn endpoints_have_no_faults() {
    let text = "[[mode]]\nmode = \"endpoint\"\nwriter = \"mysql://me@db\"\n\
                [[sweep]]\nworkload = \"insert\"\n[[fault]]\nname = \"killed\"\n";
    assert!(mistakes(text).contains("is not for studies of endpoints"));
}

#[test]
fn the_manuals_fault_is_without_mistakes() {
    let manual = include_str!("../../../../docs/study.md");
    let blocks = manual.split("```toml\n").skip(1);
    let mut examples = blocks.filter_map(|rest| rest.split("```").next());
    let example = examples.find(|text| text.starts_with("[[fault]]"));
    let found = injections(example.expect("an example"));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].fault.steps.len(), 3);
}
