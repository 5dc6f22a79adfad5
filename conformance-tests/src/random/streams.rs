//! Stream requests and `get_or_spawn` of a program.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dactor_core::{
    Actor, Context, Error, ErrorKind, Expand, ExpandHandler, Failure, Handler, Input, Message, Outcome,
    Producer, Reduce, ReduceHandler, ReduceRequest, Result, Transform, TransformHandler,
};
use futures_util::{Stream, StreamExt, stream};

use super::actor::ProgramActor;
use super::history::{HandlerEnd, LiveCounter, Observation, Sender, Violation};
use super::message::INJECTED;
use super::program::{Lane, SendMethod, StreamEnding, StreamShape, StreamSpec};
use super::run::{Run, lock};

/// A number that is counted while it lives.
pub(super) struct Item {
    value: u64,
    live: LiveCounter,
}

/// A stream request with the job of its handler.
pub(super) struct StreamJob {
    pub(super) id: u64,
    pub(super) spec: StreamSpec,
    pub(super) run: Arc<Run>,
    _live: LiveCounter,
}

impl StreamJob {
    fn item(&self, value: u64) -> Item {
        Item { value, live: LiveCounter::message(&self.run.history) }
    }

    fn text(&self) -> Option<String> {
        Some(format!("#{}", self.id))
    }
}

impl Expand for StreamJob {
    type Item = Item;

    fn describe(&self) -> Option<String> {
        self.text()
    }
}

impl Reduce for StreamJob {
    type Item = Item;
    type Reply = u64;

    fn describe(&self) -> Option<String> {
        self.text()
    }
}

impl Transform for StreamJob {
    type Input = Item;
    type Output = Item;

    fn describe(&self) -> Option<String> {
        self.text()
    }
}

/// How a handler ends after its items.
fn finish(ending: StreamEnding) -> (HandlerEnd, Outcome<()>) {
    match ending {
        StreamEnding::Fail => (HandlerEnd::Failed, Err(Failure::new("injected by the program"))),
        StreamEnding::Panic => (HandlerEnd::Panicked, Ok(())),
        StreamEnding::Finish | StreamEnding::Leave | StreamEnding::Beside => (HandlerEnd::Replied, Ok(())),
    }
}

async fn produce(job: &StreamJob, out: &mut Producer<Item>) -> Result<()> {
    for value in 0..job.spec.count {
        out.send(job.item(value)).await?;
        job.run.sleep(job.spec.pause).await;
    }
    Ok(())
}

async fn transform(job: &StreamJob, input: &mut Input<Item>, out: &mut Producer<Item>) -> Result<()> {
    while let Some(item) = input.next().await {
        let Item { value, live } = item?;
        out.send(Item { value: value * 2, live }).await?;
        job.run.sleep(job.spec.pause).await;
    }
    Ok(())
}

async fn sum(job: &StreamJob, input: &mut Input<Item>) -> Result<u64> {
    let mut sum = 0;
    while let Some(item) = input.next().await {
        sum += item?.value;
        job.run.sleep(job.spec.pause).await;
    }
    Ok(sum)
}

impl ExpandHandler<StreamJob> for ProgramActor {
    async fn expand(
        &mut self,
        job: StreamJob,
        mut out: Producer<Item>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        let mut handling = self.begin_stream(job.id);
        let ending = job.spec.ending;
        if ending == StreamEnding::Beside {
            tokio::spawn(async move {
                if produce(&job, &mut out).await.is_ok() {
                    let _ = out.finish().await;
                }
            });
            return handling.end(HandlerEnd::Replied, Ok(()));
        }
        if let Err(error) = produce(&job, &mut out).await {
            return handling.end(HandlerEnd::Replied, Err(error.into()));
        }
        let (how, outcome) = finish(ending);
        if ending == StreamEnding::Finish {
            let finished = out.finish().await;
            return handling.end(how, finished.map_err(Failure::from));
        }
        handling.end(how, outcome)
    }
}

