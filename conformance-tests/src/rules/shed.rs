//! Load shedding: a mailbox that is too long or too slow refuses new messages for a while.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Error, ErrorKind, Overflow, Priority, Shed};

use super::body;
use super::busy::Busy;
use crate::actors::{Act, Hold, Hooks, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "SHED-01",
        Topic::Shed,
        &[(Topic::Shed, State::Handling)],
        "While as many messages wait as the mailbox sheds at, a tell, send or ask of any priority fails with `Overloaded`, naming actor, message and when to try again, and is a dead letter; `try_tell` hands it back. When fewer wait, messages are accepted.",
        "Work that would come too late is better refused at once.",
        body!(length),
    ),
    Rule::must(
        "SHED-02",
        Topic::Shed,
        &[(Topic::Shed, State::Handling)],
        "While a message of any lane has waited longer than the age at which the mailbox sheds, new ones are refused, to be tried again after that message's waiting time.",
        "A queue that is short and slow is an overload, too.",
        body!(age),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SHED-03",
        Topic::Shed,
        &[(Topic::Shed, State::Handling), (Topic::Bound, State::Handling)],
        "Nobody joins the line of a bounded mailbox that sheds load; who is in line stays there.",
        "Waiting in line is waiting, too.",
        body!(line),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SHED-04",
        Topic::Shed,
        &[(Topic::Shed, State::Idle)],
        "An idle actor accepts messages however long it was idle; what a system sheds at is the default that a spawn may override; shedding at nothing, or at zero, is `InvalidCapacity`.",
        "A mistake is told where it is made.",
        body!(configured),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SHED-05",
        Topic::Shed,
        &[(Topic::Shed, State::Starting)],
        "A mailbox sheds load during `on_start`, too.",
        "A slow start is when messages pile up.",
        body!(starting),
    ),
    Rule::must(
        "SHED-06",
        Topic::Shed,
        &[(Topic::Shed, State::Stopping), (Topic::Shed, State::Dead)],
        "A stopping or ended actor refuses with `Stopped`, however overloaded it was.",
        "Trying again would be in vain.",
        body!(ended),
    ),
];

fn assert_overloaded(error: &Error) -> Duration {
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Overloaded, Some("pekko://lab/user/a")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
    let after = error.retry_after().expect("it is said when to try again");
    assert_eq!(error.get("retry after"), Some(format!("{after:?}").as_str()));
    assert!(after >= Duration::from_millis(1), "{after:?} would make senders spin");
    after
}

async fn length(lab: Lab) {
    let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.shed(Shed::default().length(2))).await;
    let actor = &busy.actor;
    actor.tell(Note(1)).unwrap();
    actor.at(Priority::High).tell(Note(2)).unwrap();
    assert_overloaded(&actor.tell(Note(3)).unwrap_err());
    assert_overloaded(&actor.at(Priority::High).tell(Note(3)).unwrap_err());
    let back = actor.try_tell(Note(4)).unwrap_err();
    assert_overloaded(&back.reason);
    assert_eq!(back.message.0, 4);
    assert_overloaded(&lab.soon("a send is over", actor.send(Note(5))).await.unwrap_err());
    assert_overloaded(&lab.soon("an ask is over", actor.ask(Note(6))).await.unwrap_err());
    assert_eq!(busy.system.dead_letters(), 4, "all but the one handed back");
    busy.gate.open();
    lab.soon("the queue is worked off", busy.journal.wait_for("1")).await;
    assert_eq!(lab.soon("the actor answers", actor.ask(Note(7))).await.unwrap(), 7);
    assert_eq!(busy.journal.entries(), ["start", "hold 0", "held 0", "2", "1", "7"]);
}

async fn age(mut lab: Lab) {
    const SECOND: Duration = Duration::from_secs(1);
    const TICK: Duration = Duration::from_millis(1);
    let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.shed(Shed::default().age(SECOND))).await;
    let actor = busy.actor.clone();
    actor.at(Priority::Low).tell(Note(1)).unwrap();
    lab.clock().advance(SECOND).await;
    actor.tell(Note(2)).unwrap();
    lab.clock().advance(TICK).await;
    assert_eq!(assert_overloaded(&actor.tell(Note(3)).unwrap_err()), SECOND + TICK);
    lab.clock().advance(SECOND).await;
    assert_eq!(assert_overloaded(&actor.ask(Note(4)).await.unwrap_err()), 2 * SECOND + TICK);
    busy.gate.open();
    busy.journal.wait_for("1").await;
    lab.clock().advance(10 * SECOND).await;
    assert_eq!(actor.ask(Note(5)).await.unwrap(), 5, "nothing waits any more");
    assert_eq!(busy.journal.entries(), ["start", "hold 0", "held 0", "2", "1", "5"]);
}

