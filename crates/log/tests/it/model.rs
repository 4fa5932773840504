//! The log against a list in memory, under random operations.

use annals_log::disk::OsDisk;
use annals_log::{Durability, Log};
use proptest::prelude::*;

use crate::{create, draft, lines, options};

#[derive(Debug, Clone)]
enum Operation {
    Append(Vec<u16>),
    Barrier,
    Seal,
    Close,
    Kill,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => prop::collection::vec(0..4000_u16, 1..4).prop_map(Operation::Append),
        1 => Just(Operation::Barrier),
        1 => Just(Operation::Seal),
        1 => Just(Operation::Close),
        1 => Just(Operation::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn it_holds_what_was_appended_and_no_more(
        operations in prop::collection::vec(operation(), 1..25), level in 0..3_u8
    ) {
        let durability = [Durability::Strict, Durability::Barrier, Durability::Os][usize::from(level)];
        let home = tempfile::tempdir().unwrap();
        let mut log = create(home.path(), durability);
        let mut appended = Vec::new();
        for operation in operations {
            match operation {
                Operation::Append(sizes) => {
                    let texts: Vec<String> = sizes
                        .iter()
                        .map(|size| format!("{{\"n\":{},\"pad\":\"{}\"}}", appended.len(), "é".repeat(usize::from(*size))))
                        .collect();
                    let drafts: Vec<_> = texts.iter().map(|t| draft(t)).collect();
                    log.commit(&drafts).unwrap();
                    appended.extend(texts);
                }
                Operation::Barrier => drop(log.barrier().unwrap()),
                Operation::Seal => log.seal().unwrap(),
                Operation::Close => {
                    log.close().unwrap();
                    log = Log::open(&OsDisk, home.path(), options(durability), None).unwrap().0;
                }
                Operation::Kill => {
                    drop(log);
                    log = Log::open(&OsDisk, home.path(), options(durability), None).unwrap().0;
                }
            }
        }
        log.close().unwrap();
        let stored: Vec<String> = lines(home.path()).into_iter().map(|(_, data)| data).filter(|d| d.contains("\"pad\"")).collect();
        let appended_nothing = appended.is_empty();
        prop_assert_eq!(stored, appended);
        let report = annals_log::verify(&OsDisk, home.path(), None, &[]).unwrap();
        prop_assert!(report.is_sound() && report.closed && report.torn_bytes == 0);
        prop_assert!(report.seals >= 1 || appended_nothing);
    }

    /// Whatever bytes stand in the file, opening and reading end, without a panic, and destroy nothing.
    #[test]
    fn any_bytes_can_be_opened(bytes in prop::collection::vec(any::<u8>(), 0..600), keep in 0..3_u8, at in any::<prop::sample::Index>()) {
        let home = tempfile::tempdir().unwrap();
        let log = create(home.path(), Durability::Os);
        for n in 0..5 {
            log.commit(&[draft(&format!("{{\"n\":{n}}}"))]).unwrap();
        }
        log.close().unwrap();
        let path = home.path().join(annals_log::LOG_FILE);
        let good = std::fs::read(&path).unwrap();
        let bad = match keep {
            0 => bytes.clone(),
            1 => [good.as_slice(), &bytes].concat(),
            _ => {
                let at = at.index(good.len());
                [&good[..at], &bytes, &good[at..]].concat()
            }
        };
        std::fs::write(&path, &bad).unwrap();
        if keep == 0 {
            std::fs::remove_file(home.path().join(annals_log::holder::LOCK_FILE)).unwrap();
        }
        let _ = annals_log::verify(&OsDisk, home.path(), None, &[]).unwrap();
        let opened = Log::open(&OsDisk, home.path(), options(Durability::Os), None);
        let kept_aside = std::fs::read_dir(home.path()).unwrap().flatten().any(|e| e.file_name().to_string_lossy().starts_with("torn-"));
        let now = std::fs::read(&path).unwrap();
        // Either the bytes are as they were, or what was cut off lies beside them, or it was blank.
        let blank_cut = now.len() <= bad.len() && bad[now.len()..].iter().all(|b| *b == 0 || *b == b'\n');
        prop_assert!(now.starts_with(&bad) || kept_aside || blank_cut, "{:?}", opened.map(drop));
    }
}
