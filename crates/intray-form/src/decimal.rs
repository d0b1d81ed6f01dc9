//! Multiples in decimals. A double stands for the shortest decimal that reads as it, as browsers write it: 19.99 is a
//! multiple of 0.01.

/// `digits * 10^exponent`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// The sign is left out: it does not change what a number is a multiple of.
    fn of(number: f64) -> Option<Self> {
        let text = format!("{:e}", number.abs());
        let (mantissa, exponent) = text.split_once('e')?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        Some(Self { digits, exponent: exponent.parse::<i32>().ok()? - places })
    }
}

/// Both numbers are finite, and `step` is above 0.
pub(crate) fn is_multiple(number: f64, step: f64) -> bool {
    let (Some(number), Some(step)) = (Decimal::of(number), Decimal::of(step)) else { return false };
    let shift = number.exponent - step.exponent;
    match u32::try_from(shift) {
        Ok(shift) => (number.digits * power_of_ten(shift, step.digits)).is_multiple_of(step.digits),
        // A double has 17 digits at most, so they are no multiple of a greater power of ten unless they are 0.
        Err(_) if shift < -17 => number.digits == 0,
        Err(_) => number.digits.is_multiple_of(step.digits * 10_u128.pow(shift.unsigned_abs())),
    }
}

/// `10^exponent` modulo a number of at most 17 digits, so that no product is beyond 128 bits.
fn power_of_ten(exponent: u32, modulus: u128) -> u128 {
    let (mut power, mut square) = (1 % modulus, 10 % modulus);
    for bit in 0..u32::BITS - exponent.leading_zeros() {
        if exponent >> bit & 1 == 1 {
            power = power * square % modulus;
        }
        square = square * square % modulus;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_those_of_the_decimals() {
        let multiples = [
            (19.99, 0.01),
            (0.3, 0.1),
            (-1.1, 0.1),
            (0.0, 7.0),
            (-0.0, 0.3),
            (1e308, 1e-308),
            (4.5, 1.5),
            (6e300, 3e299),
        ];
        for (number, step) in multiples {
            assert!(is_multiple(number, step), "{number} of {step}");
        }
        let others =
            [(19.999, 0.01), (0.35, 0.1), (1.0, 3.0), (1e308, 7.0), (5e-324, 1.0), (1e-300, 1e300), (7.0, 0.3)];
        for (number, step) in others {
            assert!(!is_multiple(number, step), "{number} of {step}");
        }
    }
}
