use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use dactor_core::spi::Backend;

use crate::{Capability, FarPair, FarSettings};

/// A boxed future.
pub type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The type behind [`ActorRef::native`](dactor_core::ActorRef::native).
pub type Native = dyn Any + Send + Sync;

/// Resolves to the exit of a native actor.
pub struct Watch {
    exit: Task<'static, NativeExit>,
}

impl Watch {
    /// A watch that is already set up; the future resolves to the exit.
    pub fn new(exit: impl Future<Output = NativeExit> + Send + 'static) -> Self {
        Self { exit: Box::pin(exit) }
    }

    /// Awaits the exit.
    pub fn exit(&mut self) -> &mut Task<'static, NativeExit> {
        &mut self.exit
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// The adapter under test.
pub trait Subject: Send + Sync + 'static {
    /// Its name in reports, one word.
    fn name(&self) -> &'static str;

    /// A new backend.
    fn backend(&self) -> Box<dyn Backend>;

    /// The backend of the second system, in rules about two systems; another one of its own, if not overridden.
    fn other_backend(&self) -> Box<dyn Backend> {
        self.backend()
    }

    /// Two systems that reach each other over a network, in rules about two systems; a [link](dactor_core::testkit::FarLink) if not
    /// overridden.
    fn far_pair(&self, settings: FarSettings) -> Option<Task<'_, Box<dyn FarPair>>> {
        let _ = settings;
        None
    }

    /// The native side, or the reason why there is none; all rules that need it are then ignored.
    fn native(&self) -> Result<&dyn NativeProbe, &'static str> {
        Err("the test has no `NativeProbe` yet")
    }
}

/// A name and a backend are enough to start: the rules about the native side are ignored.
impl<B: Backend, F: Fn() -> B + Send + Sync + 'static> Subject for (&'static str, F) {
    fn name(&self) -> &'static str {
        self.0
    }

    fn backend(&self) -> Box<dyn Backend> {
        Box::new((self.1)())
    }
}

/// Acts on native actors without the core's knowledge, and observes them as native code does.
pub trait NativeProbe: Send + Sync {
    /// Whether the native runtime has the capability, or the reason why not.
    fn supports(&self, capability: Capability) -> Result<(), &'static str> {
        let _ = capability;
        Ok(())
    }

    /// Stops the native actor after its current message.
    fn stop<'a>(&'a self, actor: &'a Native) -> Task<'a, ()>;

    /// Stops the native actor after its accepted messages.
    fn drain<'a>(&'a self, actor: &'a Native) -> Task<'a, ()>;

    /// Kills the native actor.
    fn kill<'a>(&'a self, actor: &'a Native) -> Task<'a, ()>;

    /// Links or supervises the native actor. The returned watch is set up.
    fn watch<'a>(&'a self, actor: &'a Native) -> Task<'a, Watch>;

    /// Links a native peer or child to the actor and lets it fail; completes when it has failed.
    fn peer_dies<'a>(&'a self, actor: &'a Native) -> Task<'a, ()>;
}

/// How native code saw an actor end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NativeExit {
    /// It stopped.
    Normal,
    /// It was killed.
    Killed,
    /// It failed, with this text.
    Failed(String),
}
