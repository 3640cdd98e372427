use super::super::{Between, Finding, Leaves, Promotion, Step, Way};
use super::*;
use crate::study::mode::Ack;
use crate::study::{Consistency, WaitPoint};

const SOON: When = When::After {
    min: Duration::ZERO,
    max: Duration::ZERO,
};
const PROMOTE: Deed = Deed::Promote(Promotion {
    choose: Choose::MostReceived,
    is_fenced: true,
    is_given_others: false,
});
const DIE: Deed = Deed::PowerCut(Target::Writer, Leaves::Nothing);
const DIE_ALL: Deed = Deed::PowerCut(Target::All, Leaves::Nothing);
const NONE: [Misfit; 0] = [];

fn sites() -> Vec<String> {
    ["a", "b", "c"].map(str::to_owned).to_vec()
}

fn spec(mode: Mode, nodes: u32) -> ModeSpec {
    ModeSpec {
        mode,
        nodes,
        ..ModeSpec::default()
    }
}

fn single() -> ModeSpec {
    spec(Mode::Single, 1)
}

fn source() -> ModeSpec {
    spec(Mode::Async, 3)
}

fn semisync() -> ModeSpec {
    let mode = Mode::Semisync {
        wait_for: 1,
        wait_point: WaitPoint::AfterSync,
        timeout: Duration::from_secs(10),
    };
    spec(mode, 3)
}

fn group() -> ModeSpec {
    let consistency = Consistency::Eventual;
    spec(Mode::Group { consistency }, 3)
}

fn galera(nodes: u32) -> ModeSpec {
    spec(Mode::Galera, nodes)
}

fn mirror(when_short: WhenShort) -> ModeSpec {
    let mode = Mode::Mirror {
        ack: Ack::Write,
        when_short,
        timeout: Duration::from_secs(1),
    };
    spec(mode, 2)
}

fn quorum(write_quorum: u32) -> ModeSpec {
    let mode = Mode::Quorum {
        copies: 6,
        write_quorum,
        ack: Ack::Write,
    };
    spec(mode, 6)
}

fn every_mode() -> [ModeSpec; 7] {
    [
        single(),
        source(),
        semisync(),
        group(),
        galera(3),
        mirror(WhenShort::Block),
        quorum(4),
    ]
}

fn step(when: When, deed: Deed) -> Step {
    Step {
        when,
        limit: Duration::from_secs(30),
        deed,
    }
}

fn fault(deeds: &[Deed]) -> Fault {
    Fault {
        steps: deeds.iter().map(|deed| step(SOON, *deed)).collect(),
        ..Fault::default()
    }
}

fn links(from: Target, to: Option<Target>) -> Between {
    Between {
        from,
        to,
        way: Way::Both,
        with_clients: false,
    }
}

fn cut(from: Target, to: Option<Target>) -> Deed {
    Deed::CutLinks(links(from, to))
}

fn fits(deeds: &[Deed], spec: &ModeSpec) {
    assert_eq!(misfits(&fault(deeds), spec, &sites()), NONE, "{deeds:?}");
}

/// One misfit, at that step, with these words in it.
fn misfit(deeds: &[Deed], spec: &ModeSpec, step: Option<usize>, part: &str) {
    let found = misfits(&fault(deeds), spec, &sites());
    let [one] = &found[..] else {
        panic!("{deeds:?}: {found:?}")
    };
    assert_eq!(one.step, step, "{deeds:?}: {one:?}");
    assert!(one.why.contains(part), "no {part:?} in {one:?}");
}

#[test]
fn no_step_at_all_fits_every_mode() {
    for spec in every_mode() {
        fits(&[], &spec);
    }
}

