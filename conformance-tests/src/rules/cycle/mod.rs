//! Cycles of asks.

pub(super) mod acyclic;
pub(super) mod detection;
pub(super) mod progress;

use std::sync::Arc;

use dactor_core::{ActorRef, Error, ErrorKind, System};

use crate::RuleContext;
use crate::fixtures::scripted::{Script, ScriptedActor, async_script};

type Seen = Arc<std::sync::Mutex<Vec<Error>>>;

fn detecting(rule: &RuleContext) -> System {
    rule.builder().detect_ask_cycles(true).build().unwrap()
}

async fn actors(system: &System, count: usize) -> Vec<ActorRef<ScriptedActor>> {
    let mut actors = Vec::new();
    for number in 0..count {
        actors.push(system.spawn(ScriptedActor::default()).name(format!("d{number}")).await.unwrap());
    }
    actors
}

/// The kinds of an error and its sources.
fn kinds(error: &Error) -> Vec<ErrorKind> {
    let first: &(dyn std::error::Error + 'static) = error;
    let chain = std::iter::successors(Some(first), |error| error.source());
    chain.filter_map(|error| error.downcast_ref::<Error>()).map(Error::kind).collect()
}

/// A handler that asks another actor, without a time limit.
fn ask(to: &ActorRef<ScriptedActor>, message: Script) -> Script {
    let to = to.clone();
    async_script(move |_, _| Box::pin(async move { Ok(to.ask(message).await?) }))
}
