use super::*;

fn outcome(needs: &[Need]) -> String {
    match ensure(&Shell::at_project_root(), needs) {
        Ok(()) => "ready".to_owned(),
        Err(problem) => problem,
    }
}

#[test]
fn what_is_there_is_not_installed_again() {
    let there = Need { what: "air", check: |_| true, install: |_| Err("must not be called".to_owned()) };
    assert_eq!(outcome(&[there]), "ready");
}

#[test]
fn everything_missing_is_named_at_once() {
    let by_hand = Need { what: "tea", check: |_| false, install: |_| Err("put the kettle on".to_owned()) };
    let broken = Need { what: "a cup", check: |_| false, install: |_| Ok(()) };
    assert_eq!(
        outcome(&[by_hand, broken]),
        "tea is missing: put the kettle on\nerror: a cup was installed and still does not work"
    );
}

#[test]
fn a_wish_says_what_is_lost_without_it() {
    let shell = Shell::at_project_root();
    let sugar = Need { what: "sugar", check: |_| false, install: |_| Err("buy some".to_owned()) };
    assert_eq!(
        wish(&shell, &sugar, "the tea is plain"),
        Err("sugar is missing: buy some; the tea is plain".to_owned())
    );
    let air = Need { what: "air", check: |_| true, install: |_| Err("must not be called".to_owned()) };
    assert_eq!(wish(&shell, &air, ""), Ok(()));
}
