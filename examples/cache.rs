//! A cache in front of a slow store: lookups run beside each other, while an update has the cache to itself. Run it with
//! `cargo run --example cache`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use dactor::prelude::*;
use dactor::{ReadContext, ReadHandler};

/// Names by number. An unknown name takes a while to look up.
struct Cache {
    names: HashMap<u32, String>,
}

impl Actor for Cache {}

/// Only reads: many of them wait for the store at the same time.
#[derive(Message)]
#[message(read, reply = String)]
struct Lookup(u32);

impl ReadHandler<Lookup> for Cache {
    async fn read(&self, Lookup(id): Lookup, ctx: &ReadContext<Self>) -> Outcome<String> {
        if let Some(name) = self.names.get(&id) {
            return Ok(name.clone());
        }
        let name = load(id).await;
        // A read cannot change the actor. It tells the actor to do so: the update comes when the reads are done.
        ctx.actor_ref().tell(Insert(id, name.clone()))?;
        Ok(name)
    }
}

/// Changes the cache: it waits for the lookups before it, and the lookups behind it wait for it.
#[derive(Message)]
struct Insert(u32, String);

impl Handler<Insert> for Cache {
    async fn handle(&mut self, Insert(id, name): Insert, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.names.insert(id, name);
        Ok(())
    }
}

#[derive(Message)]
#[message(read, reply = usize)]
struct Count;

impl ReadHandler<Count> for Cache {
    async fn read(&self, _: Count, _ctx: &ReadContext<Self>) -> Outcome<usize> {
        Ok(self.names.len())
    }
}

/// A slow store.
async fn load(id: u32) -> String {
    tokio::time::sleep(Duration::from_millis(50)).await;
    format!("name {id}")
}

#[tokio::main]
async fn main() -> dactor::Result<()> {
    let system = System::new("cache");
    // A lookup that hangs holds up the updates: it is an event, and a line in the log.
    let cache = Cache { names: HashMap::new() };
    let cache = system.spawn(cache).name("names").slow_read(Duration::from_secs(1)).await?;

    let begun = Instant::now();
    let lookups: Vec<_> = (0..40).map(|id| cache.ask(Lookup(id)).enqueue()).collect::<Result<_, _>>()?;
    for lookup in lookups {
        lookup.await?;
    }
    let together = begun.elapsed() < Duration::from_millis(40 * 50);
    println!("40 lookups of 50 ms each waited together: {together}");

    println!("the first again, now from the cache: {}", cache.ask(Lookup(0)).await?);
    println!("cached: {}", cache.ask(Count).await?);
    system.shutdown().await
}
