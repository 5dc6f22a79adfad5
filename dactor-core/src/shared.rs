//! What every reference to an actor shares.

use std::any::{Any, type_name};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::SetOnce;

use crate::envelope::{Envelope, Labelled};
use crate::mailbox::{Ending, Mailbox, Nudge};
use crate::spi::Host;
use crate::turn::Slate;
use crate::{Actor, Error, ErrorKind, Pid, Result, SendError, SentTo, StopReason, System};

pub(crate) struct Shared<A: Actor> {
    pub(crate) mailbox: Mailbox<Envelope<A>>,
    pub(crate) head: Head,
}

/// The part that does not depend on the actor's type.
pub(crate) struct Head {
    pub(crate) pid: Pid,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) system: System,
    pub(crate) host: OnceLock<Box<dyn Host>>,
    pub(crate) end: SetOnce<StopReason>,
    pub(crate) slate: Slate,
    exposed: AtomicBool,
}

impl Head {
    pub(crate) fn new(name: Option<Arc<str>>, system: System) -> Self {
        Self {
            pid: Pid::next(),
            name,
            system,
            host: OnceLock::new(),
            end: SetOnce::new(),
            slate: Slate::new(),
            exposed: AtomicBool::new(false),
        }
    }

    /// Whether anyone may have the native handle, and so signal the actor behind the mailbox's back.
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed.load(Ordering::Relaxed)
    }

    pub(crate) fn act(&self, nudge: Nudge) {
        match nudge {
            Nudge::Nothing => {}
            Nudge::Waker(waker) => waker.wake(),
            // Only a cell that is in its host is parked there.
            Nudge::Host => self.host.get().into_iter().for_each(|host| host.wake()),
            Nudge::Stop => self.host.get().into_iter().for_each(|host| host.stop()),
        }
    }
}

impl<A: Actor> Shared<A> {
    /// The native handle. From here on the cell lets its runtime look at native signals.
    pub(crate) fn native(&self) -> Option<&(dyn Any + Send + Sync)> {
        let host = self.head.host.get()?;
        if !self.head.exposed.swap(true, Ordering::Relaxed) {
            // Before or after the cell parks: it looks at the flag again after the mailbox's lock.
            self.head.act(self.mailbox.rouse());
        }
        Some(host.native())
    }

    pub(crate) fn push(&self, envelope: Envelope<A>) -> Result<(), Envelope<A>> {
        self.head.act(self.mailbox.push(envelope)?);
        Ok(())
    }

    pub(crate) fn tell<M: SentTo<A>>(&self, message: M) -> Result<()> {
        self.push(message.into_tell()).map_err(|envelope| self.refuse(envelope))
    }

    pub(crate) fn try_tell<M: SentTo<A>>(&self, message: M) -> Result<(), SendError<M>> {
        let Err(envelope) = self.push(message.into_tell()) else { return Ok(()) };
        let reason = self.stopped(envelope.message_type());
        match M::take_back(envelope) {
            Some(message) => Err(SendError { message, reason }),
            None => unreachable!("a told message comes back as what it was"),
        }
    }

    /// Answers for a message that the mailbox did not take.
    pub(crate) fn refuse(&self, envelope: Envelope<A>) -> Error {
        let message = envelope.message_type();
        let error = self.stopped(message);
        self.head.system.events().dead_letter(self, message, &error);
        envelope.refuse(&error);
        error
    }

    pub(crate) fn stopped(&self, message: &'static str) -> Error {
        let error = Error::new(ErrorKind::Stopped).with("actor", self.label()).with("message", message);
        match self.head.end.get() {
            Some(reason) => error.with("reason", reason),
            None => error,
        }
    }
}

impl<A: Actor> Labelled for Shared<A> {
    fn label(&self) -> String {
        match &self.head.name {
            Some(name) => name.to_string(),
            None => format!("{}#{}", type_name::<A>(), self.head.pid),
        }
    }
}

impl<A: Actor> fmt::Debug for Shared<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

/// A live actor of any type, as its system and its backend see it.
pub(crate) trait Control: Labelled {
    fn head(&self) -> &Head;
    fn signal(&self, ending: Ending);
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<A: Actor> Control for Shared<A> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn signal(&self, ending: Ending) {
        self.head.act(self.mailbox.signal(ending));
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// The whole life of an actor as one future.
pub(crate) type Life = Pin<Box<dyn Future<Output = ()> + Send>>;
