//! The part of an actor's shared state that does not depend on the actor's type.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;
use tracing::span;

use super::DynActor;
use super::place::FarPlace;
use crate::base::label::Labelled;
use crate::base::uid::uid_of;
use crate::interceptor::chain::Chain;
use crate::kernel::backend::NativeHandle;
use crate::kernel::ended::Ended;
use crate::kernel::family::{Family, Supervisor};
use crate::kernel::live_path::path_length;
use crate::kernel::turn::{ActorSpan, PollState};
use crate::kernel::watchers::Watchers;
use crate::mailbox::{Ending, Wakeup};
use crate::path::generated::GeneratedName;
use crate::path::{ActorPathParts, ActorUid, Guardian, PathSegment};
use crate::{Outbound, Pid, Result, StopReason, System};

/// The type-independent part of an actor's core.
pub(crate) struct ActorMeta {
    pid: Pid,
    name: Option<Arc<str>>,
    system: System,
    native_handle: OnceLock<Box<dyn NativeHandle>>,
    end: Ended,
    poll_state: PollState,
    guardian: Guardian,
    path_length: u16,
    /// A copy of the system's setting, next to the fields that every turn reads.
    detects_cycles: bool,
    /// `None` for a top-level actor.
    parent: Option<Arc<dyn DynActor>>,
    family: Family,
    watchers: Watchers,
    /// Outbound interceptors for messages to this actor; present but empty when only the actor itself has
    /// interceptors.
    outbound: Chain<dyn Outbound>,
    /// Its mailbox is elsewhere, and its native handle is a [`FarPlace`].
    is_far: bool,
    exposed: AtomicBool,
    span: ActorSpan,
    /// Cancelled when the actor starts draining; created for its first stream.
    draining: OnceLock<CancellationToken>,
}

/// The number of a new actor, and the length of its path, which is known to be short enough.
pub(crate) struct Identity {
    pid: Pid,
    path_length: u16,
}

impl Identity {
    /// An error when the path would be too long.
    pub(crate) fn new(
        name: Option<&str>,
        system: &System,
        guardian: Guardian,
        parent: Option<&dyn DynActor>,
    ) -> Result<Self> {
        let pid = Pid::next();
        let above = match parent {
            Some(parent) => parent.meta().path_length(),
            None => system.guardian_length(guardian),
        };
        Ok(Self { pid, path_length: path_length(above, name, pid, system.name())? })
    }
}

impl ActorMeta {
    /// Inlined, and not fallible, so that it is made where it stays: it is large.
    #[inline(always)]
    pub(crate) fn new(
        identity: Identity,
        name: Option<Arc<str>>,
        system: System,
        guardian: Guardian,
        parent: Option<Arc<dyn DynActor>>,
        outbound: Chain<dyn Outbound>,
    ) -> Self {
        Self {
            pid: identity.pid,
            path_length: identity.path_length,
            is_far: false,
            detects_cycles: system.detects_cycles(),
            name,
            system,
            guardian,
            parent,
            family: Family::default(),
            watchers: Watchers::default(),
            native_handle: OnceLock::new(),
            end: Ended::new(),
            poll_state: PollState::new(),
            outbound,
            exposed: AtomicBool::new(false),
            span: ActorSpan::default(),
            draining: OnceLock::new(),
        }
    }

    /// Of an actor that lives elsewhere. Its name is the one in its path.
    pub(crate) fn elsewhere(system: System, place: FarPlace) -> Self {
        let path = place.path();
        let name = path.name().and_then(PathSegment::unescaped);
        // A generated name is that of an actor without one. The key of a virtual actor may be any text.
        let is_given =
            |name: &str| path.virtual_actor().is_some() || GeneratedName::number_in(name).is_none();
        let name = name.filter(|name| is_given(name)).map(Arc::from);
        let outbound = system.outbound().clone();
        Self {
            pid: Pid::next(),
            path_length: 0,
            is_far: true,
            detects_cycles: false,
            name,
            system,
            guardian: place.path().guardian().unwrap_or_default(),
            parent: None,
            family: Family::default(),
            watchers: Watchers::default(),
            native_handle: OnceLock::from(Box::new(place) as Box<dyn NativeHandle>),
            end: Ended::new(),
            poll_state: PollState::new(),
            outbound,
            exposed: AtomicBool::new(false),
            span: ActorSpan::default(),
            draining: OnceLock::new(),
        }
    }

    #[inline]
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// The name given at spawn.
    pub(crate) fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    #[inline]
    pub(crate) fn system(&self) -> &System {
        &self.system
    }

    pub(crate) fn guardian(&self) -> Guardian {
        self.guardian
    }

    /// The length of its path, without the UID.
    pub(crate) fn path_length(&self) -> usize {
        usize::from(self.path_length)
    }

    /// `None` for a top-level actor.
    pub(crate) fn parent(&self) -> Option<&Arc<dyn DynActor>> {
        self.parent.as_ref()
    }

    #[inline]
    pub(crate) fn family(&self) -> &Family {
        &self.family
    }

