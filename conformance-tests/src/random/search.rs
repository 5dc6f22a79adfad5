//! Searches for a program that violates the model.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::check::check;
use super::execute::execute;
use super::generate::generate;
use super::program::Program;
use super::run::Runtime;
use super::shrink::shrink;
use crate::{RuleContext, Subject};

/// How often a program that failed in real time is repeated while it is shrunk.
const AGAIN: usize = 30;
/// How many observations are printed.
const SHOWN: usize = 120;

/// A failing program.
struct Finding {
    seed: Option<u64>,
    program: Program,
    wrong: String,
    history: String,
}

/// Searches on one thread with a simulated clock.
pub(crate) async fn simulated(rule: RuleContext) {
    search(&rule, Runtime::Simulated);
}

/// Searches in real time, on the runtime flavor of the rule.
pub(crate) async fn real_time(rule: RuleContext) {
    let flavor = tokio::runtime::Handle::current().runtime_flavor();
    let one = flavor == tokio::runtime::RuntimeFlavor::CurrentThread;
    search(&rule, if one { Runtime::OneThread } else { Runtime::TwoThreads });
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn search(rule: &RuleContext, runtime: Runtime) {
    let subject = rule.subject();
    let budget = rule.settings().random;
    if budget.is_zero() {
        return;
    }
    let found = std::thread::scope(|scope| {
        // Each program has a runtime of its own.
        let name = format!("{} random", crate::check::THREAD);
        let searching = std::thread::Builder::new().name(name);
        let searching =
            searching.spawn_scoped(scope, || find(subject, runtime, budget, rule.settings().seed));
        searching.expect("a thread").join().expect("the search does not panic")
    });
    if !found.is_empty() {
        panic!("{}", found.iter().map(Finding::report).collect::<Vec<_>>().join("\n\n"));
    }
}

/// The first finding or, with `DACTOR_RANDOM_ALL`, one of each kind.
fn find(subject: &dyn Subject, runtime: Runtime, budget: Duration, first: u64) -> Vec<Finding> {
    if let Some(text) = variable("DACTOR_RANDOM_PROGRAM") {
        let program = Program::parse(&text).expect("DACTOR_RANDOM_PROGRAM must be a program");
        let found = attempts(&program, subject, runtime, AGAIN);
        return found.into_iter().map(|found| Finding::new(None, &program, found)).collect();
    }
    let only: Option<u64> = variable("DACTOR_RANDOM_SEED").and_then(|seed| seed.parse().ok());
    let all = variable("DACTOR_RANDOM_ALL").is_some();
    let mut progress = Progress::new(subject.name(), runtime);
    let mut findings: BTreeMap<String, Finding> = BTreeMap::new();
    let begin = Instant::now();
    for count in 0.. {
        let seed = only.unwrap_or(first.wrapping_add(count));
        let program = generate(seed);
        let times = if only.is_some() { AGAIN } else { 1 };
        if let Some(found) = attempts(&program, subject, runtime, times) {
            let about = failure_kind(&found.0);
            findings.entry(about).or_insert_with(|| {
                shrink_finding(Finding::new(Some(seed), &program, found), subject, runtime, budget)
            });
        }
        progress.show(count, seed, findings.len());
        let enough = !all && !findings.is_empty();
        if enough || only.is_some() || begin.elapsed() >= budget {
            break;
        }
    }
    findings.into_values().collect()
}

/// Prints the progress of a search, if requested.
struct Progress {
    name: &'static str,
    runtime: Runtime,
    begin: Instant,
    last: Option<Instant>,
}

impl Progress {
    fn new(name: &'static str, runtime: Runtime) -> Self {
        let last = variable("DACTOR_RANDOM_PROGRESS").map(|_| Instant::now());
        Self { name, runtime, begin: Instant::now(), last }
    }

    fn show(&mut self, count: u64, seed: u64, findings: usize) {
        let Some(last) = self.last.filter(|last| last.elapsed() > Duration::from_secs(5)) else { return };
        let (seconds, rate) =
            (self.begin.elapsed().as_secs(), count as f64 / self.begin.elapsed().as_secs_f64());
        let Self { name, runtime, .. } = self;
        eprintln!(
            "{name} {runtime:?}: {seconds} s, {count} programs ({rate:.0}/s), {findings} findings, seed {seed}"
        );
        self.last = Some(last + Duration::from_secs(5));
    }
}

/// The first failure of several runs. Simulated runs are deterministic, so one is enough.
fn attempts(
    program: &Program,
    subject: &dyn Subject,
    runtime: Runtime,
    times: usize,
) -> Option<(String, String)> {
    let times = if runtime == Runtime::Simulated { 1 } else { times };
    (0..times).find_map(|_| attempt(program, subject, runtime))
}

/// The violation of a program and the history that shows it.
fn attempt(program: &Program, subject: &dyn Subject, runtime: Runtime) -> Option<(String, String)> {
    let executed = catch_unwind(AssertUnwindSafe(|| execute(program, subject, runtime)));
    let Ok(entries) = executed else {
        return Some(("the runtime or the executor panicked".to_owned(), String::new()));
    };
    let wrong = check(program, &entries, runtime)?;
    let mut text = String::new();
    let skipped = entries.len().saturating_sub(SHOWN);
    for entry in &entries[skipped..] {
        let _ = writeln!(text, "  {entry}");
    }
    Some((wrong, text))
}

/// The kind of a failure: its text without names and numbers.
fn failure_kind(wrong: &str) -> String {
    let mut depth = 0_usize;
    let mut outside = |c: char| {
        depth += usize::from(c == '(');
        let outside = depth == 0;
        depth -= usize::from(c == ')' && depth > 0);
        outside
    };
    wrong.chars().filter(|c| outside(*c) && (c.is_ascii_lowercase() || *c == ' ')).collect()
}

fn shrink_finding(finding: Finding, subject: &dyn Subject, runtime: Runtime, budget: Duration) -> Finding {
    let (mut best, about) = ((finding.wrong.clone(), finding.history.clone()), failure_kind(&finding.wrong));
    let until = Instant::now() + budget.clamp(Duration::from_secs(5), Duration::from_secs(60));
    let program = shrink(finding.program.clone(), until, |program| {
        match attempts(program, subject, runtime, AGAIN) {
            // A program that fails in another way says nothing about this failure.
            Some(failed) if failure_kind(&failed.0) == about => {
                best = failed;
                true
            }
            _ => false,
        }
    });
    Finding::new(finding.seed, &program, best)
}

impl Finding {
    fn new(seed: Option<u64>, program: &Program, (wrong, history): (String, String)) -> Self {
        Self { seed, program: program.clone(), wrong, history }
    }

    fn report(&self) -> String {
        let Self { seed, program, wrong, history } = self;
        let seed = seed.map_or_else(String::new, |seed| format!(" (DACTOR_RANDOM_SEED={seed})"));
        format!(
            "{wrong}{seed}\nThe program, to be replayed with DACTOR_RANDOM_PROGRAM:\n{program}\nThe history:\n{history}"
        )
    }
}
