//! Actors without a running task, for unit tests.

use std::sync::Arc;

use crate::kernel::actor_core::{ActorCore, ActorMeta, DynActor, Identity};
use crate::mailbox::Mailbox;
use crate::path::Guardian;
use crate::spi::{Backend, Cell};
use crate::{Actor, Context, Error, ErrorKind, Handler, Outcome, Result, System, Terminated};

pub(crate) struct TestActor;

impl Actor for TestActor {}

impl Handler<Terminated> for TestActor {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

struct NoBackend;

impl Backend for NoBackend {
    fn name(&self) -> &'static str {
        "none"
    }

    fn spawn(&self, _: Cell) -> Result<()> {
        Err(Error::new(ErrorKind::Backend))
    }
}

pub(crate) fn system() -> System {
    System::builder("test-actors").backend(NoBackend).build().unwrap()
}

/// A top-level actor.
pub(crate) fn test_actor(system: &System, guardian: Guardian) -> Arc<ActorCore<TestActor>> {
    let identity = Identity::new(None, system, guardian, None).unwrap();
    let meta = ActorMeta::new(identity, None, system.clone(), guardian, None, None);
    Arc::new(ActorCore { mailbox: Mailbox::new(None), meta })
}

/// A child that its parent does not know yet.
pub(crate) fn child(parent: &Arc<ActorCore<TestActor>>, name: Option<&str>) -> Arc<ActorCore<TestActor>> {
    let (system, above) = (parent.meta.system().clone(), parent.clone() as Arc<dyn DynActor>);
    let identity = Identity::new(name, &system, Guardian::User, Some(&*above)).unwrap();
    let meta = ActorMeta::new(identity, name.map(Arc::from), system, Guardian::User, Some(above), None);
    Arc::new(ActorCore { mailbox: Mailbox::new(None), meta })
}
