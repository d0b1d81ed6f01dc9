//! Reads a JSON object field by field and collects every error with its place. Unknown fields are errors too.

use std::{borrow::Cow, ops::RangeInclusive};

use serde_json::value::RawValue;

use crate::http::{
    request::rules,
    response::{
        field_error::{FieldError, MAX_ERRORS, Rule},
        problem::Problem,
    },
};

pub struct JsonFields<'b> {
    /// The JSON pointer of this object.
    at: String,
    members: Vec<(Cow<'b, str>, &'b RawValue)>,
    errors: Vec<FieldError>,
}

impl<'b> JsonFields<'b> {
    /// # Errors
    /// A problem, when it is not JSON, or not an object.
    pub fn of(text: &'b str) -> Result<Self, Problem> {
        match Self::at(String::new(), text) {
            Ok(fields) => Ok(fields),
            // Invalid JSON is reported first. Only this path reads the text twice.
            Err(place) => Err(rules::check_syntax(text).err().unwrap_or_else(|| Problem::invalid(vec![place]))),
        }
    }

    fn at(at: String, text: &'b str) -> Result<Self, FieldError> {
        if !rules::starts_with(text, b'{') {
            return Err(FieldError::pointer(at, "must be an object"));
        }
        match rules::members(text) {
            Some(members) => Ok(Self { at, members, errors: Vec::new() }),
            None => Err(FieldError::pointer(at, "must have at most 32 fields, named in Unicode text")),
        }
    }

    /// The field's value, if it is present and valid.
    pub fn take<T>(&mut self, key: &str, rule: impl FnOnce(&'b RawValue) -> Result<T, Rule>) -> Option<T> {
        let value = self.take_raw(key)?;
        match rule(value) {
            Ok(value) => Some(value),
            Err(broken) => self.reject(key, broken),
        }
    }

    /// Like [`take`](Self::take), for a required field.
    pub fn require<T>(&mut self, key: &str, rule: impl FnOnce(&'b RawValue) -> Result<T, Rule>) -> Option<T> {
        if !self.has(key) {
            return self.reject(key, "is required");
        }
        self.take(key, rule)
    }

    /// An object in a field, read alike.
    pub fn object<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let value = self.take_raw(key)?;
        self.inner(self.pointer(key), value, read)
    }

    fn inner<T>(&mut self, at: String, value: &'b RawValue, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        match Self::at(at, value.get()) {
            Ok(mut inner) => {
                let value = read(&mut inner);
                self.errors.extend(inner.close());
                value
            }
            Err(place) => {
                self.errors.push(place);
                None
            }
        }
    }

    /// An array of distinct values.
    pub fn list<T: PartialEq>(
        &mut self,
        key: &str,
        count: RangeInclusive<usize>,
        rule: impl Fn(&RawValue) -> Result<T, Rule>,
    ) -> Option<Vec<T>> {
        let elements = self.take(key, |raw| match rules::elements(raw.get(), *count.end()) {
            Some(Some(elements)) if elements.len() >= *count.start() => Ok(elements),
            _ => Err(format!("must be an array of {} to {}", count.start(), count.end()).into()),
        })?;
        let mut list = Vec::with_capacity(elements.len());
        for (i, element) in elements.into_iter().enumerate() {
            let broken = match rule(element) {
                Ok(value) if list.contains(&value) => "is a duplicate".into(),
                Ok(value) => {
                    list.push(value);
                    continue;
                }
                Err(broken) => broken,
            };
            self.reject::<()>(&format!("{key}/{i}"), broken);
        }
        Some(list)
    }

    /// An array of objects. Reading stops when enough errors are found.
    ///
    /// # Errors
    /// A problem, when the array has too many items.
    pub fn objects<T>(
        &mut self,
        key: &str,
        count: RangeInclusive<usize>,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<Option<Vec<T>>, Problem> {
        let (least, max) = count.into_inner();
        let elements = self.take(key, |raw| match rules::elements(raw.get(), max) {
            Some(Some(elements)) if elements.len() < least => Err(format!("must have at least {least}").into()),
            Some(elements) => Ok(elements),
            None => Err("must be an array".into()),
        });
        let Some(elements) = elements else { return Ok(None) };
        let elements = elements.ok_or_else(|| Problem::too_many_items(max))?;
        let mut list = Vec::with_capacity(elements.len());
        for (i, element) in elements.into_iter().enumerate() {
            list.extend(self.inner(format!("{}/{i}", self.pointer(key)), element, &mut read));
            if self.errors.len() >= MAX_ERRORS {
                break;
            }
        }
        Ok(Some(list))
    }

    /// Takes a field if it is `null`, and leaves it otherwise.
    pub fn null(&mut self, key: &str) -> bool {
        let mut same = self.members.iter().filter(|(name, _)| name == key);
        let null = same.next().is_some_and(|(_, value)| value.get() == "null") && same.next().is_none();
        null && self.take_raw(key).is_some()
    }

    pub fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    /// Adds an error that depends on more than the field's own value.
    pub fn reject<T>(&mut self, key: &str, rule: impl Into<Rule>) -> Option<T> {
        let pointer = format!("{}/{key}", self.at);
        self.errors.push(FieldError::pointer(pointer, rule));
        None
    }

    /// The value, if there were no errors and no fields are left.
    ///
    /// # Errors
    /// A problem that lists all errors.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Problem> {
        let errors = self.close();
        match value {
            Some(value) if errors.is_empty() => Ok(value),
            _ => Err(Problem::invalid(errors)),
        }
    }

