//! Derive macros of dactor: [`Message`](macro@Message), and for streams [`Expand`](macro@Expand),
//! [`Reduce`](macro@Reduce) and [`Transform`](macro@Transform). The generated code can also be written by
//! hand.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Ident, LitStr, Path, Type, parse_quote};

/// Implements `dactor::Message`.
///
/// | attribute | meaning | default |
/// | --- | --- | --- |
/// | `#[message(reply = T)]` | the reply type | `()` |
/// | `#[message(debug)]` | dead letters show the message's `Debug` text | they show its type only |
/// | `#[message(priority = High)]` | the priority lane: `Low`, `Normal` or `High` | `Normal` |
/// | `#[message(read)]` | it only reads: its handler is `ReadHandler`, and it runs beside other reads | its handler is `Handler` |
/// | `#[message(interleave)]` | the same, and it does not wait behind a waiting write | |
/// | `#[message(abort)]` | a running handler is dropped when its asker gives up | it finishes |
/// | `#[message(wire = "bank.Deposit")]` | it may leave the process, under this name: message and reply implement serde's traits; needs the feature `wire` | it stays in the process |
/// | `#[message(crate = path)]` | where the trait is found | `::dactor` |
///
/// Several may be in one attribute: `#[message(reply = u64, priority = High)]`. The message must own its data; type
/// parameters are bound by `Send + 'static`.
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(input, &MESSAGE)
}

/// Implements `dactor::Expand`: a request that is answered by a stream of items.
///
/// | attribute | meaning | default |
/// | --- | --- | --- |
/// | `#[message(item = T)]` | the items of the stream | required |
/// | `#[message(debug)]`, `#[message(priority = High)]`, `#[message(wire = "..")]`, `#[message(crate = path)]` | as for `Message` | |
#[proc_macro_derive(Expand, attributes(message))]
pub fn derive_expand(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(input, &EXPAND)
}

/// Implements `dactor::Reduce`: a request with a stream of items, answered by one reply.
///
/// | attribute | meaning | default |
/// | --- | --- | --- |
/// | `#[message(item = T)]` | the items that come with the request | required |
/// | `#[message(reply = T)]` | what the handler answers | `()` |
/// | `#[message(debug)]`, `#[message(priority = High)]`, `#[message(wire = "..")]`, `#[message(crate = path)]` | as for `Message` | |
#[proc_macro_derive(Reduce, attributes(message))]
pub fn derive_reduce(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(input, &REDUCE)
}

/// Implements `dactor::Transform`: a stream of items, answered by a stream of items.
///
/// | attribute | meaning | default |
/// | --- | --- | --- |
/// | `#[message(input = T)]` | the items that come with the request | required |
/// | `#[message(output = T)]` | the items of the answer | required |
/// | `#[message(debug)]`, `#[message(priority = High)]`, `#[message(wire = "..")]`, `#[message(crate = path)]` | as for `Message` | |
#[proc_macro_derive(Transform, attributes(message))]
pub fn derive_transform(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(input, &TRANSFORM)
}

/// A derived trait: its name, the associated types set by attributes, and its flags.
struct Derived {
    name: &'static str,
    /// The struct that describes its form outside of the process, and the associated types that this depends on.
    wire: (&'static str, &'static [&'static str]),
    /// Attribute, associated type, and whether it defaults to `()`.
    types: &'static [(&'static str, &'static str, bool)],
    flags: &'static [&'static str],
    /// The known attributes, for error messages.
    known: &'static str,
}

const MESSAGE: Derived = Derived {
    name: "Message",
    wire: ("Wire", &[]),
    types: &[("reply", "Reply", true)],
    flags: &["debug", "abort", "read", "interleave", "local", "no_keep_alive"],
    known: "`reply = Type`, `debug`, `abort`, `read`, `interleave`, `local`, `no_keep_alive`, `priority = Level`, `wire = \"name\"` or `crate = path`",
};
const EXPAND: Derived = Derived {
    name: "Expand",
    wire: ("StreamWire", &["", "Item"]),
    types: &[("item", "Item", false)],
    flags: &["debug", "local", "no_keep_alive"],
    known: "`item = Type`, `debug`, `local`, `no_keep_alive`, `priority = Level`, `wire = \"name\"` or `crate = path`",
};
const REDUCE: Derived = Derived {
    name: "Reduce",
    wire: ("StreamWire", &["Item", "Reply"]),
    types: &[("item", "Item", false), ("reply", "Reply", true)],
    flags: &["debug", "local", "no_keep_alive"],
    known: "`item = Type`, `reply = Type`, `debug`, `local`, `no_keep_alive`, `priority = Level`, `wire = \"name\"` or `crate = path`",
};
const TRANSFORM: Derived = Derived {
    name: "Transform",
    wire: ("StreamWire", &["Input", "Output"]),
    types: &[("input", "Input", false), ("output", "Output", false)],
    flags: &["debug", "local", "no_keep_alive"],
    known: "`input = Type`, `output = Type`, `debug`, `local`, `no_keep_alive`, `priority = Level`, `wire = \"name\"` or `crate = path`",
};

fn derive(input: proc_macro::TokenStream, derived: &Derived) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    implement(&input, derived).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The parsed attributes.
struct Attributes {
    types: Vec<Option<Type>>,
    flags: Vec<&'static str>,
    priority: Option<Ident>,
    wire: Option<LitStr>,
    krate: Path,
}

fn attributes(input: &DeriveInput, derived: &Derived) -> syn::Result<Attributes> {
    let types = derived.types.iter().map(|(_, _, unit)| unit.then(|| parse_quote!(()))).collect();
    let mut found =
        Attributes { types, flags: Vec::new(), priority: None, wire: None, krate: parse_quote!(::dactor) };
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("message")) {
        attribute.parse_nested_meta(|meta| {
            let named = |name: &&str| meta.path.is_ident(*name);
            if let Some(at) = derived.types.iter().position(|(name, ..)| named(name)) {
                found.types[at] = Some(meta.value()?.parse()?);
            } else if let Some(flag) = derived.flags.iter().copied().find(named) {
                found.flags.push(flag);
            } else if meta.path.is_ident("priority") {
                found.priority = Some(level(meta.value()?.parse()?)?);
            } else if meta.path.is_ident("wire") {
                found.wire = Some(wire_name(meta.value()?.parse()?)?);
            } else if meta.path.is_ident("crate") {
                found.krate = meta.value()?.parse()?;
            } else {
                return Err(meta.error(format!("expected {}", derived.known)));
            }
            Ok(())
        })?;
    }
    Ok(found)
}

