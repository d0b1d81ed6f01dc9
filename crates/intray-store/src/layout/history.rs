//! The history of a queue, as `lua/base/history.lua` writes it.

use std::collections::BTreeMap;

use intray_redis::Fault;

use crate::job::Total;
use crate::record_fields::GAUGES;
use crate::redis::read::broken;

/// Columns: waiting jobs, reserved jobs, then the increase of each total.
pub(crate) const COLUMNS: usize = GAUGES + Total::ALL.len();

/// By minute or hour since 1970.
pub(crate) type Spans = BTreeMap<u64, HistoryColumns>;
pub(crate) type HistoryColumns = [u64; COLUMNS];

/// Adds a span. One that is there already gets the sum of the totals, and the newer numbers of waiting and reserved jobs.
fn add_span(spans: &mut Spans, at: u64, columns: &HistoryColumns) {
    let span = spans.entry(at).or_default();
    for (column, (value, found)) in span.iter_mut().zip(columns).enumerate() {
        *value = if column < GAUGES { *found } else { value.saturating_add(*found) };
    }
}

/// Reads the entries of a field whose first span is `first`.
pub(crate) fn add(spans: &mut Spans, first: u64, mut entries: &[u8]) -> Result<(), Fault> {
    while let [place, rest @ ..] = entries {
        entries = rest;
        let (has, mut columns) = (number(&mut entries)?, [0; COLUMNS]);
        for (column, value) in columns.iter_mut().enumerate() {
            if has >> column & 1 == 1 {
                *value = number(&mut entries)?;
            }
        }
        add_span(spans, first + u64::from(*place), &columns);
    }
    Ok(())
}

/// Seven bits per byte, the low ones first; the eighth bit marks that another byte follows.
fn number(entries: &mut &[u8]) -> Result<u64, Fault> {
    let end = entries.iter().take(9).position(|byte| *byte < 128).ok_or_else(|| broken("a number of the history"))?;
    let (digits, rest) = entries.split_at(end + 1);
    *entries = rest;
    Ok(digits.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 127)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[u8]) -> Result<Spans, Fault> {
        let mut spans = Spans::new();
        add(&mut spans, 240, entries).map(|()| spans)
    }

    #[test]
    fn entries_hold_only_columns_above_zero() {
        // Place 5 has 300 waiting jobs and one enqueued, place 7 nine of the last total.
        let last = COLUMNS - 1;
        let has = 1_u64 << last;
        let spans = read(&[5, 0b101, 0xAC, 2, 1, 7, (has & 127) as u8 | 128, (has >> 7) as u8, 9]).expect("entries");
        let (mut fifth, mut seventh) = ([0; COLUMNS], [0; COLUMNS]);
        (fifth[0], fifth[2], seventh[last]) = (300, 1, 9);
        assert_eq!(spans.into_iter().collect::<Vec<_>>(), [(245, fifth), (247, seventh)]);
    }

    #[test]
    fn minute_entered_twice_is_merged() {
        let spans = read(&[5, 0b101, 3, 2, 5, 0b110, 1, 4]).expect("entries");
        assert_eq!(spans[&245][..3], [0, 1, 6], "it waits and is held what it was last, and was counted in sum");
    }

    #[test]
    fn truncated_entries_are_rejected() {
        for cut in [&[5][..], &[5, 1], &[5, 1, 128], &[5, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]] {
            assert!(read(cut).is_err(), "{cut:?}");
        }
    }
}
