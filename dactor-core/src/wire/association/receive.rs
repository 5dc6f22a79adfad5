//! What an association does with a frame that comes.

use std::sync::Arc;

use tokio::time::Instant;

use super::asks::Incoming;
use super::link::{Lane, Order, lane_key, order_of};
use super::streams::WINDOW;
use super::{Association, control, lock};
use crate::path::{ActorPath, ActorPathParser, ActorUid};
use crate::spi::{ReplyReturn, ReplyTo, lost};
use crate::wire::scope::enter;
use crate::wire::{
    Arriving, Body, Call, Carrier, EncodedHeaders, Frame, Party, Target, decode_error, encode_error,
};
use crate::{AnyActorRef, Codec, End, Error, ErrorKind, Headers, Mode, Result, Sender};

/// So many actors are kept that were found.
const TARGETS: usize = 1024;

impl Association {
    /// Takes frames that have come, one after the other, until one cannot be read.
    ///
    /// # Errors
    ///
    /// [`InvalidFrame`](ErrorKind::InvalidFrame) of the first frame that cannot be read. The ones behind it are not looked at.
    pub fn receive<'a>(&self, frames: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
        let _scope = enter(self.scope());
        frames.into_iter().try_for_each(|frame| {
            self.handle(Frame::decode(frame)?);
            Ok(())
        })
    }

    /// Which frames that came before must be delivered before this one, for a carrier that delivers some later. `None` when it may
    /// overtake all others.
    pub fn order_of(&self, frame: &[u8]) -> Option<Order> {
        let Ok(Frame { correlation, body }) = Frame::decode(frame) else { return Some(Order::AfterAll) };
        match body {
            Body::Credit { .. } | Body::Cancel { .. } => None,
            Body::Reply { .. } => {
                let lane = lock(&self.pending).get(&correlation).map(|pending| pending.answer);
                Some(Order::Lane(lane.unwrap_or(correlation)))
            }
            Body::Item { to, .. } | Body::End { to, .. } => {
                Some(Order::Lane(self.coming_lane(to, correlation).unwrap_or(correlation)))
            }
            Body::OneWay(Call { name: control::WATCH | control::UNWATCH, .. }) => None,
            Body::OneWay(Call { name: control::END, payload, .. })
                if *payload != *End::Drain.as_str().as_bytes() =>
            {
                None
            }
            Body::Request(_) | Body::OneWay(_) | Body::Open(..) => Some(order_of(frame, Lane::Normal)),
        }
    }

    fn handle(&self, Frame { correlation, body }: Frame<'_>) {
        match body {
            Body::Request(call) if call.name == control::IDENTIFY => self.identified(correlation, &call),
            Body::Request(call) if call.name == control::SELECT => self.selected(correlation, &call),
            Body::Request(call) => self.call(correlation, Mode::Ask, &call),
            Body::Open(kind, call) => self.call(correlation, kind.mode(), &call),
            Body::OneWay(call) => match call.name {
                control::END | control::WATCH | control::UNWATCH | control::TERMINATED => {
                    if let Err(error) = self.obey(&call) {
                        tracing::warn!(%error, "a request of another system was not obeyed");
                    }
                }
                _ => self.call(correlation, Mode::Tell, &call),
            },
            Body::Reply { answer, headers } => {
                let pending = lock(&self.pending).remove(&correlation);
                let Some(pending) = pending else { return };
                let headers = match headers.is_empty() {
                    true => Headers::default(),
                    false => self.tables().headers.decode(headers).unwrap_or_default(),
                };
                match answer {
                    Ok(payload) => pending.ask.answer(payload, self.link.codec(), headers),
                    Err(payload) => {
                        let error = decode_error(payload).unwrap_or_else(|unread| unread);
                        pending.ask.fail_with(error, headers)
                    }
                };
            }
            Body::Item { to, payload } => self.item(to, correlation, payload),
            Body::End { to, error } => {
                let error = error.map(|error| decode_error(error).unwrap_or_else(|unread| unread));
                self.sender_ended(to, correlation, error.map_or(Ok(()), Err));
            }
            Body::Credit { to, items } => self.credit(to, correlation, items as usize),
            Body::Cancel { to } => {
                self.streams_cancelled(to, correlation);
                if to == Party::Callee {
                    self.cancel_ask(correlation);
                }
            }
        }
    }

    fn cancel_ask(&self, correlation: u64) {
        let known = lock(&self.incoming).remove(&correlation);
        match known {
            Some(Incoming { ask: Some(ask), .. }) => ask.cancel(),
            // It has not come yet, or was answered: correlation ids are not used again.
            _ => lock(&self.cancelled).insert(correlation),
        }
    }

    fn call(&self, correlation: u64, mode: Mode, call: &Call<'_>) {
        if mode.has_caller() {
            if lock(&self.cancelled).remove(correlation) {
                return;
            }
            let answer = call.sender.map_or(correlation, lane_key);
            lock(&self.incoming).insert(correlation, Incoming { ask: None, answer });
        }
        let mut reply_to = mode.has_caller().then(|| self.reply_to(correlation));
        if let Err(error) = self.open(correlation, mode, call, &mut reply_to) {
            match reply_to {
                Some(reply_to) => reply_to.fail(&error),
                None if !mode.has_caller() => self.lost(call, error),
                // It was answered where the error was made.
                None => {}
            }
        }
    }

    pub(super) fn reply_to(&self, correlation: u64) -> ReplyTo {
        ReplyTo::new(self.shared() as Arc<dyn ReplyReturn>, correlation)
    }

    fn open(
        &self,
        correlation: u64,
        mode: Mode,
        call: &Call<'_>,
        reply_to: &mut Option<ReplyTo>,
    ) -> Result<()> {
        let tables = self.tables();
        let mut headers = tables.headers.decode(call.headers)?;
        if let Some(sender) = call.sender.and_then(|sender| ActorPathParser::parse_generated(sender).ok()) {
            headers.insert(Sender::at(sender));
        }
        let actor = self.find(call)?;
        let arriving = Arriving {
            mode,
            payload: call.payload,
            codec: self.link.codec(),
            headers,
            deadline: call.time_left.map(|left| Instant::now() + left),
            reply_to: reply_to.take(),
            window: WINDOW,
        };
        let taken = match tables.served.take(&actor, call.name, arriving, call.priority) {
            Ok(taken) => taken,
            // A message that the mailbox refuses is a dead letter by now.
            Err(error) if !is_unread(error.kind()) => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Some(ask) = taken.ask {
            // Unless it has been answered already.
            if let Some(known) = lock(&self.incoming).get_mut(&correlation) {
                known.ask = Some(ask);
            }
        }
        if !taken.streams.is_empty() {
            let coming = self.add_streams(Party::Callee, correlation, taken.streams);
            self.open_streams(Party::Callee, correlation, coming);
        }
        Ok(())
    }

    /// The actor of this system that a message is for. One that was found before is not looked for again.
    pub(super) fn find(&self, call: &Call<'_>) -> Result<AnyActorRef> {
        let Target::Path { path: text, uid: Some(uid) } = call.target else {
            return self.system.find(&self.local(&target(call)?)?);
        };
        if let Some(actor) = lock(&self.targets).get(text)
            && actor.uid().get() == uid
            && actor.is_alive() != Some(false)
        {
            return Ok(actor.clone());
        }
        let actor = self.system.find(&self.local(&target(call)?)?)?;
        let mut targets = lock(&self.targets);
        if targets.len() >= TARGETS {
            targets.clear();
        }
        targets.insert(text.into(), actor.clone());
        Ok(actor)
    }

    pub(super) fn local(&self, path: &ActorPath) -> Result<ActorPath> {
        self.link.local(path).unwrap_or_else(|| {
            let error = Error::new(ErrorKind::Unresolved).with("actor", path.to_serialization_format());
            Err(error.with("system", self.system.name()))
        })
    }

    /// A message that did not reach an actor.
    fn lost(&self, call: &Call<'_>, error: Error) {
        if let Ok(path) = target(call) {
            lost(&self.system, &path, &error.with("wire name", call.name));
        }
    }

    /// Does what the other system asks for beside messages.
    fn obey(&self, call: &Call<'_>) -> Result<()> {
        let path = target(call)?;
        match call.name {
            control::END => {
                let (local, how) = (self.local(&path)?, control::decode_end(call.payload)?);
                self.link.obey_end(&local, how)?;
                self.system.find(&local)?.end(how)?;
            }
            control::WATCH => {
                let local = self.local(&path)?;
                self.watch_for_other(path, &local);
            }
            control::UNWATCH => self.unwatch_for_other(&path),
            _ => self.terminated(&path, &control::decode_reason(call.payload)?),
        }
        Ok(())
    }
}