impl TransformHandler<StreamJob> for ProgramActor {
    async fn transform(
        &mut self,
        job: StreamJob,
        mut input: Input<Item>,
        mut out: Producer<Item>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        let mut handling = self.begin_stream(job.id);
        let ending = job.spec.ending;
        if ending == StreamEnding::Beside {
            tokio::spawn(async move {
                if transform(&job, &mut input, &mut out).await.is_ok() {
                    let _ = out.finish().await;
                }
            });
            return handling.end(HandlerEnd::Replied, Ok(()));
        }
        if let Err(error) = transform(&job, &mut input, &mut out).await {
            // A handler that returns early because its consumer is gone has not failed.
            let how = if out.is_closed() { HandlerEnd::Replied } else { HandlerEnd::Failed };
            return handling.end(how, Err(error.into()));
        }
        let (how, outcome) = finish(ending);
        if ending == StreamEnding::Finish {
            let finished = out.finish().await;
            return handling.end(how, finished.map_err(Failure::from));
        }
        handling.end(how, outcome)
    }
}

impl ReduceHandler<StreamJob> for ProgramActor {
    async fn reduce(
        &mut self,
        job: StreamJob,
        mut input: Input<Item>,
        ctx: &mut Context<Self>,
    ) -> Outcome<u64> {
        let mut handling = self.begin_stream(job.id);
        let ending = job.spec.ending;
        if ending == StreamEnding::Beside {
            let (later, promised) = ctx.reply_later::<ReduceRequest<StreamJob>>();
            tokio::spawn(async move {
                // Dropped unanswered, it is an error for the caller.
                if let Ok(sum) = sum(&job, &mut input).await {
                    later.reply(sum);
                }
            });
            return handling.end(HandlerEnd::Promised, promised);
        }
        let sum = match ending {
            StreamEnding::Leave => 0,
            _ => match sum(&job, &mut input).await {
                Ok(sum) => sum,
                Err(error) => return handling.end(HandlerEnd::Failed, Err(error.into())),
            },
        };
        let (how, outcome) = finish(ending);
        handling.end(how, outcome.map(|()| sum))
    }
}

/// The caller's stream.
fn numbers(run: &Arc<Run>, spec: &StreamSpec) -> impl Stream<Item = Item> + Send + Unpin + use<> {
    let (history, spec) = (run.history.clone(), *spec);
    stream::iter(0..spec.count).map(move |value| {
        assert!(!(spec.input_panics && value + 1 == spec.count), "{INJECTED}");
        Item { value, live: LiveCounter::message(&history) }
    })
}

/// Sends a stream request, in a task of its own.
pub(super) fn send_stream(run: &Arc<Run>, spec: &StreamSpec) {
    let Some(target) = run.actor(spec.to) else { return };
    let live = LiveCounter::message(&run.history);
    let job = StreamJob { id: run.next_id(), spec: *spec, run: run.clone(), _live: live };
    let (id, lane, how) = (job.id, Lane::Normal, SendMethod::Stream);
    run.history.note(Observation::Send { id, by: Sender::Task, to: spec.to, how, lane });
    let (run, spec) = (run.clone(), *spec);
    let caller = run.clone();
    run.later(async move {
        let input = numbers(&caller, &spec);
        let limit = caller.within(spec.timeout.unwrap_or(100_000));
        let buffer = spec.buffer.max(1);
        match spec.shape {
            StreamShape::Expand => {
                let request = target.expand(job).buffer(buffer).batch(spec.batch);
                let request = if spec.timeout.is_some() { request.timeout(limit) } else { request };
                consume(&caller, id, &spec, 1, request.await).await;
            }
            StreamShape::Transform => {
                let request = target.transform(job, input).buffer(buffer).batch(spec.batch);
                let request = if spec.timeout.is_some() { request.timeout(limit) } else { request };
                consume(&caller, id, &spec, 2, request.await).await;
            }
            StreamShape::Reduce => {
                let request = target.reduce(job, input).buffer(buffer);
                let request = if spec.timeout.is_some() { request.timeout(limit) } else { request };
                let reply = request.await;
                let whole = (0..spec.count).sum::<u64>();
                if let Ok(sum) = reply
                    && sum != (if spec.ending == StreamEnding::Leave { 0 } else { whole })
                {
                    caller.history.wrong(Violation::WrongItem(id));
                }
                answered(&caller, id, reply.map(|_| ()));
            }
        }
    });
}

