//! The rules, by topic.

mod ask;
mod backoff;
mod bound;
mod broken;
mod broken_ends;
mod budget;
mod busy;
mod cancel;
mod cycles;
mod dead;
mod deadline;
mod delay;
mod deliver;
mod drain;
mod edge;
mod ends;
mod failure;
mod fairness;
mod family;
mod fixture;
mod forward;
mod group;
mod handover;
mod headers;
mod inbound;
mod inside;
mod kill;
mod later;
mod line;
mod member;
mod names;
mod native;
mod observers;
mod outbound;
mod overdue;
mod panics;
mod paths;
mod phases;
mod priority;
mod quiet;
mod race;
mod random;
mod refs;
mod repeat;
mod report;
mod restart;
mod scope;
mod selections;
mod shed;
mod shutdown;
mod start;
mod stash;
mod stashed;
mod stop;
mod streams;
mod supervision;
mod text;
mod timeout;
mod timer_ends;
mod timers;
mod unsent;
mod visible;
mod wait;
mod wake;
mod watch;
mod watcher;
mod withdrawn;

use crate::Rule;

static ALL: &[&[Rule]] = &[
    deliver::RULES,
    ask::RULES,
    cycles::RULES,
    repeat::RULES,
    timeout::RULES,
    start::RULES,
    stop::RULES,
    drain::RULES,
    kill::RULES,
    ends::RULES,
    wait::RULES,
    names::RULES,
    paths::RULES,
    selections::RULES,
    failure::RULES,
    panics::RULES,
    broken::RULES,
    broken_ends::RULES,
    text::RULES,
    restart::RULES,
    family::RULES,
    supervision::RULES,
    group::RULES,
    budget::RULES,
    backoff::RULES,
    watch::RULES,
    watcher::RULES,
    timers::RULES,
    overdue::RULES,
    timer_ends::RULES,
    stash::RULES,
    stashed::RULES,
    streams::RULES,
    shutdown::RULES,
    phases::RULES,
    inside::RULES,
    report::RULES,
    quiet::RULES,
    bound::RULES,
    line::RULES,
    withdrawn::RULES,
    priority::RULES,
    shed::RULES,
    inbound::RULES,
    scope::RULES,
    outbound::RULES,
    unsent::RULES,
    delay::RULES,
    headers::RULES,
    cancel::RULES,
    deadline::RULES,
    later::RULES,
    edge::RULES,
    forward::RULES,
    handover::RULES,
    dead::RULES,
    observers::RULES,
    refs::RULES,
    race::RULES,
    random::RULES,
    wake::RULES,
    fairness::RULES,
    native::RULES,
    visible::RULES,
];

/// Every rule, in the order of the specification.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    ALL.iter().flat_map(|rules| rules.iter())
}

/// Makes an async function the body of a rule.
macro_rules! body {
    ($check:path) => {
        |lab| Box::pin($check(lab))
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
            assert!(seen.insert(rule.id), "{} is there twice", rule.id);
            let (word, number) = rule.id.split_once('-').expect("a word and a number");
            assert!(word.chars().all(|c| c.is_ascii_uppercase()) && number.len() == 2, "{}", rule.id);
            assert!(!rule.covers.is_empty(), "{} covers nothing", rule.id);
            assert!(rule.text.ends_with('.') && rule.intent.ends_with('.'), "{}", rule.id);
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
