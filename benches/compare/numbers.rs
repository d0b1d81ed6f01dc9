//! Percentiles, medians, and how a number is shown.

/// The nearest-rank percentile of a sorted row: always a measured value.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The middle one, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (percentile(&sorted, 0.5), sorted.get(sorted.len() / 2));
    high.map_or(low, |high| if sorted.len().is_multiple_of(2) { f64::midpoint(low, *high) } else { *high })
}

/// Three significant digits, thousands apart: 12,345 and 123 and 12.3 and 1.23.
pub fn shown(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let magnitude = value.abs();
    let decimals = match magnitude {
        m if m >= 99.95 || m.fract() == 0.0 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits: Vec<char> = whole.chars().collect();
    let mut shown = String::new();
    for (at, digit) in digits.iter().enumerate() {
        if at > 0 && digits[at - 1] != '-' && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(*digit);
    }
    shown + rest
}
