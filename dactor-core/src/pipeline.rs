//! How interceptors are run: in order, once, and without harm to the actor.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use crate::interceptor::{About, Completion, Delivery, Inbound, Next, Outbound, Verdict};
use crate::panic::contain;
use crate::{Error, ErrorKind, Headers, Result};

/// More than this is taken for a mistake.
const MAX_DELAY: Duration = Duration::from_secs(60 * 60);

/// A chain of interceptors. Most actors and refs have none.
pub(crate) type Chain<I> = Option<Arc<[Arc<I>]>>;

/// A chain with more interceptors at its end.
pub(crate) fn extend<I: ?Sized>(chain: &Chain<I>, more: Vec<Arc<I>>) -> Chain<I> {
    if more.is_empty() {
        return chain.clone();
    }
    Some(chain.iter().flat_map(|chain| chain.iter().cloned()).chain(more).collect())
}

/// Asks one interceptor after the other, and gives the delay that they want.
fn judge<I: ?Sized>(
    chain: &[Arc<I>],
    delivery: &mut Delivery<'_>,
    mut ask: impl FnMut(&I, &mut Delivery<'_>) -> Verdict,
) -> Result<Duration> {
    let mut delay = Duration::ZERO;
    for interceptor in chain {
        let refused = match contain(|| ask(interceptor, delivery)) {
            Ok(Verdict::Continue) => continue,
            Ok(Verdict::Delay(more)) => match delay.checked_add(more) {
                Some(sum) if sum <= MAX_DELAY => {
                    delay = sum;
                    continue;
                }
                _ => error(&delivery.about, ErrorKind::Rejected)
                    .with("reason", format!("a delay of {more:?} is too long: the limit is {MAX_DELAY:?}")),
            },
            Ok(Verdict::Drop) => error(&delivery.about, ErrorKind::Dropped),
            Ok(Verdict::Reject(reason)) => error(&delivery.about, ErrorKind::Rejected).with("reason", reason),
            Ok(Verdict::Retry(after)) => {
                error(&delivery.about, ErrorKind::RetryLater).with_retry_after(after)
            }
            Err(panic) => error(&delivery.about, ErrorKind::InterceptorPanicked).because(panic),
        };
        return Err(refused);
    }
    Ok(delay)
}

/// Tells every interceptor how it ended; the error when one of them panicked.
fn conclude<I: ?Sized>(
    chain: &[Arc<I>],
    completion: &mut Completion<'_>,
    mut tell: impl FnMut(&I, &mut Completion<'_>),
) -> Result<()> {
    let mut concluded = Ok(());
    for interceptor in chain {
        if let Err(panic) = contain(|| tell(interceptor, completion)) {
            concluded = Err(error(&completion.about, ErrorKind::InterceptorPanicked).because(panic));
        }
    }
    concluded
}

fn error(about: &About<'_>, kind: ErrorKind) -> Error {
    Error::new(kind).about(about.target).with("message", about.message)
}

/// Runs `on_send`, and gives the delay that the interceptors want.
///
/// Counts those who have seen it.
pub(crate) fn depart(
    chain: &[Arc<dyn Outbound>],
    delivery: &mut Delivery<'_>,
    seen: &mut usize,
) -> Result<Duration> {
    judge(chain, delivery, |interceptor, delivery| {
        *seen += 1;
        interceptor.on_send(delivery)
    })
}

/// Runs `on_reply`.
pub(crate) fn arrive(chain: &[Arc<dyn Outbound>], completion: &mut Completion<'_>) -> Result<()> {
    conclude(chain, completion, |interceptor, completion| interceptor.on_reply(completion))
}

/// One message on its way through the inbound interceptors of its actor. Each that saw it sees its end, once:
/// dropped on the way, because the actor was killed, it ends as `Stopped`.
pub(crate) struct Passage<'a> {
    chain: &'a [Arc<dyn Inbound>],
    about: About<'a>,
    headers: Headers,
    seen: usize,
}

impl<'a> Passage<'a> {
    pub(crate) fn new(chain: &'a [Arc<dyn Inbound>], about: About<'a>, headers: Headers) -> Self {
        Self { chain, about, headers, seen: 0 }
    }

    /// Runs `on_receive`, and gives the delay that the interceptors want.
    pub(crate) fn receive(&mut self, message: &(dyn Any + Send)) -> Result<Duration> {
        let Self { chain, about, headers, seen } = self;
        let mut delivery = Delivery { about: *about, headers, message };
        judge(chain, &mut delivery, |interceptor, delivery| {
            *seen += 1;
            interceptor.on_receive(delivery)
        })
    }

    pub(crate) fn message_type(&self) -> &'static str {
        self.about.message
    }

    /// The headers as the interceptors left them.
    pub(crate) fn headers(&self) -> &Headers {
        &self.headers
    }

    /// What the scopes are told: with the headers, as the interceptors left them.
    pub(crate) fn about(&self) -> About<'_> {
        About { headers: &self.headers, ..self.about }
    }

    /// Puts the scopes of all interceptors around the handler, that of the first outermost.
    pub(crate) fn around<'b>(&'b self, about: &'b About<'b>, handler: Next<'b>) -> Result<Next<'b>> {
        let scopes =
            || self.chain.iter().rev().fold(handler, |next, interceptor| interceptor.around(about, next));
        contain(scopes).map_err(|panic| error(about, ErrorKind::InterceptorPanicked).because(panic))
    }

    /// The message did not come out of the scopes: one of them panicked, or dropped it.
    pub(crate) fn cut(&self, panic: Option<crate::panic::Panic>) -> Error {
        match panic {
            Some(panic) => error(&self.about, ErrorKind::InterceptorPanicked).because(panic),
            None => error(&self.about, ErrorKind::Dropped)
                .with("reason", "an interceptor did not await it to its end"),
        }
    }

    /// Runs `on_complete`. The error when one of them panicked.
    pub(crate) fn complete(
        &mut self,
        outcome: Result<Option<&(dyn Any + Send)>, &Error>,
        reply_headers: &mut Headers,
    ) -> Result<()> {
        let seen = std::mem::take(&mut self.seen);
        let about = About { headers: &self.headers, ..self.about };
        let mut completion = Completion { about, headers: &self.headers, outcome, reply_headers };
        conclude(&self.chain[..seen], &mut completion, |interceptor, completion| {
            interceptor.on_complete(completion);
        })
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        if self.seen > 0 {
            let stopped = error(&self.about, ErrorKind::Stopped);
            let _ = self.complete(Err(&stopped), &mut Headers::default());
        }
    }
}
