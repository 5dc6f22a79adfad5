//! The order of outbound interceptors, what they see and what they decide.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Delivery, ErrorKind, Mode, Overflow, Pid, Verdict};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{ScriptedActor, async_script, defer_reply, reply_with, wait_at};
use crate::fixtures::sending::every_way;
use crate::fixtures::worker::{Count, Fail, Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "OUT-01",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "Outbound interceptors see a message in the order of registration, those of the system first, for every way of sending. An ask returns to them with its reply, and a message that one of them refuses with the error; interceptors after a refusal see neither.",
        "The order of registration decides what each interceptor sees.",
        body!(order),
    ),
    Rule::must(
        "OUT-02",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "The interceptors of a reference apply to its clones, recipients and weak references, and to no other reference to the same actor.",
        "A reference can be restricted before it is handed out.",
        body!(per_ref),
    ),
    Rule::must(
        "OUT-03",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "An outbound interceptor sees the actor's name, id and type, the message, its type and how it is sent, the sender if and only if an actor sends it, and the reply or the error.",
        "A policy needs the facts that it decides on.",
        body!(sees),
    ),
    Rule::must(
        "OUT-04",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "`Drop`, `Reject` and `Retry` are returned by every way of sending, with the actor, the message, the interceptor, the reason and the retry time; the actor sees nothing. A message that `try_tell` returns is no dead letter; the others are.",
        "The sender gets a refused message back, or it is counted.",
        body!(refuses),
    ),
    Rule::must(
        "OUT-05",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle), (Topic::Outbound, State::Handling)],
        "An outbound interceptor that panics causes `InterceptorPanicked` with the panic's text: in `on_send` for every way of sending, and nothing is sent; in `on_reply` for the asker. The sender's task and the actor continue.",
        "A faulty interceptor is neither a faulty sender nor a faulty actor.",
        body!(panics),
    ),
    Rule::must(
        "OUT-06",
        Topic::Outbound,
        &[(Topic::Outbound, State::Handling)],
        "`on_reply` runs exactly once for every ask, with the asker's result: a reply, a failure, a panic, a dropped deferred reply, a full mailbox; `Cancelled` when the asker gives up.",
        "An interceptor can release what it acquired for an ask.",
        body!(arrives),
    ),
    Rule::must(
        "OUT-07",
        Topic::Outbound,
        &[(Topic::Outbound, State::Starting)],
        "A message sent to an actor in `on_start` passes the interceptors at once; its reply passes them when it arrives.",
        "Sending does not depend on the state of the actor.",
        body!(starting),
    ),
    Rule::must(
        "OUT-08",
        Topic::Outbound,
        &[(Topic::Outbound, State::Stopping), (Topic::Outbound, State::Dead)],
        "A message to a stopping or ended actor also passes the interceptors; `on_reply` sees the sender's `Stopped`, and a verdict takes precedence over it.",
        "An interceptor sees every attempt to send.",
        body!(dead),
    ),
];

async fn order(rule: RuleContext) {
    let (journal, handled) = (Journal::new(), Journal::new());
    let builder = rule
        .builder()
        .outbound(RecordingInterceptor::new("s", &journal))
        .outbound(RecordingInterceptor::new("t", &journal));
    let system = builder.build().unwrap();
    let only_odd = |delivery: &mut Delivery<'_>| match delivery.message::<Note>() {
        Some(Note(number)) if number % 2 == 0 => Verdict::Reject("even".into()),
        _ => Verdict::Continue,
    };
    let actor = system.spawn(Worker::new(&handled)).await.unwrap();
    let actor = actor
        .outbound(RecordingInterceptor::new("a", &journal).decide(only_odd))
        .outbound(RecordingInterceptor::new("b", &journal));
    let went = every_way(&rule, &actor).await;
    for (went, number) in went.into_iter().zip(1..) {
        assert_eq!(went, (number % 2 == 0).then_some(ErrorKind::Rejected), "{number}");
    }
    let refused = &["s>", "t>", "a>", "s< Rejected", "t< Rejected", "a< Rejected"][..];
    let told = [&["s>", "t>", "a>", "b>"][..], refused];
    let asked = &["s>", "t>", "a>", "b>", "s< ok", "t< ok", "a< ok", "b< ok"][..];
    // Both enqueued asks are sent before the first one is awaited.
    let enqueued = [told[0], refused, &asked[4..]].concat();
    let expected = [&told.concat().repeat(3), &enqueued, asked, refused].map(|part| part.to_vec()).concat();
    assert_eq!(journal.entries(), expected);
    assert_eq!(handled.entries(), ["start", "1", "3", "5", "7", "9"]);
}

