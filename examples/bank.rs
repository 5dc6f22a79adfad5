//! A bank: accounts and transfers are virtual actors with durable state, and a crash loses no money.
//!
//! ```text
//! cargo run --release --example bank --features kameo,sqlite -- --engine sqlite --backend kameo --seconds 5
//! cargo run --release --example bank --features kameo,sqlite,postgres -- --engine postgres --database postgres://localhost/bank
//! ```
//!
//! A transfer saves each of its steps: `Started`, `Debited`, `Credited`, `Closed`. An account remembers the transfers that
//! have changed it until they are credited, so that a step that is repeated has no second effect. Transfers that a crash
//! left open are driven to their end at the next start. `--lease SECONDS` sets how long a lease lasts, `--acks FILE` appends the id of each acknowledged transfer to a
//! file, and `--check FILE` tests that all of them are closed.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use dactor::cluster::engine::Engine;
use dactor::cluster::{Activation, Cluster, Memory, Persistent, Sqlite, VirtualActor};
use dactor::prelude::*;
use dactor::wire::Remote;
use serde::{Deserialize, Serialize};

const ACCOUNTS: u64 = 100;
const OPENING: u64 = 1000;
const CLIENTS: u64 = 32;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Serialize, Deserialize, Clone, Default)]
struct Ledger {
    is_open: bool,
    cents: u64,
    /// The transfers that have changed it and are not closed.
    applied: BTreeSet<String>,
}

struct Account {
    ledger: Persistent<Ledger>,
}

impl Actor for Account {}
impl Remote for Account {
    const TYPE: &'static str = "Account";
}
impl VirtualActor for Account {
    type State = Ledger;
    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        Ok(Self { ledger: activation.state() })
    }
}

#[derive(Message)]
struct Open(u64);

#[derive(Message)]
#[message(reply = u64)]
struct Balance;

/// Takes the money, if it is there.
#[derive(Message)]
#[message(reply = bool)]
struct Debit(String, u64);

#[derive(Message)]
struct Credit(String, u64);

/// The transfer is credited and will not be repeated.
#[derive(Message)]
struct Forget(String);

impl Handler<Open> for Account {
    async fn handle(&mut self, Open(cents): Open, _: &mut Context<Self>) -> Outcome<()> {
        if !self.ledger.get().is_open {
            self.ledger.persist(Ledger { is_open: true, cents, ..Ledger::default() }).await?;
        }
        Ok(())
    }
}

impl Handler<Balance> for Account {
    async fn handle(&mut self, _: Balance, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.ledger.get().cents)
    }
}

impl Handler<Debit> for Account {
    async fn handle(&mut self, Debit(transfer, cents): Debit, _: &mut Context<Self>) -> Outcome<bool> {
        let ledger = self.ledger.get();
        if ledger.applied.contains(&transfer) {
            return Ok(true);
        }
        if ledger.cents < cents {
            return Ok(false);
        }
        self.ledger
            .update(|ledger| {
                ledger.cents -= cents;
                ledger.applied.insert(transfer);
            })
            .await?;
        Ok(true)
    }
}

impl Handler<Credit> for Account {
    async fn handle(&mut self, Credit(transfer, cents): Credit, _: &mut Context<Self>) -> Outcome<()> {
        if self.ledger.get().applied.contains(&transfer) {
            return Ok(());
        }
        self.ledger
            .update(|ledger| {
                ledger.cents += cents;
                ledger.applied.insert(transfer);
            })
            .await?;
        Ok(())
    }
}

impl Handler<Forget> for Account {
    async fn handle(&mut self, Forget(transfer): Forget, _: &mut Context<Self>) -> Outcome<()> {
        if self.ledger.get().applied.contains(&transfer) {
            self.ledger.update(|ledger| ledger.applied.remove(&transfer)).await?;
        }
        Ok(())
    }
}

#[derive(Serialize, Deserialize, Clone, Copy, Default, PartialEq, Debug)]
enum Step {
    #[default]
    None,
    Started,
    Debited,
    Credited,
    Closed,
    Refused,
}

#[derive(Serialize, Deserialize, Clone, Default)]
struct Order {
    from: String,
    to: String,
    cents: u64,
    step: Step,
}

struct Transfer {
    id: String,
    order: Persistent<Order>,
    cluster: Cluster,
}

impl Actor for Transfer {}
impl Remote for Transfer {
    const TYPE: &'static str = "Transfer";
}
impl VirtualActor for Transfer {
    type State = Order;
    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        let (id, cluster) = (activation.key().to_owned(), activation.cluster().clone());
        Ok(Self { id, order: activation.state(), cluster })
    }
}

#[derive(Message)]
#[message(reply = Step)]
struct Begin {
    from: String,
    to: String,
    cents: u64,
}

