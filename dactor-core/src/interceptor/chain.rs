//! Runs interceptors in order, once, and without harm to the actor.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use crate::base::panic::{Panic, contain, discard};
use crate::interceptor::api::{About, Completion, Delivery, Inbound, Next, Outbound, Verdict};
use crate::{Error, ErrorKind, Headers, Result};

/// A longer delay is treated as a mistake.
const MAX_DELAY: Duration = Duration::from_secs(60 * 60);

/// A chain of interceptors. Most actors and refs have none.
pub(crate) type Chain<I> = Option<Arc<[Arc<I>]>>;

/// Appends interceptors to a chain.
pub(crate) fn extend<I: ?Sized>(chain: &Chain<I>, more: Vec<Arc<I>>) -> Chain<I> {
    if more.is_empty() {
        return chain.clone();
    }
    Some(chain.iter().flat_map(|chain| chain.iter().cloned()).chain(more).collect())
}

/// The delay before a message, and the last interceptor that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) delay: Duration,
    pub(crate) wanted_by: &'static str,
}

impl Pause {
    pub(crate) const NONE: Self = Self { delay: Duration::ZERO, wanted_by: "" };
}

/// Names an interceptor of either kind.
pub(crate) trait Named {
    fn named(&self) -> &'static str;
}

impl Named for dyn Inbound {
    fn named(&self) -> &'static str {
        self.name()
    }
}

impl Named for dyn Outbound {
    fn named(&self) -> &'static str {
        self.name()
    }
}

/// The name is user code, too.
pub(super) fn name<I: Named + ?Sized>(interceptor: &I) -> &'static str {
    contain(|| interceptor.named()).unwrap_or("an interceptor whose name panics")
}

/// Runs the interceptors in order, and returns their total delay.
fn judge<I: Named + ?Sized>(
    chain: &[Arc<I>],
    delivery: &mut Delivery<'_>,
    mut ask: impl FnMut(&I, &mut Delivery<'_>) -> Verdict,
) -> Result<Pause> {
    let mut pause = Pause::NONE;
    for interceptor in chain {
        let verdict = contain(|| ask(interceptor, delivery));
        let about = &delivery.about;
        let refused = match verdict {
            Ok(Verdict::Continue) => continue,
            Ok(Verdict::Delay(more)) => match longer(about, pause.delay, more) {
                Ok(delay) => {
                    pause = Pause { delay, wanted_by: name(&**interceptor) };
                    continue;
                }
                Err(error) => error,
            },
            Ok(Verdict::Drop) => error(about, ErrorKind::Dropped),
            Ok(Verdict::Reject(reason)) => error(about, ErrorKind::Rejected).with("reason", reason),
            Ok(Verdict::Retry(after)) => error(about, ErrorKind::RetryLater).with_retry_after(after),
            Err(panic) => broken(about, panic).unhandled(),
        };
        return Err(refused.with("interceptor", name(&**interceptor)));
    }
    Ok(pause)
}

/// The sum of two delays.
fn longer(about: &About<'_>, delay: Duration, more: Duration) -> Result<Duration> {
    delay.checked_add(more).filter(|sum| *sum <= MAX_DELAY).ok_or_else(|| {
        let reason = format!("a delay of {more:?} is too long: the limit is {MAX_DELAY:?}");
        error(about, ErrorKind::Rejected).with("reason", reason)
    })
}

/// Tells every interceptor how the message ended; the error when one of them panicked.
fn conclude<I: Named + ?Sized>(
    chain: &[Arc<I>],
    completion: &mut Completion<'_>,
    mut tell: impl FnMut(&I, &mut Completion<'_>),
) -> Result<()> {
    let mut concluded = Ok(());
    // An interceptor that panics does not keep later ones from being called.
    for interceptor in chain {
        if let Err(panic) = contain(|| tell(interceptor, completion)) {
            let error = broken(&completion.about, panic);
            concluded = Err(error.with("interceptor", name(&**interceptor)));
        }
    }
    concluded
}

/// The error for an interceptor that panicked.
pub(super) fn broken(about: &About<'_>, panic: Panic) -> Error {
    error(about, ErrorKind::InterceptorPanicked).because(panic)
}

pub(super) fn error(about: &About<'_>, kind: ErrorKind) -> Error {
    Error::new(kind).about(about.target).with("message", about.message)
}

/// Runs `on_send`, and returns the delay that the interceptors ask for.
///
/// Counts the interceptors that saw the message.
pub(crate) fn run_on_send(
    chain: &[Arc<dyn Outbound>],
    delivery: &mut Delivery<'_>,
    seen: &mut usize,
) -> Result<Pause> {
    judge(chain, delivery, |interceptor, delivery| {
        *seen += 1;
        interceptor.on_send(delivery)
    })
}

/// Runs `on_reply`.
pub(crate) fn run_on_reply(chain: &[Arc<dyn Outbound>], completion: &mut Completion<'_>) -> Result<()> {
    conclude(chain, completion, |interceptor, completion| interceptor.on_reply(completion))
}

/// How the interceptors admit a message to its handler: after a delay, or inside scopes.
pub(crate) struct Admission {
    pub(crate) delay: Duration,
    scoped: bool,
}

impl Admission {
    /// Whether the handler starts without delay and without scopes.
    pub(crate) fn is_immediate(&self) -> bool {
        self.delay.is_zero() && !self.scoped
    }
}

/// Runs `on_receive`, and returns the admission.
///
/// Counts the interceptors that saw the message.
pub(crate) fn receive(
    chain: &[Arc<dyn Inbound>],
    delivery: &mut Delivery<'_>,
    seen: &mut usize,
) -> Result<Admission> {
    let mut scoped = false;
    let pause = judge(chain, delivery, |interceptor, delivery| {
        *seen += 1;
        scoped |= interceptor.scope().is_some();
        interceptor.on_receive(delivery)
    })?;
    Ok(Admission { delay: pause.delay, scoped })
}

/// Drop guard for the inbound interceptors that saw a message: each sees its end exactly once. Dropped
/// because the actor was killed, the message ends as `Interrupted`, or as `Stopped` if the handler had not
/// started.
pub(crate) struct InboundGuard<'a> {
    seen: &'a [Arc<dyn Inbound>],
    about: About<'a>,
    headers: Headers,
    begun: bool,
}

impl<'a> InboundGuard<'a> {
    /// For the interceptors that saw the message.
    pub(crate) fn new(seen: &'a [Arc<dyn Inbound>], about: About<'a>, headers: Headers) -> Self {
        Self { seen, about, headers, begun: false }
    }

    /// The handler has started.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    pub(crate) fn message_type(&self) -> &'static str {
        self.about.message
    }

    /// The headers as the interceptors left them.
    pub(crate) fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Describes the message to the scopes, with the headers as the interceptors left them.
    pub(crate) fn about(&self) -> About<'_> {
        About { headers: &self.headers, ..self.about }
    }

    /// Wraps the handler in the scopes of all interceptors; the first is the outermost.
    pub(crate) fn around<'b>(&'b self, about: &'b About<'b>, handler: Next<'b>) -> Result<Next<'b>> {
        let scopes = || {
            let scopes = self.seen.iter().rev().filter_map(|interceptor| interceptor.scope());
            scopes.fold(handler, |next, scope| scope.around(about, next))
        };
        contain(scopes).map_err(|panic| self.of_scopes(broken(about, panic)))
    }

    /// The error for a message lost in the scopes: one of them panicked, or dropped it. How far the handler
    /// got is unknown.
    pub(crate) fn scope_error(&self, panic: Option<Panic>) -> Error {
        let error = match panic {
            Some(panic) => broken(&self.about, panic),
            None => error(&self.about, ErrorKind::Dropped)
                .with("because", "an interceptor did not await the handler to its end"),
        };
        self.of_scopes(error.perhaps_handled())
    }

    /// Names the interceptors that have a scope: nested scopes are one future, so the culprit is unknown.
    fn of_scopes(&self, error: Error) -> Error {
        let scoped =
            |interceptor: &&Arc<dyn Inbound>| contain(|| interceptor.scope().is_some()).unwrap_or(true);
        let names: Vec<_> = self.seen.iter().filter(scoped).map(|scoped| name(&**scoped)).collect();
        error.with("interceptor", names.join(", "))
    }

    /// Runs `on_complete`. The error when one of them panicked.
    pub(crate) fn complete(
        &mut self,
        outcome: Result<Option<&(dyn Any + Send)>, &Error>,
        reply_headers: &mut Headers,
    ) -> Result<()> {
        let seen = std::mem::take(&mut self.seen);
        let about = About { headers: &self.headers, ..self.about };
        let got_through = self.begun;
        let mut completion =
            Completion { about, headers: &self.headers, outcome, reply_headers, got_through };
        conclude(seen, &mut completion, |interceptor, completion| {
            interceptor.on_complete(completion);
        })
    }
}

