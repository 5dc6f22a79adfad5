//! One thing at a time, hooks in their order, and nothing after the end.

use std::collections::BTreeMap;

use super::Model;
use crate::random::history::{Moment, Reason, What, Which};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Unborn,
    InHook(Which),
    Running,
    /// A hook failed, or the last has run.
    Over,
    Ended,
}

#[derive(Default)]
struct Life {
    phase: Phase,
    instance: u64,
    dropped: Option<u64>,
    open: Option<u64>,
    stopped: bool,
    troubled: bool,
}

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    let mut lives: BTreeMap<usize, Life> = BTreeMap::new();
    // A failure may concern parents and siblings: they may be stopped while they are restarted.
    let failed =
        |what: &What| matches!(what, What::Failed { .. } | What::Stopped { reason: Reason::Failed(_), .. });
    let troubled = model.places().any(|(_, what)| failed(what));
    model.places().find_map(|(_, what)| {
        let actor = match *what {
            What::Begin { actor, .. }
            | What::End { actor, .. }
            | What::Hook { actor, .. }
            | What::Dropped { actor, .. }
            | What::Stopped { actor, .. } => actor,
            What::Terminated { by, .. } => by,
            _ => return None,
        };
        let life = lives.entry(actor).or_insert_with(|| Life { troubled, ..Life::default() });
        life.see(what).map(|wrong| format!("a{actor}: {wrong} ({what:?})"))
    })
}

impl Life {
    fn see(&mut self, what: &What) -> Option<&'static str> {
        match *what {
            What::Begin { id, instance, .. } => {
                if self.phase != Phase::Running || instance != self.instance {
                    return Some("a handler begins while the actor does not run");
                }
                if self.open.replace(id).is_some() {
                    return Some("a handler begins while another one runs");
                }
            }
            What::Terminated { .. } if self.open.is_some() || self.phase != Phase::Running => {
                return Some("a notice is handled while something else is");
            }
            What::End { id, how, .. } => {
                self.troubled |= !matches!(how, crate::random::history::Ended::Replied);
                if self.open.take() != Some(id) {
                    return Some("another handler ends than the one that began");
                }
            }
            What::Hook { instance, which, moment: Moment::Begin, .. } => return self.hook(which, instance),
            What::Hook { which, moment, .. } => {
                self.troubled |= moment != Moment::Done;
                if self.phase != Phase::InHook(which) {
                    return Some("another hook ends than the one that began");
                }
                self.phase = match (which, moment) {
                    (Which::Stop, _) => Phase::Over,
                    (Which::Error, _) => Phase::Running,
                    (_, Moment::Done) => Phase::Running,
                    _ => Phase::Over,
                };
            }
            What::Dropped { instance, .. } => self.dropped = Some(instance),
            What::Stopped { reason, .. } => return self.end(reason),
            _ => {}
        }
        None
    }

    fn hook(&mut self, which: Which, instance: u64) -> Option<&'static str> {
        let before = std::mem::replace(&mut self.phase, Phase::InHook(which));
        if self.open.is_some() {
            return Some("a hook begins while a handler runs");
        }
        match which {
            Which::Start if before != Phase::Unborn => Some("`on_start` runs again"),
            Which::Restart if self.dropped != Some(self.instance) => {
                Some("`on_restart` runs before the old instance is gone")
            }
            Which::Restart if instance <= self.instance => Some("`on_restart` runs on an old instance"),
            Which::Restart => {
                self.instance = instance;
                None
            }
            Which::Error if before != Phase::Running => Some("`on_error` runs while the actor does not run"),
            Which::Stop if before != Phase::Running || std::mem::replace(&mut self.stopped, true) => {
                Some("`on_stop` runs on an actor that does not run")
            }
            _ => None,
        }
    }

    fn end(&mut self, reason: Reason) -> Option<&'static str> {
        let before = std::mem::replace(&mut self.phase, Phase::Ended);
        if before == Phase::Ended {
            return Some("it ends twice");
        }
        if self.open.is_some() || matches!(before, Phase::InHook(_)) {
            return Some("it ends while its code runs");
        }
        if self.dropped != Some(self.instance) {
            return Some("it ends before its instance is gone");
        }
        let ordinary = matches!(reason, Reason::Stopped | Reason::Drained) && !self.troubled;
        (ordinary && !self.stopped).then_some("it ends without `on_stop`")
    }
}
