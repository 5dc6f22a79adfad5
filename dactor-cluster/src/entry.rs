//! A virtual actor on this node: its activation, and the messages held for it.

use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dactor_core::spi::{self, Envelope, FarRefused};
use dactor_core::{ActorPath, ActorRef, End, Error, ErrorKind, Pid, Priority, StopReason};
use dactor_engine::EntityId;
use tokio::time::Instant;

use crate::activate::{is_activating, run_activation};
use crate::catalog::AnyEntry;
use crate::cluster::{Inner, TypeInfo};
use crate::lifecycle::ActivationCore;
use crate::state::{Action, ActivationState, Event, next};
use crate::{ClusterError, DeactivationReason, VirtualActor};

/// The backoff after the first failed activation; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The maximum number of consecutive activations that end without handling a held message.
const FRUITLESS: u32 = 5;

pub(crate) struct Entry<A: VirtualActor> {
    pub(crate) cluster: Arc<Inner>,
    pub(crate) kind: Arc<TypeInfo>,
    pub(crate) id: EntityId,
    myself: Weak<Self>,
    inner: Mutex<Guarded<A>>,
}

struct Guarded<A: VirtualActor> {
    state: ActivationState,
    /// The number of the current activation, to ignore events of earlier ones.
    instance: u64,
    local: Option<ActorRef<A>>,
    core: Option<Arc<ActivationCore>>,
    /// The id of its actor, which may still be starting.
    pid: Option<Pid>,
    /// Messages that an ended activation accepted but did not handle. They precede the held messages.
    returned: VecDeque<(Envelope<A>, Priority)>,
    held: VecDeque<(Envelope<A>, Priority)>,
    /// A request to end that arrived during the activation.
    end_asked: Option<(End, DeactivationReason)>,
    /// Whether the actor ended during the activation.
    ended: bool,
    reason: Option<DeactivationReason>,
    /// The number of failures since the last handled message.
    failures: u32,
    retry_at: Option<Instant>,
}

impl<A: VirtualActor> Guarded<A> {
    fn apply(&mut self, event: Event) -> Action {
        let (state, action) = next(self.state, event);
        self.state = state;
        action
    }

    fn begin(&mut self) -> u64 {
        self.state = ActivationState::Creating;
        self.instance += 1;
        (self.local, self.core, self.pid) = (None, None, None);
        (self.reason, self.ended) = (None, false);
        self.instance
    }

    /// Removes all held messages, in order.
    fn take_waiting(&mut self) -> VecDeque<(Envelope<A>, Priority)> {
        let mut held = mem::take(&mut self.held);
        if self.returned.is_empty() {
            return held;
        }
        let mut waiting = mem::take(&mut self.returned);
        waiting.append(&mut held);
        waiting
    }

    fn anything_waits(&mut self) -> bool {
        self.returned.retain(|(envelope, _)| !envelope.is_withdrawn());
        self.held.retain(|(envelope, _)| !envelope.is_withdrawn());
        !self.returned.is_empty() || !self.held.is_empty()
    }

    fn note_failure(&mut self) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(10)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Some(Instant::now() + pause);
    }
}

impl<A: VirtualActor> Entry<A> {
    pub(crate) fn new(cluster: Arc<Inner>, kind: Arc<TypeInfo>, id: EntityId) -> Arc<Self> {
        let inner = Guarded {
            state: ActivationState::Invalid,
            instance: 0,
            local: None,
            core: None,
            pid: None,
            returned: VecDeque::new(),
            held: VecDeque::new(),
            end_asked: None,
            ended: false,
            reason: None,
            failures: 0,
            retry_at: None,
        };
        Arc::new_cyclic(|myself| Self { cluster, kind, id, myself: myself.clone(), inner: Mutex::new(inner) })
    }

