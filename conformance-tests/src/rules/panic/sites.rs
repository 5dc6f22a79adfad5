//! Panics in every place where an actor runs user code.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use dactor_core::{
    About, Actor, ActorRef, Around, Completion, Context, Delivery, Directive, ErrorKind, Failure, Handler,
    Inbound, Message, Next, Outcome, StopReason, Supervision, Verdict,
};

use crate::fixtures::panicking::{PanicOnDrop, PanicOnDropFuture, PanicSite};
use crate::fixtures::scripted::{ScriptedActor, reply_with};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[Rule::must(
    "PANIC-08",
    Topic::Panic,
    &[(Topic::Panic, State::Handling), (Topic::Failure, State::Handling)],
    "User code may panic anywhere while a message is handled (the call of the handler, its body, the destructor of its future; the destructor of a told reply or of a header; the text or the destructor of an error; `on_error`; an interceptor). The asker is answered exactly once. The panic is an event that the supervision strategy decides on or, in an interceptor, an error of the message. The actor continues or ends as failed, never as killed, and no other actor is affected.",
    "A panic of user code is contained wherever it happens.",
    body!(everywhere),
)];

/// The expected consequences.
struct Expected {
    /// The error of the asker.
    asked: Option<ErrorKind>,
    /// Whether the supervision strategy decides about it: when told, when asked.
    fails: (bool, bool),
    /// The number of failure events: when told, when asked.
    events: (usize, usize),
    /// The number of dead letters: when told, when asked.
    dead: (u64, u64),
}

impl PanicSite {
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

    fn expected(self) -> Expected {
        let none = (false, false);
        let (asked, fails, events, dead) = match self {
            Self::Nowhere => (None, none, (0, 0), (0, 0)),
            Self::Call | Self::Body | Self::FutureDrop => {
                (Some(ErrorKind::Panicked), (true, true), (1, 1), (0, 0))
            }
            // The reply has been sent by then.
            Self::HeaderDrop => (None, (true, true), (1, 1), (0, 0)),
            // The asker owns the reply of an ask.
            Self::ReplyDrop => (None, (true, false), (1, 0), (0, 0)),
            // An `Err` is a reply.
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

/// An error that panics when it is formatted or dropped.
struct PanickingError(PanicSite, #[expect(dead_code, reason = "it is dropped")] PanicOnDrop);

impl fmt::Display for PanickingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.panics_at(PanicSite::ErrDisplay);
        f.write_str("panicking error")
    }
}

impl fmt::Debug for PanickingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.panics_at(PanicSite::ErrDebug);
        f.write_str("PanickingError")
    }
}

impl std::error::Error for PanickingError {}

/// Panics where its messages say.
struct PanickingActor {
    now: PanicSite,
    handled: u32,
}

impl Actor for PanickingActor {
    fn on_error(&mut self, _: &Failure, _: &mut Context<Self>) -> impl Future<Output = Directive> + Send {
        self.now.panics_at(PanicSite::OnErrorCall);
        let site = self.now;
        let code: Pin<Box<dyn Future<Output = Directive> + Send>> = match site {
            PanicSite::OnErrorDrop => Box::pin(PanicOnDropFuture::new(Directive::Resume, PanicOnDrop(true))),
            _ => Box::pin(async move {
                site.panics_at(PanicSite::OnErrorBody);
                Directive::Resume
            }),
        };
        code
    }
}

#[derive(Clone, Copy)]
struct PanicAt(PanicSite);

impl Message for PanicAt {
    type Reply = PanicOnDrop;
    type Access = dactor_core::Exclusive;
}

impl Handler<PanicAt> for PanickingActor {
    fn handle(
        &mut self,
        PanicAt(site): PanicAt,
        _: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<PanicOnDrop>> + Send {
        self.now = site;
        self.handled += 1;
        site.panics_at(PanicSite::Call);
        let outcome = match site {
            PanicSite::ErrDisplay | PanicSite::ErrDebug | PanicSite::ErrDrop => {
                Err(PanickingError(site, PanicOnDrop(site == PanicSite::ErrDrop)).into())
            }
            PanicSite::OnErrorCall | PanicSite::OnErrorBody | PanicSite::OnErrorDrop => {
                Err(Failure::new("no"))
            }
            _ => Ok(PanicOnDrop(site == PanicSite::ReplyDrop)),
        };
        let code: Pin<Box<dyn Future<Output = Outcome<PanicOnDrop>> + Send>> = match site {
            PanicSite::FutureDrop => Box::pin(PanicOnDropFuture::new(outcome, PanicOnDrop(true))),
            _ => Box::pin(async move {
                tokio::task::yield_now().await;
                site.panics_at(PanicSite::Body);
                outcome
            }),
        };
        code
    }
}

/// The number of messages that this instance has handled.
struct CountHandled;

impl Message for CountHandled {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

impl Handler<CountHandled> for PanickingActor {
    async fn handle(&mut self, CountHandled: CountHandled, _: &mut Context<Self>) -> Outcome<u32> {
        Ok(self.handled)
    }
}

/// Panics for a [`PanicAt`] with its site.
struct PanickingInterceptor {
    site: PanicSite,
    scoped: bool,
}

impl Inbound for PanickingInterceptor {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        if delivery.message::<PanicAt>().is_some() {
            self.site.panics_at(PanicSite::OnReceive);
        }
        Verdict::Continue
    }

