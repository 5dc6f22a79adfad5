//! Stashed messages that are handled later.

use std::pin::pin;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Error, ErrorKind, Handler, Message, Outcome, Overflow, Priority, Shed, Spawn,
    Supervision,
};
use futures_util::poll;

use crate::fixtures::header::Tag;
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::stashing::{
    Hold, HoldThenPanic, SetReady, StashWrongReply, Stashed, StashingActor, Work, tell_all,
};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "STASH-01",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Order, State::Handling)],
        "`unstash_all` puts all stashed messages back to the front of the mailbox, in their order: before all queued messages, in bounded and unbounded mailboxes. Only messages of a higher priority precede them.",
        "Stashed messages are older than queued ones.",
        body!(order),
    ),
    Rule::must(
        "STASH-02",
        Topic::Inflow,
        &[
            (Topic::Inflow, State::Handling),
            (Topic::Later, State::Handling),
            (Topic::Headers, State::Handling),
        ],
        "An ask that is stashed, even twice, is answered by the handler that finally handles it; it keeps its headers, and interceptors see it each time.",
        "The asker need not know that the actor was not ready.",
        body!(asked),
    ),
    Rule::must(
        "STASH-03",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Cancel, State::Handling)],
        "A stashed ask whose deadline passes or whose asker gives up is answered at that time and skipped later.",
        "No handler runs for an asker that gave up.",
        body!(given_up),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "STASH-04",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Failure, State::Handling)],
        "A stash holds as many messages as the spawn configured. Stashing one more fails the handler with `StashFull` as the source, which names the actor, the message and the capacity: the asker gets the error, or an event reports it. Stashing a message whose reply type differs from the asked one fails with `Unsupported`.",
        "An actor that never becomes ready must not use unlimited memory.",
        body!(overflow),
    ),
    Rule::must(
        "STASH-05",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Panic, State::Handling)],
        "A restart puts the stash back: the new instance handles it after `on_restart`, in order and before all queued messages.",
        "The messages belong to the actor, and the state that the failed instance waited for may never come.",
        body!(restarted),
    ),
    Rule::must(
        "STASH-07",
        Topic::Inflow,
        &[(Topic::Inflow, State::Starting), (Topic::Inflow, State::Stopping)],
        "Messages that `on_start` stashes and unstashes are handled before all messages sent meanwhile; a message that `on_stop` stashes becomes a dead letter.",
        "Hooks may use the stash like handlers.",
        body!(hooks),
    ),
    Rule::must(
        "STASH-13",
        Topic::Inflow,
        &[
            (Topic::Inflow, State::Idle),
            (Topic::Inflow, State::Handling),
            (Topic::Supervision, State::Handling),
        ],
        "A restart because of a sibling puts the stash back: the new instance handles it in order, before all queued messages and before messages in the batch that the actor had already taken, in bounded and unbounded mailboxes.",
        "An actor that has not failed keeps the order of its messages.",
        body!(restarted_with_sibling),
    ),
];

async fn order(rule: RuleContext) {
    for bounded in [false, true] {
        for native_handle_taken in [false, true] {
            let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
            let spawn = system.spawn(StashingActor::new(&journal));
            let actor = if bounded { spawn.bounded(9, Overflow::Reject) } else { spawn }.await.unwrap();
            if native_handle_taken {
                rule.take_native_handle(&actor);
            }
            tell_all(&actor, 0..3);
            let opened = actor.ask(SetReady(Some(gate.clone()), true)).enqueue().unwrap();
            rule.soon("the actor is about to become ready", gate.reached()).await;
            tell_all(&actor, 3..6);
            actor.at(Priority::High).tell(Work(9)).unwrap();
            gate.open();
            assert_eq!(rule.soon("the actor is ready", opened).await.unwrap(), 3);
            rule.soon("all messages are handled", journal.wait_for("5")).await;
            assert_eq!(journal.entries(), ["9", "0", "1", "2", "3", "4", "5"]);
            // The stash is empty.
            assert_eq!(rule.soon("the actor answers", actor.ask(SetReady(None, true))).await.unwrap(), 0);
            assert_eq!((journal.len(), system.dead_letter_count()), (7, 0));
        }
    }
}