#[test]
fn a_machine_dies_in_every_mode_and_somebody_has_to_be_left() {
    for spec in [group(), galera(3)] {
        fits(&[DIE], &spec);
        misfit(
            &[DIE, PROMOTE],
            &spec,
            Some(1),
            "chooses who writes by itself",
        );
    }
    for spec in [source(), semisync(), mirror(WhenShort::Block), quorum(4)] {
        fits(&[DIE, PROMOTE], &spec);
        fits(&[DIE, Deed::Restart(Target::Writer)], &spec);
        misfit(&[DIE], &spec, None, "leaves nobody who takes writes");
    }
    fits(&[DIE, Deed::Restart(Target::Writer)], &single());
    misfit(&[DIE], &single(), None, "leaves no server: restart it");
    misfit(
        &[DIE, PROMOTE],
        &single(),
        Some(1),
        "no replica that could take over",
    );
    let paused = Deed::Pause(Target::Writer);
    misfit(&[paused], &source(), None, "leaves nobody");
    fits(&[paused, Deed::Resume(Target::Writer)], &source());
    fits(&[paused, PROMOTE], &source());
}

/// It runs, and nobody has anything of it.
#[test]
fn a_writer_that_does_no_work_or_is_reached_by_nobody_is_nobody() {
    let writer = Target::Writer;
    let bad = "leaves a writer whose disk takes no writes";
    for deed in [
        Deed::StallDisk(writer),
        Deed::FillDisk(writer, 1),
        Deed::FailDisk(writer),
    ] {
        misfit(&[deed], &source(), None, bad);
        misfit(&[deed], &single(), None, bad);
        fits(&[deed, PROMOTE], &source());
    }
    let stalled = [Deed::StallDisk(writer), Deed::ResumeDisk(writer)];
    fits(&stalled, &source());
    let failed = [
        Deed::SlowDisk(writer, Duration::from_millis(1)),
        Deed::FailDisk(writer),
        Deed::ResumeDisk(writer),
    ];
    misfit(&failed, &source(), None, bad);
    // A machine that comes back has a disk that answers, and no more room than before.
    let back = [DIE, Deed::Restart(writer)];
    fits(&[&[Deed::StallDisk(writer)], &back[..]].concat(), &source());
    let full = [&[Deed::FillDisk(writer, 1)], &back[..]].concat();
    misfit(&full, &source(), None, bad);

    let alone = |from| {
        Deed::CutLinks(Between {
            with_clients: true,
            ..links(from, None)
        })
    };
    let cut = alone(writer);
    let unreached = "leaves a writer that no client reaches: heal links";
    misfit(&[cut], &source(), None, unreached);
    fits(&[cut, Deed::HealLinks], &source());
    fits(&[cut, PROMOTE], &source());
    // A site keeps its own clients.
    fits(&[alone(Target::Site)], &source());
    let all = [
        alone(writer),
        alone(Target::Replica(1)),
        alone(Target::Replica(2)),
    ];
    misfit(&all, &galera(3), None, "no member that a client reaches");
    fits(&all[..2], &galera(3));
}

#[test]
fn who_is_nobody_is_told() {
    let kill = |target| [Deed::Kill(target)];
    let replica = |number| kill(Target::Replica(number));
    fits(&replica(2), &source());
    misfit(
        &replica(3),
        &source(),
        Some(0),
        "there is no replica 3: 3 nodes have replicas 1 to 2",
    );
    misfit(
        &replica(1),
        &single(),
        Some(0),
        "there is no replica 1 in single",
    );
    misfit(
        &kill(Target::Replicas),
        &single(),
        Some(0),
        "which has one node",
    );
    misfit(
        &kill(Target::First(4)),
        &source(),
        Some(0),
        "there are 3 nodes, and not 4",
    );
    misfit(
        &kill(Target::Minority),
        &mirror(WhenShort::Block),
        Some(0),
        "have no minority",
    );
    misfit(
        &kill(Target::MostReceived),
        &quorum(4),
        Some(0),
        "do not tell what they have received",
    );
    misfit(
        &kill(Target::Donor),
        &source(),
        Some(0),
        "no state transfers in async",
    );
    misfit(
        &kill(Target::Lost),
        &source(),
        Some(0),
        "\"lost\" is nobody by then",
    );
    let twice = [
        Deed::Kill(Target::Replica(1)),
        Deed::Kill(Target::Replica(1)),
    ];
    misfit(&twice, &source(), Some(1), "does not run by then");
    let mistakes = misfits(&fault(&[replica(3)[0], replica(4)[0]]), &source(), &sites());
    assert_eq!(
        mistakes.len(),
        2,
        "what is asked of the mode is told of every step"
    );
}

