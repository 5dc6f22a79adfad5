use dactor::prelude::*;
use tokio::sync::oneshot;

use super::{Config, Runs, Stage, Validation, Verdict};

#[derive(Message)]
struct Value(u64);

struct Sorter {
    stage: Stage,
    next: Recipient<Value>,
}
impl Actor for Sorter {}

impl Handler<Value> for Sorter {
    async fn handle(&mut self, Value(value): Value, ctx: &mut Context<Self>) -> Outcome<()> {
        if let Some(value) = self.stage.sift(value) {
            self.next.tell(Value(value))?;
        }
        if let Some(rest) = self.stage.rest() {
            for value in rest {
                self.next.tell(Value(value))?;
            }
            ctx.stop();
        }
        Ok(())
    }
}

struct Validator(Validation);
impl Actor for Validator {}

impl Handler<Value> for Validator {
    async fn handle(&mut self, Value(value): Value, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.0.is_last(value) {
            ctx.stop();
        }
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> Verdict {
    let (home, verdict) = oneshot::channel();
    let mut next = system.spawn(Validator(Validation::new(config, home))).await.runs().recipient();
    for stage in config.stages() {
        next = system.spawn(Sorter { stage, next }).await.runs().recipient();
    }
    for value in config.values() {
        next.tell(Value(value)).runs();
    }
    verdict.await.runs()
}
