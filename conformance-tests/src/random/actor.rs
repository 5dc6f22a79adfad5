//! The actor that runs the jobs in its messages and records what it observes.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dactor_core::{
    Actor, Context, Directive, Error, ErrorKind, Failure, Handler, Outcome, ReadContext, ReadHandler,
    StopReason, Terminated,
};
use futures_util::{StreamExt, stream};

use super::execute;
use super::history::{HandlerEnd, History, HookKind, HookMoment, LiveCounter, Observation, Reason, Sender};
use super::message::{
    Abortable, Answer, INJECTED, Interleaving, PanickingError, PanickingHeader, ProgramMessage, ReadOnly,
};
use super::program::{Finish, Hook, HookEnd, Job, Lane, SendMethod, Sharing, Spawn, Step};
use super::run::Run;

/// The actor of a random program.
pub(super) struct ProgramActor {
    run: Arc<Run>,
    spec: Arc<Spawn>,
    instance: u64,
    _live: LiveCounter,
}

impl ProgramActor {
    pub(super) fn new(run: &Arc<Run>, spec: &Arc<Spawn>, instance: u64) -> Self {
        let _live = LiveCounter::instance(&run.history);
        Self { run: run.clone(), spec: spec.clone(), instance, _live }
    }

    fn note(&self, what: Observation) {
        self.run.history.note(what);
    }

    async fn run_job(&mut self, message: ProgramMessage, ctx: &mut Context<Self>) -> Outcome<Answer> {
        let (id, job) = (message.id, message.job.clone());
        let mut handling = self.begin_handler(id, Sharing::Exclusive);
        if let Some(PanickingHeader(armed)) = ctx.headers().get() {
            armed.0.store(true, Ordering::SeqCst);
        }
        if !message.stashed {
            for step in &job.steps {
                self.perform(step, Sender::Actor(self.spec.slot), ctx).await;
            }
        }
        let (how, outcome) = self.finish(message, &job, ctx);
        handling.how = how;
        drop(handling);
        if how == HandlerEnd::Panicked {
            panic!("{INJECTED}");
        }
        outcome
    }

    fn begin_handler(&self, id: u64, sharing: Sharing) -> HandlerGuard {
        let (actor, instance) = (self.spec.slot, self.instance);
        self.note(Observation::Begin { id, actor, instance, sharing });
        HandlerGuard { history: self.run.history.clone(), id, actor, how: HandlerEnd::Interrupted }
    }

    /// Runs the steps that need no more than a shared actor.
    async fn run_read(
        &self,
        message: ProgramMessage,
        sharing: Sharing,
        ctx: &ReadContext<Self>,
    ) -> Outcome<Answer> {
        let (id, job) = (message.id, message.job.clone());
        let mut handling = self.begin_handler(id, sharing);
        if let Some(PanickingHeader(armed)) = ctx.headers().get() {
            armed.0.store(true, Ordering::SeqCst);
        }
        let me = self.spec.slot;
        for step in &job.steps {
            match step {
                Step::EndSelf(how) => execute::signal(&self.run, me, *how),
                Step::Sleep(..) | Step::Yield(_) | Step::Hang | Step::Send(_) | Step::End(..) => {
                    execute::perform(&self.run, step, Sender::Read(me)).await;
                }
                _ => {}
            }
        }
        let (how, outcome) = match job.finish {
            Finish::Later(after) => {
                let (later, promised) = ctx.reply_later::<ProgramMessage>();
                let (run, answer) = (self.run.clone(), self.answer(id, false));
                tokio::spawn(async move {
                    run.sleep(after).await;
                    later.reply(answer);
                });
                (HandlerEnd::Promised, promised)
            }
            Finish::LaterDropped => {
                let (later, promised) = ctx.reply_later::<ProgramMessage>();
                drop(later);
                (HandlerEnd::Promised, promised)
            }
            finish => self.plain_finish(id, finish),
        };
        handling.how = how;
        drop(handling);
        if how == HandlerEnd::Panicked {
            panic!("{INJECTED}");
        }
        outcome
    }

