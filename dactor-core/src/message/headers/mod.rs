//! Message headers.

mod deadline;
mod sender;
mod trace;

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use crate::{CorrelationId, Error, ErrorKind, Result};

pub use deadline::Deadline;
pub use sender::Sender;
pub use trace::TraceParent;

/// A header type. A message carries at most one header of each type.
///
/// ```
/// use dactor_core::{Header, Headers};
///
/// #[derive(Debug, Clone, PartialEq)]
/// struct Tenant(String);
///
/// impl Header for Tenant {
///     const NAME: &'static str = "tenant";
///
///     fn encode(&self) -> Option<String> {
///         Some(self.0.clone())
///     }
/// }
///
/// let mut headers = Headers::default();
/// headers.insert(Tenant("acme".into()));
/// assert_eq!(headers.get::<Tenant>().unwrap().0, "acme");
/// assert_eq!(headers.encode().unwrap(), [("tenant", "acme".to_owned())]);
/// ```
pub trait Header: Clone + Send + Sync + 'static {
    /// The name, in texts and when encoded.
    const NAME: &'static str;

    /// The value as text that can leave the process; `None` for a process-local header.
    fn encode(&self) -> Option<String> {
        None
    }

    /// Reads what [`encode`](Self::encode) wrote, in another process perhaps. A process that
    /// registers the type of the header (`wire::HeaderDecoders`) reads it with this; others keep the bytes, and pass them
    /// on.
    ///
    /// # Errors
    ///
    /// [`InvalidHeader`](ErrorKind::InvalidHeader), also for a type of header that does not implement this.
    fn decode(text: &str) -> Result<Self> {
        let _ = text;
        Err(invalid(Self::NAME, "its type has no `decode`"))
    }
}

/// A typed map of headers. One word when empty; clones share their contents.
#[derive(Clone, Default)]
pub struct Headers {
    entries: Option<Arc<Vec<Entry>>>,
}

#[derive(Clone)]
enum Entry {
    Typed {
        key: TypeId,
        name: &'static str,
        value: Arc<dyn Value>,
    },
    /// Of a type that is not known here.
    Raw(Arc<(Box<str>, Box<[u8]>)>),
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Typed { name, .. } => name,
            Self::Raw(raw) => &raw.0,
        }
    }

    fn is(&self, id: TypeId) -> bool {
        matches!(self, Self::Typed { key, .. } if *key == id)
    }

    /// Whether there is room for one of them only: they are of one type, or one of them is known by its name alone.
    fn replaces(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Typed { key, .. }, Self::Typed { key: other, .. }) => key == other,
            _ => self.name() == other.name(),
        }
    }
}

trait Value: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn encode(&self) -> Option<String>;
}

impl<H: Header> Value for H {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn encode(&self) -> Option<String> {
        Header::encode(self)
    }
}

impl Headers {
    /// An empty map.
    pub(crate) const NONE: &Self = &Self { entries: None };

    /// The maximum size of an encoded header, in bytes.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// Sets a header, replacing one of the same type.
    pub fn insert<H: Header>(&mut self, header: H) {
        self.put(Entry::Typed { key: TypeId::of::<H>(), name: H::NAME, value: Arc::new(header) });
    }

    fn put(&mut self, entry: Entry) {
        let entries = Arc::make_mut(self.entries.get_or_insert_default());
        match entries.iter_mut().find(|other| entry.replaces(other)) {
            Some(other) => *other = entry,
            None => entries.push(entry),
        }
    }

    /// Sets a header whose type is not known here, in place of an earlier one of its name. It is passed on as it is.
    pub fn insert_raw(&mut self, name: impl Into<Box<str>>, value: impl Into<Box<[u8]>>) {
        self.put(Entry::Raw(Arc::new((name.into(), value.into()))));
    }

