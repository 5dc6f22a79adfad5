//! How an error is printed: one short line for logs and users, the whole story for `fn main` and failed tests.

use std::error::Error as StdError;
use std::fmt::{self, Write};

use super::Error;
use crate::foreign::show;

/// How many characters of a path, or of another value, the short line shows.
const PATH: usize = 60;
const VALUE: usize = 100;

/// One short line: what failed, the actor, and the type of the message without its module. Causes are not repeated here:
/// they are in [`source`](StdError::source). With `{:#}` they follow on the same line, each behind a colon.
///
/// The type of the actor is left out where the actor has a name. All values are in [`Error::context`], in full.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.inner.kind.text())?;
        let unnamed = self.get("actor").is_none_or(|path| path.contains("/$"));
        let mut shown = self.context().filter(|(name, _)| *name != "type" || unnamed).peekable();
        if shown.peek().is_some() {
            for (index, (name, value)) in shown.enumerate() {
                write!(f, "{}{name}: ", if index == 0 { " (" } else { ", " })?;
                write_value(f, name, value)?;
            }
            f.write_char(')')?;
        }
        if f.alternate() {
            show(f, |f| causes(self).try_for_each(|cause| write!(f, ": {cause}")))?;
        }
        Ok(())
    }
}

/// The whole story on several lines, for people: `fn main() -> dactor::Result<()>` and `unwrap` print it. With `{:#?}` it
/// is the structure instead.
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
        f.write_str(inner.kind.text())?;
        self.context().try_for_each(|(name, value)| write!(f, "\n    {name}: {value}"))?;
        show(f, |f| write_causes(f, self))
    }
}

fn write_causes(f: &mut fmt::Formatter<'_>, error: &Error) -> fmt::Result {
    let numbered = causes(error).nth(1).is_some();
    for (index, cause) in causes(error).enumerate() {
        if index == 0 {
            f.write_str("\n\nCaused by:")?;
        }
        f.write_str("\n    ")?;
        if numbered {
            write!(f, "{index}: ")?;
        }
        f.write_str(&cause.to_string().replace('\n', "\n    "))?;
    }
    Ok(())
}

/// What caused the error, what caused that, and so on.
pub(super) fn causes(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

fn write_value(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    match name {
        "message" | "type" | "interceptor" => write_short_type(f, value),
        "actor" | "child" | "parent" => write_path(f, value),
        _ => match value.char_indices().nth(VALUE) {
            Some((end, _)) => write!(f, "{}…", &value[..end]),
            None => f.write_str(value),
        },
    }
}

/// A type without the modules of its parts: `Vec<Deposit>` for `alloc::vec::Vec<bank::Deposit>`.
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

/// A path; of a long one its system and its end.
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
    use crate::panic::Panic;

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
