//! Races and lost answers, forced: each is an interleaving that a test brings about by locks, or by a proxy that cuts a
//! connection. The engine survives all of them, and deliberately broken variants do not.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use common::broken::{Broken, read_back};
use common::proxy::{Cut, Proxy};
use common::{Schema, entity, join, own};
use dactor_conformance::engine::{EngineRule, EngineSubject, TestStore, check, rules};
use dactor_engine::settle::{self, Repetition, Write};
use dactor_engine::{
    Claim, ClaimToken, Engine, EntityId, ErrorKind, Etag, Eviction, Generation, NodeId, Statement,
    StorageError,
};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio_postgres::Client;

/// A forced interleaving.
struct Race {
    id: &'static str,
    /// The broken variants that do not survive it.
    catches: &'static [&'static str],
    /// What the test says then.
    says: &'static str,
    run: fn(Case) -> Pin<Box<dyn Future<Output = ()>>>,
}

/// The database and the engine, of which some operations may be broken.
struct Case {
    schema: Schema,
    engine: Engine,
    flaw: Option<&'static str>,
}

macro_rules! race {
    ($id:literal, $catches:expr, $says:literal, $function:ident) => {
        Race { id: $id, catches: &$catches, says: $says, run: |case| Box::pin($function(case)) }
    };
}

static RACES: &[Race] = &[
    race!("R1-two-claims-at-once", ["select-then-update"], "the winners", two_claims),
    race!(
        "R2-an-owner-that-joins-during-a-claim",
        ["liveness-by-absence"],
        "owns it and is alive",
        owner_joins
    ),
    race!(
        "R3-an-owner-that-renews-during-a-claim",
        ["liveness-by-deadline"],
        "owns it and is alive",
        owner_renews
    ),
    race!(
        "R4-a-renewal-that-commits-late",
        ["liveness-by-deadline", "liveness-by-now"],
        "owns it and is alive",
        renewal_commits_late
    ),
    race!("R5-a-claim-that-waits", ["generation-from-a-sequence"], "after", claim_waits),
    race!("U1-an-answer-that-is-lost", ["loss-is-failure"], "the verdict", answer_lost),
    race!("U2-a-save-that-lands-later", ["read-back", "loss-is-failure"], "the verdict", lands_later),
    race!("U3-a-commit-whose-answer-is-lost", [], "", commit_lost),
    race!("U4-a-claim-and-an-open-whose-answers-are-lost", [], "", claim_lost),
];

/// Flaws that rules of the kit catch without a forced interleaving.
static OF_THE_KIT: &[(&str, &str)] = &[
    ("ENGINE-01", "select-then-update"),
    ("ENGINE-04", "liveness-by-deadline"),
    ("ENGINE-04", "liveness-by-now"),
    ("ENGINE-02", "generation-from-a-sequence"),
];

fn main() -> ExitCode {
    if common::server::skipped() {
        return ExitCode::SUCCESS;
    }
    let mut trials = Vec::new();
    for race in RACES {
        trials.push(Trial::test(race.id, || run(race, None).map_err(Failed::from)));
        for flaw in race.catches {
            let missed = move || match run(race, Some(flaw)) {
                Err(text) if text.contains(race.says) => Ok(()),
                other => Err(Failed::from(format!("{flaw} was not detected: {other:?}"))),
            };
            trials.push(Trial::test(format!("broken {flaw}::{}", race.id), missed));
        }
    }
    for (id, flaw) in OF_THE_KIT {
        trials.push(Trial::test(format!("broken {flaw}::{id}"), || caught_by_the_kit(id, flaw)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn run(race: &'static Race, flaw: Option<&'static str>) -> Result<(), String> {
    silence_expected_panics();
    let name = if flaw.is_some() { QUIET } else { "race" };
    let body = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let result = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                let case = Case::new(flaw).await;
                let limit = Duration::from_secs(40);
                tokio::time::timeout(limit, (race.run)(case)).await.expect("the race ends");
            });
        }));
        runtime.shutdown_background();
        result.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        })
    };
    let thread = thread::Builder::new().name(name.into()).spawn(body).expect("a thread");
    thread.join().unwrap_or_else(|_| Err("the thread panicked".into()))
}