impl Drop for InboundGuard<'_> {
    fn drop(&mut self) {
        if !self.seen.is_empty() {
            let kind = if self.begun { ErrorKind::Interrupted } else { ErrorKind::Stopped };
            let ended = error(&self.about, kind);
            let _ = self.complete(Err(&ended), &mut Headers::default());
        }
        // The handler's context shares them and drops them last; those of a refused message are dropped here.
        if !self.headers.is_empty() {
            discard(std::mem::take(&mut self.headers));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::base::label::Labelled;
    use crate::path::{ActorPathParts, ActorUid};
    use crate::{ActorPath, Mode, Pid, Sender};

    struct Somebody;

    impl Labelled for Somebody {
        fn path(&self) -> ActorPath {
            "pekko://lab/user/worker".parse().unwrap()
        }

        fn pid(&self) -> Pid {
            Pid::NOBODY
        }

        fn uid(&self) -> ActorUid {
            unreachable!("the test actor is never compared")
        }

        fn address(&self) -> &ActorPathParts {
            unreachable!("the test actor is never compared")
        }

        fn actor_type(&self) -> &'static str {
            "Worker"
        }

        fn queued(&self) -> usize {
            0
        }
    }

    /// Keeps the headers of a message as seen at its end.
    struct Keeps(Arc<Mutex<Headers>>);

    impl Inbound for Keeps {
        fn on_complete(&self, completion: &mut Completion<'_>) {
            let about: &About<'_> = completion;
            *self.0.lock().unwrap() = about.headers().clone();
        }
    }

    #[test]
    fn at_its_end_a_message_is_seen_with_its_headers() {
        let kept = Arc::new(Mutex::new(Headers::default()));
        let chain: [Arc<dyn Inbound>; 1] = [Arc::new(Keeps(kept.clone()))];
        let mut headers = Headers::default();
        headers.insert(Sender::here(Pid::from_number(7)));
        let about = About {
            target: &Somebody,
            message: "Message",
            mode: Mode::Tell,
            sender: None,
            behind: 0,
            headers: Headers::NONE,
        };
        InboundGuard::new(&chain, about, headers).complete(Ok(None), &mut Headers::default()).unwrap();
        assert_eq!(kept.lock().unwrap().get(), Some(&Sender::here(Pid::from_number(7))));
    }
}