fn answered(run: &Run, id: u64, end: Result<()>) {
    let reply = end.map(|()| id).map_err(|error| {
        run.history.read(&error);
        error.kind()
    });
    run.history.note(Observation::Answer { id, reply });
}

/// Takes the items, which must come in order, up to one end.
async fn consume(
    run: &Run,
    id: u64,
    spec: &StreamSpec,
    factor: u64,
    items: Result<impl Stream<Item = Result<Item>> + Unpin>,
) {
    let mut items = match items {
        Ok(items) => items,
        Err(error) => return answered(run, id, Err(error)),
    };
    let mut next = 0;
    let end = loop {
        if spec.take == Some(next) {
            drop(items);
            return run.history.note(Observation::Withdrawn { id });
        }
        match items.next().await {
            Some(Ok(item)) if item.value == next * factor => next += 1,
            Some(Ok(_)) => return run.history.wrong(Violation::WrongItem(id)),
            Some(Err(error)) => break Err(error),
            None => break Ok(()),
        }
    };
    let whole = end.is_err() || next == spec.count;
    let finishes = end.is_err() || matches!(spec.ending, StreamEnding::Finish | StreamEnding::Beside);
    if !whole || !finishes || items.next().await.is_some() {
        run.history.wrong(Violation::WrongEnd(id));
    }
    answered(run, id, end);
}

/// An actor of which one is alive at a time.
struct Single {
    alive: Arc<AtomicUsize>,
}

impl Single {
    fn new(run: &Run, alive: &Arc<AtomicUsize>) -> Self {
        if alive.fetch_add(1, Ordering::SeqCst) > 0 {
            run.history.wrong(Violation::TwoAlive);
        }
        Self { alive: alive.clone() }
    }
}

impl Drop for Single {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Actor for Single {
    async fn on_start(&mut self, _: &mut Context<Self>) -> Outcome<()> {
        tokio::task::yield_now().await;
        Ok(())
    }
}

struct Hit;

impl Message for Hit {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Hit> for Single {
    async fn handle(&mut self, _: Hit, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

/// Gets the one actor of this name, asks it, and stops it if `stops`.
pub(super) fn get_or_spawn(run: &Arc<Run>, name: usize, stops: bool) {
    let Some(system) = lock(&run.system).clone() else { return };
    let (caller, alive) = (run.clone(), run.singles[name % run.singles.len()].clone());
    run.later(async move {
        let factory = caller.clone();
        let spawn = system.get_or_spawn(format!("single{name}"), move || Single::new(&factory, &alive));
        let found = match spawn.await {
            Ok(single) => {
                let hit = single.ask(Hit).timeout(Duration::from_secs(5)).await;
                if stops {
                    single.stop();
                }
                hit
            }
            Err(error) => Err(error),
        };
        if let Err(error) = found {
            caller.history.read(&error);
            if !ends(&error) {
                caller.history.wrong(Violation::NotFound(error.kind()));
            }
        }
    });
}

/// Whether the system or the actor ended, which is no fault of `get_or_spawn`.
fn ends(error: &Error) -> bool {
    use ErrorKind::{Interrupted, StartFailed, Stopped, SystemShutDown};
    matches!(error.kind(), Interrupted | StartFailed | Stopped | SystemShutDown)
}
