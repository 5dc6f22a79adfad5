use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::actor::factory::Factory;
use crate::actor::stash;
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::interceptor::chain::extend;
use crate::kernel::actor_core::{ActorCore, ActorMeta, DynActor};
use crate::kernel::cell::Cell;
use crate::kernel::cycles::Start;
use crate::kernel::live_path::check_name;
use crate::kernel::task::actor_future;
use crate::mailbox::Mailbox;
use crate::mailbox::bound::Limit;
use crate::mailbox::overflow::Overflow;
use crate::path::Guardian;
use crate::system::runtime;
use crate::{Actor, ActorRef, Error, ErrorKind, Inbound, Result, Shed, StopReason, Supervision, System};

/// A spawn: configure it, then await it for the ref. It is a future, so `block_on` and `tokio::spawn` take it as it is.
#[must_use = "nothing is spawned before the `.await`: write `system.spawn(..).await?`"]
pub struct Spawn<A: Actor> {
    stage: Stage<A>,
}

// Boxing the plan would cost every spawn an allocation.
#[allow(clippy::large_enum_variant)]
enum Stage<A: Actor> {
    Configured(Plan<A>),
    Starting(Starting<A>),
    Over,
}

/// What is to be spawned.
struct Plan<A: Actor> {
    system: System,
    /// Until the actor is registered.
    factory: Option<Factory<A>>,
    name: Option<Arc<str>>,
    guardian: Guardian,
    parent: Option<Arc<dyn DynActor>>,
    /// Of the parent's children: a restart of the parent begins another.
    generation: u32,
    supervision: Option<Supervision>,
    limit: Limit,
    stash: usize,
    inbound: Vec<Arc<dyn Inbound>>,
    lifecycle: Option<SharedLifecycle<A>>,
}

impl<A: Actor> Spawn<A> {
    pub(crate) fn new(
        system: System,
        factory: Factory<A>,
        guardian: Guardian,
        parent: Option<Arc<dyn DynActor>>,
    ) -> Self {
        let limit = system.limit();
        let generation = parent.as_ref().map_or(0, |parent| parent.meta().family().generation());
        let plan = Plan {
            system,
            factory: Some(factory),
            name: None,
            guardian,
            parent,
            generation,
            supervision: None,
            limit,
            stash: stash::CAPACITY,
            inbound: Vec::new(),
            lifecycle: None,
        };
        Self { stage: Stage::Configured(plan) }
    }

    /// A spawn is configured before it is polled: these methods take it by value.
    fn plan(&mut self) -> &mut Plan<A> {
        match &mut self.stage {
            Stage::Configured(plan) => plan,
            Stage::Starting(_) | Stage::Over => panic!("a spawn was configured after it had been polled"),
        }
    }

    /// Gives the actor a name, unique among the live children of its parent, or at the top of its system.
    ///
    /// Any text can be a name, except the empty one, `.` and `..`, and what begins with `$`. It is what
    /// [`ActorRef::name`], [`System::get`] and [`Context::child`](crate::Context::child) know the actor by. In the actor's
    /// path it is the last segment, where characters that a path may not contain are
    /// [escaped](crate::path::PathSegment::escape): `Benjamin Franklin` is `pekko://bank/user/Benjamin%20Franklin`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.plan().name = Some(Arc::from(name.into()));
        self
    }

    /// How its failures are met, whatever its parent's [`supervision`](Actor::supervision) says.
    pub fn supervision(mut self, supervision: Supervision) -> Self {
        self.plan().supervision = Some(supervision);
        self
    }

    /// Bounds the mailbox: it holds this many messages, not counting the one in hand.
    pub fn bounded(mut self, capacity: usize, overflow: Overflow) -> Self {
        let plan = self.plan();
        plan.limit = Limit { capacity, overflow, ..plan.limit };
        self
    }

    /// Leaves the mailbox unbounded, whatever the system's default is.
    pub fn unbounded(mut self) -> Self {
        let plan = self.plan();
        plan.limit = Limit { shed: plan.limit.shed, ..Limit::NONE };
        self
    }

    /// Refuses new messages while the mailbox is too long or too slow, bounded or not.
    pub fn shed(mut self, shed: Shed) -> Self {
        self.plan().limit.shed = Some(shed);
        self
    }

    /// How many messages the actor may [stash](crate::Context::stash): 1000 unless this says otherwise.
    pub fn stash(mut self, capacity: usize) -> Self {
        self.plan().stash = capacity;
        self
    }

    /// Lets an interceptor see every message that the actor is about to handle, behind those of the system.
    pub fn inbound(mut self, interceptor: impl Inbound) -> Self {
        self.plan().inbound.push(Arc::new(interceptor));
        self
    }
}

/// What only an actor that was spawned has. A spawn never has it: these methods are here so that the compiler can say
/// what is missing.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the actor is not spawned yet",
    label = "nothing is spawned before the `.await`",
    note = "await the spawn for its ref: `let actor = system.spawn(..).await?;`"
)]
pub trait Awaited {}

#[doc(hidden)]
#[allow(missing_docs)]
impl<A: Actor> Spawn<A> {
    pub fn tell<M>(&self, _: M)
    where
        Self: Awaited,
    {
    }

    pub fn send<M>(&self, _: M)
    where
        Self: Awaited,
    {
    }

