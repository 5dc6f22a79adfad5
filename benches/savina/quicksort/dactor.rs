use dactor::prelude::*;
use tokio::sync::oneshot;

use super::{Config, Fragment, Parent, Runs, Side, Step, digest};

struct Sorter(Fragment<ActorRef<Sorter>>);
impl Actor for Sorter {}

impl Sorter {
    fn finish(&mut self, values: Vec<u64>, ctx: &Context<Self>) -> Outcome<()> {
        match self.0.parent.take() {
            Some(Parent::Sorter(parent, side)) => parent.tell(Sorted(side, values))?,
            Some(Parent::Program(home)) => home.send(values).runs(),
            None => unreachable!("a sorter finishes once"),
        }
        ctx.stop();
        Ok(())
    }
}

#[derive(Message)]
struct Sort(Vec<u64>);

impl Handler<Sort> for Sorter {
    async fn handle(&mut self, Sort(values): Sort, ctx: &mut Context<Self>) -> Outcome<()> {
        match self.0.sort(values) {
            Step::Sorted(values) => self.finish(values, ctx)?,
            Step::Split(fragments) => {
                for (side, values) in fragments {
                    let parent = Parent::Sorter(ctx.actor_ref().clone(), side);
                    let child = Sorter(Fragment::new(self.0.threshold, parent));
                    ctx.system().spawn(child).await?.tell(Sort(values))?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Message)]
struct Sorted(Side, Vec<u64>);

impl Handler<Sorted> for Sorter {
    async fn handle(&mut self, Sorted(side, values): Sorted, ctx: &mut Context<Self>) -> Outcome<()> {
        match self.0.merge(side, values) {
            Some(values) => self.finish(values, ctx),
            None => Ok(()),
        }
    }
}

pub(super) async fn run(system: &System, config: Config) -> u64 {
    let (home, sorted) = oneshot::channel();
    let root = Sorter(Fragment::new(config.threshold, Parent::Program(home)));
    system.spawn(root).await.runs().tell(Sort(config.values())).runs();
    digest(&sorted.await.runs())
}
