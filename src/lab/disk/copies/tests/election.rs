//! Who leads next, by the very rule of the lab.

use super::cluster::Cluster;
use crate::lab::disk::copies::promote::{Choice, Refusal, Survey, choose, next_generation};
use crate::lab::disk::copies::wire::Message;
use crate::lab::disk::copies::{Action, Role, WhenShort};
use crate::study::disk::PowerCut;

impl Cluster {
    /// A generation that nobody has promised yet.
    pub fn next_generation(&self) -> u64 {
        let known = self.nodes.iter().map(|node| node.role.book().promised());
        next_generation(known.chain([self.world.newest()]))
    }

    /// Heads that can go on alone have to be ended before others are promoted: their copies alone
    /// cannot stop them.
    pub fn heads_to_end(&self, reachable: &[usize]) -> Vec<usize> {
        let is_to_end = |head: &usize| !reachable.contains(head);
        match self.shape.when_short {
            WhenShort::Degrade => self.heads().into_iter().filter(is_to_end).collect(),
            WhenShort::Block | WhenShort::Error => Vec::new(),
        }
    }

    /// Asks these nodes for a promise, and lets the best one lead, if that is allowed.
    pub fn promote(&mut self, reachable: &[usize]) -> Result<usize, Refusal> {
        for head in self.heads_to_end(reachable) {
            self.power_cut(head, PowerCut::DropAll);
        }
        let generation = self.next_generation();
        let up = reachable.iter().copied().filter(|at| self.nodes[*at].is_up);
        let asked: Vec<usize> = up.collect();
        let surveys = asked.iter().map(|at| (*at, self.ask(*at, generation)));
        let surveys: Vec<(usize, Survey)> = surveys.collect();
        self.elect(generation, &surveys)
    }

    /// Lets the best one of those that have promised lead, if that is allowed.
    pub fn elect(
        &mut self,
        generation: u64,
        promised: &[(usize, Survey)],
    ) -> Result<usize, Refusal> {
        let surveys: Vec<Survey> = promised.iter().map(|(_, survey)| *survey).collect();
        let choice = match choose(&self.shape.rule(self.alone_generation), &surveys) {
            // In a control, too few are thought to be enough.
            Err(Refusal::TooFewToWrite { chosen, .. }) if self.shape.is_control() => Choice {
                chosen,
                is_alone: false,
            },
            result => result?,
        };
        let chosen = promised[choice.chosen].0;
        self.lead(chosen, generation);
        self.promotions += 1;
        if choice.is_alone {
            self.alone_generation = generation;
            let now = self.now;
            if let Role::Head(head) = &mut self.nodes[chosen].role {
                let actions = head.begin_alone(now);
                self.act(chosen, actions);
            }
        }
        Ok(chosen)
    }

    fn ask(&mut self, at: usize, generation: u64) -> Survey {
        let link = self.answer_call(at);
        let node = &mut self.nodes[at];
        let promise = Message::Promise { generation };
        let actions = node.role.heard(&mut node.store, self.now, link, promise);
        let answer = actions.iter().find_map(|action| match action {
            Action::Send {
                to,
                message: Message::Promised(survey),
            } if *to == link => Some(*survey),
            _ => None,
        });
        self.act(at, actions);
        answer.expect("a generation greater than all is promised")
    }
}
