//! The order of inbound interceptors, what they see and what they decide.

use std::sync::{Arc, Mutex};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Delivery, Directive, ErrorKind, Mode, Overflow, Pid, Verdict};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{
    Abortable, ScriptedActor, async_script, defer_reply, reply_with, script, wait_at,
};
use crate::fixtures::sending::every_way;
use crate::fixtures::worker::{Count, Fail, Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "IN-01",
        Topic::Inbound,
        &[(Topic::Inbound, State::Idle)],
        "Inbound interceptors see a message in the order of registration, those of the system first, for every way of sending; their scopes wrap the handler in the same order. Interceptors after a refusal see neither the message nor its end.",
        "The order of registration decides what each interceptor sees.",
        body!(order),
    ),
    Rule::must(
        "IN-02",
        Topic::Inbound,
        &[(Topic::Inbound, State::Idle)],
        "An inbound interceptor sees the actor's name, id and type, the message, its type and how it was sent, and the sender if and only if an actor sent it.",
        "A policy needs the facts that it decides on.",
        body!(sees),
    ),
    Rule::must(
        "IN-03",
        Topic::Inbound,
        &[(Topic::Inbound, State::Idle), (Topic::Inbound, State::Handling)],
        "`Drop`, `Reject` and `Retry` fail an ask at once, with the actor, the message, the interceptor, the reason and the retry time; a told message becomes a dead letter with the same error. The handler does not run, and the actor continues.",
        "A sender that can be informed is informed, and no message is lost silently.",
        body!(refuses),
    ),
    Rule::must(
        "IN-04",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "Every interceptor that saw a message sees its end exactly once: a reply, a deferred reply, a failure, a panic, a refusal or an abort. The actor continues as without interceptors.",
        "An interceptor can release what it acquired for a message.",
        body!(completes),
    ),
    Rule::must(
        "IN-05",
        Topic::Inbound,
        &[(Topic::Inbound, State::Starting)],
        "Messages sent during `on_start` are seen by the interceptors after it, when they are handled.",
        "An interceptor sees no actor that is not ready.",
        body!(starting),
    ),
    Rule::must(
        "IN-06",
        Topic::Inbound,
        &[(Topic::Inbound, State::Stopping), (Topic::Inbound, State::Dead), (Topic::Bound, State::Handling)],
        "A message that will not be handled (refused by the mailbox, left in the queue, or sent to a stopping or ended actor) is seen by no inbound interceptor.",
        "Inbound interceptors see handled messages only.",
        body!(unseen),
    ),
    Rule::must(
        "IN-11",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A restarted actor keeps its interceptors. Failures, `on_error` and restarts work the same with and without interceptors.",
        "Interceptors do not change supervision.",
        body!(restarts),
    ),
];

async fn order(rule: RuleContext) {
    let journal = Journal::new();
    let system = rule
        .builder()
        .inbound(RecordingInterceptor::new("s", &journal).scoped())
        .inbound(RecordingInterceptor::new("t", &journal))
        .build()
        .unwrap();
    let only_odd = |delivery: &mut Delivery<'_>| match delivery.message::<Note>() {
        Some(Note(number)) if number % 2 == 0 => Verdict::Reject("even".into()),
        _ => Verdict::Continue,
    };
    let actor = system
        .spawn(Worker::new(&journal))
        .inbound(RecordingInterceptor::new("a", &journal).scoped().decide(only_odd))
        .inbound(RecordingInterceptor::new("b", &journal).scoped())
        .await
        .unwrap();
    let went = every_way(&rule, &actor).await;
    let refused = Some(ErrorKind::Rejected);
    assert_eq!(went, [None, None, None, None, None, None, None, refused, None, refused]);
    let mut expected = vec!["start".to_owned()];
    for number in 1..=10 {
        let number = number.to_string();
        let odd = [
            "s>", "t>", "a>", "b>", "s(", "a(", "b(", &number, "b)", "a)", "s)", "s< ok", "t< ok", "a< ok",
            "b< ok",
        ];
        let even = ["s>", "t>", "a>", "s< Rejected", "t< Rejected", "a< Rejected"];
        let is_odd = number.parse::<u32>().unwrap() % 2 == 1;
        expected.extend(if is_odd { &odd[..] } else { &even[..] }.iter().map(|entry| (*entry).to_owned()));
    }
    assert_eq!(journal.entries(), expected);
    assert_eq!(system.dead_letter_count(), 3, "the told messages with even numbers");
}

