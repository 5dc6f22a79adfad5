use std::fmt;
use std::future::Future;

use dactor_core::wire::Remote;
use dactor_core::{Context, Failure, Outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Activation, OldState};

/// An actor that is activated by its first message and deactivated when idle.
///
/// The hooks run in this order: [`activate`](Self::activate), `on_start`, the handlers,
/// [`on_deactivate`](Self::on_deactivate), `on_stop`. The last two do not run after a panic, a kill, or a
/// lost lease: do not rely on them to save state.
///
/// A panic deactivates the actor, regardless of supervision, and the next message reloads its state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a virtual actor",
    label = "not a virtual actor",
    note = "write `impl VirtualActor for {Self} {{ type State = ..; async fn activate(..) -> Outcome<Self> {{ .. }} }}`"
)]
pub trait VirtualActor: Remote {
    /// The durable state; `()` for a stateless actor. An actor that has never saved has the default state.
    type State: Serialize + DeserializeOwned + Clone + Default + Send + Sync + 'static;

    /// The version of [`State`](Self::State). Increment it with each incompatible change, and implement
    /// [`upgrade`](Self::upgrade).
    const STATE_VERSION: u32 = 1;

    /// Creates the instance, after its state is loaded.
    ///
    /// # Errors
    ///
    /// All held messages are answered with the error. The next message retries the activation.
    fn activate(activation: Activation<Self>) -> impl Future<Output = Outcome<Self>> + Send;

    /// Converts a state of an earlier version. The next save stores it in the new version.
    ///
    /// # Errors
    ///
    /// The activation fails, and the stored state is unchanged. A state with a version newer than
    /// [`STATE_VERSION`](Self::STATE_VERSION) fails as well, without a call of this method.
    fn upgrade(old: OldState<'_>) -> Outcome<Self::State> {
        Err(Failure::new(format!("there is no upgrade from version {}", old.version())))
    }

    /// Runs before `on_stop`, with the reason. State can be saved here, unless the reason is
    /// [`Lost`](DeactivationReason::Lost).
    fn on_deactivate(
        &mut self,
        reason: DeactivationReason,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send {
        let _ = (reason, ctx);
        async { Ok(()) }
    }
}

/// Why an actor was deactivated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeactivationReason {
    /// The idle timeout of its type has passed.
    Idle,
    /// Requested through a ref, or by the actor itself.
    Requested,
    /// The node exceeded its maximum number of active actors, and this one was least recently used.
    Capacity,
    /// The cluster or its system is shutting down.
    Shutdown,
    /// The actor failed.
    Failed,
    /// The node or the activation has lost its ownership.
    Lost,
}

impl fmt::Display for DeactivationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::Requested => "requested",
            Self::Capacity => "capacity",
            Self::Shutdown => "shutdown",
            Self::Failed => "failed",
            Self::Lost => "lost",
        })
    }
}
