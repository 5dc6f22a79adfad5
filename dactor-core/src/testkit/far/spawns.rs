//! Spawns whose refs lead through a link.

use std::sync::Arc;

use super::FarLink;
use crate::kernel::actor_core::DynActor;
use crate::wire::{Remote, far_actor};
use crate::{ActorRef, Result, System};

impl FarLink {
    /// From now on [`System::spawn`] of an `A` gives a ref that leads through this link, in the system that `from` is linked to:
    /// the actor lives there, and the ref belongs to `from`. So a test of a local actor is run again with the actor elsewhere.
    /// Lookups and children are not changed.
    ///
    /// ```
    /// # mod tokio_tasks { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tokio_tasks.rs")); }
    /// # use tokio_tasks::TokioTasks;
    /// # use dactor_core::testkit::FarLink;
    /// # use dactor_core::wire::Remote;
    /// # use dactor_core::{Actor, System};
    /// # struct Account;
    /// # impl Actor for Account {}
    /// # impl Remote for Account { const TYPE: &'static str = "bank.Account"; }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> dactor_core::Result<()> {
    /// # let [here, there] = ["here", "there"].map(|name| System::builder(name).backend(TokioTasks).build().unwrap());
    /// let link = FarLink::between(&here, &there)?;
    /// link.reroute_spawns::<Account>(&here)?;
    /// let account = there.spawn(Account).await?;
    /// assert!(!account.is_local());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`serve`](Self::serve), and [`Unresolved`](crate::ErrorKind::Unresolved) for a system that is not linked.
    pub fn reroute_spawns<A: Remote>(&self, from: &System) -> Result<&Self> {
        self.serve::<A>()?;
        let side = self.side(from)?;
        let association = Arc::downgrade(&side.association);
        side.peer_system().far().on_spawn(Box::new(move |actor: &Arc<dyn DynActor>| {
            let local = ActorRef::<A>::known(actor.clone())?;
            let association = association.upgrade()?;
            let far = far_actor::<A>(association.system(), &local.path(), &association.carrier()).ok()?;
            Some(far.core.clone() as Arc<dyn DynActor>)
        }));
        Ok(self)
    }

    /// Whether frames are delivered at once, on the thread of their sender, before the call that sends them returns; they
    /// travel in a task if not set. Then nothing happens to them on the way: faults are not applied. A test of a local actor
    /// that does not wait for its messages to arrive can be run as it is.
    pub fn at_once(&self, at_once: bool) -> &Self {
        self.conditions.set_at_once(at_once);
        self
    }
}
