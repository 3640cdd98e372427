//! Acknowledged commits that are not there in the end, one by one: what each client was told and
//! when, and what else is known of them.

use std::collections::HashMap;

use super::fresh_reads::name;
use super::judged::Judged;
use super::modes::ModeWorth;
use super::sight::{Sight, shown};
use crate::record::history::{Answer, Held, Token, Transfer, UNKNOWN_NODE};
use crate::record::packed::PackedCampaign;
use crate::record::store::Record;
use crate::record::trials::Trial;

/// What one trial lost, in the order in which it was acknowledged.
#[derive(Debug, Clone, PartialEq)]
pub struct LostInTrial {
    /// From 1 on.
    pub trial: usize,
    pub seed: u64,
    pub lost: Vec<LostCommit>,
}

/// One commit. Times are in s since the clients' start.
#[derive(Debug, Clone, PartialEq)]
pub struct LostCommit {
    pub token: Token,
    /// Who acknowledged it.
    pub node: String,
    /// When its first statement was sent, and its COMMIT; when its client was told that it is done.
    pub begun_s: f64,
    pub commit_s: Option<f64>,
    pub acknowledged_s: f64,
    /// The last step that had begun by then, from 1 on; `None`: the fault had not begun.
    pub after_step: Option<usize>,
    /// Whether it was promised to last.
    pub is_promised: bool,
    /// Where readers showed it before it was gone, and by when at first.
    pub seen: Vec<(String, f64)>,
    /// Nodes that hold it in the end, and do not serve.
    pub elsewhere: Vec<String>,
}

/// Of each campaign, in the order of these, the trials that lost something and whose evidence is
/// sound: what `counts.lost` counts.
pub fn losses(record: &Record, worth: &[ModeWorth]) -> Vec<Vec<LostInTrial>> {
    let mut campaigns: Vec<&PackedCampaign> = record.campaigns.values().flatten().collect();
    // As in `of_record`: controls last.
    campaigns.sort_by_key(|one| one.light.fault.control.is_some());
    let both = campaigns.into_iter().zip(worth);
    both.map(|(campaign, told)| of_campaign(campaign, told))
        .collect()
}

fn of_campaign(campaign: &PackedCampaign, told: &ModeWorth) -> Vec<LostInTrial> {
    if told.worth.trials_with_loss == 0 {
        return vec![];
    }
    let whole = campaign.whole();
    let trials = whole.trials.iter().zip(&told.worth.each).enumerate();
    let lossy = trials.filter(|(_, (_, judged))| judged.is_sound() && judged.counts.lost > 0);
    lossy
        .map(|(index, (trial, judged))| LostInTrial {
            trial: index + 1,
            seed: trial.seed,
            lost: of_trial(trial, judged, &told.nodes),
        })
        .collect()
}

fn of_trial(trial: &Trial, judged: &Judged, nodes: &[String]) -> Vec<LostCommit> {
    let sight = Sight::of(trial);
    let mut seen: HashMap<Token, Vec<(u8, u64)>> = HashMap::new();
    for (token, node, by_us) in shown(trial) {
        if !sight.in_all.contains(&token) {
            seen.entry(token).or_default().push((node, by_us));
        }
    }
    let is_lost =
        |it: &&Transfer| it.answer == Answer::Acknowledged && !sight.in_all.contains(&it.token);
    let lost = trial.history.transfers.iter().filter(is_lost);
    let mut lost: Vec<&Transfer> = lost.collect();
    lost.sort_by_key(|it| it.ended_us);
    let of = |it: &Transfer| LostCommit {
        token: it.token,
        node: name_of(nodes, it.node),
        begun_s: seconds(it.begun_us),
        commit_s: it.commit_us.map(seconds),
        acknowledged_s: seconds(it.ended_us),
        after_step: after_step(trial, it.ended_us),
        is_promised: judged.promise.covers_transfer(it),
        seen: first_looks(seen.get(&it.token), nodes),
        elsewhere: elsewhere(&sight, it.token, nodes),
    };
    lost.into_iter().map(of).collect()
}

fn name_of(nodes: &[String], node: u8) -> String {
    match node {
        UNKNOWN_NODE => "behind the proxy".to_owned(),
        node => name(nodes, node),
    }
}

fn after_step(trial: &Trial, at_us: u64) -> Option<usize> {
    let begun = trial.steps.iter().filter(|step| step.begun_us <= at_us);
    begun.map(|step| step.step + 1).max()
}

/// The first look at each node.
fn first_looks(looks: Option<&Vec<(u8, u64)>>, nodes: &[String]) -> Vec<(String, f64)> {
    let mut looks: Vec<(u8, u64)> = looks.cloned().unwrap_or_default();
    looks.sort_unstable();
    looks.dedup_by_key(|(node, _)| *node);
    let told = looks.into_iter();
    told.map(|(node, by_us)| (name_of(nodes, node), seconds(by_us)))
        .collect()
}

fn elsewhere(sight: &Sight<'_>, token: Token, nodes: &[String]) -> Vec<String> {
    let holds = |held: &&&Held| held.rows.iter().any(|row| row.token == token);
    let others = sight.serving.iter().chain(&sight.others);
    others
        .filter(holds)
        .map(|held| name_of(nodes, held.node))
        .collect()
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::worth::example;

    #[test]
    fn each_lost_commit_has_its_history() {
        let record = example();
        let worth = summarise(&record).worth;
        let all = losses(&record, &worth);
        assert_eq!(all.len(), worth.len());
        for (told, lossy) in worth.iter().zip(&all) {
            let lost: usize = lossy.iter().map(|trial| trial.lost.len()).sum();
            assert_eq!(
                lost, told.worth.counts.lost,
                "{} {}",
                told.label, told.worth.fault
            );
            assert_eq!(lossy.len(), told.worth.trials_with_loss);
        }
        let place = worth
            .iter()
            .position(|one| one.label == "mysql async" && one.worth.fault == "writer-dies");
        let lossy = &all[place.expect("a campaign")];
        assert_eq!((lossy[0].trial, lossy[0].seed), (1, 1));
        let first = &lossy[0].lost[0];
        assert!(first.begun_s <= first.acknowledged_s, "{first:?}");
        assert!(!first.is_promised && !first.node.is_empty(), "{first:?}");
    }

    #[test]
    fn the_first_look_at_each_node_is_told() {
        let nodes = ["a", "b"].map(str::to_owned);
        let looks = vec![(1, 9_000_000), (0, 2_000_000), (1, 3_000_000)];
        let told = first_looks(Some(&looks), &nodes);
        assert_eq!(told, [("a".to_owned(), 2.0), ("b".to_owned(), 3.0)]);
        assert!(first_looks(None, &nodes).is_empty());
        assert_eq!(name_of(&nodes, UNKNOWN_NODE), "behind the proxy");
    }
}
