//! Runs a program on a system of the adapter under test.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use dactor_core::{ActorRef, Shed, Supervision, System};
use futures_util::future::{Either, select};

use super::actor::{ProgramActor, kind};
use super::history::{Entry, Observation, Reason, Sender, Violation};
use super::interceptor::EveryThird;
use super::message::{Abortable, Interleaving, ReadOnly};
use super::program::{EndMethod, Op, Program, Sharing, Spawn, Step, StrategySpec};
use super::run::{Run, Runtime, lock, yields};
use super::send::send;
use super::streams::{get_or_spawn, send_stream};
use crate::Subject;

/// Runs the program on a new tokio runtime.
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
    let entries = tokio.block_on(run_program(program, subject, runtime));
    tokio.shutdown_background();
    entries
}

async fn run_program(program: &Program, subject: &dyn Subject, runtime: Runtime) -> Vec<Entry> {
    let run = Run::new(runtime);
    let grace = if runtime == Runtime::Simulated { program.grace } else { 10_000 };
    let history = run.history.clone();
    let built = System::builder("random")
        .backend(subject.backend())
        .grace(Duration::from_millis(grace))
        .observe(move |event| history.event(event))
        .build();
    let system = built.expect("the system name is valid and a backend is set");
    *lock(&run.system) = Some(system.clone());
    if tokio::time::timeout(run.limit(), run_clients(&run, program, &system)).await.is_err() {
        run.history.wrong(Violation::Hung);
        return run.history.take();
    }
    check_leaks(&run, system).await;
    run.history.take()
}

/// Runs the clients, then ends the system.
async fn run_clients(run: &Arc<Run>, program: &Program, system: &System) {
    let mut clients: BTreeMap<usize, Vec<Op>> = BTreeMap::new();
    program.ops.iter().for_each(|op| clients.entry(op.by).or_default().push(op.clone()));
    let clients: Vec<_> = clients
        .into_values()
        .map(|ops| {
            let run = run.clone();
            tokio::spawn(async move {
                for op in ops {
                    perform(&run, &op.step, Sender::Client(op.by)).await;
                }
            })
        })
        .collect();
    for client in clients {
        if client.await.is_err() {
            run.history.wrong(Violation::SenderPanicked);
        }
    }
    let all: Vec<usize> = lock(&run.actors).keys().copied().collect();
    if program.end != EndMethod::Shutdown {
        all.iter().for_each(|slot| signal(run, *slot, program.end));
        for slot in &all {
            if let Some(actor) = run.actor(*slot) {
                // The shutdown ends actors that hang.
                let _ = tokio::time::timeout(Duration::from_millis(500), actor.wait()).await;
            }
        }
    }
    run.history.note(Observation::Shutdown);
    let error = system.shutdown().await.err();
    error.iter().for_each(|error| run.history.read(error));
    run.history.note(Observation::ShutDown { error: error.as_ref().map(kind) });
    let slots: Vec<usize> = lock(&run.actors).keys().copied().collect();
    for actor in slots {
        let reason = run.actor(actor).map(|actor| actor.stop_reason().as_ref().map(Reason::of));
        if let Some(reason) = reason {
            run.history.note(Observation::Final { actor, reason });
        }
    }
}

/// Checks that no task, actor, message or instance is left.
async fn check_leaks(run: &Arc<Run>, system: System) {
    let history = run.history.clone();
    let tasks = std::mem::take(&mut *lock(&run.tasks));
    let mut unanswered = 0;
    for task in tasks {
        let abort = task.abort_handle();
        match tokio::time::timeout(run.limit() / 10, task).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => history.wrong(Violation::SenderPanicked),
            Err(_) => {
                unanswered += 1;
                abort.abort();
            }
        }
    }
    if unanswered > 0 {
        history.wrong(Violation::Unanswered(unanswered));
        return;
    }
    let metrics = tokio::runtime::Handle::current().metrics();
    let idle = async {
        while metrics.num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    if tokio::time::timeout(run.limit() / 10, idle).await.is_err() {
        history.wrong(Violation::TasksLeft(metrics.num_alive_tasks()));
        return;
    }
    if system.actor_count() > 0 {
        history.wrong(Violation::ActorsLeft(system.actor_count()));
    }
    let letters = history.count(|what| matches!(what, Observation::DeadLetter { .. }));
    let uncounted = system.dead_letter_count() as i64 - letters as i64;
    if uncounted != 0 {
        history.wrong(Violation::Uncounted(uncounted));
    }
    // The stop reason may be an error whose destructor panics.
    for actor in std::mem::take(&mut *lock(&run.actors)).into_values() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(actor)));
    }
    lock(&run.system).take();
    drop(system);
    let messages = history.messages.load(Ordering::SeqCst);
    if messages != 0 {
        history.wrong(Violation::MessagesKept(messages));
    }
    let instances = history.instances.load(Ordering::SeqCst);
    if instances != 0 {
        history.wrong(Violation::InstancesKept(instances));
    }
}

