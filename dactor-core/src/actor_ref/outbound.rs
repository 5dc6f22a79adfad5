//! Outbound interceptors: of a ref, or of the system.

use std::any::Any;
use std::borrow::BorrowMut;
use std::sync::Arc;

use crate::actor_ref::ask::Target;
use crate::base::current;
use crate::base::label::Labelled;
use crate::interceptor::api::{About, Completion, Delivery, Outbound};
use crate::interceptor::chain;
use crate::interceptor::chain::Pause;
use crate::interceptor::items::ItemHooks;
use crate::kernel::actor_core::Delivered;
use crate::message::mode::Mode;
use crate::{Direction, Error, ErrorKind, Headers, Message, Pid, Result, Sender};

/// Runs `on_send`, and returns the delay that the interceptors ask for. Interceptors that saw the message are
/// also told that it was not sent, or how the ask ended.
pub(crate) fn run_on_send<M: Message>(
    target: &dyn Target<M>,
    message: &M,
    mode: Mode,
    headers: &mut Headers,
) -> Result<(Pause, Option<OutboundGuard>)> {
    let Some(chain) = target.outbound() else { return Ok((Pause::NONE, None)) };
    let about = about_outbound(target, mode, headers);
    if chain.is_empty() {
        return Ok((Pause::NONE, None));
    }
    let mut seen = 0;
    let judged = chain::run_on_send(chain, &mut Delivery { about, headers, message }, &mut seen);
    let guard = OutboundGuard {
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
        Ok(pause) => Ok((pause, Some(guard))),
        Err(error) => Err(not_sent(Some(guard), error)),
    }
}

/// Tells the interceptors that saw a message that it was not sent.
pub(crate) fn not_sent(guard: Option<impl BorrowMut<OutboundGuard>>, error: Error) -> Error {
    if let Some(mut guard) = guard {
        let _ = guard.borrow_mut().run(Err(&error), &mut Headers::default());
    }
    error
}

/// Completes the guard of a told message when the mailbox has accepted or refused it.
#[inline]
pub(crate) fn finish_send(
    guard: Option<impl BorrowMut<OutboundGuard>>,
    sent: Result<Delivered>,
) -> Result<()> {
    match sent {
        Ok(Delivered::Queued) => {
            guard.into_iter().for_each(|mut guard| guard.borrow_mut().seen = 0);
            Ok(())
        }
        Ok(Delivered::Dropped(error)) => {
            not_sent(guard, error);
            Ok(())
        }
        Err(error) => Err(not_sent(guard, error)),
    }
}

/// The error for a delay where the sender cannot wait.
pub(crate) fn delay_unsupported<M: Message>(target: &dyn Target<M>, pause: Pause) -> Error {
    let Pause { delay, wanted_by } = pause;
    Error::new(ErrorKind::Unsupported)
        .about(target)
        .with("message", M::type_name())
        .with(
            "because",
            format!("an interceptor wants a delay of {delay:?}, and only `send` and `ask` can wait"),
        )
        .with("interceptor", wanted_by)
}

/// Describes an outgoing message, and adds its sender to the headers.
fn about_outbound<'a, M: Message>(target: &'a dyn Target<M>, mode: Mode, headers: &mut Headers) -> About<'a> {
    let sender = Some(current::actor()).filter(|pid| *pid != Pid::NOBODY);
    if let Some(pid) = sender {
        headers.insert(Sender::here(pid));
    }
    About { target, message: M::type_name(), mode, sender, behind: 0, headers: Headers::NONE }
}

/// Drop guard for the outbound interceptors that saw a message: each sees its end exactly once. Dropped
/// before the reply, the message ends as `Cancelled`.
pub(crate) struct OutboundGuard {
    chain: Arc<[Arc<dyn Outbound>]>,
    seen: usize,
    target: Arc<dyn Labelled>,
    message: &'static str,
    sender: Option<Pid>,
    mode: Mode,
    sent: bool,
    headers: Headers,
}

impl OutboundGuard {
    /// Lets the interceptors see the items of a stream.
    pub(crate) fn item_hooks(&self, direction: Direction) -> ItemHooks<dyn Outbound> {
        let Self { chain, target, message, sender, mode, headers, .. } = self;
        ItemHooks {
            chain: chain.clone(),
            target: target.clone(),
            message,
            mode: *mode,
            sender: *sender,
            headers: headers.clone(),
            direction,
            items: 0,
            open: true,
        }
    }

    /// The mailbox has accepted the message.
    pub(crate) fn is_sent(&mut self) {
        self.sent = true;
    }

    /// Runs `on_reply`. A panic there is an error of the message.
    pub(crate) fn run_on_reply<R: Send + 'static>(
        mut self,
        reply: Result<R>,
        headers: &mut Headers,
    ) -> Result<R> {
        let outcome = reply.as_ref().map(|reply| Some(reply as &(dyn Any + Send)));
        let completed = self.run(outcome, headers);
        reply.and_then(|reply| completed.map(|()| reply))
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
        chain::run_on_reply(&chain[..seen], &mut completion)
    }
}

impl Drop for OutboundGuard {
    fn drop(&mut self) {
        if self.seen > 0 {
            let cancelled =
                Error::new(ErrorKind::Cancelled).about(&*self.target).with("message", self.message);
            let _ = self.run(Err(&cancelled), &mut Headers::default());
        }
    }
}
