//! Checks of the tree that no compiler makes: floors, links in the documentation, sizes of rooms.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Which floor each crate stands on; a crate may use only lower ones.
const FLOORS: &[(&str, u32)] = &[
    ("model", 0),
    ("search", 1),
    ("log", 1),
    ("export", 1),
    ("interop", 1),
    ("index", 2),
    ("store", 3),
    ("cli", 5),
];

/// A room longer than this has to be taken apart.
const MAX_LINES: usize = 800;

pub fn run() -> Result<(), String> {
    let mut wrong = Vec::new();
    floors(&mut wrong)?;
    links(&mut wrong)?;
    rooms(&mut wrong)?;
    if wrong.is_empty() {
        eprintln!("== checks: floors, links and rooms are in order");
        return Ok(());
    }
    Err(format!("checks:\n  {}", wrong.join("\n  ")))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Dependencies point down only.
fn floors(wrong: &mut Vec<String>) -> Result<(), String> {
    let floors: BTreeMap<String, u32> = FLOORS
        .iter()
        .map(|(name, floor)| {
            (if *name == "store" { "annals".to_owned() } else { format!("annals-{name}") }, *floor)
        })
        .collect();
    for (name, floor) in FLOORS {
        let manifest = read(&Path::new("crates").join(name).join("Cargo.toml"))?;
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let used = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if section == "[dependencies]"
                && let Some(used_floor) = floors.get(used)
                && used_floor >= floor
            {
                wrong.push(format!("crates/{name} (floor {floor}) uses {used} (floor {used_floor})"));
            }
        }
    }
    for entry in fs::read_dir("crates").map_err(|e| e.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "testkit" && !FLOORS.iter().any(|(known, _)| *known == name) {
            wrong.push(format!("crates/{name} stands on no floor: name it in xtask/src/check.rs"));
        }
    }
    Ok(())
}

fn files(dir: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

/// Links between the project's own pages lead somewhere.
fn links(wrong: &mut Vec<String>) -> Result<(), String> {
    let mut pages = Vec::new();
    files(Path::new("."), "md", &mut pages);
    for page in pages {
        let text = read(&page)?;
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = page.parent().unwrap_or(Path::new(".")).join(target);
            if !path.exists() {
                wrong.push(format!("{}: nothing at {target}", page.display()));
            }
        }
    }
    Ok(())
}

fn rooms(wrong: &mut Vec<String>) -> Result<(), String> {
    let mut sources = Vec::new();
    files(Path::new("crates"), "rs", &mut sources);
    for source in sources {
        let text = read(&source)?;
        let lines = text.lines().take_while(|l| *l != "#[cfg(test)]").count();
        if lines > MAX_LINES {
            wrong.push(format!("{}: {lines} lines before its tests, at most {MAX_LINES}", source.display()));
        }
        if !text.starts_with("//!") && !text.starts_with("#!") {
            wrong.push(format!("{}: does not say what it is for", source.display()));
        }
    }
    Ok(())
}
