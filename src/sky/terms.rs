//! The cards of `CDi_j`, `PCi_j` and `PC00i00j` elements (FITS WCS paper I), what is missing among
//! them and what may not be there. Pixel sizes without a matrix, and units, are `matrix`'s.

use fits_layout::{Card, Header};

use super::error::SkyError;
use super::matrix::{Matrix, both, number};

/// Two matrices that differ by less than this share of their largest element are one.
const AGREEMENT: f64 = 1e-6;
/// Elements between a celestial axis and another below this share of their row are rounding.
const COUPLING: f64 = 1e-9;

/// How a matrix element is spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `CDi_j`, in the unit of axis i per pixel.
    Cd,
    /// `PCi_j`, or `PC0i_0j` of CASA: no dimension.
    Pc,
    /// `PC00i00j`, of drafts of paper I: no dimension.
    OldPc,
}

/// One matrix element on a card; row and column from 1.
#[derive(Clone, Debug)]
struct Term {
    form: Form,
    row: usize,
    column: usize,
    keyword: String,
    value: f64,
}

impl Term {
    fn is_celestial(&self) -> bool {
        self.row <= 2 && self.column <= 2
    }

    fn is_coupling(&self) -> bool {
        (self.row <= 2) != (self.column <= 2)
    }
}

/// The matrix elements of a header that touch the first two axes, and the diagonal.
pub struct Terms(Vec<Term>);

impl Terms {
    /// Reads the elements with both axes in `1..=naxis`: a world axis without pixels adds a
    /// constant and no more.
    pub fn of(header: &Header, naxis: usize) -> Result<Self, SkyError> {
        let mut terms: Vec<Term> = Vec::new();
        for keyword in header.cards().iter().filter_map(element_keyword) {
            let Some((form, row, column)) = parse_element(&keyword) else {
                continue;
            };
            let wanted = row.max(column) <= naxis && (row.min(column) <= 2 || row == column);
            if !wanted {
                continue;
            }
            if let Some(value) = number(header, &keyword)? {
                terms.push(Term {
                    form,
                    row,
                    column,
                    keyword,
                    value,
                });
            }
        }
        Ok(Self(terms))
    }

    fn get(&self, form: Form, row: usize, column: usize) -> Option<&Term> {
        let wanted = |t: &&Term| t.form == form && t.row == row && t.column == column;
        self.0.iter().find(wanted)
    }

    fn has(&self, form: Form) -> bool {
        self.0
            .iter()
            .any(|term| term.form == form && term.is_celestial())
    }

    /// The block of the first two axes; elements that are missing are `diagonal` on the diagonal
    /// and 0 elsewhere.
    fn block(&self, form: Form, diagonal: f64) -> Matrix {
        let element = |row: usize, column: usize| {
            let default = if row == column { diagonal } else { 0.0 };
            self.get(form, row, column)
                .map_or(default, |term| term.value)
        };
        [
            [element(1, 1), element(1, 2)],
            [element(2, 1), element(2, 2)],
        ]
    }

    /// The `CDi_j` matrix of the first two axes, if it is there.
    pub fn cd(&self) -> Option<Matrix> {
        self.has(Form::Cd).then(|| self.block(Form::Cd, 0.0))
    }

    /// The newer spelling where both are there.
    pub fn pc_form(&self) -> Form {
        if self.has(Form::Pc) {
            Form::Pc
        } else {
            Form::OldPc
        }
    }

    /// `CDELTi` times `PCi_j`; 1 where neither step is there (FITS 4.0, table 22), but never
    /// for one alone, which is an accident.
    pub fn pc(&self, step: [Option<f64>; 2]) -> Result<Option<Matrix>, SkyError> {
        let form = self.pc_form();
        if !self.has(form) {
            return Ok(None);
        }
        let step = match step {
            // Beside CDi_j the steps need not be there.
            _ if self.has(Form::Cd) => step.map(|step| step.unwrap_or(1.0)),
            [None, None] => [1.0, 1.0],
            _ => both(step)?,
        };
        let [first, second] = self.block(form, 1.0);
        Ok(Some([
            first.map(|e| e * step[0]),
            second.map(|e| e * step[1]),
        ]))
    }

