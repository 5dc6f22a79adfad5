//! The end of an actor, and its reason.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::OnceLock;
use std::task::Poll;

use tokio::sync::SetOnce;

use crate::base::current::{self, awaits_itself};
use crate::base::label::Labelled;
use crate::{Result, StopReason};

/// The end of one actor, in two steps: first its reason is set and the watchers are notified, then the
/// waiters are woken. So every observer of the end finds the reason, and a waiter finds the watchers
/// notified.
pub(crate) struct Ended {
    reason: OnceLock<StopReason>,
    told: SetOnce<()>,
}

impl Ended {
    pub(crate) fn new() -> Self {
        Self { reason: OnceLock::new(), told: SetOnce::new() }
    }

    /// The reason, once the actor has ended.
    pub(crate) fn get(&self) -> Option<&StopReason> {
        self.reason.get()
    }

    /// The actor has ended. `false` when it was said before.
    pub(crate) fn set(&self, reason: StopReason) -> bool {
        self.reason.set(reason).is_ok()
    }

    /// Wakes the waiters, after the watchers were notified.
    pub(crate) fn announce(&self) {
        let _ = self.told.set(());
    }

    /// Waits until the actor has ended and its watchers have been notified.
    pub(crate) async fn wait(&self) -> &StopReason {
        self.told.wait().await;
        self.announced()
    }

    fn announced(&self) -> &StopReason {
        match self.reason.get() {
            Some(reason) => reason,
            None => unreachable!("the reason is there before the end is announced"),
        }
    }

    /// The same, but an error in the actor's own turn, where waiting would be a deadlock.
    pub(crate) async fn wait_outside_turn(&self, actor: &(impl Labelled + ?Sized)) -> Result<StopReason> {
        let mut told = pin!(self.told.wait());
        poll_fn(|cx| match told.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(Ok(self.announced().clone())),
            Poll::Pending if current::actor() == actor.pid() => {
                Poll::Ready(Err(awaits_itself(actor, "wait")))
            }
            Poll::Pending => Poll::Pending,
        })
        .await
    }
}
