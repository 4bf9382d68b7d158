//! Everything a caller may do with hostile bytes, and what must hold: shared by the mutation test
//! and the fuzz target.

use fits_layout::{Card, Cube, Hdu, Header, Layout, LayoutError, Sum, Table, Value, checksum};

/// How much to do: everything, or what a short test has time for.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Which HDU to look into; all if `None`.
    pub only: Option<usize>,
    /// How many cards of a header to read with every getter.
    pub cards: usize,
    /// Whether to edit, render and parse again.
    pub edit: bool,
}

impl Effort {
    /// Everything.
    pub const FULL: Self = Self {
        only: None,
        cards: 80,
        edit: true,
    };
}

/// Parses, reads, edits, renders and parses again. Panics if something does not hold.
pub fn exercise(bytes: &[u8], effort: Effort) {
    match Layout::parse(bytes) {
        Ok(layout) => {
            let mut end = 0;
            for (index, hdu) in layout.hdus.iter().enumerate() {
                check_ranges(hdu, end, bytes.len() as u64);
                end = hdu.padded_end();
                if effort.only.is_none_or(|only| only == index) {
                    exercise_hdu(bytes, hdu, effort);
                }
            }
            assert_eq!(layout.trailing(), end..bytes.len() as u64);
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            if let Ok((header, _)) = Header::parse(bytes, 0) {
                exercise_header(&header, effort);
            }
        }
    }
}

/// An HDU begins where the one before ends, and lies within the file.
fn check_ranges(hdu: &Hdu, start: u64, file_bytes: u64) {
    assert_eq!(hdu.header_range().start, start);
    assert!(hdu.header_range().end <= hdu.data_range().start);
    assert!(hdu.data_range().start <= hdu.data_range().end);
    assert!(hdu.data_range().end <= hdu.padded_end());
    assert!(hdu.padded_end() <= file_bytes);
}

fn exercise_hdu(bytes: &[u8], hdu: &Hdu, effort: Effort) {
    let range = |range: std::ops::Range<u64>| &bytes[range.start as usize..range.end as usize];
    let rendered = hdu.header().render();
    assert_eq!(rendered.len() % 2880, 0);
    let read = range(hdu.header_range());
    assert_eq!(
        &rendered[..read.len()],
        read,
        "an unedited header renders as it was read"
    );
    exercise_header(hdu.header(), effort);
    if let Ok(cube) = Cube::of(hdu) {
        assert_eq!(
            cube.plane_range(0).map(|plane| plane.start),
            Some(hdu.data_range().start)
        );
        let last = cube
            .plane_range(cube.planes() - 1)
            .expect("there is a last plane");
        assert_eq!(last.end, hdu.data_range().end);
        assert_eq!(cube.plane_range(cube.planes()), None);
    }
    if let Ok(table) = Table::of(hdu) {
        exercise_table(&table, range(hdu.data_range()));
    }
}

fn exercise_table(table: &Table, data: &[u8]) {
    let mut copy = data[..data.len().min(2880)].to_vec();
    let rows = [0, 1, table.rows().wrapping_sub(1), table.rows(), u64::MAX];
    for column in table.columns().iter().take(12) {
        assert!(column.offset_bytes() + column.width_bytes() <= table.row_bytes());
        for row in rows {
            let real = table.real(data, row, column);
            let whole = table.integer(data, row, column);
            assert!(real.is_some() || whole.is_none());
            let _ = table.text(data, row, column);
            let _ = table.logical(data, row, column);
            let _ = table.bit(data, row, column, 3);
            let _ = table.complex(data, row, column);
            let _ = table.descriptor(data, row, column);
            let _ = table.real_at(data, row, column, u64::MAX);
            let _ = table.put_real(&mut copy, row, column, 1.5);
            if row >= table.rows() {
                assert_eq!(table.cell(data, row, column), None);
            }
        }
    }
}

fn exercise_header(header: &Header, effort: Effort) {
    let step = (header.cards().len() / effort.cards).max(1);
    for card in header.cards().iter().step_by(step) {
        let keyword = card.keyword();
        let _ = (card.comment(), card.body(), card.is_continue());
        if let Err(error) = card.value() {
            assert!(!error.to_string().is_empty());
        }
        let (integer, real) = (header.integer(&keyword), header.real(&keyword));
        let _ = (header.logical(&keyword), header.text(&keyword));
        if let (Ok(Some(integer)), Ok(real)) = (integer, real) {
            assert_eq!(real, Some(integer as f64));
        }
    }
    let _ = (
        header.last("CONTINUE"),
        header.commentary("HISTORY").count(),
    );
    let _ = checksum::data_sum(header);
    if effort.edit {
        exercise_edits(header);
    }
}

fn exercise_edits(header: &Header) {
    let mut edited = header.clone();
    let picks = [0, header.cards().len() / 3, header.cards().len() / 2];
    for (turn, pick) in picks.into_iter().enumerate() {
        let Some(card) = header.cards().get(pick) else {
            continue;
        };
        edit(&mut edited, &card.keyword(), turn);
    }
    checksum::stamp(&mut edited, Sum::of(b"data")).expect("its cards can be written");
    let rendered = edited.render();
    assert!((Sum::of(&rendered) + Sum::of(b"data")).is_zero());
    let (again, span_bytes) = Header::parse(&rendered, 0).expect("a rendered header has END");
    assert_eq!(span_bytes, rendered.len() as u64);
    assert_eq!(again.cards(), edited.cards());
    assert_eq!(
        again.render(),
        rendered,
        "what was rendered renders as it is"
    );
}

/// Sets, removes or inserts, and checks that it took.
fn edit(header: &mut Header, keyword: &str, turn: usize) {
    match turn {
        0 => {
            let long = "it's a long string, ".repeat(9);
            if header.set(keyword, long.as_str(), None).is_ok() {
                assert_eq!(header.all(keyword).count(), 1);
                assert_eq!(
                    header.text(keyword).as_ref().map(Option::as_deref),
                    Ok(Some(long.trim_end()))
                );
            }
        }
        1 => match header.set(keyword, -7, Some("set")) {
            Ok(()) => assert_eq!(header.integer(keyword), Ok(Some(-7))),
            Err(error) => assert!(is_refusal(&error), "{error}"),
        },
        _ => {
            let removed = header.remove(keyword);
            assert!(header.first(keyword).is_none(), "{removed} removed");
            let card = Card::new("INSERTED", &Value::Real(0.1), None).expect("it is legal");
            header.insert_after("NAXIS", card);
            assert_eq!(header.real("INSERTED"), Ok(Some(0.1)));
            header.push_commentary("HISTORY", &"words of history ".repeat(12));
        }
    }
}

/// Whether an error says that a card cannot be written.
fn is_refusal(error: &LayoutError) -> bool {
    matches!(
        error,
        LayoutError::IllegalKeyword { .. } | LayoutError::TooLong { .. }
    )
}