#[test]
fn a_majority_has_to_be_left_of_members() {
    let majority = Deed::PowerCut(Target::Majority, Leaves::Nothing);
    for spec in [group(), galera(3)] {
        misfit(&[majority], &spec, None, "no majority of members");
        fits(&[majority, Deed::ForceMembers(Target::All)], &spec);
        misfit(
            &[DIE_ALL, Deed::Restart(Target::All)],
            &spec,
            None,
            "no majority",
        );
        fits(&[DIE_ALL, Deed::Bootstrap(Target::MostReceived)], &spec);
        let rejoin = Deed::Rejoin(Target::Lost);
        fits(
            &[DIE_ALL, Deed::Bootstrap(Target::Replica(2)), rejoin],
            &spec,
        );
        misfit(
            &[DIE_ALL, rejoin],
            &spec,
            Some(1),
            "nobody whom they could join",
        );
        misfit(
            &[DIE_ALL, Deed::Bootstrap(Target::All)],
            &spec,
            Some(1),
            "one node alone",
        );
    }
    // One after another, each is put out before the next.
    let kill = Deed::Kill(Target::Replica(1));
    fits(&[kill], &galera(3));
    misfit(&[kill], &galera(2), None, "no majority");
    misfit(
        &[Deed::Bootstrap(Target::Writer)],
        &source(),
        Some(0),
        "this is for group, group-multi and galera",
    );
}

#[test]
fn a_disk_that_is_gone_does_not_come_back() {
    let gone = Deed::DestroyDisk(Target::FirstWriter);
    let back = Deed::Restart(Target::FirstWriter);
    misfit(&[gone, back], &source(), Some(1), "their disks are gone");
    fits(&[gone, PROMOTE], &semisync());
    let bootstrap = |target| [DIE_ALL, gone, Deed::Bootstrap(target)];
    fits(&bootstrap(Target::MostReceived), &group());
    misfit(
        &bootstrap(Target::FirstWriter),
        &group(),
        Some(2),
        "their disks are gone",
    );
}

#[test]
fn a_volume_needs_copies_or_force() {
    let half = Deed::PowerCut(Target::First(3), Leaves::Nothing);
    fits(&[half, PROMOTE], &quorum(4));
    let others = Deed::PowerCut(Target::Replicas, Leaves::Nothing);
    misfit(
        &[others],
        &quorum(4),
        None,
        "fewer copies than a write waits for",
    );
    let executed = Deed::Promote(Promotion {
        choose: Choose::MostExecuted,
        is_fenced: true,
        is_given_others: false,
    });
    misfit(
        &[DIE, executed],
        &quorum(4),
        Some(1),
        "its copies execute nothing",
    );
    let given = Deed::Promote(Promotion {
        choose: Choose::First,
        is_fenced: true,
        is_given_others: true,
    });
    misfit(
        &[DIE, given],
        &mirror(WhenShort::Block),
        Some(1),
        "no logs that could be given",
    );
    fits(&[DIE, given], &source());
}

