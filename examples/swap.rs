//! One actor type on both backends in one process. Each actor holds a ref to the other and asks it.
//! Run it with `cargo run --example swap --features kameo`.

use std::time::Duration;

use dactor::prelude::*;

#[derive(Default)]
struct Peer {
    other: Option<ActorRef<Peer>>,
}
impl Actor for Peer {}

#[derive(Message)]
struct Meet(ActorRef<Peer>);

impl Handler<Meet> for Peer {
    async fn handle(&mut self, Meet(other): Meet, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.other = Some(other);
        Ok(())
    }
}

/// Asks an actor for its name and backend.
#[derive(Message)]
#[message(reply = String)]
struct Who;

impl Handler<Who> for Peer {
    async fn handle(&mut self, Who: Who, ctx: &mut Context<Self>) -> Outcome<String> {
        Ok(format!("{} on {}", ctx.name().unwrap_or("?"), ctx.system().backend_name()))
    }
}

/// Asks an actor for the answer of its peer to [`Who`].
#[derive(Message)]
#[message(reply = String)]
struct Introduce;

impl Handler<Introduce> for Peer {
    async fn handle(&mut self, Introduce: Introduce, _ctx: &mut Context<Self>) -> Outcome<String> {
        let other = self.other.as_ref().ok_or_else(|| Failure::new("the peer is unknown"))?;
        Ok(other.ask(Who).timeout(Duration::from_secs(1)).await?)
    }
}

#[tokio::main]
async fn main() -> dactor::Result<()> {
    // The systems differ only in their backend.
    let left = System::builder("left").backend(dactor::ractor()).build()?;
    let right = System::builder("right").backend(dactor::kameo()).build()?;

    let anna = left.spawn(Peer::default).name("anna").await?;
    let boris = right.spawn(Peer::default).name("boris").await?;
    anna.ask(Meet(boris.clone())).await?;
    boris.ask(Meet(anna.clone())).await?;

    for peer in [&anna, &boris] {
        println!("{} hears: I am {}", peer.ask(Who).await?, peer.ask(Introduce).await?);
        if let Some(native) = peer.ractor() {
            println!("  its ractor id: {}", native.get_id());
        }
        if let Some(native) = peer.kameo() {
            println!("  its kameo id: {}", native.id());
        }
    }
    left.shutdown().await?;
    right.shutdown().await
}
