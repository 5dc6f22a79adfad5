//! Actor paths: the position of an actor in the tree of a system, in Pekko's format.
//!
//! ```text
//!   pekko.tcp :// app @ db.example.com : 2552 / user / bank / account-42 # 7
//!   scheme        system host            port   guardian ... segments     UID
//! ```
//!
//! A path is often untrusted input: typed, configured, logged or sent. So it is parsed strictly
//! ([`ActorPathParser`] over [`UriParser`]), kept in one canonical form ([`ActorPath`]) and compared without
//! its UID. An [`ActorSelection`] matches any number of actors by one relative or absolute expression.
//!
//! ```
//! use dactor_core::path::{ActorPath, ActorPathParts, Guardian, PathSegment};
//!
//! let parts = ActorPathParts::new("app").unwrap();
//! let user = ActorPath::new(&parts, Guardian::User).unwrap();
//! let bank = user.child(PathSegment::new("bank").unwrap()).unwrap();
//! assert_eq!(bank.to_string(), "pekko://app/user/bank");
//! assert_eq!(bank, "pekko://app/user/bank#7".parse().unwrap());
//! ```
//!
//! Every actor of a [`System`](crate::System) has a path, used in errors, events and logs. An actor spawned
//! without a name gets `$` and its id as its name: `pekko://app/user/$17`. A name given at spawn can be any
//! text; invalid characters are escaped ([`PathSegment::escape`]). It cannot begin with `$`, so generated
//! names are unique, and they are parsed below every guardian: every path that a system prints parses back to
//! an equal path. Any other name with a leading `$` is accepted only below `/system` and `/temp`.

mod actor_path;
mod authority;
pub(crate) mod canonical;
mod compare;
mod error;
pub(crate) mod escape;
mod format;
pub(crate) mod generated;
mod guardian;
pub(crate) mod host;
mod navigate;
mod parser;
mod parts;
mod scheme;
mod segment;
mod selection;
mod uid;
mod uri;
mod virtual_actor;

pub use actor_path::ActorPath;
pub use authority::{AuthorityError, AuthorityReason, PathAuthority};
pub use error::ActorPathError;
pub use guardian::Guardian;
pub use parser::ActorPathParser;
pub use parts::ActorPathParts;
pub use scheme::ActorPathScheme;
pub use segment::{PathSegment, SegmentError, SegmentReason};
pub use selection::{
    ActorSelection, ActorTree, Missed, SegmentPattern, Selected, SelectionAnchor, SelectionElement,
    SelectionPath,
};
pub use uid::ActorUid;
pub use uri::{UriError, UriParser, UriParts, UriServer};
