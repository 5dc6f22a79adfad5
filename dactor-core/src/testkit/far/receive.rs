//! What an end of a link does with a frame that comes.

use std::sync::Arc;

use tokio::time::Instant;

use super::conditions::lock;
use super::control;
use super::side::Side;
use super::streams::WINDOW;
use super::transport::Packet;
use crate::path::{ActorPath, ActorPathParser, ActorUid};
use crate::spi::{ReplyReturn, ReplyTo};
use crate::system::event::DeadLetterTarget;
use crate::wire::scope::enter;
use crate::wire::{
    Arriving, Body, Call, Carrier, EncodedHeaders, Frame, Party, Target, decode_error, encode_error,
};
use crate::{Codec, Error, ErrorKind, Headers, Mode, Result, Sender, StopReason};

/// What dead letters call a message whose type is not known here.
const FROM_ELSEWHERE: &str = "(from another process)";

impl Side {
    pub(super) fn receive(&self, packet: &Packet) {
        if self.is_quarantined() || !lock(&self.state().seen).insert(packet.number) {
            return;
        }
        self.shared.conditions.note_delivered();
        match Frame::decode(&packet.frame) {
            Ok(frame) => self.handle(frame),
            Err(error) => tracing::error!(%error, "a frame of a link cannot be read"),
        }
    }

    fn handle(&self, Frame { correlation, body }: Frame<'_>) {
        let _scope = enter(self.scope());
        match body {
            Body::Request(call) => self.call(correlation, Mode::Ask, &call),
            Body::Open(kind, call) => self.call(correlation, kind.mode(), &call),
            Body::OneWay(call) => match call.name {
                control::END | control::WATCH | control::UNWATCH | control::TERMINATED => {
                    if let Err(error) = self.obey(&call) {
                        tracing::warn!(%error, "a request of a link was not obeyed");
                    }
                }
                _ => self.call(correlation, Mode::Tell, &call),
            },
            Body::Reply { answer, headers } => {
                let pending = lock(&self.state().pending).remove(&correlation);
                let Some(pending) = pending else { return };
                let headers = lock(&self.state().headers).decode(headers).unwrap_or_default();
                match answer {
                    Ok(payload) => pending.ask.answer(payload, Carrier::codec(self), headers),
                    Err(payload) => pending.ask.fail(decode_error(payload).unwrap_or_else(|unread| unread)),
                };
            }
            Body::Item { to, payload } => self.item(to, correlation, payload),
            Body::End { to, error } => {
                let error = error.map(|error| decode_error(error).unwrap_or_else(|unread| unread));
                self.end_stream(to, correlation, error.map_or(Ok(()), Err));
            }
            Body::Credit { to, items } => self.credit(to, correlation, items as usize),
            Body::Cancel { to } => {
                self.cancel_streams(to, correlation);
                if to == Party::Callee {
                    self.cancel_ask(correlation);
                }
            }
        }
    }

    fn cancel_ask(&self, correlation: u64) {
        let known = lock(&self.state().incoming).remove(&correlation);
        match known {
            Some(Some(ask)) => ask.cancel(),
            // It has not come yet, or was answered: correlation ids are not used again.
            _ => {
                lock(&self.state().cancelled).insert(correlation);
            }
        }
    }

    fn call(&self, correlation: u64, mode: Mode, call: &Call<'_>) {
        if mode.has_caller() {
            if lock(&self.state().cancelled).remove(&correlation) {
                return;
            }
            lock(&self.state().incoming).insert(correlation, None);
        }
        let back = || ReplyTo::new(Arc::new(self.clone()) as Arc<dyn ReplyReturn>, correlation);
        let mut reply_to = mode.has_caller().then(back);
        if let Err(error) = self.open(correlation, mode, call, &mut reply_to) {
            match reply_to {
                Some(reply_to) => reply_to.fail(&error),
                None if !mode.has_caller() => self.lost(call, &error),
                // It was answered where the error was made.
                None => {}
            }
        }
    }

