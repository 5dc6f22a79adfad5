use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Answer, Config, Ledger, Runs, Transfer};

pub(super) const IDIOM: &str =
    "`ask(..).try_send()` between accounts, `tell(..).try_send()` otherwise; unbounded mailboxes";

struct Account(Ledger);

impl Actor for Account {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(account: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(account)
    }
}

struct Pay {
    amount: i64,
    to: ActorRef<Account>,
    teller: ActorRef<Teller>,
}

impl Message<Pay> for Account {
    type Reply = ();

    async fn handle(&mut self, Pay { amount, to, teller }: Pay, _ctx: &mut Context<Self, ()>) {
        self.0.withdraw(amount);
        to.ask(Deposit(amount)).try_send().await.runs();
        teller.tell(Paid).try_send().runs();
    }
}

struct Deposit(i64);

impl Message<Deposit> for Account {
    type Reply = ();

    async fn handle(&mut self, Deposit(amount): Deposit, _ctx: &mut Context<Self, ()>) {
        self.0.deposit(amount);
    }
}

struct Close;

impl Message<Close> for Account {
    type Reply = Result<Ledger, Infallible>;

    async fn handle(&mut self, Close: Close, ctx: &mut Context<Self, Self::Reply>) -> Self::Reply {
        ctx.stop();
        Ok(self.0)
    }
}

struct Teller {
    config: Config,
    accounts: Vec<ActorRef<Account>>,
    paid: usize,
}

impl Actor for Teller {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(teller: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(teller)
    }
}

struct Start;

impl Message<Start> for Teller {
    type Reply = ();

    async fn handle(&mut self, Start: Start, ctx: &mut Context<Self, ()>) {
        for Transfer { from, to, amount } in self.config.transfers() {
            let (to, teller) = (self.accounts[to].clone(), ctx.actor_ref().clone());
            self.accounts[from].tell(Pay { amount, to, teller }).try_send().runs();
        }
    }
}

struct Paid;

impl Message<Paid> for Teller {
    type Reply = ();

    async fn handle(&mut self, Paid: Paid, ctx: &mut Context<Self, ()>) {
        self.paid += 1;
        if self.paid == self.config.transactions {
            ctx.stop();
        }
    }
}

pub(super) async fn run(config: Config) -> Answer {
    let open = |_| Account::spawn_with_mailbox(Account(Ledger::OPENED), unbounded());
    let accounts: Vec<_> = (0..config.accounts).map(open).collect();
    let teller = Teller { config, accounts: accounts.clone(), paid: 0 };
    let teller = Teller::spawn_with_mailbox(teller, unbounded());
    teller.tell(Start).try_send().runs();
    teller.wait_for_shutdown().await;
    let mut ledgers = Vec::with_capacity(config.accounts);
    for account in &accounts {
        ledgers.push(account.ask(Close).try_send().await.runs());
    }
    Answer::from_ledgers(&ledgers)
}
