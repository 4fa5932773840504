//! The rules, read from `rules.toml` and made ready.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::{Regex, RegexSet};
use serde::Deserialize;

use super::check::Needs;

const TABLE: &str = include_str!("../rules.toml");

/// How far a rule looks unless it says otherwise, in bytes. A match that reaches the end is looked at again with more.
const WINDOW: usize = 2048;

/// A table of rules that can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuleError {
    #[error("the table does not have the form of one")]
    Table(#[from] toml::de::Error),
    #[error("an expression can't be compiled")]
    Expression(#[from] regex::Error),
    #[error("the keywords can't be compiled")]
    Keywords(#[from] aho_corasick::BuildError),
    #[error("rule {rule} names an allow list {list:?} that is not there")]
    NoSuchList { rule: String, list: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    allow: BTreeMap<String, Vec<String>>,
    rule: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    keywords: Vec<String>,
    regex: String,
    #[serde(default)]
    offset: usize,
    #[serde(default)]
    left: Left,
    #[serde(default)]
    right: Right,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    min_len: usize,
    #[serde(default)]
    needs: Needs,
    #[serde(default)]
    allow: Vec<String>,
    not_name: Option<String>,
    not_before: Option<String>,
    window: Option<usize>,
}

/// What has to stand before a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Left {
    #[default]
    Word,
    Any,
    Digit,
}

/// What has to stand behind a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Right {
    #[default]
    Any,
    Word,
}

/// A rule, ready.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) regex: Regex,
    /// Index of the group `name`.
    pub(super) name: Option<usize>,
    pub(super) offset: usize,
    pub(super) left: Left,
    pub(super) right: Right,
    pub(super) entropy: f64,
    pub(super) min_len: usize,
    pub(super) needs: Needs,
    /// Indices into [`Rules::lists`].
    pub(super) allow: Vec<usize>,
    pub(super) not_name: Option<Regex>,
    pub(super) not_before: Option<Regex>,
    pub(super) window: usize,
}

/// All rules, and the automaton that says where to look.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    pub(super) lists: Vec<RegexSet>,
    pub(super) keywords: AhoCorasick,
    /// For each keyword the rules that it belongs to.
    pub(super) wanted: Vec<Vec<usize>>,
}

impl Rules {
    pub(super) fn standard() -> Result<Self, RuleError> {
        let table: Table = toml::from_str(TABLE)?;
        let names: Vec<&String> = table.allow.keys().collect();
        let lists = table.allow.values().map(RegexSet::new).collect::<Result<_, _>>()?;
        // The position in the list of keywords is the number that the automaton reports.
        let mut keywords: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut rules = Vec::new();
        for (index, entry) in table.rule.into_iter().enumerate() {
            for keyword in &entry.keywords {
                keywords.entry(keyword.to_ascii_lowercase()).or_default().push(index);
            }
            rules.push(ready(entry, &names)?);
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(keywords.keys())?;
        Ok(Self { rules, lists, keywords: automaton, wanted: keywords.into_values().collect() })
    }

    /// The name of what has this rank: see [`super::scan::Hit`].
    pub(super) fn name(&self, rank: usize) -> &str {
        let rule = rank.checked_sub(1).and_then(|index| self.rules.get(index));
        rule.map_or(super::CONFIGURED, |rule| &rule.id)
    }

    /// Whether a mark with this name can be ours.
    pub(super) fn has(&self, id: &str) -> bool {
        id == super::CONFIGURED || self.rules.iter().any(|rule| rule.id == id)
    }
}

fn ready(entry: Entry, names: &[&String]) -> Result<Rule, RuleError> {
    let find = |list: &String| {
        let no_such_list = || RuleError::NoSuchList { rule: entry.id.clone(), list: list.clone() };
        names.iter().position(|name| *name == list).ok_or_else(no_such_list)
    };
    let allow = entry.allow.iter().map(find).collect::<Result<_, _>>()?;
    let regex = Regex::new(&format!("^(?:{})", entry.regex))?;
    Ok(Rule {
        name: regex.capture_names().position(|name| name == Some("name")),
        regex,
        offset: entry.offset,
        left: entry.left,
        right: entry.right,
        entropy: entry.entropy,
        min_len: entry.min_len,
        needs: entry.needs,
        allow,
        not_name: entry.not_name.as_deref().map(Regex::new).transpose()?,
        not_before: entry.not_before.as_deref().map(Regex::new).transpose()?,
        window: entry.window.unwrap_or(WINDOW),
        id: entry.id,
    })
}
