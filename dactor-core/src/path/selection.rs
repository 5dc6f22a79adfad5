//! Selections: expressions that match any number of actors.

mod element;
mod pattern;
mod steps;
mod walk;

use std::fmt;
use std::str::FromStr;

pub use element::SelectionElement;
pub use pattern::SegmentPattern;
pub use steps::SelectionPath;
pub use walk::{ActorTree, Missed, Selected};

use super::uri::UriParser;
use super::{ActorPath, ActorPathError, ActorUid, SegmentError, SegmentReason, UriError, canonical, parser};

/// Where a selection starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SelectionAnchor {
    /// Where it is used: at the selecting actor, or at the root outside an actor.
    Here,
    /// At the root of the system in which it is used.
    Root,
    /// At this path: of an actor, or the root of another system.
    Path(ActorPath),
}

/// An expression that matches any number of actors: `/user/bank/*`, `../audit`,
/// `pekko://app@host:2552/user/a`.
///
/// Parsing and validation need no actors: a `..` above the guardian is an error before it is followed.
///
/// ```
/// use dactor_core::path::{ActorPath, ActorPathError, ActorSelection};
///
/// let siblings: ActorSelection = "../worker-*".parse().unwrap();
/// let here: ActorPath = "pekko://app/user/pool/worker-1".parse().unwrap();
/// let anchored = siblings.anchored(&here).unwrap();
/// assert_eq!(anchored.to_serialization_format(), "pekko://app/user/pool/worker-1/../worker-*");
///
/// let user: ActorPath = "pekko://app/user".parse().unwrap();
/// assert_eq!(siblings.anchored(&user), Err(ActorPathError::RelativeEscape { index: 0 }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActorSelection {
    anchor: SelectionAnchor,
    path: SelectionPath,
}

impl ActorSelection {
    /// A selection relative to a path.
    pub fn new(anchor: &ActorPath, path: SelectionPath) -> Result<Self, ActorPathError> {
        path.check_confined(anchor.segments().len())?;
        Ok(Self { anchor: SelectionAnchor::Path(anchor.clone()), path })
    }

    /// Parses a selection. The text is a URI or a path, so `?` begins a query, which is dropped;
    /// [`SelectionPath::compile`] supports `?` in patterns. `*` is a wildcard here too.
    ///
    /// A UID is only valid after a plain name: after a pattern, a `..` or nothing it is an error.
    ///
    /// A text with a leading `/` starts at the root, as does the empty text. No guardian is prepended.
    pub fn parse(text: &str) -> Result<Self, ActorPathError> {
        ActorPathError::check_length(text.len())?;
        let uri = UriParser::split(text)?;
        let anchor = if uri.scheme.is_some() {
            SelectionAnchor::Path(canonical::assemble(parser::read_address(&uri)?, &[], None)?)
        } else if uri.authority.is_some() {
            return Err(UriError::InvalidScheme { position: 0 }.into());
        } else if uri.path.is_empty() || uri.path.starts_with('/') {
            SelectionAnchor::Root
        } else {
            SelectionAnchor::Here
        };
        let mut path = SelectionPath::compile(uri.path)?;
        UriParser::check_tail(text, &uri)?;
        if let Some(digits) = uri.fragment {
            let last = path.elements().len().saturating_sub(1);
            let error = ActorPathError::segment(last, SegmentError::new(SegmentReason::Uid, 0));
            let uid = ActorUid::read(digits).filter(|uid| path.set_uid(*uid));
            uid.ok_or(error)?;
        }
        if anchor != SelectionAnchor::Here {
            path.check_confined(0)?;
        }
        Ok(Self { anchor, path })
    }

    /// Parses a selection as users type it: like [`parse`](Self::parse), but in a text without a scheme, `?`
    /// is a wildcard and does not begin a query.
    ///
    /// ```
    /// use dactor_core::path::ActorSelection;
    ///
    /// let workers = ActorSelection::compile("/user/pool/worker-?").unwrap();
    /// assert_eq!(workers.to_serialization_format(), "/user/pool/worker-?");
    /// ```
    pub fn compile(text: &str) -> Result<Self, ActorPathError> {
        ActorPathError::check_length(text.len())?;
        let before_scheme_end = text.find("://").map(|end| &text[..end]);
        if before_scheme_end.is_some_and(|scheme| !scheme.contains('/')) || text.starts_with("//") {
            return Self::parse(text);
        }
        let rooted = text.is_empty() || text.starts_with('/');
        let anchor = if rooted { SelectionAnchor::Root } else { SelectionAnchor::Here };
        let path = SelectionPath::compile(text)?;
        if rooted {
            path.check_confined(0)?;
        }
        Ok(Self { anchor, path })
    }