async fn per_ref(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = system.spawn(Worker::new(&Journal::new())).name("w").await.unwrap();
    let seen = actor.outbound(RecordingInterceptor::new("a", &journal));
    let more = seen.outbound(RecordingInterceptor::new("b", &journal));
    assert_eq!(actor, more);
    let refused = actor.outbound(RecordingInterceptor::new("c", &Journal::new()).always(Verdict::Drop));
    assert_eq!(refused.tell(Note(1)).unwrap_err().kind(), ErrorKind::Dropped);
    actor.tell(Note(2)).unwrap();
    system.get::<Worker>("w").unwrap().tell(Note(3)).unwrap();
    actor.recipient().tell(Note(4)).unwrap();
    assert_eq!(journal.entries(), [""; 0]);
    seen.clone().tell(Note(5)).unwrap();
    seen.recipient().clone().tell(Note(6)).unwrap();
    seen.downgrade().upgrade().unwrap().tell(Note(7)).unwrap();
    assert_eq!(journal.entries(), ["a>", "a>", "a>"]);
    assert_eq!(rule.soon("the ask is answered", more.ask(Count())).await.unwrap(), 6);
    assert_eq!(journal.entries()[3..], ["a>", "b>", "a< ok", "b< ok"]);
}

async fn sees(rule: RuleContext) {
    type Seen = (String, Pid, &'static str, &'static str, Mode, Option<Pid>, Option<u32>);
    let (seen, replies): (Arc<Mutex<Vec<Seen>>>, Arc<Mutex<Vec<_>>>) = Default::default();
    let (record, noted) = (seen.clone(), replies.clone());
    let recorder = RecordingInterceptor::new("s", &Journal::new())
        .decide(move |delivery| {
            let Some(Note(number)) = delivery.message::<Note>() else { return Verdict::Continue };
            let about = (delivery.actor(), delivery.actor_id(), delivery.actor_type());
            let rest = (delivery.message_type(), delivery.mode(), delivery.sender(), Some(*number));
            record.lock().unwrap().push((about.0, about.1, about.2, rest.0, rest.1, rest.2, rest.3));
            Verdict::Continue
        })
        .on_end(move |completion| {
            let reply = completion.reply::<u32>().copied();
            assert!(completion.reply::<String>().is_none() && completion.mode() == Mode::Ask);
            let kind = completion.error().map(|error| error.kind());
            noted.lock().unwrap().push((completion.actor(), completion.sender(), reply, kind));
        });
    let system = rule.builder().outbound(recorder).build().unwrap();
    let actor = system.spawn(Worker::new(&Journal::new())).name("w").await.unwrap();
    every_way(&rule, &actor).await;
    let scripted = system.spawn(ScriptedActor::default()).name("d").await.unwrap();
    let to = actor.clone();
    let sends = async_script(move |_, _| {
        Box::pin(async move {
            to.tell(Note(11))?;
            to.recipient().try_tell(Note(12))?;
            to.send(Note(13)).await?;
            to.ask(Note(14)).enqueue()?.await?;
            to.ask(Fail("no")).await.unwrap_err();
            Ok(to.ask(Note(15)).await?)
        })
    });
    rule.soon("the actor has sent all messages", scripted.ask(sends)).await.unwrap();
    let expected: Vec<Seen> = (1..=15)
        .map(|number| {
            let mode = if matches!(number, 7..=10 | 14..) { Mode::Ask } else { Mode::Tell };
            let sender = (number > 10).then(|| scripted.id());
            let types = (std::any::type_name::<Worker>(), std::any::type_name::<Note>());
            ("pekko://test/user/w".to_owned(), actor.id(), types.0, types.1, mode, sender, Some(number))
        })
        .collect();
    assert_eq!(*seen.lock().unwrap(), expected);
    let by = Some(scripted.id());
    let replies = replies.lock().unwrap();
    assert!(replies[..4].iter().map(|reply| (reply.1, reply.2)).eq((7..=10).map(|n| (None, Some(n)))));
    let own = |reply, kind| ("pekko://test/user/w".to_owned(), by, reply, kind);
    let last = ("pekko://test/user/d".to_owned(), None, Some(15), None);
    assert_eq!(
        replies[4..],
        [own(Some(14), None), own(None, Some(ErrorKind::Failed)), own(Some(15), None), last]
    );
}

