use std::fmt;
use std::future::Future;

use dactor_core::wire::Remote;
use dactor_core::{Context, Failure, Outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Activation, OldState};

/// An actor that is activated by its first message, and deactivated when it is not used.
///
/// The hooks run in this order: [`activate`](Self::activate), `on_start`, the handlers,
/// [`on_deactivate`](Self::on_deactivate), `on_stop`. The last two do not run after a panic, after a kill, and when the node
/// has lost its lease: do not rely on them to save anything.
///
/// A panic deactivates the actor, whatever the supervision of other actors is, and the next message loads its state afresh.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a virtual actor",
    label = "not a virtual actor",
    note = "write `impl VirtualActor for {Self} {{ type State = ..; async fn activate(..) -> Outcome<Self> {{ .. }} }}`"
)]
pub trait VirtualActor: Remote {
    /// The durable state; `()` for an actor without one. The default is the state of an actor that has never saved.
    type State: Serialize + DeserializeOwned + Clone + Default + Send + Sync + 'static;

    /// The version of [`State`](Self::State). Raise it with each change that the old form cannot be decoded as, and
    /// implement [`upgrade`](Self::upgrade).
    const STATE_VERSION: u32 = 1;

    /// Makes the instance, with its state loaded.
    ///
    /// # Errors
    ///
    /// Each message that waits for the activation is answered with the error. The next message tries again.
    fn activate(activation: Activation<Self>) -> impl Future<Output = Outcome<Self>> + Send;

    /// Makes a state from one of an earlier version. It is stored in the new form with the next save.
    ///
    /// # Errors
    ///
    /// The activation fails, and the stored state stays as it is. So it does for a state of a version that is newer than
    /// [`STATE_VERSION`](Self::STATE_VERSION); this method is not asked then.
    fn upgrade(old: OldState<'_>) -> Outcome<Self::State> {
        Err(Failure::new(format!("there is no upgrade from version {}", old.version())))
    }

    /// Runs before `on_stop`, with the reason. A save that is made here is stored, unless the reason is
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

/// Why an actor is deactivated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeactivationReason {
    /// It was not used for the time that its type allows.
    Idle,
    /// It was asked to: by a ref, or by itself.
    Requested,
    /// The node has more activations than it may, and this one was least recently used.
    Capacity,
    /// The cluster or its system is being shut down.
    Shutdown,
    /// It failed.
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
