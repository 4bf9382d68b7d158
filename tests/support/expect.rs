//! Comparisons that say which pixel is wrong, with both values; NaN is a value.

use super::read::{Fits, ReadHdu};
use super::sky::{Beam, Grid};

/// What single-precision smoothing of a unit peak must reach.
pub const TOL: f64 = 2e-5;

/// Fails unless every pixel is finite and within `tol` of what is wanted.
pub fn close_to(got: &[f64], want: &[f64], tol: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: number of pixels");
    let blank = got.iter().filter(|v| !v.is_finite()).count();
    assert_eq!(blank, 0, "{what}: {blank} pixels are not finite");
    let (at, off) = got
        .iter()
        .zip(want)
        .map(|(g, w)| (g - w).abs())
        .enumerate()
        .fold(
            (0, 0.0),
            |worst, (i, d)| if d > worst.1 { (i, d) } else { worst },
        );
    assert!(
        off < tol,
        "{what}: pixel {at} is {}, not {} (off by {off:.2e})",
        got[at],
        want[at]
    );
}

/// [`close_to`] with the usual tolerance.
pub fn close(got: &[f64], want: &[f64], what: &str) {
    close_to(got, want, TOL, what);
}

/// Fails unless all planes but the `blank` ones are the usual grid's Gaussian of their target,
/// and the blank ones are blank throughout.
pub fn check_planes_of(hdu: &ReadHdu, targets: &[Beam], blank: &[usize], tol: f64) {
    let planes = hdu.planes();
    assert_eq!(planes.len(), targets.len(), "number of planes");
    for (k, (plane, target)) in planes.iter().zip(targets).enumerate() {
        if blank.contains(&k) {
            assert!(plane.iter().all(|v| v.is_nan()), "plane {k} is not blank");
        } else {
            close_to(
                plane,
                &Grid::default().gaussian(*target),
                tol,
                &format!("plane {k}"),
            );
        }
    }
}

/// [`check_planes_of`] with one target and the usual tolerance.
pub fn check_planes(hdu: &ReadHdu, target: Beam, blank: &[usize]) {
    let n = hdu.planes().len();
    check_planes_of(hdu, &vec![target; n], blank, TOL);
}

/// The beams of an output's BEAMS table, in row order.
pub fn table_beams(fits: &Fits) -> Vec<Beam> {
    let table = fits.named("BEAMS").expect("a BEAMS table");
    let column = |name: &str| table.column(name).expect("a column");
    let (a, b, p) = (column("BMAJ"), column("BMIN"), column("BPA"));
    (0..a.len()).map(|i| [a[i], b[i], p[i]]).collect()
}

/// Each plane of an output with a BEAMS table is the Gaussian of its row; float32 axes allowed
/// for in the tolerance.
pub fn check_planes_of_table(fits: &Fits, blank: &[usize]) {
    check_planes_of(fits.primary(), &table_beams(fits), blank, 1e-4);
}

/// Fails unless both images hold the same bytes.
pub fn same_bits(got: &[u8], want: &[u8], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: number of bytes");
    if let Some(at) = got.iter().zip(want).position(|(a, b)| a != b) {
        panic!("{what}: byte {at} is {:02x}, not {:02x}", got[at], want[at]);
    }
}

/// Fails unless two images are blank at the same pixels.
pub fn same_blanks(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: number of pixels");
    let differ: Vec<usize> = (0..got.len())
        .filter(|i| got[*i].is_nan() != want[*i].is_nan())
        .collect();
    assert!(
        differ.is_empty(),
        "{what}: blanks differ at {} pixels, first {:?}",
        differ.len(),
        differ.first()
    );
}
