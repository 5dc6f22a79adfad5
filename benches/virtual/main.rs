//! Virtual actors against plain ones, and against what their engine does by itself.
//!
//! - `ask`: a warm ask of a virtual actor against an ask of a plain actor with a timeout of 30 s;
//! - `activation`: a cold activation against the claim and the open of the engine, and against these and the spawn of a plain
//!   actor, without which there is no activation;
//! - `idle`: the heap of an idle activation against that of a plain actor;
//! - `saves`: saves per second of 1, 64 and 1000 actors against one transaction per save with the same settings;
//! - `touched`: one million ids with a cap of 10 000 activations.
//!
//! ```text
//! cargo bench --bench virtual --features kameo,sqlite                 # everything; rewrites docs/bench/virtual.svg
//! cargo bench --bench virtual --features kameo,sqlite -- saves        # only this part
//! cargo bench --bench virtual --features kameo,sqlite -- --quick      # smoke run, figures mean nothing
//! ```

mod actors;
mod engines;
mod measure;
mod report;

use std::convert::Infallible;
use std::time::Duration;

use bench_harness::{Options, Rounds, Scale};

use crate::engines::{ENGINES, Scratch};
use crate::measure::{BACKENDS, one_thread, two_threads};
use crate::report::Row;

#[global_allocator]
static ALLOCATOR: counting_alloc::Counting = counting_alloc::Counting;

const PARTS: [&str; 5] = ["ask", "activation", "idle", "saves", "touched"];

fn ask(options: &Options, rows: &mut Vec<Row>) {
    let asks = if options.scale == Scale::Full { 200_000 } else { 1000 };
    let run = |backend| Ok(one_thread(measure::warm(backend, asks)));
    let Ok::<_, Infallible>(rounds) = Rounds::interleaved(2, options.rounds, run);
    for (at, backend) in BACKENDS.into_iter().enumerate() {
        let row = Row::new("warm ask", backend, "memory");
        let row = row.value("plain_ask_ns", rounds.median(|round| Some(round[at].plain)));
        let row = row.value("warm_ask_ns", rounds.median(|round| Some(round[at].warm)));
        rows.push(row.ratio("of a plain ask", rounds.median(|round| Some(round[at].warm / round[at].plain))));
    }
}

fn activation(options: &Options, rows: &mut Vec<Row>) {
    for kind in &ENGINES {
        let actors = match (options.scale, kind.is_slow) {
            (Scale::Full, false) => 10_000,
            (Scale::Full, true) => 200,
            (Scale::Quick, _) => 20,
        };
        let run = |backend| Ok(one_thread(measure::cold(backend, kind, actors)));
        let Ok::<_, Infallible>(rounds) = Rounds::interleaved(2, options.rounds, run);
        for (at, backend) in BACKENDS.into_iter().enumerate() {
            let of = |figure: fn(&measure::Cold) -> f64| rounds.median(|round| round.get(at).map(figure));
            let row = Row::new("cold activation", backend, kind.name);
            let row = row.value("claim_open_ns", of(|cold| cold.engine));
            let row = row.value("plain_spawn_ask_ns", of(|cold| cold.spawn));
            let row = row.value("activation_ns", of(|cold| cold.activation));
            let row = row.value("rest_ns", of(|cold| cold.activation - cold.engine - cold.spawn));
            let row = row.ratio("of claim + open", of(|cold| cold.activation / cold.engine));
            let whole = of(|cold| cold.activation / (cold.engine + cold.spawn));
            rows.push(row.ratio("of claim + open + plain spawn", whole));
        }
    }
}

fn idle(options: &Options, rows: &mut Vec<Row>) {
    let actors = if options.scale == Scale::Full { 10_000 } else { 1000 };
    for (at, backend) in BACKENDS.into_iter().enumerate() {
        let idle = one_thread(measure::idle(at, actors));
        let row = Row::new("idle activation", backend, "memory").value("plain_bytes", idle.plain);
        let row = row.value("activation_bytes", idle.activation);
        let row = row.value("bytes_over_plain", idle.activation - idle.plain);
        rows.push(row.ratio("of a plain actor", idle.activation / idle.plain));
    }
}

fn saves(options: &Options, rows: &mut Vec<Row>) {
    let length = Duration::from_millis(if options.scale == Scale::Full { 600 } else { 30 });
    for kind in &ENGINES {
        for actors in [1, 64, 1000] {
            let run = |at: usize| {
                let (backend, is_single) = (at % 2, at >= 2);
                let scratch = Scratch::new();
                let open = kind.one_by_one.filter(|_| is_single).unwrap_or(kind.open);
                let engine = open(scratch.path());
                Ok(two_threads(measure::saves(backend, engine, actors, length)))
            };
            // The grouped ones of both backends, then the single ones, if there are any.
            let subjects = if kind.one_by_one.is_some() { 4 } else { 2 };
            let Ok::<_, Infallible>(rounds) = Rounds::interleaved(subjects, options.rounds.min(5), run);
            for (at, backend) in BACKENDS.into_iter().enumerate() {
                let mut row = Row::new(format!("saves of {actors}"), backend, kind.name);
                row = row.value("saves_per_second", rounds.median(|round| Some(round[at])));
                if kind.one_by_one.is_some() {
                    row = row.value("one_by_one", rounds.median(|round| Some(round[at + 2])));
                    let ratio = rounds.median(|round| Some(round[at] / round[at + 2]));
                    row = row.ratio("of one transaction per save", ratio);
                }
                rows.push(row);
            }
        }
    }
}

fn touched(options: &Options, rows: &mut Vec<Row>) {
    for kind in &ENGINES {
        let (ids, cap) = match (options.scale, kind.is_slow) {
            (Scale::Full, false) => (1_000_000, 10_000),
            (Scale::Full, true) => (50_000, 1000),
            (Scale::Quick, _) => (1000, 100),
        };
        for (at, backend) in BACKENDS.into_iter().enumerate() {
            let touched = two_threads(measure::touched(at, kind, ids, cap));
            let row = Row::new("touched", backend, kind.name).value("ids", f64::from(ids));
            let row = row.value("cap", cap as f64).value("seconds", touched.seconds);
            let row = row.value("ids_per_second", f64::from(ids) / touched.seconds);
            let row = row.value("peak_bytes", touched.peak).value("engine_bytes", touched.rows);
            rows.push(row.value("peak_bytes_per_active", (touched.peak - touched.rows) / cap as f64));
        }
    }
}

fn main() {
    let options = Options::from_args(std::env::args().skip(1), &PARTS).unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(2);
    });
    let mut rows = Vec::new();
    for (part, run) in
        PARTS.into_iter().zip([ask as fn(&Options, &mut Vec<Row>), activation, idle, saves, touched])
    {
        if options.selects(part) {
            let before = rows.len();
            run(&options, &mut rows);
            rows[before..].iter().for_each(|row| println!("{row}"));
        }
    }
    report::write(&rows, &options).expect("the files can be written");
}
