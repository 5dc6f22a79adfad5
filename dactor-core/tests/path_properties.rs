//! Properties of all paths, and fuzzed input for the parser.
//!
//! `DACTOR_PATH_CASES` sets the number of cases per property.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use dactor_core::path::{
    ActorPath, ActorPathParser, ActorPathParts, ActorSelection, PathAuthority, PathSegment, SegmentPattern,
    SelectionPath, UriParser,
};
use dactor_core::{ActorId, NodeId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

fn cases() -> u32 {
    std::env::var("DACTOR_PATH_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(10_000)
}

fn hold<S: Strategy>(strategy: S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(&strategy, law).unwrap_or_else(|failure| panic!("{failure}"));
}

/// Building blocks of paths, valid and invalid.
const TOKENS: &[&str] = &[
    "pekko",
    "pekko.tcp",
    "PEKKO",
    "://",
    ":",
    "//",
    "/",
    "@",
    "#",
    "?",
    "sys",
    "host",
    "[::1]",
    "[",
    "]",
    "2552",
    "65536",
    "0",
    "user",
    "system",
    "temp",
    "users",
    "$a",
    "a",
    "..",
    ".",
    "*",
    "%20",
    "%2F",
    "%2e",
    "%0A",
    "%C3",
    "%",
    "%g",
    " ",
    "\n",
    "\0",
    "é",
    "中",
    "(",
    "_",
    "-",
    "::",
    "18446744073709551616",
];

/// Bytes that may be any text, and text that looks like a path.
fn texts() -> impl Strategy<Value = String> {
    let bytes = vec(any::<u8>(), 0..48).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let tokens = || vec(select(TOKENS), 0..12).prop_map(|tokens| tokens.concat());
    prop_oneof![bytes, tokens(), tokens().prop_map(|rest| format!("pekko://sys/user/{rest}"))]
}

#[test]
fn nothing_panics_and_what_parses_prints_to_the_same() {
    hold(texts(), |text| {
        let _ = (UriParser::parse(&text), text.parse::<NodeId>(), text.parse::<PathAuthority>());
        let _ = (PathSegment::new(&text), SegmentPattern::new(&text).map(|pattern| pattern.matches(&text)));
        if let Ok(uri) = UriParser::parse_reference(&text) {
            let _ = (uri.server(), uri.resolve("../a/./b"));
        }
        if let Ok(id) = text.parse::<ActorId>() {
            prop_assert_eq!(id.to_string(), text.as_str());
        }
        if let Ok(path) = SelectionPath::compile(&text) {
            prop_assert_eq!(SelectionPath::compile(&path.to_string()), Ok(path));
        }
        if let Ok(selection) = ActorSelection::parse(&text) {
            let again = ActorSelection::parse(&selection.to_serialization_format());
            // A `?` in the text began a query; none is printed.
            prop_assert_eq!(again, Ok(selection));
        }
        let base: ActorPath = "pekko://sys/user/a/b".parse().unwrap();
        let generated = ActorPathParser::parse_generated(&text);
        if let Ok(path) = &generated {
            let again = ActorPathParser::parse_generated(&path.to_serialization_format());
            prop_assert!(again.is_ok_and(|again| again.is_same_incarnation(path)), "{}", path);
        }
        prop_assert!(generated.is_ok() || text.parse::<ActorPath>().is_err(), "{}", text);
        for path in [text.parse(), base.resolve(&text), base.join(&text)].into_iter().flatten() {
            let printed = path.to_serialization_format();
            let again: ActorPath = printed.parse().unwrap();
            prop_assert!(again.is_same_incarnation(&path), "{} {}", again, path);
            prop_assert!(printed.bytes().all(|byte| byte.is_ascii_graphic()), "{}", printed);
            prop_assert!(path.is_root() || path.guardian().is_some(), "{}", path);
            prop_assert!(path.segments().all(|name| name.decoded().chars().all(|c| !c.is_control())));
        }
        Ok(())
    });
}

/// A path in parts, and noise that the canonical form removes.
#[derive(Debug, Clone)]
struct Written {
    scheme: &'static str,
    system: String,
    authority: Option<(String, Option<u16>)>,
    names: Vec<String>,
    uid: Option<u64>,
    zeros: usize,
    slashes: Vec<usize>,
    query: bool,
}

fn written() -> impl Strategy<Value = Written> {
    let concat = |tokens: Vec<&str>| tokens.concat();
    let system = vec(select(&["a", "Z", "0", "_", ".", "-", "!", "~", "(", "$", ";", "%20"][..]), 1..9)
        .prop_map(concat);
    let label = || vec(select(&["a", "Z", "7", "b-c"][..]), 1..4).prop_map(concat);
    let host = prop_oneof![
        label(),
        (label(), label()).prop_map(|(one, two)| format!("{one}.x{two}")),
        any::<[u8; 4]>().prop_map(|[a, b, c, d]| format!("{a}.{b}.{c}.{d}")),
        any::<[u16; 8]>().prop_map(|groups| format!("[{}]", std::net::Ipv6Addr::from(groups))),
    ];
    let characters =
        &["a", "Z", "0", "-", "_", ".", "*", "$", "+", ":", "@", "&", "~", "'", "%20", "%2F", "%7e"][..];
    // A leading `$` and a hidden `..` are refused, so they are excluded here.
    let name = vec(select(characters), 1..9).prop_map(concat);
    let name = name.prop_map(|name| if PathSegment::new(&name).is_ok() { name } else { "refused".into() });
    (
        select(&["pekko", "pekko.tcp"][..]),
        system,
        proptest::option::of((host, any::<Option<u16>>())),
        vec(name, 0..10),
        any::<Option<u64>>(),
        (0usize..3, vec(1usize..3, 12), any::<bool>()),
    )
        .prop_map(|(scheme, system, authority, names, uid, (zeros, slashes, query))| Written {
            scheme,
            system,
            authority,
            names,
            uid,
            zeros,
            slashes,
            query,
        })
}

impl Written {
    fn with_noise(&self) -> String {
        let zeros = "0".repeat(self.zeros);
        let mut text = self.address(&zeros) + "/user";
        for (name, slashes) in self.names.iter().zip(&self.slashes) {
            text += &("/".repeat(*slashes) + name);
        }
        text += &"/".repeat(self.slashes[11] - 1);
        text += if self.query { "?a=%5B/?" } else { "" };
        text + &self.uid.map(|uid| format!("#{zeros}{uid}")).unwrap_or_default()
    }

    fn canonical(&self) -> String {
        let names = self.names.iter().map(|name| format!("/{name}")).collect::<String>();
        let uid = self.uid.map(|uid| format!("#{uid}")).unwrap_or_default();
        format!("{}/user{names}{uid}", self.address(""))
    }

    fn address(&self, zeros: &str) -> String {
        let authority = match &self.authority {
            None => String::new(),
            Some((host, None)) => format!("@{host}"),
            Some((host, Some(port))) => format!("@{host}:{zeros}{port}"),
        };
        format!("{}://{}{authority}", self.scheme, self.system)
    }
}

#[test]
fn a_parsed_path_prints_in_canonical_form() {
    hold(written(), |written| {
        let path: ActorPath =
            written.with_noise().parse().map_err(|error| TestCaseError::fail(format!("{error}")))?;
        prop_assert_eq!(path.to_serialization_format(), written.canonical());
        prop_assert_eq!(path.system(), &written.system);
        prop_assert_eq!(
            path.segments().skip(1).map(|name| name.to_string()).collect::<Vec<_>>(),
            written.names
        );
        let authority = path.authority().map(|authority| (authority.host().to_owned(), authority.port()));
        prop_assert_eq!(authority, written.authority);
        Ok(())
    });
}

/// Any text, and texts that mean something in a path.
fn keys() -> impl Strategy<Value = String> {
    let tokens = vec(select(TOKENS), 1..6).prop_map(|tokens| tokens.concat());
    let escapes = vec(select(&["~", "%", "2", "4", "$", ".", "E", "/", "\u{1F980}"][..]), 1..8);
    prop_oneof![any::<String>(), tokens, escapes.prop_map(|tokens| tokens.concat())]
        .prop_filter("an empty key is refused", |key| !key.is_empty())
}

#[test]
fn a_virtual_actor_has_one_path_and_a_path_one_virtual_actor() {
    let parts = ActorPathParts::new("bank").unwrap();
    hold((keys(), keys(), keys()), |(actor_type, key, other)| {
        let path = ActorPath::of_virtual_actor(&parts, &actor_type, &key).unwrap();
        let printed = path.to_serialization_format();
        prop_assert!(printed.bytes().all(|byte| byte.is_ascii_graphic()), "{}", printed);
        let read: ActorPath = printed.parse().unwrap();
        prop_assert!(read.is_same_incarnation(&path));
        prop_assert_eq!(read.virtual_actor(), Some(((&*actor_type).into(), (&*key).into())));
        let beside = ActorPath::of_virtual_actor(&parts, &actor_type, &other).unwrap();
        prop_assert_eq!(path == beside, key == other);
        if let Ok(id) = ActorId::new("bank", &actor_type, &key) {
            prop_assert!(id.to_path(&parts).unwrap() == path);
            prop_assert_eq!(ActorId::from_path(&path), Ok(id));
        }
        Ok(())
    });
}

/// Paths of few names, so that many of them are equal.
fn similar_paths() -> impl Strategy<Value = ActorPath> {
    let address = select(
        &["pekko://a", "pekko.tcp://a", "pekko://a@h", "pekko://a@h:1", "pekko://a@h:10", "pekko://b"][..],
    );
    let names = vec(select(&["a", "b", "ab", "%41"][..]), 0..3);
    (address, names, any::<bool>(), 0u64..3).prop_map(|(address, names, root, uid)| {
        let path: ActorPath = match root && names.is_empty() {
            true => format!("{address}/").parse().unwrap(),
            false => format!("{address}/user/{}", names.join("/")).parse().unwrap(),
        };
        if uid == 0 { path } else { path.with_uid(dactor_core::path::ActorUid::new(uid)) }
    })
}

fn hash(path: &ActorPath) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn equality_hash_and_order_agree() {
    hold((similar_paths(), similar_paths(), similar_paths()), |(a, b, c)| {
        prop_assert_eq!(a == b, a.to_string() == b.to_string(), "equal paths print alike, whatever the UID");
        prop_assert_eq!(a == b, a.cmp(&b) == Ordering::Equal);
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.partial_cmp(&b), Some(a.cmp(&b)));
        if a == b {
            prop_assert_eq!(hash(&a), hash(&b));
            prop_assert_eq!(a.cmp(&c), b.cmp(&c));
        }
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
        prop_assert!(a.is_same_incarnation(&a.clone()));
        prop_assert!(a == a.clone().without_uid());
        Ok(())
    });
}