async fn refuses(rule: RuleContext) {
    let after = Duration::from_millis(1500);
    for (verdict, kind, reason, retry) in [
        (Verdict::Drop, ErrorKind::Dropped, None, None),
        (Verdict::Reject("not today".into()), ErrorKind::Rejected, Some("not today"), None),
        (Verdict::Retry(after), ErrorKind::RetryLater, None, Some(after)),
    ] {
        let (system, events) = rule.system_with_events();
        let (handled, journal) = (Journal::new(), Journal::new());
        let actor = system.spawn(Worker::new(&handled)).name("w").await.unwrap();
        let actor = actor.outbound(RecordingInterceptor::new("a", &journal).always(verdict));
        assert_eq!(every_way(&rule, &actor).await, [Some(kind); 10]);
        assert_eq!(events.journal().entries(), ["dead Note"; 8], "all but the returned messages");
        let back = actor.try_tell(Note(7)).unwrap_err();
        assert_eq!(back.message.0, 7);
        for error in events.errors().iter().chain([&back.reason]) {
            assert_eq!((error.kind(), error.get("actor")), (kind, Some("pekko://test/user/w")));
            assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
            assert_eq!((error.get("reason"), error.retry_after()), (reason, retry));
        }
        let how = format!("a< {kind:?}");
        assert_eq!((journal.count("a>"), journal.count(&how)), (11, 11), "`on_reply` sees all messages");
        for error in events.errors().iter().chain([&back.reason]) {
            assert_eq!(
                error.get("interceptor"),
                Some(std::any::type_name::<RecordingInterceptor>()),
                "{error}"
            );
        }
        assert_eq!(handled.entries(), ["start"]);
    }
}