async fn line(mut lab: Lab) {
    const SECOND: Duration = Duration::from_secs(1);
    let shed = Shed::default().age(SECOND);
    let busy = Busy::new(&lab, Hooks::default(), |spawn| spawn.bounded(1, Overflow::Block).shed(shed)).await;
    let actor = busy.actor.clone();
    actor.tell(Note(1)).unwrap();
    let waiting = actor.ask(Note(2)).enqueue().unwrap();
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::MailboxFull);
    lab.clock().advance(2 * SECOND).await;
    assert_overloaded(&actor.send(Note(4)).await.unwrap_err());
    assert_overloaded(&actor.tell(Note(5)).unwrap_err());
    busy.gate.open();
    assert_eq!(waiting.await.unwrap(), 2);
}

async fn configured(mut lab: Lab) {
    const SECOND: Duration = Duration::from_secs(1);
    let system = lab.builder().shed(Shed::default().length(1)).build().unwrap();
    let gate = Gate::new();
    let actor = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    lab.clock().advance(1000 * SECOND).await;
    actor.tell(Hold(0, gate.clone())).unwrap();
    gate.reached().await;
    actor.tell(Note(1)).unwrap();
    assert_eq!(actor.tell(Note(2)).unwrap_err().kind(), ErrorKind::Overloaded);
    let other = system.spawn(Worker::new(&Journal::new())).shed(Shed::default().age(SECOND)).unbounded();
    let other = other.await.unwrap();
    other.tell(Hold(0, gate.clone())).unwrap();
    (1..9).for_each(|number| other.tell(Note(number)).unwrap());
    for wrong in [Shed::default(), Shed::default().length(0), Shed::default().age(Duration::ZERO)] {
        let error = lab.builder().shed(wrong).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidCapacity);
        assert!(error.get("because").is_some());
        let error = system.spawn(Worker::new(&Journal::new())).shed(wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidCapacity);
    }
    assert_eq!(system.live(), 2);
}

async fn starting(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let worker = Worker::with(&journal, Hooks { start: Act::Hold(gate.clone()), ..Hooks::default() });
    let spawner = system.clone();
    let shed = Shed::default().length(1);
    let spawned = tokio::spawn(async move { spawner.spawn(worker).name("a").shed(shed).await });
    lab.soon("the actor is in `on_start`", gate.reached()).await;
    let actor = system.get::<Worker>("a").unwrap();
    actor.tell(Note(1)).unwrap();
    assert_overloaded(&actor.tell(Note(2)).unwrap_err());
    gate.open();
    lab.soon("the actor starts", spawned).await.unwrap().unwrap();
    lab.soon("the queue is worked off", journal.wait_for("1")).await;
    assert_eq!(lab.soon("the actor answers", actor.ask(Note(3))).await.unwrap(), 3);
}

async fn ended(lab: Lab) {
    let (journal, hold, stopping, system) = (Journal::new(), Gate::new(), Gate::new(), lab.system());
    let worker = Worker::with(&journal, Hooks { stop: Act::Hold(stopping.clone()), ..Hooks::default() });
    let actor = system.spawn(worker).shed(Shed::default().length(1)).await.unwrap();
    actor.tell(Hold(0, hold.clone())).unwrap();
    lab.soon("the handler runs", hold.reached()).await;
    actor.tell(Note(1)).unwrap();
    assert_eq!(actor.tell(Note(2)).unwrap_err().kind(), ErrorKind::Overloaded);
    actor.stop();
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::Stopped);
    hold.open();
    lab.soon("the actor is in `on_stop`", stopping.reached()).await;
    assert_eq!(actor.tell(Note(4)).unwrap_err().kind(), ErrorKind::Stopped);
    stopping.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(actor.tell(Note(5)).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(system.dead_letters(), 5);
}
