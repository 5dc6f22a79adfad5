//! Headers of replies, and headers that are dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Wake, Waker};

use dactor_core::testkit::Journal;
use dactor_core::{
    ActorRef, Context, Directive, Failure, Handler, Header, Headers, Message, Outcome, PendingReply,
    Supervision, Verdict,
};

use crate::fixtures::header::Tag;
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::scripted::{Script, ScriptedActor, async_script, reply_with, script};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "HEAD-03",
        Topic::Headers,
        &[(Topic::Headers, State::Handling)],
        "Headers that the handler, and later `on_complete`, set on the reply reach the asker and `on_reply`, also with a failure and with a deferred reply.",
        "Replies carry headers like messages do.",
        body!(replies),
    ),
    Rule::must(
        "HEAD-04",
        Topic::Headers,
        &[(Topic::Headers, State::Handling)],
        "No message or reply sees the headers of another message: with and without interceptors, after a refusal, a failure, a panic and a restart. Reply headers of a told message are dropped.",
        "Headers may contain secrets.",
        body!(apart),
    ),
    Rule::must(
        "HEAD-07",
        Topic::Headers,
        &[(Topic::Headers, State::Idle)],
        "An idle actor keeps nothing of its last message, however that was sent and ended: neither its headers nor a reply that the asker did not read.",
        "A permit or a secret must not be kept until the next message.",
        body!(let_go),
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark(u32);

impl dactor_core::Header for Mark {
    const NAME: &'static str = "mark";
}

fn both(headers: &Headers) -> (Option<u32>, Option<u32>) {
    (headers.get::<Tag>().map(|tag| tag.0), headers.get::<Mark>().map(|mark| mark.0))
}

async fn replies(rule: RuleContext) {
    let system = rule.system();
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let (record, counted) = (seen.clone(), Journal::new());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    let recorder = RecordingInterceptor::new("a", &counted).on_end(move |completion| {
        record.lock().unwrap().push(both(completion.reply_headers()));
        completion.set_reply_header(Mark(7));
    });
    let marked = script(|_, ctx| {
        ctx.set_reply_header(Tag(1));
        ctx.set_reply_header(Tag(2));
        Ok(5)
    });
    let asked = scripted.outbound(recorder);
    let (reply, headers) = rule.soon("the reply arrives", asked.ask(marked).with_headers()).await.unwrap();
    assert_eq!((reply, both(&headers)), (5, (Some(2), Some(7))), "`on_reply` can add one, too");
    assert_eq!(seen.lock().unwrap().pop(), Some((Some(2), None)));

    let completes = RecordingInterceptor::new("b", &counted).on_end(|completion| {
        let number = completion.reply_headers().get::<Tag>().map_or(0, |tag| tag.0);
        completion.set_reply_header(Tag(number + 10));
    });
    let scripted = system.spawn(ScriptedActor::default()).inbound(completes).await.unwrap();
    let asked = rule.soon("the reply arrives", scripted.ask(reply_with(1)).with_headers()).await.unwrap();
    assert_eq!((asked.0, both(&asked.1)), (1, (Some(10), None)));
    let record = seen.clone();
    let intercepted = scripted.outbound(RecordingInterceptor::new("a", &counted).on_end(move |completion| {
        record.lock().unwrap().push(both(completion.reply_headers()));
    }));
    let fails = script(|_, ctx| {
        ctx.set_reply_header(Tag(3));
        Err(dactor_core::Failure::new("no"))
    });
    rule.soon("the failure arrives", intercepted.ask(fails)).await.unwrap_err();
    assert_eq!(seen.lock().unwrap().pop(), Some((Some(13), None)));
    let later = script(|scripted, ctx| {
        ctx.set_reply_header(Tag(4));
        let (later, promised) = ctx.reply_later::<Script>();
        scripted.deferred.push(later);
        promised
    });
    let recipient = intercepted.recipient();
    let pending = tokio::spawn(async move { recipient.ask(later).with_headers().await });
    rule.soon("the interceptor sees the deferred reply", async {
        while counted.count("b< ok") < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    scripted.tell(script(|scripted, _| Ok(u32::from(scripted.deferred.remove(0).reply(6))))).unwrap();
    let (reply, headers) = rule.soon("the deferred reply arrives", pending).await.unwrap().unwrap();
    assert_eq!((reply, both(&headers)), (6, (Some(14), None)));
    assert_eq!(seen.lock().unwrap().pop(), Some((Some(14), None)));
}

/// A message without headers sees none, and neither does its reply.
async fn assert_bare(rule: &RuleContext, scripted: &ActorRef<ScriptedActor>) {
    let bare = script(|_, ctx| Ok(u32::from(ctx.headers().is_empty())));
    let (reply, headers) = rule.soon("the reply arrives", scripted.ask(bare).with_headers()).await.unwrap();
    assert_eq!((reply, headers.is_empty()), (1, true));
}

async fn apart(rule: RuleContext) {
    let system = rule.system();
    let refuses = RecordingInterceptor::new("a", &Journal::new()).decide(|delivery| {
        match delivery.headers().get::<Tag>() {
            Some(Tag(6)) => Verdict::Drop,
            _ => Verdict::Continue,
        }
    });
    for recorder in [None, Some(refuses)] {
        let spawn = system
            .spawn(ScriptedActor::default)
            .supervision(Supervision::one_for_one().always(Directive::Restart));
        let spawn = match recorder {
            Some(recorder) => spawn.inbound(recorder),
            None => spawn,
        };
        let scripted = spawn.await.unwrap();
        let marked = |number| {
            script(move |_, ctx: &mut Context<ScriptedActor>| {
                ctx.set_reply_header(Tag(number));
                match number {
                    1 => Ok(1),
                    2 => Err(dactor_core::Failure::new("no")),
                    _ => panic!("bang"),
                }
            })
        };
        for number in 1..=3 {
            scripted.header(Tag(number)).tell(marked(number)).unwrap();
            assert_bare(&rule, &scripted).await;
            let asked = rule.soon("the ask returns", scripted.ask(marked(number)).header(Tag(number))).await;
            assert_eq!(asked.is_ok(), number == 1);
            assert_bare(&rule, &scripted).await;
        }
        scripted.header(Tag(6)).tell(reply_with(1)).unwrap();
        assert_bare(&rule, &scripted).await;
    }
}

/// A permit that a message holds.
#[derive(Clone)]
struct Permit(#[expect(dead_code, reason = "it is held, not read")] Arc<()>);

impl Header for Permit {
    const NAME: &'static str = "permit";
}

/// Replies with the permit.
struct Claim(Arc<()>);

impl Message for Claim {
    type Reply = Arc<()>;
    type Access = dactor_core::Exclusive;
}

impl Handler<Claim> for ScriptedActor {
    async fn handle(&mut self, Claim(permit): Claim, _: &mut Context<Self>) -> Outcome<Arc<()>> {
        Ok(permit)
    }
}

async fn let_go(rule: RuleContext) {
    let (system, permit) = (rule.system(), Arc::new(()));
    let returned = || async {
        while Arc::strong_count(&permit) > 1 {
            tokio::task::yield_now().await;
        }
    };
    let ways: [fn() -> Script; 4] = [
        || reply_with(1),
        || script(|_, _| Err(Failure::new("no"))),
        || script(|_, _| panic!("no")),
        || {
            async_script(|_, _| {
                Box::pin(async {
                    tokio::task::yield_now().await;
                    Ok(1)
                })
            })
        },
    ];
    for intercepted in [false, true] {
        let resume = Supervision::one_for_one().always(Directive::Resume);
        let mut spawn = system.spawn(ScriptedActor::default()).supervision(resume);
        if intercepted {
            spawn = spawn.inbound(RecordingInterceptor::new("a", &Journal::new()).scoped());
        }
        let scripted = spawn.await.unwrap();
        for way in ways {
            scripted.header(Permit(permit.clone())).tell(way()).unwrap();
            rule.soon("the told message is dropped", returned()).await;
            let _ = rule.soon("the ask ends", scripted.ask(way()).header(Permit(permit.clone()))).await;
            rule.soon("the asked message is dropped", returned()).await;
        }
        // The reply has arrived and is not read; the actor is idle.
        let mut asked = scripted.ask(Claim(permit.clone())).enqueue().unwrap();
        rule.soon("the ask is answered", until_woken(&mut asked)).await;
        drop(asked);
        rule.soon("the unread reply is dropped", returned()).await;
    }
}

/// Waits until the reply has arrived, without reading it.
async fn until_woken(asked: &mut PendingReply<Claim>) {
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(flag.clone());
    if Pin::new(asked).poll(&mut TaskContext::from_waker(&waker)).is_ready() {
        return;
    }
    while !flag.0.load(Ordering::Acquire) {
        tokio::task::yield_now().await;
    }
}
