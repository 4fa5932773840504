//! Logs of format 1 as they were written once: they must open for ever. And one corrupt sample per kind of damage.

use std::path::{Path, PathBuf};

use annals_log::disk::OsDisk;
use annals_log::{DamageKind, Durability, Error, Item, Log, Reader, verify};

use crate::options;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Copies a fixture, since opening writes.
fn copy(name: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture(name)).unwrap().flatten() {
        std::fs::copy(entry.path(), home.path().join(entry.file_name())).unwrap();
    }
    home
}

#[test]
fn format_1_opens_and_goes_on() {
    let home = copy("v1-closed");
    let report = verify(&OsDisk, home.path(), None, &[]).unwrap();
    assert!(report.is_sound() && report.closed);
    assert_eq!((report.events, report.seals), (8, 2));
    let (log, opening) = Log::open(&OsDisk, home.path(), options(Durability::Strict), None).unwrap();
    assert!(opening.was_closed);
    assert_eq!(log.next_seq(), 8);
}

#[test]
fn format_1_with_a_runway_and_a_torn_tail_opens_and_goes_on() {
    let home = copy("v1-torn");
    let (log, opening) = Log::open(&OsDisk, home.path(), options(Durability::Strict), None).unwrap();
    let repair = opening.repair.unwrap();
    assert_eq!(repair.seq, 4);
    assert!(repair.kept_in.exists());
    assert_eq!(log.next_seq(), 5, "a `repaired` event stands behind the cut");
}

#[test]
fn a_log_from_the_future_is_left_alone() {
    let home = copy("v1-future");
    let before = std::fs::read(home.path().join(annals_log::LOG_FILE)).unwrap();
    match Log::open(&OsDisk, home.path(), options(Durability::Strict), None) {
        Err(Error::Newer { found: 99, known: 1, .. }) => {}
        other => panic!("{:?}", other.map(drop)),
    }
    assert_eq!(std::fs::read(home.path().join(annals_log::LOG_FILE)).unwrap(), before);
}

#[test]
fn each_kind_of_damage_is_named_and_located() {
    for (name, line, kind) in [
        ("corrupt-unreadable", 3, "unreadable"),
        ("corrupt-checksum", 3, "checksum"),
        ("corrupt-sequence", 3, "sequence"),
        ("corrupt-chain", 3, "chain"),
        ("corrupt-shortened", 6, "shortened"),
        ("corrupt-replaced", 8, "replaced"),
        ("corrupt-seal", 5, "seal"),
    ] {
        let home = copy(name);
        let report = verify(&OsDisk, home.path(), None, &[]).unwrap();
        let found: Vec<_> = report.damages.iter().map(|d| (d.line, d.kind.name())).collect();
        assert!(found.contains(&(line, kind)), "{name}: {:?}", report.damages);
        if !matches!(kind, "seal" | "replaced") {
            assert!(matches!(
                Log::open(&OsDisk, home.path(), options(Durability::Strict), None),
                Err(Error::Corrupt { .. })
            ));
        }
    }
    assert_eq!(DamageKind::Seal.name(), "seal");
}

/// Writes the fixtures. They are committed and stay as they are; run once, with `--ignored`, when a new format is made.
#[test]
#[ignore = "writes the fixtures"]
fn write_the_fixtures() {
    use annals_model::line::{Place, check, encode};
    let base = tempfile::tempdir().unwrap();
    let log = crate::create(base.path(), Durability::Strict);
    for n in 0..3 {
        log.commit(&[crate::draft(&format!("{{\"kind\":\"prompt\",\"text\":\"event {n}\"}}"))]).unwrap();
    }
    let torn = std::fs::read(log.path()).unwrap();
    log.seal().unwrap();
    log.commit(&[crate::draft("{\"kind\":\"prompt\",\"text\":\"after the seal\"}")]).unwrap();
    log.close().unwrap();
    let good = std::fs::read(base.path().join(annals_log::LOG_FILE)).unwrap();
    let lock = std::fs::read(base.path().join(annals_log::holder::LOCK_FILE)).unwrap();
    let write = |name: &str, bytes: &[u8], lock: Option<&[u8]>| {
        std::fs::create_dir_all(fixture(name)).unwrap();
        std::fs::write(fixture(name).join(annals_log::LOG_FILE), bytes).unwrap();
        if let Some(lock) = lock {
            std::fs::write(fixture(name).join(annals_log::holder::LOCK_FILE), lock).unwrap();
        }
    };
    write("v1-closed", &good, Some(&lock));
    let end = torn.iter().rposition(|b| *b != b'\n').unwrap() + 2;
    let mut bytes = torn[..end].to_vec();
    bytes.extend_from_slice(br#"{"seq":4,"d":3,"prev":"0000"#);
    bytes.extend(std::iter::repeat_n(b'\n', 300));
    write("v1-torn", &bytes, None);
    let lines: Vec<Vec<u8>> = good.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let again = |line: &[u8], change: &dyn Fn(&mut Place), data: Option<&str>| {
        let line = check(&line[..line.len() - 1]).unwrap();
        let mut place = Place { seq: line.seq, durable: line.durable, prev: line.prev };
        change(&mut place);
        let mut out = Vec::new();
        let own = String::from_utf8(line.data.to_vec()).unwrap();
        let ts = annals_model::Timestamp::parse(line.ts).unwrap();
        let draft = annals_model::Draft { ts, turn: line.turn, kind: line.kind, data: data.unwrap_or(&own) };
        encode(&mut out, place, &draft);
        out
    };
    let future = again(&lines[0], &|_| {}, Some("{\"format\":99}"));
    write("v1-future", &future, None);
    let with = |n: usize, new: Vec<u8>| {
        let mut edited = lines.clone();
        edited[n] = new;
        edited.concat()
    };
    write("corrupt-unreadable", &with(2, b"what is this\n".to_vec()), Some(&lock));
    let mut flipped = lines[2].clone();
    let at = flipped.len() - 40;
    flipped[at] ^= 1;
    write("corrupt-checksum", &with(2, flipped), Some(&lock));
    write("corrupt-sequence", &with(2, Vec::new()), Some(&lock));
    write("corrupt-chain", &with(2, again(&lines[2], &|p| p.prev ^= 1, None)), Some(&lock));
    write("corrupt-shortened", &lines[..5].concat(), Some(&lock));
    let last = lines.len() - 1;
    write("corrupt-replaced", &with(last, again(&lines[last], &|_| {}, Some("{\"x\":1}"))), Some(&lock));
    // A whole log, rewritten by someone who can compute checksums: only the seal tells.
    let mut forged = vec![lines[0].clone()];
    let mut prev = check(&lines[0][..lines[0].len() - 1]).unwrap().crc;
    for (n, line) in lines.iter().enumerate().skip(1) {
        let data = (n == 2).then_some("{\"kind\":\"prompt\",\"text\":\"event 9\"}");
        let new = again(line, &|p| p.prev = prev, data);
        prev = check(&new[..new.len() - 1]).unwrap().crc;
        forged.push(new);
    }
    write("corrupt-seal", &forged.concat(), None);
    let mut reader = Reader::open(&OsDisk, &fixture("v1-closed")).unwrap();
    while let Some(item) = reader.next_item().unwrap() {
        assert!(matches!(item, Item::Line { .. }));
    }
}