/// Whether a message with this error never came to a mailbox.
fn is_unread(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnknownMessage | ErrorKind::DecodeFailed | ErrorKind::InvalidFrame)
}

pub(super) fn target(call: &Call<'_>) -> Result<ActorPath> {
    match call.target {
        Target::Path { path, uid } => {
            let path = ActorPathParser::parse_generated(path)
                .map_err(|error| Error::new(ErrorKind::InvalidPath).because(error))?;
            Ok(match uid {
                Some(uid) => path.with_uid(ActorUid::new(uid)),
                None => path,
            })
        }
        Target::Id(id) => Err(Error::new(ErrorKind::NoSuchActor).with("actor", id)),
    }
}

/// The answers to asks of the other system.
impl ReplyReturn for Association {
    fn reply(&self, correlation: u64, answer: Result<&[u8], &Error>, headers: &Headers) {
        // No longer pending: the ask was cancelled, or the connection is lost.
        let Some(incoming) = lock(&self.incoming).remove(&correlation) else { return };
        let headers = EncodedHeaders::of(headers).unwrap_or_default();
        let mut text = Vec::new();
        let answer = answer.map_err(|error| {
            encode_error(error, &mut text);
            &*text
        });
        let mut answer = answer;
        if let Ok(payload) = answer
            && let Err(error) = self.link.fits(payload.len())
        {
            encode_error(&error.perhaps_handled(), &mut text);
            answer = Err(&text);
        }
        let failed = answer.is_err();
        let frame = Frame { correlation, body: Body::Reply { answer, headers: headers.as_raw() } };
        let lane = Lane::Answer(incoming.answer);
        // An error ends the stream of the request at the other end: it must not overtake the items.
        if !failed || !self.hold_reply(correlation, &frame, lane) {
            self.send_frame(&frame, lane);
        }
    }

    fn codec(&self) -> Codec {
        self.link.codec()
    }

    fn scoped(&self, encode: &mut dyn FnMut()) {
        let _scope = enter(self.scope());
        encode();
    }
}
