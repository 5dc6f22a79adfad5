//! The canonical text of a path, and the positions of its parts.

use std::fmt::Write;

use smallvec::SmallVec;

use super::escape::{escape, escaped_length};
use super::generated::GeneratedName;
use super::{ActorPath, ActorPathError, ActorPathParts, ActorPathScheme, ActorUid, Guardian};

/// Where segments end in the text. Paths of up to eight segments need no allocation for it.
pub(super) type Ends = SmallVec<[u16; 8]>;

/// The names of a path while it is built.
pub(super) type Names<'a> = SmallVec<[&'a str; 8]>;

/// The system of a path, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address<'a> {
    pub(super) scheme: ActorPathScheme,
    pub(super) system: &'a str,
    pub(super) host: Option<&'a str>,
    pub(super) port: Option<u16>,
}

/// Where the parts of the address end in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) scheme: ActorPathScheme,
    pub(super) system_end: u16,
    pub(super) host_end: u16,
    pub(super) address_end: u16,
    pub(super) port: Option<u16>,
}

/// Builds a path from validated parts: the only place where its text is assembled.
///
/// Without names it is the root. Names that do not begin with a guardian are below the user guardian.
pub(super) fn assemble(
    address: Address<'_>,
    names: &[&str],
    uid: Option<ActorUid>,
) -> Result<ActorPath, ActorPathError> {
    let implied = match names.first() {
        Some(first) if Guardian::named(first).is_none() => Some(Guardian::User.as_str()),
        _ => None,
    };
    let names = || implied.into_iter().chain(names.iter().copied());
    let path_length = names().map(|name| name.len() + 1).sum::<usize>().max(1);
    let length = address.length() + path_length;
    // It must be parseable with its UID.
    ActorPathError::check_length(length + uid.map_or(0, ActorUid::length))?;

    let mut text = String::with_capacity(length);
    let layout = address.write(&mut text);
    let mut ends = Ends::new();
    for name in names() {
        text.push('/');
        text.push_str(name);
        ends.push(end_of(&text));
    }
    if ends.is_empty() {
        text.push('/');
    }
    Ok(ActorPath { text: text.into_boxed_str(), layout, ends, uid })
}

/// One name of a live actor's path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Name<'a> {
    /// Given at spawn, and validated: text that is escaped in the path.
    Chosen(&'a str),
    /// Generated from the id of an actor that was spawned without a name.
    Generated(u64),
}

impl Name<'_> {
    pub(crate) fn length(self) -> usize {
        match self {
            Self::Chosen(name) => escaped_length(name),
            Self::Generated(number) => GeneratedName::length(number),
        }
    }
}

/// Builds the path of a live actor. Its `length` was checked at spawn.
pub(crate) fn of_actor<'a>(
    parts: &ActorPathParts,
    guardian: Guardian,
    names: impl Iterator<Item = Name<'a>>,
    length: usize,
    uid: ActorUid,
) -> ActorPath {
    let mut text = String::with_capacity(length);
    let layout = parts.address().write(&mut text);
    let mut ends = Ends::new();
    let mut add = |name: &str| {
        text.push('/');
        text.push_str(name);
        ends.push(end_of(&text));
    };
    add(guardian.as_str());
    for name in names {
        match name {
            Name::Chosen(name) => add(&escape(name)),
            Name::Generated(number) => add(GeneratedName::new(number).as_str()),
        }
    }
    ActorPath { text: text.into_boxed_str(), layout, ends, uid: Some(uid) }
}

impl Address<'_> {
    /// Its length in bytes.
    fn length(&self) -> usize {
        let host = self.host.map_or(0, |host| 1 + host.len());
        let port = self.port.map_or(0, |port| 2 + port.checked_ilog10().unwrap_or(0) as usize);
        self.scheme.as_str().len() + "://".len() + self.system.len() + host + port
    }

    fn write(&self, text: &mut String) -> Layout {
        text.push_str(self.scheme.as_str());
        text.push_str("://");
        text.push_str(self.system);
        let system_end = end_of(text);
        if let Some(host) = self.host {
            text.push('@');
            text.push_str(host);
        }
        let host_end = end_of(text);
        if let Some(port) = self.port {
            // Writing to a string cannot fail.
            let _ = write!(text, ":{port}");
        }
        Layout { scheme: self.scheme, system_end, host_end, address_end: end_of(text), port: self.port }
    }
}

/// The length as an offset. It fits, because [`ActorPath::LONGEST`] is the maximum.
pub(super) fn end_of(text: &str) -> u16 {
    text.len() as u16
}
