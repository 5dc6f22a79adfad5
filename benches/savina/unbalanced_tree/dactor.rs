use dactor::prelude::*;

use super::{Config, Harvest, Plan, Runs};

struct Node {
    plan: Plan,
    children: Vec<ActorRef<Node>>,
}
impl Actor for Node {}

/// Replies with the number of nodes in the subtree, once all are spawned.
#[derive(Message)]
#[message(reply = u64)]
struct Grow;

impl Handler<Grow> for Node {
    async fn handle(&mut self, Grow: Grow, ctx: &mut Context<Self>) -> Outcome<u64> {
        let mut answers = Vec::new();
        for plan in self.plan.children() {
            let child = ctx.system().spawn(Node { plan, children: Vec::new() }).await?;
            answers.push(child.ask(Grow).enqueue()?);
            self.children.push(child);
        }
        let mut nodes = 1;
        for answer in answers {
            nodes += answer.await?;
        }
        Ok(nodes)
    }
}

/// Replies with the work of the subtree.
#[derive(Message)]
#[message(reply = u64)]
struct Visit;

impl Handler<Visit> for Node {
    async fn handle(&mut self, Visit: Visit, _ctx: &mut Context<Self>) -> Outcome<u64> {
        let mut answers = Vec::new();
        for child in &self.children {
            answers.push(child.ask(Visit).enqueue()?);
        }
        let mut work = self.plan.work();
        for answer in answers {
            work = work.wrapping_add(answer.await?);
        }
        Ok(work)
    }
}

#[derive(Message)]
struct Fall;

impl Handler<Fall> for Node {
    async fn handle(&mut self, Fall: Fall, ctx: &mut Context<Self>) -> Outcome<()> {
        for child in &self.children {
            child.tell(Fall)?;
        }
        ctx.stop();
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> Harvest {
    let root = system.spawn(Node { plan: Plan::root(config), children: Vec::new() }).await.runs();
    let nodes = root.ask(Grow).await.runs();
    let work = root.ask(Visit).await.runs();
    root.tell(Fall).runs();
    Harvest { nodes, work }
}
