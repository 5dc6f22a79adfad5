//! Derive macros of dactor: [`Message`](macro@Message). Everything they write can be written by hand.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Ident, Path, Type, parse_quote};

/// Implements `dactor::Message`.
///
/// | attribute | meaning | default |
/// | --- | --- | --- |
/// | `#[message(reply = T)]` | what the handler answers | `()` |
/// | `#[message(debug)]` | dead letters show the message's `Debug` text | they show its type only |
/// | `#[message(priority = High)]` | the lane it travels in: `Low`, `Normal` or `High` | `Normal` |
/// | `#[message(abort)]` | a running handler is dropped when its asker gives up | it finishes |
/// | `#[message(crate = path)]` | where the trait is found | `::dactor` |
///
/// Several may be in one attribute: `#[message(reply = u64, priority = High)]`. The message must own its data; type
/// parameters are bound by `Send + 'static`.
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    message(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn message(input: &DeriveInput) -> syn::Result<TokenStream> {
    if let Some(borrowed) = input.generics.lifetimes().next() {
        let text = format!(
            "a message cannot borrow, because it is handled after it was sent: own the data (`String`, `Arc<str>`) instead of `{}`",
            borrowed.lifetime
        );
        return Err(syn::Error::new_spanned(&borrowed.lifetime, text));
    }
    let mut reply: Type = parse_quote!(());
    let mut krate: Path = parse_quote!(::dactor);
    let mut describe = None;
    let mut abort = None;
    let mut priority: Option<Ident> = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("message")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("reply") {
                reply = meta.value()?.parse()?;
            } else if meta.path.is_ident("debug") {
                describe = Some(quote! {
                    fn describe(&self) -> ::core::option::Option<::std::string::String> {
                        ::core::option::Option::Some(::std::format!("{self:?}"))
                    }
                });
            } else if meta.path.is_ident("abort") {
                abort = Some(quote! { const ABORT: bool = true; });
            } else if meta.path.is_ident("priority") {
                priority = Some(level(meta.value()?.parse()?)?);
            } else if meta.path.is_ident("crate") {
                krate = meta.value()?.parse()?;
            } else {
                return Err(meta.error(
                    "expected `reply = Type`, `debug`, `abort`, `priority = Level` or `crate = path`",
                ));
            }
            Ok(())
        })?;
    }
    let priority =
        priority.map(|level| quote! { const PRIORITY: #krate::Priority = #krate::Priority::#level; });
    let name = &input.ident;
    let mut generics = input.generics.clone();
    for parameter in input.generics.type_params() {
        let ident = &parameter.ident;
        generics.make_where_clause().predicates.push(parse_quote!(#ident: ::core::marker::Send + 'static));
    }
    let (implemented, used, bounds) = generics.split_for_impl();
    Ok(quote! {
        impl #implemented #krate::Message for #name #used #bounds {
            type Reply = #reply;
            #priority
            #abort
            #describe
        }
    })
}

fn level(level: Ident) -> syn::Result<Ident> {
    if ["Low", "Normal", "High"].iter().any(|known| level == known) {
        return Ok(level);
    }
    Err(syn::Error::new(level.span(), "expected `Low`, `Normal` or `High`"))
}