    /// An end that needs no context.
    fn plain_finish(&self, id: u64, finish: Finish) -> (HandlerEnd, Outcome<Answer>) {
        match finish {
            Finish::BadReply => (HandlerEnd::Replied, Ok(self.answer(id, true))),
            Finish::Fail => (HandlerEnd::Failed, Err(Failure::new("injected by the program"))),
            Finish::BadError => (HandlerEnd::Failed, Err(PanickingError { shown: false }.into())),
            Finish::DropError => (HandlerEnd::Failed, Err(PanickingError { shown: true }.into())),
            Finish::Panic => (HandlerEnd::Panicked, Err(Failure::new(""))),
            _ => (HandlerEnd::Replied, Ok(self.answer(id, false))),
        }
    }

    /// Records the handler of a stream request.
    pub(super) fn begin_stream(&self, id: u64) -> HandlerGuard {
        self.begin_handler(id, Sharing::Exclusive)
    }

    fn answer(&self, id: u64, bad: bool) -> Answer {
        Answer { id, bad, _live: LiveCounter::message(&self.run.history) }
    }

    fn finish(
        &mut self,
        mut message: ProgramMessage,
        job: &Job,
        ctx: &mut Context<Self>,
    ) -> (HandlerEnd, Outcome<Answer>) {
        let id = message.id;
        match job.finish {
            finish @ (Finish::Reply
            | Finish::BadReply
            | Finish::Fail
            | Finish::BadError
            | Finish::DropError
            | Finish::Panic) => self.plain_finish(id, finish),
            Finish::Stash if message.stashed => (HandlerEnd::Replied, Ok(self.answer(id, false))),
            Finish::Stash => {
                message.stashed = true;
                let outcome = ctx.stash(message);
                let full = outcome.as_ref().is_err_and(|failure| failure.source().is::<Error>());
                (if full { HandlerEnd::StashFull } else { HandlerEnd::Stashed }, outcome)
            }
            Finish::Forward(to) => {
                let Some(target) = self.run.actor(to) else {
                    return (HandlerEnd::Replied, Ok(self.answer(id, false)));
                };
                let next = ProgramMessage::new(&self.run, Arc::default());
                let (id, by) = (next.id, Sender::Actor(self.spec.slot));
                self.note(Observation::Send { id, by, to, how: SendMethod::Forward, lane: Lane::Normal });
                let outcome = ctx.forward(&target, next);
                let error = match &outcome {
                    Err(failure) => failure.source().downcast_ref::<Error>().map(Error::kind),
                    Ok(_) => None,
                };
                self.note(Observation::Sent { id, error });
                (if error.is_some() { HandlerEnd::ForwardRefused } else { HandlerEnd::Forwarded }, outcome)
            }
            Finish::Later(after) => {
                let (later, promised) = ctx.reply_later::<ProgramMessage>();
                let (run, answer) = (self.run.clone(), self.answer(id, false));
                tokio::spawn(async move {
                    run.sleep(after).await;
                    later.reply(answer);
                });
                (HandlerEnd::Promised, promised)
            }
            Finish::LaterDropped => {
                let (later, promised) = ctx.reply_later::<ProgramMessage>();
                drop(later);
                (HandlerEnd::Promised, promised)
            }
        }
    }

