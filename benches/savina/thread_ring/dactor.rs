use dactor::prelude::*;
use tokio::sync::oneshot;

use super::{Config, Runs, Token};

struct Node {
    place: usize,
    next: Option<ActorRef<Node>>,
}
impl Actor for Node {}

#[derive(Message)]
struct Connect(ActorRef<Node>);

impl Handler<Connect> for Node {
    async fn handle(&mut self, Connect(next): Connect, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.next = Some(next);
        Ok(())
    }
}

#[derive(Message)]
struct Hop(Token);

impl Handler<Hop> for Node {
    async fn handle(&mut self, Hop(token): Hop, _ctx: &mut Context<Self>) -> Outcome<()> {
        if let (Some(token), Some(next)) = (token.hop(self.place), &self.next) {
            next.tell(Hop(token))?;
        }
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> usize {
    let mut ring = Vec::with_capacity(config.actors);
    for place in 0..config.actors {
        ring.push(system.spawn(Node { place, next: None }).await.runs());
    }
    for (node, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        node.tell(Connect(next.clone())).runs();
    }
    let (home, last_place) = oneshot::channel();
    ring[0].tell(Hop(Token { hops_left: config.hops, home })).runs();
    let place = last_place.await.runs();
    for node in &ring {
        node.stop();
    }
    place
}
