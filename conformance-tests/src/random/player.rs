//! The actor that does what its messages say, and notes what it sees.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dactor_core::{
    Actor, Context, Delivery, Directive, Error, ErrorKind, Failure, Handler, Header, Inbound, Message,
    Outbound, Outcome, StopReason, Terminated, Verdict,
};
use futures_util::{StreamExt, stream};

use super::execute::{self, Run};
use super::history::{Canary, Ended, History, Moment, Reason, What, Which, Who};
use super::program::{Finish, Hook, HookEnd, How, Intercept, Job, Lane, Spawn, Step};

/// What all of a program's panics say.
pub(super) const ORDERED: &str = "a panic that the program ordered";

/// A message: what its handler is to do.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) id: u64,
    pub(super) job: Arc<Job>,
    stashed: bool,
    _canary: Canary,
}

impl Order {
    pub(super) fn new(run: &Run, job: Arc<Job>) -> Self {
        Self { id: run.next_id(), job, stashed: false, _canary: Canary::message(&run.history) }
    }
}

impl Message for Order {
    type Reply = Answer;

    fn describe(&self) -> Option<String> {
        Some(format!("#{}", self.id))
    }
}

/// An order whose handler is dropped with its asker.
pub(super) struct Abortable(pub(super) Order);

impl Message for Abortable {
    type Reply = Answer;
    const ABORT: bool = true;

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }
}

/// Who replied. One that is bad and is not read panics in its destructor.
pub(super) struct Answer {
    pub(super) id: u64,
    bad: bool,
    _canary: Canary,
}

impl Answer {
    /// Who replied.
    pub(super) fn read(mut self) -> u64 {
        self.bad = false;
        self.id
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.bad && !std::thread::panicking() {
            panic!("{ORDERED}");
        }
    }
}

/// A header whose destructor panics, once a handler has seen it: when the last of its clones is gone.
#[derive(Clone)]
pub(super) struct BadHeader(Arc<Armed>);

#[derive(Default)]
struct Armed(AtomicBool);

impl Drop for Armed {
    fn drop(&mut self) {
        if *self.0.get_mut() && !std::thread::panicking() {
            panic!("{ORDERED}");
        }
    }
}

impl BadHeader {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }
}

impl Header for BadHeader {
    const NAME: &'static str = "bad";
}

/// An error that cannot be shown, or not be dropped.
#[derive(Debug)]
struct BadError {
    shown: bool,
}

impl fmt::Display for BadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.shown {
            panic!("{ORDERED}");
        }
        f.write_str(ORDERED)
    }
}

impl Drop for BadError {
    fn drop(&mut self) {
        if self.shown && !std::thread::panicking() {
            panic!("{ORDERED}");
        }
    }
}

impl std::error::Error for BadError {}

/// The actor.
pub(super) struct Player {
    run: Arc<Run>,
    spec: Arc<Spawn>,
    instance: u64,
    _canary: Canary,
}

impl Player {
    pub(super) fn new(run: &Arc<Run>, spec: &Arc<Spawn>, instance: u64) -> Self {
        let _canary = Canary::instance(&run.history);
        Self { run: run.clone(), spec: spec.clone(), instance, _canary }
    }

    fn note(&self, what: What) {
        self.run.history.note(what);
    }

    async fn play(&mut self, order: Order, ctx: &mut Context<Self>) -> Outcome<Answer> {
        let (id, job) = (order.id, order.job.clone());
        self.note(What::Begin { id, actor: self.spec.slot, instance: self.instance });
        let mut handling =
            Handling { history: self.run.history.clone(), id, actor: self.spec.slot, how: Ended::Cut };
        if let Some(BadHeader(armed)) = ctx.headers().get() {
            armed.0.store(true, Ordering::SeqCst);
        }
        if !order.stashed {
            for step in &job.steps {
                self.perform(step, Who::Actor(self.spec.slot), ctx).await;
            }
        }
        let (how, outcome) = self.finish(order, &job, ctx);
        handling.how = how;
        drop(handling);
        if how == Ended::Panicked {
            panic!("{ORDERED}");
        }
        outcome
    }

    fn answer(&self, id: u64, bad: bool) -> Answer {
        Answer { id, bad, _canary: Canary::message(&self.run.history) }
    }

