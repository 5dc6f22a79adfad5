mod claims;
mod content;
mod fences;
mod leases;
mod outcomes;
mod saves;

use super::EngineRule;

/// All rules, in the order of their ids.
pub fn rules() -> impl Iterator<Item = &'static EngineRule> {
    [claims::RULES, fences::RULES, saves::RULES, leases::RULES, outcomes::RULES, content::RULES]
        .into_iter()
        .flatten()
}

/// The test of a rule from an `async fn`.
macro_rules! body {
    ($function:ident) => {
        |context| Box::pin($function(context))
    };
}
pub(crate) use body;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_numbered() {
        for (index, rule) in rules().enumerate() {
            assert_eq!(rule.id, format!("ENGINE-{:02}", index + 1));
            assert!(rule.text.ends_with('.') && rule.intent.ends_with('.'), "{}", rule.id);
            assert!(!rule.catches.is_empty(), "{} catches no broken engine", rule.id);
        }
    }
}
