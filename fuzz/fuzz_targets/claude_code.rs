//! The Claude Code reader: any file is read to its end without a panic, twice with the same outcome.
#![no_main]

use annals_interop::claude_code::{Environment, Importer, discover};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("0f3b9c3e-8f0b-4a58-9f5f-2b1d6f0c9d11.jsonl");
    std::fs::write(&path, bytes).unwrap();
    let Ok(found) = discover(Some(&path), &Environment::default()) else { return };
    let read = || {
        let mut importer = Importer::start(&found.files[0]).unwrap();
        let mut records = Vec::new();
        while let Some(record) = importer.next_record().unwrap() {
            records.push(record);
        }
        (records, importer.cursor())
    };
    assert_eq!(read(), read());
});
