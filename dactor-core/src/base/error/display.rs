//! Formats errors: one short line for logs and users, a multi-line report for `fn main` and failed tests.

use std::error::Error as StdError;
use std::fmt::{self, Write};

use super::{Error, ErrorKind};
use crate::base::foreign::show;
use crate::base::panic::contain;

/// How many characters of a path, or another value, the short line shows.
const PATH: usize = 60;
const VALUE: usize = 100;

/// One short line: what failed, the actor, and the message type without its module. Causes are not repeated
/// here: they are in [`source`](StdError::source). `{:#}` appends them on the same line, each after a colon.
///
/// The actor type is omitted for an actor with a name. All values are in [`Error::context`], in full.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_headline(f)?;
        let unnamed = self.get("actor").is_none_or(|path| path.contains("/$"));
        let is_shown = |name: &str| match name {
            "type" => unnamed,
            "hook" => !self.is_of_a_hook(),
            _ => true,
        };
        let mut shown = self.context().filter(|(name, _)| is_shown(name)).peekable();
        if shown.peek().is_some() {
            for (index, (name, value)) in shown.enumerate() {
                write!(f, "{}{name}: ", if index == 0 { " (" } else { ", " })?;
                write_value(f, name, value)?;
            }
            f.write_char(')')?;
        }
        if f.alternate() {
            causes(self).try_for_each(|cause| {
                f.write_str(": ")?;
                show(f, |f| write!(f, "{cause}"))
            })?;
        }
        Ok(())
    }
}

/// A multi-line report for people: `fn main() -> dactor::Result<()>` and `unwrap` print it. `{:#?}` prints
/// the structure instead.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.inner;
        if f.alternate() {
            return f
                .debug_struct("Error")
                .field("kind", &inner.kind)
                .field("context", &inner.context)
                .field("source", &inner.source)
                .finish();
        }
        self.write_headline(f)?;
        self.context().try_for_each(|(name, value)| write!(f, "\n    {name}: {value}"))?;
        let numbered = causes(self).nth(1).is_some();
        for (index, cause) in causes(self).enumerate() {
            if index == 0 {
                f.write_str("\n\nCaused by:")?;
            }
            f.write_str("\n    ")?;
            if numbered {
                write!(f, "{index}: ")?;
            }
            // Formatted to a string first, because it may have several lines.
            let text = ShowCause(cause).to_string();
            f.write_str(&text.replace('\n', "\n    "))?;
        }
        Ok(())
    }
}

impl Error {
    /// What failed: the name of a hook, otherwise the text of the kind.
    fn write_headline(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.inner.kind, self.get("hook")) {
            (ErrorKind::Failed, Some(hook)) => write!(f, "`{hook}` failed"),
            (ErrorKind::Panicked, Some(hook)) => write!(f, "`{hook}` panicked"),
            (kind, _) => f.write_str(kind.text()),
        }
    }

    fn is_of_a_hook(&self) -> bool {
        matches!(self.inner.kind, ErrorKind::Failed | ErrorKind::Panicked)
    }
}

struct ShowCause<'a>(&'a (dyn StdError + 'static));

impl fmt::Display for ShowCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, |f| write!(f, "{}", self.0))
    }
}

/// The chain of causes.
pub(super) fn causes(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    chain(error.source())
}

/// A cause and its own causes. A user error that panics in `source()` has none.
pub(crate) fn chain<'a>(
    first: Option<&'a (dyn StdError + 'static)>,
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(first, |&cause| contain(|| cause.source()).ok().flatten())
}

fn write_value(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    match name {
        "message" | "type" | "interceptor" => write_short_type(f, value),
        "actor" | "child" | "parent" => write_path(f, value),
        _ => match value.char_indices().nth(VALUE) {
            Some((end, _)) => {
                write_line(f, &value[..end])?;
                f.write_char('…')
            }
            None => write_line(f, value),
        },
    }
}

/// Untrusted text, on one line.
fn write_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.chars()
        .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { f.write_char(c) })
}

/// A type name without modules: `Vec<Deposit>` for `alloc::vec::Vec<bank::Deposit>`.
fn write_short_type(f: &mut impl Write, name: &str) -> fmt::Result {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut rest = name;
    while !rest.is_empty() {
        let path = &rest[..rest.find(|c| !is_path(c)).unwrap_or(rest.len())];
        f.write_str(path.rsplit("::").next().unwrap_or(path))?;
        rest = &rest[path.len()..];
        let between = &rest[..rest.find(is_path).unwrap_or(rest.len())];
        f.write_str(between)?;
        rest = &rest[between.len()..];
    }
    Ok(())
}

