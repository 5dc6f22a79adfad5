use std::fmt;
use std::str::FromStr;

use super::canonical::{self, Address, Ends, Layout};
use super::{
    ActorPathError, ActorPathParser, ActorPathParts, ActorUid, Guardian, PathAuthority, PathSegment,
};

/// The path of an actor in the tree of a system, optionally with the UID of one incarnation.
///
/// The text is built once, in canonical form; segments are ranges in that text. So printing copies a string,
/// comparing compares strings, and a path of up to eight segments is one allocation.
///
/// Equality, hash and order ignore the UID: they compare places, not incarnations. Use
/// [`is_same_incarnation`](Self::is_same_incarnation) for those.
///
/// ```
/// use dactor_core::path::{ActorPath, PathSegment};
///
/// let bank: ActorPath = "pekko://app@db.example.com:2552/user/bank#7".parse().unwrap();
/// assert_eq!(bank.system(), "app");
/// assert_eq!(bank.to_string(), "pekko://app@db.example.com:2552/user/bank");
/// assert_eq!(bank.to_serialization_format(), "pekko://app@db.example.com:2552/user/bank#7");
///
/// let account = bank.child(PathSegment::new("account-42").unwrap()).unwrap();
/// assert_eq!(account.without_address(), "/user/bank/account-42");
/// assert_eq!(account.resolve("../audit").unwrap().without_address(), "/user/bank/audit");
/// ```
#[derive(Clone)]
pub struct ActorPath {
    pub(super) text: Box<str>,
    pub(super) layout: Layout,
    pub(super) ends: Ends,
    pub(super) uid: Option<ActorUid>,
}

impl ActorPath {
    /// Longest path, in bytes. A longer text is refused without parsing.
    pub const LONGEST: usize = u16::MAX as usize;

    /// The root above the guardians: not an actor, but the start of absolute selections.
    pub fn root(parts: &ActorPathParts) -> Result<Self, ActorPathError> {
        canonical::assemble(parts.address(), &[], None)
    }

    /// The path of a guardian.
    pub fn new(parts: &ActorPathParts, guardian: Guardian) -> Result<Self, ActorPathError> {
        canonical::assemble(parts.address(), &[guardian.as_str()], None)
    }

    /// The same path with this UID.
    #[must_use]
    pub fn with_uid(self, uid: ActorUid) -> Self {
        Self { uid: Some(uid), ..self }
    }

    /// The same path without a UID.
    #[must_use]
    pub fn without_uid(self) -> Self {
        Self { uid: None, ..self }
    }

    /// The UID, if the path has one.
    pub fn uid(&self) -> Option<ActorUid> {
        self.uid
    }

    /// Whether both are the same incarnation of the same actor.
    pub fn is_same_incarnation(&self, other: &Self) -> bool {
        self == other && self.uid == other.uid
    }

    /// A copy of the scheme, the system's name and its authority.
    pub fn parts(&self) -> ActorPathParts {
        self.address().into()
    }

    /// Whether it belongs to this system. A path without an authority belongs to the system with its scheme
    /// and name.
    pub fn is_in(&self, parts: &ActorPathParts) -> bool {
        let (ours, theirs) = (self.address(), parts.address());
        let anywhere = Address { host: None, port: None, ..theirs };
        ours == theirs || ours == anywhere
    }

    /// The name of the system.
    pub fn system(&self) -> &str {
        self.address().system
    }

    /// The host of the system. `None` is this process.
    pub fn host(&self) -> Option<&str> {
        self.address().host
    }

    /// The port of the system, if the path has one.
    pub fn port(&self) -> Option<u16> {
        self.layout.port
    }

    /// A copy of the authority, if there is one.
    pub fn authority(&self) -> Option<PathAuthority> {
        self.host().map(|host| PathAuthority::checked(host, self.port()))
    }

    /// The guardian of the actor, or the guardian itself. `None` for the root.
    pub fn guardian(&self) -> Option<Guardian> {
        self.names().next().and_then(Guardian::named)
    }

    /// Whether this is the root above the guardians.
    pub fn is_root(&self) -> bool {
        self.ends.is_empty()
    }

    /// The names from the guardian to the actor.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = PathSegment<'_>> + ExactSizeIterator {
        self.names().map(PathSegment::checked)
    }

    /// The actor's own name. `None` for the root.
    pub fn name(&self) -> Option<PathSegment<'_>> {
        self.segments().next_back()
    }

    pub(super) fn names(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        let begin = move |index: usize| match index {
            0 => self.layout.address_end,
            _ => self.ends[index - 1],
        };
        (0..self.ends.len())
            .map(move |index| &self.text[begin(index) as usize + 1..self.ends[index] as usize])
    }

    pub(super) fn address(&self) -> Address<'_> {
        let Layout { scheme, system_end, host_end, port, .. } = self.layout;
        let (system_begin, system_end, host_end) =
            (scheme.as_str().len() + "://".len(), system_end as usize, host_end as usize);
        Address {
            scheme,
            system: &self.text[system_begin..system_end],
            host: (host_end > system_end).then(|| &self.text[system_end + 1..host_end]),
            port,
        }
    }
}

impl FromStr for ActorPath {
    type Err = ActorPathError;

    fn from_str(text: &str) -> Result<Self, ActorPathError> {
        ActorPathParser::parse(text)
    }
}

impl fmt::Debug for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActorPath({})", self.to_serialization_format())
    }
}
