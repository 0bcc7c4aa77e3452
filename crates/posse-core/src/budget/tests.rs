use proptest::prelude::*;

use super::*;

mod trees;

fn amount(tokens: u64, microdollars: u64) -> Amount {
    Amount { tokens, microdollars }
}

fn tokens(limit: u64) -> Limits {
    Limits { tokens: Some(limit), ..Limits::default() }
}

fn seconds(limit: u64) -> Limits {
    Limits { seconds: Some(limit), ..Limits::default() }
}

/// A request of a free model: only tokens count.
fn ask(input: u64, output: u64) -> Ask {
    Ask {
        input_bound_tokens: input,
        wanted_output_tokens: output,
        price: Price::of("rehearsal"),
        searches: 0,
    }
}

#[test]
fn a_request_is_reserved_on_the_whole_path_or_nowhere() {
    let mut ledger = Ledger::new("main", tokens(100), 0);
    let child = ledger.open(Ledger::ROOT, "child", tokens(1_000), 0).unwrap();
    let refused = ledger.reserve(child, amount(101, 0), 0).unwrap_err();
    assert_eq!((refused.node, refused.which, refused.left), (Ledger::ROOT, Which::Tokens, 100));
    assert!(ledger.accounts().iter().all(|account| account.reserved().is_zero()));

    let held = ledger.reserve(child, amount(60, 0), 0).unwrap();
    assert_eq!(ledger.left(Ledger::ROOT, 0).tokens, Some(40));
    assert_eq!(ledger.left(child, 0).tokens, Some(40), "the least along the path");
    assert_eq!(ledger.settle(held, amount(10, 0)), Amount::default());
    assert_eq!(ledger.left(child, 0).tokens, Some(90));
    assert_eq!(
        (ledger.account(child).spent, ledger.account(Ledger::ROOT).spent),
        (amount(10, 0), amount(10, 0))
    );
}

#[test]
fn what_costs_more_than_reserved_is_told_and_counted_apart() {
    let mut ledger = Ledger::new("main", tokens(100), 0);
    let held = ledger.reserve(Ledger::ROOT, amount(100, 5), 0).unwrap();
    assert_eq!(ledger.settle(held, amount(130, 4)), amount(30, 0));
    let account = ledger.account(Ledger::ROOT);
    assert_eq!((account.spent, account.overrun), (amount(100, 4), amount(30, 0)));
}

#[test]
fn what_a_provider_takes_beyond_its_limit_leaves_less_for_work_and_the_hand_back_whole() {
    let mut ledger = Ledger::new("main", tokens(100_000), 0);
    let Grant::Go { reservation, .. } = ledger.grant(Ledger::ROOT, &ask(1_000, 4_000), 0) else {
        panic!("there is enough");
    };
    assert_eq!(ledger.settle(reservation, amount(100_000, 0)), amount(95_000, 0));
    assert!(matches!(ledger.plan(Ledger::ROOT, &ask(5_000, 4_000), 0), Plan::HandBack { .. }));
    assert!(ledger.reserve(Ledger::ROOT, amount(1, 0), 0).is_err());
}

#[test]
fn what_is_released_is_free_again() {
    let mut ledger = Ledger::new("main", tokens(100), 0);
    let held = ledger.reserve(Ledger::ROOT, amount(100, 0), 0).unwrap();
    assert!(ledger.reserve(Ledger::ROOT, amount(1, 0), 0).is_err());
    assert_eq!(ledger.pending(), 1);
    ledger.release(held);
    assert_eq!((ledger.pending(), ledger.left(Ledger::ROOT, 0).tokens), (0, Some(100)));
}

#[test]
fn descendants_count_for_everybody_above() {
    let limits = |descendants| Limits { descendants: Some(descendants), ..Limits::default() };
    let mut ledger = Ledger::new("main", limits(3), 0);
    let child = ledger.open(Ledger::ROOT, "child", limits(1), 0).unwrap();
    let grandchild = ledger.open(child, "grandchild", Limits::default(), 0).unwrap();
    assert_eq!(ledger.open(child, "another", Limits::default(), 0).unwrap_err().node, child);
    assert_eq!(ledger.open(grandchild, "deeper", Limits::default(), 0).unwrap_err().node, child);
    assert_eq!(ledger.left(Ledger::ROOT, 0).descendants, Some(1));
    ledger.close(grandchild, 0);
    ledger.open(Ledger::ROOT, "third", Limits::default(), 0).unwrap();
    let refused = ledger.open(Ledger::ROOT, "fourth", Limits::default(), 0).unwrap_err();
    assert_eq!((refused.node, refused.which, refused.limit), (Ledger::ROOT, Which::Descendants, 3));
}

