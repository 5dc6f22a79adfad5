//! Starting: `spawn` returns a started actor or an error.

use std::error::Error as _;
use std::future::IntoFuture;

use dactor_core::spi::{Backend, Cell};
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Error, ErrorKind, Result, System};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "START-01",
        Topic::Failure,
        &[(Topic::Failure, State::Starting), (Topic::Name, State::Starting)],
        "When `on_start` fails, `spawn` fails with that error; the name is free and the instance is dropped.",
        "The caller learns the reason, and no half-started actor remains.",
        body!(start_fails),
    ),
    Rule::must(
        "START-02",
        Topic::Panic,
        &[(Topic::Panic, State::Starting)],
        "When `on_start` or the factory panics, `spawn` fails with that panic, and nothing remains.",
        "A panic during the start is a failed start.",
        body!(start_panics),
    ),
    Rule::must(
        "START-03",
        Topic::Failure,
        &[(Topic::Failure, State::Starting), (Topic::Ask, State::Starting), (Topic::Wait, State::Starting)],
        "When `on_start` fails, pending asks get `Stopped`, told messages become dead letters, and `wait` returns the failure.",
        "Callers that found the actor while it started must not wait forever.",
        body!(start_fails_with_queue),
    ),
    Rule::must(
        "START-04",
        Topic::Stop,
        &[(Topic::Stop, State::Starting), (Topic::Wait, State::Starting)],
        "A stop during `on_start` lets it finish; the actor then runs `on_stop`, and its queued messages become dead letters.",
        "`on_stop` cleans up what `on_start` has set up.",
        body!(stopped_while_starting),
    ),
    Rule::must(
        "START-05",
        Topic::Drain,
        &[(Topic::Drain, State::Starting)],
        "A drain during `on_start` lets it finish; the messages sent before are handled, then the actor stops.",
        "A drain loses no accepted message.",
        body!(drained_while_starting),
    )
    .spi(&["runs-nothing", "drops-cell"]),
    Rule::must(
        "START-06",
        Topic::Kill,
        &[(Topic::Kill, State::Starting)],
        "A kill during `on_start` drops it: `spawn` fails, no hook runs, and nothing remains.",
        "A start that hangs must be killable.",
        body!(killed_while_starting),
    ),
    Rule::must(
        "START-07",
        Topic::Kill,
        &[(Topic::Kill, State::Starting), (Topic::Wait, State::Starting)],
        "Dropping a `spawn` future during `on_start` ends the actor as killed, and nothing remains.",
        "Dropping a future cancels it.",
        body!(abandoned),
    ),
    Rule::must(
        "START-08",
        Topic::Failure,
        &[(Topic::Failure, State::Starting)],
        "When the backend refuses the actor, `spawn` fails with the backend's error, and nothing remains.",
        "Limits of the runtime are reported as errors.",
        body!(refused),
    ),
    Rule::must(
        "START-09",
        Topic::Failure,
        &[(Topic::Failure, State::Starting)],
        "`spawn` outside of a tokio runtime fails with `NoRuntime`; it does not panic, and nothing remains.",
        "A mistake of the caller gets a clear error.",
        body!(no_runtime),
    ),
    Rule::must(
        "START-10",
        Topic::Failure,
        &[(Topic::Failure, State::Starting)],
        "On a tokio runtime without a timer, `spawn` and `shutdown` fail with `NoRuntime`, and the error names the missing timer.",
        "Without a timer an actor could not wait for its children with a deadline.",
        body!(no_timer),
    ),
];

fn assert_nothing_left(system: &System, name: &str) {
    assert_eq!(system.actor_count(), 0, "live actors");
    assert!(system.get::<Worker>(name).is_none(), "the name is still taken");
}

