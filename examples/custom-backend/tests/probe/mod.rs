//! The adapter under test, and the native operations that the suite needs.

use custom_backend::{Handle, Tasks};
use dactor_conformance::{Native, NativeExit, NativeProbe, Subject, Task, Watch};
use dactor_core::spi::{Backend, Exit};

pub(crate) struct OnTasks {
    pub(crate) name: &'static str,
    pub(crate) backend: fn() -> Tasks,
}

impl Subject for OnTasks {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backend(&self) -> Box<dyn Backend> {
        Box::new((self.backend)())
    }

    fn native(&self) -> Result<&dyn NativeProbe, &'static str> {
        Ok(self)
    }
}

impl NativeProbe for OnTasks {
    fn stop<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { handle(actor).stop() })
    }

    fn drain<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { handle(actor).drain() })
    }

    fn kill<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { handle(actor).kill() })
    }

    fn watch<'a>(&'a self, actor: &'a Native) -> Task<'a, Watch> {
        let handle = handle(actor).clone();
        let exit = async move {
            match handle.exit().await {
                Exit::Normal => NativeExit::Normal,
                Exit::Killed => NativeExit::Killed,
                Exit::Failed(error) => NativeExit::Failed(format!("{error:#}")),
            }
        };
        Box::pin(async { Watch::new(exit) })
    }

    fn peer_dies<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async {
            let peer = tokio::spawn(async { panic!("the peer fails") });
            handle(actor).link(peer).await.expect("the actor is told");
        })
    }
}

fn handle(actor: &Native) -> &Handle {
    actor.downcast_ref().expect("the native actor is a handle")
}
