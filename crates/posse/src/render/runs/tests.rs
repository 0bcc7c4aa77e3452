use super::*;

fn agent(kind: &str, task: &str, status: Status, children: Vec<Node>) -> Node {
    let usage =
        Usage { input: 12_345, output: 999, cache_read: 1_000_000, cache_write: 50_000, web_searches: 0 };
    Node {
        id: "s".into(),
        kind: kind.into(),
        name: None,
        task: task.to_owned(),
        status,
        in_background: status == Status::Running,
        models: vec!["haiku".into()],
        work: Work { turns: 3, tool_calls: 12, usage, cost: 0.12345, duration_ms: 61_500 },
        began: None,
        busy: vec![(1_000, 62_500)],
        transcript: "t.jsonl".into(),
        unreadable: 0,
        children,
    }
}

#[test]
fn the_tree_has_branches_columns_and_a_sum() {
    let deep = agent("Plan", "x", Status::Unfinished, Vec::new());
    let first = agent("Explore", "look around", Status::Completed, vec![deep]);
    let root =
        agent("main", "go\u{1b}", Status::Completed, vec![first, agent("r", "y", Status::Running, vec![])]);
    let want = "\
agent                         status     turns  tools     in   out  cached     cost   time
main  go                      completed      3     12  12.3k   999    1.0M  $0.1235  1m01s
├─ Explore  look around       completed      3     12  12.3k   999    1.0M  $0.1235  1m01s
│  └─ Plan  x                 crashed        3     12  12.3k   999    1.0M  $0.1235  1m01s
└─ r &  y                     running        3     12  12.3k   999    1.0M  $0.1235  1m01s
";
    let text = tree(&root, Style { color: false }, 120);
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed(&text).starts_with(&squeezed(want)), "{text}");
    assert!(squeezed(&text).contains("total 12 48 49.3k 3.9k 4.2M $0.4938 1m01s session s; haiku"), "{text}");
    let widths: Vec<usize> = text.lines().take(6).map(UnicodeWidthStr::width).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}\n{text}");
    assert!(text.contains("crashed: its process is gone") && text.contains("&: in the background"), "{text}");
}

#[test]
fn numbers_are_short() {
    for (count, want) in [(0, "0"), (999, "999"), (1_000, "1.0k"), (999_999, "999.9k"), (1_250_000, "1.2M")] {
        assert_eq!(tokens(count), want);
    }
    for (ms, want) in [(0, "0.0s"), (59_990, "59.9s"), (60_000, "1m00s"), (3_660_000, "1h01m")] {
        assert_eq!(duration(ms), want);
    }
}
