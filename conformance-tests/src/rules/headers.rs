//! What travels beside messages and replies.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Wake, Waker};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    ActorRef, Context, Directive, Failure, Handler, Header, Headers, Message, Outcome, Overflow,
    PendingReply, Sender, Supervision, Verdict,
};

use super::body;
use super::fixture::{Desk, Do, Spy, Tag, give, job, pass, quick};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "HEAD-01",
        Topic::Headers,
        &[(Topic::Headers, State::Idle)],
        "What the caller sets beside a message is what the interceptors and the handler see, for every way of sending, one header of each type, the last one set.",
        "Context travels with the message, not around it.",
        body!(arrive),
    ),
    Rule::must(
        "HEAD-02",
        Topic::Headers,
        &[(Topic::Headers, State::Idle)],
        "What an interceptor sets, replaces or removes, outbound or inbound, is what all that come after it see, up to the handler, and `on_complete` and `on_reply`.",
        "An interceptor can carry something to the other side without the message's help.",
        body!(changed),
    ),
    Rule::must(
        "HEAD-03",
        Topic::Headers,
        &[(Topic::Headers, State::Handling)],
        "What the handler sets beside its reply, and `on_complete` after it, reaches the asker and `on_reply`, also beside a failure and beside a reply that comes later.",
        "The way back is as good as the way there.",
        body!(replies),
    ),
    Rule::must(
        "HEAD-04",
        Topic::Headers,
        &[(Topic::Headers, State::Handling)],
        "No message sees the headers of another one, and no reply: with interceptors or without, after a refusal, a failure, a panic and a restart; beside the reply of a told message nothing is kept.",
        "What is beside a message may be secret.",
        body!(apart),
    ),
    Rule::must(
        "HEAD-05",
        Topic::Headers,
        &[
            (Topic::Headers, State::Drained),
            (Topic::Headers, State::Handling),
            (Topic::Bound, State::Handling),
        ],
        "A message keeps its headers while it waits: in the queue of an actor that drains, and in line for room.",
        "How long a message waits is nobody's business.",
        body!(waiting),
    ),
    Rule::must(
        "HEAD-06",
        Topic::Headers,
        &[(Topic::Headers, State::Starting), (Topic::Headers, State::Stopping)],
        "What an actor sends from `on_start` and `on_stop` has the headers it sets, and its sender; what it is sent while it starts keeps its own.",
        "A hook is a sender like any other.",
        body!(hooks),
    ),
    Rule::must(
        "HEAD-07",
        Topic::Headers,
        &[(Topic::Headers, State::Idle)],
        "An idle actor keeps nothing of its last message, however that was sent and ended: neither its headers nor a reply that its asker did not fetch.",
        "A permit or a secret must not live until the next message comes.",
        body!(let_go),
    ),
];

fn tag<A: dactor_core::Actor>(ctx: &Context<A>) -> u32 {
    ctx.headers().get::<Tag>().map_or(0, |Tag(number)| *number)
}

/// Notes the tag, which is the reply.
fn note(journal: &Journal) -> Do {
    let journal = journal.clone();
    quick(move |_, ctx| {
        journal.note(tag(ctx));
        Ok(tag(ctx))
    })
}

