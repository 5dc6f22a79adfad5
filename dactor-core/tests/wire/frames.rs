//! One frame of each kind, with and without what may be beside it. Shared with the fuzz test.

use std::time::Duration;

use dactor_core::wire::{
    Body, Call, EncodedHeaders, Frame, Party, RawHeaders, StreamKind, Target, encode_error,
};
use dactor_core::{Error, ErrorKind, Headers, Priority, TraceParent, WireCodec};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Deposit {
    pub(crate) cents: u64,
    pub(crate) note: Option<String>,
}

/// Keeps what frames borrow.
pub(crate) struct Parts {
    headers: EncodedHeaders,
    deposit: Vec<u8>,
    json: Vec<u8>,
    error: Vec<u8>,
    newer: Vec<u8>,
}

impl Parts {
    pub(crate) fn new() -> Self {
        let mut headers = Headers::default();
        headers.insert(
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse::<TraceParent>().unwrap(),
        );
        headers.insert_raw("tenant", *b"acme");
        let wire = WireCodec::<Deposit>::serde();
        let value = Deposit { cents: 300, note: Some("für Ada".to_owned()) };
        let (mut deposit, mut json) = (Vec::new(), Vec::new());
        wire.encode(&value, dactor_core::Codec::MessagePack, &mut deposit).unwrap();
        wire.encode(&value, dactor_core::Codec::Json, &mut json).unwrap();
        let failed = Error::new(ErrorKind::Failed)
            .with("actor", "pekko://bank@10.0.0.1:2552/user/ada")
            .with("message", "bank::Deposit")
            .because("the account is closed");
        let (mut error, mut newer) = (Vec::new(), Vec::new());
        encode_error(&failed, &mut error);
        encode_error(&Error::new(ErrorKind::Unfinished), &mut newer);
        Self { headers: EncodedHeaders::of(&headers).unwrap(), deposit, json, error, newer }
    }

    /// Every kind of frame, with the name of its golden file.
    pub(crate) fn frames(&self) -> Vec<(&'static str, Frame<'_>)> {
        let ada = Target::Path {
            path: "pekko://bank@10.0.0.1:2552/user/ada",
            uid: Some(1_763_434_800_000_000_007),
        };
        let call = Call { payload: &self.deposit, ..Call::new(ada, "bank.Deposit") };
        let full = Call {
            sender: Some("pekko://bank@10.0.0.2:2552/user/teller#1763434800000000009"),
            priority: Priority::High,
            time_left: Some(Duration::from_millis(1500)),
            forwards: 2,
            headers: self.headers.as_raw(),
            ..call
        };
        let any = Target::Path { path: "pekko://bank/user/ada", uid: None };
        let virtual_actor = Target::Id("bank::Account/ada");
        let none = RawHeaders::default();
        let frame = |correlation, body| Frame { correlation, body };
        vec![
            ("request", frame(1, Body::Request(call))),
            ("request-full", frame(u64::MAX, Body::Request(full))),
            ("request-virtual", frame(300, Body::Request(Call { target: virtual_actor, ..call }))),
            ("request-json", frame(2, Body::Request(Call { payload: &self.json, ..call }))),
            ("one-way", frame(0, Body::OneWay(Call { target: any, priority: Priority::Low, ..call }))),
            ("open-expand", frame(3, Body::Open(StreamKind::Expand, call))),
            ("open-reduce", frame(4, Body::Open(StreamKind::Reduce, call))),
            ("open-transform", frame(5, Body::Open(StreamKind::Transform, full))),
            ("reply", frame(1, Body::Reply { answer: Ok(&[0xcd, 0x01, 0x2c]), headers: none })),
            ("reply-headers", frame(1, Body::Reply { answer: Ok(&[]), headers: self.headers.as_raw() })),
            ("reply-error", frame(1, Body::Reply { answer: Err(&self.error), headers: none })),
            ("item-to-caller", frame(3, Body::Item { to: Party::Caller, payload: &[0x07] })),
            ("item-to-callee", frame(4, Body::Item { to: Party::Callee, payload: &self.deposit })),
            ("end", frame(3, Body::End { to: Party::Caller, error: None })),
            ("end-error", frame(4, Body::End { to: Party::Callee, error: Some(&self.newer) })),
            ("credit", frame(3, Body::Credit { to: Party::Callee, items: 32 })),
            ("cancel", frame(1, Body::Cancel { to: Party::Callee })),
            ("cancel-to-caller", frame(4, Body::Cancel { to: Party::Caller })),
        ]
    }
}
