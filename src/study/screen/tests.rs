use super::*;

/// +1 or −1.
fn sign(design: &Design, run: u32, factors: u32) -> i64 {
    if design.is_positive(run, factors) {
        1
    } else {
        -1
    }
}

fn sum(design: &Design, factors: u32) -> i64 {
    (0..design.runs())
        .map(|run| sign(design, run, factors))
        .sum()
}

/// Main effects and interactions of two.
fn effects(factors: usize) -> Vec<u32> {
    let mains = (0..factors).map(|one| 1 << one);
    let pairs = (0..factors).flat_map(|one| (0..one).map(move |other| 1 << one | 1 << other));
    mains.chain(pairs).collect()
}

/// Every design that a study can ask for, small enough to be looked at whole.
fn designs() -> Vec<Design> {
    let sizes = (2..=7_usize).flat_map(|factors| (2..=7).map(move |basic| (factors, 1 << basic)));
    sizes
        .filter_map(|(factors, runs)| Design::of_runs(factors, runs).ok())
        .collect()
}

#[test]
fn a_product_is_the_product_of_its_factors_levels() {
    for design in designs() {
        for run in 0..design.runs() {
            let high = |factor| if design.is_high(run, factor) { 1 } else { -1 };
            for product in 1..1_u32 << design.factors() {
                let within = (0..design.factors()).filter(|factor| product >> factor & 1 == 1);
                assert_eq!(
                    sign(&design, run, product),
                    within.map(high).product::<i64>()
                );
            }
        }
    }
}

#[test]
fn effects_are_orthogonal_or_aliases() {
    assert!(designs().len() > 15);
    for design in designs() {
        for one in effects(design.factors()) {
            assert_eq!(
                sum(&design, one) == 0,
                design.column(one) != 0,
                "{design:?} {one:b}"
            );
            for other in effects(design.factors()) {
                let are_aliases = design.column(one) == design.column(other);
                let expected = if are_aliases {
                    i64::from(design.runs())
                } else {
                    0
                };
                assert_eq!(sum(&design, one ^ other), expected, "{design:?}");
            }
        }
    }
}

#[test]
fn the_resolution_is_that_of_the_shortest_constant_product() {
    for design in designs() {
        let constant = (1..1_u32 << design.factors()).filter(|f| sum(&design, *f) != 0);
        let shortest = constant.map(u32::count_ones).min();
        assert_eq!(design.resolution(), shortest, "{design:?}");
    }
}

/// Factors, runs, resolution, words of three, four and five factors. Resolutions after Box, Hunter
/// and Hunter, "Statistics for Experimenters", 2nd edition, table 6.22; words after Chen, Sun and
/// Wu, "A catalogue of two-level and three-level fractional factorial designs", 1993.
const KNOWN: [(usize, u32, u32, [u32; 3]); 14] = [
    (3, 4, 3, [1, 0, 0]),
    (4, 8, 4, [0, 1, 0]),
    (5, 8, 3, [2, 1, 0]),
    (6, 8, 3, [4, 3, 0]),
    (7, 8, 3, [7, 7, 0]),
    (5, 16, 5, [0, 0, 1]),
    (6, 16, 4, [0, 3, 0]),
    (7, 16, 4, [0, 7, 0]),
    (8, 16, 4, [0, 14, 0]),
    (6, 32, 6, [0, 0, 0]),
    (7, 32, 4, [0, 1, 2]),
    (8, 32, 4, [0, 3, 4]),
    (7, 64, 7, [0, 0, 0]),
    (8, 64, 5, [0, 0, 2]),
];

#[test]
fn the_catalogues_designs_are_found() {
    for (factors, runs, resolution, short) in KNOWN {
        let design = Design::of_runs(factors, runs).expect("a design");
        assert_eq!((design.factors(), design.runs()), (factors, runs));
        assert_eq!(design.resolution(), Some(resolution), "{factors} in {runs}");
        let words = words(design.basic, &design.columns[design.basic as usize..]);
        let found = lengths(&words);
        assert_eq!(found[3..6], short, "{factors} in {runs}");
    }
}

#[test]
fn a_resolution_is_reached_with_the_fewest_runs() {
    let runs = |factors, resolution| Design::of_resolution(factors, resolution).runs();
    // Factors 2 to 10, after the same table.
    let five: Vec<u32> = (2..=10).map(|factors| runs(factors, 5)).collect();
    assert_eq!(five, [4, 8, 16, 16, 32, 64, 64, 128, 128]);
    let three: Vec<u32> = (2..=10).map(|factors| runs(factors, 3)).collect();
    assert_eq!(three, [4, 4, 8, 8, 8, 8, 16, 16, 16]);
    assert_eq!(Design::of_resolution(3, 5).resolution(), None);
}

#[test]
fn numbers_of_runs_that_are_no_design_are_refused() {
    for (factors, runs) in [(5, 4), (5, 12), (5, 64), (5, 0), (2, 2), (10, 256), (8, 8)] {
        assert!(
            Design::of_runs(factors, runs).is_err(),
            "{factors} in {runs}"
        );
    }
    let why = Design::of_runs(5, 4).unwrap_err();
    assert!(
        why.starts_with("must be a power of two from 8 to 32 for 5 factors"),
        "{why}"
    );
}
