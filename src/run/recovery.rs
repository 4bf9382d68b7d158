//! What becomes of unfinished work: that of an earlier run, and that of this one.

/// How a run deals with work that was interrupted, and with being interrupted.
///
/// The planes stored so far outlive the death of the process: they are in `OUT.part` and their
/// journal in `OUT.mmconv/`. A run of the same request goes on with them; the bytes come out as
/// those of an undisturbed run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Outputs that are complete and were made by this very request count as done.
    pub resume: bool,
    /// What an earlier run left unfinished is thrown away.
    pub restart: bool,
    /// The stored planes of an earlier run are read and held against their checksums; those that
    /// do not match are made again. Otherwise this is done only where the machine was started in
    /// between.
    pub recheck: bool,
    /// What is recorded as stored outlives the machine, too: bytes go to the disk before their
    /// records, and the output before its name.
    pub durable: bool,
    /// After a failure nothing is left, not even planes that a later run could use.
    pub discard: bool,
}
