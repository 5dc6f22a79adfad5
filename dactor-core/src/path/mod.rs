//! Actor paths: where an actor is in the tree of a system, in the form that Pekko gives them.
//!
//! ```text
//!   pekko.tcp :// app @ db.example.com : 2552 / user / bank / account-42 # 7
//!   scheme        system host            port   guardian ... segments     UID
//! ```
//!
//! A path is text from outside more often than not: it is typed, configured, logged and sent. So it is read
//! strictly ([`ActorPathParser`] over [`UriParser`]), kept in one canonical form ([`ActorPath`]) and compared
//! without its UID. [`ActorSelection`] means any number of actors with one relative or absolute expression.
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
//! Every actor of a [`System`](crate::System) has a path, and errors, events and logs name it by that. An actor that was
//! spawned without a name has `$` and its number for one, `pekko://app/user/$17`. A chosen name is any text; what a segment may not contain is escaped
//! ([`PathSegment::escape`]). It never begins with `$`, so that form cannot be taken, and it is read below every guardian: whatever a system prints parses
//! back to an equal path. Any other name with a leading `$` is read below `/system` and `/temp` only.

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
