//! Spawns and asks where a future is expected.

use dactor::prelude::*;
use futures_util::future::join_all;

struct Counter(u64);
impl Actor for Counter {}

#[derive(Message)]
#[message(reply = u64)]
struct Add(u64);

impl Handler<Add> for Counter {
    async fn handle(&mut self, Add(number): Add, _ctx: &mut Context<Self>) -> Outcome<u64> {
        self.0 += number;
        Ok(self.0)
    }
}

#[test]
fn a_spawn_and_an_ask_are_futures() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let system = System::new("futures");
    let counter = runtime.block_on(system.spawn(Counter(0)).name("a")).unwrap();
    assert_eq!(runtime.block_on(counter.ask(Add(1))).unwrap(), 1);
    runtime.block_on(async {
        let other = tokio::spawn(system.spawn(|| Counter(10))).await.unwrap().unwrap();
        let pending = other.ask(Add(1)).enqueue().unwrap();
        assert_eq!(tokio::spawn(pending).await.unwrap().unwrap(), 11);
        let asker = other.clone();
        assert_eq!(tokio::spawn(async move { asker.ask(Add(1)).await }).await.unwrap().unwrap(), 12);
        let both = [counter, other];
        let replies = join_all(both.iter().map(|counter| counter.ask(Add(1)))).await;
        assert_eq!(replies.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [2, 13]);
        let born = join_all((0..3).map(|number| system.spawn(Counter(number)))).await;
        assert!(born.iter().all(Result::is_ok));
    });
    runtime.block_on(system.shutdown()).unwrap();
}
