pub(super) static RULES: &[crate::Rule] = &[];
