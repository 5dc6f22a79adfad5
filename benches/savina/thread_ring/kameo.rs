use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};
use tokio::sync::oneshot;

use super::{Config, Runs, Token};

pub(super) const IDIOM: &str = "`tell(..).try_send()`, which boxes no future; unbounded mailboxes";

struct Node {
    place: usize,
    next: Option<ActorRef<Node>>,
}

impl Actor for Node {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(node: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(node)
    }
}

struct Connect(ActorRef<Node>);

impl Message<Connect> for Node {
    type Reply = ();

    async fn handle(&mut self, Connect(next): Connect, _ctx: &mut Context<Self, ()>) {
        self.next = Some(next);
    }
}

struct Hop(Token);

impl Message<Hop> for Node {
    type Reply = ();

    async fn handle(&mut self, Hop(token): Hop, _ctx: &mut Context<Self, ()>) {
        if let (Some(token), Some(next)) = (token.hop(self.place), &self.next) {
            next.tell(Hop(token)).try_send().runs();
        }
    }
}

pub(super) async fn run(config: Config) -> usize {
    let spawn = |place| Node::spawn_with_mailbox(Node { place, next: None }, unbounded());
    let ring: Vec<_> = (0..config.actors).map(spawn).collect();
    for (node, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        node.tell(Connect(next.clone())).try_send().runs();
    }
    let (home, last_place) = oneshot::channel();
    ring[0].tell(Hop(Token { hops_left: config.hops, home })).try_send().runs();
    let place = last_place.await.runs();
    for node in &ring {
        node.stop_gracefully().await.runs();
    }
    place
}
