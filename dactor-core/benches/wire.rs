//! A small message there and back: inside of a frame, against the bare codec. Prints times, their ratio and the
//! allocations; with `check` it fails when the frame costs more than half of the codec's time, and
//! with `msgpack` or `json` only that one is measured.
//!
//! ```sh
//! cargo bench --package dactor-core --features wire --bench wire
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor_core::wire::{Body, Call, Frame, Target};
use dactor_core::{Codec, WireCodec};
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// 48 bytes of content, as the messages of the other benchmarks.
#[derive(Serialize, Deserialize)]
struct Transfer {
    from: u64,
    to: u64,
    cents: u64,
    note: String,
}

const ROUNDS: usize = 60;
const LIMIT: f64 = 1.5;

fn bare(transfer: &Transfer, codec: Codec, buffer: &mut Vec<u8>) -> Transfer {
    buffer.clear();
    match codec {
        Codec::Json => {
            serde_json::to_writer(&mut *buffer, transfer).unwrap();
            serde_json::from_slice(buffer).unwrap()
        }
        _ => {
            rmp_serde::encode::write_named(buffer, transfer).unwrap();
            rmp_serde::from_slice(buffer).unwrap()
        }
    }
}

fn framed(transfer: &Transfer, codec: Codec, buffer: &mut Vec<u8>) -> Transfer {
    buffer.clear();
    let wire = WireCodec::<Transfer>::serde();
    let target = Target::Path { path: "pekko://bank@10.0.0.1:2552/user/ada", uid: Some(7) };
    let frame = Frame { correlation: 300, body: Body::Request(Call::new(target, "bank.Transfer")) };
    frame.encode(buffer).unwrap();
    wire.encode(transfer, codec, buffer).unwrap();
    let frame = Frame::decode(buffer).unwrap();
    let Body::Request(call) = frame.body else { unreachable!("it was a request") };
    wire.decode(call.payload, codec).unwrap()
}

type Way = fn(&Transfer, Codec, &mut Vec<u8>) -> Transfer;

fn main() {
    // Without `--bench` cargo is only making sure that it runs.
    let loops = if std::env::args().any(|argument| argument == "--bench") { 20_000 } else { 10 };
    let check = std::env::args().any(|argument| argument == "check");
    let transfer = Transfer { from: 1, to: 2, cents: 300, note: "twenty-four bytes of text".into() };
    let mut buffer = Vec::with_capacity(4096);
    let only = std::env::args().find(|argument| argument == "msgpack" || argument == "json");
    for codec in [Codec::MessagePack, Codec::Json] {
        if only.as_ref().is_some_and(|only| only != codec.name()) {
            continue;
        }
        let ways: [Way; 2] = [bare, framed];
        let mut best = [Duration::MAX; 2];
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let times = ways.map(|way| {
                let start = Instant::now();
                for _ in 0..loops {
                    black_box(way(black_box(&transfer), codec, &mut buffer));
                }
                start.elapsed() / loops
            });
            ratios.push(times[1].as_secs_f64() / times[0].as_secs_f64());
            best = [best[0].min(times[0]), best[1].min(times[1])];
        }
        let allocations = ways.map(|way| {
            start_counting();
            black_box(way(&transfer, codec, &mut buffer));
            stop_counting().allocations
        });
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        println!(
            "{:8} bare {:?} ({} allocations), framed {:?} ({}), ratio of the best {:.2}, median ratio {median:.2}",
            codec.name(),
            best[0],
            allocations[0],
            best[1],
            allocations[1],
            best[1].as_secs_f64() / best[0].as_secs_f64(),
        );
        assert!(allocations[1] == allocations[0], "a frame allocates nothing");
        assert!(!check || median <= LIMIT, "{}: {median:.2} is more than {LIMIT}", codec.name());
    }
}
