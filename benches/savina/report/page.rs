//! The page that shows the chart.

use std::fmt::Write;

use super::machine::{machine, version};
use crate::compare::{Row, mean_ratio};
use crate::suite::{Entry, Subject};

/// The page: method and commands, figures, and descriptions of the benchmarks and native programs.
pub(crate) fn page(rows: &[Row], rounds: usize) -> String {
    let mut text = introduction(rounds);
    text += "| benchmark | ractor, ms | kameo, ms | dactor_ractor / ractor | dactor_kameo / kameo |\n\
             |---|---:|---:|---:|---:|\n";
    let benchmarks: Vec<_> = rows.chunk_by(|a, b| a.benchmark.name == b.benchmark.name).collect();
    for group in &benchmarks {
        let find = |subject| group.iter().find(|row| row.subject == subject);
        let ms = |subject| find(subject).map(|row| row.ms);
        let ratio = |subject| find(subject).and_then(|row| row.ratio_to_native);
        text += &line(
            group[0].benchmark.name,
            [
                ms(Subject::Ractor),
                ms(Subject::Kameo),
                ratio(Subject::DactorRactor),
                ratio(Subject::DactorKameo),
            ],
        );
    }
    let mean = |subject| mean_ratio(rows, subject);
    let means = [None, None, mean(Subject::DactorRactor), mean(Subject::DactorKameo)];
    text += &line("geometric mean", means);
    text += ABOVE_NATIVE;
    text += "\n## The benchmarks\n\n| benchmark | what it does | size |\n|---|---|---|\n";
    for Entry { name, about, size, .. } in benchmarks.iter().map(|group| group[0].benchmark) {
        writeln!(text, "| {name} | {about} | {} |", size()).expect("writing to a string");
    }
    text += "\n## What the native programs use\n\n| benchmark | ractor | kameo |\n|---|---|---|\n";
    for Entry { name, idioms, .. } in benchmarks.iter().map(|group| group[0].benchmark) {
        writeln!(text, "| {name} | {} | {} |", idioms.ractor, idioms.kameo).expect("writing to a string");
    }
    text
}

/// Explains, from profiles, the benchmarks in which dactor is slower than native.
const ABOVE_NATIVE: &str = "\n## Where dactor is slower\n\n\
    `fork_join_create` and `unbalanced_tree` mostly spawn and stop actors. A dactor actor is a complete native \
    actor plus a mailbox, a task future and a handle: three more allocations and about 1 KB more, on top of the \
    15 (ractor) or 17 (kameo) allocations and 5 to 6 KB of the native actor. Under callgrind, spawn + stop takes \
    16.6 thousand instructions instead of 12.5 on ractor: half of the difference is in the spawn (allocation, \
    registration, `on_start` as a fallible hook), half in the stop (closing the mailbox, `on_stop`, notifying \
    waiters). In these two benchmarks one thread allocates and the other frees, so both contend for the \
    allocator: page faults and lock waits are a third of the profile on every subject. `quicksort` spawns few \
    actors and mostly sorts.\n";

fn introduction(rounds: usize) -> String {
    let (machine, ractor, kameo) = (machine(), version("ractor"), version("kameo"));
    format!(
        "# Savina benchmarks\n\n\
         The Savina suite (Imam and Sarkar, AGERE 2014): **one** dactor program, which runs on both backends \
         unchanged, against a program written for native ractor {ractor} and one for native kameo {kameo}.\n\n\
         ![Time against native](savina.svg)\n\n\
         ```sh\n\
         cargo bench --bench savina                  # everything; rewrites this page\n\
         cargo bench --bench savina -- ping_pong     # one benchmark\n\
         cargo bench --bench savina -- --rounds 21   # steadier medians\n\
         ```\n\n\
         Medians over {rounds} interleaved rounds in one process. A ratio is the median of the ratios of each \
         round; 1.00 is the native program, lower is better. A run has a tokio runtime of its own with two worker \
         threads, and is timed from its first spawn until its last actor is gone. Its answer is checked, and a \
         wrong one fails the run.\n\n\
         Machine: {machine}.\n\n\
         Not compared: memory, more than two threads, start and end of the tokio runtime, supervision, and \
         Savina's own programs for the JVM. Mailboxes are unbounded on both sides, because ractor has no others.\n\n\
         ## Figures\n\n"
    )
}

fn line(name: &str, figures: [Option<f64>; 4]) -> String {
    let [ractor, kameo, dactor_ractor, dactor_kameo] =
        figures.map(|figure| figure.map_or_else(String::new, |figure| format!("{figure:.2}")));
    format!("| {name} | {ractor} | {kameo} | {dactor_ractor} | {dactor_kameo} |\n")
}