async fn panics(rule: RuleContext) {
    let system = rule.system();
    let (handled, journal) = (Journal::new(), Journal::new());
    let actor = system.spawn(Worker::new(&handled)).await.unwrap();
    let broken = actor.outbound(RecordingInterceptor::new("a", &journal).decide(|_| panic!("broken")));
    let broken = broken.outbound(RecordingInterceptor::new("b", &journal));
    assert_eq!(every_way(&rule, &broken).await, [Some(ErrorKind::InterceptorPanicked); 10]);
    let error = broken.tell(Note(1)).unwrap_err();
    assert!(format!("{error:#}").contains("broken"), "{error}");
    assert_eq!(error.get("interceptor"), Some(std::any::type_name::<RecordingInterceptor>()), "{error}");
    assert_eq!((journal.count("b>"), journal.count("a< InterceptorPanicked")), (0, 11));
    assert_eq!(handled.entries(), ["start"], "nothing was sent");

    let journal = Journal::new();
    let broken = actor.outbound(RecordingInterceptor::new("a", &journal).on_end(|_| panic!("broken")));
    let broken = broken.outbound(RecordingInterceptor::new("b", &journal));
    let went = every_way(&rule, &broken).await;
    assert_eq!(went[..6], [None; 6]);
    assert_eq!(went[6..], [Some(ErrorKind::InterceptorPanicked); 4]);
    let error = rule.soon("the asker gets the error", broken.ask(Fail("no"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed, "an error is not replaced");
    assert_eq!(journal.count("b< ok"), 4, "the next interceptor sees it, too");
    assert_eq!(rule.soon("the actor continues", actor.ask(Count())).await.unwrap(), 10);
}

async fn arrives(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let recorder = RecordingInterceptor::new("a", &journal);
    let worker = system.spawn(|| Worker::new(&Journal::new())).bounded(1, Overflow::Reject).await.unwrap();
    let worker = worker.outbound(recorder.clone());
    rule.soon("a reply", worker.ask(Note(1))).await.unwrap();
    rule.soon("a failure", worker.ask(Fail("no"))).await.unwrap_err();
    rule.soon("a panic", worker.ask(PanicWith("bang"))).await.unwrap_err();
    let held = worker.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let waiting = worker.ask(Note(2)).enqueue().unwrap();
    assert_eq!(worker.ask(Note(3)).enqueue().unwrap_err().kind(), ErrorKind::MailboxFull);
    drop(waiting);
    drop(held);
    gate.open();
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap().outbound(recorder);
    let kept = scripted.ask(defer_reply()).enqueue().unwrap();
    let dropping = crate::fixtures::scripted::script(|scripted, _| {
        scripted.deferred.clear();
        Ok(0)
    });
    rule.soon("the deferred reply is dropped", scripted.ask(dropping)).await.unwrap();
    assert_eq!(rule.soon("the asker gets the error", kept).await.unwrap_err().kind(), ErrorKind::NoReply);
    drop(scripted.ask(reply_with(1)));
    let expected = "a> a<_ok a> a<_Failed a> a<_Panicked a> a> a> a<_MailboxFull a<_Cancelled a<_Cancelled \
                    a> a> a<_ok a<_NoReply";
    let expected: Vec<_> = expected.split_whitespace().map(|entry| entry.replace('_', " ")).collect();
    assert_eq!(journal.entries(), expected, "interceptors do not see an ask that was never sent");
}

async fn starting(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = rule.builder().outbound(RecordingInterceptor::new("s", &journal)).build().unwrap();
    let scripted = ScriptedActor::default().on_start(wait_at(&gate));
    let spawned = tokio::spawn(system.spawn(scripted).name("d").into_future());
    rule.soon("the actor is in `on_start`", gate.reached()).await;
    let scripted = system.get::<ScriptedActor>("d").unwrap();
    let asked = scripted.ask(reply_with(1)).enqueue().unwrap();
    scripted.tell(reply_with(2)).unwrap();
    assert_eq!(journal.entries(), ["s>", "s>"]);
    gate.open();
    rule.soon("the actor starts", spawned).await.unwrap().unwrap();
    assert_eq!(rule.soon("the asker is answered", asked).await.unwrap(), 1);
    assert_eq!(journal.entries(), ["s>", "s>", "s< ok"]);
}

async fn dead(rule: RuleContext) {
    let (journal, stopping, system) = (Journal::new(), Gate::new(), rule.system());
    let hooks = Hooks { stop: HookAction::Hold(stopping.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&Journal::new(), hooks)).await.unwrap();
    let refused = actor.outbound(RecordingInterceptor::new("b", &Journal::new()).always(Verdict::Drop));
    let actor = actor.outbound(RecordingInterceptor::new("a", &journal));
    actor.stop();
    rule.soon("the actor is in `on_stop`", stopping.reached()).await;
    assert_eq!(every_way(&rule, &actor).await, [Some(ErrorKind::Stopped); 10]);
    stopping.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(every_way(&rule, &actor).await, [Some(ErrorKind::Stopped); 10]);
    assert_eq!((journal.count("a>"), journal.count("a< Stopped"), journal.len()), (20, 20, 40));
    assert_eq!(every_way(&rule, &refused).await, [Some(ErrorKind::Dropped); 10]);
}
