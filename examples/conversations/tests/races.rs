//! The three tests that actors are for. Each passes on actors, and fails on the naive path: both are asserted.

mod support;

use conversations::load::races::{Race, Unread, add_members, send_and_read};
use conversations::serve::Limits;
use conversations::service::Path;
use support::{Data, Running, postgres};

/// The naive path is not wrong in each run.
const ROUNDS: usize = 20;

async fn on(data: &Data) {
    let server = Running::start(data.settings(), Limits::default()).await;
    let address = &*server.address;
    concurrent_adds(address).await;
    concurrent_sends_and_reads(address).await;
    a_hundred_requests(address).await;
    server.stop().await;
}

/// Ten requests at once enter the epochs 1 to 10.
async fn concurrent_adds(address: &str) {
    let mut broken = Vec::new();
    for _ in 0..ROUNDS {
        let race = add_members(address, Path::Actors, 10).await.unwrap();
        assert!(race.is_clean() && race.retries == 0, "{race:?}");
        assert_eq!((race.duplicates(), race.lost()), (0, 0));
        let race = add_members(address, Path::Naive, 10).await.unwrap();
        if !race.is_clean() {
            broken.push(race);
        }
    }
    println!("10 adds: {} of {ROUNDS} rounds of the naive path are wrong", broken.len());
    assert!(broken.iter().any(|race| race.duplicates() > 0), "the naive path has no duplicate epochs");
    assert!(broken.iter().any(|race| race.lost() > 0), "the naive path has lost no update");
}

/// Fifty messages at once, each read after it was sent, leave nothing unread.
async fn concurrent_sends_and_reads(address: &str) {
    let (mut counts, mut numbers) = (0, 0);
    for _ in 0..ROUNDS {
        let Unread { unread, duplicates } = send_and_read(address, Path::Actors, 50).await.unwrap();
        assert_eq!((unread, duplicates), (0, 0));
        let naive = send_and_read(address, Path::Naive, 50).await.unwrap();
        counts += usize::from(naive.unread != 0);
        numbers += naive.duplicates;
        if counts > 0 && numbers > 0 {
            break;
        }
    }
    println!("50 sends and reads: {counts} wrong counts and {numbers} duplicate numbers on the naive path");
    assert!(counts > 0, "the naive path counts right");
    assert!(numbers > 0, "the naive path numbers right");
}

/// A hundred requests at once all succeed, without a retry.
async fn a_hundred_requests(address: &str) {
    let race = add_members(address, Path::Actors, 100).await.unwrap();
    assert!(race.is_clean() && race.retries == 0, "{race:?}");
    let naive: Race = add_members(address, Path::Naive, 100).await.unwrap();
    assert!(!naive.is_clean(), "the naive path is right");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_sqlite() {
    on(&Data::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_postgres() {
    if let Some(server) = postgres() {
        on(&Data::postgres(&server)).await;
    }
}
