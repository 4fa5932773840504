//! From a text to the ranges that are secrets.

use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};
use regex::Captures;

use super::check::{entropy, left_is_met, right_is_met};
use super::rule::{Rule, Rules};
use super::{MARK, MIN_VALUE_BYTES};

/// No rule's name is longer; a test says so.
pub(super) const MAX_ID_BYTES: usize = 40;

/// How much before a match `not_before` sees, in bytes.
const BEFORE: usize = 24;

/// Values that the caller knows to be secret.
#[derive(Debug, Clone)]
pub(super) struct Values(AhoCorasick);

impl Values {
    pub(super) fn new(values: &[String]) -> Result<Option<Self>, BuildError> {
        let mut patterns: Vec<String> = Vec::new();
        for value in values.iter().map(|v| v.trim()).filter(|v| v.len() >= MIN_VALUE_BYTES) {
            let escaped = serde_json::to_string(value).unwrap_or_default();
            let escaped = escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default();
            if escaped != value {
                patterns.push(escaped.to_owned());
            }
            patterns.push(value.to_owned());
        }
        if patterns.is_empty() {
            return Ok(None);
        }
        AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).map(|a| Some(Self(a)))
    }
}

/// A secret found: the rank of what found it (0 for the caller's values, else the rule's place in the table, from 1) and its range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) rank: usize,
    pub(super) at: Range<usize>,
}

/// The secrets in a text, in order, none touching another.
pub(super) fn scan(rules: &Rules, values: Option<&Values>, text: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    for hit in values.iter().flat_map(|Values(automaton)| automaton.find_iter(text)) {
        found.push(Hit { rank: 0, at: hit.range() });
    }
    by_rules(rules, text, &mut found);
    if found.is_empty() {
        return found;
    }
    spare_marks(rules, text, merge(found))
}

fn by_rules(rules: &Rules, text: &str, found: &mut Vec<Hit>) {
    // Where the last match of each rule ended: what begins inside it is part of it.
    let mut ends = vec![0; rules.rules.len()];
    for hit in rules.keywords.find_overlapping_iter(text) {
        let wanted = rules.wanted.get(hit.pattern().as_usize()).map(Vec::as_slice).unwrap_or_default();
        for index in wanted {
            let (Some(rule), Some(end)) = (rules.rules.get(*index), ends.get_mut(*index)) else { continue };
            let Some(start) = hit.start().checked_sub(rule.offset).filter(|start| start >= end) else {
                continue;
            };
            if let Some((whole, secret)) = look(rules, rule, text, start) {
                *end = whole;
                found.push(Hit { rank: index + 1, at: secret });
            }
        }
    }
}

/// Looks for a rule's match at `start`; gives its end and the secret's range.
fn look(rules: &Rules, rule: &Rule, text: &str, start: usize) -> Option<(usize, Range<usize>)> {
    if !left_is_met(rule.left, text.as_bytes().get(..start)?) {
        return None;
    }
    let captures = matched(rule, text, start)?;
    let whole = captures.get(0)?.end();
    if !right_is_met(rule.right, text.as_bytes().get(start + whole..)?) {
        return None;
    }
    let groups = captures.iter().enumerate().skip(1).filter(|(index, _)| Some(*index) != rule.name);
    let group = groups.filter_map(|(_, group)| group).next().or(captures.get(0))?;
    let secret = group.as_str();
    let is_one = secret.len() >= rule.min_len
        && rule.needs.are_met_by(secret)
        && (rule.entropy <= 0.0 || entropy(secret) >= rule.entropy)
        && !is_allowed(rules, rule, secret)
        && !is_named_otherwise(rule, &captures, text, start);
    is_one.then(|| (start + whole, start + group.start()..start + group.end()))
}

/// The match at `start`, seen through a window that keeps the cost of a wrong keyword small. A match that reaches its end may go
/// on: a part of a secret must not stay.
fn matched<'t>(rule: &Rule, text: &'t str, start: usize) -> Option<Captures<'t>> {
    let rest = text.get(start..)?;
    let mut size = rule.window;
    loop {
        let window = rest.get(..rest.floor_char_boundary(size))?;
        // Most keywords stand for nothing: whether there is a match costs less to say than what its groups are.
        let end = rule.regex.find(window)?.end();
        if end < window.len() || window.len() == rest.len() {
            return rule.regex.captures(window);
        }
        size = size.saturating_mul(8);
    }
}

fn is_allowed(rules: &Rules, rule: &Rule, secret: &str) -> bool {
    rule.allow.iter().filter_map(|list| rules.lists.get(*list)).any(|list| list.is_match(secret))
}

/// Whether the name says that the value is something else: the path of a key, the length of a token.
fn is_named_otherwise(rule: &Rule, captures: &Captures<'_>, text: &str, start: usize) -> bool {
    let name = rule.name.and_then(|group| captures.get(group));
    if let (Some(not), Some(name)) = (&rule.not_name, name)
        && not.is_match(name.as_str())
    {
        return true;
    }
    let Some(not) = &rule.not_before else { return false };
    let from = text.floor_char_boundary(start.saturating_sub(BEFORE));
    text.get(from..start).is_some_and(|before| not.is_match(before))
}

/// What is masked already is left as it is: a secret inside a mark is none, one that reaches into a mark takes it whole.
fn spare_marks(rules: &Rules, text: &str, mut found: Vec<Hit>) -> Vec<Hit> {
    let marks: Vec<Range<usize>> =
        text.match_indices(MARK).filter_map(|(start, _)| mark_at(rules, text, start)).collect();
    if marks.is_empty() {
        return found;
    }
    found.retain_mut(|hit| {
        let first = marks.partition_point(|mark| mark.end <= hit.at.start);
        let last = marks.partition_point(|mark| mark.start < hit.at.end);
        let Some(([head, ..], [.., tail])) = marks.get(first..last).map(|touched| (touched, touched)) else {
            return true;
        };
        let inside = head.start <= hit.at.start && hit.at.end <= head.end;
        hit.at = hit.at.start.min(head.start)..hit.at.end.max(tail.end);
        !inside
    });
    merge(found)
}

fn mark_at(rules: &Rules, text: &str, start: usize) -> Option<Range<usize>> {
    let inner = text.get(start..)?.strip_prefix(MARK)?;
    let near = inner.get(..inner.floor_char_boundary(MAX_ID_BYTES))?;
    let (id, _) = near.split_once(']')?;
    rules.has(id).then(|| start..start + MARK.len() + id.len() + 1)
}

/// In order, with those that overlap made one. The lowest rank gives the name.
pub(super) fn merge(mut found: Vec<Hit>) -> Vec<Hit> {
    found.sort_by_key(|hit| hit.at.start);
    let mut merged: Vec<Hit> = Vec::new();
    for hit in found {
        match merged.last_mut() {
            Some(last) if hit.at.start < last.at.end => {
                last.at.end = last.at.end.max(hit.at.end);
                last.rank = last.rank.min(hit.rank);
            }
            _ => merged.push(hit),
        }
    }
    merged
}
