//! Stopping: the current message, then `on_stop`, and nobody is left waiting.

use std::error::Error as _;

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, StopReason};

use super::body;
use crate::actors::{Act, Count, Hold, Hooks, Note, Quit, TellMyself, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "STOP-01",
        Topic::Stop,
        &[(Topic::Stop, State::Idle)],
        "An idle actor that is stopped runs `on_stop` with the reason `stopped`, and ends.",
        "A stop must wake the actor like a message does.",
        body!(idle),
    )
    .spi(&["ignores-idle-stop", "ends-when-idle"]),
    Rule::must(
        "STOP-02",
        Topic::Stop,
        &[(Topic::Stop, State::Handling), (Topic::Order, State::Stopping)],
        "A stop during a handler lets it finish and answer; what is queued becomes dead letters, in order, and its askers get `Stopped`.",
        "The message in hand is whole, and everybody else is told.",
        body!(handling),
    ),
    Rule::must(
        "STOP-03",
        Topic::Stop,
        &[(Topic::Stop, State::Handling)],
        "A stop overtakes all queued messages, also those that the current turn has taken already.",
        "System signals go before user messages; a long queue must not delay a stop.",
        body!(overtakes),
    ),
    Rule::must(
        "STOP-04",
        Topic::Stop,
        &[(Topic::Stop, State::Handling)],
        "An actor may stop itself from a handler: the reply is given, then it stops.",
        "An actor knows best when its work is done.",
        body!(from_within),
    ),
    Rule::must(
        "STOP-05",
        Topic::Stop,
        &[
            (Topic::Stop, State::Stopping),
            (Topic::Drain, State::Stopping),
            (Topic::Tell, State::Stopping),
            (Topic::Ask, State::Stopping),
            (Topic::Wait, State::Stopping),
            (Topic::Name, State::Stopping),
        ],
        "During `on_stop` messages are refused as after the end, queued askers have been answered, more stops and drains change nothing, waiters wait, the name is taken.",
        "However long `on_stop` takes, nobody but the waiters waits for it, and it runs once.",
        body!(stopping),
    ),
    Rule::must(
        "STOP-06",
        Topic::Failure,
        &[(Topic::Failure, State::Stopping)],
        "When `on_stop` fails, the actor has failed with that error.",
        "A lost flush is a failure, however orderly the stop was.",
        body!(on_stop_fails),
    ),
    Rule::must(
        "STOP-07",
        Topic::Panic,
        &[(Topic::Panic, State::Stopping)],
        "When `on_stop` panics, the actor has failed with that panic, and it ends.",
        "A panic in the last hook must not keep the actor half alive.",
        body!(on_stop_panics),
    ),
    Rule::must(
        "STOP-08",
        Topic::Stop,
        &[(Topic::Stop, State::Handling), (Topic::Tell, State::Stopping)],
        "From the moment `stop` returns messages are refused, even if the actor has not noticed yet.",
        "A sender who comes after the stop must not be told that its message was accepted.",
        body!(refused_at_once),
    ),
];

async fn idle(lab: Lab) {
    for exposed in [false, true] {
        let (journal, system) = (Journal::new(), lab.system());
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        lab.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
        if exposed {
            lab.expose(&actor);
        }
        lab.rest().await;
        assert!(actor.is_alive() && actor.stop_reason().is_none());
        actor.stop();
        assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
        assert_eq!(journal.entries(), ["start", "1", "stop: stopped", "drop"]);
        assert!(!actor.is_alive());
        assert_eq!(system.live(), 0);
    }
}

async fn handling(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = lab.observed();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    let asked = actor.ask(Count()).enqueue().unwrap();
    actor.tell(TellMyself(vec![3])).unwrap();
    actor.stop();
    assert_eq!(journal.entries(), ["start", "hold 1"]);
    gate.open();
    assert_eq!(lab.soon("the running ask is answered", held).await.unwrap(), 1);
    let error = lab.soon("the queued ask is answered", asked).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Stopped, Some("pekko://lab/user/a")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Count>()));
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "stop: stopped", "drop"]);
    assert_eq!(events.journal().entries(), ["dead Note", "dead Count", "dead TellMyself"]);
    assert_eq!(events.actors(), ["pekko://lab/user/a", "pekko://lab/user/a", "pekko://lab/user/a"]);
    assert_eq!(system.dead_letters(), 3);
}