    fn finish(&mut self, mut order: Order, job: &Job, ctx: &mut Context<Self>) -> (Ended, Outcome<Answer>) {
        let id = order.id;
        match job.finish {
            Finish::Reply => (Ended::Replied, Ok(self.answer(id, false))),
            Finish::BadReply => (Ended::Replied, Ok(self.answer(id, true))),
            Finish::Fail => (Ended::Failed, Err(Failure::new("the program ordered it"))),
            Finish::BadError => (Ended::Failed, Err(BadError { shown: false }.into())),
            Finish::DropError => (Ended::Failed, Err(BadError { shown: true }.into())),
            Finish::Panic => (Ended::Panicked, Err(Failure::new(""))),
            Finish::Stash if order.stashed => (Ended::Replied, Ok(self.answer(id, false))),
            Finish::Stash => {
                order.stashed = true;
                let outcome = ctx.stash(order);
                let full = outcome.as_ref().is_err_and(|failure| failure.source().is::<Error>());
                (if full { Ended::StashFull } else { Ended::Stashed }, outcome)
            }
            Finish::Forward(to) => {
                let Some(target) = self.run.actor(to) else {
                    return (Ended::Replied, Ok(self.answer(id, false)));
                };
                let next = Order::new(&self.run, Arc::default());
                let (id, by) = (next.id, Who::Actor(self.spec.slot));
                self.note(What::Send { id, by, to, how: How::Forward, lane: Lane::Normal });
                let outcome = ctx.forward(&target, next);
                let error = match &outcome {
                    Err(failure) => failure.source().downcast_ref::<Error>().map(Error::kind),
                    Ok(_) => None,
                };
                self.note(What::Sent { id, error });
                (if error.is_some() { Ended::ForwardRefused } else { Ended::Forwarded }, outcome)
            }
            Finish::Later(after) => {
                let (later, promised) = ctx.reply_later::<Order>();
                let (run, answer) = (self.run.clone(), self.answer(id, false));
                tokio::spawn(async move {
                    run.pass(after).await;
                    later.reply(answer);
                });
                (Ended::Promised, promised)
            }
            Finish::LaterDropped => {
                let (later, promised) = ctx.reply_later::<Order>();
                drop(later);
                (Ended::Promised, promised)
            }
        }
    }

    async fn perform(&mut self, step: &Step, by: Who, ctx: &mut Context<Self>) {
        let me = self.spec.slot;
        match step {
            Step::Spawn(spec) => {
                let Some(spec) = self.run.claim(spec) else { return };
                self.note(What::Spawn { actor: spec.slot, parent: Some(me) });
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
                    self.note(What::Watch { by: me, target: *target });
                    ctx.watch(&other).expect("another actor can be watched");
                }
            }
            Step::Unwatch(target) => {
                if let Some(other) = self.run.actor(*target) {
                    let was = ctx.unwatch(&other);
                    self.note(What::Unwatch { by: me, target: *target, was });
                }
            }
            Step::Unstash => {
                ctx.unstash_all();
                self.note(What::Unstash { actor: me });
            }
            Step::After(delay, job) => {
                let order = self.order(job, How::Timer);
                ctx.after(Duration::from_millis(delay + 1), order).expect("a timer");
            }
            Step::Every(period, job) => {
                ctx.every(Duration::from_millis(period + 50), self.ticks(job)).expect("a timer");
            }
            Step::Idle(after, job) => {
                ctx.idle_timeout(Duration::from_millis(after + 50), self.ticks(job)).expect("a timer");
            }
            Step::Pipe(delay, job) => {
                let (run, delay, order) = (self.run.clone(), *delay, self.order(job, How::Pipe));
                ctx.pipe(async move {
                    run.pass(delay).await;
                    order
                });
            }
            Step::PipePanic => ctx.pipe::<Order>(async { panic!("{ORDERED}") }),
            Step::Attach(count, job) => {
                let orders: Vec<_> = (0..*count).map(|_| self.order(job, How::Item)).collect();
                ctx.attach(stream::iter(orders).boxed());
            }
            Step::Sleep(..) | Step::Yield(_) | Step::Hang | Step::Post(_) | Step::End(..) => {
                execute::perform(&self.run, step, by).await;
            }
        }
    }

    /// A message to itself.
    fn order(&self, job: &Job, how: How) -> Order {
        own_order(&self.run, self.spec.slot, Arc::new(job.clone()), how)
    }

    /// The same again and again.
    fn ticks(&self, job: &Job) -> impl FnMut() -> Order + Send + use<> {
        let (run, to, job) = (self.run.clone(), self.spec.slot, Arc::new(job.clone()));
        move || own_order(&run, to, job.clone(), How::Timer)
    }

    async fn hook(&mut self, which: Which, hook: &Hook, ctx: &mut Context<Self>) -> Outcome<()> {
        let (history, actor, instance) = (self.run.history.clone(), self.spec.slot, self.instance);
        let mut noted = Hooking { history, actor, instance, which, moment: Moment::Cut };
        for step in &hook.steps {
            self.perform(step, Who::Hook(actor), ctx).await;
        }
        noted.moment = match hook.finish {
            HookEnd::Done => Moment::Done,
            HookEnd::Fail => Moment::Failed,
            HookEnd::Panic | HookEnd::PanicEarly => Moment::Panicked,
        };
        drop(noted);
        match hook.finish {
            HookEnd::Done => Ok(()),
            HookEnd::Fail => Err(Failure::new("the program ordered it")),
            HookEnd::Panic | HookEnd::PanicEarly => panic!("{ORDERED}"),
        }
    }

    /// What a hook does before there is a future.
    fn begin(&self, which: Which, panics: bool) {
        let (actor, instance) = (self.spec.slot, self.instance);
        self.note(What::Hook { actor, instance, which, moment: Moment::Begin });
        if panics {
            self.note(What::Hook { actor, instance, which, moment: Moment::Panicked });
            panic!("{ORDERED}");
        }
    }
}

