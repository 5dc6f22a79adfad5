//! Interceptors around a handler: what leaves when, and what breaks.

use std::sync::{Arc, Mutex};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{About, Around, Completion, Delivery, ErrorKind, Inbound, Next, PendingReply, Verdict};
use futures_util::FutureExt;

use super::body;
use super::fixture::{Abortable, Desk, Do, Spy, give, pass, quick};
use crate::actors::{Count, Hold, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "IN-12",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "The answer leaves after the last `on_complete`: a reply, a failure, a refusal, one that somebody else gives while the handler still runs, and `Stopped` after a kill.",
        "Whoever has the answer finds everything about it recorded.",
        body!(leaves_last),
    ),
    Rule::must(
        "IN-13",
        Topic::Inbound,
        &[(Topic::Inbound, State::Idle), (Topic::Inbound, State::Handling)],
        "An interceptor that panics before, around or after the handler is `InterceptorPanicked` with its text for that message, to the asker or as a dead letter; the actor keeps its state.",
        "A broken policy is not a broken actor.",
        body!(panics),
    ),
    Rule::must(
        "IN-14",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A scope that ends without having awaited the handler to its end drops it: the message fails with `Dropped`, and says so.",
        "No asker waits for a handler that nobody runs.",
        body!(cut),
    ),
];

/// The reply is not there while the last interceptor looks at the end.
async fn leaves_last(lab: Lab) {
    type Slot = Arc<Mutex<Option<PendingReply<Do>>>>;
    let system = lab.system();
    let fails = || quick(|_, _| Err(dactor_core::Failure::new("no")));
    let later = || {
        quick(|_, ctx| {
            let (later, promised) = ctx.reply_later::<Do>();
            assert!(later.reply(2), "there is an asker");
            promised
        })
    };
    let cases: [(Do, Verdict, Option<ErrorKind>); 4] = [
        (give(1), Verdict::Continue, None),
        (fails(), Verdict::Continue, Some(ErrorKind::Failed)),
        (give(1), Verdict::Drop, Some(ErrorKind::Dropped)),
        (later(), Verdict::Continue, None),
    ];
    for (message, verdict, expected) in cases {
        let (journal, gate, slot) = (Journal::new(), Gate::new(), Slot::default());
        let (look, early) = (slot.clone(), journal.clone());
        let spy = Spy::new("a", &journal)
            .judge(move |delivery| match delivery.message::<Abortable>() {
                Some(_) => Verdict::Continue,
                None => verdict.clone(),
            })
            .witness(move |_| {
                let mut slot = look.lock().unwrap();
                match slot.as_mut().and_then(|pending| pending.now_or_never()) {
                    None => {}
                    // In its own turn an actor cannot wait for itself: there was no answer.
                    Some(Err(error)) if error.kind() == ErrorKind::AskedItself => {}
                    Some(answer) => early.note(format!("left: {answer:?}")),
                }
            });
        let desk = system.spawn(Desk::default()).inbound(spy).await.unwrap();
        desk.tell(Abortable(pass(&gate))).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        *slot.lock().unwrap() = Some(desk.ask(message).enqueue().unwrap());
        gate.open();
        lab.soon("the end is seen", journal.wait_len(4)).await;
        let pending = slot.lock().unwrap().take().unwrap();
        let answer = lab.soon("the answer comes", pending).await;
        assert_eq!(answer.err().map(|error| error.kind()), expected);
        assert_eq!(journal.len(), 4, "{journal:?}");
    }

    let (journal, gate, slot) = (Journal::new(), Gate::new(), Slot::default());
    let (look, early) = (slot.clone(), journal.clone());
    let spy = Spy::new("a", &journal).witness(move |_| {
        if let Some(answer) = look.lock().unwrap().as_mut().and_then(|pending| pending.now_or_never()) {
            early.note(format!("left: {answer:?}"));
        }
    });
    let desk = system.spawn(Desk::default()).inbound(spy).await.unwrap();
    *slot.lock().unwrap() = Some(desk.ask(pass(&gate)).enqueue().unwrap());
    lab.soon("the handler runs", gate.reached()).await;
    desk.kill();
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    let pending = slot.lock().unwrap().take().unwrap();
    assert_eq!(lab.soon("the answer comes", pending).await.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(journal.entries(), ["a>", "a< Interrupted"]);
}

/// Where an interceptor breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Receive,
    Scope,
    Before,
    After,
    Complete,
    /// It does not panic, but forgets the handler.
    Forgets,
    /// Or gives it up at its first await.
    GivesUp,
}

