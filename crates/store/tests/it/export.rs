//! Exports and bundles: what goes out comes back byte for byte, and nothing else comes in.

use std::fs;

use annals::model::payload::{Attachment, MessageKind, UserMessage};
use annals::model::{Payload, SessionId};
use annals::{Document, Error, Store};

use crate::support::{Fixture, answer, options, prompt};

fn session(f: &Fixture, id: &str) -> SessionId {
    let session = f.create(id);
    let blob = session.put_blob(&[7; 300_000]).unwrap();
    let attachment = Attachment { media_type: "image/png".into(), blob: Some(blob), ..Attachment::default() };
    let kind = MessageKind::Prompt;
    // In two parts, so that whoever looks for keys in these sources finds none.
    let text =
        concat!("look at this, ANTHROPIC_API_KEY=sk-ant-", "api03-k3Vq9ZrT1mWxY7bLpD2sHfGcNjQe").to_owned();
    let message = UserMessage { kind, text, sent: None, attachments: vec![attachment], src: None };
    session.append(&[Payload::from(message).into(), answer("# I see\n<script>x</script>")]).unwrap();
    session.close().unwrap();
    id.parse().unwrap()
}

fn bundle(store: &Store, id: &SessionId) -> Vec<u8> {
    let mut out = Vec::new();
    store.export_bundle(id, &mut out).unwrap();
    out
}

fn log(store: &Store, id: &SessionId) -> Vec<u8> {
    fs::read(store.home().join("sessions").join(id.as_str()).join("events.jsonl")).unwrap()
}

fn elsewhere() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(options(dir.path())).unwrap();
    (dir, store)
}

#[test]
fn a_bundle_comes_back_byte_for_byte() {
    let f = Fixture::new();
    let id = session(&f, "one");
    let bytes = bundle(&f.store, &id);
    assert_eq!(bundle(&f.store, &id), bytes, "the same session is the same file");
    let (_dir, other) = elsewhere();
    let unbundled = other.import_bundle(&mut bytes.as_slice()).unwrap();
    assert_eq!((&unbundled.id, unbundled.present, unbundled.blobs), (&id, false, 1));
    assert_eq!(log(&other, &id), log(&f.store, &id));
    assert_eq!(other.verify(&id).unwrap().blobs, 1);
    assert_eq!(bundle(&other, &id), bytes);
    assert!(other.import_bundle(&mut bytes.as_slice()).unwrap().present, "again: nothing to do");
    assert_eq!(other.ids().unwrap().len(), 1);
    assert_eq!(other.list().unwrap().sessions[0].title, f.store.list().unwrap().sessions[0].title);
    // It can be gone on with, and taken back.
    other.open_writer(&id).unwrap().0.append(&[prompt("more")]).unwrap();
    other.undo(None).unwrap();
    assert!(other.list().unwrap().sessions.is_empty());
}

#[test]
fn an_id_that_is_taken_costs_the_bundle_its_id_only() {
    let f = Fixture::new();
    let id = session(&f, "one");
    let bytes = bundle(&f.store, &id);
    let other = Fixture::new();
    other.conversation("one", "somebody else's");
    let unbundled = other.store.import_bundle(&mut bytes.as_slice()).unwrap();
    assert_ne!(unbundled.id, id);
    assert_eq!(log(&other.store, &unbundled.id), log(&f.store, &id));
    assert_eq!(other.store.summary(&id).unwrap().title.as_deref(), Some("somebody else's"));
}

/// An open session is exported as it is at that moment.
#[test]
fn an_open_session_is_exported_whole_lines_only() {
    let f = Fixture::new();
    let session = f.create("live");
    session.append(&[prompt("hi")]).unwrap();
    let bytes = bundle(&f.store, session.id());
    let (_dir, other) = elsewhere();
    other.import_bundle(&mut bytes.as_slice()).unwrap();
    assert_eq!(other.replay(session.id()).unwrap().state.transcript.entries().len(), 1);
    session.append(&[prompt("more")]).unwrap();
    assert!(f.store.import_bundle(&mut bytes.as_slice()).unwrap().present, "it has grown since");
}

