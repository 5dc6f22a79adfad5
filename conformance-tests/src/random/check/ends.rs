//! How actors end: none is killed that was not to be, and none before the one deadline of a shutdown; what was accepted
//! before a drain is handled.

use dactor_core::ErrorKind;

use super::Model;
use crate::random::history::{Ended, Moment, Reason, What, Which, Who};
use crate::random::program::{Ending, How};

pub(super) fn check(model: &Model<'_>) -> Option<String> {
    killed(model).or_else(|| drained(model)).or_else(|| refused_in_shutdown(model))
}

fn killed(model: &Model<'_>) -> Option<String> {
    model.places().find_map(|(at, what)| {
        let What::Stopped { actor, reason: Reason::Killed } = *what else { return None };
        let line: Vec<usize> = model.line(actor).collect();
        // A spawn that is dropped may end an actor wherever it is.
        let dropped = |actor: &usize| model.specs.get(actor).is_some_and(|spec| spec.drop_after.is_some());
        if line.iter().any(dropped) {
            return None;
        }
        let mut asked = None;
        for (place, what) in model.places().take(at) {
            let concerns = |other: &usize| line.contains(other);
            match what {
                What::Signal { to, how: Ending::Kill | Ending::Shutdown } if concerns(to) => return None,
                // Its spawn was given up, or it ended itself on the way.
                What::Hook { actor: of, which: Which::Start, moment: Moment::Cut, .. } if concerns(of) => {
                    return None;
                }
                What::Signal { to, .. } if concerns(to) => {}
                What::Shutdown => {}
                What::End {
                    actor,
                    how: Ended::Failed | Ended::Panicked | Ended::StashFull | Ended::ForwardRefused,
                    ..
                } if *actor != line[0] && concerns(actor) => {}
                What::Hook { actor, moment: Moment::Failed | Moment::Panicked, .. }
                    if *actor != line[0] && concerns(actor) => {}
                // A sibling's failure may stop or restart those above.
                What::Stopped { .. } | What::Restarted { .. } | What::Failed { .. } if line.len() > 1 => {}
                _ => continue,
            }
            asked.get_or_insert(place);
        }
        let Some(asked) = asked else {
            return Some(format!("a{actor} ended as killed, and was neither killed nor told to end"));
        };
        let (since, now) = (model.at(asked), model.at(at));
        // Users and services have half of the grace each.
        let services = model.specs.values().any(|spec| spec.service);
        let least = model.grace() * 3 / if services { 8 } else { 4 };
        (now - since < least).then(|| {
            format!(
                "a{actor} was killed {} ms after it was told to end; the grace is {}",
                now - since,
                model.grace()
            )
        })
    })
}

/// An actor that drained has handled all that it accepted, but for what it has stashed.
fn drained(model: &Model<'_>) -> Option<String> {
    let drained = |actor: usize| {
        let end = What::Stopped { actor, reason: Reason::Drained };
        model.places().any(|(_, what)| *what == end)
    };
    let lost = model.letters.values().find(|letter| {
        let dead = letter.dead.iter().any(|(at, kind)| {
            *kind == ErrorKind::Stopped && letter.accepted().is_some_and(|accepted| accepted < *at)
        });
        dead && letter.begins.is_empty() && drained(letter.to)
    });
    lost.map(|letter| format!("{} was accepted, and lost in a drain", letter.text()))
}

/// While a shutdown drains, what the actors send each other is accepted.
fn refused_in_shutdown(model: &Model<'_>) -> Option<String> {
    let (begin, _) = model.places().find(|(_, what)| matches!(what, What::Shutdown))?;
    let until = model.at(begin) + model.grace() / 4;
    let ended_otherwise = |actor: usize| {
        let mut places = model.places();
        places.any(|(_, what)| match *what {
            What::Signal { to, .. } => to == actor,
            What::Stopped { actor: of, reason } => of == actor && reason != Reason::Drained,
            What::Restarted { actor: of } => of == actor,
            _ => false,
        })
    };
    let lost = model.letters.values().find(|letter| {
        let refused = letter.sent.filter(|(_, error)| *error == Some(ErrorKind::Stopped));
        let Some((at, _)) = refused else { return false };
        let Who::Actor(by) = letter.by else { return false };
        let service = |actor| model.specs.get(&actor).is_some_and(|spec| spec.service);
        let top = |actor| !model.parents.contains_key(&actor) && !service(actor);
        let told = matches!(letter.how, How::Tell | How::TryTell | How::Send);
        let healthy = !ended_otherwise(letter.to) && !ended_otherwise(by);
        told && at > begin && model.at(at) < until && top(by) && top(letter.to) && healthy
    });
    lost.map(|letter| format!("{} was refused while the shutdown drained", letter.text()))
}
