//! Frames with mistakes in them: no input panics, and no input takes more memory than its size allows.
//!
//! What the decoder of MessagePack accepts, `rmp-serde` reads in the same way; what only the latter accepts is nested too
//! deep, or not one whole value.
//!
//! 100 000 frames; `WIRE_FRAMES=1000000` for more, `WIRE_SEED=...` to repeat a run. The counter of allocations is global, so
//! there is one test.

#[path = "wire/frames.rs"]
mod frames;

use std::hint::black_box;

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor_core::spi::{ReplyReturn, ReplyTo};
use dactor_core::wire::{Accepts, Arriving, Body, Frame, HeaderDecoders, Remote, decode_error};
use dactor_core::{
    Actor, Codec, Context, Error, Exclusive, Handler, Headers, Message, Mode, Outcome, Result, Wire,
    WireCodec,
};
use serde::{Deserialize, Serialize};

use crate::frames::Parts;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A message with all that serde can nest.
#[derive(Debug, Serialize, Deserialize)]
enum Tree {
    Leaf,
    Number(i64),
    Text(String),
    Pair(Box<Tree>, Box<Tree>),
    List(Vec<Tree>),
    Named { name: String, child: Option<Box<Tree>>, bytes: Vec<u8> },
}

/// The same with a tag inside, which serde buffers before it knows the variant.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    End,
    More { next: Box<Tagged>, list: Vec<Tagged> },
}

impl Message for Tree {
    type Reply = ();
    type Access = Exclusive;
    const WIRE: Option<Wire<Self>> = Some(Wire::serde("bank.Deposit"));
}

struct Forest;
impl Actor for Forest {}

impl Handler<Tree> for Forest {
    async fn handle(&mut self, _: Tree, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Remote for Forest {
    const TYPE: &'static str = "forest";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<Tree>();
    }
}

struct Nowhere;

impl ReplyReturn for Nowhere {
    fn reply(&self, _: u64, answer: Result<&[u8], &Error>, _: &Headers) {
        black_box(answer.is_ok());
    }

    fn codec(&self) -> Codec {
        Codec::MessagePack
    }
}

/// A small generator, so that a seed gives the same run everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn tree(random: &mut Random, depth: usize) -> Tree {
    let kinds = if depth == 0 { 3 } else { 6 };
    match random.below(kinds) {
        0 => Tree::Leaf,
        1 => Tree::Number(random.next() as i64),
        2 => Tree::Text("é".repeat(random.below(20))),
        3 => Tree::Pair(Box::new(tree(random, depth - 1)), Box::new(tree(random, depth - 1))),
        4 => Tree::List((0..random.below(4)).map(|_| tree(random, depth - 1)).collect()),
        _ => Tree::Named {
            name: "name".into(),
            child: Some(Box::new(tree(random, depth - 1))),
            bytes: vec![7; random.below(30)],
        },
    }
}

/// Input that is nested as deep as it is long.
fn bomb(random: &mut Random) -> Vec<u8> {
    let unit: &[u8] = match random.below(6) {
        0 => &[0x91],
        1 => b"\x81\xa4List\x91",
        2 => b"\x81\xa4Pair\x92\xa4Leaf",
        3 => b"\x82\xa4kind\xa4More\xa4next",
        4 => b"{\"List\":[",
        _ => b"\xdd\xff\xff\xff\xff",
    };
    unit.repeat(1 + random.below(20_000))
}

/// A payload: a valid one, one with mistakes, or a bomb.
fn payload(random: &mut Random) -> Vec<u8> {
    if random.below(200) == 0 {
        return bomb(random);
    }
    let tree = tree(random, 4);
    let codec = if random.below(4) == 0 { Codec::Json } else { Codec::MessagePack };
    let mut payload = Vec::new();
    WireCodec::serde().encode(&tree, codec, &mut payload).unwrap();
    if random.below(3) > 0 {
        mutate(&mut payload, random);
    }
    payload
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at),
            3 => bytes.insert(at, random.next() as u8),
            4 if !bytes.is_empty() => drop(bytes.remove(at)),
            _ => {
                let repeated = bytes[at..].to_vec();
                bytes.extend_from_slice(&repeated[..repeated.len().min(64)]);
            }
        }
    }
}

