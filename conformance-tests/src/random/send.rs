//! Sends a message of a program and records its outcome.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;

use dactor_core::{ActorRef, Ask, Error, ErrorKind, Message, SentTo};
use futures_util::future::{Either, select};
use tokio_util::sync::CancellationToken;

use super::actor::{ProgramActor, kind};
use super::history::{Observation, Sender};
use super::interceptor::EveryMessage;
use super::message::{Answer, PanickingHeader, ProgramMessage};
use super::program::{Lane, SendMethod, SendSpec};
use super::run::Run;

pub(super) async fn send<M>(run: &Arc<Run>, spec: &SendSpec, by: Sender, make: fn(ProgramMessage) -> M)
where
    M: Message<Reply = Answer> + SentTo<ProgramActor>,
{
    let Some(target) = run.actor(spec.to) else { return };
    let target = match spec.outbound {
        Some(verdict) => target.outbound(EveryMessage(verdict)),
        None => target,
    };
    let message = ProgramMessage::new(run, Arc::new(spec.job.clone()));
    let id = message.id;
    let sender =
        if spec.how == SendMethod::Ask && matches!(by, Sender::Client(_)) { Sender::Task } else { by };
    // A selection sends with the priority of the message type.
    let lane = if spec.how == SendMethod::Select { Lane::Normal } else { spec.lane };
    run.history.note(Observation::Send { id, by: sender, to: spec.to, how: spec.how, lane });
    let sent = |error: Option<&Error>| {
        error.into_iter().for_each(|error| run.history.read(error));
        run.history.note(Observation::Sent { id, error: error.map(kind) });
    };
    let way = target.at(spec.lane.priority());
    let way = if spec.bad_header { way.header(PanickingHeader::new()) } else { way };
    match spec.how {
        SendMethod::Tell => sent(way.tell(make(message)).err().as_ref()),
        SendMethod::TryTell => match way.try_tell(make(message)) {
            Ok(()) => sent(None),
            Err(refused) => {
                sent(Some(&refused.reason));
                drop(refused.message);
            }
        },
        SendMethod::Send => {
            let limit = run.within(spec.drop_after.unwrap_or(200));
            let mut withdrawal = Withdrawal { run, id, done: false };
            if let Ok(result) = tokio::time::timeout(limit, way.send(make(message))).await {
                withdrawal.done = true;
                sent(result.err().as_ref());
            }
        }
        SendMethod::Select => {
            let selection = target.path().to_serialization_format();
            let told = target.system().select(&selection).map(|all| all.tell::<ProgramActor, _>(message));
            sent((told.ok() != Some(1)).then(|| Error::new(ErrorKind::NoSuchActor)).as_ref());
        }
        SendMethod::Ask | SendMethod::Enqueue => ask(run, spec, by, (id, make(message), target)).await,
        SendMethod::Forward
        | SendMethod::Timer
        | SendMethod::Pipe
        | SendMethod::Item
        | SendMethod::Stream => {}
    }
}

async fn ask<M>(
    run: &Arc<Run>,
    spec: &SendSpec,
    by: Sender,
    (id, message, target): (u64, M, ActorRef<ProgramActor>),
) where
    M: Message<Reply = Answer> + SentTo<ProgramActor>,
{
    let token = spec.cancel.map(|after| {
        let (token, cancelling) = (CancellationToken::new(), run.clone());
        let cancelled = token.clone();
        run.later(async move {
            cancelling.sleep(after).await;
            cancelled.cancel();
        });
        token
    });
    let inline = matches!(by, Sender::Actor(_) | Sender::Read(_) | Sender::Hook(_));
    let drop_after = spec.drop_after;
    if spec.how == SendMethod::Enqueue {
        match configured_ask(run, &target, spec, message, token).enqueue() {
            Ok(pending) => {
                run.history.note(Observation::Sent { id, error: None });
                let waiting = run.clone();
                run.later(async move { answered(&waiting, id, drop_after, pending).await });
            }
            Err(error) => note_answer(run, id, Err(error)),
        }
    } else if inline {
        // Deadlocks between actors are out of scope.
        let spec = SendSpec { timeout: spec.timeout.or(Some(300)), ..spec.clone() };
        answered(run, id, drop_after, configured_ask(run, &target, &spec, message, token)).await;
    } else {
        let (asking, spec) = (run.clone(), spec.clone());
        run.later(async move {
            answered(&asking, id, drop_after, configured_ask(&asking, &target, &spec, message, token)).await;
        });
    }
}

fn configured_ask<'a, M: SentTo<ProgramActor>>(
    run: &Run,
    target: &'a ActorRef<ProgramActor>,
    spec: &SendSpec,
    message: M,
    token: Option<CancellationToken>,
) -> Ask<'a, M> {
    let way = target.at(spec.lane.priority());
    let way = if spec.bad_header { way.header(PanickingHeader::new()) } else { way };
    let ask = way.ask(message);
    let ask = match spec.timeout {
        Some(ms) => ask.timeout(run.within(ms)),
        None => ask,
    };
    let ask = match spec.deadline {
        Some(ms) => ask.deadline(tokio::time::Instant::now() + run.within(ms)),
        None => ask,
    };
    match token {
        Some(token) => ask.cancel(token),
        None => ask,
    }
}

/// Awaits an answer, or drops the future after the given time.
async fn answered(
    run: &Run,
    id: u64,
    drop_after: Option<u64>,
    pending: impl Future<Output = dactor_core::Result<Answer>>,
) {
    // Dropped after the future in every case.
    let mut withdrawal = Withdrawal { run, id, done: false };
    let mut pending = Contained(Some(Box::pin(pending)));
    let reply = match drop_after {
        None => Some(pending.future().await),
        // With zero the future is polled once, so that the message is sent.
        Some(ms) => match select(pending.future(), pin!(run.sleep(ms))).await {
            Either::Left((reply, _)) => Some(reply),
            Either::Right(_) => None,
        },
    };
    if let Some(reply) = reply {
        withdrawal.done = true;
        note_answer(run, id, reply);
    }
}

/// Records that a caller gave up.
struct Withdrawal<'a> {
    run: &'a Run,
    id: u64,
    done: bool,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.run.history.note(Observation::Withdrawn { id: self.id });
        }
    }
}

/// A future whose destructor may panic because of an unread reply.
struct Contained<F>(Option<Pin<Box<F>>>);

impl<F: Future> Contained<F> {
    fn future(&mut self) -> &mut Pin<Box<F>> {
        self.0.as_mut().expect("the future exists until it is dropped")
    }
}

impl<F> Drop for Contained<F> {
    fn drop(&mut self) {
        let future = self.0.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
    }
}

fn note_answer(run: &Run, id: u64, reply: dactor_core::Result<Answer>) {
    let reply = reply.map(Answer::read).map_err(|error| {
        run.history.read(&error);
        error.kind()
    });
    run.history.note(Observation::Answer { id, reply });
}

/// Whether the error means that the asker gave up.
pub(super) fn gave_up(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Timeout | ErrorKind::Cancelled)
}
