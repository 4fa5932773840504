//! A JSON object read leniently: its fields as raw text, the last of equal names winning, a field of the wrong type being
//! absent. Typed structs would reject a whole record for one field that changed its type between two versions.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of one object, borrowed from its text.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Object<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    pub(crate) fn of(raw: &'a RawValue) -> Option<Self> {
        raw.get().starts_with('{').then(|| Self::parse(raw.get()).ok()).flatten()
    }

    /// A field, unless it is `null`.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.any(name).filter(|raw| raw.get() != "null")
    }

    /// A field, `null` included.
    pub(crate) fn any(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, raw)| *raw)
    }

    pub(crate) fn str(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(text_of)
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        self.str(name).map(Cow::into_owned)
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.get(name).is_some_and(|raw| raw.get() == "true")
    }

    /// A count; a number with decimals is cut, a negative one is absent.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        let text = self.get(name)?.get();
        if let Ok(number) = text.parse() {
            return Some(number);
        }
        let number: f64 = text.parse().ok()?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // `as` saturates, and the sign is checked
        (number >= 0.0).then_some(number as u64)
    }

    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.get(name).and_then(Self::of)
    }

    pub(crate) fn list(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        self.get(name).and_then(list_of)
    }
}

/// The string that `raw` is.
pub(crate) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    raw.get()
        .starts_with('"')
        .then(|| serde_json::from_str::<Text<'_>>(raw.get()).ok())
        .flatten()
        .map(|t| t.0)
}

/// The elements of the array that `raw` is.
pub(crate) fn list_of(raw: &RawValue) -> Option<Vec<&RawValue>> {
    raw.get().starts_with('[').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(24);
                while let Some((key, raw)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    fields.push((key.0, raw));
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_wrong_type_are_absent_and_the_last_wins() {
        let object = Object::parse(r#" {"a":1,"a":"x\n","b":2.9,"n":null,"t":true,"neg":-1} "#).unwrap();
        assert_eq!(object.str("a").as_deref(), Some("x\n"));
        assert_eq!((object.count("a"), object.count("b"), object.count("neg")), (None, Some(2), None));
        assert!(object.is("t") && object.get("n").is_none() && object.any("n").is_some());
        assert!(Object::parse("[1]").is_err());
    }
}
