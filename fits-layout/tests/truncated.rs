//! Every cut of a file of three HDUs at every byte: what is whole is read, the rest is an error
//! that says what is missing.

mod common;

use common::three_hdus;
use fits_layout::{Layout, LayoutError};

/// One HDU of the file as it was made: where it begins, where END ends, and its data.
struct Made {
    start: u64,
    header_end: u64,
    data: u64,
    data_bytes: u64,
    end: u64,
    plane_bytes: Option<u64>,
}

const MADE: [Made; 3] = [
    Made {
        start: 0,
        header_end: 480,
        data: 2880,
        data_bytes: 42,
        end: 5760,
        plane_bytes: Some(42),
    },
    Made {
        start: 5760,
        header_end: 5760 + 14 * 80,
        data: 8640,
        data_bytes: 51,
        end: 11520,
        plane_bytes: None,
    },
    Made {
        start: 11520,
        header_end: 11520 + 9 * 80,
        data: 14400,
        data_bytes: 120,
        end: 17280,
        plane_bytes: Some(60),
    },
];

/// What a cut at `cut` must give: the number of HDUs, or the error.
fn expected(cut: u64) -> Result<usize, LayoutError> {
    if cut == 0 {
        return Err(LayoutError::Empty);
    }
    for (index, made) in MADE.iter().enumerate() {
        if cut == made.start {
            return Ok(index);
        }
        if cut < made.header_end {
            let searched_bytes = cut - made.start;
            return Err(LayoutError::MissingEnd {
                offset: made.start,
                searched_bytes,
            });
        }
        if cut < made.data + made.data_bytes {
            let found_bytes = cut.saturating_sub(made.data);
            return Err(LayoutError::TruncatedData {
                hdu: index,
                offset: made.data,
                expected_bytes: made.data_bytes,
                found_bytes,
                planes: made
                    .plane_bytes
                    .map(|plane| (found_bytes / plane, made.data_bytes / plane)),
            });
        }
        if cut <= made.end {
            return Ok(index + 1);
        }
    }
    Ok(MADE.len())
}

#[test]
fn every_cut_is_read_or_refused_rightly() {
    let bytes = three_hdus();
    assert_eq!(bytes.len(), 17280);
    for cut in 0..=bytes.len() {
        let found = Layout::parse(&bytes[..cut]).map(|layout| {
            assert!(layout.trailing().is_empty(), "cut at {cut}");
            layout.hdus.len()
        });
        assert_eq!(found, expected(cut as u64), "cut at {cut}");
    }
}

#[test]
fn a_truncated_image_says_what_is_missing() {
    let bytes = three_hdus();
    let error = Layout::parse(&bytes[..14400 + 61]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "HDU 2 is truncated: 59 bytes missing of the 120 data bytes at byte 14400 \
         (1 of 2 planes are whole)"
    );
}
