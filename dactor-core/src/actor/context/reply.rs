use std::sync::Arc;

use crate::actor::deferred::Later;
use crate::actor_ref::ask::Target;
use crate::actor_ref::outbound::finish_send;
use crate::base::label::Labelled;
use crate::delivery::ask_state::{Asker, Sink};
use crate::delivery::gate::SharedGate;
use crate::message::options::SendOptions;
use crate::{Actor, ActorRef, Context, Error, ErrorKind, Failure, Headers, Message, Outcome, Result, SentTo};

/// The reply to the current message.
impl<A: Actor> Context<A> {
    /// Defers the reply: the handler returns the second value, and the holder of the [`Later`] replies.
    ///
    /// `M` is the type of the current message. There is one reply: a second `Later` answers no asker. A
    /// [`Later`] that is dropped unanswered fails the ask immediately with [`NoReply`](ErrorKind::NoReply).
    ///
    /// Once deferred, only the `Later` can answer the asker. If the handler returns `Ok`, that value is
    /// dropped with a warning in the log. If it returns an `Err` other than the second value, it is a failure
    /// of the handler as usual ([`Event::Failed`](crate::Event::Failed), [`on_error`](Actor::on_error)) that
    /// the asker does not see. So errors may be logged and mapped. The same holds after
    /// [`forward`](Self::forward) and [`stash`](Self::stash).
    ///
    /// ```
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// # struct Oracle;
    /// # impl Actor for Oracle {}
    /// # struct Question;
    /// # impl Message for Question { type Reply = u64; type Access = dactor_core::Exclusive; }
    /// impl Handler<Question> for Oracle {
    ///     async fn handle(&mut self, question: Question, ctx: &mut Context<Self>) -> Outcome<u64> {
    ///         let (later, promised) = ctx.reply_later::<Question>();
    ///         tokio::spawn(async move { later.reply(42) });
    ///         promised
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// When the current message is an ask with another reply type than `M`'s.
    pub fn reply_later<M: Message>(&mut self) -> (Later<M::Reply>, Outcome<M::Reply>) {
        let asker = self.current.asker.clone().filter(|_| !self.promised);
        let later = defer::<M>(asker, self.myself.core.clone(), self.gate());
        self.promised = true;
        (later, Err(Failure::promise()))
    }

    /// Forwards a message to another actor, which replies to the asker of the current one. The handler
    /// returns the value. The headers, the deadline and the cancellation of the ask go along. The ref's
    /// interceptors see the message as a tell, because the asker gets its result. If the other mailbox is
    /// full and has [`Overflow::Block`](crate::Overflow::Block), the message waits in line, whether told or
    /// asked.
    ///
    /// A refused message is not a failure of this actor. If the other actor has ended, refuses the message or
    /// has no room, or an interceptor of the ref refuses it, the message is one dead letter, the asker gets
    /// that error, which names the other actor, and this actor continues: its `on_error` does not run.
    ///
    /// # Errors
    ///
    /// Always: the value marks the reply as handed over, and the handler returns it. It is a failure only if
    /// the reply types differ ([`Unsupported`](ErrorKind::Unsupported)).
    pub fn forward<B: Actor, M: SentTo<B>>(&mut self, to: &ActorRef<B>, message: M) -> Outcome<M::Reply> {
        let asker = self.current.asker.clone().filter(|_| !self.promised);
        let refused = self.gate().and_then(|gate| gate.may_reply(self.is_activity()).err());
        let forwarded = forward(asker, self.current.headers.clone(), to, message, refused);
        self.promised |= forwarded.is_ok();
        Err(forwarded.map_or_else(Failure::from, |()| Failure::promise()))
    }
}

/// The reply to the asker, for another holder to give.
pub(super) fn defer<M: Message>(
    asker: Option<Arc<dyn Asker>>,
    actor: Arc<dyn Labelled>,
    gate: Option<SharedGate>,
) -> Later<M::Reply> {
    let sink = asker.map(|asker| {
        let sink = into_sink::<M::Reply>(asker).unwrap_or_else(|| {
            panic!("the message in hand is not a `{}`", M::type_name());
        });
        sink.pass_on();
        sink
    });
    Later::new(sink, actor, M::type_name(), gate)
}

/// Hands a message over to another actor, unless it is `refused`. The error when the asker wants a reply of another type.
pub(super) fn forward<B: Actor, M: SentTo<B>>(
    asker: Option<Arc<dyn Asker>>,
    headers: Headers,
    to: &ActorRef<B>,
    message: M,
    refused: Option<Error>,
) -> Result<()> {
    let mut options = SendOptions { priority: M::PRIORITY, headers };
    let sink = match asker.map(into_sink::<M::Reply>) {
        None => None,
        Some(Some(sink)) => Some(sink),
        Some(None) => {
            let error = to.core.error(ErrorKind::Unsupported, M::type_name());
            let because = "its reply is of another type than the one asked for";
            return Err(error.with("because", because));
        }
    };
    sink.iter().for_each(|sink| sink.pass_on());
    let admitted = match refused {
        Some(error) => Err(error.perhaps_handled()),
        None => to.run_on_send_now(&message, &mut options),
    };
    let guard = match admitted {
        Ok(guard) => guard,
        Err(error) => {
            to.dead_letter(&message, &error);
            if let Some(sink) = sink {
                sink.answer(Err(error));
            }
            return Ok(());
        }
    };
    // Refused, it is a dead letter by now, and its asker is answered.
    let delivered = match sink {
        Some(sink) => {
            let asker = sink.clone();
            let envelope = message.into_forward(options.headers, sink);
            to.core.deliver_forwarded(envelope, &*asker, options.priority)
        }
        None => to.core.deliver(message.into_tell(options.headers), options.priority),
    };
    let _ = finish_send(guard, delivered);
    to.core.rouse_for::<M>();
    Ok(())
}

pub(crate) fn into_sink<R: 'static>(asker: Arc<dyn Asker>) -> Option<Arc<dyn Sink<R>>> {
    asker.into_sink().downcast::<Arc<dyn Sink<R>>>().ok().map(|sink| *sink)
}
