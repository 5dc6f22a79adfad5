//! An actor in a handler, so that messages wait.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Spawn, System};

use crate::Lab;
use crate::actors::{Hold, Hooks, Worker};

/// The actor, `a` by name, and the gate that its handler waits at.
pub(super) struct Busy {
    pub(super) system: System,
    pub(super) journal: Journal,
    pub(super) gate: Gate,
    pub(super) actor: ActorRef<Worker>,
}

impl Busy {
    pub(super) async fn new(
        lab: &Lab,
        hooks: Hooks,
        configure: impl FnOnce(Spawn<Worker>) -> Spawn<Worker>,
    ) -> Self {
        let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
        let actor = configure(system.spawn(Worker::with(&journal, hooks)).name("a")).await.unwrap();
        actor.tell(Hold(0, gate.clone())).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        Self { system, journal, gate, actor }
    }

    /// Lets the actor go on to its end, and gives the notes it handled after the first.
    pub(super) async fn handled(self, lab: &Lab) -> Vec<String> {
        self.gate.open();
        self.actor.drain();
        lab.soon("the actor ends", self.actor.wait()).await.unwrap();
        let entries = self.journal.entries();
        entries[3..entries.len() - 2].to_vec()
    }
}