async fn start_fails(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let hooks = Hooks { start: HookAction::Fail("no disk"), ..Hooks::default() };
    let error = rule
        .soon("the spawn fails", system.spawn(Worker::factory(&journal, hooks)).name("a"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StartFailed);
    let cause = error.source().and_then(|source| source.downcast_ref::<Error>()).expect("a cause");
    assert_eq!(
        (cause.kind(), cause.get("hook"), cause.get("actor")),
        (ErrorKind::Failed, Some("on_start"), Some("pekko://test/user/a"))
    );
    assert_eq!(cause.source().unwrap().to_string(), "no disk");
    assert_eq!(journal.entries(), ["make", "start", "drop"]);
    assert_nothing_left(&system, "a");
    let again = rule.soon("the name is free", system.spawn(Worker::new(&journal)).name("a")).await.unwrap();
    assert_eq!(rule.soon("the new actor answers", again.ask(Note(1))).await.unwrap(), 1);
}

async fn start_panics(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let hooks = Hooks { start: HookAction::Panic("no luck"), ..Hooks::default() };
    let error = rule
        .soon("the spawn fails", system.spawn(Worker::factory(&journal, hooks)).name("a"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StartFailed);
    let cause = error.source().and_then(|source| source.downcast_ref::<Error>()).expect("a cause");
    assert_eq!((cause.kind(), cause.get("hook")), (ErrorKind::Panicked, Some("on_start")));
    assert!(format!("{cause:#}").contains("no luck"), "{cause}");
    assert_eq!(journal.entries(), ["make", "start", "drop"]);
    assert_nothing_left(&system, "a");

    let factory = || -> Worker { panic!("no material") };
    let error = rule.soon("the spawn fails", system.spawn(factory).name("a")).await.unwrap_err();
    let cause = error.source().and_then(|source| source.downcast_ref::<Error>()).expect("a cause");
    assert_eq!((cause.kind(), cause.get("hook")), (ErrorKind::Panicked, Some("factory")));
    assert!(format!("{cause:#}").contains("no material"), "{cause}");
    assert_nothing_left(&system, "a");
}

async fn start_fails_with_queue(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = rule.system_with_events();
    let starting = Late { gate: gate.clone(), journal: journal.clone() };
    let spawning = tokio::spawn(system.spawn(starting).name("a").into_future());
    rule.soon("on_start runs", gate.reached()).await;
    let early = system.get::<Late>("a").expect("a starting actor can be found");
    early.tell(Note(1)).unwrap();
    let asked = early.ask(Note(2)).enqueue().unwrap();
    let waiting = early.clone();
    let waiter = tokio::spawn(async move { waiting.wait().await.unwrap() });
    gate.open();
    assert_eq!(
        rule.soon("the spawn fails", spawning).await.unwrap().unwrap_err().kind(),
        ErrorKind::StartFailed
    );
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap_err().kind(), ErrorKind::Stopped);
    let reason = rule.soon("`wait` returns", waiter).await.unwrap();
    assert_eq!(reason.failure().expect("a failure").kind(), ErrorKind::Failed);
    assert_eq!(events.journal().entries(), ["dead Note", "dead Note"]);
    assert_eq!(journal.entries(), [""; 0], "nothing was handled");
    assert_eq!(system.actor_count(), 0);
}

async fn starting(
    rule: &RuleContext,
    journal: &Journal,
) -> (System, Gate, tokio::task::JoinHandle<Result<dactor_core::ActorRef<Worker>>>) {
    let (gate, system) = (Gate::new(), rule.system());
    let hooks = Hooks { start: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let spawning = tokio::spawn(system.spawn(Worker::with(journal, hooks)).name("a").into_future());
    rule.soon("on_start runs", gate.reached()).await;
    (system, gate, spawning)
}

async fn stopped_while_starting(rule: RuleContext) {
    let journal = Journal::new();
    let (system, gate, spawning) = starting(&rule, &journal).await;
    let early = system.get::<Worker>("a").unwrap();
    early.tell(Note(1)).unwrap();
    early.stop();
    assert_eq!(early.try_tell(Note(2)).unwrap_err().message.0, 2);
    let waiting = early.clone();
    let waiter = tokio::spawn(async move { waiting.wait().await.unwrap() });
    gate.open();
    let actor = rule.soon("the spawn returns", spawning).await.unwrap().unwrap();
    assert_eq!(rule.soon("the actor ends", actor.wait()).await.unwrap().to_string(), "stopped");
    assert_eq!(rule.soon("the early `wait` returns", waiter).await.unwrap().to_string(), "stopped");
    assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letter_count(), 1);
}

async fn drained_while_starting(rule: RuleContext) {
    let journal = Journal::new();
    let (system, gate, spawning) = starting(&rule, &journal).await;
    let early = system.get::<Worker>("a").unwrap();
    early.tell(Note(1)).unwrap();
    early.drain();
    assert_eq!(early.tell(Note(2)).unwrap_err().kind(), ErrorKind::Stopped);
    gate.open();
    let actor = rule.soon("the spawn returns", spawning).await.unwrap().unwrap();
    assert_eq!(rule.soon("the actor ends", actor.wait()).await.unwrap().to_string(), "drained");
    assert_eq!(journal.entries(), ["start", "1", "stop: drained", "drop"]);
    assert_eq!(system.dead_letter_count(), 1);
}

async fn killed_while_starting(rule: RuleContext) {
    let journal = Journal::new();
    let (system, _gate, spawning) = starting(&rule, &journal).await;
    let early = system.get::<Worker>("a").unwrap();
    let asked = early.ask(Note(1)).enqueue().unwrap();
    early.kill();
    let error = rule.soon("the spawn fails", spawning).await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.get("reason")), (ErrorKind::StartFailed, Some("killed")));
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(early.stop_reason().expect("the actor has ended").to_string(), "killed");
    assert_eq!(journal.entries(), ["start", "drop"]);
    assert_nothing_left(&system, "a");
}

