use dactor::prelude::*;

struct Account;
impl Actor for Account {}

struct Withdraw;

async fn run(account: ActorRef<Account>) {
    let _ = account.tell(Withdraw);
    let _ = account.ask(Withdraw).await;
}

fn main() {}
