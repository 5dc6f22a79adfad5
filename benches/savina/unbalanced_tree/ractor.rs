use ractor::concurrency::oneshot;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use super::{Config, Harvest, Plan, Runs};

pub(super) const IDIOM: &str =
    "`cast` with an `RpcReplyPort` to every child, then their answers; children are not supervised";

struct Node {
    plan: Plan,
}

enum ToNode {
    /// Replies with the number of nodes in the subtree, once all are spawned.
    Grow(RpcReplyPort<u64>),
    /// Replies with the work of the subtree.
    Visit(RpcReplyPort<u64>),
    Fall,
}

impl Node {
    async fn grow(&self, children: &mut Vec<ActorRef<ToNode>>) -> Result<u64, ActorProcessingErr> {
        let mut answers = Vec::new();
        for plan in self.plan.children() {
            let (child, _) = Actor::spawn(None, Node { plan }, ()).await?;
            let (reply, answer) = oneshot();
            child.cast(ToNode::Grow(reply.into()))?;
            answers.push(answer);
            children.push(child);
        }
        let mut nodes = 1;
        for answer in answers {
            nodes += answer.await?;
        }
        Ok(nodes)
    }

    async fn visit(&self, children: &[ActorRef<ToNode>]) -> Result<u64, ActorProcessingErr> {
        let mut answers = Vec::new();
        for child in children {
            let (reply, answer) = oneshot();
            child.cast(ToNode::Visit(reply.into()))?;
            answers.push(answer);
        }
        let mut work = self.plan.work();
        for answer in answers {
            work = work.wrapping_add(answer.await?);
        }
        Ok(work)
    }
}

impl Actor for Node {
    type Msg = ToNode;
    type State = Vec<ActorRef<ToNode>>;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<ToNode>,
        (): (),
    ) -> Result<Vec<ActorRef<ToNode>>, ActorProcessingErr> {
        Ok(Vec::new())
    }

    async fn handle(
        &self,
        myself: ActorRef<ToNode>,
        message: ToNode,
        children: &mut Vec<ActorRef<ToNode>>,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToNode::Grow(reply) => reply.send(self.grow(children).await?)?,
            ToNode::Visit(reply) => reply.send(self.visit(children).await?)?,
            ToNode::Fall => {
                for child in children {
                    child.cast(ToNode::Fall)?;
                }
                myself.stop(None);
            }
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> Harvest {
    let (root, _) = Actor::spawn(None, Node { plan: Plan::root(config) }, ()).await.runs();
    let nodes = call!(root, ToNode::Grow).runs();
    let work = call!(root, ToNode::Visit).runs();
    root.cast(ToNode::Fall).runs();
    Harvest { nodes, work }
}
