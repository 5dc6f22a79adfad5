//! Panics of user code.

pub(super) mod drops;
pub(super) mod handler;
pub(super) mod hooks;
pub(super) mod isolation;
pub(super) mod sites;

use dactor_core::{ActorRef, System};

use crate::fixtures::scripted::ScriptedActor;

fn child_of(system: &System, parent: &str) -> ActorRef<ScriptedActor> {
    let path = format!("pekko://test/user/{parent}/child").parse().unwrap();
    system.actor_at(&path).expect("a child")
}
