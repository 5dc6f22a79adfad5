//! Scopes around a handler: when the answer leaves, and faulty interceptors.

use std::sync::{Arc, Mutex};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{About, Around, Completion, Delivery, ErrorKind, Inbound, Next, PendingReply, Verdict};
use futures_util::FutureExt;

use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{Abortable, Script, ScriptedActor, reply_with, script, wait_at};
use crate::fixtures::worker::{Count, Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "IN-12",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "The answer leaves the actor after the last `on_complete`: a reply, a failure, a refusal, a deferred reply that arrives while the handler still runs, and `Interrupted` after a kill.",
        "When the asker has the answer, every interceptor has recorded it.",
        body!(leaves_last),
    ),
    Rule::must(
        "IN-13",
        Topic::Inbound,
        &[(Topic::Inbound, State::Idle), (Topic::Inbound, State::Handling)],
        "An interceptor that panics before, around or after the handler fails that message with `InterceptorPanicked` and the panic's text, as the asker's error or as a dead letter; the actor keeps its state.",
        "A faulty interceptor is not a faulty actor.",
        body!(panics),
    ),
    Rule::must(
        "IN-14",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A scope that returns without awaiting the handler to its end drops the handler: the message fails with `Dropped`, and the error says so.",
        "No asker waits for a handler that is no longer polled.",
        body!(cut),
    ),
];

/// The answer has not arrived while the last interceptor sees the end.
async fn leaves_last(rule: RuleContext) {
    type Slot = Arc<Mutex<Option<PendingReply<Script>>>>;
    let system = rule.system();
    let fails = || script(|_, _| Err(dactor_core::Failure::new("no")));
    let later = || {
        script(|_, ctx| {
            let (later, promised) = ctx.reply_later::<Script>();
            assert!(later.reply(2), "an asker waits");
            promised
        })
    };
    let cases: [(Script, Verdict, Option<ErrorKind>); 4] = [
        (reply_with(1), Verdict::Continue, None),
        (fails(), Verdict::Continue, Some(ErrorKind::Failed)),
        (reply_with(1), Verdict::Drop, Some(ErrorKind::Dropped)),
        (later(), Verdict::Continue, None),
    ];
    for (message, verdict, expected) in cases {
        let (journal, gate, slot) = (Journal::new(), Gate::new(), Slot::default());
        let (look, early) = (slot.clone(), journal.clone());
        let recorder = RecordingInterceptor::new("a", &journal)
            .decide(move |delivery| match delivery.message::<Abortable>() {
                Some(_) => Verdict::Continue,
                None => verdict.clone(),
            })
            .on_end(move |_| {
                let mut slot = look.lock().unwrap();
                match slot.as_mut().and_then(|pending| pending.now_or_never()) {
                    None => {}
                    // An actor cannot await itself in its own turn: there was no answer yet.
                    Some(Err(error)) if error.kind() == ErrorKind::AskedItself => {}
                    Some(answer) => early.note(format!("left: {answer:?}")),
                }
            });
        let scripted = system.spawn(ScriptedActor::default()).inbound(recorder).await.unwrap();
        scripted.tell(Abortable(wait_at(&gate))).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        *slot.lock().unwrap() = Some(scripted.ask(message).enqueue().unwrap());
        gate.open();
        rule.soon("the interceptor sees the end", journal.wait_len(4)).await;
        let pending = slot.lock().unwrap().take().unwrap();
        let answer = rule.soon("the answer arrives", pending).await;
        assert_eq!(answer.err().map(|error| error.kind()), expected);
        assert_eq!(journal.len(), 4, "{journal:?}");
    }

    let (journal, gate, slot) = (Journal::new(), Gate::new(), Slot::default());
    let (look, early) = (slot.clone(), journal.clone());
    let recorder = RecordingInterceptor::new("a", &journal).on_end(move |_| {
        if let Some(answer) = look.lock().unwrap().as_mut().and_then(|pending| pending.now_or_never()) {
            early.note(format!("left: {answer:?}"));
        }
    });
    let scripted = system.spawn(ScriptedActor::default()).inbound(recorder).await.unwrap();
    *slot.lock().unwrap() = Some(scripted.ask(wait_at(&gate)).enqueue().unwrap());
    rule.soon("the handler runs", gate.reached()).await;
    scripted.kill();
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    let pending = slot.lock().unwrap().take().unwrap();
    assert_eq!(rule.soon("the answer arrives", pending).await.unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(journal.entries(), ["a>", "a< Interrupted"]);
}

/// Where an interceptor panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Receive,
    Scope,
    Before,
    After,
    Complete,
    /// It drops the handler without polling it.
    Forgets,
    /// It drops the handler at its first await.
    GivesUp,
}

/// An interceptor that fails for every note.
struct FaultyInterceptor(At);

impl FaultyInterceptor {
    fn at(&self, at: At, message: &str) {
        assert!(self.0 != at || !message.ends_with("Note"), "broken");
    }
}

impl Inbound for FaultyInterceptor {
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

impl Around for FaultyInterceptor {
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

async fn panics(rule: RuleContext) {
    for at in [At::Receive, At::Scope, At::Before, At::After, At::Complete] {
        let (system, events) = rule.system_with_events();
        let journal = Journal::new();
        let actor = system
            .spawn(Worker::new(&Journal::new()))
            .inbound(RecordingInterceptor::new("a", &journal))
            .inbound(FaultyInterceptor(at))
            .inbound(RecordingInterceptor::new("b", &journal))
            .await
            .unwrap();
        let error = rule.soon("the asker gets the error", actor.ask(Note(1))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InterceptorPanicked, "{at:?}");
        assert!(format!("{error:#}").contains("broken"), "{error}");
        actor.tell(Note(2)).unwrap();
        let handled = if matches!(at, At::After | At::Complete) { 2 } else { 0 };
        assert_eq!(rule.soon("the actor continues", actor.ask(Count())).await.unwrap(), handled, "{at:?}");
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

async fn cut(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let journal = Journal::new();
    let actor = system.spawn(Worker::new(&journal)).inbound(FaultyInterceptor(At::Forgets)).await.unwrap();
    let error = rule.soon("the asker gets the error", actor.ask(Note(1))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dropped);
    assert!(error.get("because").is_some_and(|because| because.contains("await")), "{error}");
    actor.tell(Note(2)).unwrap();
    assert_eq!(rule.soon("the actor continues", actor.ask(Count())).await.unwrap(), 0);
    assert_eq!(events.journal().entries(), ["dead Note"]);

    let spawn = system.spawn(Worker::new(&journal)).inbound(FaultyInterceptor(At::GivesUp));
    let actor = spawn.inbound(RecordingInterceptor::new("a", &journal)).await.unwrap();
    let error = rule.soon("the asker gets the error", actor.ask(Hold(3, Gate::new()))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dropped);
    assert_eq!(rule.soon("the actor continues", actor.ask(Note(4))).await.unwrap(), 4);
    let expected = ["start", "start", "a>", "hold 3", "a< Dropped", "a>", "4", "a< ok"];
    assert_eq!(journal.entries(), expected);
}
