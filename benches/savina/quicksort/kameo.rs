use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};
use tokio::sync::oneshot;

use super::{Config, Fragment, Parent, Runs, Side, Step, digest};

pub(super) const IDIOM: &str =
    "`tell(..).try_send()`, which boxes no future; unbounded mailboxes; children are not supervised";

struct Sorter(Fragment<ActorRef<Sorter>>);

impl Actor for Sorter {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(sorter: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(sorter)
    }
}

impl Sorter {
    fn finish(&mut self, values: Vec<u64>, ctx: &mut Context<Self, ()>) {
        match self.0.parent.take() {
            Some(Parent::Sorter(parent, side)) => parent.tell(Sorted(side, values)).try_send().runs(),
            Some(Parent::Program(home)) => home.send(values).runs(),
            None => unreachable!("a sorter finishes once"),
        }
        ctx.stop();
    }
}

struct Sort(Vec<u64>);

impl Message<Sort> for Sorter {
    type Reply = ();

    async fn handle(&mut self, Sort(values): Sort, ctx: &mut Context<Self, ()>) {
        match self.0.sort(values) {
            Step::Sorted(values) => self.finish(values, ctx),
            Step::Split(fragments) => {
                for (side, values) in fragments {
                    let parent = Parent::Sorter(ctx.actor_ref().clone(), side);
                    let child = Sorter(Fragment::new(self.0.threshold, parent));
                    Sorter::spawn_with_mailbox(child, unbounded()).tell(Sort(values)).try_send().runs();
                }
            }
        }
    }
}

struct Sorted(Side, Vec<u64>);

impl Message<Sorted> for Sorter {
    type Reply = ();

    async fn handle(&mut self, Sorted(side, values): Sorted, ctx: &mut Context<Self, ()>) {
        if let Some(values) = self.0.merge(side, values) {
            self.finish(values, ctx);
        }
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let (home, sorted) = oneshot::channel();
    let root = Sorter(Fragment::new(config.threshold, Parent::Program(home)));
    let root = Sorter::spawn_with_mailbox(root, unbounded());
    root.tell(Sort(config.values())).try_send().runs();
    digest(&sorted.await.runs())
}