/// A path; a long one is shortened to its system and its end.
fn write_path(f: &mut fmt::Formatter<'_>, path: &str) -> fmt::Result {
    let count = path.chars().count();
    if count <= PATH {
        return f.write_str(path);
    }
    let at = |index: usize| path.char_indices().nth(index).map_or(path.len(), |(at, _)| at);
    let system = path.find("://").map_or(0, |scheme| scheme + 3);
    let system = path[system..].find('/').map_or(0, |end| system + end).min(at(PATH / 2));
    let left = PATH - path[..system].chars().count();
    write!(f, "{}/…{}", &path[..system], &path[at(count - left)..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::base::panic::Panic;

    #[derive(Debug)]
    struct Overdrawn(u64);

    impl fmt::Display for Overdrawn {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} cents are missing", self.0)
        }
    }

    impl StdError for Overdrawn {}

    fn panicked() -> Error {
        let panic = Panic::new(Box::new("index out of bounds: the len is 3 but the index is 7"));
        let child = Error::new(ErrorKind::Panicked)
            .with("actor", "pekko://bank/user/accounts/alice")
            .with("type", "bank::accounts::Account")
            .with("message", "bank::accounts::messages::Deposit")
            .because(panic);
        Error::new(ErrorKind::ChildFailed)
            .with("actor", "pekko://bank/user/accounts")
            .with("type", "bank::accounts::Accounts")
            .with("child", "pekko://bank/user/accounts/alice")
            .because(child)
    }

    #[test]
    fn a_line_is_short_and_its_causes_are_behind_it() {
        let error = panicked();
        let line =
            "a child failed (actor: pekko://bank/user/accounts, child: pekko://bank/user/accounts/alice)";
        assert_eq!(error.to_string(), line);
        assert!(line.len() < 160);
        let cause = "the handler panicked (actor: pekko://bank/user/accounts/alice, message: Deposit)";
        let chain = [cause, "index out of bounds: the len is 3 but the index is 7"];
        assert_eq!(causes(&error).map(ToString::to_string).collect::<Vec<_>>(), chain);
        assert_eq!(format!("{error:#}"), format!("{line}: {}: {}", chain[0], chain[1]));
    }

    #[test]
    fn main_prints_the_whole_story() {
        let story = "a child failed
    actor: pekko://bank/user/accounts
    type: bank::accounts::Accounts
    child: pekko://bank/user/accounts/alice

Caused by:
    0: the handler panicked (actor: pekko://bank/user/accounts/alice, message: Deposit)
    1: index out of bounds: the len is 3 but the index is 7";
        assert_eq!(format!("{:?}", panicked()), story);
        let failed = Error::new(ErrorKind::Failed).because(Overdrawn(7));
        assert_eq!(format!("{failed:?}"), "the handler failed\n\nCaused by:\n    7 cents are missing");
        assert_eq!(format!("{:?}", Error::new(ErrorKind::NoBackend)), "the system has no backend");
        assert!(format!("{failed:#?}").starts_with("Error {\n    kind: Failed,"));
    }

    #[test]
    fn a_handlers_own_error_is_found_however_deep() {
        let failed = Error::new(ErrorKind::Failed).because(Overdrawn(7));
        assert_eq!(failed.downcast_ref::<Overdrawn>().map(|error| error.0), Some(7));
        let above = Error::new(ErrorKind::ChildFailed).because(failed);
        assert_eq!(above.downcast_ref::<Overdrawn>().map(|error| error.0), Some(7));
        assert_eq!(above.downcast_ref::<Error>().map(Error::kind), Some(ErrorKind::Failed));
        assert!(above.downcast_ref::<std::io::Error>().is_none());
    }

    #[test]
    fn an_unnamed_actor_is_told_by_its_type() {
        let error = Error::new(ErrorKind::Stopped)
            .with("actor", "pekko://bank/user/$17")
            .with("type", "bank::Account")
            .with("message", "core::option::Option<(alloc::vec::Vec<bank::Deposit>, &str)>");
        let line = "the actor has stopped (actor: pekko://bank/user/$17, type: Account, message: Option<(Vec<Deposit>, &str)>)";
        assert_eq!(error.to_string(), line);
    }

    #[test]
    fn a_hook_is_named_and_a_line_is_one_line() {
        let error =
            Error::new(ErrorKind::Panicked).with("actor", "pekko://bank/user/a").with("hook", "on_start");
        assert_eq!(error.to_string(), "`on_start` panicked (actor: pekko://bank/user/a)");
        let refused = Error::new(ErrorKind::Rejected).with("reason", "no\nERROR forged");
        assert_eq!(refused.to_string(), "the message was rejected (reason: no\\nERROR forged)");
    }

    /// Panics in `source()` and in `Display`.
    #[derive(Debug)]
    struct Broken;

    impl fmt::Display for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("display");
        }
    }

    impl StdError for Broken {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            panic!("source");
        }
    }

    #[test]
    fn an_error_that_panics_is_printed_without_it() {
        let error = Error::new(ErrorKind::ChildFailed).because(Error::new(ErrorKind::Failed).because(Broken));
        assert!(error.downcast_ref::<Overdrawn>().is_none() && error.downcast_ref::<Broken>().is_some());
        for text in [format!("{error:#}"), format!("{error:?}")] {
            assert!(text.contains("the handler failed") && text.contains("it panicked"), "{text}");
        }
    }

    #[test]
    fn long_values_are_cut_in_the_line_alone() {
        let path = format!("pekko://bank/user/{}/leaf", "é".repeat(9_000));
        let reason = "ö".repeat(9_000);
        let error = Error::new(ErrorKind::Stopped).with("actor", &path).with("reason", &reason);
        let line = error.to_string();
        assert!(line.contains("(actor: pekko://bank/…é") && line.contains("é/leaf, reason: ö"), "{line}");
        assert!(line.chars().count() < 220, "{line}");
        assert_eq!((error.get("actor"), error.get("reason")), (Some(&*path), Some(&*reason)));
    }
}