async fn abandoned(rule: RuleContext) {
    let journal = Journal::new();
    let (system, _gate, spawning) = starting(&rule, &journal).await;
    let early = system.get::<Worker>("a").unwrap();
    let asked = early.ask(Note(1)).enqueue().unwrap();
    spawning.abort();
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(rule.soon("`wait` returns", early.wait()).await.unwrap().to_string(), "killed");
    assert_eq!(journal.entries(), ["start", "drop"]);
    assert_nothing_left(&system, "a");
}

async fn refused(_lab: RuleContext) {
    struct Full;
    impl Backend for Full {
        fn name(&self) -> &'static str {
            "full"
        }
        fn spawn(&self, cell: Cell) -> Result<()> {
            Err(Error::new(ErrorKind::Backend).with("actor", cell.label()).because("no room"))
        }
    }
    let journal = Journal::new();
    let system = System::builder("test").backend(Full).build().unwrap();
    let error = system.spawn(Worker::new(&journal)).name("a").await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Backend, Some("pekko://test/user/a")));
    assert_eq!(error.source().unwrap().to_string(), "no room");
    assert_eq!(journal.entries(), ["start", "drop"]);
    assert_nothing_left(&system, "a");
}

async fn no_runtime(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let spawning = system.spawn(Worker::new(&journal)).name("a").into_future();
    let outside = std::thread::spawn(move || {
        let mut spawning = std::pin::pin!(spawning);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::future::Future::poll(spawning.as_mut(), &mut context)
    });
    match outside.join().expect("no panic") {
        std::task::Poll::Ready(Err(error)) => assert_eq!(error.kind(), ErrorKind::NoRuntime),
        other => panic!("{other:?}"),
    }
    assert_nothing_left(&system, "a");
}

/// Fails in `on_start`, once the gate is open.
struct Late {
    gate: Gate,
    journal: Journal,
}

impl dactor_core::Actor for Late {
    async fn on_start(&mut self, _ctx: &mut dactor_core::Context<Self>) -> dactor_core::Outcome<()> {
        self.gate.pass().await;
        Err(dactor_core::Failure::new("too late"))
    }
}

impl dactor_core::Handler<Note> for Late {
    async fn handle(
        &mut self,
        Note(number): Note,
        _ctx: &mut dactor_core::Context<Self>,
    ) -> dactor_core::Outcome<u32> {
        self.journal.note(number);
        Ok(number)
    }
}

async fn no_timer(rule: RuleContext) {
    let system = rule.system();
    let errors = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            [
                system.spawn(Worker::new(&Journal::new())).await.unwrap_err(),
                system.shutdown().await.unwrap_err(),
            ]
        })
    });
    for error in errors.join().unwrap() {
        assert_eq!(error.kind(), ErrorKind::NoRuntime);
        assert!(error.to_string().contains("enable_time"), "{error}");
    }
}
