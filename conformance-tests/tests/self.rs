//! The kit tests itself: the reference backends satisfy every rule, and every broken backend fails the rules that
//! name it.

use std::process::ExitCode;
use std::sync::Arc;

use dactor_conformance::mutants::{MUTANTS, Mutant};
use dactor_conformance::{
    Flavor, Reference, Rule, Settings, Style, Subject, Tag, Verdict, check, rules, trials,
};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let settings = Settings::from_env();
    let mut tests = Vec::new();
    for style in [Style::Resident, Style::Turns] {
        let subject: Arc<dyn Subject> = Arc::new(Reference::new(style));
        tests.extend(trials(&subject, &settings));
    }
    for rule in rules() {
        if let Tag::Spi(names) = rule.tag {
            let caught = MUTANTS.iter().filter(|mutant| names.contains(&mutant.name));
            tests.extend(caught.map(|mutant| catches(rule, mutant, &settings)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// The rule must fail on the mutant, in the first of its runtime modes, and the failure must contain its id and text.
fn catches(rule: &'static Rule, mutant: &'static Mutant, settings: &Settings) -> Trial {
    let settings = settings.clone().impatient();
    Trial::test(format!("mutant {}::{}", mutant.name, rule.id), move || {
        let flavor = Flavor::of(rule.runtime)[0];
        match check(rule, mutant.subject(), flavor, &settings) {
            Verdict::Failed(text) if text.contains(rule.text) && text.contains(rule.id) => Ok(()),
            Verdict::Failed(text) => {
                Err(Failed::from(format!("the failure does not contain the rule's text: {text}")))
            }
            other => {
                Err(Failed::from(format!("{} ({}) was not detected: {other:?}", mutant.name, mutant.what)))
            }
        }
    })
}
