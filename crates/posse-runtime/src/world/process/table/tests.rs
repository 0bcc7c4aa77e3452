use super::*;

#[test]
fn a_name_may_contain_anything() {
    let stat = "42 (a) b (c) S 7 42 40 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9001 1 2 3\n";
    let expected = Process { id: 42, parent: 7, group: 42, session: 40, started: 9001, lives: true };
    assert_eq!(Process::parse(stat.as_bytes()), Some(expected));
    let dead = stat.replace(" S ", " Z ");
    assert_eq!(Process::parse(dead.as_bytes()), Some(Process { lives: false, ..expected }));
    let threads_left = dead.replace(" 20 0 1 0 ", " 20 0 3 0 ");
    assert_eq!(Process::parse(threads_left.as_bytes()), Some(expected));
    for broken in ["", "x", "1 (a", "1 (a)", "1 (a) S 2 3"] {
        assert_eq!(Process::parse(broken.as_bytes()), None, "{broken}");
    }
}

#[test]
fn this_process_is_in_the_table_and_has_no_mark() {
    let me = raw(getpid());
    assert!(read().get(&me).is_some_and(|process| process.lives));
    assert!(!is_marked(me, "nobody"));
}