fn implement(input: &DeriveInput, derived: &Derived) -> syn::Result<TokenStream> {
    if let Some(borrowed) = input.generics.lifetimes().next() {
        let text = format!(
            "a message cannot borrow, because it is handled after it was sent: own the data (`String`, `Arc<str>`) instead of `{}`",
            borrowed.lifetime
        );
        return Err(syn::Error::new_spanned(&borrowed.lifetime, text));
    }
    let Attributes { types, flags, priority, wire, krate } = attributes(input, derived)?;
    let mut items = Vec::new();
    for ((attribute, associated, _), value) in derived.types.iter().zip(types) {
        let Some(value) = value else {
            let text = format!("`{}` needs `#[message({attribute} = Type)]`", derived.name);
            return Err(syn::Error::new_spanned(&input.ident, text));
        };
        let associated = Ident::new(associated, proc_macro2::Span::call_site());
        items.push(quote! { type #associated = #value; });
    }
    if derived.name == MESSAGE.name {
        let access = if flags.contains(&"interleave") {
            quote! { Interleaved }
        } else if flags.contains(&"read") {
            quote! { Shared }
        } else {
            quote! { Exclusive }
        };
        items.push(quote! { type Access = #krate::#access; });
    }
    items.extend(
        priority.map(|level| quote! { const PRIORITY: #krate::Priority = #krate::Priority::#level; }),
    );
    if let Some(name) = wire {
        items.push(wire_form(input, derived, &name, &krate)?);
    }
    if flags.contains(&"abort") {
        items.push(quote! { const ABORT: bool = true; });
    }
    if flags.contains(&"local") {
        items.push(quote! { const LOCAL_ONLY: bool = true; });
    }
    if flags.contains(&"no_keep_alive") {
        items.push(quote! { const KEEP_ALIVE: bool = false; });
    }
    if flags.contains(&"debug") {
        items.push(quote! {
            fn describe(&self) -> ::core::option::Option<::std::string::String> {
                ::core::option::Option::Some(::std::format!("{self:?}"))
            }
        });
    }
    let name = &input.ident;
    let derived = Ident::new(derived.name, proc_macro2::Span::call_site());
    let mut generics = input.generics.clone();
    for parameter in input.generics.type_params() {
        let ident = &parameter.ident;
        generics.make_where_clause().predicates.push(parse_quote!(#ident: ::core::marker::Send + 'static));
    }
    let (implemented, used, bounds) = generics.split_for_impl();
    Ok(quote! {
        impl #implemented #krate::#derived for #name #used #bounds {
            #(#items)*
        }
    })
}

fn level(level: Ident) -> syn::Result<Ident> {
    if ["Low", "Normal", "High"].iter().any(|known| level == known) {
        return Ok(level);
    }
    Err(syn::Error::new(level.span(), "expected `Low`, `Normal` or `High`"))
}

/// The longest name that a frame can carry.
const MAX_WIRE_NAME: usize = 255;

fn wire_name(name: LitStr) -> syn::Result<LitStr> {
    let length = name.value().len();
    if length == 0 {
        return Err(syn::Error::new(name.span(), "a wire name is not empty: `wire = \"bank.Deposit\"`"));
    }
    if length > MAX_WIRE_NAME {
        let text = format!("a wire name has at most {MAX_WIRE_NAME} bytes, this one has {length}");
        return Err(syn::Error::new(name.span(), text));
    }
    Ok(name)
}

/// The constant that describes a message outside of the process.
fn wire_form(
    input: &DeriveInput,
    derived: &Derived,
    name: &LitStr,
    krate: &Path,
) -> syn::Result<TokenStream> {
    if let Some(parameter) = input.generics.type_params().next() {
        let text = format!(
            "a message with the type parameter `{}` would have one wire name for many types: implement `{}` by hand, with a \
             name for each",
            parameter.ident, derived.name
        );
        return Err(syn::Error::new_spanned(&parameter.ident, text));
    }
    let (form, parts) = derived.wire;
    let form = Ident::new(form, proc_macro2::Span::call_site());
    let parts = parts.iter().map(|part| match *part {
        "" => quote! { () },
        part => {
            let part = Ident::new(part, proc_macro2::Span::call_site());
            quote! { Self::#part }
        }
    });
    Ok(quote! {
        const WIRE: ::core::option::Option<#krate::#form<Self #(, #parts)*>> = #krate::__wire!(#form, #name);
    })
}
