//! Damaged files: whatever the bytes are, reading ends, nothing panics, and no byte is passed over unseen.

use annals_interop::claude_code::Importer;
use annals_interop::claude_code::sample::{self, Dice};

use crate::corpus::{pick, wild};
use crate::fixture::*;

const MUTATIONS: u64 = 2_000;

fn corpus() -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> = (0..6).map(|seed| wild(seed, 25).bytes).collect();
    let mut plain = Vec::new();
    sample::write(&mut plain, 11, SESSION, 30).unwrap();
    files.push(plain);
    files
}

fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=dice.below(6) {
        if bytes.is_empty() {
            return;
        }
        let at = pick(dice, bytes.len());
        let to = (at + pick(dice, 200)).min(bytes.len());
        match dice.below(6) {
            0 | 1 => bytes[at] ^= 1 << dice.below(8),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..to)),
            4 => bytes[at..to].fill(0),
            _ => {
                let from = pick(dice, other.len());
                let piece = &other[from..(from + pick(dice, 300)).min(other.len())];
                bytes.splice(at..to, piece.iter().copied());
            }
        }
    }
}

/// Records and what separates them cover the file up to the cursor; what is behind the cursor has no newline.
fn covers(importer: &mut Importer, bytes: &[u8]) {
    let mut end = 0;
    let between = |from: u64, to: u64| {
        let gap = &bytes[usize::try_from(from).unwrap()..usize::try_from(to).unwrap()];
        assert!(
            gap.iter().all(|b| matches!(b, 0 | b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf)),
            "{gap:?}"
        );
    };
    while let Some(record) = importer.next_record().unwrap() {
        assert!(record.at >= end && !record.events.is_empty());
        between(end, record.at);
        end = record.at + record.len;
        let within = usize::try_from(record.at).unwrap()..usize::try_from(end).unwrap();
        assert_eq!(importer.raw(), &bytes[within]);
        assert!(importer.cursor() >= end);
        for event in &record.events {
            event.payload.to_data().unwrap();
        }
    }
    between(end, importer.cursor());
    assert!(!bytes[usize::try_from(importer.cursor()).unwrap()..].contains(&b'\n'));
}

#[test]
fn damaged_files_are_read_to_their_end() {
    let corpus = corpus();
    let saved = wild(0, 1).save();
    let mut dice = Dice::new(0x000d_a3a9);
    let mut read = 0;
    for n in 0..MUTATIONS {
        let mut bytes = corpus[pick(&mut dice, corpus.len())].clone();
        let other = &corpus[pick(&mut dice, corpus.len())];
        if n >= corpus.len() as u64 {
            mutate(&mut dice, &mut bytes, other);
        }
        std::fs::write(&saved.path, &bytes).unwrap();
        if let Ok(mut importer) = Importer::start(&saved.source) {
            read += 1;
            covers(&mut importer, &bytes);
        }
    }
    assert!(read > MUTATIONS * 3 / 4, "only {read} were taken for sessions");
}