/// An interceptor that breaks over every note.
struct Breaks(At);

impl Breaks {
    fn at(&self, at: At, message: &str) {
        assert!(self.0 != at || !message.ends_with("Note"), "broken");
    }
}

impl Inbound for Breaks {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        self.at(At::Receive, delivery.message_type());
        Verdict::Continue
    }

    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }

    fn on_complete(&self, completion: &mut Completion<'_>) {
        self.at(At::Complete, completion.message_type());
    }
}

impl Around for Breaks {
    fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        let message = about.message_type();
        self.at(At::Scope, message);
        Box::pin(async move {
            self.at(At::Before, message);
            match self.0 {
                At::Forgets if message.ends_with("Note") => drop(next),
                At::GivesUp if message.ends_with("Hold") => drop(next.now_or_never()),
                _ => next.await,
            }
            self.at(At::After, message);
        })
    }
}

async fn panics(lab: Lab) {
    for at in [At::Receive, At::Scope, At::Before, At::After, At::Complete] {
        let (system, events) = lab.observed();
        let journal = Journal::new();
        let actor = system
            .spawn(Worker::new(&Journal::new()))
            .inbound(Spy::new("a", &journal))
            .inbound(Breaks(at))
            .inbound(Spy::new("b", &journal))
            .await
            .unwrap();
        let error = lab.soon("the asker is told", actor.ask(Note(1))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InterceptorPanicked, "{at:?}");
        assert!(format!("{error:#}").contains("broken"), "{error}");
        actor.tell(Note(2)).unwrap();
        let handled = if matches!(at, At::After | At::Complete) { 2 } else { 0 };
        assert_eq!(lab.soon("the actor goes on", actor.ask(Count())).await.unwrap(), handled, "{at:?}");
        assert_eq!(events.journal().entries(), ["dead Note"], "{at:?}");
        assert_eq!(events.errors()[0].kind(), ErrorKind::InterceptorPanicked, "{at:?}");
        let seen: &[&str] = match at {
            At::Receive => &["a>", "a< InterceptorPanicked"],
            At::Complete => &["a>", "b>", "a< ok", "b< ok"],
            _ => &["a>", "b>", "a< InterceptorPanicked", "b< InterceptorPanicked"],
        };
        assert_eq!(journal.entries()[..2 * seen.len()], [seen, seen].concat(), "{at:?}");
    }
}

async fn cut(lab: Lab) {
    let (system, events) = lab.observed();
    let journal = Journal::new();
    let actor = system.spawn(Worker::new(&journal)).inbound(Breaks(At::Forgets)).await.unwrap();
    let error = lab.soon("the asker is told", actor.ask(Note(1))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dropped);
    assert!(error.get("reason").is_some_and(|reason| reason.contains("await")), "{error}");
    actor.tell(Note(2)).unwrap();
    assert_eq!(lab.soon("the actor goes on", actor.ask(Count())).await.unwrap(), 0);
    assert_eq!(events.journal().entries(), ["dead Note"]);

    let spawn = system.spawn(Worker::new(&journal)).inbound(Breaks(At::GivesUp));
    let actor = spawn.inbound(Spy::new("a", &journal)).await.unwrap();
    let error = lab.soon("the asker is told", actor.ask(Hold(3, Gate::new()))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dropped);
    assert_eq!(lab.soon("the actor goes on", actor.ask(Note(4))).await.unwrap(), 4);
    let expected = ["start", "start", "a>", "hold 3", "a< Dropped", "a>", "4", "a< ok"];
    assert_eq!(journal.entries(), expected);
}
