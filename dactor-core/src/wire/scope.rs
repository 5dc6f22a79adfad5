//! Refs inside messages.
//!
//! A ref is encoded as the path of its actor, with its UID. A node translates between local paths and those
//! of other processes. So a carrier [enters](enter) the scope of its node around each encode and decode. Both
//! are synchronous, so the scope is thread-local.

use std::any::type_name;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::identity::external::{self, External};
use crate::path::ActorPathParser;
use crate::wire::{AnyAccepts, Carrier, Elsewhere, Remote, far_actor, far_recipient};
use crate::{ActorPath, ActorRef, AnyActorRef, Error, ErrorKind, Message, Recipient, Result, SentTo, System};

/// Translates and resolves refs for a node.
pub trait WireScope: Send + Sync {
    /// The path by which other processes reach the actor.
    ///
    /// # Errors
    ///
    /// An error of the node when no other process can reach the actor.
    fn path_of(&self, path: &ActorPath) -> Result<ActorPath>;

    /// Looks up the actor and passes it to `wanted`.
    ///
    /// # Errors
    ///
    /// [`NoSuchActor`](ErrorKind::NoSuchActor), [`Unresolved`](ErrorKind::Unresolved) and similar; the
    /// message with the ref cannot be decoded.
    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()>;
}

/// A ref being decoded. This crate implements it for [`ActorRef`] and [`Recipient`].
pub trait WantedRef {
    /// The type of the actor, or of a recipient's message.
    fn wanted(&self) -> &'static str;

    /// Resolves to an actor of this process; `accepts` lists the messages that it accepts from others.
    ///
    /// # Errors
    ///
    /// [`WrongActorType`](ErrorKind::WrongActorType) when the actor has another type or does not accept the
    /// recipient's message.
    fn local(&mut self, actor: &AnyActorRef, accepts: Option<&dyn AnyAccepts>) -> Result<()>;

    /// Resolves to a ref of `system` to an actor in the carrier's process.
    ///
    /// # Errors
    ///
    /// Those of [`far_actor`].
    fn far(&mut self, system: &System, path: &ActorPath, carrier: &Arc<dyn Carrier>) -> Result<()>;
}

struct Wanted<R> {
    found: Option<R>,
}

impl<A: Remote> WantedRef for Wanted<ActorRef<A>> {
    fn wanted(&self) -> &'static str {
        type_name::<A>()
    }

    fn local(&mut self, actor: &AnyActorRef, _: Option<&dyn AnyAccepts>) -> Result<()> {
        self.found = actor.actor_ref();
        if self.found.is_some() { Ok(()) } else { Err(wrong_type(actor, self.wanted())) }
    }

    fn far(&mut self, system: &System, path: &ActorPath, carrier: &Arc<dyn Carrier>) -> Result<()> {
        self.found = Some(far_actor(system, path, carrier)?);
        Ok(())
    }
}

impl<M: SentTo<Elsewhere<M>>> WantedRef for Wanted<Recipient<M>> {
    fn wanted(&self) -> &'static str {
        M::type_name()
    }

    fn local(&mut self, actor: &AnyActorRef, accepts: Option<&dyn AnyAccepts>) -> Result<()> {
        self.found = accepts.and_then(|accepts| accepts.recipient(actor));
        if self.found.is_some() { Ok(()) } else { Err(wrong_type(actor, self.wanted())) }
    }

    fn far(&mut self, system: &System, path: &ActorPath, carrier: &Arc<dyn Carrier>) -> Result<()> {
        self.found = Some(far_recipient(system, path, carrier)?);
        Ok(())
    }
}

fn wrong_type(actor: &AnyActorRef, wanted: &'static str) -> Error {
    Error::new(ErrorKind::WrongActorType)
        .with("actor", actor.path().to_serialization_format())
        .with("type", actor.actor_type())
        .with("expected", wanted)
}

