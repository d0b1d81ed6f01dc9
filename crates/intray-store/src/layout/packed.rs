//! A field of a history that is over, as `lua/base/history_codec.lua` writes it: column by column, in bits.

use intray_redis::Fault;

use super::history::{COLUMNS, HistoryColumns, Spans, enter};
use crate::{
    job::limits::HISTORY_PLACES,
    record_fields::history_fields::{
        ALL_ZERO, CHANGE, COLUMNS_BITS, COMPLETED, ENCODING_BITS, ENQUEUED, EXPECTED, HANDED_OUT, LENGTH_BITS,
        LONG_FROM, PLAIN, RESERVED, WAITING,
    },
    redis::read::broken,
};

/// The largest k: bits of the remainder.
const MAX_REMAINDER_BITS: u32 = 58;

/// Reads bits, the low ones of a byte first.
struct Bits<'b> {
    bytes: &'b [u8],
    at: usize,
}

/// Adds the rows of a field whose first span is `first`.
pub(crate) fn unpack(spans: &mut Spans, first: u64, bytes: &[u8]) -> Result<(), Fault> {
    let mut bits = Bits { bytes, at: 0 };
    let columns = bits.take(COLUMNS_BITS)? as usize;
    if !(COMPLETED + 1..=COLUMNS).contains(&columns) {
        return Err(broken("columns of the history"));
    }
    let mut places = Vec::new();
    for place in 0..HISTORY_PLACES {
        if bits.take(1)? == 1 {
            places.push(place);
        }
    }
    let mut rows = vec![[0; COLUMNS]; places.len()];
    // The prediction of these two needs the other columns.
    for column in (ENQUEUED..columns).chain([WAITING, RESERVED]) {
        bits.column(&mut rows, column)?;
    }
    for (place, row) in places.iter().zip(&rows) {
        enter(spans, first + place, row);
    }
    Ok(())
}

/// The prediction: every enqueued job is handed out and completed in the same span; the numbers of waiting and reserved jobs
/// change by the difference.
fn expected(row: &HistoryColumns, before: &HistoryColumns, column: usize) -> i64 {
    let sum = |stock: u64, more: u64, less: u64| stock.wrapping_add(more).wrapping_sub(less) as i64;
    match column {
        WAITING => sum(before[WAITING], row[ENQUEUED], row[HANDED_OUT]),
        RESERVED => sum(before[RESERVED], row[HANDED_OUT], row[COMPLETED]),
        HANDED_OUT => row[ENQUEUED] as i64,
        COMPLETED => row[HANDED_OUT] as i64,
        _ => 0,
    }
}

/// Zigzag decoding: odd numbers are negative.
fn unfolded(number: u64) -> i64 {
    let half = (number >> 1) as i64;
    if number & 1 == 1 { -half - 1 } else { half }
}

impl Bits<'_> {
    fn take(&mut self, width: u32) -> Result<u64, Fault> {
        let mut value = 0;
        for bit in 0..width {
            let byte = self.bytes.get(self.at / 8).ok_or_else(|| broken("a part of the history"))?;
            value |= u64::from(byte >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        Ok(value)
    }

    /// A Rice code; long numbers have their length in front.
    fn number(&mut self, k: u32) -> Result<u64, Fault> {
        let mut times = 0;
        while times < LONG_FROM && self.take(1)? == 1 {
            times += 1;
        }
        if times == LONG_FROM {
            let length = self.take(LENGTH_BITS)? as u32;
            return self.take(length);
        }
        Ok(times << k | self.take(k)?)
    }

    fn column(&mut self, rows: &mut [HistoryColumns], column: usize) -> Result<(), Fault> {
        let encoding = self.take(ENCODING_BITS)?;
        if encoding == ALL_ZERO {
            return Ok(());
        }
        let k = Some(self.take(LENGTH_BITS)? as u32)
            .filter(|k| *k <= MAX_REMAINDER_BITS)
            .ok_or_else(|| broken("an encoding of the history"))?;
        let mut before = [0; COLUMNS];
        for row in rows {
            let number = self.number(k)?;
            let from = match encoding {
                PLAIN => None,
                CHANGE => Some(before[column] as i64),
                EXPECTED.. => Some(expected(row, &before, column)),
            };
            row[column] = from.map_or(number, |from| from.wrapping_add(unfolded(number)) as u64);
            before = *row;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs numbers with the given widths.
    fn bits(numbers: &[(u64, u32)]) -> Vec<u8> {
        let each = numbers.iter().flat_map(|(number, width)| (0..*width).map(move |bit| number >> bit & 1 == 1));
        let each: Vec<bool> = each.collect();
        each.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | u8::from(*bit))).collect()
    }

    /// Five columns, and rows in the first two places: 6 and then 300 jobs are enqueued and handed out, and one of each row is
    /// completed, so 5 and then 304 are reserved.
    fn whole() -> Vec<u8> {
        let (head, rows, nothing) = ((5, 5), [(0b11, 60), (0, 60)], (ALL_ZERO, 2));
        let plain = [(PLAIN, 2), (2, 6), (0b01, 2), (0b10, 2), (0xFF, 8), (9, 6), (300, 9)];
        let as_expected = [(EXPECTED, 2), (0, 6), (0, 1), (0, 1)];
        let steady = [(CHANGE, 2), (1, 6), (0b01, 2), (0, 1), (0, 1), (0, 1)];
        bits(&[&[head][..], &rows, &plain, &as_expected, &steady, &[nothing], &as_expected].concat())
    }

    #[test]
    fn columns_decode_in_each_encoding() {
        let mut spans = Spans::new();
        unpack(&mut spans, 240, &whole()).expect("a field");
        let rows: Vec<_> = spans.iter().map(|(at, row)| (*at, row[..5].to_vec())).collect();
        assert_eq!(rows, [(240, vec![0, 5, 6, 6, 1]), (241, vec![0, 304, 300, 300, 1])]);
    }

    #[test]
    fn truncated_fields_are_rejected() {
        let whole = whole();
        for cut in 0..whole.len() {
            assert!(unpack(&mut Spans::new(), 0, &whole[..cut]).is_err(), "{cut} bytes");
        }
        for columns in [0, 4, COLUMNS as u8 + 1, 31] {
            assert!(unpack(&mut Spans::new(), 0, &[&[columns][..], &[0; 40]].concat()).is_err(), "{columns} columns");
        }
    }
}
