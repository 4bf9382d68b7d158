//! Which maps of ours live where, in a form that a signal handler can read: a list of nodes that
//! are never freed, only used again, every field of which is an atomic.
//!
//! The handler takes no lock. A node that does not hold the faulting address may be changed under
//! it by other threads and is passed by. The one that does cannot change: its map is in use.

use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The head of the list of all nodes.
static ALL: AtomicPtr<Node> = AtomicPtr::new(null_mut());

/// Nodes that can be used again. The handler does not look here.
static FREE: Mutex<Vec<&'static Node>> = Mutex::new(Vec::new());

/// What a map is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is read.
    Input,
    /// It is written: an output, or working memory in a file.
    Output,
}

#[derive(Debug)]
struct Node {
    next: AtomicPtr<Node>,
    /// Address of the map's first byte, or 0 for a node that is free.
    start: AtomicUsize,
    len_bytes: AtomicUsize,
    is_output: AtomicBool,
    name: AtomicPtr<Box<[u8]>>,
    /// Where its pieces (planes) begin, the bytes of all of them, and of each; 0 if it has none.
    pieces_start: AtomicU64,
    pieces_bytes: AtomicU64,
    piece_bytes: AtomicU64,
}

/// A map's entry in the list, until this is dropped. Dropped before the map is.
#[derive(Debug)]
pub struct Registration(&'static Node);

impl Registration {
    /// Enters a map of `len_bytes` bytes at this address.
    pub fn new(kind: Kind, path: &Path, (address, len_bytes): (usize, usize)) -> Self {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let node = free.unwrap_or_else(pushed);
        let name = Box::into_raw(Box::new(one_line(path)));
        node.is_output
            .store(kind == Kind::Output, Ordering::Relaxed);
        node.piece_bytes.store(0, Ordering::Relaxed);
        node.len_bytes.store(len_bytes, Ordering::Relaxed);
        node.name.store(name, Ordering::Relaxed);
        // Last: from now on the handler believes the rest.
        node.start.store(address, Ordering::Release);
        Self(node)
    }

    /// In this range of the file there are pieces of `piece_bytes` bytes each: a byte of theirs is
    /// told with the number of its piece.
    pub fn set_pieces(&self, range: &Range<u64>, piece_bytes: u64) {
        let bytes = range.end.saturating_sub(range.start);
        self.0.pieces_start.store(range.start, Ordering::Relaxed);
        self.0.pieces_bytes.store(bytes, Ordering::Relaxed);
        self.0.piece_bytes.store(piece_bytes, Ordering::Release);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let node = self.0;
        node.start.store(0, Ordering::Release);
        let name = node.name.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: `new` made it of a box, and it was taken out of the node, so this is its only
        // owner. The handler reads the name of a map only when a thread looks into it, and then
        // the map, which is dropped after this, is not being dropped.
        drop(unsafe { Box::from_raw(name) });
        FREE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(node);
    }
}

/// A new node, in the list for good.
fn pushed() -> &'static Node {
    let node: &'static Node = Box::leak(Box::new(Node {
        next: AtomicPtr::new(null_mut()),
        start: AtomicUsize::new(0),
        len_bytes: AtomicUsize::new(0),
        is_output: AtomicBool::new(false),
        name: AtomicPtr::new(null_mut()),
        pieces_start: AtomicU64::new(0),
        pieces_bytes: AtomicU64::new(0),
        piece_bytes: AtomicU64::new(0),
    }));
    let place = std::ptr::from_ref(node).cast_mut();
    let mut head = ALL.load(Ordering::Acquire);
    loop {
        node.next.store(head, Ordering::Relaxed);
        match ALL.compare_exchange_weak(head, place, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return node,
            Err(other) => head = other,
        }
    }
}

/// A path's bytes, with blanks for what would break a line.
fn one_line(path: &Path) -> Box<[u8]> {
    let bytes = path.as_os_str().as_bytes().iter();
    bytes
        .map(|&byte| if byte.is_ascii_control() { b' ' } else { byte })
        .collect()
}

