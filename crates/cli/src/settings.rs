//! The configuration: defaults, then the file, then the environment, then flags. Each value knows where it comes from.

use std::fmt;
use std::path::{Path, PathBuf};

use annals::log::Durability;
use etcetera::BaseStrategy;
use serde::Deserialize;
use toml::Spanned;

use crate::args::Global;
use crate::error::{Failure, Result};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File { line: usize },
    Environment(&'static str),
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::File { line } => write!(f, "file, line {line}"),
            Self::Environment(name) | Self::Flag(name) => write!(f, "{name}"),
        }
    }
}

/// A value and its source.
#[derive(Debug, Clone)]
pub(crate) struct Value<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

impl<T> Value<T> {
    fn default(value: T) -> Self {
        Self { value, source: Source::Default }
    }
}

/// All that can be configured.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The file, whether it is there or not.
    pub(crate) file: Option<PathBuf>,
    /// Where sessions are kept; None for the platform's data directory.
    pub(crate) data_dir: Value<Option<PathBuf>>,
    pub(crate) durability: Value<Durability>,
    pub(crate) allow_network_fs: Value<bool>,
    /// Keys in the file that mean nothing.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    session: Section,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Section {
    enabled: Option<Spanned<bool>>,
    data_dir: Option<Spanned<String>>,
    durability: Option<Spanned<String>>,
    encrypt: Option<Spanned<bool>>,
    allow_network_fs: Option<Spanned<bool>>,
}

/// The keys that the file may have.
const KEYS: [&str; 5] = [
    "session.enabled",
    "session.data_dir",
    "session.durability",
    "session.encrypt",
    "session.allow_network_fs",
];

impl Settings {
    /// Reads the file and looks at the environment.
    pub(crate) fn load(global: &Global) -> Result<Self> {
        let file = path();
        let text = match &file {
            None => String::new(),
            Some(path) => match std::fs::read_to_string(path) {
                Ok(text) => text,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
                Err(e) => return Err(Failure::io("read", path, e)),
            },
        };
        let mut settings = Self::parse(file.as_deref().unwrap_or(Path::new("config.toml")), &text)?;
        settings.file = file;
        if let Some(dir) = std::env::var_os("ANNALS_HOME").filter(|dir| !dir.is_empty()) {
            settings.data_dir = Value { value: Some(dir.into()), source: Source::Environment("ANNALS_HOME") };
        }
        if let Some(dir) = &global.data_dir {
            settings.data_dir = Value { value: Some(dir.clone()), source: Source::Flag("--data-dir") };
        }
        if global.allow_network_fs {
            let source = Source::Flag("--allow-network-fs or ANNALS_ALLOW_NETWORK_FS");
            settings.allow_network_fs = Value { value: true, source };
        }
        Ok(settings)
    }

    fn parse(path: &Path, text: &str) -> Result<Self> {
        let line = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let wrong = |at: usize, message: String| {
            Failure::config(format!("{}, line {}: {message}", path.display(), line(at)))
        };
        let syntax = |e: toml::de::Error| {
            let first = e.message().lines().next().unwrap_or_default().to_owned();
            wrong(e.span().map_or(0, |span| span.start), first)
        };
        let table: toml::Table = text.parse().map_err(syntax)?;
        let file: File = toml::from_str(text).map_err(syntax)?;
        let Section { enabled, data_dir, durability, encrypt, allow_network_fs } = file.session;
        // Never ignored: whoever sets these relies on them.
        if let Some(enabled) = enabled.filter(|enabled| !enabled.get_ref()) {
            let message = "session.enabled = false: this version always keeps logs".to_owned();
            return Err(wrong(enabled.span().start, message));
        }
        if let Some(encrypt) = encrypt.filter(|encrypt| *encrypt.get_ref()) {
            let message = "session.encrypt = true: this version can't encrypt".to_owned();
            return Err(wrong(encrypt.span().start, message));
        }
        let from = |at: usize| Source::File { line: line(at) };
        let data_dir = data_dir.filter(|dir| !dir.get_ref().is_empty());
        let data_dir = data_dir.map(|dir| {
            let source = from(dir.span().start);
            Value { value: Some(home_relative(dir.into_inner())), source }
        });
        let durability = durability.map(|durability| {
            let at = durability.span().start;
            let value = durability.get_ref().parse().map_err(|_| {
                let message =
                    format!("session.durability = {:?}: it is strict, barrier or os", durability.get_ref());
                wrong(at, message)
            })?;
            Ok::<_, Failure>(Value { value, source: from(at) })
        });
        let allow =
            allow_network_fs.map(|allow| Value { value: *allow.get_ref(), source: from(allow.span().start) });
        Ok(Self {
            file: None,
            data_dir: data_dir.unwrap_or(Value::default(None)),
            durability: durability.transpose()?.unwrap_or(Value::default(Durability::Strict)),
            allow_network_fs: allow.unwrap_or(Value::default(false)),
            warnings: unknown(&table),
        })
    }
}

