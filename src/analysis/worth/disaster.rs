//! What befalls a mode at worst: told by what is done, whatever a fault is called.

use crate::study::faults::{Between, Deed, Fault, Target, Writing};

/// A way to lose machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disaster {
    /// The machine of whoever takes the writes loses its power.
    WriterDies,
    /// The writer's site loses its power, cut off before or not.
    SiteLost,
    /// All machines lose their power at one moment.
    AllLosePower,
}

impl Disaster {
    /// From one machine to all.
    pub const ALL: [Disaster; 3] = [
        Disaster::WriterDies,
        Disaster::SiteLost,
        Disaster::AllLosePower,
    ];

    /// `None` of a fault that does something else, or more.
    pub fn of(fault: &Fault) -> Option<Disaster> {
        let deeds = fault.steps.iter().map(|step| step.deed);
        let harm: Vec<Deed> = deeds.filter(|deed| !mends(*deed)).collect();
        if fault.writing != Writing::InPlace {
            return None;
        }
        match harm[..] {
            [Deed::PowerCut(Target::Writer | Target::FirstWriter, _)] => Some(Disaster::WriterDies),
            [Deed::PowerCut(Target::Site, _)] => Some(Disaster::SiteLost),
            [
                Deed::CutLinks(Between {
                    from: Target::Site, ..
                }),
                Deed::PowerCut(Target::Site, _),
            ] => Some(Disaster::SiteLost),
            [Deed::PowerCut(Target::All, _)] => Some(Disaster::AllLosePower),
            _ => None,
        }
    }
}

/// Whether it only brings back what was taken, or puts another in its place.
fn mends(deed: Deed) -> bool {
    matches!(
        deed,
        Deed::HealLinks
            | Deed::ResumeDisk(_)
            | Deed::Resume(_)
            | Deed::Restart(_)
            | Deed::FreeAppliers(_)
            | Deed::Promote(_)
            | Deed::Bootstrap(_)
            | Deed::ForceMembers(_)
            | Deed::Rejoin(_)
            | Deed::BeginRejoin(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::fault_catalogue;

    #[test]
    fn faults_are_told_by_what_they_do() {
        let of = |name: &str| {
            let row = fault_catalogue::named(name).expect("a row");
            Disaster::of(&row.fault)
        };
        for name in [
            "power-cut",
            "writer-dies",
            "member-dies",
            "writer-dies-proxied",
        ] {
            assert_eq!(of(name), Some(Disaster::WriterDies), "{name}");
        }
        for name in ["site-lost", "member-site-lost"] {
            assert_eq!(of(name), Some(Disaster::SiteLost), "{name}");
        }
        for name in ["all-lose-power", "cluster-loses-power"] {
            assert_eq!(of(name), Some(Disaster::AllLosePower), "{name}");
        }
        for name in [
            "link-cut",
            "killed",
            "no-fault",
            "lost-update",
            "disk-fails",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