/// A byte of one of our maps.
#[derive(Debug)]
pub struct Fault {
    /// The file's name.
    pub name: &'static [u8],
    /// Whether it is being written.
    pub kind: Kind,
    /// The byte in the file.
    pub at_bytes: u64,
    /// The piece that it belongs to.
    pub piece: Option<u64>,
}

/// The map that holds an address. For the handler: it allocates nothing and takes no lock.
pub fn find(address: usize) -> Option<Fault> {
    let mut next = ALL.load(Ordering::Acquire);
    loop {
        // SAFETY: what is in the list was leaked, so it lives for good; or it is null.
        let node = unsafe { next.as_ref() }?;
        let start = node.start.load(Ordering::Acquire);
        let len_bytes = node.len_bytes.load(Ordering::Relaxed);
        // A node that is being used for another map right now has two different starts.
        let inside = start != 0 && address >= start && address - start < len_bytes;
        if inside && node.start.load(Ordering::Acquire) == start {
            return Some(fault(node, (address - start) as u64));
        }
        next = node.next.load(Ordering::Acquire);
    }
}

/// A byte of a map that is in use, because it has just been looked at.
fn fault(node: &'static Node, at_bytes: u64) -> Fault {
    // SAFETY: set before `start` was, and freed only after it was taken back, which the map's
    // owner does when nobody looks into it any more.
    let name = unsafe { node.name.load(Ordering::Acquire).as_ref() };
    let piece_bytes = node.piece_bytes.load(Ordering::Acquire);
    let place = at_bytes.checked_sub(node.pieces_start.load(Ordering::Relaxed));
    let piece = place
        .filter(|&place| place < node.pieces_bytes.load(Ordering::Relaxed))
        .and_then(|place| place.checked_div(piece_bytes));
    let is_output = node.is_output.load(Ordering::Relaxed);
    Fault {
        name: name.map_or(b"", |name| name),
        kind: if is_output { Kind::Output } else { Kind::Input },
        at_bytes,
        piece,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No map of any other test lies at such an address.
    const AT: usize = 0x10_0000_0000_0000;

    #[test]
    fn an_address_is_found_while_its_map_lives() {
        let path = Path::new("a\nb.fits");
        let first = Registration::new(Kind::Input, path, (AT, 100));
        let second = Registration::new(Kind::Output, Path::new("c"), (AT + 100, 50));
        first.set_pieces(&(10..70), 20);
        let found = |at: usize| {
            let fault = find(AT + at).unwrap();
            (fault.name, fault.kind, fault.at_bytes, fault.piece)
        };
        assert_eq!(found(0), (&b"a b.fits"[..], Kind::Input, 0, None));
        assert_eq!(found(10).3, Some(0));
        assert_eq!(found(69).3, Some(2));
        assert_eq!(found(70).3, None);
        assert_eq!(found(100), (&b"c"[..], Kind::Output, 0, None));
        assert!(find(AT + 150).is_none() && find(AT - 1).is_none());
        drop(first);
        assert!(find(AT + 10).is_none());
        drop(second);
        assert!(find(AT + 100).is_none());
    }

    #[test]
    fn nodes_are_used_again_from_many_threads() {
        let count = || {
            let mut nodes = 0;
            let mut next = ALL.load(Ordering::Acquire);
            // SAFETY: as in `find`.
            while let Some(node) = unsafe { next.as_ref() } {
                nodes += 1;
                next = node.next.load(Ordering::Acquire);
            }
            nodes
        };
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                scope.spawn(move || {
                    for round in 0..1000 {
                        let at = AT + (thread * 10_000 + round) * 16;
                        let _entry = Registration::new(Kind::Input, Path::new("x"), (at, 16));
                        assert_eq!(find(at + 15).unwrap().at_bytes, 15);
                    }
                });
            }
        });
        // Other tests of this process have maps of their own.
        assert!(count() < 1000);
    }
}
