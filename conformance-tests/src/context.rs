use std::fmt;
use std::future::{Future, IntoFuture};
use std::panic::Location;
use std::sync::Arc;

use dactor_core::testkit::DrivenClock;
use dactor_core::{Actor, ActorRef, ActorSystemConfig, System, SystemBuilder};
use tokio::sync::oneshot;

use crate::check::THREAD;
use crate::events::Events;
use crate::{Native, NativeProbe, Settings, Subject, Watch};

/// The context of a running rule: systems on the adapter under test, its native side, timeouts and the clock.
pub struct RuleContext {
    subject: Arc<dyn Subject>,
    settings: Settings,
    clock: Option<DrivenClock>,
}

impl RuleContext {
    pub(crate) fn new(subject: Arc<dyn Subject>, settings: Settings, clock: Option<DrivenClock>) -> Self {
        Self { subject, settings, clock }
    }

    /// A builder for a system on the adapter under test.
    pub fn builder(&self) -> SystemBuilder {
        self.builder_named("test")
    }

    /// A builder for a system with this name.
    pub fn builder_named(&self, name: &str) -> SystemBuilder {
        System::builder(name).backend(self.subject.backend())
    }

    /// A builder for a system that the first one has a link to, on the [other backend](Subject::other_backend).
    pub fn other_builder_named(&self, name: &str) -> SystemBuilder {
        System::builder(name).backend(self.subject.other_backend())
    }

    /// A builder for a system with this config.
    pub fn builder_with(&self, config: ActorSystemConfig) -> SystemBuilder {
        System::builder(config).backend(self.subject.backend())
    }

    /// A system on the adapter under test.
    pub fn system(&self) -> System {
        self.builder().build().expect("the system name is valid and a backend is set")
    }

    /// A system and its events, except the starts and stops of actors.
    pub fn system_with_events(&self) -> (System, Events) {
        let events = Events::default();
        let seen = events.clone();
        let system = self.builder().observe(move |event| seen.note(event)).build();
        (system.expect("the system name is valid and a backend is set"), events)
    }

    pub(crate) fn subject(&self) -> &dyn Subject {
        &*self.subject
    }

    /// The settings of this run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clock of a rule with [`RuntimeMode::DrivenClock`](crate::RuntimeMode::DrivenClock).
    pub fn clock(&mut self) -> &mut DrivenClock {
        self.clock.as_mut().expect("only a rule with `RuntimeMode::DrivenClock` has a clock")
    }

    /// Awaits an expected event, with a timeout. With a driven clock only the watchdog limits the wait.
    ///
    /// # Panics
    ///
    /// If the timeout expires; the message contains the location of the caller.
    #[track_caller]
    pub fn soon<T, F: IntoFuture<Output = T>>(&self, what: &str, future: F) -> impl Future<Output = T> {
        let (at, patience) = (Location::caller(), self.settings.patience);
        let driven = self.clock.is_some();
        let future = future.into_future();
        async move {
            if driven {
                return future.await;
            }
            match tokio::time::timeout(patience, future).await {
                Ok(value) => value,
                Err(_) => panic!("timed out after {patience:?}: {what} ({at})"),
            }
        }
    }

    /// Asserts that the future does not complete within [`Settings::silence`].
    ///
    /// # Panics
    ///
    /// If it completes; the message contains the location of the caller.
    #[track_caller]
    pub fn never<T: fmt::Debug>(
        &self,
        what: &str,
        future: impl Future<Output = T>,
    ) -> impl Future<Output = ()> {
        let (at, silence) = (Location::caller(), self.settings.silence);
        async move {
            if let Ok(value) = tokio::time::timeout(silence, future).await {
                panic!("unexpected: {what}: {value:?} ({at})");
            }
        }
    }

    /// Yields so that actors without messages become idle. No assertion depends on it: it only makes the idle state
    /// likely.
    pub async fn let_idle(&self) {
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }

    /// Takes the native handle of an actor. From then on a cell that runs by turns returns to its native actor
    /// whenever it is idle; without the handle it may stay pending instead.
    pub fn take_native_handle<A: Actor>(&self, actor: &ActorRef<A>) {
        native(actor);
    }

    /// The native side of the adapter.
    pub fn probe(&self) -> &dyn NativeProbe {
        self.subject.native().expect("a rule that uses the native side declares a capability")
    }

    /// Kills the native actor.
    pub async fn native_kill<A: Actor>(&self, actor: &ActorRef<A>) {
        self.probe().kill(native(actor)).await;
    }

    /// Stops the native actor.
    pub async fn native_stop<A: Actor>(&self, actor: &ActorRef<A>) {
        self.probe().stop(native(actor)).await;
    }

    /// Drains the native actor.
    pub async fn native_drain<A: Actor>(&self, actor: &ActorRef<A>) {
        self.probe().drain(native(actor)).await;
    }

    /// Watches the native actor.
    pub async fn native_watch<A: Actor>(&self, actor: &ActorRef<A>) -> Watch {
        self.probe().watch(native(actor)).await
    }

    /// Runs code on a new runtime, then drops that runtime with all tasks that still run on it.
    pub async fn on_dropped_runtime<T: Send + 'static, F: Future<Output = T>>(
        &self,
        code: impl FnOnce() -> F + Send + 'static,
    ) -> T {
        let (done, outcome) = oneshot::channel();
        let thread = std::thread::Builder::new().name(format!("{THREAD} elsewhere"));
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a second runtime");
            let value = runtime.block_on(code());
            drop(runtime);
            let _ = done.send(value);
        };
        thread.spawn(run).expect("a second thread");
        outcome.await.expect("the code on the other runtime completes")
    }
}

impl fmt::Debug for RuleContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleContext").field("subject", &self.subject.name()).finish_non_exhaustive()
    }
}

/// The native handle of an actor.
#[track_caller]
pub(crate) fn native<A: Actor>(actor: &ActorRef<A>) -> &Native {
    actor
        .native()
        .expect("a spawned actor has a native handle: call `Cell::bind` before `Backend::spawn` returns")
}