    pub(crate) fn watchers(&self) -> &Watchers {
        &self.watchers
    }

    #[inline]
    pub(crate) fn poll_state(&self) -> &PollState {
        &self.poll_state
    }

    /// Outbound interceptors for messages to this actor.
    pub(crate) fn outbound(&self) -> &Chain<dyn Outbound> {
        &self.outbound
    }

    #[inline]
    pub(crate) fn detects_cycles(&self) -> bool {
        self.detects_cycles
    }

    /// The stop reason, once it has ended.
    pub(crate) fn stop_reason(&self) -> Option<&StopReason> {
        self.end.get()
    }

    /// Whether it has not ended; `None` for a remote actor whose end is not known.
    pub(crate) fn is_alive(&self) -> Option<bool> {
        match self.has_ended() {
            true => Some(false),
            false if self.is_far => None,
            false => Some(true),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.get().is_some()
    }

    /// Waits until it has ended and its watchers have been notified.
    pub(crate) async fn ended(&self) -> &StopReason {
        self.end.wait().await
    }

    /// The same, but an error in the actor's own turn, where waiting would be a deadlock.
    pub(crate) fn ended_outside_turn<'a>(
        &'a self,
        actor: &'a (impl Labelled + ?Sized),
    ) -> impl Future<Output = Result<StopReason>> + Send + 'a {
        self.end.wait_outside_turn(actor)
    }

    /// Makes the reason of its end readable. `false` when it was before.
    pub(crate) fn set_ended(&self, reason: StopReason) -> bool {
        self.end.set(reason)
    }

    /// Whether it lives elsewhere.
    #[inline]
    pub(crate) fn is_far(&self) -> bool {
        self.is_far
    }

    /// Where it lives, if that is elsewhere.
    #[inline]
    pub(crate) fn far(&self) -> Option<&FarPlace> {
        if self.is_far { self.place() } else { None }
    }

    #[cold]
    fn place(&self) -> Option<&FarPlace> {
        self.native_handle.get()?.native().downcast_ref()
    }

    /// Which incarnation at its path it is.
    #[inline]
    pub(crate) fn uid(&self) -> ActorUid {
        self.far().map_or_else(|| uid_of(self.pid), FarPlace::uid)
    }

    /// The address of the system that it lives in.
    #[inline]
    pub(crate) fn address(&self) -> &ActorPathParts {
        self.far().map_or_else(|| self.system.parts(), FarPlace::address)
    }

    /// Wakes the waiters for its end.
    pub(crate) fn announce_end(&self) {
        self.end.announce();
    }

    /// Whether it has a native actor, which means that it has started.
    pub(crate) fn is_hosted(&self) -> bool {
        self.native_handle.get().is_some()
    }

    pub(crate) fn set_native_handle(&self, handle: Box<dyn NativeHandle>) {
        // A cell is given to a native actor once.
        let _ = self.native_handle.set(handle);
    }

    /// Notifies the actor's streams of a drain. Other endings do not wait for them.
    pub(super) fn announce(&self, ending: Ending) {
        if ending == Ending::Drain
            && let Some(draining) = self.draining.get()
        {
            draining.cancel();
        }
    }

    /// Cancelled when its streams are [notified](Self::announce) of a drain.
    pub(super) fn draining_token(&self) -> &CancellationToken {
        self.draining.get_or_init(CancellationToken::new)
    }

    /// Whether its parent waits for it to end.
    pub(crate) fn is_awaited_by_parent(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.meta().family.is_stopping_children())
    }

    /// The supervisor that decides about its failures.
    pub(crate) fn supervisor(&self) -> Supervisor<'_> {
        match &self.parent {
            Some(parent) => Supervisor::Parent(&**parent),
            None => Supervisor::Guardian(self),
        }
    }

    /// Whether the native handle was given out, so that native signals may bypass the mailbox.
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed.load(Ordering::Relaxed)
    }

    /// The native handle, and whether this is the first time it is given out.
    pub(super) fn expose(&self) -> Option<(&dyn NativeHandle, bool)> {
        let handle = self.native_handle.get().filter(|_| !self.is_far)?;
        Some((&**handle, !self.exposed.swap(true, Ordering::Relaxed)))
    }

    #[inline]
    pub(super) fn enter_span(&self, actor: &dyn Labelled) -> Option<span::Entered<'_>> {
        self.span.enter(actor)
    }

    pub(crate) fn wake(&self, wakeup: Wakeup) {
        match wakeup {
            Wakeup::None => {}
            Wakeup::Waker(waker) => waker.wake(),
            // Only a cell that is in its host is parked there.
            Wakeup::Native => self.native_handle.get().into_iter().for_each(|handle| handle.wake()),
            Wakeup::Stop => self.native_handle.get().into_iter().for_each(|handle| handle.stop()),
        }
    }
}

/// A dead actor may hold the last reference to its ancestors. They are dropped iteratively: recursion would
/// need a stack as deep as the tree.
impl Drop for ActorMeta {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut parent) = next {
            next = Arc::get_mut(&mut parent).and_then(|last| last.meta_mut().parent.take());
        }
    }
}
