//! Untrusted text in errors.

/// How many characters of a refused text an error shows.
const SHOWN: usize = 64;

/// Untrusted text for an error: quoted, without control characters, and truncated.
pub(crate) fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let begin: String = characters.by_ref().take(SHOWN).collect();
    if characters.next().is_some() { format!("{begin:?}…") } else { format!("{begin:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_outside_is_shown_with_care() {
        assert_eq!(shown("a\nb"), r#""a\nb""#);
        let long = "x".repeat(SHOWN);
        assert_eq!(shown(&long), format!("\"{long}\""));
        assert_eq!(shown(&format!("{long}y")), format!("\"{long}\"…"));
    }
}
