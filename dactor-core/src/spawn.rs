use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::bound::{Limit, Overflow};
use crate::life::live;
use crate::mailbox::Mailbox;
use crate::path::Guardian;
use crate::pipeline::extend;
use crate::place::check_name;
use crate::seed::Seed;
use crate::shared::{Control, Head, Shared};
use crate::spi::Cell;
use crate::{
    Actor, ActorRef, Error, ErrorKind, Inbound, Result, Shed, StopReason, Supervision, System, stash,
};

/// A spawn: configure it, then await it for the ref.
#[must_use = "an actor is spawned when the spawn is awaited"]
pub struct Spawn<A: Actor> {
    system: System,
    seed: Seed<A>,
    name: Option<String>,
    guardian: Guardian,
    parent: Option<Arc<dyn Control>>,
    supervision: Option<Supervision>,
    limit: Limit,
    stash: usize,
    inbound: Vec<Arc<dyn Inbound>>,
}

impl<A: Actor> Spawn<A> {
    pub(crate) fn new(
        system: System,
        seed: Seed<A>,
        guardian: Guardian,
        parent: Option<Arc<dyn Control>>,
    ) -> Self {
        let limit = system.limit();
        Self {
            system,
            seed,
            name: None,
            guardian,
            parent,
            supervision: None,
            limit,
            stash: stash::CAPACITY,
            inbound: Vec::new(),
        }
    }

    /// Gives the actor a name, unique among the live children of its parent, or at the top of its system. It is the
    /// last segment of the actor's path: see [`PathSegment`](crate::path::PathSegment) for what it may be.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How its failures are met, whatever its parent's [`supervision`](Actor::supervision) says.
    pub fn supervision(mut self, supervision: Supervision) -> Self {
        self.supervision = Some(supervision);
        self
    }

    /// Bounds the mailbox: it holds this many messages, not counting the one in hand.
    pub fn bounded(mut self, capacity: usize, overflow: Overflow) -> Self {
        self.limit = Limit { capacity, overflow, ..self.limit };
        self
    }

    /// Leaves the mailbox unbounded, whatever the system's default is.
    pub fn unbounded(mut self) -> Self {
        self.limit = Limit { shed: self.limit.shed, ..Limit::NONE };
        self
    }

    /// Refuses new messages while the mailbox is too long or too slow, bounded or not.
    pub fn shed(mut self, shed: Shed) -> Self {
        self.limit.shed = Some(shed);
        self
    }

    /// How many messages the actor may [stash](crate::Context::stash): 1000 unless this says otherwise.
    pub fn stash(mut self, capacity: usize) -> Self {
        self.stash = capacity;
        self
    }

    /// Lets an interceptor see every message that the actor is about to handle, behind those of the system.
    pub fn inbound(mut self, interceptor: impl Inbound) -> Self {
        self.inbound.push(Arc::new(interceptor));
        self
    }

    fn begin(self) -> Result<Starting<A>> {
        tokio::runtime::Handle::try_current()
            .map_err(|error| Error::new(ErrorKind::NoRuntime).because(error).with("call", "spawn"))?;
        if let Some(name) = &self.name {
            check_name(name)?;
        }
        let limit = self.limit.check()?;
        let inbound = extend(self.system.inbound(), self.inbound);
        let mut outbound = self.system.outbound().clone();
        if inbound.is_some() {
            // Whoever sends to this actor says who it is.
            outbound.get_or_insert_with(|| Arc::new([]));
        }
        let name = self.name.map(Arc::from);
        let head = Head::new(name, self.system.clone(), self.guardian, self.parent, outbound)?;
        let shared = Arc::new(Shared { mailbox: Mailbox::new(limit), head });
        let enrolment = self.system.enrol(shared.clone())?;
        let life = live(shared.clone(), enrolment, self.seed, self.supervision, inbound, self.stash);
        Ok(Starting { cell: Some(Cell::new(Box::pin(life), shared.clone())), shared })
    }
}

impl<A: Actor> IntoFuture for Spawn<A> {
    type Output = Result<ActorRef<A>>;
    type IntoFuture = Spawning<A>;

    fn into_future(self) -> Spawning<A> {
        Spawning { stage: Stage::Configured(self) }
    }
}

impl<A: Actor> fmt::Debug for Spawn<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawn")
            .field("system", &self.system.name())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The future of a [`Spawn`].
#[must_use = "an actor is spawned when the spawn is awaited"]
pub struct Spawning<A: Actor> {
    stage: Stage<A>,
}

enum Stage<A: Actor> {
    Configured(Spawn<A>),
    Starting(Starting<A>),
    Over,
}

struct Starting<A: Actor> {
    shared: Arc<Shared<A>>,
    cell: Option<Cell>,
}

impl<A: Actor> Starting<A> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(cell) = &mut self.cell else { unreachable!("a spawn is polled to its end once") };
        let started = ready!(cell.poll_start(cx));
        let cell = self.cell.take().filter(|_| started);
        Poll::Ready(match cell {
            Some(cell) => {
                let system = &self.shared.head.system;
                let named = |error: Error| error.with("backend", system.backend()).about(&*self.shared);
                system.host().spawn(cell).map_err(named)?;
                self.shared.head.act(self.shared.mailbox.launch());
                Ok(())
            }
            None => Err(self.failure()),
        })
    }

    /// Why the actor ended instead of starting.
    fn failure(&self) -> Error {
        let error = Error::new(ErrorKind::StartFailed);
        match self.shared.head.end.get() {
            Some(StopReason::Failed(cause)) => error.because(cause.clone()),
            Some(reason) => error.with("reason", reason),
            None => error,
        }
    }
}

// Nothing in it is pinned: the life of the actor is boxed.
impl<A: Actor> Unpin for Spawning<A> {}

impl<A: Actor> Future for Spawning<A> {
    type Output = Result<ActorRef<A>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut starting = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Configured(spawn) => spawn.begin()?,
            Stage::Starting(starting) => starting,
            Stage::Over => panic!("a spawn was polled after it had ended"),
        };
        match starting.poll(cx) {
            Poll::Pending => {
                self.stage = Stage::Starting(starting);
                Poll::Pending
            }
            Poll::Ready(spawned) => Poll::Ready(spawned.map(|()| ActorRef::of(starting.shared))),
        }
    }
}

impl<A: Actor> fmt::Debug for Spawning<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawning").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puppet::{Puppet, system};

    #[test]
    fn a_mailbox_without_a_bound_still_sheds() {
        let shed = Shed::default().length(7);
        let spawn = system().spawn(Puppet).shed(shed).bounded(3, Overflow::Block);
        assert_eq!(spawn.limit, Limit { capacity: 3, overflow: Overflow::Block, shed: Some(shed) });
        assert_eq!(spawn.unbounded().limit, Limit { shed: Some(shed), ..Limit::NONE });
    }
}