/// Goes on where the transfer is.
#[derive(Message)]
#[message(reply = Step)]
struct Drive;

#[derive(Message)]
#[message(reply = Step)]
struct Status;

impl Transfer {
    async fn drive(&mut self) -> Outcome<Step> {
        loop {
            let order = self.order.get();
            let id = || self.id.clone();
            let (from, to) = match order.step {
                Step::None | Step::Closed | Step::Refused => return Ok(order.step),
                _ => (self.cluster.actor::<Account>(&order.from)?, self.cluster.actor::<Account>(&order.to)?),
            };
            let step = match order.step {
                Step::Started if from.ask(Debit(id(), order.cents)).await? => Step::Debited,
                Step::Started => Step::Refused,
                Step::Debited => {
                    to.ask(Credit(id(), order.cents)).await?;
                    Step::Credited
                }
                _ => {
                    from.ask(Forget(id())).await?;
                    to.ask(Forget(id())).await?;
                    Step::Closed
                }
            };
            self.order.update(|order| order.step = step).await?;
        }
    }
}

impl Handler<Begin> for Transfer {
    async fn handle(&mut self, Begin { from, to, cents }: Begin, _: &mut Context<Self>) -> Outcome<Step> {
        if self.order.get().step == Step::None {
            self.order.persist(Order { from, to, cents, step: Step::Started }).await?;
        }
        self.drive().await
    }
}

impl Handler<Drive> for Transfer {
    async fn handle(&mut self, _: Drive, _: &mut Context<Self>) -> Outcome<Step> {
        self.drive().await
    }
}

impl Handler<Status> for Transfer {
    async fn handle(&mut self, _: Status, _: &mut Context<Self>) -> Outcome<Step> {
        Ok(self.order.get().step)
    }
}

/// Opens an account. After a crash on PostgreSQL it belongs to the last process until that one's lease has expired: only
/// SQLite proves at once that a process has ended.
async fn open(account: &ActorRef<Account>, lease: u32) -> Result<(), AnyError> {
    let begin = Instant::now();
    loop {
        match account.ask(Open(OPENING)).await {
            Err(_) if begin.elapsed() < Duration::from_secs(5) * lease => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            result => return Ok(result?),
        }
    }
}

