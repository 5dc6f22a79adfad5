use std::fmt;
use std::future::{Future, IntoFuture};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use dactor_core::testkit::{DrivenClock, Journal};
use dactor_core::{Actor, ActorRef, ActorSystemConfig, Error, Event, System, SystemBuilder};
use tokio::sync::oneshot;

use crate::check::THREAD;
use crate::{Native, NativeProbe, Settings, Subject, Watch};

/// What a rule works with: systems on the adapter under test, the native side, patience and silence.
pub struct Lab {
    subject: Arc<dyn Subject>,
    settings: Settings,
    clock: Option<DrivenClock>,
}

impl Lab {
    pub(crate) fn new(subject: Arc<dyn Subject>, settings: Settings, clock: Option<DrivenClock>) -> Self {
        Self { subject, settings, clock }
    }

    /// A system on the adapter under test, to be configured.
    pub fn builder(&self) -> SystemBuilder {
        self.builder_named("lab")
    }

    /// The same under another name.
    pub fn builder_named(&self, name: &str) -> SystemBuilder {
        System::builder(name).backend(self.subject.backend())
    }

    /// The same with another config.
    pub fn builder_with(&self, config: ActorSystemConfig) -> SystemBuilder {
        System::builder(config).backend(self.subject.backend())
    }

    /// A system on the adapter under test.
    pub fn system(&self) -> System {
        self.builder().build().expect("a system with a valid name and a backend")
    }

    /// A system, and all its events but the starts and ends of actors.
    pub fn observed(&self) -> (System, Events) {
        let events = Events::default();
        let seen = events.clone();
        let system = self.builder().observe(move |event| seen.note(event)).build();
        (system.expect("a system with a valid name and a backend"), events)
    }

    pub(crate) fn subject(&self) -> &dyn Subject {
        &*self.subject
    }

    /// The settings of this run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clock, in a rule that drives it.
    pub fn clock(&mut self) -> &mut DrivenClock {
        self.clock.as_mut().expect("a rule that drives the clock says so")
    }

    /// Waits for something that must happen. A rule that drives the clock leaves the waiting to the watchdog.
    ///
    /// # Panics
    ///
    /// When it does not happen; the text names the line of the caller.
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
                Err(_) => panic!("expected, and waited {patience:?} in vain: {what} ({at})"),
            }
        }
    }

    /// Asserts that something does not happen, as far as waiting can show.
    ///
    /// # Panics
    ///
    /// When it happens; the text names the line of the caller.
    #[track_caller]
    pub fn never<T: fmt::Debug>(
        &self,
        what: &str,
        future: impl Future<Output = T>,
    ) -> impl Future<Output = ()> {
        let (at, silence) = (Location::caller(), self.settings.silence);
        async move {
            if let Ok(value) = tokio::time::timeout(silence, future).await {
                panic!("expected silence, but: {what}: {value:?} ({at})");
            }
        }
    }

    /// Lets actors that have nothing to do come to rest. What a rule shows never depends on it: it only makes it
    /// likely that an actor is idle rather than about to be.
    pub async fn rest(&self) {
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }

    /// Takes the native handle of an actor. From then on a cell that is run by turns goes back to its runtime whenever
    /// it has nothing to do; as long as nobody has the handle, it may stay pending instead.
    pub fn expose<A: Actor>(&self, actor: &ActorRef<A>) {
        native(actor);
    }

    /// The native side of the adapter.
    pub fn probe(&self) -> &dyn NativeProbe {
        self.subject.native().expect("a rule about the native side says what it needs")
    }

    /// Kills natively.
    pub async fn native_kill<A: Actor>(&self, actor: &ActorRef<A>) {
        self.probe().kill(native(actor)).await;
    }

    /// Stops natively.
    pub async fn native_stop<A: Actor>(&self, actor: &ActorRef<A>) {
        self.probe().stop(native(actor)).await;
    }

    /// Drains natively.
    pub async fn native_drain<A: Actor>(&self, actor: &ActorRef<A>) {
        self.probe().drain(native(actor)).await;
    }

    /// Watches natively.
    pub async fn native_watch<A: Actor>(&self, actor: &ActorRef<A>) -> Watch {
        self.probe().watch(native(actor)).await
    }

    /// Runs something on a runtime of its own and drops that runtime, with everything that still runs there.
    pub async fn elsewhere<T: Send + 'static, F: Future<Output = T>>(
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

impl fmt::Debug for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab").field("subject", &self.subject.name()).finish_non_exhaustive()
    }
}

/// The native actor underneath.
#[track_caller]
pub(crate) fn native<A: Actor>(actor: &ActorRef<A>) -> &Native {
    actor
        .native()
        .expect("a spawned actor has a native one: call `Cell::bind` before `Backend::spawn` returns")
}

/// The events of one system.
#[derive(Debug, Clone, Default)]
pub struct Events {
    seen: Arc<Mutex<Vec<Event>>>,
    journal: Journal,
}

impl Events {
    pub(crate) fn note(&self, event: &Event) {
        if matches!(event, Event::Spawned { .. } | Event::Stopped { .. }) {
            return;
        }
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        self.journal.note(match event {
            Event::DeadLetter(letter) => format!("dead {}", short(letter.message)),
            Event::Failed { message, .. } => format!("failed {}", short(message)),
            Event::Restarted { .. } => "restarted".to_owned(),
            other => format!("{other:?}"),
        });
    }

    /// Them all, each as its kind and message: `dead Note`, `failed Boom`, `restarted`.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The errors they carry, in order.
    pub(crate) fn errors(&self) -> Vec<Error> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let error = |event: &Event| match event {
            Event::DeadLetter(letter) => Some(letter.error.clone()),
            Event::Failed { error, .. } | Event::Restarted { error, .. } => Some(error.clone()),
            _ => None,
        };
        seen.iter().filter_map(error).collect()
    }

    /// The actors they name, in order.
    pub(crate) fn actors(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let actor = |event: &Event| match event {
            Event::DeadLetter(letter) => Some(letter.actor.clone()),
            Event::Failed { actor, .. } | Event::Restarted { actor, .. } => Some(actor.clone()),
            _ => None,
        };
        seen.iter().filter_map(actor).collect()
    }
}

fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
