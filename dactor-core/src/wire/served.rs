//! The actor types that receive messages from other processes.

use std::any::type_name;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::message::items::FarStreams;
use crate::wire::{Accepts, AnyAccepts, Arriving, CancelAsk, Remote, deliver};
use crate::{AnyActorRef, Error, ErrorKind, Priority, Result};

/// The actor types that receive messages from other processes, with the messages that each accepts.
#[derive(Default, Clone)]
pub struct Served {
    types: HashMap<&'static str, Arc<dyn Serve>>,
}

/// A message delivered to its actor.
#[derive(Debug)]
pub struct Taken {
    /// Cancels the ask, if it is one.
    pub ask: Option<CancelAsk>,
    /// The streams of a stream request.
    pub streams: FarStreams,
}

trait Serve: Send + Sync {
    fn take(
        &self,
        actor: &AnyActorRef,
        name: &str,
        arriving: Arriving<'_>,
        priority: Priority,
    ) -> Result<Taken>;
    fn accepts(&self) -> &dyn AnyAccepts;
}

impl<A: Remote> Serve for Accepts<A> {
    fn take(
        &self,
        actor: &AnyActorRef,
        name: &str,
        arriving: Arriving<'_>,
        priority: Priority,
    ) -> Result<Taken> {
        let Some(actor) = actor.actor_ref::<A>() else {
            return Err(refuse(arriving, not_served(actor, name)));
        };
        let opened = self.open(name, arriving)?;
        deliver(&actor, opened.envelope, priority)?;
        Ok(Taken { ask: opened.ask, streams: opened.streams })
    }

    fn accepts(&self) -> &dyn AnyAccepts {
        self
    }
}

impl Served {
    /// Lets actors of this type receive messages.
    ///
    /// # Errors
    ///
    /// Those of [`Accepts::of`].
    pub fn add<A: Remote>(&mut self) -> Result<()> {
        self.types.insert(type_name::<A>(), Arc::new(Accepts::<A>::of()?));
        Ok(())
    }

    /// Decodes a message and delivers it to its actor.
    ///
    /// # Errors
    ///
    /// Those of [`Accepts::open`], [`UnknownMessage`](ErrorKind::UnknownMessage) for an actor of another
    /// type, and those of a tell. An ask has already been answered with the error.
    pub fn take(
        &self,
        actor: &AnyActorRef,
        name: &str,
        arriving: Arriving<'_>,
        priority: Priority,
    ) -> Result<Taken> {
        match self.types.get(actor.actor_type()) {
            Some(served) => served.take(actor, name, arriving, priority),
            None => Err(refuse(arriving, not_served(actor, name))),
        }
    }

    /// The messages accepted by actors of this actor's type.
    pub fn accepts(&self, actor: &AnyActorRef) -> Option<&dyn AnyAccepts> {
        self.types.get(actor.actor_type()).map(|served| served.accepts())
    }
}

fn not_served(actor: &AnyActorRef, name: &str) -> Error {
    Error::new(ErrorKind::UnknownMessage)
        .with("wire name", name)
        .with("actor", actor.path())
        .with("type", actor.actor_type())
        .with("because", "actors of its type take no messages from other processes")
}

/// Answers an ask with the error.
fn refuse(arriving: Arriving<'_>, error: Error) -> Error {
    if let Some(reply_to) = arriving.reply_to {
        reply_to.fail(&error);
    }
    error
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut types: Vec<_> = self.types.keys().collect();
        types.sort_unstable();
        f.debug_tuple("Served").field(&types).finish()
    }
}
