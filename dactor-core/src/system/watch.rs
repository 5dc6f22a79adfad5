//! Watches set from outside the watcher.

use crate::actor::context::check_watch;
use crate::actor::watch::WatchRequest;
use crate::kernel::actor_core::Observed;
use crate::{ActorPath, ActorRef, Handler, Result, System, Terminated, Watchable};

impl System {
    /// Makes an actor [watch](crate::Context::watch) another, as if it had done so itself: it gets one
    /// [`Terminated`] when the other ends, or immediately if it has already ended, and may
    /// [unwatch](crate::Context::unwatch) it.
    ///
    /// The request is queued behind the messages already in the watcher's mailbox, without needing room in
    /// it. If the other actor ends in between, the notice is not lost. The two actors may belong to any
    /// systems.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Handler, Recipient, Message, Result, System, Terminated};
    /// # fn audit<A: Handler<Terminated>, M: Message>(system: &System, auditor: &ActorRef<A>, teller: &Recipient<M>) -> Result<()> {
    /// system.watch(auditor, teller)?;
    /// system.watch_path(auditor, &"pekko://bank/user/vault".parse().unwrap())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidWatch`](crate::ErrorKind::InvalidWatch) for an actor that would watch itself, and [`Stopped`](crate::ErrorKind::Stopped) when
    /// the watcher is stopping or has stopped. A watcher that lives elsewhere, and a virtual actor as the target, are
    /// [`Unsupported`](crate::ErrorKind::Unsupported).
    pub fn watch<A: Handler<Terminated>>(
        &self,
        watcher: &ActorRef<A>,
        target: &(impl Watchable + ?Sized),
    ) -> Result<()> {
        let target = target.to_any();
        check_watch(watcher, &target)?;
        let request = WatchRequest::envelope(Observed::new(target.into_erased())?);
        watcher.core.notify(request).map_err(|_| watcher.core.stopped(std::any::type_name::<Terminated>()))
    }

    /// Makes an actor watch the live actor at a path of this system: see [`watch`](Self::watch).
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find), and of [`watch`](Self::watch).
    pub fn watch_path<A: Handler<Terminated>>(&self, watcher: &ActorRef<A>, path: &ActorPath) -> Result<()> {
        self.watch(watcher, &self.find(path)?)
    }
}