async fn arrive(lab: Lab) {
    let (journal, seen, system) = (Journal::new(), Journal::new(), lab.system());
    let look = seen.clone();
    let spy = Spy::new("a", &Journal::new()).judge(move |delivery| {
        look.note(delivery.headers().get::<Tag>().map_or(0, |Tag(number)| *number));
        Verdict::Continue
    });
    for desk in [
        system.spawn(Desk::default()).await.unwrap(),
        system.spawn(Desk::default()).inbound(spy.clone()).await.unwrap(),
        system.spawn(Desk::default()).await.unwrap().outbound(spy),
    ] {
        let start = journal.len();
        let message = || note(&journal);
        let recipient = desk.recipient::<Do>();
        desk.header(Tag(1)).tell(message()).unwrap();
        desk.header(Tag(9)).header(Tag(2)).try_tell(message()).unwrap();
        lab.soon("a send is over", desk.header(Tag(3)).send(message())).await.unwrap();
        recipient.header(Tag(4)).tell(message()).unwrap();
        recipient.header(Tag(5)).try_tell(message()).unwrap();
        lab.soon("a send is over", recipient.header(Tag(6)).send(message())).await.unwrap();
        let seventh = desk.ask(message()).header(Tag(9)).header(Tag(7)).enqueue().unwrap();
        let eighth = recipient.header(Tag(9)).ask(message()).header(Tag(8)).enqueue().unwrap();
        assert_eq!(lab.soon("the ask is answered", seventh).await.unwrap(), 7);
        assert_eq!(lab.soon("the ask is answered", eighth).await.unwrap(), 8);
        assert_eq!(lab.soon("the ask is answered", desk.ask(message()).header(Tag(9))).await.unwrap(), 9);
        assert_eq!(lab.soon("the ask is answered", desk.header(Tag(10)).ask(message())).await.unwrap(), 10);
        assert_eq!(lab.soon("the ask is answered", recipient.ask(message())).await.unwrap(), 0);
        let expected = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "0"];
        assert_eq!(journal.entries()[start..], expected);
        assert!(seen.is_empty() || seen.entries()[seen.len() - 11..] == expected, "{seen:?}");
    }
    assert_eq!(seen.len(), 22);
}

