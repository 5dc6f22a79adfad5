//! Messages, answers and errors.

use std::sync::Arc;
use std::time::Duration;

use dactor_core::{Codec, ErrorKind, Priority};
use tokio_util::sync::CancellationToken;

use crate::fixtures::far::{Echo, Fail, Hold, Inner, Later, Note, Pair, Pass, Tenant, Unlisted, Who};
use crate::fixtures::until;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "FAR-01",
        Topic::Tell,
        &[(Topic::Tell, State::Idle), (Topic::Ask, State::Idle), (Topic::Order, State::Idle)],
        "A reference to an actor of another system tells, sends and asks like a local one, in order, in every codec; so do a recipient and an upgraded weak reference made from it.",
        "The same program runs on one node or on many.",
        body!(messages),
    ),
    Rule::must(
        "FAR-02",
        Topic::Failure,
        &[(Topic::Failure, State::Handling), (Topic::Panic, State::Handling)],
        "An error of a handler in another system arrives with its kind, its actor, its cause as a text, and whether the message may have been handled; the actor there is supervised as always.",
        "An error must say as much from afar as nearby.",
        body!(errors),
    ),
    Rule::must(
        "FAR-03",
        Topic::Tell,
        &[(Topic::Tell, State::Idle), (Topic::Ask, State::Idle)],
        "A message without a wire name is refused at once with `NotRemotable` and handed back; a message that the actor does not list is answered with `UnknownMessage`, or is a dead letter in the other system.",
        "Nothing is lost in silence, and nothing is accepted by accident.",
        body!(not_remotable),
    ),
    Rule::must(
        "FAR-04",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "An ask that times out, is cancelled or is dropped tells the handler in the other system; a message that waits there behind another one is taken back and never handled, and nothing is left pending.",
        "A handler must not work for an asker that has given up, wherever it is.",
        body!(given_up),
    ),
    Rule::must(
        "FAR-05",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "Deferred replies and replies of actors that a message was forwarded to arrive, also when it was forwarded back to the asker's own system.",
        "Who answers is no concern of the asker's.",
        body!(deferred),
    ),
    Rule::must(
        "FAR-06",
        Topic::Headers,
        &[(Topic::Headers, State::Handling)],
        "Headers that can be encoded, the sender as a path, and the time left travel with a message; headers travel with the reply.",
        "Deadlines, tenants and traces do not end at the border of a process.",
        body!(beside),
    ),
];

async fn messages(rule: RuleContext) {
    for codec in [Codec::MessagePack, Codec::Json] {
        let pair = Pair::with(&rule, codec, true).await;
        let a = pair.spawn("a").await;
        a.far.tell(Note("told".into())).unwrap();
        a.far.try_tell(Note("tried".into())).unwrap();
        rule.soon("it is sent", a.far.send(Note("sent".into()))).await.unwrap();
        a.far.recipient::<Note>().tell(Note("by recipient".into())).unwrap();
        a.far.downgrade().upgrade().unwrap().tell(Note("by weak ref".into())).unwrap();
        assert_eq!(rule.soon("the reply", a.far.ask(Echo(21))).await.unwrap(), 42);
        let expected = ["told", "tried", "sent", "by recipient", "by weak ref", "echo 21"];
        assert_eq!(a.journal.entries(), expected, "{codec:?}");

        // Priorities count in the mailbox there.
        let held = a.far.ask(Hold).enqueue().unwrap();
        rule.soon("the handler waits", a.gate.reached()).await;
        a.far.tell(Note("normal".into())).unwrap();
        let last = a.far.at(Priority::Low).ask(Echo(1)).enqueue().unwrap();
        a.far.at(Priority::High).tell(Note("high".into())).unwrap();
        rule.soon("all are there", until(|| a.local.queued() == Some(3))).await;
        a.gate.open();
        assert_eq!(rule.soon("the reply", held).await.unwrap(), "passed");
        assert_eq!(rule.soon("the reply", last).await.unwrap(), 2);
        assert_eq!(a.journal.entries()[6..], ["high", "normal", "echo 1"], "{codec:?}");
        assert_eq!((pair.here.dead_letter_count(), pair.there.dead_letter_count()), (0, 0));
        assert_eq!(pair.pending(), 0);
    }
}

async fn errors(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let a = pair.spawn("a").await;
    let error = rule.soon("the error", a.far.ask(Fail::Error("disk full".into()))).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Failed, true));
    assert_eq!(error.get("actor"), Some(a.local.path().to_string().as_str()));
    assert!(format!("{error:#}").contains("disk full"), "{error:#}");
    let error = rule.soon("the error", a.far.ask(Fail::Panic)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Panicked, true));
    assert!(format!("{error:#}").contains("as asked"), "{error:#}");
    assert_eq!(rule.soon("it was restarted", a.far.ask(Echo(1))).await.unwrap(), 2);
    let error = rule.soon("the error", a.far.ask(Later::Drop)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::NoReply, true));
    a.local.stop();
    rule.soon("the end", a.local.wait()).await.unwrap();
    let error = rule.soon("the error", a.far.ask(Echo(1))).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::NoSuchActor, false));
    let next = pair.spawn("a").await;
    let error = rule.soon("the error", a.far.ask(Echo(1))).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::WrongIncarnation, false));
    assert!(a.far != next.far && next.journal.is_empty());
}

