use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use super::{Answer, Config, Ledger, Runs, Transfer};

pub(super) const IDIOM: &str = "`call!` without a timeout between accounts, `cast` from and to the teller";

struct Account;

enum ToAccount {
    Pay { amount: i64, to: ActorRef<ToAccount>, teller: ActorRef<ToTeller> },
    Deposit(i64, RpcReplyPort<()>),
    Close(RpcReplyPort<Ledger>),
}

impl Actor for Account {
    type Msg = ToAccount;
    type State = Ledger;
    type Arguments = Ledger;

    async fn pre_start(
        &self,
        _myself: ActorRef<ToAccount>,
        ledger: Ledger,
    ) -> Result<Ledger, ActorProcessingErr> {
        Ok(ledger)
    }

    async fn handle(
        &self,
        myself: ActorRef<ToAccount>,
        message: ToAccount,
        ledger: &mut Ledger,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToAccount::Pay { amount, to, teller } => {
                ledger.withdraw(amount);
                call!(to, ToAccount::Deposit, amount)?;
                teller.cast(ToTeller::Paid)?;
            }
            ToAccount::Deposit(amount, reply) => {
                ledger.deposit(amount);
                reply.send(())?;
            }
            ToAccount::Close(reply) => {
                reply.send(*ledger)?;
                myself.stop(None);
            }
        }
        Ok(())
    }
}

struct Teller {
    config: Config,
    accounts: Vec<ActorRef<ToAccount>>,
}

enum ToTeller {
    Start,
    Paid,
}

impl Actor for Teller {
    type Msg = ToTeller;
    type State = usize;
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<ToTeller>, (): ()) -> Result<usize, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(
        &self,
        myself: ActorRef<ToTeller>,
        message: ToTeller,
        paid: &mut usize,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToTeller::Start => {
                for Transfer { from, to, amount } in self.config.transfers() {
                    let (to, teller) = (self.accounts[to].clone(), myself.clone());
                    self.accounts[from].cast(ToAccount::Pay { amount, to, teller })?;
                }
            }
            ToTeller::Paid => {
                *paid += 1;
                if *paid == self.config.transactions {
                    myself.stop(None);
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> Answer {
    let mut accounts = Vec::with_capacity(config.accounts);
    for _ in 0..config.accounts {
        let (account, _) = Actor::spawn(None, Account, Ledger::OPENED).await.runs();
        accounts.push(account);
    }
    let teller = Teller { config, accounts: accounts.clone() };
    let (teller, teller_task) = Actor::spawn(None, teller, ()).await.runs();
    teller.cast(ToTeller::Start).runs();
    teller_task.await.runs();
    let mut ledgers = Vec::with_capacity(config.accounts);
    for account in &accounts {
        ledgers.push(call!(account, ToAccount::Close).runs());
    }
    Answer::from_ledgers(&ledgers)
}
