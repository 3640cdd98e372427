//! Least squares for a handful of points.

/// A fitted model.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// One for each column.
    pub coefficients: Vec<f64>,
    /// What the model leaves of each point.
    pub residuals: Vec<f64>,
}

/// Fits `y = Σ coefficient · column` to rows of columns. `None` if the rows do not determine it.
pub fn least_squares(rows: &[Vec<f64>], y: &[f64]) -> Option<Fit> {
    let columns = rows.first()?.len();
    let sum = |f: &dyn Fn(usize) -> f64| (0..rows.len()).map(f).sum::<f64>();
    let equations: Vec<Vec<f64>> = (0..columns)
        .map(|i| {
            let mut equation: Vec<f64> = (0..columns)
                .map(|j| sum(&|r| rows[r][i] * rows[r][j]))
                .collect();
            equation.push(sum(&|r| rows[r][i] * y[r]));
            equation
        })
        .collect();
    // Adding zero turns minus zero into zero.
    let coefficients: Vec<f64> = solve(equations)?.iter().map(|x| x + 0.0).collect();
    let predict =
        |row: &Vec<f64>| -> f64 { row.iter().zip(&coefficients).map(|(x, b)| x * b).sum() };
    let residuals = rows
        .iter()
        .zip(y)
        .map(|(row, y)| y - predict(row))
        .collect();
    Some(Fit {
        coefficients,
        residuals,
    })
}

/// Gauss-Jordan elimination with row exchange; the last column is the right-hand side.
fn solve(mut equations: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let count = equations.len();
    for column in 0..count {
        let size = |row: &usize| equations[*row][column].abs();
        let pivot = (column..count).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        let scale: f64 = equations[pivot].iter().map(|x| x.abs()).sum();
        if equations[pivot][column].abs() <= 1e-9 * scale {
            return None;
        }
        equations.swap(column, pivot);
        let divisor = equations[column][column];
        equations[column].iter_mut().for_each(|x| *x /= divisor);
        let above = equations[column].clone();
        for (row, equation) in equations.iter_mut().enumerate() {
            let factor = equation[column];
            if row != column {
                equation
                    .iter_mut()
                    .zip(&above)
                    .for_each(|(x, a)| *x -= factor * a);
            }
        }
    }
    Some(equations.iter().map(|equation| equation[count]).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plane_is_found_again(
            truth in prop::array::uniform3(-50.0..50.0f64),
            points in prop::collection::vec((0.1..20.0f64, 0.1..20.0f64), 3..9),
        ) {
            let mut rows: Vec<Vec<f64>> =
                points.iter().map(|(b, c)| vec![1.0, *b, *c]).collect();
            // Three corners make sure that the plane is determined.
            rows.extend([vec![1.0, 0.0, 0.0], vec![1.0, 9.0, 0.0], vec![1.0, 0.0, 9.0]]);
            let at = |row: &Vec<f64>| row.iter().zip(truth).map(|(x, b)| x * b).sum::<f64>();
            let y: Vec<f64> = rows.iter().map(at).collect();
            let fit = least_squares(&rows, &y).unwrap();
            for (found, true_one) in fit.coefficients.iter().zip(truth) {
                prop_assert!((found - true_one).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn what_is_not_determined_is_not_fitted() {
        let rows = vec![vec![1.0, 2.0], vec![1.0, 2.0], vec![1.0, 2.0]];
        assert_eq!(least_squares(&rows, &[1.0, 2.0, 3.0]), None);
        assert_eq!(least_squares(&[], &[]), None);
    }
}