async fn not_remotable(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let a = pair.spawn("a").await;
    let inner = || Inner(Arc::from("mine"));
    let refused = a.far.try_tell(inner()).unwrap_err();
    assert_eq!((refused.message, refused.reason.kind()), (inner(), ErrorKind::NotRemotable));
    assert_eq!(a.far.tell(inner()).unwrap_err().kind(), ErrorKind::NotRemotable);
    assert_eq!(rule.soon("at once", a.far.ask(inner())).await.unwrap_err().kind(), ErrorKind::NotRemotable);
    assert_eq!((pair.link.frames(), pair.here.dead_letter_count()), (0, 2));

    let error = rule.soon("the error", a.far.ask(Unlisted)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::UnknownMessage, false));
    assert_eq!((error.get("wire name"), error.get("type")), (Some("test.Unlisted"), Some("test.Far")));
    let mut letters = pair.there.dead_letter_feed();
    a.far.tell(Unlisted).unwrap();
    let letter = rule.soon("a dead letter there", letters.next()).await.unwrap();
    assert_eq!(letter.error.kind(), ErrorKind::UnknownMessage);
    assert_eq!(letter.target.path(), Some(&a.local.path()));
}

async fn given_up(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let a = pair.spawn("a").await;
    let token = CancellationToken::new();
    for (number, way) in ["timeout", "token", "drop"].into_iter().enumerate() {
        let arrivals = a.gate.arrivals();
        let held = match way {
            "timeout" => a.far.ask(Hold).timeout(Duration::from_millis(30)).enqueue().unwrap(),
            "token" => a.far.ask(Hold).cancel(token.clone()).enqueue().unwrap(),
            _ => a.far.ask(Hold).enqueue().unwrap(),
        };
        rule.soon("the handler waits", a.gate.reached_by(arrivals + 1)).await;
        if way != "timeout" {
            // It waits there, behind the message that holds the actor.
            let behind = a.far.ask(Echo(7)).enqueue().unwrap();
            rule.soon("it is there", until(|| a.local.queued() == Some(1))).await;
            drop(behind);
            rule.soon("it is taken back", until(|| a.local.queued() == Some(0))).await;
        }
        if way == "drop" {
            drop(held);
        } else {
            if way == "token" {
                token.cancel();
            }
            let error = rule.soon("the error", held).await.unwrap_err();
            let kind = if way == "token" { ErrorKind::Cancelled } else { ErrorKind::Timeout };
            assert_eq!((error.kind(), error.may_have_been_handled()), (kind, true), "{way}");
        }
        rule.soon("the handler is told", until(|| a.journal.count("cancelled") == number + 1)).await;
        assert_eq!(rule.soon("the actor goes on", a.far.ask(Echo(1))).await.unwrap(), 2);
    }
    assert_eq!(a.journal.count("echo 7"), 0);
    assert_eq!(pair.pending(), 0);
}

async fn deferred(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let (a, b) = (pair.spawn("a").await, pair.spawn("b").await);
    assert_eq!(rule.soon("the reply", a.far.ask(Later::Answer(9))).await.unwrap(), 9);
    // In the other system, and back into this one.
    let pass = Pass { to: b.far.clone(), number: 4 };
    assert_eq!(rule.soon("the reply", a.far.ask(pass)).await.unwrap(), 8);
    assert_eq!(b.journal.entries(), ["echo 4"]);
    let journal = dactor_core::testkit::Journal::new();
    let home = crate::fixtures::far::FarActor {
        journal: journal.clone(),
        gate: dactor_core::testkit::Gate::new(),
        watches: None,
    };
    let home = pair.here.spawn(home).name("home").await.unwrap();
    let pass = Pass { to: home.clone(), number: 5 };
    assert_eq!(rule.soon("the reply", a.far.ask(pass)).await.unwrap(), 10);
    assert_eq!(journal.entries(), ["echo 5"]);
    home.stop();
    rule.soon("the end", home.wait()).await.unwrap();
    let error = rule.soon("the error", a.far.ask(Pass { to: home, number: 6 })).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::NoSuchActor, true), "{error:#}");
}

async fn beside(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let a = pair.spawn("a").await;
    let (sender, tenant, left) = rule.soon("the reply", a.far.ask(Who)).await.unwrap();
    assert_eq!((sender, tenant, left), (None, None, None), "nothing beside it");
    let ask = a.far.ask(Who).header(Tenant("acme".into())).timeout(Duration::from_secs(20));
    let ((_, tenant, left), headers) = rule.soon("the reply", ask.with_headers()).await.unwrap();
    assert_eq!(tenant.as_deref(), Some("acme"));
    assert!(left.unwrap() <= Duration::from_secs(20) && left.unwrap() > Duration::from_secs(1));
    assert_eq!(headers.get(), Some(&Tenant("the answer".into())));
    // From the turn of an actor: through one of this system.
    let router = crate::fixtures::far::FarActor {
        journal: dactor_core::testkit::Journal::new(),
        gate: dactor_core::testkit::Gate::new(),
        watches: Some(a.far.clone()),
    };
    let router = pair.here.spawn(router).name("router").await.unwrap();
    let (sender, ..) = rule.soon("the reply", router.ask(AskWho)).await.unwrap();
    let sender = sender.expect("it was sent by an actor");
    assert!(sender.is_same_incarnation(&router.path()), "{sender:?}");
}

/// Asks the actor that is watched who it is that asks.
struct AskWho;
impl dactor_core::Message for AskWho {
    type Reply = <Who as dactor_core::Message>::Reply;
    type Access = dactor_core::Exclusive;
}

impl dactor_core::Handler<AskWho> for crate::fixtures::far::FarActor {
    async fn handle(
        &mut self,
        _: AskWho,
        _: &mut dactor_core::Context<Self>,
    ) -> dactor_core::Outcome<<Who as dactor_core::Message>::Reply> {
        let target = self.watches.as_ref().expect("an actor to ask");
        Ok(target.ask(Who).await?)
    }
}