    fn lock(&self) -> MutexGuard<'_, Guarded<A>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self) -> Arc<Self> {
        match self.myself.upgrade() {
            Some(shared) => shared,
            None => unreachable!("it is called through the Arc"),
        }
    }

    fn erased(&self) -> Arc<dyn AnyEntry> {
        self.shared()
    }

    /// The ref to the virtual actor.
    pub(crate) fn far_ref(&self) -> ActorRef<A> {
        let route = || self.cluster.route(&self.id, || self.shared());
        let system = &self.cluster.system;
        let path = match ActorPath::of_virtual_actor(system.parts(), self.kind.name, self.id.key()) {
            Ok(path) => path,
            Err(error) => unreachable!("it was checked when the first ref was made: {error}"),
        };
        match spi::far_ref(system, &path, route) {
            Ok(actor) => actor,
            Err(error) => unreachable!("the path is of a virtual actor: {error}"),
        }
    }

    /// Delivers a message to the actor, or holds it.
    pub(crate) fn deliver(&self, mut envelope: Envelope<A>, priority: Priority) -> Result<(), FarRefused<A>> {
        loop {
            let mut inner = self.lock();
            let local = match (inner.apply(Event::Message), &inner.local) {
                (Action::Deliver, Some(local)) => local.clone(),
                (Action::Begin, _) => {
                    let instance = inner.begin();
                    inner.held.push_back((envelope, priority));
                    drop(inner);
                    self.begin(instance);
                    return Ok(());
                }
                _ => return self.hold(inner, envelope, priority),
            };
            drop(inner);
            let FarRefused { envelope: back, error } = match spi::deliver(&local, envelope, priority) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            if error.kind() != ErrorKind::Stopped {
                return Err(FarRefused { envelope: back, error });
            }
            let mut inner = self.lock();
            if inner.local.as_ref() == Some(&local) {
                inner.apply(Event::Closed);
                return self.hold(inner, back, priority);
            }
            envelope = back;
        }
    }

    fn hold(
        &self,
        mut inner: MutexGuard<'_, Guarded<A>>,
        envelope: Envelope<A>,
        priority: Priority,
    ) -> Result<(), FarRefused<A>> {
        if self.cluster.has_left() {
            drop(inner);
            return Err(FarRefused { envelope, error: ClusterError::ShuttingDown.unhandled(&self.id) });
        }
        if let Some((capacity, _)) = self.kind.options.bound
            && inner.held.len() >= capacity
        {
            inner.held.retain(|(envelope, _)| !envelope.is_withdrawn());
            if inner.held.len() >= capacity {
                drop(inner);
                let error = Error::new(ErrorKind::MailboxFull)
                    .with("virtual actor", &self.id)
                    .with("message", envelope.message_type())
                    .with("because", "as many messages as its mailbox holds wait for its activation");
                return Err(FarRefused { envelope, error });
            }
        }
        inner.held.push_back((envelope, priority));
        Ok(())
    }

    fn begin(&self, instance: u64) {
        if self.cluster.catalog.insert(&self.id, self.erased()).is_err() {
            unreachable!("an actor has one entry as long as it has refs or is active");
        }
        let pause = self.lock().retry_at.map(|at| at.saturating_duration_since(Instant::now()));
        let guard = ActivationGuard { entry: self.shared(), instance, failure: None };
        self.cluster.runtime.spawn(async move {
            if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
                tokio::time::sleep(pause).await;
            }
            run_activation(guard).await;
        });
    }

    /// Records the id of the starting actor.
    pub(crate) fn starting(&self, instance: u64, actor: Pid) {
        let mut inner = self.lock();
        if inner.instance == instance {
            inner.pid = Some(actor);
        }
    }

    /// Whether the code running on this thread belongs to the activation.
    pub(crate) fn is_own_code(&self) -> bool {
        is_activating(self) || spi::current().is_some_and(|actor| self.lock().pid == Some(actor))
    }

    /// Handles the start of the actor: delivers the held messages.
    pub(crate) fn started(&self, instance: u64, local: &ActorRef<A>, core: &Arc<ActivationCore>) {
        {
            let mut inner = self.lock();
            if inner.instance != instance || inner.apply(Event::Started) != Action::Flush {
                return;
            }
            (inner.local, inner.core) = (Some(local.clone()), Some(core.clone()));
            inner.retry_at = None;
        }
        loop {
            let mut inner = self.lock();
            let waiting = inner.take_waiting();
            if waiting.is_empty() {
                inner.apply(Event::Flushed);
                return self.settle_start(inner);
            }
            drop(inner);
            let rest = self.flush(local, waiting);
            if !rest.is_empty() {
                let mut inner = self.lock();
                for waiting in rest.into_iter().rev() {
                    inner.held.push_front(waiting);
                }
                inner.apply(Event::Closed);
                return self.settle_start(inner);
            }
        }
    }

    /// Delivers messages to the actor, and returns those refused because it is ending.
    fn flush(
        &self,
        local: &ActorRef<A>,
        waiting: VecDeque<(Envelope<A>, Priority)>,
    ) -> VecDeque<(Envelope<A>, Priority)> {
        let mut waiting = waiting.into_iter();
        while let Some((envelope, priority)) = waiting.next() {
            match spi::deliver(local, envelope, priority) {
                Ok(()) => {}
                Err(FarRefused { envelope, error }) if error.kind() == ErrorKind::Stopped => {
                    return std::iter::once((envelope, priority)).chain(waiting).collect();
                }
                Err(FarRefused { envelope, error }) => spi::refuse(&self.far_ref(), envelope, &error),
            }
        }
        VecDeque::new()
    }

    /// Handles events that arrived during the activation.
    fn settle_start(&self, mut inner: MutexGuard<'_, Guarded<A>>) {
        let asked = inner.end_asked.take();
        if mem::take(&mut inner.ended) {
            return self.apply_end(inner);
        }
        drop(inner);
        if let Some((how, reason)) = asked {
            // Messages sent before the request are still handled.
            self.end(if how == End::Stop { End::Drain } else { how }, reason);
        }
    }

    /// Handles a failed activation: answers all held messages with the error.
    fn failed(&self, instance: u64, cause: ClusterError) {
        let mut inner = self.lock();
        if inner.instance != instance || inner.apply(Event::Failed) != Action::Answer {
            return;
        }
        inner.end_asked = None;
        inner.note_failure();
        let waiting = inner.take_waiting();
        self.cluster.catalog.remove(&self.id, &self.erased());
        drop(inner);
        tracing::warn!(actor = %self.id, error = %cause, waiting = waiting.len(), "not activated");
        self.refuse_all(waiting, cause);
    }

    fn refuse_all(&self, waiting: VecDeque<(Envelope<A>, Priority)>, cause: ClusterError) {
        if waiting.is_empty() {
            return;
        }
        let (far, error) = (self.far_ref(), cause.unhandled(&self.id));
        for (envelope, _) in waiting {
            spi::refuse(&far, envelope, &error);
        }
    }

    /// Keeps messages that the activation accepted but did not handle for the next one.
    pub(crate) fn give_back(&self, messages: Vec<(Envelope<A>, Priority)>) {
        self.lock().returned.extend(messages);
    }

    /// Handles the end of the actor, or its failure to start.
    pub(crate) fn ended(&self, instance: u64) {
        let mut inner = self.lock();
        if inner.instance != instance {
            return;
        }
        match next(inner.state, Event::Ended).1 {
            Action::Remember => inner.ended = true,
            Action::Finish => self.apply_end(inner),
            _ => {}
        }
    }

    /// Finishes the activation. Begins the next one if messages are held.
    fn apply_end(&self, mut inner: MutexGuard<'_, Guarded<A>>) {
        inner.apply(Event::Ended);
        inner.local = None;
        let core = inner.core.take();
        if core.as_ref().is_some_and(|core| core.has_handled()) {
            (inner.failures, inner.retry_at) = (0, None);
        }
        // A requested end does not count: the next activation is unlikely to end the same way.
        let is_fruitless = inner.reason.is_none() && core.as_ref().is_some_and(|core| !core.has_handled());
        let refusal = match &core {
            _ if self.cluster.is_closing() => Some(ClusterError::ShuttingDown),
            // Unless the node has rejoined in the meantime: the next activation then belongs to the new
            // incarnation.
            Some(core) if core.epoch.is_lost() && self.cluster.epoch().check().is_err() => {
                Some(core.epoch.error())
            }
            Some(_) if is_fruitless && inner.failures >= FRUITLESS => Some(ClusterError::EndsAtOnce),
            _ => None,
        };
        let waits = inner.anything_waits();
        if waits && refusal.is_none() {
            if is_fruitless {
                inner.note_failure();
            }
            let instance = inner.begin();
            drop(inner);
            return self.begin(instance);
        }
        let waiting = inner.take_waiting();
        self.cluster.catalog.remove(&self.id, &self.erased());
        drop(inner);
        if let Some(cause) = refusal {
            self.refuse_all(waiting, cause);
        }
        if let Some(core) = core.filter(|core| !core.epoch.is_lost()) {
            self.cluster.release(&core);
        }
    }

    /// Ends the actor, if it is active.
    pub(crate) fn end(&self, how: End, reason: DeactivationReason) {
        self.end_if(how, reason, |_| true);
    }

    fn end_if(&self, how: End, reason: DeactivationReason, is_meant: impl Fn(&Guarded<A>) -> bool) {
        let mut inner = self.lock();
        if !is_meant(&inner) {
            return;
        }
        match inner.apply(Event::EndAsked) {
            Action::Remember => inner.end_asked = Some((how, reason)),
            Action::Signal => {
                inner.reason.get_or_insert(reason);
                let local = inner.local.clone();
                drop(inner);
                if let Some(local) = local {
                    // Cannot fail for an actor of this process.
                    let _ = local.end(how);
                }
            }
            _ => {}
        }
    }

    /// Maps the stop reason of the actor to a deactivation reason.
    pub(crate) fn reason(&self, reason: &StopReason) -> DeactivationReason {
        let asked = self.lock().reason;
        match (asked, reason) {
            (Some(asked), _) => asked,
            (None, StopReason::Failed(_)) => DeactivationReason::Failed,
            (None, _) if self.cluster.is_closing() => DeactivationReason::Shutdown,
            (None, _) => DeactivationReason::Requested,
        }
    }
}

impl<A: VirtualActor> AnyEntry for Entry<A> {
    fn end_instance(&self, instance: u64, how: End, reason: DeactivationReason) {
        self.end_if(how, reason, |inner| inner.instance == instance);
    }

    fn lose(&self) {
        let waiting = {
            let mut inner = self.lock();
            inner.reason = Some(DeactivationReason::Lost);
            inner.take_waiting()
        };
        self.refuse_all(waiting, self.cluster.epoch().error());
        self.end(End::Kill, DeactivationReason::Lost);
    }

    fn state(&self) -> ActivationState {
        self.lock().state
    }

    fn cluster(&self) -> &Arc<Inner> {
        &self.cluster
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// An activation in progress. If it is dropped early, because the runtime has shut down, the activation
/// fails.
pub(crate) struct ActivationGuard<A: VirtualActor> {
    pub(crate) entry: Arc<Entry<A>>,
    pub(crate) instance: u64,
    pub(crate) failure: Option<ClusterError>,
}

impl<A: VirtualActor> Drop for ActivationGuard<A> {
    fn drop(&mut self) {
        let cause = self.failure.take().unwrap_or(ClusterError::ShuttingDown);
        // Ignored after a start.
        self.entry.failed(self.instance, cause);
    }
}
