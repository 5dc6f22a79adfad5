//! Runs a program on a system of the adapter under test.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dactor_core::{ActorRef, Ask, Error, ErrorKind, Message, Pid, SentTo, Shed, Supervision, System};
use futures_util::future::{Either, select};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::history::{Entry, History, Reason, What, Who, Wrong};
use super::player::{Abortable, Always, Answer, BadHeader, Order, Player, Third, kind};
use super::program::{Ending, How, Lane, Op, Post, Program, Scope, Spawn, Step};
use crate::Subject;

/// How long anything may take that must happen.
const LIMIT: Duration = Duration::from_secs(3600);
const REAL_LIMIT: Duration = Duration::from_secs(10);

/// The runtime that programs run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runtime {
    /// One thread, whose clock moves when all wait: a run is the same each time.
    Simulated,
    /// One thread, and real time.
    OneThread,
    /// Two threads, and real time.
    TwoThreads,
}

/// What a run is about.
pub(super) struct Run {
    pub(super) history: Arc<History>,
    runtime: Runtime,
    system: Mutex<Option<System>>,
    actors: Mutex<BTreeMap<usize, Option<ActorRef<Player>>>>,
    pids: Mutex<BTreeMap<Pid, usize>>,
    ids: AtomicU64,
    /// What awaits an answer.
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    fn new(runtime: Runtime) -> Arc<Self> {
        Arc::new(Self {
            history: History::new(),
            runtime,
            system: Mutex::default(),
            actors: Mutex::default(),
            pids: Mutex::default(),
            ids: AtomicU64::new(0),
            tasks: Mutex::default(),
        })
    }

    pub(super) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(super) fn actor(&self, slot: usize) -> Option<ActorRef<Player>> {
        lock(&self.actors).get(&slot).cloned().flatten()
    }

    pub(super) fn slot_of(&self, pid: Pid) -> Option<usize> {
        lock(&self.pids).get(&pid).copied()
    }

    /// Takes the slot of a spawn, unless it was taken before.
    pub(super) fn claim(&self, spec: &Spawn) -> Option<Arc<Spawn>> {
        let mut actors = lock(&self.actors);
        if actors.contains_key(&spec.slot) {
            return None;
        }
        actors.insert(spec.slot, None);
        Some(Arc::new(spec.clone()))
    }

    /// Lets time pass: real time is too dear for more than a fraction.
    pub(super) async fn pass(&self, ms: u64) {
        match self.runtime {
            Runtime::Simulated => tokio::time::sleep(Duration::from_millis(ms)).await,
            _ if ms >= 100 => tokio::time::sleep(Duration::from_millis(ms / 100)).await,
            _ => yields(ms).await,
        }
    }

    fn limit(&self) -> Duration {
        if self.runtime == Runtime::Simulated { LIMIT } else { REAL_LIMIT }
    }

    /// A limit that the API itself keeps.
    fn within(&self, ms: u64) -> Duration {
        Duration::from_millis(if self.runtime == Runtime::Simulated { ms } else { ms.min(20) })
    }

    fn later(&self, task: impl Future<Output = ()> + Send + 'static) {
        lock(&self.tasks).push(tokio::spawn(task));
    }
}

async fn yields(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// Runs the program, in a runtime of its own or in a given one.
pub(super) fn execute(program: &Program, subject: &dyn Subject, runtime: Runtime) -> Vec<Entry> {
    let tokio = match runtime {
        Runtime::Simulated => {
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()
        }
        Runtime::OneThread => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        Runtime::TwoThreads => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(2).thread_name(crate::check::THREAD).enable_all().build()
        }
    };
    let tokio = tokio.expect("a runtime for the program");
    let entries = tokio.block_on(whole(program, subject, runtime));
    tokio.shutdown_background();
    entries
}

async fn whole(program: &Program, subject: &dyn Subject, runtime: Runtime) -> Vec<Entry> {
    let run = Run::new(runtime);
    let grace = if runtime == Runtime::Simulated { program.grace } else { 10_000 };
    let history = run.history.clone();
    let built = System::builder("random")
        .backend(subject.backend())
        .grace(Duration::from_millis(grace))
        .observe(move |event| history.event(event))
        .build();
    let system = built.expect("a system with a valid name and a backend");
    *lock(&run.system) = Some(system.clone());
    if tokio::time::timeout(run.limit(), play(&run, program, &system)).await.is_err() {
        run.history.wrong(Wrong::Hung);
        return run.history.take();
    }
    settle(&run, system).await;
    run.history.take()
}

