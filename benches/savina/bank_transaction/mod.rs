//! Bank Transaction: nested request and reply.
//!
//! The teller tells many accounts to transfer money. An account debits the amount, asks the target account to credit
//! it, handles no other message until it has the reply, and then tells the teller. Money flows only to accounts with
//! a higher number, so no two accounts can wait for each other.
//!
//! The answer is the number of transfers, the total of all balances, and a checksum of the balances.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;

use super::random::savina;
use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    accounts: usize,
    transactions: usize,
}

struct Transfer {
    from: usize,
    to: usize,
    amount: i64,
}

impl Config {
    fn transfers(self) -> impl Iterator<Item = Transfer> {
        const LARGEST: usize = 1_000;
        let mut random = savina(123_456).map(|number| number as usize);
        let mut below = move |limit| random.next().map_or(0, |number| number % limit);
        let transfer = move || {
            let from = below(self.accounts / 10 * 8);
            let to = from + 1 + below(self.accounts - from - 1);
            Transfer { from, to, amount: 1 + below(LARGEST) as i64 }
        };
        std::iter::repeat_with(transfer).take(self.transactions)
    }
}

/// The state of an account.
#[derive(Debug, Clone, Copy)]
struct Ledger {
    transfers: usize,
    balance: i64,
}

impl Ledger {
    const OPENED: Self = Self { transfers: 0, balance: 1_000_000 };

    fn withdraw(&mut self, amount: i64) {
        self.transfers += 1;
        self.balance -= amount;
    }

    fn deposit(&mut self, amount: i64) {
        self.balance += amount;
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    transfers: usize,
    money: i64,
    checksum: i64,
}

impl Answer {
    fn from_ledgers(ledgers: &[Ledger]) -> Self {
        Self {
            transfers: ledgers.iter().map(|ledger| ledger.transfers).sum(),
            money: ledgers.iter().map(|ledger| ledger.balance).sum(),
            checksum: ledgers.iter().zip(1..).map(|(ledger, number)| ledger.balance * number).sum(),
        }
    }
}

pub(crate) struct BankTransaction;

impl Benchmark for BankTransaction {
    const NAME: &'static str = "bank_transaction";
    const ABOUT: &'static str = "Accounts transfer money for a teller, each waiting for the other's reply.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = Answer;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { accounts: 1_000, transactions: 50_000 },
            Scale::Quick => Config { accounts: 20, transactions: 500 },
        }
    }

    fn expected(config: Config) -> Answer {
        let mut ledgers = vec![Ledger::OPENED; config.accounts];
        for Transfer { from, to, amount } in config.transfers() {
            ledgers[from].withdraw(amount);
            ledgers[to].deposit(amount);
        }
        Answer::from_ledgers(&ledgers)
    }

    async fn dactor(system: &System, config: Config) -> Answer {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> Answer {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> Answer {
        kameo::run(config).await
    }
}
