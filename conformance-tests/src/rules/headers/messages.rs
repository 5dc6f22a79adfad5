//! Headers of messages.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Overflow, Sender, Verdict};

use super::note;
use crate::fixtures::header::Tag;
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{Script, ScriptedActor, async_script, wait_at};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "HEAD-01",
        Topic::Headers,
        &[(Topic::Headers, State::Idle)],
        "The interceptors and the handler see the headers that the caller set, for every way of sending: one header of each type, the last one set.",
        "Context travels with the message.",
        body!(arrive),
    ),
    Rule::must(
        "HEAD-02",
        Topic::Headers,
        &[(Topic::Headers, State::Idle)],
        "Headers that an outbound or inbound interceptor sets, replaces or removes are seen by all later interceptors, the handler, `on_complete` and `on_reply`.",
        "Interceptors can pass data to the other side without changing the message.",
        body!(changed),
    ),
    Rule::must(
        "HEAD-05",
        Topic::Headers,
        &[
            (Topic::Headers, State::Drained),
            (Topic::Headers, State::Handling),
            (Topic::Bound, State::Handling),
        ],
        "A message keeps its headers while it waits, in the queue of a draining actor and for room in a mailbox.",
        "Waiting does not change a message.",
        body!(waiting),
    ),
    Rule::must(
        "HEAD-06",
        Topic::Headers,
        &[(Topic::Headers, State::Starting), (Topic::Headers, State::Stopping)],
        "Messages that an actor sends from `on_start` and `on_stop` have the headers that it sets, and its sender; messages sent to a starting actor keep their headers.",
        "Hooks send messages like handlers do.",
        body!(hooks),
    ),
];

async fn arrive(rule: RuleContext) {
    let (journal, seen, system) = (Journal::new(), Journal::new(), rule.system());
    let look = seen.clone();
    let recorder = RecordingInterceptor::new("a", &Journal::new()).decide(move |delivery| {
        look.note(delivery.headers().get::<Tag>().map_or(0, |Tag(number)| *number));
        Verdict::Continue
    });
    for scripted in [
        system.spawn(ScriptedActor::default()).await.unwrap(),
        system.spawn(ScriptedActor::default()).inbound(recorder.clone()).await.unwrap(),
        system.spawn(ScriptedActor::default()).await.unwrap().outbound(recorder),
    ] {
        let start = journal.len();
        let message = || note(&journal);
        let recipient = scripted.recipient::<Script>();
        scripted.header(Tag(1)).tell(message()).unwrap();
        scripted.header(Tag(9)).header(Tag(2)).try_tell(message()).unwrap();
        rule.soon("the send returns", scripted.header(Tag(3)).send(message())).await.unwrap();
        recipient.header(Tag(4)).tell(message()).unwrap();
        recipient.header(Tag(5)).try_tell(message()).unwrap();
        rule.soon("the send returns", recipient.header(Tag(6)).send(message())).await.unwrap();
        let seventh = scripted.ask(message()).header(Tag(9)).header(Tag(7)).enqueue().unwrap();
        let eighth = recipient.header(Tag(9)).ask(message()).header(Tag(8)).enqueue().unwrap();
        assert_eq!(rule.soon("the ask is answered", seventh).await.unwrap(), 7);
        assert_eq!(rule.soon("the ask is answered", eighth).await.unwrap(), 8);
        assert_eq!(
            rule.soon("the ask is answered", scripted.ask(message()).header(Tag(9))).await.unwrap(),
            9
        );
        assert_eq!(
            rule.soon("the ask is answered", scripted.header(Tag(10)).ask(message())).await.unwrap(),
            10
        );
        assert_eq!(rule.soon("the ask is answered", recipient.ask(message())).await.unwrap(), 0);
        let expected = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "0"];
        assert_eq!(journal.entries()[start..], expected);
        assert!(seen.is_empty() || seen.entries()[seen.len() - 11..] == expected, "{seen:?}");
    }
    assert_eq!(seen.len(), 22);
}

