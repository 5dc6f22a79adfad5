//! `conversations` serves, `conversations load` compares the two paths. See the README of the example.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use conversations::AnyError;
use conversations::app::{Settings, Store};
use conversations::load;
use conversations::serve::{Limits, raise_file_limit, serve, signalled};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::net::TcpListener;
use tracing::level_filters::LevelFilter;

const USAGE: &str = "
conversations [serve] [--listen ADDRESS] [--data DIRECTORY] [--database URL] [--actors PERCENT] [--backend ractor|kameo]
              [--idle SECONDS] [--mailbox REQUESTS] [--active CONVERSATIONS] [--pool CONNECTIONS]
              [--connections COUNT] [--requests COUNT] [--log error|warn|info|debug]
conversations load [--server ADDRESS] [--quick] [--svg FILE] [--acks FILE] [--seconds SECONDS] [SERVE OPTIONS]
conversations check [--data DIRECTORY] [--database URL] --acks FILE
";

/// The arguments, as names and values.
struct Args(std::vec::IntoIter<String>);

impl Args {
    fn value<T: std::str::FromStr>(&mut self, name: &str) -> Result<T, AnyError> {
        let value = self.0.next().ok_or_else(|| format!("{name} needs a value"))?;
        value.parse().map_err(|_| format!("{value} is not a value for {name}").into())
    }
}

struct Serve {
    listen: String,
    settings: Settings,
    limits: Limits,
    log: LevelFilter,
}

fn serve_options(mut args: Args) -> Result<Serve, AnyError> {
    let mut serve = Serve {
        listen: "127.0.0.1:8080".into(),
        settings: Settings::sqlite("conversations-data"),
        limits: Limits::default(),
        log: LevelFilter::INFO,
    };
    serve.settings.metrics = true;
    while let Some(name) = args.0.next() {
        let Serve { listen, settings, limits, log } = &mut serve;
        match &*name {
            "--listen" => *listen = args.value(&name)?,
            "--data" => settings.store = Store::Sqlite(args.value::<PathBuf>(&name)?),
            "--database" => settings.store = Store::Postgres(args.value(&name)?),
            "--actors" => settings.share = args.value::<u8>(&name)?.min(100),
            "--backend" => settings.backend = args.value(&name)?,
            "--idle" => settings.idle_after = Duration::from_secs(args.value(&name)?),
            "--mailbox" => settings.mailbox = args.value(&name)?,
            "--active" => settings.max_active = args.value(&name)?,
            "--pool" => settings.pool = args.value::<usize>(&name)?.max(1),
            "--connections" => limits.connections = args.value(&name)?,
            "--requests" => limits.requests = args.value(&name)?,
            "--log" => *log = args.value(&name)?,
            _ => return Err(format!("{name} is not known\n{USAGE}").into()),
        }
    }
    Ok(serve)
}

async fn run_server(args: Args) -> Result<(), AnyError> {
    let Serve { listen, settings, limits, log } = serve_options(args)?;
    tracing_subscriber::fmt().with_max_level(log).with_target(false).with_writer(std::io::stderr).init();
    let buckets = [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
    let page = PrometheusBuilder::new().set_buckets(&buckets)?.install_recorder()?;
    raise_file_limit();
    let listener = TcpListener::bind(&listen).await.map_err(|error| format!("{listen}: {error}"))?;
    println!("http://{}", listener.local_addr()?);
    serve(listener, &settings, limits, Some(page), signalled()).await
}

async fn run_load(mut args: Args) -> Result<(), AnyError> {
    let mut options = load::Options::default();
    while let Some(name) = args.0.next() {
        match &*name {
            "--server" => options.server = Some(args.value(&name)?),
            "--quick" => options.quick = true,
            "--svg" => options.svg = Some(args.value(&name)?),
            "--acks" => options.acks = Some(args.value(&name)?),
            "--seconds" => options.seconds = args.value(&name)?,
            _ => options.serve.extend([name.clone(), args.value(&name)?]),
        }
    }
    raise_file_limit();
    load::run(options).await
}

/// Checks the tables of a server that does not run against what it has acknowledged.
async fn run_check(mut args: Args) -> Result<(), AnyError> {
    let (mut store, mut acks) = (Store::Sqlite("conversations-data".into()), None);
    while let Some(name) = args.0.next() {
        match &*name {
            "--data" => store = Store::Sqlite(args.value(&name)?),
            "--database" => store = Store::Postgres(args.value(&name)?),
            "--acks" => acks = Some(args.value::<PathBuf>(&name)?),
            _ => return Err(format!("{name} is not known\n{USAGE}").into()),
        }
    }
    let database = store.pool(1)?;
    let checked = load::crash::check(&*database, &acks.ok_or("--acks is missing")?).await?;
    let load::crash::Checked { acknowledged, stored } = checked;
    println!("{acknowledged} acknowledged, {stored} stored: nothing lost, no gaps, no duplicates");
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let command = match args.first() {
        Some(first) if !first.starts_with('-') => args.remove(0),
        _ => "serve".into(),
    };
    let args = Args(args.into_iter());
    let result = match &*command {
        "serve" => run_server(args).await,
        "load" => run_load(args).await,
        "check" => run_check(args).await,
        "help" => {
            println!("{}", USAGE.trim());
            Ok(())
        }
        other => Err(format!("{other} is not known\n{USAGE}").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conversations: {error:#}");
            ExitCode::FAILURE
        }
    }
}
