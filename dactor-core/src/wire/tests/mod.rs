//! Messages between two simulated processes: the test passes the bytes.

mod bad_input;
mod incoming;
mod outgoing;
mod refs;
mod streams;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize, Serializer};
use tokio::sync::Notify;

use crate::interceptors::testbed::system;
use crate::spi::{ReplyReturn, ReplyTo};
use crate::wire::{Accepts, Arriving, Opened, Remote};
use crate::{
    Actor, ActorRef, Codec, Context, Error, Exclusive, Failure, Handler, Headers, Message, Mode, Outcome,
    Result, Wire,
};

/// Adds up its deposits; other messages test failures.
#[derive(Default)]
struct Account {
    balance: u64,
    gate: Option<Arc<Notify>>,
}

impl Actor for Account {}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Deposit {
    cents: u64,
}

/// Fails, panics or hangs.
#[derive(Debug, Serialize, Deserialize)]
enum Fault {
    Fail,
    Panic,
    /// Waits for the gate.
    Wait,
}

/// Its reply cannot be encoded.
#[derive(Debug, Serialize, Deserialize)]
struct Odd;

#[derive(Debug, Deserialize)]
struct OddReply;

impl Serialize for OddReply {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("an odd reply"))
    }
}

/// Stays in the process.
#[derive(Debug)]
struct Inside;

macro_rules! messages {
    ($($message:ident, $reply:ty, $wire:expr;)*) => {
        $(impl Message for $message {
            type Reply = $reply;
            type Access = Exclusive;
            const WIRE: Option<Wire<Self>> = $wire;
        })*
    };
}

messages! {
    Deposit, u64, Some(Wire::serde("bank.Deposit"));
    Fault, u64, Some(Wire::serde("bank.Fault"));
    Odd, OddReply, Some(Wire::serde("bank.Odd"));
    Inside, u64, None;
}

impl Handler<Deposit> for Account {
    async fn handle(&mut self, deposit: Deposit, _: &mut Context<Self>) -> Outcome<u64> {
        self.balance += deposit.cents;
        Ok(self.balance)
    }
}

impl Handler<Fault> for Account {
    async fn handle(&mut self, fault: Fault, ctx: &mut Context<Self>) -> Outcome<u64> {
        match fault {
            Fault::Fail => Err(Failure::new("a fault")),
            Fault::Panic => panic!("a panic"),
            Fault::Wait => {
                let gate = self.gate.clone().unwrap();
                gate.notify_one();
                ctx.cancelled().await;
                gate.notify_one();
                Ok(0)
            }
        }
    }
}

impl Handler<Odd> for Account {
    async fn handle(&mut self, Odd: Odd, _: &mut Context<Self>) -> Outcome<OddReply> {
        Ok(OddReply)
    }
}

impl Handler<Inside> for Account {
    async fn handle(&mut self, Inside: Inside, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.balance)
    }
}

impl Remote for Account {
    const TYPE: &'static str = "bank.Account";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<Deposit>().message::<Fault>().message::<Odd>();
    }
}

type Answer = (u64, Result<Vec<u8>>, Headers);

/// Records replies.
#[derive(Default)]
struct Back {
    answers: Mutex<VecDeque<Answer>>,
    came: Notify,
}

impl ReplyReturn for Back {
    fn reply(&self, correlation: u64, answer: Result<&[u8], &Error>, headers: &Headers) {
        let answer = answer.map(<[u8]>::to_vec).map_err(Clone::clone);
        self.answers.lock().unwrap().push_back((correlation, answer, headers.clone()));
        self.came.notify_one();
    }

    fn codec(&self) -> Codec {
        Codec::Json
    }
}

impl Back {
    async fn next(&self) -> Answer {
        loop {
            if let Some(answer) = self.now() {
                return answer;
            }
            self.came.notified().await;
        }
    }

    /// The error of the next reply.
    async fn error(&self) -> Error {
        self.next().await.1.unwrap_err()
    }

    fn now(&self) -> Option<Answer> {
        self.answers.lock().unwrap().pop_front()
    }
}

/// An ask with correlation id 7.
fn ask<'a>(payload: &'a [u8], back: &Arc<Back>) -> Arriving<'a> {
    Arriving { mode: Mode::Ask, reply_to: Some(ReplyTo::new(back.clone(), 7)), ..tell(payload) }
}

fn tell(payload: &[u8]) -> Arriving<'_> {
    Arriving {
        mode: Mode::Tell,
        payload,
        codec: Codec::Json,
        headers: Headers::default(),
        deadline: None,
        reply_to: None,
        window: 4,
    }
}

fn open(name: &str, arriving: Arriving<'_>) -> Result<Opened<Account>> {
    Accepts::<Account>::of().unwrap().open(name, arriving)
}

async fn account() -> ActorRef<Account> {
    system(|builder| builder).spawn(Account::default()).await.unwrap()
}
