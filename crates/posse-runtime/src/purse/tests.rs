use super::*;

fn tokens(limit: u64) -> Limits {
    Limits { tokens: Some(limit), ..Limits::default() }
}

fn purse(limits: Limits) -> Purse {
    Purse::new("main", limits, &Clock::fixed("2026-01-02T03:04:05Z".parse().unwrap_or_default()))
}

fn ask(input: u64) -> Ask {
    let price = Price::of("rehearsal");
    Ask { input_bound_tokens: input, wanted_output_tokens: 1_000, price, searches: 0 }
}

fn used(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

#[test]
fn a_settled_request_frees_what_it_did_not_use() {
    let purse = purse(tokens(20_000));
    let Permit::Go { held, max_tokens, within: None } = purse.ask(&ask(3_000)) else { panic!("enough") };
    assert_eq!((max_tokens, held.bound().tokens), (1_000, 4_000));
    assert_eq!(purse.spent().tokens, 0);
    assert!(held.settle(&used(2_000, 100), &Price::of("rehearsal")).is_zero());
    assert_eq!((purse.spent().tokens, purse.left().tokens), (2_100, Some(17_900)));
}

#[test]
fn what_is_dropped_counts_in_full_and_what_is_released_not_at_all() {
    let purse = purse(tokens(20_000));
    let Permit::Go { held, .. } = purse.ask(&ask(3_000)) else { panic!("enough") };
    drop(held);
    assert_eq!(purse.spent().tokens, 4_000);
    purse.reserve(Amount { tokens: 500, microdollars: 0 }).unwrap().release();
    assert_eq!(purse.spent().tokens, 4_000);
}

#[test]
fn a_child_spends_from_its_parent_and_never_its_last_word() {
    let main = purse(tokens(12_000));
    let Permit::Go { held, .. } = main.ask(&ask(1_000)) else { panic!("enough") };
    let _ = held.settle(&used(1_000, 1_000), &Price::of("rehearsal"));
    let child = main.child("child", Limits::default()).unwrap();
    let free = main.left().tokens.unwrap() - child.left().tokens.unwrap();
    assert_eq!(free, 1_000 + 1_000 + 4_096 + 512, "what main keeps for its hand-back");
    let mut hand_backs = 0;
    loop {
        match child.ask(&ask(600)) {
            Permit::Go { held, .. } => drop(held),
            Permit::HandBack { held, cause, .. } => {
                assert_eq!((&*child.label_of(cause.node), cause.limit), ("main", 12_000));
                hand_backs += 1;
                drop(held);
                child.close();
                break;
            }
            Permit::Stop(cause) => panic!("{cause}"),
        }
    }
    assert_eq!(hand_backs, 1);
    assert!(matches!(main.ask(&ask(2_000)), Permit::HandBack { .. }));
    assert!(main.spent().tokens <= 12_000);
}

#[test]
fn the_report_is_a_tree() {
    let main = purse(Limits { descendants: Some(3), ..Limits::default() });
    let reader = main.child("reader", tokens(5)).unwrap();
    let deeper = reader.child("deeper", Limits::default()).unwrap();
    for purse in [&reader, &deeper] {
        // Asking begins its time.
        purse.reserve(Amount { tokens: 1, microdollars: 0 }).unwrap().release();
    }
    let writer = main.child("writer", Limits::default()).unwrap();
    assert!(main.child("too many", Limits::default()).is_err());
    writer.close();
    let lines: Vec<String> = main
        .report()
        .iter()
        .map(|entry| {
            format!("{}{} {} {}", "-".repeat(entry.depth), entry.label, entry.descendants, entry.is_open)
        })
        .collect();
    assert_eq!(lines, ["main 3 true", "-reader 1 true", "--deeper 0 true", "-writer 0 false"]);
    assert_eq!(reader.report().len(), 2);
}

#[test]
fn many_hands_at_once_never_reach_below_zero() {
    let main = purse(tokens(200_000));
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let child = main.child(name, Limits::default()).unwrap();
            scope.spawn(move || {
                let mut context = 100;
                loop {
                    match child.ask(&ask(context)) {
                        Permit::Go { held, .. } => {
                            context += 1_000;
                            drop(held);
                        }
                        Permit::HandBack { held, .. } => break drop(held),
                        Permit::Stop(cause) => panic!("{cause}"),
                    }
                }
                child.close();
            });
        }
    });
    assert!(main.spent().tokens <= 200_000);
    assert_eq!(main.left().tokens, Some(200_000 - main.spent().tokens), "nothing is held any more");
}
