//! `get_or_spawn`: one live actor per name.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dactor_core::ErrorKind;
use dactor_core::testkit::Gate;
use futures_util::future::join_all;

use crate::fixtures::producing::Producing;
use crate::fixtures::scripted::{ScriptedActor, async_script};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "GET-01",
        Topic::Name,
        &[(Topic::Name, State::Starting), (Topic::Name, State::Idle)],
        "`get_or_spawn` gives all callers of one name the same actor and runs the factory once, also while the actor starts.",
        "Looking for an actor and then spawning it is a race.",
        body!(once),
    ),
    Rule::must(
        "GET-02",
        Topic::Name,
        &[(Topic::Name, State::Stopping), (Topic::Name, State::Dead)],
        "`get_or_spawn` waits for the end of an actor that is stopping, and then spawns the next one.",
        "Two actors of one name never live at once.",
        body!(ending),
    ),
    Rule::must(
        "GET-03",
        Topic::Name,
        &[(Topic::Name, State::Starting), (Topic::Failure, State::Starting)],
        "Callers that wait for a start get its error when it fails. When the caller that runs the start gives up, another one spawns the actor.",
        "No caller waits for an actor that will not start.",
        body!(failing),
    ),
    Rule::must(
        "GET-04",
        Topic::Name,
        &[(Topic::Name, State::Idle), (Topic::Name, State::Handling)],
        "`get_or_spawn` is `NameTaken` when the name belongs to an actor of another type, and `AskedItself` in a handler of the actor whose end it would wait for. Other errors of `spawn` are returned at once. `Context::get_or_spawn` finds a child.",
        "A mistake is an error and not a wait.",
        body!(refused),
    ),
];

async fn once(rule: RuleContext) {
    let system = rule.system();
    let (made, gate) = (Arc::new(AtomicUsize::new(0)), Gate::new());
    let factory = || {
        let (made, gate) = (made.clone(), gate.clone());
        move || {
            made.fetch_add(1, Ordering::SeqCst);
            Producing { starting: Some(gate.clone()), ..Producing::default() }
        }
    };
    let callers = (0..20).map(|_| tokio::spawn(system.get_or_spawn("one", factory()).into_future()));
    let callers: Vec<_> = callers.collect();
    rule.soon("the start begins", gate.reached()).await;
    gate.open();
    let found = rule.soon("all callers return", join_all(callers)).await;
    let found: Vec<_> = found.into_iter().map(|found| found.unwrap().unwrap()).collect();
    assert!(found.iter().all(|actor| *actor == found[0]));
    let again = rule.soon("it is found", system.get_or_spawn("one", factory())).await.unwrap();
    assert_eq!((again == found[0], made.load(Ordering::SeqCst), system.actor_count()), (true, 1, 1));
}

async fn ending(rule: RuleContext) {
    let system = rule.system();
    let gate = Gate::new();
    let first = Producing { stopping: Some(gate.clone()), ..Producing::default() };
    let first = system.get_or_spawn("one", first).await.unwrap();
    first.stop();
    rule.soon("the stop begins", gate.reached()).await;
    let mut next = system.get_or_spawn("one", Producing::default()).into_future();
    assert!(futures_util::poll!(&mut next).is_pending(), "the first one lives");
    gate.open();
    let next = rule.soon("the next one is spawned", next).await.unwrap();
    assert!(next != first && first.is_alive() == Some(false) && next.is_alive() == Some(true));
}

async fn failing(rule: RuleContext) {
    let system = rule.system();
    let gate = Gate::new();
    let fails = || {
        let gate = gate.clone();
        ScriptedActor::default().on_start(async_script(move |_, _| {
            let gate = gate.clone();
            Box::pin(async move {
                gate.pass().await;
                Err(dactor_core::Failure::new("no disk"))
            })
        }))
    };
    let callers: Vec<_> =
        (0..3).map(|_| tokio::spawn(system.get_or_spawn("one", fails()).into_future())).collect();
    rule.soon("the start begins", gate.reached()).await;
    rule.let_idle().await;
    gate.open();
    for caller in rule.soon("all callers return", join_all(callers)).await {
        let error = caller.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StartFailed);
        assert!(format!("{error:#}").contains("no disk"), "{error:#}");
    }
    let gate = Gate::new();
    let slow = Producing { starting: Some(gate.clone()), ..Producing::default() };
    let given_up = tokio::spawn(system.get_or_spawn("two", slow).into_future());
    rule.soon("the start begins", gate.reached()).await;
    let waits = tokio::spawn(system.get_or_spawn("two", Producing::default()).into_future());
    rule.let_idle().await;
    given_up.abort();
    let actor = rule.soon("the other caller spawns", waits).await.unwrap().unwrap();
    assert!(actor.is_alive() == Some(true));
}

async fn refused(rule: RuleContext) {
    let system = rule.system();
    let actor = system.get_or_spawn("one", ScriptedActor::default()).await.unwrap();
    let error = system.get_or_spawn("one", Producing::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NameTaken);
    assert!(format!("{error:#}").contains("Producing"), "it names the type that was wanted: {error:#}");
    let itself = async_script(|_, ctx| {
        Box::pin(async move {
            let child = ctx.get_or_spawn("child", Producing::default()).await?;
            let again = ctx.get_or_spawn("child", Producing::default()).await?;
            assert_eq!(child, again);
            ctx.stop();
            let own = ctx.system().get_or_spawn("one", ScriptedActor::default()).await;
            assert_eq!(own.unwrap_err().kind(), ErrorKind::AskedItself);
            Ok(7)
        })
    });
    assert_eq!(rule.soon("the handler returns", actor.ask(itself)).await.unwrap(), 7);
    let nameless = rule.soon("it is refused", system.get_or_spawn("", Producing::default())).await;
    assert_eq!(nameless.unwrap_err().kind(), ErrorKind::InvalidName);
    rule.soon("the system ends", system.shutdown()).await.unwrap();
    let late = rule.soon("it is refused", system.get_or_spawn("late", Producing::default())).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::SystemShutDown);
}
