use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use super::{Config, Runs, Token};

pub(super) const IDIOM: &str = "`cast`";

struct Node {
    place: usize,
}

enum ToNode {
    Connect(ActorRef<ToNode>),
    Hop(Token),
}

impl Actor for Node {
    type Msg = ToNode;
    type State = Option<ActorRef<ToNode>>;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<ToNode>,
        (): (),
    ) -> Result<Option<ActorRef<ToNode>>, ActorProcessingErr> {
        Ok(None)
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToNode>,
        message: ToNode,
        next: &mut Option<ActorRef<ToNode>>,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToNode::Connect(node) => *next = Some(node),
            ToNode::Hop(token) => {
                if let (Some(token), Some(next)) = (token.hop(self.place), next) {
                    next.cast(ToNode::Hop(token))?;
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> usize {
    let mut ring = Vec::with_capacity(config.actors);
    for place in 0..config.actors {
        let (node, _) = Actor::spawn(None, Node { place }, ()).await.runs();
        ring.push(node);
    }
    for (node, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        node.cast(ToNode::Connect(next.clone())).runs();
    }
    let (home, last_place) = oneshot::channel();
    ring[0].cast(ToNode::Hop(Token { hops_left: config.hops, home })).runs();
    let place = last_place.await.runs();
    for node in &ring {
        node.stop(None);
    }
    place
}