async fn overtakes(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    let before = Gate::new();
    // Behind the first one, the second and all that follows are taken together.
    actor.tell(Hold(1, before.clone())).unwrap();
    lab.soon("the handler runs", before.reached()).await;
    actor.tell(Hold(2, gate.clone())).unwrap();
    for number in 0..2 * TURN {
        actor.tell(Note(number as u32)).unwrap();
    }
    before.open();
    lab.soon("the second handler runs", gate.reached()).await;
    actor.stop();
    gate.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "hold 2", "held 2", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letters(), 2 * TURN as u64);
}

async fn from_within(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let quitting = actor.ask(Quit()).enqueue().unwrap();
    let after = actor.ask(Note(2)).enqueue().unwrap();
    gate.open();
    assert_eq!(lab.soon("the reply is given", quitting).await.unwrap(), 1);
    assert_eq!(lab.soon("the next ask is refused", after).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Stopped));
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "quit", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letters(), 1);
}

async fn stopping(lab: Lab) {
    let (journal, gate, held, system) = (Journal::new(), Gate::new(), Gate::new(), lab.system());
    let hooks = Hooks { stop: Act::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).name("a").await.unwrap();
    actor.tell(Hold(1, held.clone())).unwrap();
    lab.soon("the handler runs", held.reached()).await;
    let queued = actor.ask(Note(2)).enqueue().unwrap();
    actor.stop();
    held.open();
    lab.soon("on_stop runs", gate.reached()).await;
    assert_eq!(lab.soon("the queued ask is answered", queued).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(actor.try_tell(Note(4)).unwrap_err().message.0, 4);
    assert_eq!(actor.send(Note(5)).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(
        lab.soon("an ask is refused", actor.ask(Note(6))).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert_eq!(system.dead_letters(), 4, "2, 3, 5 and 6, but not what was handed back");
    actor.stop();
    actor.drain();
    let waiting = actor.clone();
    let mut waiter = Box::pin(waiting.wait());
    assert!(futures_util::poll!(&mut waiter).is_pending());
    assert!(actor.is_alive() && system.live() == 1);
    let taken = system.spawn(Worker::new(&journal)).name("a").await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::NameTaken);
    assert_eq!(system.get::<Worker>("a"), Some(actor.clone()));
    gate.open();
    assert!(matches!(lab.soon("the actor ends", waiter).await.unwrap(), StopReason::Stopped));
    // The refused spawn dropped its own instance.
    let entries: Vec<_> = journal.entries().into_iter().filter(|entry| entry != "drop").collect();
    assert_eq!(entries, ["start", "hold 1", "held 1", "stop: stopped"]);
    assert_eq!(gate.arrivals(), 1);
}

async fn on_stop_fails(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let hooks = Hooks { stop: Act::Fail("no flush"), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).name("a").await.unwrap();
    actor.stop();
    let StopReason::Failed(error) = lab.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!(
        (error.kind(), error.get("hook"), error.get("actor")),
        (ErrorKind::Failed, Some("on_stop"), Some("pekko://lab/user/a"))
    );
    assert_eq!(error.source().unwrap().to_string(), "no flush");
    assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
    assert_eq!(system.live(), 0);
}

async fn on_stop_panics(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let hooks = Hooks { stop: Act::Panic("no luck"), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).await.unwrap();
    actor.drain();
    let StopReason::Failed(error) = lab.soon("the actor ends", actor.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!((error.kind(), error.get("hook")), (ErrorKind::Panicked, Some("on_stop")));
    assert!(format!("{error:#}").contains("no luck"), "{error}");
    assert_eq!(journal.entries(), ["start", "stop: drained", "drop"]);
    assert_eq!(system.live(), 0);
}

async fn refused_at_once(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.stop();
    let refused = actor.try_tell(Note(2)).unwrap_err();
    assert_eq!((refused.message.0, refused.reason.kind()), (2, ErrorKind::Stopped));
    assert_eq!(system.dead_letters(), 0, "a message that was handed back is no dead letter");
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(actor.ask(Note(4)).enqueue().unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(system.dead_letters(), 2);
    gate.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "stop: stopped", "drop"]);
    assert_eq!(system.dead_letters(), 2);
}
