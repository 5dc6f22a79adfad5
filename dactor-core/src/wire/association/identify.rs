//! Lookups: which actor of the other system is at a path.

use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Association, control, lock};
use crate::message::items::FarStreams;
use crate::path::{ActorPath, ActorUid};
use crate::spi::{FarAsk, ReplyReturn};
use crate::wire::{Body, Call, Carrier, Elsewhere, Frame, Remote, Target, far_actor, far_recipient};
use crate::{ActorRef, Codec, Error, ErrorKind, Headers, Mode, Recipient, Result, SentTo};

/// What the actor at a path has to be.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// Of the type with this name.
    Type(&'a str),
    /// One that accepts the message with this name.
    Message(&'a str),
}

/// The first byte of the payload.
const TYPE: u8 = 0;
const MESSAGE: u8 = 1;

impl Association {
    /// The ref to the actor of the other system at this path. The other system is asked which incarnation that is.
    ///
    /// # Errors
    ///
    /// [`NoSuchActor`](ErrorKind::NoSuchActor), [`WrongIncarnation`](ErrorKind::WrongIncarnation) and
    /// [`WrongActorType`](ErrorKind::WrongActorType), and those of an ask.
    pub async fn actor_at<A: Remote>(&self, path: &ActorPath) -> Result<ActorRef<A>> {
        let path = self.identify(path, Wanted::Type(A::TYPE)).await?;
        far_actor(&self.system, &path, &self.carrier())
    }

    /// The same for an actor of which only one message is known.
    ///
    /// # Errors
    ///
    /// As [`actor_at`](Self::actor_at); [`NotRemotable`](ErrorKind::NotRemotable) for a message without a wire name.
    pub async fn recipient_at<M: SentTo<Elsewhere<M>>>(&self, path: &ActorPath) -> Result<Recipient<M>> {
        let Some(wire) = M::WIRE.filter(|_| !M::LOCAL_ONLY) else {
            return Err(Error::new(ErrorKind::NotRemotable).with("message", M::type_name()));
        };
        let path = self.identify(path, Wanted::Message(wire.name())).await?;
        far_recipient(&self.system, &path, &self.carrier())
    }

    async fn identify(&self, path: &ActorPath, wanted: Wanted<'_>) -> Result<ActorPath> {
        self.link.admit(path)?;
        let text = path.to_string();
        let mut payload = Vec::new();
        match wanted {
            Wanted::Type(name) => {
                payload.push(TYPE);
                payload.extend_from_slice(name.as_bytes());
            }
            Wanted::Message(name) => {
                payload.push(MESSAGE);
                payload.extend_from_slice(name.as_bytes());
            }
        }
        let target = Target::Path { path: &text, uid: path.uid().map(|uid| uid.get()) };
        let answer = self.request(control::IDENTIFY, target, &payload).await?;
        let Ok(uid) = <[u8; 8]>::try_from(answer) else {
            return Err(Error::new(ErrorKind::InvalidFrame).with("because", "a UID has eight bytes"));
        };
        Ok(path.clone().with_uid(ActorUid::new(u64::from_le_bytes(uid))))
    }

    /// Asks the other system itself, and not an actor of it.
    pub(super) async fn request(
        &self,
        name: &'static str,
        target: Target<'_>,
        payload: &[u8],
    ) -> Result<Vec<u8>> {
        let call = Call { payload, ..Call::new(target, name) };
        let (correlation, mut frame) = (self.next_correlation(), self.link.buffer());
        Frame { correlation, body: Body::Request(call) }.encode(&mut frame)?;
        let (answer, answered) = oneshot::channel();
        let lookup = Arc::new(Lookup { name, answer: Mutex::new(Some(answer)) });
        self.send_ask(frame, correlation, lookup, FarStreams::default());
        answered.await.unwrap_or_else(|_| Err(self.link.error(ErrorKind::Disconnected)))
    }

    /// Says which actor of this system is at a path.
    pub(super) fn identified(&self, correlation: u64, call: &Call<'_>) {
        lock(&self.incoming).insert(correlation, super::asks::Incoming::default());
        let found = self.find_wanted(call).map(|uid| uid.get().to_le_bytes());
        let answer = found.as_ref().map(|uid| &uid[..]);
        self.reply(correlation, answer, &Headers::default());
    }

    fn find_wanted(&self, call: &Call<'_>) -> Result<ActorUid> {
        let name = |bytes| std::str::from_utf8(bytes).ok();
        let wanted = match call.payload {
            [TYPE, of @ ..] => name(of).map(Wanted::Type),
            [MESSAGE, of @ ..] => name(of).map(Wanted::Message),
            _ => None,
        };
        let wanted = wanted.ok_or_else(|| {
            Error::new(ErrorKind::InvalidFrame).with("because", "it does not say which actor is wanted")
        })?;
        let actor = self.find(call)?;
        let tables = self.tables();
        let accepts = tables.served.accepts(&actor);
        let (fits, expected) = match wanted {
            Wanted::Type(name) => (accepts.is_some_and(|it| it.actor_type() == name), name),
            Wanted::Message(name) => (accepts.is_some_and(|it| it.accepts_name(name)), name),
        };
        if fits {
            return Ok(actor.uid());
        }
        let error =
            Error::new(ErrorKind::WrongActorType).with("actor", actor.path().to_serialization_format());
        let error = error.with("type", accepts.map_or(actor.actor_type(), |it| it.actor_type()));
        Err(error.with("expected", expected))
    }
}

/// A lookup that waits for its answer.
struct Lookup {
    name: &'static str,
    answer: Mutex<Option<oneshot::Sender<Result<Vec<u8>>>>>,
}

impl Lookup {
    fn give(&self, answer: Result<Vec<u8>>) -> bool {
        let sender = lock(&self.answer).take();
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }
}

impl FarAsk for Lookup {
    fn wire_name(&self) -> Option<&'static str> {
        Some(self.name)
    }

    fn message_type(&self) -> &'static str {
        self.name
    }

    fn mode(&self) -> Mode {
        Mode::Ask
    }

    fn headers(&self) -> Headers {
        Headers::default()
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn is_gone(&self) -> bool {
        lock(&self.answer).as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn encode(&self, _: Codec, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn sent(&self) -> Option<FarStreams> {
        Some(FarStreams::default())
    }

    fn answer(&self, payload: &[u8], _: Codec, _: Headers) -> bool {
        self.give(Ok(payload.to_vec()))
    }

    fn fail(&self, error: Error) -> bool {
        self.give(Err(error))
    }
}
