//! Turns a session into something to read or share.
//!
//! - [`mask`]: secrets are masked on the way out.
//!
//! It is not a store: it opens nothing and reads no clock.

mod arguments;
mod block;
mod clean;
mod document;
mod html;
mod markdown;
pub mod mask;
mod note;
mod output;
mod walk;

pub use document::{Header, Options, Report};
pub use html::html;
pub use markdown::markdown;
pub use mask::{Masked, Masker, Secret};
