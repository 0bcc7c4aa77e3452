//! How long it takes to find and read 10,000 agents of 5 KB, against reading the same bytes and doing nothing.
//!
//! The two are measured in one run on one machine, so the ratio means something where the times do not.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use criterion::{Criterion, criterion_group, criterion_main};
use posse_runtime::catalog::{Catalog, CatalogOptions};
use posse_runtime::world::{Env, World};

const AGENTS: usize = 10_000;
const BYTES: usize = 5 * 1024;

/// Headers as people write them: half of them plain, the rest with lists, quotes, blocks, and one in sixteen broken in
/// the way most broken ones are.
fn agent(number: usize) -> String {
    let tools = match number % 4 {
        0 => "tools: Read, Grep, Glob, Bash(git diff:*)",
        1 => "tools: [Read, Write, Edit]",
        2 => "model: sonnet",
        _ => "tools:\n  - Read\n  - Grep\nmodel: haiku",
    };
    let description = match number % 16 {
        3 => "Use this agent when: a change needs a second pair of eyes".to_owned(),
        7 => "|\n  Reviews changes.\n\n  Looks for defects first.".to_owned(),
        11 => "\"Reviews: quoted, with a colon\"".to_owned(),
        _ => "Reviews changes for defects and reports them with file and line".to_owned(),
    };
    let mut text =
        format!("---\nname: agent-{number:05}\ndescription: {description}\n{tools}\ncolor: blue\n---\n");
    while text.len() < BYTES {
        text.push_str("Read the change, then the code around it, and say what is wrong with it and why.\n");
    }
    text.truncate(BYTES);
    text
}

fn project() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder");
    for number in 0..AGENTS {
        let folder = root.path().join(format!(".claude/agents/group-{:02}", number % 20));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(format!("agent-{number:05}.md")), agent(number)).expect("a file");
    }
    std::fs::create_dir_all(root.path().join(".git")).expect("a folder");
    root
}

/// What "plain parallel read" means here: list the folders, read every file on all cores, count the bytes.
fn read_all(root: &Path) -> usize {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in std::fs::read_dir(root.join(".claude/agents")).expect("a folder").flatten() {
        files.extend(std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.path()));
    }
    let (next, total) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    total.fetch_add(std::fs::read(file).map_or(0, |bytes| bytes.len()), Ordering::Relaxed);
                }
            });
        }
    });
    total.into_inner()
}

fn catalog(criterion: &mut Criterion) {
    let root = project();
    let world = World { env: Env::default(), cwd: root.path().to_owned(), ..World::default() };
    let loaded = Catalog::load(&world, &CatalogOptions::default()).expect("a catalog");
    let own = loaded.registry.active.iter().filter(|agent| agent.name.starts_with("agent-")).count();
    assert_eq!((own, loaded.registry.failed.len()), (AGENTS, 0));
    drop(loaded);
    let mut group = criterion.benchmark_group("10,000 agents of 5 KB");
    group.sample_size(20);
    group.bench_function("plain parallel read", |bencher| {
        bencher.iter(|| assert_eq!(read_all(root.path()), AGENTS * BYTES));
    });
    group.bench_function("catalog", |bencher| {
        bencher.iter(|| {
            Catalog::load(&world, &CatalogOptions::default()).expect("a catalog").registry.active.len()
        });
    });
    group.finish();
}

criterion_group!(benches, catalog);
criterion_main!(benches);
