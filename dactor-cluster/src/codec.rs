//! The storage format of states: a header with the serializer and the version, and the content.

use bytes::{BufMut, Bytes, BytesMut};
use dactor_core::Outcome;
use dactor_engine::{ErrorKind, Operation, StorageError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{StateError, VirtualActor};

/// The serialization format of a state. It is stored with each state, so it can be changed at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum StateSerializer {
    /// JSON: readable in the database.
    #[default]
    Json,
    /// MessagePack with field names: smaller and faster.
    MessagePack,
}

/// `d`, `a`, and the version of this format.
const MAGIC: [u8; 3] = *b"da\x01";
const HEADER: usize = MAGIC.len() + 1 + 4;

impl StateSerializer {
    const fn code(self) -> u8 {
        match self {
            Self::Json => b'j',
            Self::MessagePack => b'm',
        }
    }

    const fn of_code(code: u8) -> Option<Self> {
        match code {
            b'j' => Some(Self::Json),
            b'm' => Some(Self::MessagePack),
            _ => None,
        }
    }

    pub(crate) fn encode<T: Serialize>(self, version: u32, state: &T) -> Result<Bytes, StorageError> {
        let mut body = BytesMut::with_capacity(64).writer();
        body.get_mut().put_slice(&MAGIC);
        body.get_mut().put_u8(self.code());
        body.get_mut().put_u32(version);
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            StorageError::new(ErrorKind::Serialization, Operation::Save).with_source(error)
        };
        match self {
            Self::Json => serde_json::to_writer(&mut body, state).map_err(|error| failed(error.into()))?,
            Self::MessagePack => {
                let mut serializer = rmp_serde::Serializer::new(&mut body).with_struct_map();
                state.serialize(&mut serializer).map_err(|error| failed(error.into()))?;
            }
        }
        Ok(body.into_inner().freeze())
    }

    fn decode<T: DeserializeOwned>(self, content: &[u8]) -> Result<T, StateError> {
        match self {
            Self::Json => serde_json::from_slice(content).map_err(|error| StateError::Decode(error.into())),
            Self::MessagePack => {
                rmp_serde::from_slice(content).map_err(|error| StateError::Decode(error.into()))
            }
        }
    }
}

/// A state stored by an earlier version of the program: see [`VirtualActor::upgrade`].
#[derive(Debug, Clone, Copy)]
pub struct OldState<'a> {
    version: u32,
    serializer: StateSerializer,
    content: &'a [u8],
}

impl<'a> OldState<'a> {
    /// The [version](VirtualActor::STATE_VERSION) of the stored state.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The serialization format.
    pub fn serializer(&self) -> StateSerializer {
        self.serializer
    }

    /// The encoded content.
    pub fn content(&self) -> &'a [u8] {
        self.content
    }

    /// Decodes the content as the type of that version.
    pub fn decode<T: DeserializeOwned>(&self) -> Outcome<T> {
        Ok(self.serializer.decode(self.content)?)
    }

    fn parse(body: &'a [u8]) -> Result<Self, StateError> {
        if body.len() < HEADER || body[..MAGIC.len()] != MAGIC {
            return Err(StateError::Corrupt("it has no header"));
        }
        let serializer = StateSerializer::of_code(body[MAGIC.len()])
            .ok_or(StateError::Corrupt("its serializer is not known"))?;
        let mut version = [0; 4];
        version.copy_from_slice(&body[MAGIC.len() + 1..HEADER]);
        Ok(Self { version: u32::from_be_bytes(version), serializer, content: &body[HEADER..] })
    }
}

/// Decodes the stored state of an `A`, and upgrades a state of an older version.
pub(crate) fn decode<A: VirtualActor>(body: &[u8]) -> Result<A::State, StateError> {
    let old = OldState::parse(body)?;
    let (stored, known) = (old.version, A::STATE_VERSION);
    if stored > known {
        return Err(StateError::Newer { stored, known });
    }
    if stored == known {
        return old.serializer.decode(old.content);
    }
    A::upgrade(old).map_err(|failure| StateError::Upgrade { stored, failure })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_decodes() {
        for serializer in [StateSerializer::Json, StateSerializer::MessagePack] {
            let body = serializer.encode(7, &("alice".to_owned(), 3_u64)).unwrap();
            let old = OldState::parse(&body).unwrap();
            assert_eq!((old.version(), old.serializer()), (7, serializer));
            assert_eq!(old.decode::<(String, u64)>().unwrap(), ("alice".to_owned(), 3));
            assert!(old.decode::<u64>().is_err());
            for cut in 0..HEADER {
                assert!(OldState::parse(&body[..cut]).is_err(), "{cut}");
            }
        }
        assert!(OldState::parse(b"{\"cents\": 3}").is_err());
        assert!(OldState::parse(b"da\x01x\0\0\0\x01{}").is_err());
        assert!(OldState::parse(b"da\x02j\0\0\0\x01{}").is_err());
    }
}