async fn sees(rule: RuleContext) {
    type Seen = (String, Pid, &'static str, &'static str, Mode, Option<Pid>, Option<u32>);
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let (record, journal, system) = (seen.clone(), Journal::new(), rule.system());
    let recorder = RecordingInterceptor::new("a", &journal).decide(move |delivery| {
        assert!(delivery.message::<Count>().is_none());
        let number = delivery.message::<Note>().map(|Note(number)| *number);
        record.lock().unwrap().push((
            delivery.actor(),
            delivery.actor_id(),
            delivery.actor_type(),
            delivery.message_type(),
            delivery.mode(),
            delivery.sender(),
            number,
        ));
        Verdict::Continue
    });
    let actor = system.spawn(Worker::new(&journal)).name("w").inbound(recorder).await.unwrap();
    every_way(&rule, &actor).await;
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let to = actor.clone();
    let sends = async_script(move |_, _| {
        Box::pin(async move {
            to.tell(Note(11))?;
            to.recipient().try_tell(Note(12))?;
            to.send(Note(13)).await?;
            to.ask(Note(14)).enqueue()?.await?;
            Ok(to.ask(Note(15)).await?)
        })
    });
    assert_eq!(rule.soon("the actor has sent all messages", scripted.ask(sends)).await.unwrap(), 15);
    assert_eq!(rule.soon("the ask from outside is answered", actor.ask(Note(16))).await.unwrap(), 16);
    let expected: Vec<Seen> = (1..=16)
        .map(|number| {
            let asked = matches!(number, 7..=10 | 14..);
            let sender = (11..=15).contains(&number).then(|| scripted.id());
            let mode = if asked { Mode::Ask } else { Mode::Tell };
            let types = (std::any::type_name::<Worker>(), std::any::type_name::<Note>());
            ("pekko://test/user/w".to_owned(), actor.id(), types.0, types.1, mode, sender, Some(number))
        })
        .collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

async fn refuses(rule: RuleContext) {
    let after = std::time::Duration::from_millis(1500);
    for (verdict, kind, reason, retry) in [
        (Verdict::Drop, ErrorKind::Dropped, None, None),
        (Verdict::Reject("not today".into()), ErrorKind::Rejected, Some("not today"), None),
        (Verdict::Retry(after), ErrorKind::RetryLater, None, Some(after)),
    ] {
        let (system, events) = rule.system_with_events();
        let (journal, gate) = (Journal::new(), Gate::new());
        let only_notes = move |delivery: &mut Delivery<'_>| match delivery.message::<Note>() {
            Some(_) => verdict.clone(),
            None => Verdict::Continue,
        };
        let recorder = RecordingInterceptor::new("a", &journal).decide(only_notes);
        let actor = system.spawn(Worker::new(&journal)).name("w").inbound(recorder).await.unwrap();
        let went = every_way(&rule, &actor).await;
        assert_eq!(went[..6], [None; 6], "told messages are accepted");
        assert_eq!(went[6..], [Some(kind); 4]);
        assert_eq!(events.journal().entries(), ["dead Note"; 6]);
        let asked = rule.soon("the asker gets the error", actor.ask(Note(1))).await.unwrap_err();
        for error in events.errors().iter().chain([&asked]) {
            assert_eq!((error.kind(), error.get("actor")), (kind, Some("pekko://test/user/w")));
            assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
            assert_eq!((error.get("reason"), error.retry_after()), (reason, retry));
            assert_eq!(
                error.get("interceptor"),
                Some(std::any::type_name::<RecordingInterceptor>()),
                "{error}"
            );
        }
        // An ask that was withdrawn in the meantime is not seen and is no dead letter.
        actor.tell(Hold(0, gate.clone())).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        drop(actor.ask(Note(2)).enqueue().unwrap());
        gate.open();
        assert_eq!(rule.soon("the actor continues", actor.ask(Count())).await.unwrap(), 0);
        assert_eq!(system.dead_letter_count(), 6, "interceptors do not see a withdrawn ask");
    }
}

