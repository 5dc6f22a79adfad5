//! A lifecycle admits messages and their answers, whatever access a message has.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use dactor_core::spi::{Envelope, Lifecycle, LifecycleFuture, refuse, with_lifecycle};
use dactor_core::{
    Actor, ActorRef, Context, Error, ErrorKind, Exclusive, Handler, Interleaved, Message, Outcome, Priority,
    ReadContext, ReadHandler, Result, Shared, StopReason, System,
};
use tokio::sync::Semaphore;

/// What the lifecycle allows, and what the handlers did.
struct Gate {
    admits: AtomicBool,
    answers: AtomicBool,
    /// Messages wait for a permit before they are handled.
    waits: AtomicBool,
    waiting: Semaphore,
    permits: Arc<Semaphore>,
    /// Handlers wait for a permit after they have begun.
    begun: Semaphore,
    finish: Semaphore,
    handled: AtomicU32,
    given_back: AtomicU32,
    ended: AtomicU32,
}

impl Gate {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            admits: AtomicBool::new(true),
            answers: AtomicBool::new(true),
            waits: AtomicBool::new(false),
            waiting: Semaphore::new(0),
            permits: Arc::new(Semaphore::new(0)),
            begun: Semaphore::new(0),
            finish: Semaphore::new(0),
            handled: AtomicU32::new(0),
            given_back: AtomicU32::new(0),
            ended: AtomicU32::new(0),
        })
    }

    async fn handle(&self) -> Outcome<u32> {
        self.begun.add_permits(1);
        self.finish.acquire().await?.forget();
        Ok(self.handled.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn handled(&self) -> u32 {
        self.handled.load(Ordering::SeqCst)
    }
}

struct Guard(Arc<Gate>, Arc<std::sync::OnceLock<ActorRef<Gated>>>);

impl Lifecycle<Gated> for Guard {
    fn admit(&self, _: bool) -> Result<Option<LifecycleFuture<'static, ()>>> {
        if !self.0.admits.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Disconnected));
        }
        if !self.0.waits.load(Ordering::SeqCst) {
            return Ok(None);
        }
        self.0.waiting.add_permits(1);
        let permits = self.0.permits.clone();
        Ok(Some(Box::pin(async move {
            permits.acquire_owned().await.unwrap().forget();
        })))
    }

    fn may_reply(&self, _: bool) -> Result<()> {
        let answers = self.0.answers.load(Ordering::SeqCst);
        if answers { Ok(()) } else { Err(Error::new(ErrorKind::Interrupted)) }
    }

    fn before_stop<'a>(
        &'a self,
        _: &'a mut Gated,
        _: &'a StopReason,
        _: &'a mut Context<Gated>,
    ) -> LifecycleFuture<'a, Outcome<()>> {
        Box::pin(async { Ok(()) })
    }

    fn unhandled(&self, messages: Vec<(Envelope<Gated>, Priority)>) {
        self.0.given_back.fetch_add(u32::try_from(messages.len()).unwrap(), Ordering::SeqCst);
        let Some(actor) = self.1.get() else { return };
        for (message, _) in messages {
            refuse(actor, message, &Error::new(ErrorKind::Disconnected));
        }
    }

    fn ended(&self, _: &StopReason) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

struct Gated(Arc<Gate>);
impl Actor for Gated {}

struct Write;
impl Message for Write {
    type Reply = u32;
    type Access = Exclusive;
}

impl Handler<Write> for Gated {
    async fn handle(&mut self, _: Write, _: &mut Context<Self>) -> Outcome<u32> {
        self.0.handle().await
    }
}

struct Read;
impl Message for Read {
    type Reply = u32;
    type Access = Shared;
}

impl ReadHandler<Read> for Gated {
    async fn read(&self, _: Read, _: &ReadContext<Self>) -> Outcome<u32> {
        self.0.handle().await
    }
}

struct Interleave;
impl Message for Interleave {
    type Reply = u32;
    type Access = Interleaved;
}

impl ReadHandler<Interleave> for Gated {
    async fn read(&self, _: Interleave, _: &ReadContext<Self>) -> Outcome<u32> {
        self.0.handle().await
    }
}

/// Runs a check for each access on each backend.
macro_rules! each_access {
    ($check:ident) => {
        for backend in [dactor_ractor_system as fn() -> System, dactor_kameo_system] {
            in_time($check(backend(), || Write)).await;
            in_time($check(backend(), || Read)).await;
            in_time($check(backend(), || Interleave)).await;
        }
    };
}