    fn open(
        &self,
        correlation: u64,
        mode: Mode,
        call: &Call<'_>,
        reply_to: &mut Option<ReplyTo>,
    ) -> Result<()> {
        let mut headers = lock(&self.state().headers).decode(call.headers)?;
        if let Some(sender) = call.sender.and_then(|sender| ActorPathParser::parse_generated(sender).ok()) {
            headers.insert(Sender::at(sender));
        }
        let actor = self.system().find(&target(call)?)?;
        let served = lock(&self.state().served).clone();
        let arriving = Arriving {
            mode,
            payload: call.payload,
            codec: Carrier::codec(self),
            headers,
            deadline: call.time_left.map(|left| Instant::now() + left),
            reply_to: reply_to.take(),
            window: WINDOW,
        };
        let taken = match served.take(&actor, call.name, arriving, call.priority) {
            Ok(taken) => taken,
            // A message that the mailbox refuses is a dead letter by now.
            Err(error) if !is_unread(error.kind()) => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Some(ask) = taken.ask {
            // Unless it has been answered already.
            if let Some(known) = lock(&self.state().incoming).get_mut(&correlation) {
                *known = Some(ask);
            }
        }
        let coming = self.add_streams(Party::Callee, correlation, taken.streams);
        self.open_streams(Party::Callee, correlation, coming);
        Ok(())
    }

    /// A message that did not reach an actor.
    fn lost(&self, call: &Call<'_>, error: &Error) {
        let Ok(path) = target(call) else { return };
        let to = || DeadLetterTarget::Actor(path.clone());
        let error = error.clone().with("wire name", call.name);
        self.system().events().lost(to, FROM_ELSEWHERE, &error, || None);
    }

    /// Does what the other system asks for beside messages.
    fn obey(&self, call: &Call<'_>) -> Result<()> {
        let path = target(call)?;
        match call.name {
            control::END => {
                let how = control::decode_end(call.payload)?;
                self.system().find(&path)?.end(how)?;
            }
            control::WATCH => self.watch_for_other(path),
            control::UNWATCH => {
                let watch = lock(&self.state().watched).remove(&path.to_serialization_format());
                watch.iter().for_each(|watch| watch.abort());
            }
            _ => self.terminated(&path, &control::decode_reason(call.payload)?),
        }
        Ok(())
    }

    /// Tells the other system when an actor of this one ends: at once if it is not there any more.
    fn watch_for_other(&self, path: ActorPath) {
        let Ok(actor) = self.system().find(&path) else {
            return self.control(&path, control::TERMINATED, &control::encode_reason(&StopReason::Unknown));
        };
        let key = path.to_serialization_format();
        let (shared, at) = (Arc::downgrade(&self.shared), self.at());
        let tell = async move {
            let reason = actor.wait().await.unwrap_or(StopReason::Unknown);
            if let Some(shared) = shared.upgrade() {
                let side = Self::new(shared, at);
                lock(&side.state().watched).remove(&path.to_serialization_format());
                side.control(&path, control::TERMINATED, &control::encode_reason(&reason));
            }
        };
        // Under the lock: it is in the table before it takes itself out.
        let mut watched = lock(&self.state().watched);
        let watch = self.shared.runtime.spawn(tell).abort_handle();
        if let Some(before) = watched.insert(key, watch) {
            before.abort();
        }
    }
}

/// Whether a message with this error never came to a mailbox.
fn is_unread(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnknownMessage | ErrorKind::DecodeFailed | ErrorKind::InvalidFrame)
}

fn target(call: &Call<'_>) -> Result<ActorPath> {
    match call.target {
        Target::Path { path, uid } => {
            let path = ActorPathParser::parse_generated(path)
                .map_err(|error| Error::new(ErrorKind::InvalidPath).because(error))?;
            Ok(uid.map_or(path.clone(), |uid| path.with_uid(ActorUid::new(uid))))
        }
        Target::Id(id) => Err(Error::new(ErrorKind::NoSuchActor).with("actor", id)),
    }
}

/// The answers to asks of the other system.
impl ReplyReturn for Side {
    fn reply(&self, correlation: u64, answer: Result<&[u8], &Error>, headers: &Headers) {
        lock(&self.state().incoming).remove(&correlation);
        let headers = EncodedHeaders::of(headers).unwrap_or_default();
        let mut text = Vec::new();
        let answer = answer.map_err(|error| {
            encode_error(error, &mut text);
            &*text
        });
        self.send_frame(&Frame { correlation, body: Body::Reply { answer, headers: headers.as_raw() } });
    }

    fn codec(&self) -> Codec {
        Carrier::codec(self)
    }

    fn scoped(&self, encode: &mut dyn FnMut()) {
        let _scope = enter(self.scope());
        encode();
    }
}