async fn changed(rule: RuleContext) {
    let journal = Journal::new();
    // Appends its digit to the tag.
    let add = |digit: u32| {
        let (before, after) = (journal.clone(), journal.clone());
        RecordingInterceptor::new("x", &Journal::new())
            .decide(move |delivery| {
                let number = delivery.headers().get::<Tag>().map_or(0, |Tag(number)| *number);
                before.note(format!("{digit}: {number}"));
                delivery.headers_mut().insert(Tag(10 * number + digit));
                Verdict::Continue
            })
            .on_end(move |completion| {
                after.note(format!(
                    "{digit}; {}",
                    completion.headers().get::<Tag>().map_or(0, |Tag(number)| *number)
                ));
            })
    };
    let system = rule.builder().outbound(add(1)).inbound(add(3)).build().unwrap();
    let scripted = system.spawn(ScriptedActor::default()).inbound(add(4)).await.unwrap();
    let sender = scripted.outbound(add(2));
    assert_eq!(rule.soon("the ask is answered", sender.ask(note(&journal))).await.unwrap(), 1234);
    let there = ["1: 0", "2: 1", "3: 12", "4: 123", "1234"];
    let back = ["3; 1234", "4; 1234", "1; 12", "2; 12"];
    assert_eq!(journal.entries(), [&there[..], &back].concat());
    let journal = Journal::new();
    scripted.header(Tag(5)).tell(note(&journal)).unwrap();
    rule.soon("the message is handled", journal.wait_for("5134")).await;

    let removes = RecordingInterceptor::new("x", &Journal::new()).decide(|delivery| {
        assert_eq!(delivery.headers_mut().remove::<Tag>(), Some(Tag(5134)));
        Verdict::Continue
    });
    let scripted = system.spawn(ScriptedActor::default()).inbound(add(4)).inbound(removes).await.unwrap();
    let asked = scripted.header(Tag(5)).ask(note(&journal));
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap(), 0);
}

async fn waiting(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).bounded(2, Overflow::Block).await.unwrap();
    scripted.tell(wait_at(&gate)).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    scripted.header(Tag(1)).tell(note(&journal)).unwrap();
    scripted.header(Tag(2)).tell(note(&journal)).unwrap();
    let asked = scripted.header(Tag(3)).ask(note(&journal)).enqueue().unwrap();
    let (sender, inner) = (scripted.clone(), journal.clone());
    let sent = tokio::spawn(async move { sender.header(Tag(4)).send(note(&inner)).await });
    rule.let_idle().await;
    gate.open();
    rule.soon("the send returns", sent).await.unwrap().unwrap();
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap(), 3);
    scripted.drain();
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["1", "2", "3", "4"]);

    let (journal, gate) = (Journal::new(), Gate::new());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    scripted.tell(wait_at(&gate)).unwrap();
    scripted.header(Tag(1)).tell(note(&journal)).unwrap();
    scripted.header(Tag(2)).tell(note(&journal)).unwrap();
    scripted.drain();
    gate.open();
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["1", "2"]);
}

async fn hooks(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let seen = journal.clone();
    let recorder = RecordingInterceptor::new("a", &Journal::new()).decide(move |delivery| {
        let sender = delivery.headers().get::<Sender>().and_then(Sender::id);
        assert_eq!(sender, delivery.sender());
        seen.note(sender.is_some());
        Verdict::Continue
    });
    let other = system.spawn(ScriptedActor::default()).inbound(recorder).await.unwrap();
    let sends = |number, gate: Gate| {
        let (to, journal) = (other.clone(), journal.clone());
        async_script(move |_, _| {
            Box::pin(async move {
                to.header(Tag(number)).tell(note(&journal))?;
                gate.pass().await;
                Ok(to.header(Tag(number + 1)).ask(note(&journal)).await?)
            })
        })
    };
    let open = Gate::new();
    open.open();
    let scripted = ScriptedActor::default().on_start(sends(1, gate.clone())).on_stop(sends(3, open));
    let spawned = tokio::spawn(system.spawn(scripted).name("d").into_future());
    rule.soon("the actor is in `on_start`", gate.reached()).await;
    let scripted = system.get::<ScriptedActor>("d").unwrap();
    let early = scripted.header(Tag(9)).ask(note(&Journal::new())).enqueue().unwrap();
    gate.open();
    rule.soon("the actor starts", spawned).await.unwrap().unwrap();
    assert_eq!(rule.soon("the early ask is answered", early).await.unwrap(), 9);
    scripted.stop();
    rule.soon("the actor ends", scripted.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["true", "1", "true", "2", "true", "3", "true", "4"]);
}