/// The configuration file: `ANNALS_CONFIG`, else the platform's.
fn path() -> Option<PathBuf> {
    let chosen = std::env::var_os("ANNALS_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    chosen.or_else(|| Some(etcetera::choose_base_strategy().ok()?.config_dir().join("annals/config.toml")))
}

fn home_relative(dir: String) -> PathBuf {
    match (dir.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(dir),
    }
}

/// Keys that mean nothing, each with the one that may be meant.
fn unknown(table: &toml::Table) -> Vec<String> {
    let mut found = Vec::new();
    for (section, value) in table {
        match value.as_table() {
            Some(keys) => found.extend(keys.keys().map(|key| format!("{section}.{key}"))),
            None => found.push(section.clone()),
        }
    }
    found.retain(|key| !KEYS.contains(&key.as_str()));
    let warn = |key: String| {
        let nearest =
            KEYS.iter().min_by_key(|known| distance(&key, known)).filter(|k| distance(&key, k) <= 4);
        let meant = nearest.map(|k| format!(" (did you mean {k}?)")).unwrap_or_default();
        format!("the configuration has no {key}{meant}")
    };
    found.into_iter().map(warn).collect()
}

/// How many letters to change, add or leave out to make one text of another (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, y) in b.chars().enumerate() {
            let (left, above) = (row.get(j).copied().unwrap_or(0), row.get(j + 1).copied().unwrap_or(0));
            let best = (before + usize::from(x != y)).min(left + 1).min(above + 1);
            before = above;
            if let Some(cell) = row.get_mut(j + 1) {
                *cell = best;
            }
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings> {
        Settings::parse(Path::new("c.toml"), text)
    }

    fn message(text: &str) -> String {
        match parse(text) {
            Err(Failure::Other { message, .. }) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_know_their_lines() {
        let settings = parse("[session]\n\ndurability = \"os\"\ndata_dir = \"/x\"\n").unwrap();
        assert_eq!(
            (settings.durability.value, settings.durability.source),
            (Durability::Os, Source::File { line: 3 })
        );
        assert_eq!(settings.data_dir.source, Source::File { line: 4 });
        assert_eq!(settings.allow_network_fs.source, Source::Default);
    }

    #[test]
    fn what_can_not_be_is_refused_with_its_place() {
        assert!(message("[session]\ndurability = \"maybe\"").contains("c.toml, line 2: session.durability"));
        assert!(message("[session]\n\nencrypt = true").contains("line 3"));
        assert!(message("[session]\nenabled = false").contains("always keeps logs"));
        assert!(message("[session]\ndata_dir = 3").contains("line 2"));
        assert!(message("[session\n").contains("line 1"));
    }

    #[test]
    fn an_unknown_key_is_told_with_the_nearest_one() {
        let settings = parse("[session]\ndurabilty = \"os\"\n[nonsense]\nx = 1\n").unwrap();
        assert_eq!(
            settings.warnings,
            [
                "the configuration has no nonsense.x",
                "the configuration has no session.durabilty (did you mean session.durability?)"
            ]
        );
    }
}