pub(super) fn signal(run: &Run, to: usize, how: EndMethod) {
    let Some(actor) = run.actor(to) else { return };
    run.history.note(Observation::Signal { to, how });
    match how {
        EndMethod::Drain => actor.drain(),
        EndMethod::Stop => actor.stop(),
        EndMethod::Kill | EndMethod::Shutdown => actor.kill(),
    }
}

/// The steps that clients and actors have in common.
pub(super) async fn perform(run: &Arc<Run>, step: &Step, by: Sender) {
    match step {
        Step::Sleep(ms) => run.sleep(*ms).await,
        Step::Yield(times) => yields(*times).await,
        Step::Hang if by != Sender::Client(0) && run.runtime == Runtime::Simulated => {
            std::future::pending().await
        }
        Step::Spawn(spec) => {
            let Some(spec) = run.claim(spec) else { return };
            let Some(system) = lock(&run.system).clone() else { return };
            run.history.note(Observation::Spawn { actor: spec.slot, parent: None });
            let spawn = match (spec.factory, spec.service) {
                (true, false) => system.spawn(factory(run, &spec)),
                (true, true) => system.spawn_service(factory(run, &spec)),
                (false, false) => system.spawn(ProgramActor::new(run, &spec, 0)),
                (false, true) => system.spawn_service(ProgramActor::new(run, &spec, 0)),
            };
            let spawning = configured(spawn, &spec);
            match spec.drop_after {
                None => spawned(run, &spec, spawning.await),
                Some(ms) => {
                    if let Either::Left((done, _)) = select(spawning, pin!(run.sleep(ms))).await {
                        spawned(run, &spec, done);
                    }
                }
            }
        }
        Step::End(how, to) => signal(run, *to, *how),
        Step::Send(spec) if spec.sharing == Sharing::Read => send(run, spec, by, ReadOnly).await,
        Step::Send(spec) if spec.sharing == Sharing::Interleaved => send(run, spec, by, Interleaving).await,
        Step::Send(spec) if spec.abort => send(run, spec, by, Abortable).await,
        Step::Send(spec) => send(run, spec, by, |message| message).await,
        Step::Stream(spec) => send_stream(run, spec),
        Step::GetOrSpawn(name, stops) => get_or_spawn(run, *name, *stops),
        // Steps of actors only.
        _ => {}
    }
}

pub(super) fn factory(run: &Arc<Run>, spec: &Arc<Spawn>) -> impl FnMut() -> ProgramActor + Send + 'static {
    let (run, spec, made) = (run.clone(), spec.clone(), AtomicU64::new(0));
    move || ProgramActor::new(&run, &spec, made.fetch_add(1, Ordering::SeqCst))
}

pub(super) fn configured(
    mut spawn: dactor_core::Spawn<ProgramActor>,
    spec: &Spawn,
) -> dactor_core::Spawn<ProgramActor> {
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
            StrategySpec::One => Supervision::one_for_one(),
            StrategySpec::All => Supervision::all_for_one(),
            StrategySpec::Rest => Supervision::rest_for_one(),
        };
        let strategy = strategy.budget(3, Duration::from_secs(60));
        spawn = spawn.supervision(strategy.always(choice.directive()));
    }
    if let Some(verdict) = spec.inbound {
        spawn = spawn.inbound(EveryThird { verdict, seen: AtomicUsize::new(0) });
    }
    spawn
}

pub(super) fn spawned(run: &Run, spec: &Spawn, spawned: dactor_core::Result<ActorRef<ProgramActor>>) {
    let actor = spec.slot;
    match spawned {
        Ok(player) => {
            lock(&run.uids).insert(player.uid(), actor);
            if spec.exposed {
                player.native();
            }
            lock(&run.actors).insert(actor, Some(player));
            run.history.note(Observation::Spawned { actor, error: None });
        }
        Err(error) => {
            run.history.read(&error);
            run.history.note(Observation::Spawned { actor, error: Some(error.kind()) });
        }
    }
}