/// Drives all open transfers to their end, and adds up the accounts.
async fn audit(cluster: &Cluster) -> Result<(u64, usize), AnyError> {
    let (mut after, mut driven) = (None, 0);
    loop {
        let page = cluster.stored::<Transfer>(after.as_deref(), 1000).await?;
        for key in page.keys {
            let transfer = cluster.actor::<Transfer>(&key)?;
            if !matches!(transfer.ask(Status).await?, Step::Closed | Step::Refused) {
                transfer.ask(Drive).await?;
                driven += 1;
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let mut sum = 0;
    for number in 0..ACCOUNTS {
        sum += cluster.actor::<Account>(&format!("account-{number}"))?.ask(Balance).await?;
    }
    Ok((sum, driven))
}

struct Options {
    engine: String,
    backend: String,
    directory: String,
    database: String,
    lease: u32,
    seconds: u64,
    acks: Option<String>,
    check: Option<String>,
}

fn options() -> Result<Options, AnyError> {
    let mut options = Options {
        engine: "memory".into(),
        backend: "ractor".into(),
        directory: String::new(),
        database: std::env::var("DATABASE_URL").unwrap_or_default(),
        lease: 10,
        seconds: 5,
        acks: None,
        check: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        match &*name {
            "--engine" => options.engine = value,
            "--backend" => options.backend = value,
            "--directory" => options.directory = value,
            "--database" => options.database = value,
            "--lease" => options.lease = value.parse()?,
            "--seconds" => options.seconds = value.parse()?,
            "--acks" => options.acks = Some(value),
            "--check" => options.check = Some(value),
            _ => return Err(format!("{name} is not known").into()),
        }
    }
    Ok(options)
}

async fn engine(options: &Options, scratch: &std::path::Path) -> Result<Engine, AnyError> {
    match &*options.engine {
        "memory" => Ok(Memory::new().into()),
        "sqlite" if options.directory.is_empty() => Ok(Sqlite::open(scratch)?.into()),
        "sqlite" => Ok(Sqlite::open(&options.directory)?.into()),
        "postgres" => postgres(&options.database).await,
        other => Err(format!("the engine {other} is not known: memory, sqlite or postgres").into()),
    }
}

#[cfg(feature = "postgres")]
async fn postgres(database: &str) -> Result<Engine, AnyError> {
    if database.is_empty() {
        return Err("the engine postgres needs --database URL, or DATABASE_URL".into());
    }
    Ok(dactor::cluster::Postgres::open(database).await?.into())
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_: &str) -> Result<Engine, AnyError> {
    Err("the engine postgres needs the feature postgres".into())
}

/// What the clients of the bank share.
struct Load {
    cluster: Cluster,
    done: AtomicU64,
    stop: AtomicBool,
    acks: Option<Mutex<std::fs::File>>,
}

async fn client(load: Arc<Load>, run: u128, client: u64) -> Result<(), AnyError> {
    let mut random = client + 1;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    for number in 0.. {
        if load.stop.load(Ordering::Relaxed) {
            break;
        }
        let from = next() % ACCOUNTS;
        let to = (from + 1 + next() % (ACCOUNTS - 1)) % ACCOUNTS;
        let (id, cents) = (format!("{run}-{client}-{number}"), 1 + next() % 50);
        let transfer = load.cluster.actor::<Transfer>(&id)?;
        transfer.ask(Begin { from: format!("account-{from}"), to: format!("account-{to}"), cents }).await?;
        if let Some(acks) = &load.acks {
            writeln!(acks.lock().map_err(|_| "a client panicked")?, "{id}")?;
        }
        load.done.fetch_add(1, Ordering::Relaxed);
        // It is not needed again.
        transfer.stop();
    }
    Ok(())
}

async fn check_acks(cluster: &Cluster, file: &str) -> Result<usize, AnyError> {
    let text = std::fs::read_to_string(file)?;
    // The last line may have been cut by the kill.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut count = 0;
    for id in whole.lines() {
        let step = cluster.actor::<Transfer>(id)?.ask(Status).await?;
        if !matches!(step, Step::Closed | Step::Refused) {
            return Err(format!("the acknowledged transfer {id} is {step:?}").into());
        }
        count += 1;
    }
    Ok(count)
}

async fn run(options: Options, scratch: &std::path::Path) -> Result<(), AnyError> {
    let backend = match &*options.backend {
        "ractor" => dactor::ractor(),
        "kameo" => {
            return run_on(options, scratch, System::builder("bank").backend(dactor::kameo()).build()?).await;
        }
        other => return Err(format!("the backend {other} is not known: ractor or kameo").into()),
    };
    run_on(options, scratch, System::builder("bank").backend(backend).build()?).await
}

async fn run_on(options: Options, scratch: &std::path::Path, system: System) -> Result<(), AnyError> {
    let cluster = Cluster::builder(&system)
        .engine(engine(&options, scratch).await?)
        .register::<Account>()
        .register::<Transfer>()
        .max_active(10_000)
        .lease(Duration::from_secs(options.lease.into()), Duration::from_millis(100) * options.lease)
        .start()
        .await?;
    for number in 0..ACCOUNTS {
        open(&cluster.actor::<Account>(&format!("account-{number}"))?, options.lease).await?;
    }
    let (sum, driven) = audit(&cluster).await?;
    println!("at the start: {sum} cents, {driven} open transfers driven to their end");
    if let Some(file) = &options.check {
        println!("{} acknowledged transfers are there", check_acks(&cluster, file).await?);
    }
    let open = |file: &String| OpenOptions::new().create(true).append(true).open(file).map(Mutex::new);
    let acks = options.acks.as_ref().map(open).transpose()?;
    let load = Arc::new(Load {
        cluster: cluster.clone(),
        done: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        acks,
    });
    let run = SystemTime::UNIX_EPOCH.elapsed()?.as_nanos();
    let clients: Vec<_> =
        (0..CLIENTS).map(|number| tokio::spawn(client(load.clone(), run, number))).collect();
    let begin = Instant::now();
    let mut before = 0;
    for second in 1..=options.seconds {
        tokio::time::sleep((begin + Duration::from_secs(second)).saturating_duration_since(Instant::now()))
            .await;
        let done = load.done.load(Ordering::Relaxed);
        println!(
            "{second:>3} s  {done:>8} transfers  {:>7}/s  {:>5} active",
            done - before,
            cluster.active()
        );
        before = done;
    }
    load.stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await??;
    }
    let (sum, _) = audit(&cluster).await?;
    if sum != ACCOUNTS * OPENING {
        return Err(format!("{sum} cents instead of {}", ACCOUNTS * OPENING).into());
    }
    system.shutdown().await?;
    println!("transfers {}, invariant holds", load.done.load(Ordering::Relaxed));
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let scratch = std::env::temp_dir().join(format!("dactor-bank-{}", std::process::id()));
    let result = match options() {
        Ok(options) => run(options, &scratch).await,
        Err(error) => Err(error),
    };
    let _ = std::fs::remove_dir_all(&scratch);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bank: {error}");
            ExitCode::FAILURE
        }
    }
}
