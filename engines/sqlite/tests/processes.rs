//! Several processes on one database. The tests start this test binary again as their children.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Scratch, entity, join, own};
use dactor_engine::{Claim, ClaimToken, Engine, ErrorKind, Etag, Generation, MemberState, Reaper};
use dactor_sqlite::Sqlite;

const DIRECTORY: &str = "DACTOR_SQLITE_TEST_DIRECTORY";

/// Not a test: what the children run.
#[tokio::test]
async fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let engine = Engine::from(Sqlite::open(directory).unwrap());
    let node = join(&engine).await;
    let id = entity("alice");
    let (generation, opened) = own(&engine, &node, &id).await;
    say(&format!("owner {generation}"));
    let mut number: u64 = opened.body.map_or(0, |body| std::str::from_utf8(&body).unwrap().parse().unwrap());
    let mut read = opened.etag;
    loop {
        number += 1;
        let new = Etag::random();
        if let Err(error) = engine.state.save(&id, generation, read, new, number.to_string().into()).await {
            say(&format!("ended {:?}", error.kind()));
            return;
        }
        read = Some(new);
        say(&format!("acked {number}"));
    }
}

fn say(line: &str) {
    // Not captured by the test harness, and written at once.
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Process {
    fn start(directory: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(DIRECTORY, directory);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The rest of the next line that starts with this word.
    fn next(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            // The harness writes to the same line.
            if let Some(at) = line.find(word) {
                return line[at + word.len()..].trim().to_owned();
            }
            line.clear();
        }
        panic!("the child ended without {word:?}")
    }

    fn generation(&mut self) -> Generation {
        Generation::new(self.next("owner ").parse().unwrap()).unwrap()
    }

    /// Kills the process, and returns the last number that it acknowledged.
    fn kill(mut self) -> u64 {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut rest = String::new();
        let mut last = 0;
        while self.lines.read_line(&mut rest).unwrap() > 0 {
            if let Some(number) = rest.strip_prefix("acked ").filter(|_| rest.ends_with('\n')) {
                last = number.trim().parse().unwrap();
            }
            rest.clear();
        }
        last
    }
}

#[tokio::test]
async fn a_killed_process_loses_nothing_and_is_replaced_at_once() {
    let scratch = Scratch::new("killed");
    let mut previous = 0;
    for round in 1..=5_u64 {
        let mut process = Process::start(scratch.path());
        let generation = process.generation();
        // One by the child, one by this process, in each round.
        assert_eq!(generation.get(), 2 * round - 1);
        for _ in 0..round * 7 {
            process.next("acked ");
        }
        let acknowledged = process.kill();
        let start = Instant::now();
        let engine = Engine::from(Sqlite::open(scratch.path()).unwrap());
        let evicted = Reaper::new().reap(&*engine.membership, "bank").await.unwrap();
        assert_eq!(evicted.len(), 1, "the lock of a killed process proves its death");
        let node = join(&engine).await;
        let (next, opened) = own(&engine, &node, &entity("alice")).await;
        assert!(start.elapsed() < Duration::from_secs(5), "well under the TTL: {:?}", start.elapsed());
        assert!(next > generation);
        let body = opened.body.unwrap();
        let stored: u64 = std::str::from_utf8(&body).unwrap().parse().unwrap();
        assert!(stored >= acknowledged, "round {round}: {acknowledged} was acknowledged, {stored} is stored");
        assert!(stored > previous, "round {round}");
        previous = stored;
        engine.membership.leave(&node).await.unwrap();
    }
}

#[tokio::test]
async fn processes_respect_each_other() {
    let scratch = Scratch::new("respect");
    let mut process = Process::start(scratch.path());
    let theirs = process.generation();
    let engine = Engine::from(Sqlite::open(scratch.path()).unwrap());
    let node = join(&engine).await;
    let (id, token) = (entity("alice"), ClaimToken::random());
    let claim = engine.directory.claim(&id, &node, token).await.unwrap();
    let Claim::OwnedElsewhere { owner, generation } = claim else { panic!("{claim:?}") };
    assert_eq!(generation, theirs);
    let members = engine.membership.members("bank").await.unwrap();
    let member = members.iter().find(|member| member.node == owner).unwrap();
    assert_eq!(member.state, MemberState::Alive);
    assert!(Reaper::new().reap(&*engine.membership, "bank").await.unwrap().is_empty());
    process.next("acked ");

    // Its death is recorded, as after a lost lease, while the process still saves: the open ends that.
    let leases = rusqlite::Connection::open(scratch.join("lease.db")).unwrap();
    leases
        .execute("UPDATE members SET dead = TRUE WHERE incarnation = ?1", [owner.incarnation().get()])
        .unwrap();
    let claim = engine.directory.claim(&id, &node, token).await.unwrap();
    let Claim::Granted(mine) = claim else { panic!("{claim:?}") };
    assert!(mine > theirs);
    let opened = engine.state.open(&id, mine, token).await.unwrap();
    assert_eq!(process.next("ended "), format!("{:?}", ErrorKind::Fenced));
    assert_eq!(engine.state.read(&id).await.unwrap().unwrap().etag, opened.etag);
    process.child.wait().unwrap();
}
