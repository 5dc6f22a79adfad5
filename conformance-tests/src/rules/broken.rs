//! User code that panics in each place where an actor runs any, and what must follow from it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::thread::panicking;

use dactor_core::{
    About, Actor, ActorRef, Around, Completion, Context, Delivery, Directive, ErrorKind, Failure, Handler,
    Header, Inbound, Message, Next, Outcome, StopReason, Supervision, Verdict,
};

use super::body;
use super::fixture::{Desk, give};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[Rule::must(
    "PANIC-08",
    Topic::Panic,
    &[(Topic::Panic, State::Handling), (Topic::Failure, State::Handling)],
    "Wherever code of the user's panics while a message is handled (the call of the handler, its body, its future's destructor; the destructor of a told reply or of a header; the text or the destructor of an error; `on_error`; an interceptor), the asker is answered exactly once, the panic is an event that the supervision decides on or, of an interceptor, an error of the message, the actor goes on or ends as failed, never as killed, and no other actor is affected.",
    "There is no corner from which a panic may escape.",
    body!(everywhere),
)];

/// Where the user's code panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    Nowhere,
    Call,
    Body,
    FutureDrop,
    ReplyDrop,
    HeaderDrop,
    ErrDisplay,
    ErrDebug,
    ErrDrop,
    OnErrorCall,
    OnErrorBody,
    OnErrorDrop,
    OnReceive,
    Scope,
    AroundCall,
    AroundBody,
    OnComplete,
}

/// What must follow.
struct Expected {
    /// What an asker gets.
    asked: Option<ErrorKind>,
    /// Whether it is met by the supervision: when told, when asked.
    fails: (bool, bool),
    /// How many failures are events: when told, when asked.
    events: (usize, usize),
    /// How many dead letters there are: when told, when asked.
    dead: (u64, u64),
}

impl Spot {
    const ALL: [Self; 17] = [
        Self::Nowhere,
        Self::Call,
        Self::Body,
        Self::FutureDrop,
        Self::ReplyDrop,
        Self::HeaderDrop,
        Self::ErrDisplay,
        Self::ErrDebug,
        Self::ErrDrop,
        Self::OnErrorCall,
        Self::OnErrorBody,
        Self::OnErrorDrop,
        Self::OnReceive,
        Self::Scope,
        Self::AroundCall,
        Self::AroundBody,
        Self::OnComplete,
    ];

    pub(super) fn panics_at(self, spot: Self) {
        if self == spot {
            panic!("at {spot:?}");
        }
    }

    fn expected(self) -> Expected {
        let none = (false, false);
        let (asked, fails, events, dead) = match self {
            Self::Nowhere => (None, none, (0, 0), (0, 0)),
            Self::Call | Self::Body | Self::FutureDrop => {
                (Some(ErrorKind::Panicked), (true, true), (1, 1), (0, 0))
            }
            // The reply has been given by then.
            Self::HeaderDrop => (None, (true, true), (1, 1), (0, 0)),
            // A reply that was asked for is the asker's.
            Self::ReplyDrop => (None, (true, false), (1, 0), (0, 0)),
            // An `Err` is an answer.
            Self::ErrDisplay | Self::ErrDebug | Self::ErrDrop => {
                (Some(ErrorKind::Failed), none, (1, 0), (0, 0))
            }
            Self::OnErrorCall | Self::OnErrorBody | Self::OnErrorDrop => {
                (Some(ErrorKind::Failed), (true, true), (2, 1), (0, 0))
            }
            Self::OnReceive | Self::Scope | Self::AroundCall | Self::AroundBody | Self::OnComplete => {
                (Some(ErrorKind::InterceptorPanicked), none, (0, 0), (1, 0))
            }
        };
        Expected { asked, fails, events, dead }
    }
}

/// Panics when it is dropped, unless it is disarmed.
#[derive(Clone)]
pub(super) struct Bomb(pub(super) bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 && !panicking() {
            panic!("a destructor");
        }
    }
}