async fn completes(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let recorders = [RecordingInterceptor::new("a", &journal), RecordingInterceptor::new("b", &journal)];
    let [first, second] = recorders.clone();
    let worker = system.spawn(|| Worker::new(&Journal::new())).inbound(first).inbound(second).await.unwrap();
    rule.soon("a reply", worker.ask(Note(1))).await.unwrap();
    rule.soon("a failure", worker.ask(Fail("no"))).await.unwrap_err();
    rule.soon("a panic", worker.ask(PanicWith("bang"))).await.unwrap_err();
    worker.tell(Note(2)).unwrap();
    worker.tell(Fail("no")).unwrap();
    worker.tell(PanicWith("bang")).unwrap();
    rule.soon("the actor continues", worker.ask(Note(3))).await.unwrap();
    let hows = ["ok", "Failed", "Panicked", "ok", "Failed", "Panicked", "ok"];
    let ended = |how: &&str| ["a>".into(), "b>".into(), format!("a< {how}"), format!("b< {how}")];
    assert_eq!(journal.entries(), hows.iter().flat_map(ended).collect::<Vec<_>>());

    let (journal, gate) = (Journal::new(), Gate::new());
    let refuse =
        RecordingInterceptor::new("b", &journal).decide(|delivery| match delivery.message::<Abortable>() {
            Some(_) => Verdict::Continue,
            None => Verdict::Drop,
        });
    let scripted = system
        .spawn(ScriptedActor::default())
        .inbound(RecordingInterceptor::new("a", &journal))
        .inbound(refuse)
        .await
        .unwrap();
    rule.soon("a refusal", scripted.ask(reply_with(1))).await.unwrap_err();
    let asked = scripted.ask(Abortable(wait_at(&gate))).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    drop(asked);
    rule.soon("the interceptor sees the abort", journal.wait_for("b< Cancelled")).await;
    assert_eq!(
        journal.entries(),
        ["a>", "b>", "a< Dropped", "b< Dropped", "a>", "b>", "a< Cancelled", "b< Cancelled"]
    );

    let journal = Journal::new();
    let scripted = system
        .spawn(ScriptedActor::default())
        .inbound(RecordingInterceptor::new("a", &journal))
        .await
        .unwrap();
    let asked = scripted.ask(defer_reply()).enqueue().unwrap();
    rule.soon("the reply is promised", journal.wait_len(2)).await;
    scripted.tell(script(|scripted, _| Ok(u32::from(scripted.deferred.remove(0).reply(5))))).unwrap();
    assert_eq!(rule.soon("the deferred reply is sent", asked).await.unwrap(), 5);
    rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
    assert_eq!(journal.entries(), ["a>", "a< ok", "a>", "a< ok", "a>", "a< ok"]);
}

async fn starting(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let worker = Worker::with(&journal, Hooks { start: HookAction::Hold(gate.clone()), ..Hooks::default() });
    let spawn = system.spawn(worker).name("a").inbound(RecordingInterceptor::new("a", &journal));
    let spawned = tokio::spawn(spawn.into_future());
    rule.soon("the actor is in `on_start`", gate.reached()).await;
    let actor = system.get::<Worker>("a").unwrap();
    actor.tell(Note(1)).unwrap();
    let asked = actor.ask(Note(2)).enqueue().unwrap();
    assert_eq!(journal.entries(), ["start"]);
    gate.open();
    rule.soon("the actor starts", spawned).await.unwrap().unwrap();
    assert_eq!(rule.soon("the asker is answered", asked).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "a>", "1", "a< ok", "a>", "2", "a< ok"]);
}

async fn unseen(rule: RuleContext) {
    let (journal, gate, stopping, system) = (Journal::new(), Gate::new(), Gate::new(), rule.system());
    let hooks = Hooks { stop: HookAction::Hold(stopping.clone()), ..Hooks::default() };
    let spawn = system.spawn(Worker::with(&Journal::new(), hooks)).bounded(2, Overflow::Reject);
    let actor = spawn.inbound(RecordingInterceptor::new("a", &journal)).await.unwrap();
    actor.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(1)).unwrap();
    let asked = actor.ask(Note(2)).enqueue().unwrap();
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::MailboxFull);
    actor.stop();
    gate.open();
    rule.soon("the actor is in `on_stop`", stopping.reached()).await;
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert!(every_way(&rule, &actor).await.iter().all(|went| *went == Some(ErrorKind::Stopped)));
    stopping.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert!(every_way(&rule, &actor).await.iter().all(|went| *went == Some(ErrorKind::Stopped)));
    assert_eq!(journal.entries(), ["a>", "a< ok"]);
}

async fn restarts(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let journal = Journal::new();
    let hooks = Hooks { directive: Directive::Restart, ..Hooks::default() };
    let spawn =
        system.spawn(Worker::factory(&journal, hooks)).inbound(RecordingInterceptor::new("a", &journal));
    let actor = spawn.await.unwrap();
    actor.tell(Fail("no")).unwrap();
    actor.tell(PanicWith("bang")).unwrap();
    assert_eq!(rule.soon("the actor continues", actor.ask(Note(1))).await.unwrap(), 1);
    let expected = "make start a> a<_Failed error:_no drop make restart:_Failed \
                    a> a<_Panicked drop make restart:_Panicked a> 1 a<_ok";
    let expected: Vec<_> = expected.split_whitespace().map(|entry| entry.replace('_', " ")).collect();
    assert_eq!(journal.entries(), expected);
    assert_eq!(events.journal().entries(), ["failed Fail", "restarted", "failed PanicWith", "restarted"]);
}
