#![deny(unused_must_use)]

use dactor::prelude::*;

struct Account;
impl Actor for Account {}

async fn forgotten(system: System) {
    system.spawn(Account);
}

fn main() {}
