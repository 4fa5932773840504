//! Bytes to text, whatever they are. The library's own lossy decoding goes byte by byte even where nothing is wrong, which
//! cost a fifth of an import; almost every line is valid and needs one fast check.

use std::borrow::Cow;

/// The text of `bytes`, owned only if some had to be replaced.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
