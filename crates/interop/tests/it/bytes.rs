//! Bytes that are not as they should be: each costs at most its own record.

use annals_interop::Error;
use annals_interop::claude_code::Importer;
use serde_json::json;

use crate::fixture::*;

fn line(n: usize) -> Vec<u8> {
    let mut file = Fixture::default();
    file.user(&format!("u{n}"), format!("prompt {n}"), json!({"parentUuid": null}));
    file.bytes
}

#[test]
fn a_bad_line_in_the_middle_is_told_and_passed_over() {
    let mut file = Fixture::default();
    file.raw(&line(1)).raw(b"{\"type\":\"user\",\"mess\n").raw(&line(2));
    let read = file.read();
    assert_eq!(read.records.len(), 3);
    let problem = read.records[1].problem.as_ref().unwrap();
    assert_eq!((problem.kind, problem.line_number, problem.offset), ("malformed", 2, line(1).len() as u64));
    assert_eq!(read.told()[1], "foreign malformed");
    assert_eq!((read.importer.problems().total, read.loss("malformed")), (1, 1));
    assert_eq!(read.importer.cursor(), file.bytes.len() as u64);
}

#[test]
fn marks_carriage_returns_blank_lines_and_nuls() {
    let mut file = Fixture::default();
    let bare = |n| line(n).trim_ascii_end().to_vec();
    file.raw(b"\xef\xbb\xbf").raw(&bare(1)).raw(b"\r\n\r\n\n  \n").raw(&[0; 4096]).raw(&bare(2)).raw(b"\r\n");
    file.raw(&[0; 512]);
    let saved = file.save();
    let mut importer = Importer::start(&saved.source).unwrap();
    for n in [1, 2] {
        let record = importer.next_record().unwrap().unwrap();
        assert_eq!(importer.raw(), bare(n), "{n}");
        assert_eq!(
            &file.bytes[usize::try_from(record.at).unwrap()..][..usize::try_from(record.len).unwrap()],
            bare(n)
        );
        assert!(record.problem.is_none());
    }
    // NULs at the end may be what a loss of power left: the next import looks again.
    assert!(importer.next_record().unwrap().is_none() && importer.raw().is_empty());
    assert_eq!(importer.cursor(), file.bytes.len() as u64 - 512);
    assert_eq!(importer.losses()["nul_bytes"], 4096);
}

#[test]
fn broken_text_is_read_as_far_as_it_goes() {
    let mut file = Fixture::default();
    file.raw(br#"{"type":"user","uuid":"u1","message":{"content":"half \ud83d a \\ud83d smile"}}"#)
        .raw(b"\n");
    file.raw(b"{\"type\":\"user\",\"uuid\":\"u2\",\"message\":{\"content\":\"caf\xe9\"}}\n");
    let read = file.read();
    assert_eq!(
        read.told()[0],
        "user_message {\"kind\":\"prompt\",\"text\":\"half \u{fffd} a \\\\ud83d smile\"}"
    );
    assert_eq!(read.told()[1], "user_message {\"kind\":\"prompt\",\"text\":\"caf\u{fffd}\"}");
    assert_eq!((read.loss("lone_surrogate"), read.loss("invalid_utf8")), (1, 1));
    assert_eq!(read.importer.problems().total, 0);
}

#[test]
fn a_line_of_twelve_mebibytes_is_a_line() {
    let mut file = Fixture::default();
    file.raw(&line(1)).user("big", "x".repeat(12 << 20), json!({})).raw(&line(2));
    let read = file.read();
    assert_eq!((read.records.len(), read.importer.problems().total), (3, 0));
    assert!(read.records[1].len > 12 << 20);
}

#[test]
fn a_line_over_the_limit_is_told_and_passed_over() {
    let mut file = Fixture::default();
    file.raw(&line(1)).user("big", "x".repeat(3 << 20), json!({})).raw(&line(2));
    let saved = file.save();
    let mut importer = Importer::start_with_limit(&saved.source, 2 << 20).unwrap();
    importer.next_record().unwrap().unwrap();
    let big = importer.next_record().unwrap().unwrap();
    assert_eq!(big.problem.unwrap().kind, "line_too_long");
    assert!(big.len > 3 << 20 && importer.raw().is_empty() && big.events.len() == 1);
    assert!(importer.next_record().unwrap().unwrap().problem.is_none());
    assert_eq!(importer.cursor(), file.bytes.len() as u64);
}

#[test]
fn what_is_no_session_is_refused() {
    for bytes in [&b""[..], b"hello\n", b"{\"type\":\"session_meta\",\"payload\":{}}\n"] {
        let mut good = Fixture::default();
        good.raw(&line(1));
        let saved = good.save();
        std::fs::write(&saved.path, bytes).unwrap();
        assert!(matches!(Importer::start(&saved.source), Err(Error::NotThisFormat { .. })));
        std::fs::remove_file(&saved.path).unwrap();
        assert!(matches!(Importer::start(&saved.source), Err(Error::SourceNotFound { .. })));
    }
}