impl Header for Bomb {
    const NAME: &'static str = "bomb";
}

/// An error that panics when it is looked at.
struct Nasty(Spot, #[expect(dead_code, reason = "it is dropped")] Bomb);

impl fmt::Display for Nasty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.panics_at(Spot::ErrDisplay);
        f.write_str("nasty")
    }
}

impl fmt::Debug for Nasty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.panics_at(Spot::ErrDebug);
        f.write_str("Nasty")
    }
}

impl std::error::Error for Nasty {}

/// A future that is ready, and may panic when it is dropped.
pub(super) struct Armed<T>(Option<T>, #[expect(dead_code, reason = "it is dropped")] Bomb);

impl<T> Armed<T> {
    pub(super) fn new(output: T, bomb: Bomb) -> Self {
        Self(Some(output), bomb)
    }
}

impl<T: Unpin> Future for Armed<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<T> {
        Poll::Ready(self.0.take().expect("it is polled once"))
    }
}

/// Panics where its messages say.
struct Victim {
    now: Spot,
    handled: u32,
}

impl Actor for Victim {
    fn on_error(&mut self, _: &Failure, _: &mut Context<Self>) -> impl Future<Output = Directive> + Send {
        self.now.panics_at(Spot::OnErrorCall);
        let spot = self.now;
        let code: Pin<Box<dyn Future<Output = Directive> + Send>> = match spot {
            Spot::OnErrorDrop => Box::pin(Armed::new(Directive::Resume, Bomb(true))),
            _ => Box::pin(async move {
                spot.panics_at(Spot::OnErrorBody);
                Directive::Resume
            }),
        };
        code
    }
}

#[derive(Clone, Copy)]
struct Hit(Spot);

impl Message for Hit {
    type Reply = Bomb;
}

impl Handler<Hit> for Victim {
    fn handle(
        &mut self,
        Hit(spot): Hit,
        _: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<Bomb>> + Send {
        self.now = spot;
        self.handled += 1;
        spot.panics_at(Spot::Call);
        let outcome = match spot {
            Spot::ErrDisplay | Spot::ErrDebug | Spot::ErrDrop => {
                Err(Nasty(spot, Bomb(spot == Spot::ErrDrop)).into())
            }
            Spot::OnErrorCall | Spot::OnErrorBody | Spot::OnErrorDrop => Err(Failure::new("no")),
            _ => Ok(Bomb(spot == Spot::ReplyDrop)),
        };
        let code: Pin<Box<dyn Future<Output = Outcome<Bomb>> + Send>> = match spot {
            Spot::FutureDrop => Box::pin(Armed::new(outcome, Bomb(true))),
            _ => Box::pin(async move {
                tokio::task::yield_now().await;
                spot.panics_at(Spot::Body);
                outcome
            }),
        };
        code
    }
}

/// How many messages this instance has handled.
struct Handled;

impl Message for Handled {
    type Reply = u32;
}

impl Handler<Handled> for Victim {
    async fn handle(&mut self, Handled: Handled, _: &mut Context<Self>) -> Outcome<u32> {
        Ok(self.handled)
    }
}

/// Panics over a [`Hit`] that says so.
struct Breaks {
    spot: Spot,
    scoped: bool,
}

impl Inbound for Breaks {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        if delivery.message::<Hit>().is_some() {
            self.spot.panics_at(Spot::OnReceive);
        }
        Verdict::Continue
    }

    fn scope(&self) -> Option<&dyn Around> {
        self.spot.panics_at(Spot::Scope);
        self.scoped.then_some(self as &dyn Around)
    }

    fn on_complete(&self, _: &mut Completion<'_>) {
        self.spot.panics_at(Spot::OnComplete);
    }
}

impl Around for Breaks {
    fn around<'a>(&'a self, _: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        self.spot.panics_at(Spot::AroundCall);
        Box::pin(async move {
            self.spot.panics_at(Spot::AroundBody);
            next.await;
        })
    }
}

