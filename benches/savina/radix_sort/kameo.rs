use kameo::actor::{Actor, ActorRef, Recipient, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};
use tokio::sync::oneshot;

use super::{Config, Runs, Stage, Validation, Verdict};

pub(super) const IDIOM: &str =
    "`tell(..).try_send()` to a `Recipient`, which boxes no future; unbounded mailboxes";

struct Value(u64);

struct Sorter {
    stage: Stage,
    next: Recipient<Value>,
}

impl Actor for Sorter {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(sorter: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(sorter)
    }
}

impl Message<Value> for Sorter {
    type Reply = ();

    async fn handle(&mut self, Value(value): Value, ctx: &mut Context<Self, ()>) {
        if let Some(value) = self.stage.sift(value) {
            self.next.tell(Value(value)).try_send().runs();
        }
        if let Some(rest) = self.stage.rest() {
            for value in rest {
                self.next.tell(Value(value)).try_send().runs();
            }
            ctx.stop();
        }
    }
}

struct Validator(Validation);

impl Actor for Validator {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(validator: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(validator)
    }
}

impl Message<Value> for Validator {
    type Reply = ();

    async fn handle(&mut self, Value(value): Value, ctx: &mut Context<Self, ()>) {
        if self.0.is_last(value) {
            ctx.stop();
        }
    }
}

pub(super) async fn run(config: Config) -> Verdict {
    let (home, verdict) = oneshot::channel();
    let validator = Validator(Validation::new(config, home));
    let mut next = Validator::spawn_with_mailbox(validator, unbounded()).recipient();
    for stage in config.stages() {
        next = Sorter::spawn_with_mailbox(Sorter { stage, next }, unbounded()).recipient();
    }
    for value in config.values() {
        next.tell(Value(value)).try_send().runs();
    }
    verdict.await.runs()
}