    pub fn ask<M>(&self, _: M)
    where
        Self: Awaited,
    {
    }
}

/// For [`with_lifecycle`](crate::spi::with_lifecycle).
impl<A: Actor> Spawn<A> {
    pub(crate) fn set_lifecycle(&mut self, lifecycle: SharedLifecycle<A>) {
        self.plan().lifecycle = Some(lifecycle);
    }
}

/// For [`GetOrSpawn`](crate::GetOrSpawn).
impl<A: Actor> Spawn<A> {
    pub(super) fn system(&mut self) -> &System {
        &self.plan().system
    }

    /// The live actor that has the name.
    pub(super) fn existing(&mut self) -> Option<Arc<dyn DynActor>> {
        let Plan { system, name, guardian, parent, .. } = self.plan();
        let name = name.as_deref()?;
        match parent {
            Some(parent) => parent.meta().family().child(name),
            None => system.registry().get(*guardian, name),
        }
    }

    /// Registers the actor, so that others find it starting. After an error the spawn is as it was.
    pub(super) fn begin(&mut self) -> Result<()> {
        let starting = self.plan().begin()?;
        self.stage = Stage::Starting(starting);
        Ok(())
    }
}

impl<A: Actor> Plan<A> {
    /// Registers the actor. What was to be spawned is still there after an error.
    fn begin(&mut self) -> Result<Starting<A>> {
        runtime::check("spawn")?;
        if let Some(name) = &self.name {
            check_name(name)?;
        }
        let limit = self.limit.check()?;
        let mut outbound = self.system.outbound().clone();
        if !self.inbound.is_empty() || self.system.inbound().is_some() {
            // A message to this actor says who sent it.
            outbound.get_or_insert_with(|| Arc::new([]));
        }
        let meta = ActorMeta::new(
            self.name.clone(),
            self.system.clone(),
            self.guardian,
            self.parent.clone(),
            outbound,
        )?;
        let core = Arc::new(ActorCore { mailbox: Mailbox::new(limit), meta });
        let registration = self.system.register(core.clone(), self.generation)?;
        let Some(factory) = self.factory.take() else { unreachable!("a spawn registers once") };
        let mut inbound = extend(self.system.inbound(), mem::take(&mut self.inbound));
        let lifecycle = self.lifecycle.take();
        if lifecycle.is_some() {
            // A message asks for its lifecycle only where it has interceptors, if only none.
            inbound.get_or_insert_with(|| Arc::new([]));
        }
        let supervision = self.supervision.take();
        let future =
            actor_future(core.clone(), registration, factory, supervision, inbound, self.stash, lifecycle);
        Ok(Starting { cell: Some(Cell::new(Box::pin(future), core.clone())), core })
    }
}

impl<A: Actor> fmt::Debug for Spawn<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Spawn");
        if let Stage::Configured(plan) = &self.stage {
            shown.field("system", &plan.system.name()).field("name", &plan.name);
        }
        shown.finish_non_exhaustive()
    }
}

struct Starting<A: Actor> {
    core: Arc<ActorCore<A>>,
    cell: Option<Cell>,
}

impl<A: Actor> Starting<A> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(cell) = &mut self.cell else { unreachable!("a spawn is polled to its end once") };
        let started = ready!(cell.poll_start(cx));
        let cell = self.cell.take().filter(|_| started);
        Poll::Ready(match cell {
            Some(cell) => {
                let system = self.core.meta.system();
                let named = |error: Error| error.with("backend", system.backend_name()).about(&*self.core);
                system.backend().spawn(cell).map_err(named)?;
                self.core.meta.wake(self.core.mailbox.launch());
                system.starts().notify_waiters();
                Ok(())
            }
            None => Err(start_failure(self.core.meta.stop_reason())),
        })
    }
}

/// Why an actor ended instead of starting.
pub(super) fn start_failure(reason: Option<&StopReason>) -> Error {
    let error = Error::new(ErrorKind::StartFailed);
    match reason {
        Some(StopReason::Failed(cause)) => error.because(cause.clone()),
        Some(reason) => error.with("reason", reason),
        None => error,
    }
}

// Nothing in it is pinned: the actor's future is boxed.
impl<A: Actor> Unpin for Spawn<A> {}

impl<A: Actor> Future for Spawn<A> {
    type Output = Result<ActorRef<A>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut starting = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Configured(mut plan) => plan.begin()?,
            Stage::Starting(starting) => starting,
            Stage::Over => panic!("a spawn was polled after it had ended"),
        };
        let start = Start::begin(cx.waker());
        match starting.poll(cx) {
            Poll::Pending => {
                start.waits(starting.core.meta.pid(), cx.waker());
                self.stage = Stage::Starting(starting);
                Poll::Pending
            }
            Poll::Ready(spawned) => Poll::Ready(spawned.map(|()| ActorRef::of(starting.core))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::test_actors::{TestActor, system};

    #[test]
    fn a_mailbox_without_a_bound_still_sheds() {
        let shed = Shed::default().length(7);
        let mut spawn = system().spawn(TestActor).shed(shed).bounded(3, Overflow::Block);
        assert_eq!(spawn.plan().limit, Limit { capacity: 3, overflow: Overflow::Block, shed: Some(shed) });
        assert_eq!(spawn.unbounded().plan().limit, Limit { shed: Some(shed), ..Limit::NONE });
    }
}