/// What the clients do, and the end.
async fn play(run: &Arc<Run>, program: &Program, system: &System) {
    let mut clients: BTreeMap<usize, Vec<Op>> = BTreeMap::new();
    program.ops.iter().for_each(|op| clients.entry(op.by).or_default().push(op.clone()));
    let clients: Vec<_> = clients
        .into_values()
        .map(|ops| {
            let run = run.clone();
            tokio::spawn(async move {
                for op in ops {
                    perform(&run, &op.step, Who::Client(op.by)).await;
                }
            })
        })
        .collect();
    for client in clients {
        if client.await.is_err() {
            run.history.wrong(Wrong::SenderPanicked);
        }
    }
    let all: Vec<usize> = lock(&run.actors).keys().copied().collect();
    if program.end != Ending::Shutdown {
        all.iter().for_each(|slot| signal(run, *slot, program.end));
        for slot in &all {
            if let Some(actor) = run.actor(*slot) {
                // One that hangs is left to the shutdown.
                let _ = tokio::time::timeout(Duration::from_millis(500), actor.wait()).await;
            }
        }
    }
    run.history.note(What::Shutdown);
    let error = system.shutdown().await.err();
    error.iter().for_each(|error| run.history.read(error));
    run.history.note(What::ShutDown { error: error.as_ref().map(kind) });
    let slots: Vec<usize> = lock(&run.actors).keys().copied().collect();
    for actor in slots {
        let reason = run.actor(actor).map(|actor| actor.stop_reason().as_ref().map(Reason::of));
        if let Some(reason) = reason {
            run.history.note(What::Final { actor, reason });
        }
    }
}

/// Nothing is left, soon.
async fn settle(run: &Arc<Run>, system: System) {
    let history = run.history.clone();
    let tasks = std::mem::take(&mut *lock(&run.tasks));
    let mut unanswered = 0;
    for task in tasks {
        let abort = task.abort_handle();
        match tokio::time::timeout(run.limit() / 10, task).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => history.wrong(Wrong::SenderPanicked),
            Err(_) => {
                unanswered += 1;
                abort.abort();
            }
        }
    }
    if unanswered > 0 {
        history.wrong(Wrong::Unanswered(unanswered));
        return;
    }
    let metrics = tokio::runtime::Handle::current().metrics();
    let idle = async {
        while metrics.num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    if tokio::time::timeout(run.limit() / 10, idle).await.is_err() {
        history.wrong(Wrong::TasksLeft(metrics.num_alive_tasks()));
        return;
    }
    if system.live() > 0 {
        history.wrong(Wrong::ActorsLeft(system.live()));
    }
    let letters = history.count(|what| matches!(what, What::DeadLetter { .. }));
    let uncounted = system.dead_letters() as i64 - letters as i64;
    if uncounted != 0 {
        history.wrong(Wrong::Uncounted(uncounted));
    }
    // The reason of an end may be an error whose destructor panics.
    for actor in std::mem::take(&mut *lock(&run.actors)).into_values() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(actor)));
    }
    lock(&run.system).take();
    drop(system);
    let messages = history.messages.load(Ordering::SeqCst);
    if messages != 0 {
        history.wrong(Wrong::MessagesKept(messages));
    }
    let instances = history.instances.load(Ordering::SeqCst);
    if instances != 0 {
        history.wrong(Wrong::InstancesKept(instances));
    }
}

pub(super) fn signal(run: &Run, to: usize, how: Ending) {
    let Some(actor) = run.actor(to) else { return };
    run.history.note(What::Signal { to, how });
    match how {
        Ending::Drain => actor.drain(),
        Ending::Stop => actor.stop(),
        Ending::Kill | Ending::Shutdown => actor.kill(),
    }
}

