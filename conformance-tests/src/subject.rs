use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use dactor_core::spi::Backend;

use crate::Capability;

/// A boxed future.
pub type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What [`ActorRef::native`](dactor_core::ActorRef::native) gives.
pub type Native = dyn Any + Send + Sync;

/// Tells how a native actor ended, once it has.
pub struct Watch {
    exit: Task<'static, NativeExit>,
}

impl Watch {
    /// A watch that has been set up; the future waits for the end.
    pub fn new(exit: impl Future<Output = NativeExit> + Send + 'static) -> Self {
        Self { exit: Box::pin(exit) }
    }

    /// Waits for the end.
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
    /// Its name in reports: a word.
    fn name(&self) -> &'static str;

    /// The backend.
    fn backend(&self) -> Box<dyn Backend>;

    /// The native side; the reason when the suite cannot have one, which ignores all rules about it.
    fn native(&self) -> Result<&dyn NativeProbe, &'static str> {
        Err("the test has no `NativeProbe` yet")
    }
}

/// A name and a backend are enough to begin with: the rules about the native side are ignored.
impl<B: Backend, F: Fn() -> B + Send + Sync + 'static> Subject for (&'static str, F) {
    fn name(&self) -> &'static str {
        self.0
    }

    fn backend(&self) -> Box<dyn Backend> {
        Box::new((self.1)())
    }
}

/// Acts on native actors without the core's knowledge, and sees what native code sees.
pub trait NativeProbe: Send + Sync {
    /// What of this the native runtime has; the reason when it has not.
    fn supports(&self, capability: Capability) -> Result<(), &'static str> {
        let _ = capability;
        Ok(())
    }

    /// Stops the native actor after its current message.
    fn stop<'a>(&'a self, actor: &'a Native) -> Task<'a, ()>;

    /// Stops the native actor after what it has accepted.
    fn drain<'a>(&'a self, actor: &'a Native) -> Task<'a, ()>;

    /// Kills the native actor.
    fn kill<'a>(&'a self, actor: &'a Native) -> Task<'a, ()>;

    /// Links or supervises the native actor. When this is done, the watch will tell how the actor ends.
    fn watch<'a>(&'a self, actor: &'a Native) -> Task<'a, Watch>;

    /// Links a native peer, or child, to the actor and lets it fail. Done when it has.
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