async fn changed(lab: Lab) {
    let journal = Journal::new();
    // Adds its digit at the end.
    let add = |digit: u32| {
        let (before, after) = (journal.clone(), journal.clone());
        Spy::new("x", &Journal::new())
            .judge(move |delivery| {
                let number = delivery.headers().get::<Tag>().map_or(0, |Tag(number)| *number);
                before.note(format!("{digit}: {number}"));
                delivery.headers_mut().insert(Tag(10 * number + digit));
                Verdict::Continue
            })
            .witness(move |completion| {
                after.note(format!(
                    "{digit}; {}",
                    completion.headers().get::<Tag>().map_or(0, |Tag(number)| *number)
                ));
            })
    };
    let system = lab.builder().outbound(add(1)).inbound(add(3)).build().unwrap();
    let desk = system.spawn(Desk::default()).inbound(add(4)).await.unwrap();
    let sender = desk.outbound(add(2));
    assert_eq!(lab.soon("the ask is answered", sender.ask(note(&journal))).await.unwrap(), 1234);
    let there = ["1: 0", "2: 1", "3: 12", "4: 123", "1234"];
    let back = ["3; 1234", "4; 1234", "1; 12", "2; 12"];
    assert_eq!(journal.entries(), [&there[..], &back].concat());
    let journal = Journal::new();
    desk.header(Tag(5)).tell(note(&journal)).unwrap();
    lab.soon("it is handled", journal.wait_for("5134")).await;

    let removes = Spy::new("x", &Journal::new()).judge(|delivery| {
        assert_eq!(delivery.headers_mut().remove::<Tag>(), Some(Tag(5134)));
        Verdict::Continue
    });
    let desk = system.spawn(Desk::default()).inbound(add(4)).inbound(removes).await.unwrap();
    let asked = desk.header(Tag(5)).ask(note(&journal));
    assert_eq!(lab.soon("the ask is answered", asked).await.unwrap(), 0);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark(u32);

impl dactor_core::Header for Mark {
    const NAME: &'static str = "mark";
}

fn both(headers: &Headers) -> (Option<u32>, Option<u32>) {
    (headers.get::<Tag>().map(|tag| tag.0), headers.get::<Mark>().map(|mark| mark.0))
}

async fn replies(lab: Lab) {
    let system = lab.system();
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let (record, counted) = (seen.clone(), Journal::new());
    let desk = system.spawn(Desk::default()).await.unwrap();
    let spy = Spy::new("a", &counted).witness(move |completion| {
        record.lock().unwrap().push(both(completion.reply_headers()));
        completion.set_reply_header(Mark(7));
    });
    let marked = quick(|_, ctx| {
        ctx.set_reply_header(Tag(1));
        ctx.set_reply_header(Tag(2));
        Ok(5)
    });
    let asked = desk.outbound(spy);
    let (reply, headers) = lab.soon("the reply comes", asked.ask(marked).with_headers()).await.unwrap();
    assert_eq!((reply, both(&headers)), (5, (Some(2), Some(7))), "`on_reply` can add one, too");
    assert_eq!(seen.lock().unwrap().pop(), Some((Some(2), None)));

    let completes = Spy::new("b", &counted).witness(|completion| {
        let number = completion.reply_headers().get::<Tag>().map_or(0, |tag| tag.0);
        completion.set_reply_header(Tag(number + 10));
    });
    let desk = system.spawn(Desk::default()).inbound(completes).await.unwrap();
    let asked = lab.soon("the reply comes", desk.ask(give(1)).with_headers()).await.unwrap();
    assert_eq!((asked.0, both(&asked.1)), (1, (Some(10), None)));
    let record = seen.clone();
    let spied = desk.outbound(Spy::new("a", &counted).witness(move |completion| {
        record.lock().unwrap().push(both(completion.reply_headers()));
    }));
    let fails = quick(|_, ctx| {
        ctx.set_reply_header(Tag(3));
        Err(dactor_core::Failure::new("no"))
    });
    lab.soon("the failure comes", spied.ask(fails)).await.unwrap_err();
    assert_eq!(seen.lock().unwrap().pop(), Some((Some(13), None)));
    let later = quick(|desk, ctx| {
        ctx.set_reply_header(Tag(4));
        let (later, promised) = ctx.reply_later::<Do>();
        desk.laters.push(later);
        promised
    });
    let recipient = spied.recipient();
    let pending = tokio::spawn(async move { recipient.ask(later).with_headers().await });
    lab.soon("the promise is seen", async {
        while counted.count("b< ok") < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    desk.tell(quick(|desk, _| Ok(u32::from(desk.laters.remove(0).reply(6))))).unwrap();
    let (reply, headers) = lab.soon("the reply comes later", pending).await.unwrap().unwrap();
    assert_eq!((reply, both(&headers)), (6, (Some(14), None)));
    assert_eq!(seen.lock().unwrap().pop(), Some((Some(14), None)));
}

/// Has no headers, and gets none beside its reply.
async fn assert_bare(lab: &Lab, desk: &ActorRef<Desk>) {
    let bare = quick(|_, ctx| Ok(u32::from(ctx.headers().is_empty())));
    let (reply, headers) = lab.soon("the reply comes", desk.ask(bare).with_headers()).await.unwrap();
    assert_eq!((reply, headers.is_empty()), (1, true));
}

async fn apart(lab: Lab) {
    let system = lab.system();
    let refuses = Spy::new("a", &Journal::new()).judge(|delivery| match delivery.headers().get::<Tag>() {
        Some(Tag(6)) => Verdict::Drop,
        _ => Verdict::Continue,
    });
    for spy in [None, Some(refuses)] {
        let spawn =
            system.spawn(Desk::default).supervision(Supervision::one_for_one().always(Directive::Restart));
        let spawn = match spy {
            Some(spy) => spawn.inbound(spy),
            None => spawn,
        };
        let desk = spawn.await.unwrap();
        let marked = |number| {
            quick(move |_, ctx: &mut Context<Desk>| {
                ctx.set_reply_header(Tag(number));
                match number {
                    1 => Ok(1),
                    2 => Err(dactor_core::Failure::new("no")),
                    _ => panic!("bang"),
                }
            })
        };
        for number in 1..=3 {
            desk.header(Tag(number)).tell(marked(number)).unwrap();
            assert_bare(&lab, &desk).await;
            let asked = lab.soon("the ask is over", desk.ask(marked(number)).header(Tag(number))).await;
            assert_eq!(asked.is_ok(), number == 1);
            assert_bare(&lab, &desk).await;
        }
        desk.header(Tag(6)).tell(give(1)).unwrap();
        assert_bare(&lab, &desk).await;
    }
}

async fn waiting(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).bounded(2, Overflow::Block).await.unwrap();
    desk.tell(pass(&gate)).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    desk.header(Tag(1)).tell(note(&journal)).unwrap();
    desk.header(Tag(2)).tell(note(&journal)).unwrap();
    let asked = desk.header(Tag(3)).ask(note(&journal)).enqueue().unwrap();
    let (sender, inner) = (desk.clone(), journal.clone());
    let sent = tokio::spawn(async move { sender.header(Tag(4)).send(note(&inner)).await });
    lab.rest().await;
    gate.open();
    lab.soon("the send is over", sent).await.unwrap().unwrap();
    assert_eq!(lab.soon("the ask is answered", asked).await.unwrap(), 3);
    desk.drain();
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["1", "2", "3", "4"]);

    let (journal, gate) = (Journal::new(), Gate::new());
    let desk = system.spawn(Desk::default()).await.unwrap();
    desk.tell(pass(&gate)).unwrap();
    desk.header(Tag(1)).tell(note(&journal)).unwrap();
    desk.header(Tag(2)).tell(note(&journal)).unwrap();
    desk.drain();
    gate.open();
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["1", "2"]);
}