    async fn perform(&mut self, step: &Step, by: Sender, ctx: &mut Context<Self>) {
        let me = self.spec.slot;
        match step {
            Step::Spawn(spec) => {
                let Some(spec) = self.run.claim(spec) else { return };
                self.note(Observation::Spawn { actor: spec.slot, parent: Some(me) });
                let spawn = if spec.factory {
                    ctx.spawn(execute::factory(&self.run, &spec))
                } else {
                    ctx.spawn(Self::new(&self.run, &spec, 0))
                };
                execute::spawned(&self.run, &spec, execute::configured(spawn, &spec).await);
            }
            Step::EndSelf(how) => execute::signal(&self.run, me, *how),
            Step::Watch(target) => {
                if let Some(other) = self.run.actor(*target).filter(|_| *target != me) {
                    self.note(Observation::Watch { by: me, target: *target });
                    ctx.watch(&other).expect("another actor can be watched");
                }
            }
            Step::Unwatch(target) => {
                if let Some(other) = self.run.actor(*target) {
                    let was = ctx.unwatch(&other);
                    self.note(Observation::Unwatch { by: me, target: *target, was });
                }
            }
            Step::Unstash => {
                ctx.unstash_all();
                self.note(Observation::Unstash { actor: me });
            }
            Step::After(delay, job) => {
                let message = self.message(job, SendMethod::Timer);
                ctx.after(Duration::from_millis(delay + 1), message).expect("a timer");
            }
            Step::Every(period, job) => {
                ctx.every(Duration::from_millis(period + 50), self.ticks(job)).expect("a timer");
            }
            Step::Idle(after, job) => {
                ctx.idle_timeout(Duration::from_millis(after + 50), self.ticks(job)).expect("a timer");
            }
            Step::Pipe(delay, job) => {
                let (run, delay, message) = (self.run.clone(), *delay, self.message(job, SendMethod::Pipe));
                ctx.pipe(async move {
                    run.sleep(delay).await;
                    message
                });
            }
            Step::PipePanic => ctx.pipe::<ProgramMessage>(async { panic!("{INJECTED}") }),
            Step::Attach(count, job) => {
                let messages: Vec<_> = (0..*count).map(|_| self.message(job, SendMethod::Item)).collect();
                ctx.attach(stream::iter(messages).boxed());
            }
            Step::Sleep(..)
            | Step::Yield(_)
            | Step::Hang
            | Step::Send(_)
            | Step::End(..)
            | Step::Stream(_)
            | Step::GetOrSpawn(..) => {
                execute::perform(&self.run, step, by).await;
            }
        }
    }

    /// A message to the own actor.
    fn message(&self, job: &Job, how: SendMethod) -> ProgramMessage {
        own_message_to(&self.run, self.spec.slot, Arc::new(job.clone()), how)
    }

    /// A factory of such messages.
    fn ticks(&self, job: &Job) -> impl FnMut() -> ProgramMessage + Send + use<> {
        let (run, to, job) = (self.run.clone(), self.spec.slot, Arc::new(job.clone()));
        move || own_message_to(&run, to, job.clone(), SendMethod::Timer)
    }

    async fn hook(&mut self, which: HookKind, hook: &Hook, ctx: &mut Context<Self>) -> Outcome<()> {
        let (history, actor, instance) = (self.run.history.clone(), self.spec.slot, self.instance);
        let mut noted = HookGuard { history, actor, instance, which, moment: HookMoment::Interrupted };
        for step in &hook.steps {
            self.perform(step, Sender::Hook(actor), ctx).await;
        }
        noted.moment = match hook.finish {
            HookEnd::Done => HookMoment::Done,
            HookEnd::Fail => HookMoment::Failed,
            HookEnd::Panic | HookEnd::PanicEarly => HookMoment::Panicked,
        };
        drop(noted);
        match hook.finish {
            HookEnd::Done => Ok(()),
            HookEnd::Fail => Err(Failure::new("injected by the program")),
            HookEnd::Panic | HookEnd::PanicEarly => panic!("{INJECTED}"),
        }
    }

    /// The part of a hook that runs before it returns a future.
    fn begin(&self, which: HookKind, panics: bool) {
        let (actor, instance) = (self.spec.slot, self.instance);
        self.note(Observation::Hook { actor, instance, which, moment: HookMoment::Begin });
        if panics {
            self.note(Observation::Hook { actor, instance, which, moment: HookMoment::Panicked });
            panic!("{INJECTED}");
        }
    }
}

fn own_message_to(run: &Run, to: usize, job: Arc<Job>, how: SendMethod) -> ProgramMessage {
    let message = ProgramMessage::new(run, job);
    run.history.note(Observation::Send { id: message.id, by: Sender::Task, to, how, lane: Lane::Normal });
    message
}