/// Fails instead of hanging: without the gate, a check waits for a signal that never comes.
async fn in_time<T>(check: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), check).await.expect("the check waits for ever")
}

fn dactor_ractor_system() -> System {
    System::builder("gate").backend(dactor_ractor::ractor()).build().unwrap()
}

fn dactor_kameo_system() -> System {
    System::builder("gate").backend(dactor_kameo::kameo()).build().unwrap()
}

async fn spawn(system: &System) -> (Arc<Gate>, ActorRef<Gated>) {
    let (gate, myself) = (Gate::new(), Arc::default());
    let guard = Guard(gate.clone(), Arc::clone(&myself));
    let actor = with_lifecycle(system.spawn(Gated(gate.clone())), guard).await.unwrap();
    let _ = myself.set(actor.clone());
    (gate, actor)
}

#[tokio::test]
async fn a_message_that_is_not_admitted_is_not_handled() {
    async fn check<M: dactor_core::SentTo<Gated> + Message<Reply = u32>>(system: System, make: fn() -> M) {
        let (gate, actor) = spawn(&system).await;
        gate.finish.add_permits(1);
        assert_eq!(actor.ask(make()).await.unwrap(), 1);
        gate.admits.store(false, Ordering::SeqCst);
        gate.finish.add_permits(1);
        let refused = actor.ask(make()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Disconnected, "{}: {refused:#}", M::type_name());
        assert_eq!(gate.handled(), 1, "{}", M::type_name());
        system.shutdown().await.unwrap();
    }
    each_access!(check);
}

#[tokio::test]
async fn an_answer_that_is_not_allowed_is_not_given() {
    async fn check<M: dactor_core::SentTo<Gated> + Message<Reply = u32>>(system: System, make: fn() -> M) {
        let (gate, actor) = spawn(&system).await;
        let answer = actor.ask(make()).enqueue().unwrap();
        gate.begun.acquire().await.unwrap().forget();
        gate.answers.store(false, Ordering::SeqCst);
        gate.finish.add_permits(1);
        let interrupted = answer.await.unwrap_err();
        assert_eq!(interrupted.kind(), ErrorKind::Interrupted, "{}: {interrupted:#}", M::type_name());
        assert!(interrupted.may_have_been_handled(), "{}", M::type_name());
        assert_eq!(gate.handled(), 1, "{}", M::type_name());
        system.shutdown().await.unwrap();
    }
    each_access!(check);
}

#[tokio::test]
async fn a_message_is_handled_after_what_it_is_admitted_after() {
    async fn check<M: dactor_core::SentTo<Gated> + Message<Reply = u32>>(system: System, make: fn() -> M) {
        let (gate, actor) = spawn(&system).await;
        gate.waits.store(true, Ordering::SeqCst);
        gate.finish.add_permits(1);
        let answer = actor.ask(make()).enqueue().unwrap();
        gate.waiting.acquire().await.unwrap().forget();
        assert_eq!((gate.begun.available_permits(), gate.handled()), (0, 0), "{}", M::type_name());
        gate.permits.add_permits(1);
        assert_eq!(answer.await.unwrap(), 1, "{}", M::type_name());
        system.shutdown().await.unwrap();
    }
    each_access!(check);
}

/// The runtime drops the task of the actor in the middle of a message.
#[test]
fn a_lifecycle_learns_of_the_end_of_a_dropped_task() {
    fn check<M: dactor_core::SentTo<Gated> + Message<Reply = u32>>(
        make_system: fn() -> System,
        make: fn() -> M,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (gate, _actor) = runtime.block_on(in_time(async {
            let (gate, actor) = spawn(&make_system()).await;
            actor.tell(make()).unwrap();
            gate.begun.acquire().await.unwrap().forget();
            actor.tell(Write).unwrap();
            (gate, actor)
        }));
        drop(runtime);
        let seen = (&gate.handled, &gate.given_back, &gate.ended);
        let seen =
            (seen.0.load(Ordering::SeqCst), seen.1.load(Ordering::SeqCst), seen.2.load(Ordering::SeqCst));
        assert_eq!(seen, (0, 1, 1), "{}", M::type_name());
    }
    for backend in [dactor_ractor_system as fn() -> System, dactor_kameo_system] {
        check(backend, || Write);
        check(backend, || Read);
        check(backend, || Interleave);
    }
}
