//! The rooms, as `ARCHITECTURE.md` shows them.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::ROOMS;
use crate::exceptions::EXCEPTIONS;
use crate::graph::Graph;
use crate::source::Source;

const BEGIN: &str = "<!-- rooms: written by dactor-core/tests/rooms -->\n";
const END: &str = "<!-- end of rooms -->";

/// The text with the picture between its two marks.
pub(crate) fn insert(text: &str, drawn: &str) -> String {
    let marked = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = marked else { panic!("the page has no marks for the rooms") };
    format!("{before}{BEGIN}{drawn}{END}{after}")
}

/// A picture of the rooms, and tables of their contents and of the exceptions.
pub(crate) fn draw(source: &Source, graph: &Graph) -> String {
    let mut page = String::from("```mermaid\nflowchart TD\n");
    let top: Vec<_> = source.rooms().into_iter().filter(|room| !ROOMS.contains(&room.as_str())).collect();
    let _ = writeln!(page, "    top[\"{}\"]", top.join(", "));
    for room in ROOMS.iter().rev() {
        let _ = writeln!(page, "    {room}");
    }
    let name = |height: usize| ROOMS.get(height).copied().unwrap_or("top");
    for (user, used) in graph.downward().iter().rev() {
        let _ = writeln!(page, "    {} --> {}", name(*user), name(*used));
    }
    let exceptions: BTreeSet<_> =
        EXCEPTIONS.iter().map(|it| (it.module.split("::").next(), it.room)).collect();
    for (user, used) in exceptions {
        let _ = writeln!(page, "    {} -.-> {used}", user.unwrap_or_default());
    }
    page.push_str("```\n\n| room | what is in it | modules |\n| --- | --- | --- |\n");
    for room in ROOMS.iter().rev() {
        let modules: Vec<_> = source.modules(room).into_iter().map(|module| format!("`{module}`")).collect();
        let _ = writeln!(page, "| `{room}` | {} | {} |", source.summary(room), modules.join(" "));
    }
    page.push_str("\nThe dotted arrows lead up. They are the exceptions, module by module:\n\n");
    page.push_str("| module | uses | because |\n| --- | --- | --- |\n");
    for exception in EXCEPTIONS {
        let _ = writeln!(page, "| `{}` | `{}` | {} |", exception.module, exception.room, exception.reason);
    }
    page
}