async fn asked(rule: RuleContext) {
    let (journal, seen) = (Journal::new(), Journal::new());
    let actor = rule
        .system()
        .spawn(StashingActor::new(&journal))
        .inbound(RecordingInterceptor::new("in", &seen))
        .await
        .unwrap();
    let mut first = pin!(actor.header(Tag(7)).ask(Work(1)).with_headers());
    assert!(poll!(&mut first).is_pending());
    let second = actor.ask(Work(2)).enqueue().unwrap();
    for (ready, stashed) in [(false, 2), (true, 2), (true, 0)] {
        assert_eq!(rule.soon("the actor answers", actor.ask(SetReady(None, ready))).await.unwrap(), stashed);
    }
    let (answer, headers) = rule.soon("the asker is answered", first).await.unwrap();
    assert_eq!((answer, headers.get::<Tag>()), (1, Some(&Tag(1))));
    assert_eq!(rule.soon("the asker is answered", second).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["1 tag 7", "2"]);
    assert_eq!((seen.count("in>"), seen.count("in< ok")), (9, 9));
}

async fn given_up(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = system.spawn(StashingActor::new(&journal)).await.unwrap();
    let late = actor.ask(Work(1)).timeout(Duration::from_secs(1)).enqueue().unwrap();
    let gone = actor.ask(Work(2)).enqueue().unwrap();
    let kept = actor.ask(Work(3)).enqueue().unwrap();
    assert_eq!(actor.ask(SetReady(None, false)).await.unwrap(), 3);
    drop(gone);
    rule.clock().advance(Duration::from_secs(1)).await;
    assert_eq!(late.await.unwrap_err().kind(), ErrorKind::Timeout);
    actor.tell(SetReady(None, true)).unwrap();
    assert_eq!(kept.await.unwrap(), 3);
    assert_eq!((journal.entries(), system.dead_letter_count()), (vec!["3".to_owned()], 0));
}

/// The error of the stash inside the error of the handler.
fn source(error: &Error) -> &Error {
    std::error::Error::source(error).and_then(|source| source.downcast_ref()).expect("a source")
}