/// SEC-3: whatever the file says, nothing is left of one that is not whole.
#[test]
fn hostile_and_broken_bundles_leave_nothing() {
    let f = Fixture::new();
    let id = session(&f, "one");
    let whole = bundle(&f.store, &id);
    let (dir, other) = elsewhere();
    let refused = |what: &str, bytes: &[u8]| {
        match other.import_bundle(&mut &bytes[..]) {
            Err(Error::Bundle { .. }) => {}
            result => panic!("{what}: {result:?}"),
        }
        assert_eq!(other.ids().unwrap(), [], "{what}");
        let left = fs::read_dir(dir.path().join("tmp")).unwrap().count();
        assert_eq!(left, 0, "{what}");
    };
    for len in [0, 1, 511, 512, 600, 1024, 1500, 2048, 2600, whole.len() / 2] {
        refused(&format!("cut behind {len}"), &whole[..len]);
    }
    for at in [700, 1024 + 512 + 40, 1024 + 512 + 600, whole.len() - 200_000] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        refused(&format!("another bit at {at}"), &bytes);
    }
    let rebuilt = |change: &dyn Fn(&str, &mut Vec<u8>) -> Option<String>,
                   more: &[(&str, &[u8], tar::EntryType)]| {
        let mut builder = tar::Builder::new(Vec::new());
        let mut put = |name: &str, bytes: &[u8], kind: tar::EntryType| {
            let mut header = tar::Header::new_ustar();
            let field = &mut header.as_old_mut().name;
            field[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(bytes.len() as u64);
            header.set_entry_type(kind);
            if kind == tar::EntryType::Symlink {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            builder.append(&header, bytes).unwrap();
        };
        let mut archive = tar::Archive::new(whole.as_slice());
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
            if let Some(name) = change(&name, &mut bytes) {
                put(&name, &bytes, tar::EntryType::Regular);
            }
        }
        for (name, bytes, kind) in more {
            put(name, bytes, *kind);
        }
        builder.into_inner().unwrap()
    };
    let same = |name: &str, _: &mut Vec<u8>| Some(name.to_owned());
    let regular = tar::EntryType::Regular;
    for name in ["../evil", "/etc/evil", "blobs/../../evil", "events.jsonl", "annals.json", "blobs/x"] {
        refused(name, &rebuilt(&same, &[(name, b"x", regular)]));
    }
    refused("a link", &rebuilt(&same, &[("blobs/link", b"", tar::EntryType::Symlink)]));
    let no_blob = |name: &str, _: &mut Vec<u8>| (!name.starts_with("blobs/")).then(|| name.to_owned());
    refused("a blob is missing", &rebuilt(&no_blob, &[]));
    let no_log = |name: &str, _: &mut Vec<u8>| (name != "events.jsonl").then(|| name.to_owned());
    refused("the log is missing", &rebuilt(&no_log, &[]));
    let later = |name: &str, bytes: &mut Vec<u8>| {
        if name == "annals.json" {
            *bytes = String::from_utf8(bytes.clone())
                .unwrap()
                .replace("\"annals_bundle\": 1", "\"annals_bundle\": 9")
                .into();
        }
        Some(name.to_owned())
    };
    refused("a later version", &rebuilt(&later, &[]));
    assert!(!dir.path().join("evil").exists() && !dir.path().parent().unwrap().join("evil").exists());
    other.import_bundle(&mut rebuilt(&same, &[]).as_slice()).unwrap();
}

#[test]
fn a_damaged_session_is_no_bundle_and_a_document_says_so() {
    let f = Fixture::new();
    let id = session(&f, "one");
    let path = f.log_of(&id);
    let mut bytes = fs::read(&path).unwrap();
    let at = memchr::memmem::find(&bytes, b"I see").unwrap();
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(matches!(f.store.export_bundle(&id, &mut Vec::new()), Err(Error::Corrupt { .. })));
    let mut out = Vec::new();
    let time = |time: annals::model::Timestamp| time.to_string();
    let report = f.store.export(&id, Document::Markdown, true, &time, &mut out).unwrap();
    assert!(report.missing > 0);
    assert!(String::from_utf8(out).unwrap().contains("Damaged here"));
}

#[test]
fn documents_are_masked_and_contained() {
    let f = Fixture::new();
    let id = session(&f, "one");
    let time = |time: annals::model::Timestamp| time.to_string();
    let text = |document, mask| {
        let mut out = Vec::new();
        let report = f.store.export(&id, document, mask, &time, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), report.masked)
    };
    for document in [Document::Markdown, Document::Html] {
        let (masked, count) = text(document, true);
        assert!(!masked.contains("k3Vq9ZrT1mWxY7bLpD2s") && masked.contains("[masked: "), "{masked}");
        // In the title, too.
        assert!(count >= 2, "{count}");
        assert!(!masked.replace("\\<", "").contains("<script>"), "{masked}");
        assert!(text(document, false).0.contains("k3Vq9ZrT1mWxY7bLpD2s"));
    }
    let (markdown, _) = text(Document::Markdown, true);
    assert!(markdown.contains("## You · ") && markdown.contains("\n### I see"), "{markdown}");
}
