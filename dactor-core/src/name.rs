use crate::{Error, ErrorKind, Result};

/// Longest name, in bytes.
const LONGEST: usize = 255;

/// Checks a system's or an actor's name: letters, digits and `-_.*+:@&=,!~';`, as in an actor path segment,
/// not starting with `$`, which is for names the system makes up.
pub(crate) fn check(what: &'static str, name: &str) -> Result<()> {
    let invalid = |why: String| {
        Err(Error::new(ErrorKind::InvalidName).with(what, format!("{name:?}")).with("because", why))
    };
    if name.is_empty() {
        return invalid("it is empty".into());
    }
    if name.len() > LONGEST {
        return Err(Error::new(ErrorKind::InvalidName)
            .with(what, format!("{:?}…", name.chars().take(32).collect::<String>()))
            .with("because", format!("it has {} bytes, more than {LONGEST}", name.len())));
    }
    if name.starts_with('$') {
        return invalid("a leading `$` is for names that the system makes up".into());
    }
    match name.char_indices().find(|(_, c)| !allowed(*c)) {
        Some((at, c)) => invalid(format!("{c:?} at byte {at} is not allowed")),
        None => Ok(()),
    }
}

fn allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.*$+:@&=,!~';".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "bank-7", "x.y_z", "a$b", &"n".repeat(LONGEST)] {
            assert!(check("actor", good).is_ok(), "{good}");
        }
        for bad in ["", "$a", "a/b", "a b", "é", "a\n", &"n".repeat(LONGEST + 1)] {
            let error = check("actor", bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidName, "{bad}");
            assert!(error.get("because").is_some());
        }
    }
}
