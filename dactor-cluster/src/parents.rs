//! The parents of the activations: `/system/virtual`, and `/system/virtual/<type>` for each type.

use std::sync::Weak;

use dactor_core::{Actor, Context, Directive, Outcome, StopReason, Supervision};

use crate::cluster::Inner;

/// The root. It stops after all activations; then the node leaves.
pub(crate) struct Root(pub(crate) Weak<Inner>);

impl Actor for Root {
    async fn on_stop(&mut self, _: &StopReason, _: &mut Context<Self>) -> Outcome<()> {
        if let Some(cluster) = self.0.upgrade() {
            cluster.leave().await;
        }
        Ok(())
    }
}

/// The parent of the activations of one type.
pub(crate) struct TypeParent;

impl Actor for TypeParent {
    /// A panic stops the actor, which deactivates it.
    fn supervision() -> Supervision {
        Supervision::one_for_one().always(Directive::Stop)
    }
}