async fn hooks(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let seen = journal.clone();
    let spy = Spy::new("a", &Journal::new()).judge(move |delivery| {
        let sender = delivery.headers().get::<Sender>().map(|Sender(pid)| *pid);
        assert_eq!(sender, delivery.sender());
        seen.note(sender.is_some());
        Verdict::Continue
    });
    let other = system.spawn(Desk::default()).inbound(spy).await.unwrap();
    let sends = |number, gate: Gate| {
        let (to, journal) = (other.clone(), journal.clone());
        job(move |_, _| {
            Box::pin(async move {
                to.header(Tag(number)).tell(note(&journal))?;
                gate.pass().await;
                Ok(to.header(Tag(number + 1)).ask(note(&journal)).await?)
            })
        })
    };
    let open = Gate::new();
    open.open();
    let desk = Desk::default().on_start(sends(1, gate.clone())).on_stop(sends(3, open));
    let spawned = tokio::spawn(system.spawn(desk).name("d").into_future());
    lab.soon("the actor is in `on_start`", gate.reached()).await;
    let desk = system.get::<Desk>("d").unwrap();
    let early = desk.header(Tag(9)).ask(note(&Journal::new())).enqueue().unwrap();
    gate.open();
    lab.soon("the actor starts", spawned).await.unwrap().unwrap();
    assert_eq!(lab.soon("the early ask is answered", early).await.unwrap(), 9);
    desk.stop();
    lab.soon("the actor ends", desk.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["true", "1", "true", "2", "true", "3", "true", "4"]);
}

/// Held by a message in flight.
#[derive(Clone)]
struct Permit(#[expect(dead_code, reason = "it is held, not read")] Arc<()>);

impl Header for Permit {
    const NAME: &'static str = "permit";
}

/// Is answered with a permit.
struct Claim(Arc<()>);

impl Message for Claim {
    type Reply = Arc<()>;
}

impl Handler<Claim> for Desk {
    async fn handle(&mut self, Claim(permit): Claim, _: &mut Context<Self>) -> Outcome<Arc<()>> {
        Ok(permit)
    }
}

async fn let_go(lab: Lab) {
    let (system, permit) = (lab.system(), Arc::new(()));
    let returned = || async {
        while Arc::strong_count(&permit) > 1 {
            tokio::task::yield_now().await;
        }
    };
    let ways: [fn() -> Do; 4] = [
        || give(1),
        || quick(|_, _| Err(Failure::new("no"))),
        || quick(|_, _| panic!("no")),
        || {
            job(|_, _| {
                Box::pin(async {
                    tokio::task::yield_now().await;
                    Ok(1)
                })
            })
        },
    ];
    for intercepted in [false, true] {
        let resume = Supervision::one_for_one().always(Directive::Resume);
        let mut spawn = system.spawn(Desk::default()).supervision(resume);
        if intercepted {
            spawn = spawn.inbound(Spy::new("a", &Journal::new()).scoped());
        }
        let desk = spawn.await.unwrap();
        for way in ways {
            desk.header(Permit(permit.clone())).tell(way()).unwrap();
            lab.soon("a told one lets go", returned()).await;
            let _ = lab.soon("it is asked", desk.ask(way()).header(Permit(permit.clone()))).await;
            lab.soon("an asked one lets go", returned()).await;
        }
        // Answered, and read by nobody; the actor is idle.
        let mut asked = desk.ask(Claim(permit.clone())).enqueue().unwrap();
        lab.soon("it is answered", until_woken(&mut asked)).await;
        drop(asked);
        lab.soon("an unread reply is let go", returned()).await;
    }
}

/// Waits until the reply is there, without fetching it.
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
