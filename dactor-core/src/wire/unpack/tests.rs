use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::{MAX_DEPTH, Malformed, Reason, from_slice};

/// Decodes any value.
fn check(bytes: &[u8]) -> Result<(), Malformed> {
    from_slice::<IgnoredAny>(bytes).map(drop)
}

fn refused(bytes: &[u8]) -> (Reason, String) {
    let error = check(bytes).unwrap_err();
    let text = error.to_string();
    match error.reason() {
        Reason::Nested => (Reason::Nested, text),
        Reason::Short => (Reason::Short, text),
        Reason::Long => (Reason::Long, text),
        Reason::Marker(marker) => (Reason::Marker(*marker), text),
        other => panic!("{other:?}"),
    }
}

/// This many nested arrays.
fn nested(levels: usize) -> Vec<u8> {
    let mut bytes = vec![0x91; levels];
    bytes.push(0xc0);
    bytes
}

#[test]
fn the_limit_is_exact() {
    check(&nested(MAX_DEPTH - 1)).unwrap();
    assert_eq!(refused(&nested(MAX_DEPTH)).0, Reason::Nested);
    assert_eq!(refused(&nested(1_000_000)).0, Reason::Nested);
    let maps = |levels: usize| [b"\x81\x01".repeat(levels), vec![0xc0]].concat();
    check(&maps(MAX_DEPTH - 1)).unwrap();
    assert_eq!(refused(&maps(MAX_DEPTH)).0, Reason::Nested);
}

/// A recursive enum: each level is a variant with content.
#[derive(Debug, Serialize, Deserialize)]
enum Deep {
    End,
    More(Box<Deep>),
}

#[test]
fn enums_count_as_levels() {
    let deep = |levels: usize| [b"\x81\xa4More".repeat(levels), b"\xa3End".to_vec()].concat();
    from_slice::<Deep>(&deep(MAX_DEPTH - 1)).unwrap();
    assert_eq!(*from_slice::<Deep>(&deep(MAX_DEPTH)).unwrap_err().reason(), Reason::Nested);
    assert_eq!(*from_slice::<Deep>(&deep(1_000_000)).unwrap_err().reason(), Reason::Nested);
}

#[test]
fn containers_side_by_side_are_not_nested() {
    let mut bytes = vec![0xdc, 0x03, 0xe8];
    bytes.extend((0..1000).flat_map(|_| [0x91, 0x81, 0x01, 0x02]));
    check(&bytes).unwrap();
    let ends = [b"\xdc\x03\xe8".to_vec(), b"\x81\xa4More\xa3End".repeat(1000)].concat();
    assert_eq!(from_slice::<Vec<Deep>>(&ends).unwrap().len(), 1000);
}

#[test]
fn every_form_of_a_value_is_measured() {
    let values: [(u8, &[u8]); 32] = [
        (0x7f, &[]),
        (0xff, &[]),
        (0xc0, &[]),
        (0xc2, &[]),
        (0xa2, b"ab"),
        (0xc4, &[1, 0]),
        (0xc5, &[0, 1, 0]),
        (0xc6, &[0, 0, 0, 1, 0]),
        (0xc7, &[1, 9, 0]),
        (0xc8, &[0, 1, 9, 0]),
        (0xc9, &[0, 0, 0, 1, 9, 0]),
        (0xca, &[0; 4]),
        (0xcb, &[0; 8]),
        (0xcc, &[0; 1]),
        (0xcd, &[0; 2]),
        (0xce, &[0; 4]),
        (0xcf, &[0; 8]),
        (0xd0, &[0; 1]),
        (0xd3, &[0; 8]),
        (0xd4, &[9, 0]),
        (0xd5, &[9, 0, 0]),
        (0xd6, &[0; 5]),
        (0xd7, &[0; 9]),
        (0xd8, &[0; 17]),
        (0xd9, &[1, b'a']),
        (0xda, &[0, 1, b'a']),
        (0xdb, &[0, 0, 0, 1, b'a']),
        (0xdc, &[0, 1, 0xc0]),
        (0xdd, &[0, 0, 0, 1, 0xc0]),
        (0xde, &[0, 1, 1, 1]),
        (0xdf, &[0, 0, 0, 1, 1, 1]),
        (0x80, &[]),
    ];
    for (marker, rest) in values {
        let bytes = [&[marker], rest].concat();
        assert_eq!(check(&bytes), Ok(()), "{marker:#x}");
        let more = [&bytes[..], &[0xc0]].concat();
        let (reason, text) = refused(&more);
        assert_eq!(reason, Reason::Long, "{marker:#x}");
        assert_eq!(text, format!("the value ends at byte {}, and more follows", bytes.len()));
        for cut in 0..bytes.len() {
            let (reason, text) = refused(&bytes[..cut]);
            assert_eq!(reason, Reason::Short, "{marker:#x} cut at {cut}");
            assert_eq!(text, format!("it ends inside of a value, at byte {cut}"));
        }
    }
    let (reason, text) = refused(&[0x91, 0xc1]);
    assert_eq!((reason, text.as_str()), (Reason::Marker(0xc1), "byte 1 is not a marker of MessagePack"));
}

