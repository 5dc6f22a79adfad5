/// The median; for an even count, the mean of the two middle figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[middle] } else { f64::midpoint(figures[middle - 1], figures[middle]) }
}

/// The geometric mean: a half and a double cancel out.
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (logarithms / ratios.len() as f64).exp()
}

/// Rounds to multiples of `1 / steps`, to drop noise digits.
pub fn rounded(figure: f64, steps: f64) -> f64 {
    (figure * steps).round() / steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_and_a_double_cancel_out() {
        assert_eq!(rounded(geometric_mean(&[0.5, 2.0]), 1e9), 1.0);
        assert_eq!(rounded(geometric_mean(&[0.5, 0.5, 0.5]), 1e9), 0.5);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 100.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 100.0]), 3.0);
    }
}