/// What clients and actors do alike.
pub(super) async fn perform(run: &Arc<Run>, step: &Step, by: Who) {
    match step {
        Step::Sleep(ms) => run.pass(*ms).await,
        Step::Yield(times) => yields(*times).await,
        Step::Hang if by != Who::Client(0) && run.runtime == Runtime::Simulated => {
            std::future::pending().await
        }
        Step::Spawn(spec) => {
            let Some(spec) = run.claim(spec) else { return };
            let Some(system) = lock(&run.system).clone() else { return };
            run.history.note(What::Spawn { actor: spec.slot, parent: None });
            let spawn = match (spec.factory, spec.service) {
                (true, false) => system.spawn(factory(run, &spec)),
                (true, true) => system.spawn_service(factory(run, &spec)),
                (false, false) => system.spawn(Player::new(run, &spec, 0)),
                (false, true) => system.spawn_service(Player::new(run, &spec, 0)),
            };
            let spawning = configured(spawn, &spec);
            match spec.drop_after {
                None => spawned(run, &spec, spawning.await),
                Some(ms) => {
                    if let Either::Left((done, _)) = select(spawning, pin!(run.pass(ms))).await {
                        spawned(run, &spec, done);
                    }
                }
            }
        }
        Step::End(how, to) => signal(run, *to, *how),
        Step::Post(post) if post.abort => send(run, post, by, Abortable).await,
        Step::Post(post) => send(run, post, by, |order| order).await,
        // An actor's own.
        _ => {}
    }
}

pub(super) fn factory(run: &Arc<Run>, spec: &Arc<Spawn>) -> impl FnMut() -> Player + Send + 'static {
    let (run, spec, made) = (run.clone(), spec.clone(), AtomicU64::new(0));
    move || Player::new(&run, &spec, made.fetch_add(1, Ordering::SeqCst))
}

pub(super) fn configured(mut spawn: dactor_core::Spawn<Player>, spec: &Spawn) -> dactor_core::Spawn<Player> {
    spawn = spawn.name(format!("a{}", spec.slot));
    if let Some((capacity, full)) = spec.bounded {
        spawn = spawn.bounded(capacity, full.overflow());
    }
    if let Some(length) = spec.shed {
        spawn = spawn.shed(Shed::default().length(length));
    }
    if let Some(capacity) = spec.stash {
        spawn = spawn.stash(capacity);
    }
    if let Some((scope, choice)) = spec.supervision {
        let strategy = match scope {
            Scope::One => Supervision::one_for_one(),
            Scope::All => Supervision::all_for_one(),
            Scope::Rest => Supervision::rest_for_one(),
        };
        let strategy = strategy.budget(3, Duration::from_secs(60));
        spawn = spawn.supervision(strategy.always(choice.directive()));
    }
    if let Some(verdict) = spec.inbound {
        spawn = spawn.inbound(Third { verdict, seen: AtomicUsize::new(0) });
    }
    spawn
}

pub(super) fn spawned(run: &Run, spec: &Spawn, spawned: dactor_core::Result<ActorRef<Player>>) {
    let actor = spec.slot;
    match spawned {
        Ok(player) => {
            lock(&run.pids).insert(player.id(), actor);
            if spec.exposed {
                player.native();
            }
            lock(&run.actors).insert(actor, Some(player));
            run.history.note(What::Spawned { actor, error: None });
        }
        Err(error) => {
            run.history.read(&error);
            run.history.note(What::Spawned { actor, error: Some(error.kind()) });
        }
    }
}

async fn send<M>(run: &Arc<Run>, post: &Post, by: Who, make: fn(Order) -> M)
where
    M: Message<Reply = Answer> + SentTo<Player>,
{
    let Some(target) = run.actor(post.to) else { return };
    let target = match post.outbound {
        Some(verdict) => target.outbound(Always(verdict)),
        None => target,
    };
    let order = Order::new(run, Arc::new(post.job.clone()));
    let id = order.id;
    let sender = if post.how == How::Ask && matches!(by, Who::Client(_)) { Who::Task } else { by };
    // A selection tells with the priority of the message.
    let lane = if post.how == How::Select { Lane::Normal } else { post.lane };
    run.history.note(What::Send { id, by: sender, to: post.to, how: post.how, lane });
    let sent = |error: Option<&Error>| {
        error.into_iter().for_each(|error| run.history.read(error));
        run.history.note(What::Sent { id, error: error.map(kind) });
    };
    let way = target.at(post.lane.priority());
    let way = if post.bad_header { way.header(BadHeader::new()) } else { way };
    match post.how {
        How::Tell => sent(way.tell(make(order)).err().as_ref()),
        How::TryTell => match way.try_tell(make(order)) {
            Ok(()) => sent(None),
            Err(refused) => {
                sent(Some(&refused.reason));
                drop(refused.message);
            }
        },
        How::Send => {
            let limit = run.within(post.drop_after.unwrap_or(200));
            let mut withdrawal = Withdrawal { run, id, done: false };
            if let Ok(result) = tokio::time::timeout(limit, way.send(make(order))).await {
                withdrawal.done = true;
                sent(result.err().as_ref());
            }
        }
        How::Select => {
            let selection = target.path().to_serialization_format();
            let told = target.system().select(&selection).map(|all| all.tell::<Player, _>(order));
            sent((told.ok() != Some(1)).then(|| Error::new(ErrorKind::NoSuchActor)).as_ref());
        }
        How::Ask | How::Enqueue => ask(run, post, by, (id, make(order), target)).await,
        How::Forward | How::Timer | How::Pipe | How::Item => {}
    }
}

