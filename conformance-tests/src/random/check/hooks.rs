//! An actor runs one handler or hook at a time, hooks run in order, and nothing runs after the end.

use std::collections::{BTreeMap, BTreeSet};

use super::Model;
use crate::random::history::{HookKind, HookMoment, Observation, Reason};
use crate::random::program::Sharing;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    NotStarted,
    InHook(HookKind),
    Running,
    /// A hook failed, or the last hook has run.
    Over,
    Ended,
}

#[derive(Default)]
struct Lifecycle {
    phase: Phase,
    instance: u64,
    dropped: Option<u64>,
    open: Option<u64>,
    /// Handlers that run beside each other.
    reads: BTreeSet<u64>,
    stopped: bool,
    had_failure: bool,
}

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    let mut lives: BTreeMap<usize, Lifecycle> = BTreeMap::new();
    // A failure may affect parents and siblings, which may be stopped during a restart.
    let failed = |what: &Observation| {
        matches!(what, Observation::Failed { .. } | Observation::Stopped { reason: Reason::Failed(_), .. })
    };
    let had_failure = model.observations().any(|(_, what)| failed(what));
    model.observations().find_map(|(_, what)| {
        let actor = match *what {
            Observation::Begin { actor, .. }
            | Observation::End { actor, .. }
            | Observation::Hook { actor, .. }
            | Observation::Dropped { actor, .. }
            | Observation::Stopped { actor, .. } => actor,
            Observation::Terminated { by, .. } => by,
            _ => return None,
        };
        let life = lives.entry(actor).or_insert_with(|| Lifecycle { had_failure, ..Lifecycle::default() });
        life.see(what).map(|wrong| format!("a{actor}: {wrong} ({what:?})"))
    })
}

impl Lifecycle {
    fn is_busy(&self) -> bool {
        self.open.is_some() || !self.reads.is_empty()
    }

    fn see(&mut self, what: &Observation) -> Option<&'static str> {
        match *what {
            Observation::Begin { id, instance, sharing, .. } => {
                if self.phase != Phase::Running || instance != self.instance {
                    return Some("a handler begins while the actor does not run");
                }
                if self.open.is_some() || (sharing == Sharing::Exclusive && !self.reads.is_empty()) {
                    return Some("a handler begins while another one runs");
                }
                if sharing == Sharing::Exclusive {
                    self.open = Some(id);
                } else {
                    self.reads.insert(id);
                }
            }
            Observation::Terminated { .. } if self.is_busy() || self.phase != Phase::Running => {
                return Some("`Terminated` is handled while a handler or hook runs");
            }
            Observation::End { id, how, .. } => {
                self.had_failure |= !matches!(how, crate::random::history::HandlerEnd::Replied);
                if !self.reads.remove(&id) && self.open.take() != Some(id) {
                    return Some("the handler that ends is not the one that began");
                }
            }
            Observation::Hook { instance, which, moment: HookMoment::Begin, .. } => {
                return self.hook(which, instance);
            }
            Observation::Hook { which, moment, .. } => {
                self.had_failure |= moment != HookMoment::Done;
                if self.phase != Phase::InHook(which) {
                    return Some("the hook that ends is not the one that began");
                }
                self.phase = match (which, moment) {
                    (HookKind::Stop, _) => Phase::Over,
                    (HookKind::Error, _) => Phase::Running,
                    (_, HookMoment::Done) => Phase::Running,
                    _ => Phase::Over,
                };
            }
            Observation::Dropped { instance, .. } => self.dropped = Some(instance),
            Observation::Stopped { reason, .. } => return self.end(reason),
            _ => {}
        }
        None
    }

    fn hook(&mut self, which: HookKind, instance: u64) -> Option<&'static str> {
        let before = std::mem::replace(&mut self.phase, Phase::InHook(which));
        if self.is_busy() {
            return Some("a hook begins while a handler runs");
        }
        match which {
            HookKind::Start if before != Phase::NotStarted => Some("`on_start` runs again"),
            HookKind::Restart if self.dropped != Some(self.instance) => {
                Some("`on_restart` runs before the old instance is dropped")
            }
            HookKind::Restart if instance <= self.instance => Some("`on_restart` runs on an old instance"),
            HookKind::Restart => {
                self.instance = instance;
                None
            }
            HookKind::Error if before != Phase::Running => {
                Some("`on_error` runs while the actor does not run")
            }
            HookKind::Stop if before != Phase::Running || std::mem::replace(&mut self.stopped, true) => {
                Some("`on_stop` runs on an actor that does not run")
            }
            _ => None,
        }
    }

    fn end(&mut self, reason: Reason) -> Option<&'static str> {
        let before = std::mem::replace(&mut self.phase, Phase::Ended);
        if before == Phase::Ended {
            return Some("the actor ends twice");
        }
        if self.is_busy() || matches!(before, Phase::InHook(_)) {
            return Some("the actor ends while its code runs");
        }
        if self.dropped != Some(self.instance) {
            return Some("the actor ends before its instance is dropped");
        }
        let ordinary = matches!(reason, Reason::Stopped | Reason::Drained) && !self.had_failure;
        (ordinary && !self.stopped).then_some("the actor ends without `on_stop`")
    }
}
