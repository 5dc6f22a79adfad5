//! Messages on their way out of a ref that has interceptors, or to an actor that has some.

use std::any::{Any, type_name};
use std::borrow::BorrowMut;
use std::sync::Arc;

use crate::ask::Target;
use crate::envelope::Labelled;
use crate::interceptor::{About, Completion, Delivery, Mode, Outbound};
use crate::pipeline::Pause;
use crate::shared::Delivered;
use crate::{Error, ErrorKind, Headers, Message, Pid, Result, Sender, pipeline, turn};

/// Runs `on_send`, and gives the delay that the interceptors want. Those that saw the message see that it is not sent, or
/// how the ask ends.
pub(crate) fn depart<M: Message>(
    target: &dyn Target<M>,
    message: &M,
    mode: Mode,
    headers: &mut Headers,
) -> Result<(Pause, Option<Trail>)> {
    let Some(chain) = target.outbound() else { return Ok((Pause::NONE, None)) };
    let about = introduce(target, mode, headers);
    if chain.is_empty() {
        return Ok((Pause::NONE, None));
    }
    let mut seen = 0;
    let judged = pipeline::depart(chain, &mut Delivery { about, headers, message }, &mut seen);
    let trail = Trail {
        chain: chain.clone(),
        seen,
        target: target.labelled(),
        message: about.message,
        sender: about.sender,
        mode,
        sent: false,
        headers: headers.clone(),
    };
    match judged {
        Ok(pause) => Ok((pause, Some(trail))),
        Err(error) => Err(turn_back(Some(trail), error)),
    }
}

/// Lets the interceptors that saw a message see that it was not sent.
pub(crate) fn turn_back(trail: Option<impl BorrowMut<Trail>>, error: Error) -> Error {
    if let Some(mut trail) = trail {
        let _ = trail.borrow_mut().run(Err(&error), &mut Headers::default());
    }
    error
}

/// Ends the trail of a message that was told, when the mailbox has decided.
pub(crate) fn settle(trail: Option<impl BorrowMut<Trail>>, sent: Result<Delivered>) -> Result<()> {
    match sent {
        Ok(Delivered::Queued) => {
            trail.into_iter().for_each(|mut trail| trail.borrow_mut().seen = 0);
            Ok(())
        }
        Ok(Delivered::Dropped(error)) => {
            turn_back(trail, error);
            Ok(())
        }
        Err(error) => Err(turn_back(trail, error)),
    }
}

/// A delay where the sender cannot wait.
pub(crate) fn nobody_waits<M: Message>(target: &dyn Target<M>, pause: Pause) -> Error {
    let Pause { delay, wanted_by } = pause;
    Error::new(ErrorKind::Unsupported)
        .about(target)
        .with("message", type_name::<M>())
        .with(
            "because",
            format!("an interceptor wants a delay of {delay:?}, and only `send` and `ask` can wait"),
        )
        .with("interceptor", wanted_by)
}

/// What a message that leaves is, and its sender beside it.
fn introduce<'a, M: Message>(target: &'a dyn Target<M>, mode: Mode, headers: &mut Headers) -> About<'a> {
    let sender = Some(turn::current()).filter(|pid| *pid != Pid::NOBODY);
    if let Some(pid) = sender {
        headers.insert(Sender(pid));
    }
    About { target, message: type_name::<M>(), mode, sender, behind: 0, headers: Headers::NONE }
}

/// The way back of a message: the interceptors that saw it leave. Dropped on the way, it ends as `Cancelled`.
pub(crate) struct Trail {
    chain: Arc<[Arc<dyn Outbound>]>,
    seen: usize,
    target: Arc<dyn Labelled>,
    message: &'static str,
    sender: Option<Pid>,
    mode: Mode,
    sent: bool,
    headers: Headers,
}

impl Trail {
    /// The mailbox has the message.
    pub(crate) fn is_sent(&mut self) {
        self.sent = true;
    }

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
        let Self { chain, seen, target, message, sender, mode, sent, headers } = self;
        let about = About { target: &**target, message, mode: *mode, sender: *sender, behind: 0, headers };
        let (seen, got_through) = (std::mem::take(seen), *sent);
        let mut completion = Completion { about, headers, outcome, reply_headers, got_through };
        pipeline::arrive(&chain[..seen], &mut completion)
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
