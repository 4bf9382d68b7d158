//! The output file: its header, its working name, and how it gets its final one. No transform is
//! known here.

mod create;
mod draft;
mod error;
mod header;
pub mod name;

pub use create::NewImage;
pub use draft::{Draft, Place, publish_text};
pub(crate) use draft::{no_links, sync_folder};
pub use error::OutputError;
pub use header::HeaderEdit;
pub(crate) use header::stamp;
pub use name::{Existing, Naming};
