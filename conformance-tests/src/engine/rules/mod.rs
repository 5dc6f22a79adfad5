mod claims;
mod content;
mod fences;
mod leases;
mod outcomes;
mod saves;
mod sql;

use super::EngineRule;

/// All rules, in the order of their ids.
pub fn rules() -> impl Iterator<Item = &'static EngineRule> {
    [claims::RULES, fences::RULES, saves::RULES, leases::RULES, outcomes::RULES, content::RULES]
        .into_iter()
        .flatten()
}

/// The rules for engines with SQL, in the order of their ids.
pub fn sql_rules() -> impl Iterator<Item = &'static EngineRule> {
    sql::RULES.iter()
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::broken::BROKEN_SQL;

    #[test]
    fn every_flaw_of_sql_is_named() {
        let named: BTreeSet<_> = sql_rules().flat_map(|rule| rule.catches).copied().collect();
        let known: BTreeSet<_> = BROKEN_SQL.iter().map(|broken| broken.name).collect();
        assert_eq!(named, known);
    }

    #[test]
    fn rules_are_numbered() {
        let numbered = rules().enumerate().map(|(index, rule)| (format!("ENGINE-{:02}", index + 1), rule));
        let of_sql = sql_rules().enumerate().map(|(index, rule)| (format!("SQL-{:02}", index + 1), rule));
        for (id, rule) in numbered.chain(of_sql) {
            assert_eq!(rule.id, id);
            assert!(rule.text.ends_with('.') && rule.intent.ends_with('.'), "{}", rule.id);
            assert!(!rule.catches.is_empty(), "{} catches no broken engine", rule.id);
        }
    }
}
