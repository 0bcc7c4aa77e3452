use super::{Task, bench::Part, parse};

#[track_caller]
fn check(line: &str, expected: Result<Task, &str>) {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    assert_eq!(parse(&args), expected.map_err(str::to_owned), "{line}");
}

#[test]
fn command_lines() {
    let filters = |words: &[&str]| Task::Test { filters: words.iter().map(|w| (*w).to_owned()).collect() };
    check("", Ok(Task::Help));
    check("--help", Ok(Task::Help));
    check("bench -h", Ok(Task::Help));
    check("test", Ok(filters(&[])));
    check("test --", Ok(filters(&[])));
    check("test -- yaml -p posse-core", Ok(filters(&["yaml", "-p", "posse-core"])));
    check("ci", Ok(Task::Ci));
    check("audit", Ok(Task::Audit));
    check("bench", Ok(Task::Bench { only: None }));
    check("bench startup", Ok(Task::Bench { only: Some(Part::Startup) }));
    check("bench engine", Ok(Task::Bench { only: Some(Part::Engine) }));
    check("bench --peers", Ok(Task::Peers));
    check("bench engine --peers", Ok(Task::Peers));
}

#[test]
fn command_lines_that_make_no_sense() {
    check("tset", Err("there is no command `tset`"));
    check("test yaml", Err("filters go after two dashes: `cargo xtask test -- yaml`"));
    check("ci now", Err("`ci` takes no arguments, but got `now`"));
    check(
        "bench speed",
        Err("there is no benchmark `speed`; choose catalog, permission, startup, large, engine or sandbox"),
    );
    check("bench large --peers", Err("`--peers` goes with `bench engine`, not with `large`"));
    check("bench large small", Err("`bench` takes one name, but got `small` as well"));
}