#[test]
fn plans_follow_what_is_left() {
    const WANTED: u64 = 10_000;
    // Work reads 1000 and writes; its hand-back reads that, the room and writes its least answer.
    let with_rest = |written: u64| 1_000 + written + (1_000 + written + HAND_BACK_ROOM + LEAST_ANSWER);
    let go = |max_tokens| Some((true, max_tokens));
    let hand_back = |max_tokens| Some((false, max_tokens));
    let table = [
        (u64::MAX, go(WANTED)),
        (with_rest(WANTED), go(WANTED)),
        (with_rest(WANTED) - 2, go(WANTED - 1)),
        (with_rest(LEAST_WORK), go(LEAST_WORK)),
        (with_rest(LEAST_WORK) - 1, hand_back(with_rest(LEAST_WORK) - 1 - 1_000)),
        (1_000 + LEAST_ANSWER, hand_back(LEAST_ANSWER)),
        (1_000 + LEAST_ANSWER - 1, None),
        (0, None),
    ];
    for (limit, expected) in table {
        let ledger = Ledger::new("main", tokens(limit), 0);
        let got = match ledger.plan(Ledger::ROOT, &ask(1_000, WANTED), 0) {
            Plan::Go { max_tokens, within_ms: None } => Some((true, max_tokens)),
            Plan::HandBack { max_tokens, max_input_tokens: 1_000, within_ms: None, cause } => {
                assert_eq!((cause.which, cause.limit), (Which::Tokens, limit));
                Some((false, max_tokens))
            }
            Plan::Stop(cause) => {
                assert_eq!((cause.which, cause.left), (Which::Tokens, limit));
                None
            }
            odd => panic!("{limit}: {odd:?}"),
        };
        assert_eq!(got, expected, "{limit}");
    }
}

#[test]
fn nobody_takes_what_is_kept_for_a_hand_back() {
    let mut ledger = Ledger::new("main", tokens(20_000), 0);
    let Grant::Go { reservation, max_tokens, .. } = ledger.grant(Ledger::ROOT, &ask(1_000, 4_000), 0) else {
        panic!("there is enough");
    };
    let _ = ledger.settle(reservation, amount(1_000 + max_tokens, 0));
    let child = ledger.open(Ledger::ROOT, "greedy", Limits::default(), 0).unwrap();
    while let Ok(held) = ledger.reserve(child, amount(1, 0), 0) {
        let _ = ledger.settle(held, amount(1, 0));
    }
    assert!(matches!(ledger.plan(child, &ask(1, 4_000), 0), Plan::Stop(_)));
    // A tool answered with far more than is left; the hand-back still fits, cut to the room.
    let plan = ledger.plan(Ledger::ROOT, &ask(1_000 + max_tokens + 50_000, 4_000), 0);
    let Plan::HandBack { max_tokens: said, max_input_tokens, .. } = plan else { panic!("{plan:?}") };
    assert_eq!((said, max_input_tokens), (LEAST_ANSWER, 1_000 + max_tokens + HAND_BACK_ROOM));
    ledger.close(Ledger::ROOT, 0);
    assert!(ledger.account(Ledger::ROOT).reserved().is_zero());
}

#[test]
fn time_leaves_a_tenth_for_the_hand_back_at_every_level() {
    let mut ledger = Ledger::new("main", seconds(100), 0);
    let child = ledger.open(Ledger::ROOT, "child", Limits::default(), 0).unwrap();
    let quick = ledger.open(Ledger::ROOT, "quick", seconds(20), 0).unwrap();
    let plan = |node, now| match ledger.plan(node, &ask(1, 1_000), now) {
        Plan::Go { within_ms, .. } => ("go", within_ms),
        Plan::HandBack { within_ms, cause, .. } => {
            assert_eq!(cause.which, Which::Seconds);
            ("hand back", within_ms)
        }
        Plan::Stop(cause) => {
            assert_eq!((cause.which, cause.left), (Which::Seconds, 0));
            ("stop", None)
        }
    };
    assert_eq!(plan(Ledger::ROOT, 0), ("go", Some(90_000)));
    assert_eq!(plan(Ledger::ROOT, 89_999), ("go", Some(1)));
    assert_eq!(plan(Ledger::ROOT, 90_000), ("hand back", Some(10_000)));
    assert_eq!(plan(Ledger::ROOT, 100_000), ("stop", None));
    // A child is done when its parent has to hand over.
    assert_eq!(plan(child, 0), ("go", Some(80_000)));
    assert_eq!(plan(child, 80_000), ("hand back", Some(10_000)));
    assert_eq!(plan(child, 90_000), ("stop", None));
    assert_eq!(plan(quick, 0), ("go", Some(18_000)));
    assert_eq!(plan(quick, 18_000), ("hand back", Some(2_000)));
    assert_eq!(plan(quick, 20_000), ("stop", None));
}

