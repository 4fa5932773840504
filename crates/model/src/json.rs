//! A JSON value kept as text: what tools were given and gave back is carried, not interpreted.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One JSON value, byte for byte as it was written.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// From a JSON text, brought into canonical form.
    ///
    /// # Errors
    /// [`crate::canon::CanonError`] when the text is no JSON value.
    pub fn parse(text: &str) -> Result<Self, crate::canon::CanonError> {
        let canonical = crate::canon::canonical(text)?;
        RawValue::from_string(canonical)
            .map(Self)
            .map_err(|e| crate::canon::CanonError::Syntax { offset: e.column() })
    }

    /// A JSON string.
    #[must_use]
    pub fn string(text: &str) -> Self {
        Self::from(serde_json::Value::from(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The value, when it is a string.
    #[must_use]
    pub fn as_string(&self) -> Option<String> {
        serde_json::from_str(self.0.get()).ok()
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        // A `Value` always prints as JSON; `null` stands where that promise would fail.
        Self(serde_json::value::to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl Default for Json {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}
