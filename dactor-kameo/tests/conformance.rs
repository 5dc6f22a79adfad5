//! The conformance suite on kameo.

use std::process::ExitCode;

use dactor_conformance::{Capability, Native, NativeExit, NativeProbe, Subject, Task, Watch};
use dactor_core::spi::Backend;
use dactor_kameo::DactorActor;
use kameo::actor::{ActorRef, Spawn};
use kameo::error::ActorStopReason;
use kameo::message::{Context, Message};

struct OnKameo;

impl Subject for OnKameo {
    fn name(&self) -> &'static str {
        "kameo"
    }

    fn backend(&self) -> Box<dyn Backend> {
        Box::new(dactor_kameo::kameo())
    }

    fn native(&self) -> Result<&dyn NativeProbe, &'static str> {
        Ok(self)
    }
}

impl NativeProbe for OnKameo {
    fn supports(&self, capability: Capability) -> Result<(), &'static str> {
        match capability {
            Capability::NativeStopNow => {
                Err("kameo's only stop, `stop_gracefully`, handles queued messages first")
            }
            _ => Ok(()),
        }
    }

    fn stop<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        self.drain(actor)
    }

    fn drain<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        // Fails if the actor has ended.
        Box::pin(async {
            let _ = host(actor).stop_gracefully().await;
        })
    }

    fn kill<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { host(actor).kill() })
    }

    fn watch<'a>(&'a self, actor: &'a Native) -> Task<'a, Watch> {
        Box::pin(async {
            let actor = host(actor).clone();
            Watch::new(async move {
                actor
                    .wait_for_shutdown_with_result(|result| match result {
                        Ok(ActorStopReason::Normal) => NativeExit::Normal,
                        Ok(ActorStopReason::Killed) => NativeExit::Killed,
                        Ok(other) => NativeExit::Failed(format!("{other:?}")),
                        Err(error) => NativeExit::Failed(format!("{error}")),
                    })
                    .await
            })
        })
    }

    fn peer_dies<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async {
            let peer = Peer::spawn(Peer);
            peer.link(host(actor)).await;
            peer.tell(Fail).await.expect("the peer takes a message");
            peer.wait_for_shutdown().await;
        })
    }
}

fn host(actor: &Native) -> &ActorRef<DactorActor> {
    actor.downcast_ref().expect("the native actor on kameo is a ref to its host")
}

/// Panics at its first message.
#[derive(kameo::Actor)]
struct Peer;

struct Fail;

impl Message<Fail> for Peer {
    type Reply = ();

    async fn handle(&mut self, Fail: Fail, _: &mut Context<Self, ()>) {
        panic!("the peer fails");
    }
}

fn main() -> ExitCode {
    dactor_conformance::run(OnKameo)
}