const QUIET: &str = "broken-variant";

fn silence_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(QUIET) {
                hook(panic);
            }
        }));
    });
}

fn caught_by_the_kit(id: &str, flaw: &'static str) -> Result<(), Failed> {
    let rule: &'static EngineRule = rules().find(|rule| rule.id == id).ok_or("no such rule")?;
    match check(rule, &BrokenSubject(flaw), 30, true) {
        Err(text) if text.contains(id) => Ok(()),
        other => Err(Failed::from(format!("{flaw} was not detected: {other:?}"))),
    }
}

struct BrokenSubject(&'static str);

impl EngineSubject for BrokenSubject {
    fn name(&self) -> &'static str {
        self.0
    }

    fn store(&self) -> Arc<dyn TestStore> {
        Arc::new(BrokenStore(self.0, Schema::new()))
    }
}

struct BrokenStore(&'static str, Schema);

#[async_trait::async_trait]
impl TestStore for BrokenStore {
    async fn open(&self) -> Engine {
        Broken::engine(self.0, &self.1).await
    }

    async fn advance(&self, by: Duration) {
        self.1.advance(by).await;
    }
}

impl Case {
    async fn new(flaw: Option<&'static str>) -> Self {
        let schema = Schema::new();
        let engine = match flaw {
            Some(flaw) => Broken::engine(flaw, &schema).await,
            None => schema.open().await.into(),
        };
        Self { schema, engine, flaw }
    }

    /// Waits until so many statements on this schema wait for locks.
    async fn until_waiting(&self, count: i64) {
        let client = self.schema.client().await;
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
        let pattern = format!("%{}%", self.schema.name);
        for _ in 0..3000 {
            let waiting: i64 = client.query_one(sql, &[&pattern]).await.expect("the activity").get(0);
            if waiting >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("fewer than {count} statements wait");
    }

    /// A session that has locked the placement of an entity.
    async fn lock_placement(&self, id: &EntityId) -> Client {
        let client = self.schema.client().await;
        client.batch_execute("BEGIN").await.expect("a transaction");
        let sql = format!("SELECT FROM {}.directory WHERE key = $1 FOR UPDATE", self.schema.name);
        assert_eq!(client.execute(&sql, &[&id.key()]).await.expect("a lock"), 1);
        client
    }

    fn claim(&self, id: &EntityId, node: &NodeId) -> tokio::task::JoinHandle<Result<Claim, StorageError>> {
        let (engine, id, node) = (self.engine.clone(), id.clone(), node.clone());
        tokio::spawn(async move { engine.directory.claim(&id, &node, ClaimToken::random()).await })
    }

    async fn run(&self, client: &Client, sql: &str) {
        client.batch_execute(&sql.replace('@', &self.schema.name)).await.expect("the script runs");
    }

    /// The lease of a node ends after this time, and its renewal prolongs it by 10 s.
    async fn expire_in(&self, node: &NodeId, milliseconds: u32) {
        let number = node.incarnation().get();
        let client = self.schema.client().await;
        let sql = format!(
            "UPDATE @.members SET deadline = clock_timestamp() + {milliseconds} * interval '1 ms' WHERE incarnation = {number}"
        );
        self.run(&client, &sql).await;
    }

    /// Waits, on the clock of the server.
    async fn sleep(&self, milliseconds: u32) {
        self.run(&self.schema.client().await, &format!("SELECT pg_sleep({milliseconds} / 1000.0)")).await;
    }
}

fn granted(claim: Result<Claim, StorageError>) -> Generation {
    match claim {
        Ok(Claim::Granted(generation)) => generation,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn is_owned_by(claim: Result<Claim, StorageError>, node: &NodeId) {
    match claim {
        Ok(Claim::OwnedElsewhere { owner, .. }) if owner == *node => {}
        other => panic!("{other:?}, but {node} owns it and is alive"),
    }
}

/// A free entity, which was claimed before.
async fn free(case: &Case, node: &NodeId) -> (EntityId, Generation) {
    let id = entity("raced");
    let generation = granted(case.engine.directory.claim(&id, node, ClaimToken::random()).await);
    assert!(case.engine.directory.release(&id, generation).await.expect("a release"));
    (id, generation)
}

async fn two_claims(case: Case) {
    let nodes = [join(&case.engine).await, join(&case.engine).await];
    let (id, _) = free(&case, &nodes[0]).await;
    let lock = case.lock_placement(&id).await;
    let claims = nodes.each_ref().map(|node| case.claim(&id, node));
    // Both have read what they read, and wait for the row.
    case.until_waiting(2).await;
    case.run(&lock, "COMMIT").await;
    let mut winners = Vec::new();
    for claim in claims {
        if let Claim::Granted(generation) = claim.await.expect("a task").expect("an answer") {
            winners.push(generation);
        }
    }
    assert_eq!(winners.len(), 1, "the winners: {winners:?}");
}

async fn owner_joins(case: Case) {
    let claimant = join(&case.engine).await;
    let (id, _) = free(&case, &claimant).await;
    let lock = case.lock_placement(&id).await;
    let claim = case.claim(&id, &claimant);
    case.until_waiting(1).await;
    // After the snapshot of the claim, a node joins and gets the entity.
    let owner = join(&case.engine).await;
    let number = owner.incarnation().get();
    let sql = format!(
        "UPDATE @.directory SET owner = {number}, address = 'localhost:1', token = gen_random_uuid(),
            generation = generation + 1; COMMIT"
    );
    case.run(&lock, &sql).await;
    is_owned_by(claim.await.expect("a task"), &owner);
}

async fn owner_renews(case: Case) {
    let (owner, claimant) = (join(&case.engine).await, join(&case.engine).await);
    let id = entity("raced");
    granted(case.engine.directory.claim(&id, &owner, ClaimToken::random()).await);
    let lock = case.lock_placement(&id).await;
    case.expire_in(&owner, 1500).await;
    let claim = case.claim(&id, &claimant);
    case.until_waiting(1).await;
    case.engine.membership.renew(&owner).await.expect("a renewal in time");
    // The deadline that the claim can see passes.
    case.sleep(1600).await;
    case.run(&lock, "COMMIT").await;
    is_owned_by(claim.await.expect("a task"), &owner);
}

async fn renewal_commits_late(case: Case) {
    let (owner, claimant) = (join(&case.engine).await, join(&case.engine).await);
    let id = entity("raced");
    granted(case.engine.directory.claim(&id, &owner, ClaimToken::random()).await);
    case.expire_in(&owner, 1500).await;
    let renewal = case.schema.client().await;
    // The statement of a renewal, whose commit takes its time.
    let sql = format!(
        "BEGIN; UPDATE @.members SET deadline = clock_timestamp() + interval '10 s', renewals = renewals + 1
            WHERE incarnation = {} AND died IS NULL AND deadline > clock_timestamp()",
        owner.incarnation().get()
    );
    case.run(&renewal, &sql).await;
    case.sleep(1600).await;
    let (engine, node) = (case.engine.clone(), owner.clone());
    let eviction = tokio::spawn(async move { engine.membership.evict(&node, 0).await });
    case.until_waiting(1).await;
    is_owned_by(case.claim(&id, &claimant).await.expect("a task"), &owner);
    case.run(&renewal, "COMMIT").await;
    assert_eq!(eviction.await.expect("a task").expect("an answer"), Eviction::Alive);
    case.engine.membership.renew(&owner).await.expect("the renewal was in time");
    is_owned_by(case.claim(&id, &claimant).await.expect("a task"), &owner);
}

async fn claim_waits(case: Case) {
    let nodes = [join(&case.engine).await, join(&case.engine).await];
    let (id, _) = free(&case, &nodes[0]).await;
    let lock = case.lock_placement(&id).await;
    let claim = case.claim(&id, &nodes[0]);
    case.until_waiting(1).await;
    // In the meantime others own and release the entity, with higher generations.
    let sequence = case.flaw == Some("generation-from-a-sequence");
    let generation = if sequence { "nextval('@.numbers')" } else { "generation + 5" };
    let sql = format!("UPDATE @.directory SET generation = {generation} RETURNING generation");
    let last = lock.query_one(&sql.replace('@', &case.schema.name), &[]).await.expect("a row");
    let last = u64::try_from(last.get::<_, i64>(0)).expect("a generation");
    case.run(&lock, "COMMIT").await;
    let after = granted(claim.await.expect("a task"));
    assert!(after.get() > last, "generation {after} after {last}");
}

/// An engine behind a proxy, with an open state that was saved once.
struct BehindProxy {
    proxy: Proxy,
    engine: Engine,
    id: EntityId,
    node: NodeId,
    generation: Generation,
    etag: Etag,
}

impl BehindProxy {
    async fn new(case: &Case) -> Self {
        let proxy = Proxy::start(&case.schema.url).await;
        let postgres = dactor_postgres::Postgres::builder(&proxy.config).schema(&case.schema.name);
        let engine = Engine::from(postgres.open().await.expect("the database opens through the proxy"));
        let (node, id) = (join(&case.engine).await, entity("saved"));
        let (generation, _) = own(&engine, &node, &id).await;
        // Prepares the statement, so that the cut meets the save itself.
        let etag = Etag::random();
        engine.state.save(&id, generation, None, etag, "first".into()).await.expect("a save");
        Self { proxy, engine, id, node, generation, etag }
    }

    fn write(&self) -> Write {
        Write {
            id: self.id.clone(),
            generation: self.generation,
            read: Some(self.etag),
            new: Etag::random(),
            body: Some("second".into()),
        }
    }
}

/// How the variants settle a save. `Ok(false)` is the verdict that it was not saved.
async fn settled(flaw: Option<&str>, engine: &Engine, write: &Write) -> Result<bool, StorageError> {
    let Write { id, generation, read, new, body } = write.clone();
    let body = body.expect("a body");
    match flaw {
        None => {
            let repetition = Repetition::default().most(20);
            settle::write(&*engine.state, write, &repetition).await.map(|()| true)
        }
        Some("read-back") => read_back(engine, write).await,
        Some(_) => match engine.state.save(&id, generation, read, new, body).await {
            Ok(()) => Ok(true),
            Err(_) => Ok(false),
        },
    }
}

async fn answer_lost(case: Case) {
    let behind = BehindProxy::new(&case).await;
    let write = behind.write();
    behind.proxy.cut_next(Cut::AfterTheAnswer);
    let saved = settled(case.flaw, &behind.engine, &write).await.expect("it is settled");
    assert!(behind.proxy.has_cut(), "the proxy has cut nothing");
    let stored = case.engine.state.read(&behind.id).await.expect("a read").expect("a state");
    assert_eq!(saved, stored.etag == Some(write.new), "the verdict");
    assert_eq!(stored.body.as_deref(), Some(&b"second"[..]));
}

async fn lands_later(case: Case) {
    let behind = BehindProxy::new(&case).await;
    let write = behind.write();
    let lock = case.schema.client().await;
    case.run(&lock, "BEGIN; SELECT FROM @.state FOR UPDATE").await;
    behind.proxy.cut_next(Cut::AfterTheRequest);
    let (engine, flaw, copy) = (behind.engine.clone(), case.flaw, write.clone());
    let settling = tokio::spawn(async move { settled(flaw, &engine, &copy).await });
    // The save is in the server, and its client is gone. The repetition waits behind it, or the verdict was made.
    case.until_waiting(1).await;
    if case.flaw.is_none() {
        case.until_waiting(2).await;
    } else {
        while !settling.is_finished() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert!(behind.proxy.has_cut(), "the proxy has cut nothing");
    case.run(&lock, "COMMIT").await;
    let saved = settling.await.expect("a task").expect("it is settled");
    // The last copy has ended when no statement runs.
    let client = case.schema.client().await;
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()";
    while client
        .query_one(sql, &[&format!("%UPDATE%{}%", case.schema.name)])
        .await
        .expect("a count")
        .get::<_, i64>(0)
        > 0
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let stored = case.engine.state.read(&behind.id).await.expect("a read").expect("a state");
    assert_eq!(saved, stored.etag == Some(write.new), "the verdict");
}

async fn commit_lost(case: Case) {
    let behind = BehindProxy::new(&case).await;
    let sql = behind.engine.sql.clone().expect("SQL");
    let table = format!("CREATE TABLE {}.log (number BIGINT)", case.schema.name);
    let insert = format!("INSERT INTO {}.log VALUES ($1)", case.schema.name);
    let also: Arc<[Statement]> = Arc::new([Statement::new(table)]);
    let mut read = Etag::random();
    let BehindProxy { id, generation, .. } = &behind;
    sql.save_with(id, *generation, Some(behind.etag), read, "x".into(), also).await.expect("a table");
    for (number, cut) in
        [(1, None), (2, Some(Cut::AfterTheAnswer)), (3, None), (4, Some(Cut::AfterTheRequest))]
    {
        let write = Write { read: Some(read), new: Etag::random(), ..behind.write() };
        let also: Arc<[Statement]> = Arc::new([Statement::new(insert.clone()).bind(number)]);
        if let Some(cut) = cut {
            behind.proxy.cut_next_containing("COMMIT", cut);
        }
        let repetition = Repetition::default().most(20);
        settle::write_with(&*sql, &write, &also, &repetition).await.expect("it is settled");
        assert_eq!(behind.proxy.has_cut(), cut.is_some(), "{number}");
        read = write.new;
    }
    let client = case.schema.client().await;
    let numbers =
        client.query(&format!("SELECT number FROM {}.log ORDER BY number", case.schema.name), &[]).await;
    let numbers: Vec<i64> = numbers.expect("rows").iter().map(|row| row.get(0)).collect();
    assert_eq!(numbers, [1, 2, 3, 4], "each statement once");
}

async fn claim_lost(case: Case) {
    let behind = BehindProxy::new(&case).await;
    let (id, token) = (entity("claimed"), ClaimToken::random());
    // Prepares the statements on the connection that is used next.
    own(&behind.engine, &behind.node, &entity("other")).await;
    for cut in [Cut::AfterTheAnswer, Cut::AfterTheRequest] {
        behind.proxy.cut_next(cut);
        let lost = behind.engine.directory.claim(&id, &behind.node, token).await;
        assert_eq!(lost.expect_err("the answer is lost").kind(), ErrorKind::UnknownOutcome);
        assert!(behind.proxy.has_cut());
        let generation = granted(behind.engine.directory.claim(&id, &behind.node, token).await);
        assert_eq!(generation, Generation::FIRST, "the same claim");
        behind.engine.state.open(&id, generation, token).await.expect("an open");
        behind.proxy.cut_next(cut);
        let lost = behind.engine.state.open(&id, generation, token).await;
        assert_eq!(lost.expect_err("the answer is lost").kind(), ErrorKind::UnknownOutcome);
        assert!(behind.proxy.has_cut());
        behind.engine.state.open(&id, generation, token).await.expect("the same open");
        own(&behind.engine, &behind.node, &entity("other")).await;
    }
}
