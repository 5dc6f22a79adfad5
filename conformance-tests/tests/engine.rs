//! The engine kit tests itself: the memory engine satisfies every rule, and every broken engine fails the rules that
//! name it.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use dactor_conformance::engine::broken::{BROKEN, BrokenEngine};
use dactor_conformance::engine::{EngineRule, EngineSubject, InMemory, check, rules, trials};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let memory: Arc<dyn EngineSubject> = Arc::new(InMemory);
    let mut tests = trials(&memory);
    for rule in rules() {
        for name in rule.catches {
            tests.push(catches(rule, name));
        }
    }
    tests.push(Trial::test("every broken engine is caught", every_flaw_is_named));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// The rule must fail on the broken engine, and the failure must contain its id and text.
fn catches(rule: &'static EngineRule, name: &'static str) -> Trial {
    Trial::test(format!("broken {name}::{}", rule.id), move || {
        let broken: &BrokenEngine =
            BROKEN.iter().find(|broken| broken.name == name).ok_or_else(|| Failed::from("no such engine"))?;
        match check(rule, broken, 10, true) {
            Err(text) if text.contains(rule.id) && text.contains(rule.text) => Ok(()),
            Err(text) => Err(Failed::from(format!("the failure does not contain the rule's text: {text}"))),
            Ok(()) => Err(Failed::from(format!("{name} ({}) was not detected", broken.what))),
        }
    })
}

fn every_flaw_is_named() -> Result<(), Failed> {
    let named: BTreeSet<_> = rules().flat_map(|rule| rule.catches).copied().collect();
    let known: BTreeSet<_> = BROKEN.iter().map(|broken| broken.name).collect();
    assert_eq!(named, known);
    assert_eq!(known.len(), BROKEN.len(), "two broken engines have the same name");
    Ok(())
}
