//! The arithmetic of the comparison benchmark.

#[path = "../benches/compare/numbers.rs"]
mod numbers;
#[path = "../benches/compare/schedule.rs"]
mod schedule;
#[path = "../benches/compare/table.rs"]
mod table;

use std::time::Duration;

use numbers::{median, percentile, shown};
use schedule::Schedule;
use table::Table;

#[test]
fn percentile_is_one_of_the_values() {
    let hundred: Vec<_> = (1..=100).map(f64::from).collect();
    for (share, wanted) in [(0.5, 50.0), (0.99, 99.0), (0.999, 100.0), (1.0, 100.0), (0.0, 1.0)] {
        assert_eq!(percentile(&hundred, share), wanted, "{share}");
    }
    assert_eq!(percentile(&[7.0], 0.99), 7.0);
    assert!(percentile(&[], 0.5).is_nan());
}

#[test]
fn median_ignores_the_order() {
    assert_eq!(median(&[9.0, 1.0, 4.0]), 4.0);
    assert_eq!(median(&[9.0, 1.0, 4.0, 2.0]), 3.0);
    assert_eq!(median(&[5.0]), 5.0);
    assert!(median(&[]).is_nan());
}

#[test]
fn calls_stay_due_at_an_even_pace_after_late_ones() {
    let schedule = Schedule::new(1_000.0, Duration::from_secs(2));
    assert_eq!(schedule.calls(), 2_000);
    assert_eq!([0, 1, 1_500].map(|call| schedule.due(call).as_millis()), [0, 1, 1_500]);
    // A late caller gets every call that came due meanwhile, up to the total.
    for (elapsed, due) in [(0, 1), (1, 2), (500, 501), (60_000, 2_000)] {
        assert_eq!(schedule.due_by(Duration::from_millis(elapsed)), due, "{elapsed} ms");
    }
}

#[test]
fn calls_are_released_at_their_time_and_not_before() {
    let schedule = Schedule::new(2_999.7, Duration::from_secs(1));
    for call in 0..schedule.calls() {
        let due = schedule.due(call);
        assert_eq!(schedule.due_by(due), call + 1);
        assert!(due.is_zero() || schedule.due_by(due - Duration::from_nanos(1)) == call);
    }
}

#[test]
fn numbers_are_shown_with_significant_digits() {
    let examples = [
        (0.0, "0"),
        (0.984, "0.98"),
        (9.996, "10.0"),
        (12.34, "12.3"),
        (99.96, "100"),
        (589.4, "589"),
        (8_966.2, "8,966"),
        (1_000_000.0, "1,000,000"),
        (-1_234.5, "-1,234"),
        (-123.0, "-123"),
        (f64::NAN, ""),
    ];
    for (value, text) in examples {
        assert_eq!(shown(value), text, "{value}");
    }
}

#[test]
fn table_is_aligned_and_keeps_its_numbers() {
    let mut table = Table::new(&["who", "cycles/s", "of it"]);
    table.row("intray", [10_301.4, 1.0]);
    table.row("empty axum handler × 3", [24_700.0, f64::NAN]);
    let page = "\
        | who                    | cycles/s | of it |\n\
        |------------------------|---------:|------:|\n\
        | intray                 |   10,301 |     1 |\n\
        | empty axum handler × 3 |   24,700 |       |\n";
    assert_eq!(table.page(), page);
    let kept: Table = serde_json::from_str(&serde_json::to_string(&table).expect("JSON")).expect("a table");
    assert_eq!(kept.page(), page);
    assert_eq!(kept.column("cycles/s"), [10_301.4, 24_700.0]);
    assert_eq!(kept.figure(1, "cycles/s"), 24_700.0);
    assert!(kept.figure(1, "of it").is_nan(), "a missing measurement is not a number");
}