#[test]
fn links_have_two_ends() {
    use Target::{FirstWriter, Replica, Replicas, Site, Writer};
    fits(&[cut(Writer, Some(Replicas))], &source());
    fits(&[cut(Site, None), Deed::HealLinks], &source());
    misfit(
        &[cut(Writer, Some(FirstWriter))],
        &source(),
        Some(0),
        "the same node",
    );
    misfit(
        &[cut(Writer, None)],
        &single(),
        Some(0),
        "with_clients = true",
    );
    misfit(
        &[cut(Writer, Some(Replica(7)))],
        &source(),
        Some(0),
        "no replica 7",
    );
    misfit(
        &[Deed::HealLinks],
        &source(),
        Some(0),
        "no step before it touches links",
    );
    let alone = Deed::LoseOnLinks(
        Between {
            with_clients: true,
            ..links(Writer, None)
        },
        0.1,
    );
    fits(&[alone], &single());
    // The writer of now and the writer of then are two once one has taken over.
    let after = [Deed::Pause(Writer), PROMOTE, cut(Writer, Some(FirstWriter))];
    fits(&after, &source());
}

#[test]
fn what_is_undone_was_done_before() {
    let undo = [
        (Deed::ResumeDisk(Target::All), "stalls, slows or fills"),
        (Deed::FreeAppliers(Target::All), "blocks appliers"),
        (Deed::Resume(Target::Writer), "pauses them"),
        (Deed::Restart(Target::Writer), "ends them"),
    ];
    for (deed, part) in undo {
        misfit(&[deed], &source(), Some(0), part);
    }
    fits(
        &[
            Deed::StallDisk(Target::Writer),
            Deed::ResumeDisk(Target::Writer),
        ],
        &single(),
    );
    let block = |target| [Deed::BlockAppliers(target), Deed::FreeAppliers(Target::All)];
    fits(&block(Target::Replicas), &group());
    misfit(
        &block(Target::All),
        &source(),
        Some(0),
        "the writer applies nothing",
    );
    let found = misfits(&fault(&block(Target::Writer)), &single(), &sites());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found
            .iter()
            .all(|misfit| misfit.why.contains("it has no appliers"))
    );
}

#[test]
fn events_that_a_mode_never_has_are_told() {
    let heal = [
        cut(Target::Writer, Some(Target::Replica(1))),
        Deed::HealLinks,
    ];
    let with = |when| {
        let mut fault = fault(&heal);
        fault.steps[1].when = when;
        fault
    };
    let found = |when, spec: &ModeSpec| misfits(&with(when), spec, &sites());
    let told = |when, spec: &ModeSpec, part: &str| {
        let found = found(when, spec);
        assert!(
            found.len() == 1 && found[0].step == Some(1) && found[0].why.contains(part),
            "{part}: {found:?}"
        );
    };
    let behind = |number| When::Behind(Target::Replica(number), 5);
    let out = When::Expelled(Target::Replica(1));
    assert_eq!(found(behind(1), &source()), NONE);
    assert_eq!(found(out, &galera(3)), NONE);
    assert_eq!(found(When::FellBack, &semisync()), NONE);
    assert_eq!(found(When::FellBack, &mirror(WhenShort::Degrade)), NONE);
    told(behind(1), &mirror(WhenShort::Block), "it has no appliers");
    told(behind(9), &source(), "there is no replica 9");
    told(out, &source(), "nobody is put out there");
    told(When::Transfer, &source(), "no state transfers");
    told(When::FellBack, &source(), "never goes on alone");
    told(
        When::FellBack,
        &mirror(WhenShort::Block),
        "never goes on alone",
    );
    let mut patient = semisync();
    if let Mode::Semisync { timeout, .. } = &mut patient.mode {
        *timeout = Duration::from_secs(3_600);
    }
    told(When::FellBack, &patient, "waited for no longer than 30 s");
}