async fn ask<M>(run: &Arc<Run>, post: &Post, by: Who, (id, message, target): (u64, M, ActorRef<Player>))
where
    M: Message<Reply = Answer> + SentTo<Player>,
{
    let token = post.cancel.map(|after| {
        let (token, cancelling) = (CancellationToken::new(), run.clone());
        let cancelled = token.clone();
        run.later(async move {
            cancelling.pass(after).await;
            cancelled.cancel();
        });
        token
    });
    let inline = matches!(by, Who::Actor(_) | Who::Hook(_));
    let drop_after = post.drop_after;
    if post.how == How::Enqueue {
        match configured_ask(run, &target, post, message, token).enqueue() {
            Ok(pending) => {
                run.history.note(What::Sent { id, error: None });
                let waiting = run.clone();
                run.later(async move { answered(&waiting, id, drop_after, pending).await });
            }
            Err(error) => note_answer(run, id, Err(error)),
        }
    } else if inline {
        // An actor that awaits another for ever is not this tester's subject.
        let post = Post { timeout: post.timeout.or(Some(300)), ..post.clone() };
        answered(run, id, drop_after, configured_ask(run, &target, &post, message, token)).await;
    } else {
        let (asking, post) = (run.clone(), post.clone());
        run.later(async move {
            answered(&asking, id, drop_after, configured_ask(&asking, &target, &post, message, token)).await;
        });
    }
}

fn configured_ask<'a, M: SentTo<Player>>(
    run: &Run,
    target: &'a ActorRef<Player>,
    post: &Post,
    message: M,
    token: Option<CancellationToken>,
) -> Ask<'a, M> {
    let way = target.at(post.lane.priority());
    let way = if post.bad_header { way.header(BadHeader::new()) } else { way };
    let ask = way.ask(message);
    let ask = match post.timeout {
        Some(ms) => ask.timeout(run.within(ms)),
        None => ask,
    };
    let ask = match post.deadline {
        Some(ms) => ask.deadline(tokio::time::Instant::now() + run.within(ms)),
        None => ask,
    };
    match token {
        Some(token) => ask.cancel(token),
        None => ask,
    }
}

/// Awaits an answer, or drops the future when it is time to.
async fn answered(
    run: &Run,
    id: u64,
    drop_after: Option<u64>,
    pending: impl Future<Output = dactor_core::Result<Answer>>,
) {
    // Dropped behind the future, wherever that happens.
    let mut withdrawal = Withdrawal { run, id, done: false };
    let mut pending = Contained(Some(Box::pin(pending)));
    let reply = match drop_after {
        None => Some(pending.future().await),
        // At zero it is polled once, so that it is sent.
        Some(ms) => match select(pending.future(), pin!(run.pass(ms))).await {
            Either::Left((reply, _)) => Some(reply),
            Either::Right(_) => None,
        },
    };
    if let Some(reply) = reply {
        withdrawal.done = true;
        note_answer(run, id, reply);
    }
}

/// Notes that a caller has given up.
struct Withdrawal<'a> {
    run: &'a Run,
    id: u64,
    done: bool,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.run.history.note(What::Withdrawn { id: self.id });
        }
    }
}

/// A future in whose destructor a reply that has arrived may panic.
struct Contained<F>(Option<Pin<Box<F>>>);

impl<F: Future> Contained<F> {
    fn future(&mut self) -> &mut Pin<Box<F>> {
        self.0.as_mut().expect("it is there until it is dropped")
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
    run.history.note(What::Answer { id, reply });
}

/// Whether the asker gave up before it was answered.
pub(super) fn gave_up(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Timeout | ErrorKind::Cancelled)
}
