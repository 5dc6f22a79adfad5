use crate::actor::watch::Watching;
use crate::base::label::is_same_actor;
use crate::kernel::actor_core::Observed;
use crate::{
    Actor, ActorPath, ActorRef, AnyActorRef, Context, Error, ErrorKind, Handler, Result, Terminated,
    Watchable,
};

/// Death watch.
impl<A: Actor> Context<A> {
    /// Watches another actor: this actor gets one [`Terminated`] when the other ends, for any reason, or
    /// immediately if it has already ended. Takes any ref to the other actor, including a
    /// [`Recipient`](crate::Recipient).
    ///
    /// Idempotent: watching an actor twice yields one notice. After the notice has been handled, the actor
    /// can be watched again. A restart of this actor keeps its watches, except those on its children, which
    /// the restart stops.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Context, Handler, Message, Outcome, Terminated};
    /// # struct Worker; impl Actor for Worker {}
    /// struct Pool { worker: ActorRef<Worker> }
    ///
    /// impl Actor for Pool {
    ///     async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         Ok(ctx.watch(&self.worker)?)
    ///     }
    /// }
    ///
    /// impl Handler<Terminated> for Pool {
    ///     async fn handle(&mut self, worker: Terminated, _: &mut Context<Self>) -> Outcome<()> {
    ///         println!("{} has ended: {}", worker.label(), worker.reason());
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidWatch`](ErrorKind::InvalidWatch): an actor that watched itself would never hear of its end. For an actor that
    /// lives elsewhere, the error of its route: [`Unsupported`](ErrorKind::Unsupported) for a virtual actor, which has no end.
    pub fn watch(&mut self, other: &(impl Watchable + ?Sized)) -> Result<()>
    where
        A: Handler<Terminated>,
    {
        let other = other.to_any();
        check_watch(&self.myself, &other)?;
        self.begin_watch(Observed::new(other.into_erased())?);
        Ok(())
    }

    /// Begins to watch another actor than this one.
    pub(crate) fn begin_watch(&mut self, other: Observed)
    where
        A: Handler<Terminated>,
    {
        let watching = self.watching.get_or_insert_with(|| Box::new(Watching::new(self.myself.id())));
        watching.begin(self.myself.core.clone(), other);
    }

    /// [Watches](Self::watch) the live actor at a path.
    ///
    /// # Errors
    ///
    /// Those of [`System::find`](crate::System::find), and of [`watch`](Self::watch).
    pub fn watch_path(&mut self, path: &ActorPath) -> Result<()>
    where
        A: Handler<Terminated>,
    {
        let other = self.system().find(path)?;
        self.watch(&other)
    }

    /// Removes a watch. Its [`Terminated`] is not delivered after this, even if the actor has already ended.
    /// `false` when there was no such watch.
    pub fn unwatch(&mut self, other: &(impl Watchable + ?Sized)) -> bool {
        self.watching.as_mut().is_some_and(|watching| watching.end(other.to_any().id()))
    }

    /// Removes the watches on this actor's own children, including ended ones.
    pub(crate) fn forget_children(&mut self) {
        self.watching.iter_mut().for_each(|watching| watching.end_children());
    }

    /// Whether the notice of a watch should still be delivered.
    pub(crate) fn claims(&mut self, terminated: &Terminated, watch: u64) -> bool {
        self.watching.as_mut().is_some_and(|watching| watching.claim(terminated.pid(), watch))
    }
}

/// An actor cannot watch itself: it could not handle its own `Terminated`.
pub(crate) fn check_watch<A: Actor>(watcher: &ActorRef<A>, target: &AnyActorRef) -> Result<()> {
    if is_same_actor(watcher, &**target.erased()) {
        return Err(Error::new(ErrorKind::InvalidWatch).about(watcher));
    }
    if watcher.core.meta.is_far() {
        let error = Error::new(ErrorKind::Unsupported).about(watcher).with("call", "watch");
        return Err(error.with("because", "the watcher lives elsewhere: let it watch in its own code"));
    }
    Ok(())
}
