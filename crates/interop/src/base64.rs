//! Base64 (RFC 4648, standard alphabet), strict: padded, no white space, no stray bits. Forty lines instead of a
//! dependency: only decoding is needed, and only of what a model was shown.

/// Decodes `text`; none when it is no base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) {
        return None;
    }
    let padding = bytes.iter().rev().take_while(|b| **b == b'=').count();
    let digits = bytes.get(..bytes.len().checked_sub(padding)?)?;
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    for group in digits.chunks(4) {
        let mut word = 0_u32;
        for byte in group {
            word = word << 6 | u32::from(value(*byte)?);
        }
        let missing = 4 - group.len();
        word <<= 6 * u32::try_from(missing).ok()?;
        let whole = word.to_be_bytes();
        let kept = 3_usize.checked_sub(missing)?;
        out.extend_from_slice(whole.get(1..=kept)?);
        // The bits that a short group leaves over must be zero, or two texts would name the same bytes.
        if whole.get(kept + 1..)?.iter().any(|b| *b != 0) {
            return None;
        }
    }
    Some(out)
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_examples_of_the_standard() {
        for (text, bytes) in
            [("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("+/+/").as_deref(), Some(&[0xfb, 0xff, 0xbf][..]));
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in
            ["", "Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Zg==Zg==", "-_-_", "é=="]
        {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