    /// The bytes of a header whose type is not known here.
    pub fn get_raw(&self, name: &str) -> Option<&[u8]> {
        self.entries.as_deref()?.iter().find_map(|entry| match entry {
            Entry::Raw(raw) if &*raw.0 == name => Some(&*raw.1),
            _ => None,
        })
    }

    /// The header of this type.
    pub fn get<H: Header>(&self) -> Option<&H> {
        match self.entries.as_deref()?.iter().find(|entry| entry.is(TypeId::of::<H>()))? {
            Entry::Typed { value, .. } => value.as_any().downcast_ref(),
            Entry::Raw(_) => None,
        }
    }

    /// Removes the header of this type.
    pub fn remove<H: Header>(&mut self) -> Option<H> {
        let found = self.get::<H>().cloned()?;
        let entries = Arc::make_mut(self.entries.as_mut()?);
        entries.retain(|entry| !entry.is(TypeId::of::<H>()));
        if entries.is_empty() {
            self.entries = None;
        }
        Some(found)
    }

    /// Sets all headers of the other map.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Some(others) = &other.entries else { return };
        others.iter().for_each(|entry| self.put(entry.clone()));
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_none()
    }

    /// The headers that can leave the process, as names and texts, in the order in which they were set. Those of types that
    /// are not known here are not among them.
    ///
    /// # Errors
    ///
    /// [`InvalidHeader`](ErrorKind::InvalidHeader), naming the header, when it is longer than
    /// [`MAX_BYTES`](Self::MAX_BYTES) or has a control character.
    pub fn encode(&self) -> Result<Vec<(&'static str, String)>> {
        let encoded = |entry: &Entry| match entry {
            Entry::Typed { name, value, .. } => value.encode().map(|text| Ok((*name, checked(name, text)?))),
            Entry::Raw(_) => None,
        };
        self.entries.iter().flat_map(|entries| entries.iter()).filter_map(encoded).collect()
    }

    /// Gives each header that can leave the process, with its name, in the order in which they were set.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode), and the first error of `each`.
    #[cfg(feature = "wire")]
    pub(crate) fn each_encoded(&self, mut each: impl FnMut(&str, &[u8]) -> Result<()>) -> Result<()> {
        for entry in self.entries.iter().flat_map(|entries| entries.iter()) {
            match entry {
                Entry::Typed { name, value, .. } => {
                    if let Some(text) = value.encode() {
                        each(name, checked(name, text)?.as_bytes())?;
                    }
                }
                Entry::Raw(raw) => each(&raw.0, &raw.1)?,
            }
        }
        Ok(())
    }

    /// Decodes headers of this crate's types. Other names are ignored.
    ///
    /// # Errors
    ///
    /// [`InvalidHeader`](ErrorKind::InvalidHeader), naming the header, when its text is invalid.
    pub fn decode<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut headers = Self::default();
        for (name, text) in texts {
            match name {
                Deadline::NAME => headers.insert(Deadline::decode(text)?),
                Sender::NAME => headers.insert(Sender::decode(text)?),
                CorrelationId::NAME => headers.insert(CorrelationId::decode(text)?),
                TraceParent::NAME => headers.insert(TraceParent::decode(text)?),
                _ => {}
            }
        }
        Ok(headers)
    }
}

impl Header for CorrelationId {
    const NAME: &'static str = "correlation-id";

