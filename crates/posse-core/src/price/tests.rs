use proptest::prelude::*;

use super::*;

const MODELS: &[&str] =
    &["haiku", "sonnet", "opus", "claude-3-opus", "fable", "a-model-of-tomorrow", "rehearsal:x"];

#[test]
fn costs_add_up() {
    let usage = Usage {
        input: 1_000_000,
        output: 100_000,
        cache_read: 1_000_000,
        cache_write: 1_000_000,
        web_searches: 2,
    };
    let price = Price::of("claude-sonnet-4-5");
    assert_eq!(price.cost(&usage), 3.0 + 1.5 + 0.3 + 3.75 + 0.02);
    assert_eq!(price.microdollars(&usage), 8_570_000);
    assert_eq!(Price::of("rehearsal:x").cost(&Usage { web_searches: 0, ..usage }), 0.0);
    assert_eq!(Price::of("a-model-of-tomorrow"), Price::of("sonnet"));
}

#[test]
fn a_begun_microdollar_counts() {
    let one_cached = Usage { cache_read: 1, ..Usage::default() };
    assert_eq!(Price::of("haiku").microdollars(&one_cached), 1);
    assert_eq!(Price::of("haiku").microdollars(&Usage::default()), 0);
}

#[test]
fn nothing_overflows() {
    let most = u64::MAX;
    let usage = Usage { input: most, output: most, cache_read: 0, cache_write: 0, web_searches: most };
    assert_eq!(Price::of("opus").microdollars(&usage), most);
    assert_eq!(Price::of("opus").at_most(most, most, most), most);
}

#[test]
fn windows_follow_the_suffix() {
    assert_eq!((context_window("sonnet"), context_window("claude-sonnet-4-5[1M]")), (200_000, 1_000_000));
}

proptest! {
    #[test]
    fn no_way_to_bill_a_request_costs_more_than_its_bound(
        model in 0..MODELS.len(),
        fresh in 0..1_000_000_u64, cached in 0..1_000_000_u64, written in 0..1_000_000_u64,
        output in 0..100_000_u64, searches in 0..10_u64, slack in 0..1_000_u64,
    ) {
        let price = Price::of(MODELS[model]);
        let usage = Usage { input: fresh, output, cache_read: cached, cache_write: written, web_searches: searches };
        let bound = price.at_most(usage.context() + slack, output + slack, searches);
        prop_assert!(price.microdollars(&usage) <= bound);
        // Both ways to say a price are one price, up to the begun microdollar.
        #[allow(clippy::cast_precision_loss)]
        let rounded = price.microdollars(&usage) as f64 / 1e6;
        prop_assert!((rounded - price.cost(&usage)).abs() <= 1.01e-6);
    }
}