#[test]
fn what_can_never_be_seen_is_told() {
    let with = |deeds: &[Deed], reach| Fault {
        reach: vec![reach],
        ..fault(deeds)
    };
    let told = |fault: &Fault, spec: &ModeSpec, part: &str| {
        let found = misfits(fault, spec, &sites());
        assert!(
            found.len() == 1 && found[0].step.is_none() && found[0].why.contains(part),
            "{part}: {found:?}"
        );
    };
    let die = [DIE, PROMOTE];
    for reach in [
        Reach::InFlight(1),
        Reach::Behind,
        Reach::AcknowledgedBefore(0, 9),
    ] {
        assert_eq!(misfits(&with(&die, reach), &source(), &sites()), NONE);
    }
    told(
        &with(&die, Reach::InFlight(2)),
        &source(),
        "there are 2 steps: none has the number 3",
    );
    told(
        &with(&die, Reach::FellBack),
        &source(),
        "never goes on alone",
    );
    // Who is paused writes nothing meanwhile.
    let paused = [Deed::Pause(Target::Writer), PROMOTE];
    for deeds in [&die[..], &paused] {
        told(&with(deeds, Reach::BothWrote), &source(), "two sides");
    }
    told(&with(&[], Reach::Behind), &source(), "nobody takes over");
    let control = |deeds: &[Deed]| Fault {
        control: Some(Control::LosesUndelivered),
        ..fault(deeds)
    };
    told(&control(&die), &source(), "no step cuts links");
    let cut = [cut(Target::Writer, Some(Target::Replicas)), DIE, PROMOTE];
    assert_eq!(misfits(&control(&cut), &source(), &sites()), NONE);
    told(
        &control(&cut),
        &mirror_for(&cut),
        "no stream of transactions",
    );
    let mut secret = source();
    secret.tls = Some(true);
    told(&control(&cut), &secret, "cannot be read with TLS");
    let both = Fault {
        clients_at: ClientsAt::BothSides,
        finding: Finding::List,
        ..fault(&[])
    };
    let found = misfits(&both, &source(), &sites()[..1]);
    assert!(
        found[0].why.contains("cannot be on both sides"),
        "{found:?}"
    );
    assert_eq!(misfits(&both, &source(), &sites()), NONE);
}

#[test]
fn clients_stand_at_every_node_only_where_each_takes_writes() {
    let told = |fault: &Fault, spec: &ModeSpec, part: &str| {
        let found = misfits(fault, spec, &sites());
        let whys: Vec<&str> = found.iter().map(|misfit| &misfit.why[..]).collect();
        assert!(
            whys.len() == 1 && whys[0].contains(part),
            "{part}: {found:?}"
        );
    };
    let every = |finding| Fault {
        clients_at: ClientsAt::EveryNode,
        finding,
        ..fault(&[])
    };
    told(
        &every(Finding::Staying),
        &source(),
        "not every node takes writes",
    );
    told(
        &every(Finding::List),
        &spec(Mode::Galera, 3),
        "finding = \"staying\"",
    );
    let routed = Fault {
        finding: Finding::Router,
        ..fault(&[])
    };
    told(&routed, &source(), "finding = \"proxy\"");
    told(&routed, &group(), "tls = true");
    let secured = ModeSpec {
        tls: Some(true),
        ..group()
    };
    assert_eq!(misfits(&routed, &secured, &sites()), NONE);
    let stays = every(Finding::Staying);
    for spec in [spec(Mode::Galera, 3), spec(Mode::Single, 1)] {
        assert_eq!(misfits(&stays, &spec, &sites()), NONE);
    }
}

/// A mode of copies that has nothing else against these deeds.
fn mirror_for(deeds: &[Deed]) -> ModeSpec {
    let mirror = mirror(WhenShort::Degrade);
    fits(deeds, &mirror);
    mirror
}

#[test]
fn nothing_is_done_to_endpoints_or_to_nobody() {
    let endpoint = spec(Mode::Endpoint, 1);
    misfit(&[], &endpoint, None, "somebody else's servers");
    assert_eq!(misfits(&fault(&[]), &source(), &[]).len(), 1);
    assert_eq!(
        misfits(&fault(&[]), &ModeSpec::default(), &sites()).len(),
        1
    );
}
