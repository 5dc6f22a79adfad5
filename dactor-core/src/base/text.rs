//! Texts from outside in errors.

/// How much of a refused text an error shows.
const SHOWN: usize = 64;

/// A text from outside, as an error may show it: quoted, without control characters, and not all of a long one.
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
