use dactor::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Message)]
#[message(wire = "")]
struct Empty;

#[derive(Serialize, Deserialize, Message)]
#[message(wire = Deposit)]
struct NoText;

#[derive(Serialize, Deserialize, Message)]
#[message(wire = "bank.Put")]
struct Put<T> {
    value: T,
}

fn main() {}
