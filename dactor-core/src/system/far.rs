//! Refs to actors that live elsewhere, for the crates that carry messages there.

use std::any::Any;
use std::sync::Arc;

use crate::base::{current, origin};
use crate::delivery::envelope::Envelope;
use crate::delivery::envelope::lifecycle::Lifecycle;
use crate::kernel::actor_core::place::FarPlace;
use crate::kernel::actor_core::route::{FarRefused, FarRoute};
use crate::kernel::actor_core::{ActorCore, ActorMeta, DynActor};
use crate::mailbox::Mailbox;
use crate::path::ActorPathParts;
use crate::system::event::DeadLetterTarget;
use crate::{
    Actor, ActorPath, ActorRef, Context, Error, ErrorKind, IntoActor, Pid, Priority, Result, Spawn,
    StopReason, System,
};

/// The ref to an actor that lives elsewhere, for use in `system`.
///
/// The path says which one: a UID makes it one incarnation, and a path [of a virtual actor](ActorPath::virtual_actor) needs
/// none. All refs that `system` has to one actor share their state, so `route` is called only if there is no ref to this
/// actor yet; it must not make refs itself.
///
/// # Errors
///
/// [`InvalidPath`](ErrorKind::InvalidPath) for the path of an actor in `system` itself, for one without a UID that is not of a
/// virtual actor, and for a guardian.
pub fn far_ref<A: Actor>(
    system: &System,
    path: &ActorPath,
    route: impl FnOnce() -> Arc<dyn FarRoute<A>>,
) -> Result<ActorRef<A>> {
    let is_virtual = path.virtual_actor().is_some();
    let why = match path.uid() {
        _ if path.segments().len() < 2 => Some("it is not the path of an actor"),
        None if !is_virtual => Some("it does not say which incarnation is meant"),
        Some(_) if path.is_in(system.parts()) => Some("it is the path of an actor of this system"),
        _ => None,
    };
    if let Some(why) = why {
        let error = Error::new(ErrorKind::InvalidPath).with("actor", path.to_serialization_format());
        return Err(error.with("because", why));
    }
    let core = system.far().intern::<A>(path, || {
        let place = FarPlace::new(path.clone(), route());
        let core = ActorCore::<A> {
            mailbox: Mailbox::elsewhere(),
            meta: ActorMeta::elsewhere(system.clone(), place),
        };
        Arc::new(core) as Arc<dyn DynActor>
    });
    match ActorRef::known(core) {
        Some(actor) => Ok(actor),
        None => unreachable!("the table is by the type of the actor"),
    }
}

/// Says in `system` that the actor at this path, which lives elsewhere, has ended: its watchers and waiters are told, and messages to
/// it are refused from here on. `false`, and nothing is done, when `system` has no ref to it or knows that already.
pub fn far_ended(system: &System, path: &ActorPath, reason: &StopReason) -> bool {
    let mut told = false;
    for actor in system.far().find(path) {
        told |= actor.set_far_end(reason.clone());
    }
    told
}

/// The paths of the actors at this address that `system` has refs to.
pub fn far_paths(system: &System, address: &ActorPathParts) -> Vec<ActorPath> {
    system.far().paths(address)
}

/// The path of the actor whose code runs on this thread: the sender of a message that a [`FarRoute`] is given.
pub fn sender() -> Option<ActorPath> {
    origin::sender()
}

/// The actor whose code runs on this thread.
pub fn current() -> Option<Pid> {
    Some(current::actor()).filter(|pid| *pid != Pid::NOBODY)
}

/// Gives a message to an actor of this process: a message from another process, or for a virtual actor that is active here.
/// If the mailbox is full and blocks, the message waits in line.
///
/// # Errors
///
/// The envelope, whole, when the actor has ended or refuses it: its asker has not been answered. A message that the mailbox
/// drops by its policy is a dead letter, and no error.
pub fn deliver<A: Actor>(
    actor: &ActorRef<A>,
    envelope: Envelope<A>,
    priority: Priority,
) -> Result<(), FarRefused<A>> {
    actor.core.take_in(envelope, priority)
}

/// Answers for a message to `actor` that is not going to be handled: it is a dead letter, and its asker gets the error.
pub fn refuse<A: Actor>(actor: &ActorRef<A>, envelope: Envelope<A>, error: &Error) {
    actor.core.dead_letter(envelope, error);
}

/// What dead letters call a message whose type is not known here.
const FROM_ELSEWHERE: &str = "(from another process)";

/// Reports a message that did not get to the actor at this path, and whose type is not known here, as a dead letter.
pub fn lost(system: &System, target: &ActorPath, error: &Error) {
    let to = || DeadLetterTarget::Actor(target.clone());
    system.events().lost(to, FROM_ELSEWHERE, error, || None);
}

/// The error of a message that no handler can have had, whatever its kind says.
#[must_use]
pub fn unhandled(error: Error) -> Error {
    error.unhandled()
}

/// A spawn of a child of `parent`, as [`Context::spawn`] makes it in the code of the parent.
pub fn spawn_child<P: Actor, K, S: IntoActor<K>>(parent: &ActorRef<P>, actor: S) -> Spawn<S::Actor> {
    let meta = &parent.core.meta;
    let above = Some(parent.core.clone() as Arc<dyn DynActor>);
    Spawn::new(meta.system().clone(), actor.into_factory(), meta.guardian(), above)
}

/// Lets this value take part in the life of the actor that is spawned.
pub fn with_lifecycle<A: Actor>(mut spawn: Spawn<A>, lifecycle: impl Lifecycle<A>) -> Spawn<A> {
    spawn.set_lifecycle(Arc::new(Box::new(lifecycle)));
    spawn
}

/// What the crate that has spawned the actor has [said](Lifecycle::as_any) that it is.
pub fn lifecycle<A: Actor>(ctx: &Context<A>) -> Option<&(dyn Any + Send + Sync)> {
    ctx.lifecycle().map(|lifecycle| lifecycle.as_any())
}

/// Whether the actors of the system are being shut down: spawning fails from then on.
pub fn is_shutting_down(system: &System) -> bool {
    system.registry().is_closed()
}