    /// The keywords of one form, for an error.
    pub fn keywords(&self, form: Form) -> String {
        let terms = self
            .0
            .iter()
            .filter(|term| term.form == form && term.is_celestial());
        terms
            .map(|term| term.keyword.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Refuses planes that are not the sky: an element between a celestial axis and another.
    pub fn check_uncoupled(&self) -> Result<(), SkyError> {
        let nonzero = self
            .0
            .iter()
            .filter(|term| term.is_coupling() && term.value != 0.0);
        let mut beyond_rounding = nonzero.filter(|term| {
            let row = self
                .0
                .iter()
                .filter(|t| t.form == term.form && t.row == term.row);
            let own = row.filter(|t| !t.is_coupling()).map(|t| t.value.abs());
            let default = if term.form == Form::Cd { 0.0 } else { 1.0 };
            term.value.abs() > COUPLING * own.reduce(f64::max).unwrap_or(default)
        });
        match beyond_rounding.next() {
            Some(term) => Err(SkyError::Coupled {
                keyword: term.keyword.clone(),
                found: term.value,
            }),
            None => Ok(()),
        }
    }

    /// Refuses a header whose two matrices give different pixels: paper I forbids both, and some
    /// writers give both for readers of either.
    pub fn check_same(&self, cd: &Matrix, pc: &Matrix) -> Result<(), SkyError> {
        let largest = cd
            .iter()
            .flatten()
            .fold(0.0_f64, |largest, e| largest.max(e.abs()));
        let pairs = cd.iter().flatten().zip(pc.iter().flatten());
        for (k, (cd, pc)) in pairs.enumerate() {
            if (cd - pc).abs() > AGREEMENT * largest {
                let (row, column) = (k / 2 + 1, k % 2 + 1);
                let other = match self.pc_form() {
                    Form::OldPc => format!("PC{row:03}{column:03}"),
                    _ => format!("PC{row}_{column}"),
                };
                return Err(SkyError::TwoMatrices {
                    keyword: format!("CD{row}_{column}"),
                    found: *cd,
                    other,
                    other_found: *pc,
                });
            }
        }
        Ok(())
    }
}

/// The keyword of a card that may hold a matrix element.
fn element_keyword(card: &Card) -> Option<String> {
    let keyword = card.keyword();
    (keyword.starts_with("CD") || keyword.starts_with("PC")).then(|| keyword.to_string())
}

/// Form, row and column of `CDi_j`, `PCi_j`, `PC0i_0j` or `PC00i00j`.
fn parse_element(keyword: &str) -> Option<(Form, usize, usize)> {
    let (form, index) = match keyword.split_at_checked(2)? {
        ("CD", index) => (Form::Cd, index),
        ("PC", index) => (Form::Pc, index),
        _ => return None,
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<usize>().ok().filter(|n| digits && *n > 0)
    };
    if let Some((row, column)) = index.split_once('_') {
        return Some((form, number(row)?, number(column)?));
    }
    let old = form == Form::Pc && index.len() == 6;
    let (row, column) = index.split_at_checked(3).filter(|_| old)?;
    Some((Form::OldPc, number(row)?, number(column)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_keywords() {
        assert_eq!(parse_element("CD1_2"), Some((Form::Cd, 1, 2)));
        assert_eq!(parse_element("PC01_02"), Some((Form::Pc, 1, 2)));
        assert_eq!(parse_element("PC002001"), Some((Form::OldPc, 2, 1)));
        let others = [
            "CDELT1", "PCOUNT", "PC1_1A", "CD1_0", "CD_1", "PC1_", "CD001001", "PC", "C",
        ];
        for other in others {
            assert_eq!(parse_element(other), None, "{other}");
        }
    }
}