    fn encode(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn decode(text: &str) -> Result<Self> {
        text.parse().map_err(|error| invalid(Self::NAME, "it is no number").because(error))
    }
}

fn checked(name: &'static str, text: String) -> Result<String> {
    if text.len() > Headers::MAX_BYTES {
        return Err(invalid(name, "it is too long")
            .with("bytes", text.len())
            .with("limit", Headers::MAX_BYTES));
    }
    if text.chars().any(char::is_control) {
        return Err(invalid(name, "it has a control character"));
    }
    Ok(text)
}

pub(crate) fn invalid(name: &str, because: &'static str) -> Error {
    Error::new(ErrorKind::InvalidHeader).with("header", name).with("because", because)
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().flat_map(|entries| entries.iter());
        f.debug_list().entries(entries.map(Entry::name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Text(String);

    impl Header for Text {
        const NAME: &'static str = "text";

        fn encode(&self) -> Option<String> {
            Some(self.0.clone())
        }
    }

    #[derive(Debug, Clone, PartialEq)]
    struct Inner(u8);

    impl Header for Inner {
        const NAME: &'static str = "inner";
    }

    #[test]
    fn there_is_one_of_each_type() {
        let mut headers = Headers::default();
        assert!(
            headers.is_empty() && headers.get::<Inner>().is_none() && headers.remove::<Inner>().is_none()
        );
        headers.insert(Inner(1));
        headers.insert(Text("a".into()));
        let before = headers.clone();
        headers.insert(Inner(2));
        assert_eq!((headers.get::<Inner>(), before.get::<Inner>()), (Some(&Inner(2)), Some(&Inner(1))));
        assert_eq!(format!("{headers:?}"), r#"["inner", "text"]"#);
        assert_eq!(headers.remove::<Inner>(), Some(Inner(2)));
        assert_eq!(headers.remove::<Text>(), Some(Text("a".into())));
        assert!(headers.is_empty());
        assert_eq!(size_of::<Headers>(), size_of::<usize>());
    }

    #[test]
    fn a_header_of_an_unknown_type_is_known_by_its_name() {
        let mut headers = Headers::default();
        headers.insert_raw("text", *b"raw");
        headers.insert_raw("other", *b"x");
        headers.insert_raw("other", *b"y");
        assert_eq!((headers.get_raw("text"), headers.get_raw("other")), (Some(&b"raw"[..]), Some(&b"y"[..])));
        assert_eq!(format!("{headers:?}"), r#"["text", "other"]"#);
        headers.insert(Text("typed".into()));
        assert!(headers.get_raw("text").is_none(), "the typed one is in its place");
        let mut merged = Headers::default();
        merged.merge(&headers);
        assert_eq!(
            (merged.get::<Text>(), merged.get_raw("other")),
            (Some(&Text("typed".into())), Some(&b"y"[..]))
        );
    }

    #[test]
    fn what_leaves_the_process_is_checked() {
        assert_eq!(Headers::MAX_BYTES, 8192);
        let mut headers = Headers::default();
        headers.insert(Inner(1));
        headers.insert(Text("x".repeat(Headers::MAX_BYTES)));
        assert_eq!(headers.encode().unwrap().len(), 1, "one of them is process-local");
        for (text, because) in [("x".repeat(Headers::MAX_BYTES + 1), "too long"), ("a\nb".into(), "control")]
        {
            headers.insert(Text(text));
            let error = headers.encode().unwrap_err();
            assert_eq!((error.kind(), error.get("header")), (ErrorKind::InvalidHeader, Some("text")));
            assert!(error.get("because").unwrap().contains(because));
        }
    }

    #[test]
    fn the_standard_ones_come_back() {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let headers = Headers::decode([
            ("traceparent", trace),
            ("sender", "pekko://bank/user/a#7"),
            ("deadline", "1500"),
            ("correlation-id", "9"),
            ("other", "x"),
        ]);
        let headers = headers.unwrap();
        let encoded = headers.encode().unwrap();
        assert_eq!(encoded[0], ("traceparent", trace.to_owned()));
        assert_eq!(encoded[1], ("sender", "pekko://bank/user/a#7".to_owned()));
        assert_eq!((encoded[2].0, encoded.len()), ("deadline", 4));
        assert_eq!(encoded[3], ("correlation-id", "9".to_owned()));
        for wrong in [("traceparent", "00-xyz"), ("sender", "7"), ("deadline", "-1"), ("correlation-id", "x")]
        {
            let error = Headers::decode([wrong]).unwrap_err();
            assert_eq!((error.kind(), error.get("header")), (ErrorKind::InvalidHeader, Some(wrong.0)));
        }
    }
}