    /// The same selection, as used by an actor at this path.
    pub fn anchored(&self, here: &ActorPath) -> Result<Self, ActorPathError> {
        match &self.anchor {
            SelectionAnchor::Here => Self::new(here, self.path.clone()),
            SelectionAnchor::Root => Self::new(&ActorPath::root(&here.parts())?, self.path.clone()),
            SelectionAnchor::Path(_) => Ok(self.clone()),
        }
    }

    /// Where it starts.
    pub fn anchor(&self) -> &SelectionAnchor {
        &self.anchor
    }

    /// The steps from there.
    pub fn path(&self) -> &SelectionPath {
        &self.path
    }

    /// The selection as text to send or store: its anchor, without a UID, and the steps.
    pub fn to_serialization_format(&self) -> String {
        let steps = self.path.to_string();
        match &self.anchor {
            SelectionAnchor::Here => steps.trim_start_matches('/').into(),
            SelectionAnchor::Root => steps,
            SelectionAnchor::Path(anchor) if self.path.elements().is_empty() => anchor.to_string(),
            SelectionAnchor::Path(anchor) if anchor.is_root() => {
                format!("{}{steps}", anchor.to_string().trim_end_matches('/'))
            }
            SelectionAnchor::Path(anchor) => format!("{anchor}{steps}"),
        }
    }
}

impl FromStr for ActorSelection {
    type Err = ActorPathError;

    fn from_str(text: &str) -> Result<Self, ActorPathError> {
        Self::parse(text)
    }
}

/// For people: `ActorSelection[Anchor(pekko://app/user/bank#7), Path(/*)]`.
impl fmt::Display for ActorSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.anchor {
            SelectionAnchor::Here => write!(f, "ActorSelection[Anchor(.), Path({path})]"),
            SelectionAnchor::Root => write!(f, "ActorSelection[Anchor(/), Path({path})]"),
            SelectionAnchor::Path(anchor) => {
                write!(f, "ActorSelection[Anchor({}), Path({path})]", anchor.to_serialization_format())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ActorPath {
        text.parse().unwrap()
    }

    fn selection(text: &str) -> ActorSelection {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn anchors() {
        assert_eq!(selection("").anchor(), &SelectionAnchor::Root);
        assert_eq!(selection("/user").anchor(), &SelectionAnchor::Root);
        assert_eq!(selection("user/a").anchor(), &SelectionAnchor::Here);
        assert_eq!(selection("?q").anchor(), &SelectionAnchor::Root);
        let remote = selection("pekko://sys@h:1/user/*");
        assert_eq!(remote.anchor(), &SelectionAnchor::Path(path("pekko://sys@h:1/")));
        assert_eq!(remote.anchored(&path("pekko://other/user/a")).unwrap(), remote);
        for bad in [
            "//sys/user",
            "http://h/user",
            "pekko:///user",
            "/user/a b",
            "/user/a#x",
            "a#1#2",
            "1:a",
            "/user/*#9",
            "a/..#9",
            ".#9",
            "#9",
            "pekko://s/#9",
            "pekko://s/user/a*#9",
        ] {
            assert!(ActorSelection::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn texts() {
        let here = path("pekko://sys/user/a#7");
        for (text, anchored) in [
            ("../b/*", "pekko://sys/user/a/../b/*"),
            ("/user/a?x", "pekko://sys/user/a"),
            ("b/c#8", "pekko://sys/user/a/b/c#8"),
            ("", "pekko://sys/"),
            ("/", "pekko://sys/"),
        ] {
            let selection = selection(text).anchored(&here).unwrap();
            assert_eq!(selection.to_serialization_format(), anchored);
        }
        assert_eq!(selection("../b").to_serialization_format(), "../b");
        assert_eq!(selection("../b").to_string(), "ActorSelection[Anchor(.), Path(/../b)]");
        let anchored = selection("*").anchored(&here).unwrap();
        assert_eq!(anchored.to_string(), "ActorSelection[Anchor(pekko://sys/user/a#7), Path(/*)]");
    }

    #[test]
    fn nothing_leads_above_the_guardian() {
        let here = path("pekko://sys/user/a");
        for (text, index) in [("../..", 1), ("../*/../..", 3), (".././..", 2), ("../../user/a", 1)] {
            assert_eq!(
                selection(text).anchored(&here),
                Err(ActorPathError::RelativeEscape { index }),
                "{text}"
            );
        }
        assert_eq!(ActorSelection::parse("/.."), Err(ActorPathError::RelativeEscape { index: 0 }));
        assert!(selection("../*/../b").anchored(&here).is_ok());
    }
}