thread_local! {
    static SCOPE: RefCell<Option<Arc<dyn WireScope>>> = const { RefCell::new(None) };
    /// Why a ref could not be encoded or decoded. Kept here because serde keeps only the text of an error.
    static FAILED: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Encodes and decodes refs in this scope, on this thread, until the guard is dropped. Scopes may be nested:
/// dropping the guard restores the outer scope.
#[must_use = "the scope ends when the guard is dropped"]
pub fn enter(scope: Arc<dyn WireScope>) -> ScopeGuard {
    let before = SCOPE.try_with(|current| current.replace(Some(scope))).ok().flatten();
    ScopeGuard { before, path_before: external::replace(Some(external_path)), of_thread: PhantomData }
}

/// Leaves the scope when dropped: see [`enter`].
pub struct ScopeGuard {
    before: Option<Arc<dyn WireScope>>,
    path_before: Option<External>,
    /// Makes the guard `!Send`.
    of_thread: PhantomData<*const ()>,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        external::replace(self.path_before);
        let before = self.before.take();
        let ended = SCOPE.try_with(|current| current.replace(before));
        drop(ended);
    }
}

impl fmt::Debug for ScopeGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeGuard").finish_non_exhaustive()
    }
}

fn current() -> Result<Arc<dyn WireScope>> {
    SCOPE.try_with(|scope| scope.borrow().clone()).ok().flatten().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported)
            .with("because", "a ref is encoded and decoded in the scope of a node, and there is none here")
    })
}

/// Translates a path that is a field of a message.
fn external_path(path: &ActorPath) -> Option<ActorPath> {
    current().and_then(|scope| scope.path_of(path)).ok()
}

/// Why the last encode or decode on this thread failed, if a ref was the cause.
pub(super) fn take_failure() -> Option<Error> {
    FAILED.try_with(RefCell::take).ok().flatten()
}

/// Stores the error and returns its text for serde.
fn note(error: Error) -> String {
    let text = format!("{error:#}");
    let _ = FAILED.try_with(|failed| failed.replace(Some(error)));
    text
}

fn serialize<S: Serializer>(path: &ActorPath, serializer: S) -> Result<S::Ok, S::Error> {
    let external = current().and_then(|scope| scope.path_of(path));
    let external = external.map_err(|error| serde::ser::Error::custom(note(error)))?;
    serializer.serialize_str(&external.to_serialization_format())
}

fn deserialize<'de, R, D: Deserializer<'de>>(deserializer: D) -> Result<R, D::Error>
where
    Wanted<R>: WantedRef,
{
    let text = Cow::<str>::deserialize(deserializer)?;
    resolve(&text).map_err(|error| serde::de::Error::custom(note(error)))
}

fn resolve<R>(text: &str) -> Result<R>
where
    Wanted<R>: WantedRef,
{
    let scope = current()?;
    let path = ActorPathParser::parse_generated(text)
        .map_err(|error| Error::new(ErrorKind::InvalidPath).because(error))?;
    let mut wanted = Wanted { found: None };
    scope.resolve(&path, &mut wanted)?;
    let expected = wanted.wanted();
    wanted.found.ok_or_else(|| {
        let error = Error::new(ErrorKind::NoSuchActor).with("actor", path.to_serialization_format());
        error.with("expected", expected)
    })
}

/// Requires the [scope](enter) of a node.
impl<A: Remote> Serialize for ActorRef<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.path(), serializer)
    }
}

/// Requires the [scope](enter) of a node.
impl<'de, A: Remote> Deserialize<'de> for ActorRef<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer)
    }
}

/// Requires the [scope](enter) of a node.
impl<M: Message> Serialize for Recipient<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const { assert!(M::WIRE.is_some(), "the message of a recipient needs `#[message(wire = \"..\")]`") };
        serialize(&self.path(), serializer)
    }
}

/// Requires the [scope](enter) of a node.
impl<'de, M: SentTo<Elsewhere<M>>> Deserialize<'de> for Recipient<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const { assert!(M::WIRE.is_some(), "the message of a recipient needs `#[message(wire = \"..\")]`") };
        deserialize(deserializer)
    }
}
