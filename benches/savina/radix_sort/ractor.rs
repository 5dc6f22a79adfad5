use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use super::{Config, Runs, Stage, Validation, Verdict};

pub(super) const IDIOM: &str = "`cast`; the two kinds of actors take the same message";

struct Value(u64);

struct Sorter {
    next: ActorRef<Value>,
}

impl Actor for Sorter {
    type Msg = Value;
    type State = Stage;
    type Arguments = Stage;

    async fn pre_start(&self, _myself: ActorRef<Value>, stage: Stage) -> Result<Stage, ActorProcessingErr> {
        Ok(stage)
    }

    async fn handle(
        &self,
        myself: ActorRef<Value>,
        Value(value): Value,
        stage: &mut Stage,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(value) = stage.sift(value) {
            self.next.cast(Value(value))?;
        }
        if let Some(rest) = stage.rest() {
            for value in rest {
                self.next.cast(Value(value))?;
            }
            myself.stop(None);
        }
        Ok(())
    }
}

struct Validator;

impl Actor for Validator {
    type Msg = Value;
    type State = Validation;
    type Arguments = Validation;

    async fn pre_start(
        &self,
        _myself: ActorRef<Value>,
        validation: Validation,
    ) -> Result<Validation, ActorProcessingErr> {
        Ok(validation)
    }

    async fn handle(
        &self,
        myself: ActorRef<Value>,
        Value(value): Value,
        validation: &mut Validation,
    ) -> Result<(), ActorProcessingErr> {
        if validation.is_last(value) {
            myself.stop(None);
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> Verdict {
    let (home, verdict) = oneshot::channel();
    let (mut next, _) = Actor::spawn(None, Validator, Validation::new(config, home)).await.runs();
    for stage in config.stages() {
        (next, _) = Actor::spawn(None, Sorter { next }, stage).await.runs();
    }
    for value in config.values() {
        next.cast(Value(value)).runs();
    }
    verdict.await.runs()
}
