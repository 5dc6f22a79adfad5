use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Harvest, Plan, Runs};

pub(super) const IDIOM: &str = "`ask(..).try_enqueue()` to every child, then their answers; unbounded mailboxes; \
                                children are not supervised";

struct Node {
    plan: Plan,
    children: Vec<ActorRef<Node>>,
}

impl Actor for Node {
    type Args = Plan;
    type Error = Infallible;

    async fn on_start(plan: Plan, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(Self { plan, children: Vec::new() })
    }
}

/// Replies with the number of nodes in the subtree, once all are spawned.
struct Grow;

impl Message<Grow> for Node {
    type Reply = u64;

    async fn handle(&mut self, Grow: Grow, _ctx: &mut Context<Self, u64>) -> u64 {
        let mut answers = Vec::new();
        for plan in self.plan.children() {
            let child = Node::spawn_with_mailbox(plan, unbounded());
            answers.push(child.ask(Grow).try_enqueue().runs());
            self.children.push(child);
        }
        let mut nodes = 1;
        for answer in answers {
            nodes += answer.await.runs();
        }
        nodes
    }
}

/// Replies with the work of the subtree.
struct Visit;

impl Message<Visit> for Node {
    type Reply = u64;

    async fn handle(&mut self, Visit: Visit, _ctx: &mut Context<Self, u64>) -> u64 {
        let mut answers = Vec::new();
        for child in &self.children {
            answers.push(child.ask(Visit).try_enqueue().runs());
        }
        let mut work = self.plan.work();
        for answer in answers {
            work = work.wrapping_add(answer.await.runs());
        }
        work
    }
}

struct Fall;

impl Message<Fall> for Node {
    type Reply = ();

    async fn handle(&mut self, Fall: Fall, ctx: &mut Context<Self, ()>) {
        for child in &self.children {
            child.tell(Fall).try_send().runs();
        }
        ctx.stop();
    }
}

pub(super) async fn run(config: Config) -> Harvest {
    let root = Node::spawn_with_mailbox(Plan::root(config), unbounded());
    let nodes = root.ask(Grow).try_send().await.runs();
    let work = root.ask(Visit).try_send().await.runs();
    root.tell(Fall).try_send().runs();
    Harvest { nodes, work }
}
