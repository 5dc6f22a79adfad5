//! How actors end: an actor is killed only on request or at the deadline of a shutdown, and a drain handles all
//! accepted messages.

use dactor_core::ErrorKind;

use super::Model;
use crate::random::history::{HandlerEnd, HookKind, HookMoment, Observation, Reason, Sender};
use crate::random::program::{EndMethod, SendMethod};

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    killed(model).or_else(|| drained(model)).or_else(|| refused_in_shutdown(model))
}

fn killed(model: &Model<'_>) -> Option<String> {
    model.observations().find_map(|(at, what)| {
        let Observation::Stopped { actor, reason: Reason::Killed } = *what else { return None };
        let ancestry: Vec<usize> = model.ancestry(actor).collect();
        // Dropping a spawn may end an actor in any state.
        let dropped = |actor: &usize| model.specs.get(actor).is_some_and(|spec| spec.drop_after.is_some());
        if ancestry.iter().any(dropped) {
            return None;
        }
        let mut asked = None;
        for (place, what) in model.observations().take(at) {
            let concerns = |other: &usize| ancestry.contains(other);
            match what {
                Observation::Signal { to, how: EndMethod::Kill | EndMethod::Shutdown } if concerns(to) => {
                    return None;
                }
                // Its spawn was dropped, or it ended itself while starting.
                Observation::Hook {
                    actor: of,
                    which: HookKind::Start,
                    moment: HookMoment::Interrupted,
                    ..
                } if concerns(of) => {
                    return None;
                }
                Observation::Signal { to, .. } if concerns(to) => {}
                Observation::Shutdown => {}
                Observation::End {
                    actor,
                    how:
                        HandlerEnd::Failed
                        | HandlerEnd::Panicked
                        | HandlerEnd::StashFull
                        | HandlerEnd::ForwardRefused,
                    ..
                } if *actor != ancestry[0] && concerns(actor) => {}
                Observation::Hook { actor, moment: HookMoment::Failed | HookMoment::Panicked, .. }
                    if *actor != ancestry[0] && concerns(actor) => {}
                // The failure of a sibling may stop or restart its ancestors.
                Observation::Stopped { .. } | Observation::Restarted { .. } | Observation::Failed { .. }
                    if ancestry.len() > 1 => {}
                _ => continue,
            }
            asked.get_or_insert(place);
        }
        let Some(asked) = asked else {
            return Some(format!("a{actor} ended as killed, but was neither killed nor told to end"));
        };
        let (since, now) = (model.at(asked), model.at(at));
        // User actors and services have half of the grace period each.
        let services = model.specs.values().any(|spec| spec.service);
        let least = model.grace() * 3 / if services { 8 } else { 4 };
        (now - since < least).then(|| {
            format!(
                "a{actor} was killed {} ms after it was told to end; the grace period is {} ms",
                now - since,
                model.grace()
            )
        })
    })
}

/// A drained actor has handled all accepted messages, except the stashed ones.
fn drained(model: &Model<'_>) -> Option<String> {
    let drained = |actor: usize| {
        let end = Observation::Stopped { actor, reason: Reason::Drained };
        model.observations().any(|(_, what)| *what == end)
    };
    let lost = model.records.values().find(|record| {
        let dead = record.dead.iter().any(|(at, kind)| {
            *kind == ErrorKind::Stopped && record.accepted().is_some_and(|accepted| accepted < *at)
        });
        dead && record.begins.is_empty() && drained(record.to)
    });
    lost.map(|record| format!("{} was accepted and lost in a drain", record.text()))
}

/// While a shutdown drains, actors accept messages from each other.
fn refused_in_shutdown(model: &Model<'_>) -> Option<String> {
    let (begin, _) = model.observations().find(|(_, what)| matches!(what, Observation::Shutdown))?;
    let until = model.at(begin) + model.grace() / 4;
    let ended_otherwise = |actor: usize| {
        let mut observations = model.observations();
        observations.any(|(_, what)| match *what {
            Observation::Signal { to, .. } => to == actor,
            Observation::Stopped { actor: of, reason } => of == actor && reason != Reason::Drained,
            Observation::Restarted { actor: of } => of == actor,
            _ => false,
        })
    };
    let lost = model.records.values().find(|record| {
        let refused = record.sent.filter(|(_, error)| *error == Some(ErrorKind::Stopped));
        let Some((at, _)) = refused else { return false };
        let (Sender::Actor(by) | Sender::Read(by)) = record.by else { return false };
        let service = |actor| model.specs.get(&actor).is_some_and(|spec| spec.service);
        let top = |actor| !model.parents.contains_key(&actor) && !service(actor);
        let told = matches!(record.how, SendMethod::Tell | SendMethod::TryTell | SendMethod::Send);
        let healthy = !ended_otherwise(record.to) && !ended_otherwise(by);
        told && at > begin && model.at(at) < until && top(by) && top(record.to) && healthy
    });
    lost.map(|record| format!("{} was refused while the shutdown drained", record.text()))
}
