//! The load generator: the same requests on both paths, and the tables that compare them.

use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::AnyError;
use crate::service::Path;

pub mod client;
pub mod crash;
mod epoch;
pub mod races;
mod report;
mod server;
mod throughput;

use report::Report;
use server::Server;

/// What to do.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// A server that runs; without one, a server is started on a temporary directory.
    pub server: Option<String>,
    /// Small numbers, for a smoke test: the figures mean nothing.
    pub quick: bool,
    /// Where to write the chart.
    pub svg: Option<PathBuf>,
    /// Writes each acknowledged request to this file, and does nothing else: for tests that kill the server.
    pub acks: Option<PathBuf>,
    /// How long requests are sent with `acks`; 10 if it is 0.
    pub seconds: u64,
    /// The arguments of a server that is started.
    pub serve: Vec<String>,
}

/// Both paths.
pub const PATHS: [Path; 2] = [Path::Naive, Path::Actors];

/// The id of a conversation on a path.
pub fn id_on(path: Path, name: &str) -> String {
    let prefix = if path == Path::Actors { "actor" } else { "naive" };
    format!("{prefix}-{name}")
}

/// Runs the load.
pub async fn run(options: Options) -> Result<(), AnyError> {
    if let Some(file) = &options.acks {
        let server = options.server.clone().ok_or("--acks needs --server")?;
        return crash::run(&server, file, Duration::from_secs(options.seconds.max(1))).await;
    }
    let server = Server::start(options.server.clone(), &options.serve).await?;
    let database = options.serve.iter().position(|name| name == "--database");
    let database = database.and_then(|at| options.serve.get(at + 1)).map(String::as_str);
    let mut report = measure(&server, options.quick).await;
    let address = server.address().to_owned();
    server.stop().await?;
    if let Ok(report) = &mut report {
        // Without the other server: the processor is for this alone.
        epoch::measure(database, options.quick, report).await?;
    }
    let report = report.map_err(|error| format!("{address}: {error}"))?;
    report.print();
    if let Some(file) = &options.svg {
        std::fs::write(file, report.svg())?;
        println!("the chart is in {}", file.display());
    }
    report.verdict()
}

async fn measure(server: &Server, quick: bool) -> Result<Report, AnyError> {
    let mut report = Report::default();
    let address = server.address();
    let rounds = if quick { 2 } else { 20 };
    let bar = progress(rounds * 4, "races");
    for _ in 0..rounds {
        for path in PATHS {
            report.race(path, races::add_members(address, path, 10).await?);
            bar.inc(1);
            report.unread(path, races::send_and_read(address, path, 50).await?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let rounds = if quick { 1 } else { 5 };
    let bar = progress(rounds, "100 requests to one conversation");
    for _ in 0..rounds {
        for path in PATHS {
            report.burst(path, races::add_members(address, path, 100).await?);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    throughput::measure(server, quick, &mut report).await?;
    Ok(report)
}

/// A bar on the terminal; nothing if there is none.
fn progress(steps: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("{msg:32} {bar:40} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}
