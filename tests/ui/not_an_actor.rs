use dactor::prelude::*;

struct Account;

struct Bank {
    account: ActorRef<Account>,
}

async fn run(system: System) {
    let _ = system.spawn(Account).await;
    let _ = system.spawn(|| Account).await;
}

fn main() {}