/// What an observer would do: it prints all it sees.
fn prints(event: &dactor_core::Event) {
    let _ = format!("{event:?} {event:#?}");
}

async fn everywhere(lab: Lab) {
    for spot in Spot::ALL {
        for directive in [Directive::Resume, Directive::Restart, Directive::Stop] {
            for asked in [false, true] {
                for scoped in [None, Some(false), Some(true)] {
                    one(&lab, spot, directive, asked, scoped).await;
                }
            }
        }
    }
}

/// One spot. `scoped` is none without an interceptor, or says whether that has a scope.
async fn one(lab: &Lab, spot: Spot, directive: Directive, asked: bool, scoped: Option<bool>) {
    let needs_scope = matches!(spot, Spot::AroundCall | Spot::AroundBody);
    let intercepts = needs_scope || matches!(spot, Spot::OnReceive | Spot::Scope | Spot::OnComplete);
    if intercepts && scoped.is_none() || needs_scope && scoped != Some(true) {
        return;
    }
    let case = format!("{spot:?}, {directive:?}, asked: {asked}, scoped: {scoped:?}");
    let events = crate::lab::Events::default();
    let seen = events.clone();
    let system = lab.builder().observe(prints).observe(move |event| seen.note(event)).build().unwrap();
    let neighbour = system.spawn(Desk::default()).await.unwrap();
    let mut spawn = system
        .spawn(|| Victim { now: Spot::Nowhere, handled: 0 })
        .supervision(Supervision::one_for_one().always(directive));
    if let Some(scoped) = scoped {
        spawn = spawn.inbound(Breaks { spot, scoped });
    }
    let victim: ActorRef<Victim> = spawn.await.unwrap();
    let expected = spot.expected();
    if asked {
        let ask = victim.ask(Hit(spot)).header(Bomb(spot == Spot::HeaderDrop));
        let answer = lab.soon(&format!("{case}: the asker is answered"), ask).await;
        let error = match answer {
            Ok(reply) => {
                std::mem::forget(reply);
                None
            }
            Err(error) => {
                let _ = format!("{error} {error:?} {error:#}");
                Some(error.kind())
            }
        };
        assert_eq!(error, expected.asked, "{case}");
    } else {
        victim.header(Bomb(spot == Spot::HeaderDrop)).tell(Hit(spot)).unwrap();
    }
    let pick = |(told, when_asked): (bool, bool)| if asked { when_asked } else { told };
    let fails = pick(expected.fails);
    if fails && directive == Directive::Stop {
        lab.soon(&format!("{case}: the actor ends"), victim.wait()).await.unwrap();
        let reason = victim.stop_reason().unwrap();
        let StopReason::Failed(error) = &reason else { panic!("{case}: {reason}") };
        assert_eq!(error.kind(), ErrorKind::Panicked, "{case}: {reason}");
    } else if !intercepts {
        let handled = lab.soon(&format!("{case}: it goes on"), victim.ask(Handled)).await.unwrap();
        let restarted = fails && directive == Directive::Restart;
        assert_eq!(handled, u32::from(!restarted), "{case}");
        assert_eq!(events.journal().count("restarted"), usize::from(restarted), "{case}");
    } else {
        // Its interceptor breaks this one, too.
        let _ = lab.soon(&format!("{case}: it goes on"), victim.ask(Handled)).await;
        assert!(victim.is_alive(), "{case}");
    }
    let (told, when_asked) = expected.events;
    let failures = events.journal().count("failed Hit");
    assert_eq!(failures, if asked { when_asked } else { told }, "{case}: {:?}", events.journal().entries());
    let (told, when_asked) = expected.dead;
    assert_eq!(events.journal().count("dead Hit") as u64, if asked { when_asked } else { told }, "{case}");
    assert_eq!(lab.soon("the neighbour goes on", neighbour.ask(give(1))).await.unwrap(), 1, "{case}");
}