/// What a process does with a frame that comes.
fn read(bytes: &[u8], accepts: &Accepts<Forest>, decoders: &HeaderDecoders, again: &mut Vec<u8>) -> bool {
    let Ok(frame) = Frame::decode(bytes) else { return false };
    again.clear();
    frame.encode(again).unwrap();
    assert_eq!(again, bytes, "a frame has one encoding");
    match frame.body {
        Body::Request(call) | Body::OneWay(call) | Body::Open(_, call) => {
            let headers = decoders.decode(call.headers).unwrap_or_default();
            for codec in [Codec::MessagePack, Codec::Json] {
                let mode = if frame.body.mode() == Some(Mode::Tell) { Mode::Tell } else { Mode::Ask };
                let back = std::sync::Arc::new(Nowhere);
                let reply_to = mode.has_caller().then(|| ReplyTo::new(back, frame.correlation));
                let (payload, headers) = (call.payload, headers.clone());
                let arriving =
                    Arriving { mode, payload, codec, headers, deadline: None, reply_to, window: 4 };
                drop(black_box(accepts.open(call.name, arriving)));
                drop(black_box(WireCodec::<Tagged>::serde().decode(call.payload, codec)));
            }
        }
        Body::Reply { answer: Err(error), .. } | Body::End { error: Some(error), .. } => {
            if let Ok(error) = decode_error(error) {
                black_box(format!("{error:?}"));
            }
        }
        Body::Reply { answer: Ok(payload), .. } | Body::Item { payload, .. } => {
            drop(black_box(WireCodec::<Tree>::serde().decode(payload, Codec::MessagePack)));
        }
        Body::End { error: None, .. } | Body::Credit { .. } | Body::Cancel { .. } => {}
    }
    true
}

/// Bytes of memory for each byte of input, and beside that. A `Tree` is larger than the byte that encodes it, serde
/// reserves room for a list by its length, and an error has texts.
const PER_BYTE: usize = 200;
const BESIDE: usize = 64 * 1024;

#[test]
fn no_frame_panics_or_takes_more_memory_than_it_may() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("WIRE_FRAMES").unwrap_or(100_000);
    let seed = number("WIRE_SEED").unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64
    });
    println!("WIRE_SEED={seed} WIRE_FRAMES={count}");
    let (accepts, decoders) = (Accepts::<Forest>::of().unwrap(), HeaderDecoders::default());
    let parts = Parts::new();
    let heads: Vec<_> = parts.frames();
    let mut random = Random(seed);
    let mut again = Vec::with_capacity(1 << 20);
    let (mut passed, mut peak, mut most) = (0, 0, 0);
    for index in 0..count {
        let (name, frame) = heads[random.below(heads.len())];
        let payload = payload(&mut random);
        let mut bytes = Vec::new();
        with_payload(frame, &payload).encode(&mut bytes).unwrap();
        // Half of the mistakes are in the payload alone: such a frame passes as one.
        if random.below(3) == 0 {
            mutate(&mut bytes, &mut random);
        }
        compare(&payload, seed);
        start_counting();
        passed += u64::from(read(&bytes, &accepts, &decoders, &mut again));
        let counted = stop_counting();
        let used = usize::try_from(counted.peak_bytes).unwrap_or(0);
        let allowed = BESIDE + PER_BYTE * bytes.len();
        assert!(
            used <= allowed,
            "WIRE_SEED={seed} frame {index} ({name}) of {} bytes took {used}",
            bytes.len()
        );
        (peak, most) = if used > peak { (used, bytes.len()) } else { (peak, most) };
    }
    println!(
        "{passed} of {count} frames passed the outer layer; peak memory {peak} bytes, for {most} bytes of input"
    );
    assert!(passed * 2 >= count, "WIRE_SEED={seed}: {passed} of {count}");
}

/// Reads a payload with `rmp-serde` too, if it cannot be deep enough for its stack.
fn compare(payload: &[u8], seed: u64) {
    if payload.len() > 1024 {
        return;
    }
    let ours = WireCodec::<Tree>::serde().decode(payload, Codec::MessagePack);
    let theirs = rmp_serde::from_slice::<Tree>(payload);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "WIRE_SEED={seed}"),
        (Ok(ours), Err(error)) => panic!("WIRE_SEED={seed}: {ours:?} from {payload:x?}, but {error}"),
        (Err(error), Ok(theirs)) => {
            let text = format!("{error:#}");
            let stricter =
                ["nested", "more follows", "ends inside", "does not have the length", "invalid type"];
            let known = stricter.iter().any(|reason| text.contains(reason));
            assert!(known, "WIRE_SEED={seed}: {text}, but {theirs:?} from {payload:x?}");
        }
        (Err(_), Err(_)) => {}
    }
}

fn with_payload<'a>(mut frame: Frame<'a>, new: &'a [u8]) -> Frame<'a> {
    match &mut frame.body {
        Body::Request(call) | Body::OneWay(call) | Body::Open(_, call) => call.payload = new,
        Body::Reply { answer: Ok(payload), .. } | Body::Item { payload, .. } => *payload = new,
        _ => {}
    }
    frame
}
