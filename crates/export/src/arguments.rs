//! A call's arguments by name, in their order: strings as text, anything else as JSON.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::clean::shorten;
use crate::walk::{MAX_RESULT_BYTES, MAX_RESULT_LINES, Texts};

/// The fields of a JSON object in their order; a map would sort them, a `Value` would rewrite numbers.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The arguments by name, given the masked JSON. What is no object has one field without a name; so has what masking made invalid.
pub(crate) fn fields(input: &str, texts: &mut Texts<'_>) -> Vec<(String, String)> {
    let Ok(Fields(fields)) = serde_json::from_str::<Fields<'_>>(input) else {
        return vec![(String::new(), bounded(input))];
    };
    // Text that was escaped is looked at again as text: escapes may have hidden something.
    let mut shown = |(name, value): (String, &RawValue)| {
        let text = serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned());
        (texts.line(&name, 80), bounded(&texts.fit(&text)))
    };
    fields.into_iter().map(&mut shown).collect()
}

fn bounded(text: &str) -> String {
    let short = shorten(text, MAX_RESULT_LINES, MAX_RESULT_BYTES);
    if short.rest.is_some() { format!("{}\n…", short.text) } else { short.text }
}