#[test]
fn time_stands_still_while_an_agent_rests() {
    let mut ledger = Ledger::new("main", seconds(10), 1_000);
    ledger.close(Ledger::ROOT, 6_000);
    assert_eq!(ledger.account(Ledger::ROOT).worked_ms(500_000), 5_000);
    assert_eq!(ledger.left(Ledger::ROOT, 500_000).milliseconds, Some(5_000));
    let held = ledger.reserve(Ledger::ROOT, amount(1, 1), 500_000).unwrap();
    ledger.release(held);
    assert_eq!(ledger.left(Ledger::ROOT, 501_000).milliseconds, Some(4_000), "asking woke it");
}

#[test]
fn limits_narrow() {
    let one = Limits { tokens: Some(5), microdollars: Some(9), seconds: None, descendants: None };
    let other = Limits { tokens: Some(7), microdollars: Some(2), seconds: Some(3), descendants: None };
    let both = Limits { tokens: Some(5), microdollars: Some(2), seconds: Some(3), descendants: None };
    assert_eq!((one.narrowed(other), other.narrowed(one)), (both, both));
    assert!(Limits::default().is_unlimited());
}

#[test]
fn words_for_people() {
    let all =
        Limits { tokens: Some(200_000), microdollars: Some(500_000), seconds: Some(1), descendants: Some(4) };
    assert_eq!(all.to_string(), "200000 tokens, $0.50, 1 second, 4 descendants");
    assert_eq!(Limits::default().to_string(), "no limit");
    let exhausted = Exhausted { node: Ledger::ROOT, which: Which::Dollars, limit: 1_250_000, left: 1_234 };
    assert_eq!(exhausted.to_string(), "the budget of $1.25 is used up ($0.001234 left)");
}

#[test]
fn dollars_are_read_without_rounding_up() {
    let table = [
        ("0.50", Some(500_000)),
        ("3", Some(3_000_000)),
        (".25", Some(250_000)),
        ("2.", Some(2_000_000)),
        ("0.0000019", Some(1)),
        ("", None),
        (".", None),
        ("-1", None),
        ("1e3", None),
        ("$1", None),
        ("99999999999999999999", None),
        ("18446744073710", None),
    ];
    for (text, expected) in table {
        assert_eq!(parse_dollars(text), expected, "{text}");
    }
    assert_eq!(from_dollars(0.29), Some(290_000));
    assert_eq!(from_dollars(1e-7), Some(0));
    assert_eq!((from_dollars(-0.5), from_dollars(f64::NAN), from_dollars(f64::INFINITY)), (None, None, None));
    assert_eq!(from_dollars(1e300), None);
}

proptest! {
    #[test]
    fn price_tags_read_back(amount: u64) {
        prop_assert_eq!(parse_dollars(dollars(amount).trim_start_matches('$')), Some(amount));
    }
}

#[test]
fn messages_come_to_no_more_tokens_than_bytes() {
    use crate::message::{Block, Content, Media, Message, Role, ToolAnswer};
    const WINDOW: u64 = 200_000;
    let media = |kind: &str, length: usize| Media { media_type: kind.into(), data: "A".repeat(length) };
    let said = |blocks| Message { role: Role::User, blocks };
    let bound = |message: &Message| tokens_at_most(std::slice::from_ref(message), WINDOW);

    let text = "ein Übermaß an 🦀";
    assert!(bound(&Message::user(text)) >= text.len() as u64);
    assert_eq!(tokens_at_most(&[], WINDOW), 0);
    // An image is what it is shrunk to, however long it is; a document may hold more than its bytes say.
    let small = bound(&said(vec![Block::Media(media("image/png", 4))]));
    assert_eq!(bound(&said(vec![Block::Media(media("image/png", 4_000_000))])), small);
    assert!(small >= 6_000);
    assert!(bound(&said(vec![Block::Media(media("application/pdf", 4))])) > WINDOW);
    let answer = ToolAnswer {
        content: vec![Content::Text("page".into()), Content::Media(media("image/png", 1_000_000))],
        ..ToolAnswer::text("c1", "")
    };
    assert!((6_000..7_000).contains(&bound(&said(vec![Block::ToolResult(answer)]))));
}
