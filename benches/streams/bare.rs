//! The baseline: a bare channel.

use tokio::sync::mpsc;

use super::CAPACITY;

/// One task sends, another receives.
pub(super) async fn channel(items: u64) -> u64 {
    let (tx, mut rx) = mpsc::channel(CAPACITY);
    tokio::spawn(async move {
        for item in 0..items {
            tx.send(item).await.expect("a receiver");
        }
    });
    let mut sum = 0;
    while let Some(item) = rx.recv().await {
        sum += item;
    }
    sum
}

/// One task sends and receives, another doubles.
pub(super) async fn transform(items: u64) -> u64 {
    let (tx, mut input) = mpsc::channel(CAPACITY);
    let (out, mut rx) = mpsc::channel(CAPACITY);
    tokio::spawn(async move {
        while let Some(item) = input.recv().await {
            let item: u64 = item;
            out.send(item * 2).await.expect("a receiver");
        }
    });
    let feed = async move {
        for item in 0..items {
            tx.send(item).await.expect("a receiver");
        }
    };
    let drain = async move {
        let mut sum = 0;
        while let Some(item) = rx.recv().await {
            sum += item;
        }
        sum
    };
    let ((), sum) = tokio::join!(feed, drain);
    sum
}
