//! Messages on their way out of a ref that has interceptors, or to an actor that has some.

use std::any::{Any, type_name};
use std::sync::Arc;
use std::time::Duration;

use crate::ask::Target;
use crate::envelope::Labelled;
use crate::interceptor::{About, Completion, Delivery, Mode, Outbound};
use crate::{Error, ErrorKind, Headers, Message, Pid, Result, Sender, pipeline, turn};

/// Runs `on_send`, and gives the delay that the interceptors want.
pub(crate) fn depart<M: Message>(
    target: &dyn Target<M>,
    message: &M,
    mode: Mode,
    headers: &mut Headers,
) -> Result<Duration> {
    let Some(chain) = target.outbound() else { return Ok(Duration::ZERO) };
    let about = introduce(target, mode, headers);
    if chain.is_empty() {
        return Ok(Duration::ZERO);
    }
    pipeline::depart(chain, &mut Delivery { about, headers, message }, &mut 0)
}

/// The same for an ask: those who saw it leave see how it ends.
pub(crate) fn depart_asking<M: Message>(
    target: &dyn Target<M>,
    message: &M,
    headers: &mut Headers,
) -> Result<(Duration, Option<Box<Trail>>)> {
    let Some(chain) = target.outbound() else { return Ok((Duration::ZERO, None)) };
    let about = introduce(target, Mode::Ask, headers);
    if chain.is_empty() {
        return Ok((Duration::ZERO, None));
    }
    let mut seen = 0;
    let judged = pipeline::depart(chain, &mut Delivery { about, headers, message }, &mut seen);
    let trail = Trail {
        chain: chain.clone(),
        seen,
        target: target.labelled(),
        message: about.message,
        sender: about.sender,
        headers: headers.clone(),
    };
    let trail = Some(Box::new(trail));
    match judged {
        Ok(delay) => Ok((delay, trail)),
        Err(error) => Err(turn_back(trail, error)),
    }
}

/// Lets the interceptors that saw an ask leave see that it was not sent.
pub(crate) fn turn_back(trail: Option<Box<Trail>>, error: Error) -> Error {
    if let Some(mut trail) = trail {
        let _ = trail.run(Err(&error), &mut Headers::default());
    }
    error
}

/// A delay that nobody can wait for.
pub(crate) fn nobody_waits<M: Message>(target: &dyn Target<M>, delay: Duration) -> Error {
    Error::new(ErrorKind::Unsupported).about(target).with("message", type_name::<M>()).with(
        "because",
        format!("an interceptor wants a delay of {delay:?}, and only `send` and `ask` can wait"),
    )
}

/// What a message that leaves is, and its sender beside it.
fn introduce<'a, M: Message>(target: &'a dyn Target<M>, mode: Mode, headers: &mut Headers) -> About<'a> {
    let sender = Some(turn::current()).filter(|pid| *pid != Pid::NOBODY);
    if let Some(pid) = sender {
        headers.insert(Sender(pid));
    }
    About { target, message: type_name::<M>(), mode, sender, behind: 0, headers: Headers::NONE }
}

/// The way back of an ask: the interceptors that saw it leave. Dropped on the way, it ends as `Cancelled`.
pub(crate) struct Trail {
    chain: Arc<[Arc<dyn Outbound>]>,
    seen: usize,
    target: Arc<dyn Labelled>,
    message: &'static str,
    sender: Option<Pid>,
    headers: Headers,
}

impl Trail {
    /// Runs `on_reply`. One that panics there is an error of the message.
    pub(crate) fn arrive<R: Send + 'static>(mut self, reply: Result<R>, headers: &mut Headers) -> Result<R> {
        let outcome = reply.as_ref().map(|reply| Some(reply as &(dyn Any + Send)));
        let arrived = self.run(outcome, headers);
        reply.and_then(|reply| arrived.map(|()| reply))
    }

    fn run(
        &mut self,
        outcome: Result<Option<&(dyn Any + Send)>, &Error>,
        reply_headers: &mut Headers,
    ) -> Result<()> {
        let Self { chain, seen, target, message, sender, headers } = self;
        let about =
            About { target: &**target, message, mode: Mode::Ask, sender: *sender, behind: 0, headers };
        let seen = std::mem::take(seen);
        pipeline::arrive(&chain[..seen], &mut Completion { about, headers, outcome, reply_headers })
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if self.seen > 0 {
            let cancelled =
                Error::new(ErrorKind::Cancelled).about(&*self.target).with("message", self.message);
            let _ = self.run(Err(&cancelled), &mut Headers::default());
        }
    }
}
