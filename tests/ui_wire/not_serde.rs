use dactor::prelude::*;

#[derive(Message)]
#[message(reply = u64, wire = "bank.Deposit")]
struct Deposit {
    cents: u64,
}

fn main() {}