    fn scope(&self) -> Option<&dyn Around> {
        self.site.panics_at(PanicSite::Scope);
        self.scoped.then_some(self as &dyn Around)
    }

    fn on_complete(&self, _: &mut Completion<'_>) {
        self.site.panics_at(PanicSite::OnComplete);
    }
}

impl Around for PanickingInterceptor {
    fn around<'a>(&'a self, _: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        self.site.panics_at(PanicSite::AroundCall);
        Box::pin(async move {
            self.site.panics_at(PanicSite::AroundBody);
            next.await;
        })
    }
}

/// Formats events as an observer would.
fn print_event(event: &dactor_core::Event) {
    let _ = format!("{event:?} {event:#?}");
}

async fn everywhere(rule: RuleContext) {
    for site in PanicSite::ALL {
        for directive in [Directive::Resume, Directive::Restart, Directive::Stop] {
            for asked in [false, true] {
                for scoped in [None, Some(false), Some(true)] {
                    one(&rule, site, directive, asked, scoped).await;
                }
            }
        }
    }
}

/// One case. `scoped` is `None` without an interceptor, and otherwise says whether it has a scope.
async fn one(rule: &RuleContext, site: PanicSite, directive: Directive, asked: bool, scoped: Option<bool>) {
    let needs_scope = matches!(site, PanicSite::AroundCall | PanicSite::AroundBody);
    let intercepts =
        needs_scope || matches!(site, PanicSite::OnReceive | PanicSite::Scope | PanicSite::OnComplete);
    if intercepts && scoped.is_none() || needs_scope && scoped != Some(true) {
        return;
    }
    let case = format!("{site:?}, {directive:?}, asked: {asked}, scoped: {scoped:?}");
    let events = crate::events::Events::default();
    let seen = events.clone();
    let system = rule.builder().observe(print_event).observe(move |event| seen.note(event)).build().unwrap();
    let neighbour = system.spawn(ScriptedActor::default()).await.unwrap();
    let mut spawn = system
        .spawn(|| PanickingActor { now: PanicSite::Nowhere, handled: 0 })
        .supervision(Supervision::one_for_one().always(directive));
    if let Some(scoped) = scoped {
        spawn = spawn.inbound(PanickingInterceptor { site, scoped });
    }
    let actor: ActorRef<PanickingActor> = spawn.await.unwrap();
    let expected = site.expected();
    if asked {
        let ask = actor.ask(PanicAt(site)).header(PanicOnDrop(site == PanicSite::HeaderDrop));
        let answer = rule.soon(&format!("{case}: the asker is answered"), ask).await;
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
        actor.header(PanicOnDrop(site == PanicSite::HeaderDrop)).tell(PanicAt(site)).unwrap();
    }
    let pick = |(told, when_asked): (bool, bool)| if asked { when_asked } else { told };
    let fails = pick(expected.fails);
    if fails && directive == Directive::Stop {
        rule.soon(&format!("{case}: the actor ends"), actor.wait()).await.unwrap();
        let reason = actor.stop_reason().unwrap();
        let StopReason::Failed(error) = &reason else { panic!("{case}: {reason}") };
        assert_eq!(error.kind(), ErrorKind::Panicked, "{case}: {reason}");
    } else if !intercepts {
        let handled =
            rule.soon(&format!("{case}: the actor continues"), actor.ask(CountHandled)).await.unwrap();
        let restarted = fails && directive == Directive::Restart;
        assert_eq!(handled, u32::from(!restarted), "{case}");
        assert_eq!(events.journal().count("restarted"), usize::from(restarted), "{case}");
    } else {
        // The interceptor panics for this message, too.
        let _ = rule.soon(&format!("{case}: the actor continues"), actor.ask(CountHandled)).await;
        assert!(actor.is_alive() == Some(true), "{case}");
    }
    let (told, when_asked) = expected.events;
    let failures = events.journal().count("failed PanicAt");
    assert_eq!(failures, if asked { when_asked } else { told }, "{case}: {:?}", events.journal().entries());
    let (told, when_asked) = expected.dead;
    assert_eq!(
        events.journal().count("dead PanicAt") as u64,
        if asked { when_asked } else { told },
        "{case}"
    );
    assert_eq!(
        rule.soon("another actor continues", neighbour.ask(reply_with(1))).await.unwrap(),
        1,
        "{case}"
    );
}
