//! Which top-level module of a crate uses which, and whether they use each other in a circle.
//!
//! Seen are `crate::`, `super::` and names that the crate's root re-exports. Not seen are names that come through
//! a glob (`pub use a::*` in the root) or are made by a macro; both are rare here and harmless to the verdict.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::project::{Crate, ProductFile};
use super::source::{self, NamedPath};

/// For each module the modules it uses, with the first place where it does.
pub(crate) type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// The graph of a crate's top-level modules. Roots (`lib.rs`, `main.rs`, `bin/`) tie everything together and are
/// therefore no part of it.
pub(crate) fn modules(krate: &Crate) -> Graph {
    let files = krate.product_files();
    let (roots, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| top_level(file).is_none());
    let mut graph: Graph =
        files.iter().filter_map(top_level).map(|module| (module.to_owned(), BTreeMap::new())).collect();
    let exported = exported_by_root(&roots, &graph);
    for file in &files {
        let own = module_path(file);
        for path in source::paths(&file.tokens()) {
            let Some(name) = named_at_root(&own, &path) else { continue };
            let target = if graph.contains_key(&name) { Some(&name) } else { exported.get(&name) };
            let Some(target) = target.filter(|target| **target != own[0]).cloned() else { continue };
            let place = format!("{}:{}", file.place, path.line);
            graph.entry(own[0].clone()).or_default().entry(target).or_insert(place);
        }
    }
    graph
}

fn top_level<'a>(file: &ProductFile<'a>) -> Option<&'a str> {
    let first = file.in_src.split('/').next()?.trim_end_matches(".rs");
    (!matches!(first, "lib" | "main" | "bin")).then_some(first)
}

fn module_path(file: &ProductFile<'_>) -> Vec<String> {
    file.in_src.trim_end_matches(".rs").split('/').map(str::to_owned).collect()
}

/// The first name below the crate's root that a path means, or nothing if it stays inside its own module or leaves
/// the crate.
fn named_at_root(own: &[String], path: &NamedPath) -> Option<String> {
    let climbs = path.segments.iter().take_while(|segment| *segment == "super").count();
    let first = match path.segments.first()?.as_str() {
        "crate" => 1,
        "super" if climbs >= own.len() + path.inside => climbs,
        _ => return None,
    };
    path.segments.get(first).cloned()
}

/// Names the root offers as its own, and the module each really comes from.
fn exported_by_root(roots: &[ProductFile<'_>], graph: &Graph) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for root in roots.iter().filter(|root| root.in_src == "lib.rs" || root.in_src == "main.rs") {
        for NamedPath { segments, alias, line: _, inside } in source::paths(&root.tokens()) {
            let skip = usize::from(matches!(segments[0].as_str(), "crate" | "self"));
            let module = segments.get(skip).filter(|module| graph.contains_key(*module) && inside == 0);
            let name = alias.or_else(|| segments.iter().rfind(|segment| *segment != "self").cloned());
            if let (Some(module), Some(name)) = (module, name) {
                exported.insert(name, module.clone());
            }
        }
    }
    exported
}

/// The shortest circle through each module that sits on one, each circle told once: `a -> b (place) -> a (place)`.
pub(crate) fn circles(graph: &Graph) -> Vec<String> {
    let mut told: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
    let mut findings = Vec::new();
    for start in graph.keys() {
        let Some(circle) = shortest_way_back(graph, start) else { continue };
        if told.insert(circle.iter().copied().collect()) {
            findings.push(describe(graph, &circle));
        }
    }
    findings
}

/// The modules on the way from `start` back to it, `start` first and not repeated.
fn shortest_way_back<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for next in graph.get(module)?.keys() {
            if next == start {
                let mut way = vec![module];
                while let Some(before) = came_from.get(way[way.len() - 1]) {
                    way.push(before);
                }
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(next.as_str()) {
                came_from.insert(next, module);
                queue.push_back(next);
            }
        }
    }
    None
}

fn describe(graph: &Graph, circle: &[&str]) -> String {
    let mut text = circle[0].to_owned();
    for (at, module) in circle.iter().enumerate() {
        let next = circle[(at + 1) % circle.len()];
        text.push_str(&format!(" -> {next} ({})", graph[*module][next]));
    }
    text
}

#[cfg(test)]
mod tests;