    fn close(mut self) -> Vec<FieldError> {
        for (name, _) in std::mem::take(&mut self.members) {
            let pointer = self.pointer(&name);
            self.errors.push(FieldError::pointer(pointer, "is not a field of this request"));
        }
        self.errors
    }

    fn take_raw(&mut self, key: &str) -> Option<&'b RawValue> {
        let first = self.members.iter().position(|(name, _)| name == key)?;
        let (_, value) = self.members.remove(first);
        if self.has(key) {
            self.members.retain(|(name, _)| name != key);
            return self.reject(key, "is given twice");
        }
        Some(value)
    }

    fn pointer(&self, key: &str) -> String {
        format!("{}/{}", self.at, key.replace('~', "~0").replace('/', "~1"))
    }
}

#[cfg(test)]
mod tests {
    use super::{rules::MAX_FIELDS, *};

    fn errors(problem: Problem) -> String {
        let problem: serde_json::Value = serde_json::to_value(problem).expect("JSON");
        let places = problem["errors"].as_array().expect("errors").iter();
        let words = |place: &serde_json::Value, key: &str| place[key].as_str().expect("text").to_owned();
        places.map(|place| words(place, "pointer") + " " + &words(place, "detail")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn all_errors_are_reported_together() {
        let mut fields = JsonFields::of(r#"{"a":"x","a":1,"b":-1,"c/~":0,"d":{"e":[],"f":2}}"#).expect("an object");
        let a = fields.take("a", rules::whole(0..=9));
        let b = fields.take("b", rules::whole(0..=9));
        let d = fields.object("d", |inner| inner.require("g", rules::flag));
        let h = fields.require("h", rules::flag);
        assert_eq!((a, b, d, h), (None, None, None, None));
        assert_eq!(
            errors(fields.finish(Some(())).expect_err("mistakes")),
            "/a is given twice, /b must be a whole number from 0 to 9, /d/g is required, \
             /d/e is not a field of this request, /d/f is not a field of this request, /h is required, \
             /c~1~0 is not a field of this request"
        );
    }

    #[test]
    fn escaped_field_names_match() {
        let mut fields = JsonFields::of(r#"{ "\u0061" : [ 1 , 1.0 ] }"#).expect("an object");
        assert_eq!(fields.take("a", |raw| Ok(raw.get())), Some("[ 1 , 1.0 ]"));
        assert!(fields.finish(Some(())).is_ok());
    }

    #[test]
    fn non_objects_and_wide_objects_are_refused() {
        let wide = format!("{{{}}}", vec![r#""a":1"#; MAX_FIELDS + 1].join(","));
        for text in ["null", "3", "[]", r#""{}""#, r#"{"\ud800":1}"#, &wide] {
            assert!(JsonFields::of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn list_errors_name_the_element() {
        let list = |text: &'static str| {
            let mut fields = JsonFields::of(text).expect("an object");
            let list = fields.list("q", 1..=2, rules::whole(0..=9));
            fields.finish(list).map_err(errors)
        };
        assert_eq!(list(r#"{"q":[3,4]}"#), Ok(vec![3, 4]));
        assert_eq!(list(r#"{"q":[3,"4"]}"#), Err("/q/1 must be a whole number from 0 to 9".to_owned()));
        assert_eq!(list(r#"{"q":[3,3]}"#), Err("/q/1 is a duplicate".to_owned()));
        for text in [r#"{"q":[]}"#, r#"{"q":[1,2,3]}"#, r#"{"q":3}"#] {
            assert_eq!(list(text), Err("/q must be an array of 1 to 2".to_owned()));
        }
    }

    #[test]
    fn object_list_errors_have_places_and_a_limit() {
        let read = |text: &str| {
            let mut fields = JsonFields::of(text).expect("an object");
            let list = fields.objects("q", 1..=30, |item| item.require("n", rules::whole(0..=9)))?;
            fields.finish(list)
        };
        assert_eq!(read(r#"{"q":[{"n":3},{"n":3}]}"#).expect("right"), [3, 3]);
        assert_eq!(
            errors(read(r#"{"q":[{"n":3},4,{"n":"5","m":0}],"r":0}"#).expect_err("mistakes")),
            "/q/1 must be an object, /q/2/n must be a whole number from 0 to 9, /q/2/m is not a field of this request, \
             /r is not a field of this request"
        );
        assert_eq!(errors(read(r#"{"q":[]}"#).expect_err("none")), "/q must have at least 1");
        assert_eq!(errors(read(r#"{"q":{}}"#).expect_err("no array")), "/q must be an array");
        let many = |n: usize| format!(r#"{{"q":[{}]}}"#, vec!["{}"; n].join(","));
        assert_eq!(errors(read(&many(30)).expect_err("mistakes")).split(", ").count(), MAX_ERRORS);
        assert_eq!(serde_json::to_value(read(&many(31)).expect_err("too many")).expect("JSON")["status"], 413);
    }

    #[test]
    fn null_is_taken_only_when_unique() {
        let mut fields = JsonFields::of(r#"{"a":null,"b":0,"c":null,"c":null}"#).expect("an object");
        assert!(fields.null("a") && !fields.has("a"));
        assert!(!fields.null("b") && fields.has("b"));
        assert!(!fields.null("c") && fields.has("c"));
    }
}
