//! The core of an actor: the state shared by all its refs.

mod dyn_actor;
mod far;
mod meta;
pub(crate) mod place;
mod refusal;
pub(crate) mod route;
mod sending;

use std::any::{Any, type_name};
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use tokio_util::sync::CancellationToken;
use tracing::span;

pub(crate) use self::dyn_actor::DynActor;
pub(crate) use self::far::{Observed, wait};
pub(crate) use self::meta::{ActorMeta, Identity};
pub(crate) use self::refusal::Delivered;
use crate::base::current::{self, Entered};
use crate::base::label::Labelled;
use crate::delivery::ask_state::Holder;
use crate::delivery::envelope::Envelope;
use crate::delivery::envelope::dispatch::DispatchTarget;
use crate::mailbox::slot::Slot;
use crate::mailbox::{Ending, Mailbox};
use crate::path::{ActorPathParts, ActorUid};
use crate::{Actor, ActorPath, Error, ErrorKind, Pid};

pub(crate) struct ActorCore<A: Actor> {
    pub(crate) mailbox: Mailbox<Envelope<A>>,
    pub(crate) meta: ActorMeta,
}

impl<A: Actor> ActorCore<A> {
    /// Until dropped, marks this thread as running the actor's code: for its asks and its log lines.
    pub(crate) fn enter(&self) -> (Entered, Option<span::Entered<'_>>) {
        (Entered::new(self.meta.pid()), self.meta.enter_span(self))
    }

    /// Cancelled when the actor starts draining.
    pub(crate) fn draining_token(&self) -> CancellationToken {
        let token = self.meta.draining_token();
        // The drain may have begun before the token was created.
        if self.mailbox.ending() == Ending::Drain || self.mailbox.admits_members() {
            token.cancel();
        }
        token.clone()
    }

    /// The native handle. From now on the cell lets its runtime check for native signals.
    pub(crate) fn native(&self) -> Option<&(dyn Any + Send + Sync)> {
        let (handle, is_first) = self.meta.expose()?;
        if is_first {
            // Works before and after the cell parks: it checks the flag again after taking the mailbox's
            // lock.
            self.meta.wake(self.mailbox.repark());
        }
        Some(handle.native())
    }

    pub(crate) fn error(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind).about(self).with("message", message)
    }

    pub(crate) fn stopped(&self, message: &'static str) -> Error {
        let error = self.error(ErrorKind::Stopped, message);
        match self.meta.stop_reason() {
            Some(reason) => error.with("reason", reason),
            None => error,
        }
    }
}

impl<A: Actor> Labelled for ActorCore<A> {
    fn path(&self) -> ActorPath {
        self.meta.path()
    }

    fn pid(&self) -> Pid {
        self.meta.pid()
    }

    fn uid(&self) -> ActorUid {
        self.meta.uid()
    }

    fn address(&self) -> &ActorPathParts {
        self.meta.address()
    }

    fn actor_type(&self) -> &'static str {
        type_name::<A>()
    }

    fn queued(&self) -> usize {
        self.mailbox.len()
    }

    fn is_own_code(&self) -> bool {
        match self.route() {
            Some(route) => route.is_own_code(),
            None => current::actor() == self.pid(),
        }
    }
}

impl<A: Actor> DispatchTarget for ActorCore<A> {
    fn ending(&self) -> Ending {
        self.mailbox.ending()
    }

    fn stopped(&self, message: &'static str) -> Error {
        ActorCore::stopped(self, message)
    }

    fn report_dead_letter(
        &self,
        message: &'static str,
        error: &Error,
        describe: &dyn Fn() -> Option<String>,
    ) {
        self.meta.system().events().dead_letter(self, message, error, describe);
    }
}

impl<A: Actor> Holder for ActorCore<A> {
    fn unread(&self, message: &'static str, failure: Option<&Error>) {
        let events = self.meta.system().events();
        match failure {
            None => events.asker_gone(self, message),
            // As if the asker had been gone before. Other errors were reported at their source, or are no
            // loss.
            Some(error) if error.kind() == ErrorKind::Failed => events.failed(self, message, error),
            Some(_) => {}
        }
    }

    fn withdraw(&self, give_up: &mut dyn FnMut() -> Option<Slot>) {
        if self.meta.is_far() {
            give_up();
        } else {
            self.meta.wake(self.mailbox.withdraw(give_up));
        }
    }

    fn asker_gone(&self) {
        self.route().into_iter().for_each(|route| route.asker_gone());
    }
}

impl<A: Actor> fmt::Debug for ActorCore<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.path().to_serialization_format(), self.actor_type())
    }
}

/// The whole actor as one future, from start to end.
pub(crate) type ActorFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
