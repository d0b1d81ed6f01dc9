//! Numbers of JSON as exact decimals.

/// Writes a JSON number in the one spelling of its value: the digits without zeros at the ends, `e`, and the exponent of the last digit. An
/// exponent of more than 17 digits is no number that anything counts with: it stays as written.
pub(super) fn write(number: &str, into: &mut Vec<u8>) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = [whole, fraction].concat();
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        return into.push(b'0');
    }
    let Some(exponent) = read_exponent(exponent) else { return into.extend_from_slice(number.as_bytes()) };
    let ending_zeros = all.len() - all.trim_end_matches('0').len();
    let exponent = exponent + ending_zeros as i64 - fraction.len() as i64;
    into.extend_from_slice(format!("{sign}{digits}e{exponent}").as_bytes());
}

fn read_exponent(written: &str) -> Option<i64> {
    let (sign, digits) = written.strip_prefix('-').map_or((1, written.trim_start_matches('+')), |digits| (-1, digits));
    let digits = digits.trim_start_matches('0');
    match digits.len() {
        0 => Some(0),
        1..=17 => digits.parse().ok().map(|exponent: i64| sign * exponent),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    fn spelled(number: &str) -> String {
        let mut out = Vec::new();
        super::write(number, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn spelling_is_one_for_each_value() {
        for (value, spellings) in [
            ("0", &["0", "-0", "0.00", "-0e5", "0E-99999999999999999999"][..]),
            ("1e0", &["1", "1.0", "10e-1", "0.1E+1", "1e0", "1e-0", "1e00000000000000000000"]),
            ("-12e1", &["-120", "-1.2e2", "-12E01", "-0.00120e5"]),
            ("1e-1", &["0.1", "1e-1", "0.10000"]),
            ("1000000000000000055511151231257827e-34", &["0.1000000000000000055511151231257827"]),
            ("9007199254740993e0", &["9007199254740993", "9007199254740993.0"]),
            ("1e400", &["1e400", "10e399"]),
            ("1e999999999999999999999", &["1e999999999999999999999"]),
        ] {
            assert!(spellings.iter().all(|number| spelled(number) == value), "{value}");
        }
    }
}