async fn overflow(rule: RuleContext) {
    let journal = Journal::new();
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(StashingActor::new(&journal)).name("stashing").stash(2).await.unwrap();
    tell_all(&actor, 1..4);
    let error = rule.soon("the asker gets the error", actor.ask(Work(4))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    for error in [error, events.errors().remove(0)] {
        let source = source(&error);
        assert_eq!(
            (source.kind(), source.get("actor")),
            (ErrorKind::StashFull, Some("pekko://test/user/stashing"))
        );
        assert_eq!(source.get("message"), Some(std::any::type_name::<Work>()));
        assert_eq!(source.get("capacity"), Some("2"));
    }
    assert_eq!(events.journal().entries(), ["failed Work"]);
    assert_eq!(rule.soon("the actor answers", actor.ask(SetReady(None, true))).await.unwrap(), 2);
    let error = rule.soon("the asker gets the error", actor.ask(StashWrongReply)).await.unwrap_err();
    assert_eq!(source(&error).kind(), ErrorKind::Unsupported);
    rule.soon("the stash has room again", actor.ask(Work(5))).await.unwrap();
    assert_eq!(journal.entries(), ["1", "2", "5"]);
    let none = system.spawn(StashingActor::new(&journal)).stash(0).await.unwrap();
    let error = rule.soon("the asker gets the error", none.ask(Work(6))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
}

async fn restarted(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let noting = journal.clone();
    let actor = system.spawn(move || StashingActor::new(&noting)).await.unwrap();
    tell_all(&actor, 0..2);
    let asked = actor.ask(Work(2)).enqueue().unwrap();
    actor.tell(HoldThenPanic(gate.clone())).unwrap();
    rule.soon("the handler waits at the gate", gate.reached()).await;
    let last = actor.ask(Work(3)).enqueue().unwrap();
    gate.open();
    assert_eq!(rule.soon("the stashed ask is answered", asked).await.unwrap(), 2);
    assert_eq!(rule.soon("the queued ask is answered", last).await.unwrap(), 3);
    assert_eq!(journal.entries(), ["restart", "0", "1", "2", "3"]);
    assert_eq!(system.dead_letter_count(), 0);
}

/// Spawns actors that are restarted together.
struct Group;

impl Actor for Group {
    fn supervision() -> Supervision {
        Supervision::all_for_one()
    }
}

type Configure = fn(Spawn<StashingActor>) -> Spawn<StashingActor>;

/// Spawns an actor of the group.
struct Add(Journal, Configure);

impl Message for Add {
    type Reply = ActorRef<StashingActor>;
    type Access = dactor_core::Exclusive;
}

impl Handler<Add> for Group {
    async fn handle(&mut self, add: Add, ctx: &mut Context<Self>) -> Outcome<ActorRef<StashingActor>> {
        let Add(journal, configure) = add;
        Ok(configure(ctx.spawn(move || StashingActor::new(&journal))).await?)
    }
}

async fn restarted_with_sibling(rule: RuleContext) {
    let mailboxes: [Configure; 3] = [
        |spawn| spawn,
        |spawn| spawn.bounded(8, Overflow::Reject),
        |spawn| spawn.shed(Shed::default().length(100)),
    ];
    for (which, configure) in mailboxes.into_iter().enumerate() {
        for busy in [false, true] {
            let [journal, of_sibling] = [Journal::new(), Journal::new()];
            let [before, gate, broken] = [Gate::new(), Gate::new(), Gate::new()];
            let system = rule.system();
            let group = system.spawn(Group).await.unwrap();
            let actor = rule.soon("it is spawned", group.ask(Add(journal.clone(), configure))).await.unwrap();
            let sibling = group.ask(Add(of_sibling.clone(), |spawn| spawn));
            let sibling = rule.soon("its sibling is spawned", sibling).await.unwrap();
            // All that follows is taken in one batch.
            actor.tell(Hold(before.clone())).unwrap();
            rule.soon("the actor is busy", before.reached()).await;
            tell_all(&actor, 0..2);
            let asked = actor.ask(Work(2)).enqueue().unwrap();
            if busy {
                actor.tell(Hold(gate.clone())).unwrap();
                actor.tell(Work(3)).unwrap();
            }
            before.open();
            if busy {
                rule.soon("the actor is busy again", gate.reached()).await;
                actor.tell(Work(4)).unwrap();
            } else {
                let stashed = rule.soon("the messages are stashed", actor.ask(Stashed)).await;
                assert_eq!(stashed.unwrap(), 3);
            }
            broken.open();
            sibling.tell(HoldThenPanic(broken)).unwrap();
            if !busy {
                // An idle actor is woken for the message and for the restart at once.
                actor.tell(Work(3)).unwrap();
            }
            rule.soon("the sibling is restarted", of_sibling.wait_for("restart")).await;
            gate.open();
            assert_eq!(rule.soon("the stashed ask is answered", asked).await.unwrap(), 2);
            assert_eq!(rule.soon("a later ask is answered", actor.ask(Work(5))).await.unwrap(), 5);
            let expected = if busy { "restart 0 1 2 3 4 5" } else { "restart 0 1 2 3 5" };
            assert_eq!(journal.entries().join(" "), expected, "mailbox {which}, busy: {busy}");
            assert_eq!(system.dead_letter_count(), 0);
        }
    }
}

async fn hooks(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = StashingActor { early: true, ..StashingActor::new(&journal) };
    let actor = system.spawn(actor).await.unwrap();
    rule.soon("the actor answers", actor.ask(Work(5))).await.unwrap();
    assert_eq!((journal.entries().join(" "), system.dead_letter_count()), ("0 1 5".to_owned(), 0));
    actor.stop();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(system.dead_letter_count(), 1);
}
