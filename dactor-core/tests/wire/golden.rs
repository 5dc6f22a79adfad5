//! The encoding of frames, byte by byte.
//!
//! A change of a golden file is a change of the protocol: give it another version first. To write them:
//!
//! ```sh
//! UPDATE_GOLDEN=1 cargo test --package dactor-core --features wire --test wire
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use dactor_core::wire::{Body, Frame, VERSION, decode_error};
use dactor_core::{Codec, ErrorKind, WireCodec};

use crate::frames::{Deposit, Parts};

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire/golden")
}

/// The frame for people: its fields, and its bytes.
fn readable(frame: &Frame<'_>, bytes: &[u8]) -> String {
    let mut text = format!("{frame:#?}\n\n");
    for (line, chunk) in bytes.chunks(16).enumerate() {
        let hex: Vec<_> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown: String =
            chunk.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' }).collect();
        writeln!(text, "{:04x}  {:<47}  {shown}", line * 16, hex.join(" ")).unwrap();
    }
    text
}

#[test]
fn frames_are_encoded_as_ever() {
    assert_eq!(VERSION, 1, "another version needs other files");
    let parts = Parts::new();
    let mut expected = BTreeSet::new();
    for (name, frame) in parts.frames() {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).unwrap();
        let (binary, text) = (format!("{name}.bin"), format!("{name}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(golden().join(&binary), &bytes).unwrap();
            std::fs::write(golden().join(&text), readable(&frame, &bytes)).unwrap();
        }
        let kept = std::fs::read(golden().join(&binary)).unwrap();
        assert_eq!(kept, bytes, "{name}: the encoding has changed");
        assert_eq!(Frame::decode(&kept).unwrap(), frame, "{name}");
        let shown = std::fs::read_to_string(golden().join(&text)).unwrap();
        assert_eq!(shown, readable(&frame, &bytes), "{name}: the text beside it is stale");
        expected.extend([binary, text]);
    }
    let found: BTreeSet<_> = std::fs::read_dir(golden())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, expected, "each file belongs to a frame");
}

#[test]
fn payloads_are_read_as_ever() {
    let read = |name: &str| std::fs::read(golden().join(name)).unwrap();
    for (name, codec) in [("request.bin", Codec::MessagePack), ("request-json.bin", Codec::Json)] {
        let bytes = read(name);
        let call = *Frame::decode(&bytes).unwrap().body.call().unwrap();
        let deposit = WireCodec::<Deposit>::serde().decode(call.payload, codec).unwrap();
        assert_eq!(deposit, Deposit { cents: 300, note: Some("für Ada".to_owned()) });
    }
    let bytes = read("reply-error.bin");
    let Body::Reply { answer: Err(payload), .. } = Frame::decode(&bytes).unwrap().body else {
        panic!("an error")
    };
    let error = decode_error(payload).unwrap();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Failed, true));
    assert!(format!("{error:#}").ends_with("the account is closed"), "{error:#}");
}

#[test]
fn each_byte_that_is_wrong_is_named() {
    let parts = Parts::new();
    for (name, frame) in parts.frames() {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).unwrap();
        let head = bytes.len() - payload(&frame);
        for cut in 0..head {
            let error = Frame::decode(&bytes[..cut]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidFrame, "{name} cut at {cut}");
            assert!(error.get("because").is_some() && error.get("at byte").is_some(), "{error:?}");
        }
        for (at, wrong, because) in [(0, 2, "version"), (1, 8, "direction")] {
            let mut bytes = bytes.clone();
            bytes[at] = wrong;
            let error = Frame::decode(&bytes).unwrap_err();
            assert!(error.get("because").unwrap().contains(because), "{name}: {error:?}");
        }
    }
    let refused = |bytes: &[u8]| Frame::decode(bytes).unwrap_err().get("because").unwrap().to_owned();
    assert_eq!(refused(&[1, 7, 1, 1, 0]), "a cancel is followed by more bytes");
    assert_eq!(refused(&[1, 7, 0x11, 1]), "the flags do not belong to the direction");
    assert_eq!(refused(&[1, 7, 2, 1]), "the flags do not belong to the direction");
    assert_eq!(refused(&[1, 1, 1, 1]), "a reply goes to the caller");
    assert_eq!(refused(&[1, 6, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x7f]), "the credit is too large");
    assert_eq!(refused(&[1, 0, 3, 1]), "the priority is not known");
    assert_eq!(refused(&[1, 3, 1, 1, 9]), "the kind of stream is not known");
    assert_eq!(refused(&[1, 0, 1, 1, 9]), "the target is of no known kind");
    assert_eq!(refused(&[1, 0, 1, 1, 0, 0, 0]), "the target is empty");
    assert_eq!(refused(&[1, 0, 1, 1, 0, 1, 0, b'p', 0]), "the wire name is empty");
    assert_eq!(refused(&[1, 0, 1, 1, 0, 1, 0, 0xff, 1, b'n']), "the target is not UTF-8");
    assert_eq!(refused(&[1, 0, 0x41, 1, 0, 1, 0, b'p', 1, b'n', 0]), "the number of forwards is zero");
    assert_eq!(refused(&[1, 0, 0x81, 1, 0, 1, 0, b'p', 1, b'n', 0]), "the number of headers is zero");
    assert_eq!(refused(&[1, 0, 0x81, 1, 0, 1, 0, b'p', 1, b'n', 65]), "the number of headers is too large");
    assert_eq!(
        refused(&[1, 0, 0x81, 1, 0, 1, 0, b'p', 1, b'n', 1, 1, b'h', 0xff, 0xff]),
        "a header is too long"
    );
}

fn payload(frame: &Frame<'_>) -> usize {
    match frame.body {
        Body::Request(call) | Body::OneWay(call) | Body::Open(_, call) => call.payload.len(),
        Body::Reply { answer: Ok(payload) | Err(payload), .. } | Body::Item { payload, .. } => payload.len(),
        Body::End { error, .. } => error.map_or(0, <[u8]>::len),
        Body::Credit { .. } | Body::Cancel { .. } => 0,
    }
}