impl Drop for ProgramActor {
    fn drop(&mut self) {
        self.note(Observation::Dropped { actor: self.spec.slot, instance: self.instance });
    }
}

impl Actor for ProgramActor {
    fn on_start(&mut self, ctx: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        let spec = self.spec.clone();
        self.begin(HookKind::Start, spec.start.finish == HookEnd::PanicEarly);
        async move { self.hook(HookKind::Start, &spec.start, ctx).await }
    }

    fn on_restart(&mut self, _: &Error, ctx: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        let spec = self.spec.clone();
        self.begin(HookKind::Restart, spec.restart.finish == HookEnd::PanicEarly);
        async move { self.hook(HookKind::Restart, &spec.restart, ctx).await }
    }

    fn on_error(&mut self, _: &Failure, _: &mut Context<Self>) -> impl Future<Output = Directive> + Send {
        self.begin(HookKind::Error, self.spec.on_error_panics);
        let (actor, instance) = (self.spec.slot, self.instance);
        self.note(Observation::Hook { actor, instance, which: HookKind::Error, moment: HookMoment::Done });
        let directive = self.spec.on_error.directive();
        async move { directive }
    }

    fn on_stop(
        &mut self,
        _: &StopReason,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send {
        let spec = self.spec.clone();
        self.begin(HookKind::Stop, spec.stop.finish == HookEnd::PanicEarly);
        async move { self.hook(HookKind::Stop, &spec.stop, ctx).await }
    }
}

impl Handler<ProgramMessage> for ProgramActor {
    async fn handle(&mut self, message: ProgramMessage, ctx: &mut Context<Self>) -> Outcome<Answer> {
        self.run_job(message, ctx).await
    }
}

impl Handler<Abortable> for ProgramActor {
    async fn handle(&mut self, Abortable(message): Abortable, ctx: &mut Context<Self>) -> Outcome<Answer> {
        self.run_job(message, ctx).await
    }
}

impl ReadHandler<ReadOnly> for ProgramActor {
    async fn read(&self, ReadOnly(message): ReadOnly, ctx: &ReadContext<Self>) -> Outcome<Answer> {
        self.run_read(message, Sharing::Read, ctx).await
    }
}

impl ReadHandler<Interleaving> for ProgramActor {
    async fn read(&self, Interleaving(message): Interleaving, ctx: &ReadContext<Self>) -> Outcome<Answer> {
        self.run_read(message, Sharing::Interleaved, ctx).await
    }
}

impl Handler<Terminated> for ProgramActor {
    async fn handle(&mut self, ended: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        let Some(target) = self.run.slot_of(ended.uid()) else { return Ok(()) };
        let settled = self.run.actor(target).is_none_or(|actor| actor.is_alive() == Some(false));
        let reason = Reason::of(ended.reason());
        self.note(Observation::Terminated { by: self.spec.slot, target, reason, settled });
        Ok(())
    }
}

/// Records the end of a handler, also when it is dropped.
pub(super) struct HandlerGuard {
    history: Arc<History>,
    id: u64,
    actor: usize,
    how: HandlerEnd,
}

impl HandlerGuard {
    /// Records how the handler of a stream request ends, and panics if that is how.
    pub(super) fn end<R>(&mut self, how: HandlerEnd, outcome: Outcome<R>) -> Outcome<R> {
        self.how = how;
        assert!(how != HandlerEnd::Panicked, "{INJECTED}");
        outcome
    }
}

impl Drop for HandlerGuard {
    fn drop(&mut self) {
        let Self { ref history, id, actor, how } = *self;
        history.note(Observation::End { id, actor, how });
    }
}

/// Records the end of a hook, also when it is dropped.
struct HookGuard {
    history: Arc<History>,
    actor: usize,
    instance: u64,
    which: HookKind,
    moment: HookMoment,
}

impl Drop for HookGuard {
    fn drop(&mut self) {
        let Self { ref history, actor, instance, which, moment } = *self;
        history.note(Observation::Hook { actor, instance, which, moment });
    }
}

/// The kind of an error.
pub(super) fn kind(error: &Error) -> ErrorKind {
    error.kind()
}
