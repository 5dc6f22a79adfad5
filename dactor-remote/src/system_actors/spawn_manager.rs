use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use dactor_core::wire::{Accepts, Remote};
use dactor_core::{
    Actor, ActorPath, Codec, Context, Error, ErrorKind, Handler, Outcome, Result, System, WireCodec,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{NodeAccess, travels};

/// Spawns actors for other nodes, using the factories of this node: `/system/spawn-manager`.
#[derive(Debug)]
pub struct SpawnManager(NodeAccess);

impl SpawnManager {
    pub(super) fn new(node: NodeAccess) -> Self {
        Self(node)
    }

    pub(super) fn set_node(&mut self, node: NodeAccess) {
        self.0 = node;
    }
}

impl Actor for SpawnManager {}

impl Remote for SpawnManager {
    const TYPE: &'static str = "dactor.SpawnManager";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<SpawnActor>().message::<ListFactories>();
    }
}

/// Spawns an actor with a factory and replies with its path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SpawnActor {
    /// The name of the factory.
    pub factory: String,
    /// The name of the actor; generated if `None`.
    pub name: Option<String>,
    /// The arguments, encoded with the codec of the node.
    pub args: Vec<u8>,
}
travels!(SpawnActor, ActorPath, "dactor.SpawnActor");

impl Handler<SpawnActor> for SpawnManager {
    async fn handle(&mut self, spawn: SpawnActor, _: &mut Context<Self>) -> Outcome<ActorPath> {
        let node = self.0.get()?;
        let error = |kind| Error::new(kind).with("factory", &spawn.factory).with("node", &node.id);
        if !node.allow_control {
            let error = error(ErrorKind::Unsupported);
            return Err(error.with("because", "this node lets no other one spawn actors").into());
        }
        let Some(make) = node.factories.get(&*spawn.factory) else {
            return Err(error(ErrorKind::Unsupported).with("because", "there is no such factory").into());
        };
        let path = make(&node.system, spawn.name, &spawn.args, node.config.codec)?.await?;
        Ok(node.external(&path)?)
    }
}

/// Replies with the sorted names of the factories.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ListFactories;
travels!(ListFactories, Vec<String>, "dactor.ListFactories");

impl Handler<ListFactories> for SpawnManager {
    async fn handle(&mut self, _: ListFactories, _: &mut Context<Self>) -> Outcome<Vec<String>> {
        Ok(self.0.get()?.factories.keys().cloned().collect())
    }
}

/// A spawn in progress, which yields the path of the actor.
pub(crate) type Spawning = Pin<Box<dyn Future<Output = Result<ActorPath>> + Send>>;
/// Spawns an actor with encoded arguments.
pub(crate) type Make = Arc<dyn Fn(&System, Option<String>, &[u8], Codec) -> Result<Spawning> + Send + Sync>;
/// The factories by name.
pub(crate) type Factories = BTreeMap<String, Make>;

/// Makes a factory; a restarted actor gets the same arguments.
pub(crate) fn factory<T, A>(make: impl Fn(T) -> A + Send + Sync + 'static) -> Make
where
    T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    A: Remote,
{
    let make = Arc::new(make);
    Arc::new(move |system: &System, name: Option<String>, args: &[u8], codec: Codec| {
        let (args, make) = (WireCodec::<T>::serde().decode(args, codec)?, make.clone());
        let mut spawn = system.spawn(move || make(args.clone()));
        if let Some(name) = name {
            spawn = spawn.name(name);
        }
        let spawning: Spawning = Box::pin(async move { spawn.await.map(|actor| actor.path()) });
        Ok(spawning)
    })
}