#[test]
fn a_length_that_is_not_there_is_found_first() {
    for claim in [0xdb, 0xdd, 0xdf, 0xc6, 0xc9] {
        assert_eq!(refused(&[claim, 0xff, 0xff, 0xff, 0xff]).0, Reason::Short, "{claim:#x}");
    }
    // Values that the enclosing containers expect are counted: five bytes remain, four of them reserved.
    check(&[0x94, 0x91, 1, 1, 1, 1]).unwrap();
    assert_eq!(refused(&[0x94, 0x92, 1, 1, 1, 1]).0, Reason::Short);
    assert_eq!(refused(&[0x94, 0x81, 1, 1, 1, 1]).0, Reason::Short);
    // A container that was read to its end reserves nothing.
    check(&[0x92, 0x93, 1, 1, 1, 0x81, 1, 1]).unwrap();
}

/// Encodes with `rmp-serde`, and decodes with both decoders.
fn same<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    let bytes = rmp_serde::to_vec_named(&value).unwrap();
    assert_eq!(from_slice::<T>(&bytes).unwrap(), value, "{bytes:x?}");
    assert_eq!(rmp_serde::from_slice::<T>(&bytes).unwrap(), value);
    // Without field names, which a peer may omit.
    let short = rmp_serde::to_vec(&value).unwrap();
    assert_eq!(from_slice::<T>(&short).unwrap(), value, "{short:x?}");
    for cut in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
        assert!(from_slice::<T>(&bytes[..cut]).is_err(), "{value:?} cut at {cut}");
    }
    assert!(from_slice::<T>(&[&bytes[..], &[0]].concat()).is_err());
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(u8, String);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Newtype(Option<i64>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(f64),
    Box(u32, u32),
    Text { text: String, bold: bool },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    A { list: Vec<i32> },
    B,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i32),
    Text(String),
    Many(Vec<Untagged>),
}

#[test]
fn serde_types_are_read_as_rmp_serde_writes_them() {
    for number in [0, 1, 127, 128, 255, 256, 65_535, 65_536, u64::from(u32::MAX), u64::MAX] {
        same(number);
    }
    for number in [-1, -32, -33, -128, -129, -32_768, -32_769, i64::from(i32::MIN), i64::MIN, i64::MAX] {
        same(number);
    }
    same((u8::MAX, u16::MAX, u32::MAX, i8::MIN, i16::MIN, i32::MIN));
    same((1.5_f32, -2.5_f64, true, false, 'é', ()));
    same((u128::MAX, i128::MIN, 5_u128));
    for length in [0, 1, 31, 32, 255, 256, 65_536] {
        same("x".repeat(length));
        same(vec![200_u8; length]);
        same(vec![-1_i16; length]);
    }
    same((0..20_u32).map(|key| (key.to_string(), key)).collect::<BTreeMap<_, _>>());
    same(vec![Some(1), None, Some(3)]);
    same((Unit, Pair(1, "one".into()), Newtype(Some(-5)), Newtype(None)));
    same(vec![Shape::Point, Shape::Circle(0.5), Shape::Box(1, 2)]);
    same(Some(Box::new(Shape::Text { text: "é".into(), bold: true })));
    same(vec![Tagged::A { list: vec![1, -2] }, Tagged::B]);
    same(Untagged::Many(vec![Untagged::Number(-7), Untagged::Text("t".into()), Untagged::Many(vec![])]));
    same([1_u8, 2, 3]);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "_ExtStruct")]
struct Extension((i8, Raw));

/// Encoded as a binary.
#[derive(Debug, PartialEq)]
struct Raw(Vec<u8>);

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Raw;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Raw, E> {
                Ok(Raw(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

#[test]
fn bytes_and_extensions_are_read() {
    for length in [0, 1, 2, 3, 4, 8, 16, 17, 256, 65_536] {
        same(Raw(vec![7; length]));
        same(Extension((-3, Raw(vec![7; length]))));
    }
    // A string that is not UTF-8 may be decoded as bytes.
    assert_eq!(from_slice::<Raw>(&[0xa2, 0xff, 0xfe]).unwrap(), Raw(vec![0xff, 0xfe]));
    let error = from_slice::<String>(&[0xa2, 0xff, 0xfe]).unwrap_err().to_string();
    assert!(error.starts_with("the text before byte 3 is not UTF-8"), "{error}");
    assert!(from_slice::<Extension>(&[0xc4, 1, 0]).is_err());
}

#[test]
fn a_variant_may_be_a_map_of_nothing() {
    assert_eq!(from_slice::<Shape>(b"\x81\xa5Point\xc0").unwrap(), Shape::Point);
    assert!(from_slice::<Shape>(b"\x81\xa5Point\x01").is_err());
    assert_eq!(from_slice::<Shape>(b"\xde\x00\x01\xa5Point\xc0").unwrap(), Shape::Point);
    for wrong in [
        &b"\x80"[..],
        b"\x82\xa5Point\xc0\xa5Point\xc0",
        b"\x91\xa5Point",
        b"\xa6Circle",
        b"\xa3Box",
        b"\xa4Text",
        b"\xc0",
    ] {
        assert!(from_slice::<Shape>(wrong).is_err(), "{wrong:x?}");
    }
    assert_eq!(from_slice::<Unit>(&[0x90]).unwrap(), Unit);
    assert_eq!(from_slice::<Unit>(&[0xc0]).unwrap(), Unit);
    assert!(from_slice::<Unit>(&[0x91, 0xc0]).is_err());
    assert!(from_slice::<(u8, u8)>(&[0x93, 1, 2, 3]).is_err(), "one more than the type has");
    assert!(from_slice::<u64>(&[0xa1, b'1']).is_err());
    assert_eq!(from_slice::<i128>(&[0xff]).unwrap(), -1);
    assert!(from_slice::<i128>(&[0xc4, 1, 0]).is_err(), "not 16 bytes");
}
