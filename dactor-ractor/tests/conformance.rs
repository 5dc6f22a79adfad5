//! The conformance suite on ractor.

use std::process::ExitCode;

use dactor_conformance::{Native, NativeExit, NativeProbe, Subject, Task, Watch};
use dactor_core::spi::Backend;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;

struct OnRactor;

impl Subject for OnRactor {
    fn name(&self) -> &'static str {
        "ractor"
    }

    fn backend(&self) -> Box<dyn Backend> {
        Box::new(dactor_ractor::ractor())
    }

    fn native(&self) -> Result<&dyn NativeProbe, &'static str> {
        Ok(self)
    }
}

impl NativeProbe for OnRactor {
    fn stop<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { cell(actor).stop(None) })
    }

    fn drain<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        // Fails if the actor has ended.
        Box::pin(async { drop(cell(actor).drain()) })
    }

    fn kill<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { cell(actor).kill() })
    }

    fn watch<'a>(&'a self, actor: &'a Native) -> Task<'a, Watch> {
        Box::pin(async {
            let (report, exit) = oneshot::channel();
            let (supervisor, _) = Actor::spawn(None, Supervisor, report).await.expect("a native supervisor");
            cell(actor).link(supervisor.get_cell());
            Watch::new(async { exit.await.expect("the supervisor outlives the actor") })
        })
    }

    fn peer_dies<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async {
            let supervisor = cell(actor).clone();
            let (peer, ended) =
                Actor::spawn_linked(None, Peer, (), supervisor).await.expect("a native child");
            peer.cast(()).expect("the child takes a message");
            ended.await.expect("the child ends");
        })
    }
}

fn cell(actor: &Native) -> &ActorCell {
    actor.downcast_ref().expect("the native actor on ractor is a cell")
}

/// Reports how the first actor that it supervises ends.
struct Supervisor;

impl Actor for Supervisor {
    type Msg = ();
    type State = Option<oneshot::Sender<NativeExit>>;
    type Arguments = oneshot::Sender<NativeExit>;

    async fn pre_start(
        &self,
        _: ActorRef<()>,
        report: oneshot::Sender<NativeExit>,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(Some(report))
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<()>,
        event: SupervisionEvent,
        report: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let exit = match event {
            SupervisionEvent::ActorFailed(_, error) => NativeExit::Failed(format!("{error:#}")),
            SupervisionEvent::ActorTerminated(_, _, Some(reason)) if reason == "killed" => NativeExit::Killed,
            SupervisionEvent::ActorTerminated(..) => NativeExit::Normal,
            _ => return Ok(()),
        };
        if let Some(report) = report.take() {
            let _ = report.send(exit);
        }
        myself.stop(None);
        Ok(())
    }
}

/// Fails at its first message.
struct Peer;

impl Actor for Peer {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(&self, _: ActorRef<()>, (): (), (): &mut ()) -> Result<(), ActorProcessingErr> {
        Err("the peer fails".into())
    }
}

fn main() -> ExitCode {
    dactor_conformance::run(OnRactor)
}
