use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::actor::factory::Factory;
use crate::actor::stash;
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::interceptor::chain::extend;
use crate::kernel::actor_core::{ActorCore, ActorMeta, DynActor, Identity};
use crate::kernel::cell::Cell;
use crate::kernel::cycles::Start;
use crate::kernel::live_path::check_name;
use crate::kernel::task::reads::ReadLimits;
use crate::kernel::task::{SpawnOptions, actor_future};
use crate::mailbox::Mailbox;
use crate::mailbox::bound::Limit;
use crate::mailbox::overflow::Overflow;
use crate::path::Guardian;
use crate::system::runtime;
use crate::{Actor, ActorRef, Error, ErrorKind, Inbound, Result, Shed, StopReason, Supervision, System};

/// A spawn: configure it, then await the ref. It is a future, so `block_on` and `tokio::spawn` accept it
/// directly.
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

/// No interceptors, where an actor needs to have some.
static NO_INBOUND: LazyLock<Arc<[Arc<dyn Inbound>]>> = LazyLock::new(|| Arc::new([]));

/// The configuration of a spawn.
struct Plan<A: Actor> {
    system: System,
    /// `None` once the actor is registered.
    factory: Option<Factory<A>>,
    name: Option<Arc<str>>,
    guardian: Guardian,
    parent: Option<Arc<dyn DynActor>>,
    /// The generation of the parent's children: a restart of the parent starts another.
    generation: u32,
    options: SpawnOptions,
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
            options: SpawnOptions::default(),
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

    /// Names the actor. The name must be unique among the live children of its parent, or among the top-level
    /// actors.
    ///
    /// Any text is a valid name, except the empty text, `.`, `..`, and names that begin with `$`.
    /// [`ActorRef::name`], [`System::get`] and [`Context::child`](crate::Context::child) use it unchanged. In
    /// the actor's path it is the last segment, where characters that a path may not contain are
    /// [escaped](crate::path::PathSegment::escape): `Benjamin Franklin` is
    /// `pekko://bank/user/Benjamin%20Franklin`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.plan().name = Some(Arc::from(name.into()));
        self
    }

    /// The supervision strategy for this actor, overriding its parent's [`supervision`](Actor::supervision).
    pub fn supervision(mut self, supervision: Supervision) -> Self {
        self.plan().options.supervision = Some(supervision);
        self
    }

    /// Bounds the mailbox to this many messages, not counting the one being handled.
    pub fn bounded(mut self, capacity: usize, overflow: Overflow) -> Self {
        let plan = self.plan();
        plan.limit = Limit { capacity, overflow, ..plan.limit };
        self
    }

    /// Makes the mailbox unbounded, overriding the system's default.
    pub fn unbounded(mut self) -> Self {
        let plan = self.plan();
        plan.limit = Limit { shed: plan.limit.shed, ..Limit::NONE };
        self
    }

    /// Load shedding: refuses new messages while the mailbox is too long or too slow, bounded or not.
    pub fn shed(mut self, shed: Shed) -> Self {
        self.plan().limit.shed = Some(shed);
        self
    }

    /// The capacity of the [stash](crate::Context::stash): 1000 messages by default.
    pub fn stash(mut self, capacity: usize) -> Self {
        self.plan().stash = capacity;
        self
    }

    /// How many reads of the actor run at once: 64 unless this says otherwise. Further ones wait in the mailbox.
    ///
    /// A read that asks its own actor for a read which would have to wait gets
    /// [`AskedItself`](ErrorKind::AskedItself): see [`max_interleaved`](Self::max_interleaved).
    pub fn max_reads(mut self, count: usize) -> Self {
        self.read_limits().reads = count;
        self
    }

    /// How many [interleaved](crate::Interleaved) reads of the actor run at once: 64 unless this says otherwise. They do not
    /// count for [`max_reads`](Self::max_reads). One more is refused: its asker gets
    /// [`Overloaded`](ErrorKind::Overloaded).
    pub fn max_interleaved(mut self, count: usize) -> Self {
        self.read_limits().interleaved = count;
        self
    }

    /// Reports a read of the actor that runs longer than this ([`Event::SlowRead`](crate::Event::SlowRead)).
    pub fn slow_read(mut self, after: Duration) -> Self {
        self.read_limits().slow = Some(after);
        self
    }

    fn read_limits(&mut self) -> &mut ReadLimits {
        self.plan().options.reads.get_or_insert_default()
    }

    /// Adds an inbound interceptor, after those of the system.
    pub fn inbound(mut self, interceptor: impl Inbound) -> Self {
        self.plan().inbound.push(Arc::new(interceptor));
        self
    }
}

