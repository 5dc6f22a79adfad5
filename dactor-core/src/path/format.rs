//! Formats a path: with or without its address, with or without its UID.

use std::fmt::{self, Write};

use super::{ActorPath, ActorUid};

impl ActorPath {
    /// The path within its system, beginning with `/`.
    pub fn without_address(&self) -> &str {
        &self.text[self.layout.address_end as usize..]
    }

    /// The system and its address: `app`, `app@host`, `app@host:2552`.
    pub fn host_port(&self) -> &str {
        &self.text[self.layout.scheme.as_str().len() + "://".len()..self.layout.address_end as usize]
    }

    /// The text, without the UID.
    pub(crate) fn into_text(self) -> String {
        self.text.into_string()
    }

    /// The whole path with its UID, to send or store: it parses back to the same incarnation.
    pub fn to_serialization_format(&self) -> String {
        let mut text = String::with_capacity(self.text.len() + self.uid.map_or(0, ActorUid::length));
        text.push_str(&self.text);
        if let Some(uid) = self.uid {
            // Writing to a string cannot fail.
            let _ = write!(text, "#{uid}");
        }
        text
    }
}

/// The canonical path without its UID: `pekko://app@host:2552/user/bank`.
impl fmt::Display for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}
