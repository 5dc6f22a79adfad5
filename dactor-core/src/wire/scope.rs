//! Refs inside of messages.
//!
//! A ref is encoded as the path of its actor, with its UID. What path that is for the other process, and which actor a path
//! means here, is known by a node. So a carrier [enters](enter) the scope of its node around each encode and decode.
//! Both are synchronous: the scope is of the thread.

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

/// What a node knows about refs.
pub trait WireScope: Send + Sync {
    /// The path by which another process reaches the actor.
    ///
    /// # Errors
    ///
    /// An error of the node's when no other process can reach it.
    fn path_of(&self, path: &ActorPath) -> Result<ActorPath>;

    /// Finds the actor, and gives it to the ref that is wanted.
    ///
    /// # Errors
    ///
    /// [`NoSuchActor`](ErrorKind::NoSuchActor), [`Unresolved`](ErrorKind::Unresolved) and the like: then the message that has
    /// the ref cannot be decoded.
    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()>;
}

/// A ref that is being decoded. It is implemented for [`ActorRef`] and [`Recipient`] by this crate.
pub trait WantedRef {
    /// The type of the actor, or of the message of a recipient.
    fn wanted(&self) -> &'static str;

    /// The actor is in this process, and accepts this from others.
    ///
    /// # Errors
    ///
    /// [`WrongActorType`](ErrorKind::WrongActorType) when it is another actor than the ref may mean, or does not accept the
    /// recipient's message.
    fn local(&mut self, actor: &AnyActorRef, accepts: Option<&dyn AnyAccepts>) -> Result<()>;

    /// The actor is in the process that the carrier leads to: `system` gets a ref to it.
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
    /// Why a ref could not be encoded or decoded: serde keeps the text of an error alone.
    static FAILED: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Encodes and decodes refs in this scope, on this thread, until the guard is dropped. Scopes may be nested: the one before
/// is back then.
#[must_use = "the scope ends when the guard is dropped"]
pub fn enter(scope: Arc<dyn WireScope>) -> ScopeGuard {
    let before = SCOPE.try_with(|current| current.replace(Some(scope))).ok().flatten();
    ScopeGuard { before, path_before: external::replace(Some(external_path)), of_thread: PhantomData }
}

/// Ends the scope that was [entered](enter).
pub struct ScopeGuard {
    before: Option<Arc<dyn WireScope>>,
    path_before: Option<External>,
    /// It belongs to its thread.
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

/// A path that is a field of a message.
fn external_path(path: &ActorPath) -> Option<ActorPath> {
    current().and_then(|scope| scope.path_of(path)).ok()
}

/// Why the last encode or decode on this thread failed, if it was because of a ref.
pub(super) fn take_failure() -> Option<Error> {
    FAILED.try_with(RefCell::take).ok().flatten()
}

/// Keeps the error, and gives its text to serde.
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

/// In the [scope](enter) of a node.
impl<A: Remote> Serialize for ActorRef<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.path(), serializer)
    }
}

/// In the [scope](enter) of a node.
impl<'de, A: Remote> Deserialize<'de> for ActorRef<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer)
    }
}

/// In the [scope](enter) of a node.
impl<M: Message> Serialize for Recipient<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const { assert!(M::WIRE.is_some(), "the message of a recipient needs `#[message(wire = \"..\")]`") };
        serialize(&self.path(), serializer)
    }
}

/// In the [scope](enter) of a node.
impl<'de, M: SentTo<Elsewhere<M>>> Deserialize<'de> for Recipient<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const { assert!(M::WIRE.is_some(), "the message of a recipient needs `#[message(wire = \"..\")]`") };
        deserialize(deserializer)
    }
}