/// Methods of a spawned actor. A spawn never has them: they exist only to make the compiler name the missing
/// `.await`.
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

    /// The live actor with this name.
    pub(super) fn existing(&mut self) -> Option<Arc<dyn DynActor>> {
        let Plan { system, name, guardian, parent, .. } = self.plan();
        let name = name.as_deref()?;
        match parent {
            Some(parent) => parent.meta().family().child(name),
            None => system.registry().get(*guardian, name),
        }
    }

    /// Registers the actor, so that other callers find it starting. After an error the spawn is unchanged.
    pub(super) fn begin(&mut self) -> Result<()> {
        let starting = self.plan().begin()?;
        self.stage = Stage::Starting(starting);
        Ok(())
    }
}

impl<A: Actor> Plan<A> {
    /// Registers the actor. After an error the plan is unchanged.
    fn begin(&mut self) -> Result<Starting<A>> {
        runtime::check("spawn")?;
        if let Some(name) = &self.name {
            check_name(name)?;
        }
        let limit = self.limit.check()?;
        self.options.reads.as_ref().map(ReadLimits::check).transpose()?;
        let mut outbound = self.system.outbound().clone();
        if !self.inbound.is_empty() || self.system.inbound().is_some() {
            // Messages to this actor carry their sender.
            outbound.get_or_insert_with(|| Arc::new([]));
        }
        let identity =
            Identity::new(self.name.as_deref(), &self.system, self.guardian, self.parent.as_deref())?;
        let core = Arc::new(ActorCore {
            mailbox: Mailbox::new(limit),
            meta: ActorMeta::new(
                identity,
                self.name.clone(),
                self.system.clone(),
                self.guardian,
                self.parent.clone(),
                outbound,
            ),
        });
        let registration = self.system.register(core.clone(), self.generation)?;
        let Some(factory) = self.factory.take() else { unreachable!("a spawn registers once") };
        let mut inbound = extend(self.system.inbound(), mem::take(&mut self.inbound));
        let lifecycle = self.lifecycle.take();
        if let Some(lifecycle) = &lifecycle {
            lifecycle.starting(core.meta.pid());
            // A message asks for its lifecycle only where it has interceptors, if only none.
            inbound.get_or_insert_with(|| NO_INBOUND.clone());
        }
        let options = mem::take(&mut self.options);
        let future =
            actor_future(core.clone(), registration, factory, options, inbound, self.stash, lifecycle);
        Ok(Starting { cell: Some(Cell::new(future, core.clone())), core })
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
                if self.core.meta.name().is_some() {
                    // Only a `get_or_spawn` waits, and only for an actor that has a name.
                    system.starts().notify_waiters();
                }
                Ok(())
            }
            None => Err(start_failure(self.core.meta.stop_reason())),
        })
    }
}

impl<A: Actor> Starting<A> {
    #[cfg(not(all(feature = "testkit", feature = "wire")))]
    fn spawned(&self) -> ActorRef<A> {
        ActorRef::of(self.core.clone())
    }

    /// The test kit may let the refs to top-level actors lead through a link.
    #[cfg(all(feature = "testkit", feature = "wire"))]
    fn spawned(&self) -> ActorRef<A> {
        let meta = &self.core.meta;
        if meta.guardian() != Guardian::User || meta.parent().is_some() {
            return ActorRef::of(self.core.clone());
        }
        let core = meta.system().far().spawned(self.core.clone());
        ActorRef::known(core).unwrap_or_else(|| ActorRef::of(self.core.clone()))
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
        // In place: the plan is large, and is not moved out of its stage.
        if let Stage::Configured(plan) = &mut self.stage {
            match plan.begin() {
                Ok(starting) => self.stage = Stage::Starting(starting),
                Err(error) => {
                    self.stage = Stage::Over;
                    return Poll::Ready(Err(error));
                }
            }
        }
        let Stage::Starting(starting) = &mut self.stage else {
            panic!("a spawn was polled after it had ended")
        };
        let start = Start::begin(cx.waker());
        let Poll::Ready(spawned) = starting.poll(cx) else {
            start.waits(starting.core.meta.pid(), cx.waker());
            return Poll::Pending;
        };
        let spawned = spawned.map(|()| starting.spawned());
        self.stage = Stage::Over;
        Poll::Ready(spawned)
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
