//! One session's file.
pub mod disk;
