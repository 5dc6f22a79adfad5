//! What a message to another process costs, against bare frames over the same socket: two processes on loopback, CPU time of both.
//!
//! `cargo bench --features ractor,kameo,remote-tls --bench remote`. The figures are in `target/bench/remote.json`.

mod bare;
mod node;
mod server;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use bench_harness::{Files, Options, Rounds, Scale, rounded};

/// How many requests are under way.
const IN_FLIGHT: usize = 64;
/// The bytes of a request and of its answer, as a typed ask has them.
const REQUEST: usize = 140;
const ANSWER: usize = 60;

const SUBJECTS: [&str; 9] =
    ["echo_64", "echo_tasks_64", "ask_64", "ask_64_tls", "echo_seq", "ask_seq", "one_way", "tell", "expand"];

/// What one run of one subject came to.
#[derive(Debug, Clone, Copy)]
struct Sample {
    per_second: f64,
    /// CPU time of both processes for each.
    micros: f64,
}

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "serve") {
        args.remove(0);
        return server::serve();
    }
    let options = match Options::from_args(args.into_iter(), &SUBJECTS) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    let server = Server::start();
    let runtime = runtime();
    let clients = runtime.block_on(node::Clients::connect(&server));
    let length = Duration::from_millis(if options.scale == Scale::Full { 700 } else { 30 });
    let rounds = Rounds::interleaved(SUBJECTS.len(), options.rounds, |subject| {
        if !options.selects(SUBJECTS[subject]) {
            return Ok::<_, std::convert::Infallible>(Sample { per_second: 0.0, micros: 0.0 });
        }
        Ok(measure(&server, || runtime.block_on(run(SUBJECTS[subject], &server, &clients, length))))
    });
    let Ok(rounds) = rounds;
    report(&options, &rounds);
    ExitCode::SUCCESS
}

async fn run(subject: &str, server: &Server, clients: &node::Clients, length: Duration) -> u64 {
    match subject {
        "echo_64" => bare::echo(&server.addresses[0], IN_FLIGHT, length).await,
        "echo_seq" => bare::echo(&server.addresses[0], 1, length).await,
        "echo_tasks_64" => bare::echo_tasks(&server.addresses[0], IN_FLIGHT, length).await,
        "one_way" => bare::one_way(&server.addresses[0], length).await,
        "ask_64" => node::asks(&clients.plain, IN_FLIGHT, length).await,
        "ask_64_tls" => node::asks(&clients.tls, IN_FLIGHT, length).await,
        "ask_seq" => node::asks(&clients.plain, 1, length).await,
        "tell" => node::tells(&clients.plain, length).await,
        "expand" => node::expand(&clients.plain, length).await,
        other => unreachable!("{other}"),
    }
}

/// Two workers, in both processes.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// The process on the other side.
struct Server {
    child: Child,
    /// Of the bare server, of the plain node and of the node with TLS.
    addresses: Vec<String>,
    /// For the certificate of this side.
    pem: Vec<String>,
}

impl Server {
    fn start() -> Self {
        let pem = server::certificates();
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg("serve").stdout(Stdio::piped());
        for (name, text) in server::PEM.iter().zip(&pem) {
            command.env(name, text);
        }
        let mut child = command.spawn().expect("another process");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
        let addresses = lines.take(3).collect();
        Self { child, addresses, pem }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time of a process, in microseconds.
fn cpu(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = |field: usize| {
        after_name.split_whitespace().nth(field).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0)
    };
    // A tick is 10 milliseconds.
    (ticks(11) + ticks(12)) * 10_000.0
}

fn measure(server: &Server, run: impl FnOnce() -> u64) -> Sample {
    let other = server.child.id().to_string();
    let (cpu_before, began) = (cpu("self") + cpu(&other), Instant::now());
    let count = run().max(1) as f64;
    let (elapsed, cpu) = (began.elapsed().as_secs_f64(), cpu("self") + cpu(&other) - cpu_before);
    Sample { per_second: count / elapsed, micros: cpu / count }
}

fn report(options: &Options, rounds: &Rounds<Sample>) {
    let at = |name: &str| SUBJECTS.iter().position(|subject| *subject == name).unwrap_or(0);
    let mut figures = serde_json::Map::new();
    for (subject, name) in SUBJECTS.iter().enumerate() {
        let per_second = rounds.median(|samples| Some(samples[subject].per_second));
        let micros = rounds.median(|samples| Some(samples[subject].micros));
        println!("{name:15} {:>10.0}/s {micros:>8.2} us of CPU on both sides", per_second);
        figures.insert(
            (*name).to_owned(),
            serde_json::json!([rounded(per_second, 1.0), rounded(micros, 100.0)]),
        );
    }
    for (what, of, to, limit) in [
        ("CPU of an ask at 64 in flight / echo (at most 2.5)", "ask_64", "echo_64", true),
        ("rate of an ask at 64 in flight / echo with tasks (at least 1.3)", "ask_64", "echo_tasks_64", false),
        ("rate of sequential asks / echo (at least 0.45)", "ask_seq", "echo_seq", false),
        ("rate with TLS / without (at least 0.75)", "ask_64_tls", "ask_64", false),
        ("rate of tells / one-way frames (at least 0.5)", "tell", "one_way", false),
    ] {
        let ratio = rounds.median(|samples| {
            let (of, to) = (samples[at(of)], samples[at(to)]);
            let ratio = if limit { of.micros / to.micros } else { of.per_second / to.per_second };
            ratio.is_finite().then_some(ratio)
        });
        println!("{what}: {ratio:.2}");
        figures.insert(what.to_owned(), rounded(ratio, 100.0).into());
    }
    if options.under_cargo_bench {
        let text = serde_json::to_string_pretty(&figures).expect("figures");
        if let Err(error) = Files::of(env!("CARGO_MANIFEST_DIR"), "remote").write_json(&text) {
            eprintln!("{error}");
        }
    }
}
