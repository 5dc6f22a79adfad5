//! The rules. The name of a file or folder begins with the prefix of the ids in it.

mod ask;
mod bound;
mod cancel;
mod cycle;
mod dead_letter;
mod drain;
mod edge;
mod end;
mod expand;
mod failure;
mod fairness;
pub(crate) mod far;
mod get;
mod headers;
mod inbound;
mod kill;
mod later;
mod line;
mod msg;
mod name;
mod native;
mod outbound;
mod panic;
mod path;
mod phase;
mod priority;
mod race;
mod random;
mod reduce;
mod refs;
mod repeat;
mod restart;
mod shed;
mod shutdown;
mod start;
mod stash;
mod stop;
mod stream;
mod supervision;
mod text;
mod timeout;
mod timer;
mod transform;
mod tree;
mod wait;
mod wake;
mod watch;

use crate::Rule;

static ALL: &[&[Rule]] = &[
    msg::RULES,
    ask::RULES,
    cycle::detection::RULES,
    cycle::progress::RULES,
    cycle::acyclic::RULES,
    repeat::RULES,
    timeout::RULES,
    start::RULES,
    stop::RULES,
    drain::RULES,
    kill::RULES,
    end::RULES,
    wait::RULES,
    name::RULES,
    get::RULES,
    path::lookup::RULES,
    path::reason::RULES,
    path::selection::RULES,
    failure::RULES,
    panic::handler::RULES,
    panic::sites::RULES,
    panic::hooks::RULES,
    panic::drops::RULES,
    panic::isolation::RULES,
    text::RULES,
    restart::RULES,
    tree::ends::RULES,
    tree::spawn::RULES,
    tree::deadline::RULES,
    tree::depth::RULES,
    supervision::strategy::RULES,
    supervision::escalation::RULES,
    supervision::decision::RULES,
    supervision::native::RULES,
    supervision::group::RULES,
    supervision::budget::RULES,
    supervision::backoff::RULES,
    watch::target::RULES,
    watch::notice::RULES,
    watch::watcher::RULES,
    watch::outside::RULES,
    watch::order::RULES,
    timer::schedule::RULES,
    timer::idle::RULES,
    timer::ends::RULES,
    stash::handling::RULES,
    stash::ends::RULES,
    stash::lanes::RULES,
    stream::items::RULES,
    stream::ends::RULES,
    expand::RULES,
    reduce::RULES,
    transform::RULES,
    shutdown::grace::RULES,
    shutdown::inside::RULES,
    shutdown::report::RULES,
    shutdown::quiescence::RULES,
    phase::RULES,
    bound::capacity::RULES,
    bound::withdrawn::RULES,
    line::RULES,
    priority::RULES,
    shed::RULES,
    inbound::pipeline::RULES,
    inbound::ends::RULES,
    inbound::scope::RULES,
    inbound::delay::RULES,
    outbound::pipeline::RULES,
    outbound::ends::RULES,
    outbound::delay::RULES,
    outbound::unsent::RULES,
    headers::messages::RULES,
    headers::replies::RULES,
    cancel::token::RULES,
    cancel::deadline::RULES,
    later::reply::RULES,
    later::overridden::RULES,
    later::forward::RULES,
    later::pipe::RULES,
    edge::cancel::RULES,
    edge::interceptor::RULES,
    edge::reply::RULES,
    dead_letter::RULES,
    refs::RULES,
    far::messages::RULES,
    far::ends::RULES,
    far::refs::RULES,
    far::faults::RULES,
    far::streams::RULES,
    race::RULES,
    random::RULES,
    wake::RULES,
    fairness::RULES,
    native::control::RULES,
    native::observation::RULES,
];

/// Every rule, in the order of the specification.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    ALL.iter().flat_map(|rules| rules.iter())
}

/// Makes an async function the test of a rule.
macro_rules! body {
    ($check:path) => {
        |rule| Box::pin($check(rule))
    };
}
pub(crate) use body;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::Tag;
    use crate::mutants::MUTANTS;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let mut seen = HashSet::new();
        for rule in rules() {
            assert!(seen.insert(rule.id), "{} is declared twice", rule.id);
            let (word, number) = rule.id.split_once('-').expect("an id is a prefix and a number");
            assert!(word.chars().all(|c| c.is_ascii_uppercase()) && number.len() == 2, "{}", rule.id);
            assert!(!rule.covers.is_empty(), "{} covers nothing", rule.id);
            assert!(rule.text.ends_with('.') && rule.intent.ends_with('.'), "{}", rule.id);
        }
    }

    fn prefix(id: &str) -> &str {
        id.split_once('-').expect("an id is a prefix and a number").0
    }

    /// `SUPER-14` is in `rules/supervision/`. The name begins with the prefix and with no longer one, as `TIME` and
    /// `TIMER`.
    #[test]
    fn the_id_of_a_rule_leads_to_its_file() {
        let prefixes: HashSet<String> = rules().map(|rule| prefix(rule.id).to_lowercase()).collect();
        for rule in rules() {
            let file = rule.at.file().replace('\\', "/");
            let (_, path) = file.rsplit_once("src/rules/").expect("a rule is declared in src/rules");
            let name = path.split(['/', '.']).next().expect("a path has a first part");
            let longest = prefixes.iter().filter(|prefix| name.starts_with(*prefix)).max_by_key(|p| p.len());
            assert_eq!(longest, Some(&prefix(rule.id).to_lowercase()), "{} is in {path}", rule.id);
        }
    }

    #[test]
    fn every_spi_rule_names_mutants_and_every_mutant_is_named() {
        let mut named = HashSet::new();
        for rule in rules() {
            if let Tag::Spi(mutants) = rule.tag {
                assert!(!mutants.is_empty(), "{} names no mutant", rule.id);
                for name in mutants {
                    assert!(
                        MUTANTS.iter().any(|mutant| mutant.name == *name),
                        "{}: no mutant {name}",
                        rule.id
                    );
                    named.insert(*name);
                }
            }
        }
        for mutant in MUTANTS {
            assert!(named.contains(mutant.name), "no rule names the mutant {}", mutant.name);
        }
    }
}
