//! How long it takes to decide on a call with 1,000 rules.
//!
//! Paths are taken as they are: following links is the business of the file system and not measured here.

use std::path::PathBuf;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use posse_core::permission::{
    Behavior, Call, Folders, Mode, Rule, RuleSet, RuleSource, Ruling, Situation, Unlinked, decide,
};
use posse_core::shell;
use serde_json::json;

const RULES: usize = 1_000;

/// Rules as people write them, of every kind: seven in ten allow, two ask, one denies.
fn rules() -> RuleSet {
    let source = Arc::new(RuleSource::new("settings", "/w", "/w", Some("/home/u")));
    let rule = |number: usize| {
        let behavior = match number % 10 {
            0 => Behavior::Deny,
            1 | 2 => Behavior::Ask,
            _ => Behavior::Allow,
        };
        let text = match number / 10 % 10 {
            0 => format!("Bash(tool-{number}:*)"),
            1 => format!("Bash(git sub-{number}:*)"),
            2 => format!("Bash(npm run task-{number})"),
            3 => format!("Bash(* --flag-{number})"),
            4 => format!("Read(folder-{number}/**)"),
            5 => format!("Edit(/src/module-{number}/*.rs)"),
            6 => format!("Edit(*.kind-{number})"),
            7 => format!("WebFetch(domain:host-{number}.example.com)"),
            8 => format!("mcp__server-{number}__tool"),
            _ => format!("Agent(agent-{number})"),
        };
        Rule::parse(behavior, &text, &source)
    };
    let own = ["Bash(git diff:*)", "Edit(/src/**)", "mcp__own__tool"];
    let own = own.into_iter().map(|text| Rule::parse(Behavior::Allow, text, &source));
    RuleSet::new((0..RULES - 3).map(rule).chain(own).collect())
}

fn permission(criterion: &mut Criterion) {
    let rules = rules();
    let root = PathBuf::from("/w");
    let folders = Folders { cwd: root.clone(), roots: vec![root], ..Folders::default() };
    let situation = Situation {
        rules: &rules,
        mode: Mode::Default,
        limits: &[],
        folders: &folders,
        paths: &Unlinked,
        hook: None,
        contained: false,
    };
    let pipe = "git diff --stat | head -20";
    let calls = [
        ("Bash, two commands", "Bash", json!({ "command": pipe })),
        ("Bash, one command", "Bash", json!({ "command": "git diff --stat" })),
        ("Edit", "Edit", json!({ "file_path": "/w/src/a/b.rs", "old_string": "a", "new_string": "b" })),
        ("a server's tool", "mcp__own__tool", json!({ "query": "x" })),
    ];
    let mut group = criterion.benchmark_group("a decision with 1,000 rules");
    for (name, tool, input) in &calls {
        let call = Call::new(tool, input);
        assert_eq!(decide(&call, &situation).ruling, Ruling::Allow, "{name}");
        group.bench_function(*name, |bencher| bencher.iter(|| decide(&call, &situation)));
    }
    for (name, line) in [("reading two commands", pipe), ("reading one command", "git diff --stat")] {
        group.bench_function(name, |bencher| bencher.iter(|| shell::parse(line)));
    }
    group.finish();
}

criterion_group!(benches, permission);
criterion_main!(benches);