fn own_order(run: &Run, to: usize, job: Arc<Job>, how: How) -> Order {
    let order = Order::new(run, job);
    run.history.note(What::Send { id: order.id, by: Who::Task, to, how, lane: Lane::Normal });
    order
}

impl Drop for Player {
    fn drop(&mut self) {
        self.note(What::Dropped { actor: self.spec.slot, instance: self.instance });
    }
}

impl Actor for Player {
    fn on_start(&mut self, ctx: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        let spec = self.spec.clone();
        self.begin(Which::Start, spec.start.finish == HookEnd::PanicEarly);
        async move { self.hook(Which::Start, &spec.start, ctx).await }
    }

    fn on_restart(&mut self, _: &Error, ctx: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        let spec = self.spec.clone();
        self.begin(Which::Restart, spec.restart.finish == HookEnd::PanicEarly);
        async move { self.hook(Which::Restart, &spec.restart, ctx).await }
    }

    fn on_error(&mut self, _: &Failure, _: &mut Context<Self>) -> impl Future<Output = Directive> + Send {
        self.begin(Which::Error, self.spec.on_error_panics);
        let (actor, instance) = (self.spec.slot, self.instance);
        self.note(What::Hook { actor, instance, which: Which::Error, moment: Moment::Done });
        let directive = self.spec.on_error.directive();
        async move { directive }
    }

    fn on_stop(
        &mut self,
        _: &StopReason,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send {
        let spec = self.spec.clone();
        self.begin(Which::Stop, spec.stop.finish == HookEnd::PanicEarly);
        async move { self.hook(Which::Stop, &spec.stop, ctx).await }
    }
}

impl Handler<Order> for Player {
    async fn handle(&mut self, order: Order, ctx: &mut Context<Self>) -> Outcome<Answer> {
        self.play(order, ctx).await
    }
}

impl Handler<Abortable> for Player {
    async fn handle(&mut self, Abortable(order): Abortable, ctx: &mut Context<Self>) -> Outcome<Answer> {
        self.play(order, ctx).await
    }
}

impl Handler<Terminated> for Player {
    async fn handle(&mut self, ended: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        let Some(target) = self.run.slot_of(ended.who()) else { return Ok(()) };
        let settled = self.run.actor(target).is_none_or(|actor| !actor.is_alive());
        let reason = Reason::of(ended.reason());
        self.note(What::Terminated { by: self.spec.slot, target, reason, settled });
        Ok(())
    }
}

/// Notes how a handler ended, also when it is dropped.
struct Handling {
    history: Arc<History>,
    id: u64,
    actor: usize,
    how: Ended,
}

impl Drop for Handling {
    fn drop(&mut self) {
        let Self { ref history, id, actor, how } = *self;
        history.note(What::End { id, actor, how });
    }
}

/// The same for a hook.
struct Hooking {
    history: Arc<History>,
    actor: usize,
    instance: u64,
    which: Which,
    moment: Moment,
}

impl Drop for Hooking {
    fn drop(&mut self) {
        let Self { ref history, actor, instance, which, moment } = *self;
        history.note(What::Hook { actor, instance, which, moment });
    }
}

/// Says something else than `Continue` to every third message.
pub(super) struct Third {
    pub(super) verdict: Intercept,
    pub(super) seen: AtomicUsize,
}

impl Inbound for Third {
    fn on_receive(&self, _: &mut Delivery<'_>) -> Verdict {
        if self.seen.fetch_add(1, Ordering::SeqCst) % 3 != 2 {
            return Verdict::Continue;
        }
        verdict(self.verdict)
    }
}

/// Says the same to all.
pub(super) struct Always(pub(super) Intercept);

impl Outbound for Always {
    fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
        verdict(self.0)
    }
}

fn verdict(intercept: Intercept) -> Verdict {
    match intercept {
        Intercept::Continue => Verdict::Continue,
        Intercept::Delay(ms) => Verdict::Delay(Duration::from_millis(ms)),
        Intercept::Drop => Verdict::Drop,
        Intercept::Reject => Verdict::Reject("the program ordered it".to_owned()),
        Intercept::Panic => panic!("{ORDERED}"),
    }
}

/// What an error says of what became of a message.
pub(super) fn kind(error: &Error) -> ErrorKind {
    error.kind()
}
