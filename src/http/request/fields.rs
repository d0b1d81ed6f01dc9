//! A reader of JSON objects that is not satisfied with the first mistake: fields are taken one by one, each by its rule,
//! and what is wrong is collected with its place. What is left over at the end is wrong too.

use std::{borrow::Cow, ops::RangeInclusive};

use serde_json::value::RawValue;

use crate::http::{
    request::json,
    response::{
        field_error::{MOST_MISTAKES, Place, Rule},
        problem::Problem,
    },
};

pub struct Fields<'b> {
    /// The JSON pointer of the object itself.
    at: String,
    members: Vec<(Cow<'b, str>, &'b RawValue)>,
    errors: Vec<Place>,
}

impl<'b> Fields<'b> {
    /// # Errors
    /// A problem, when it is not JSON, or not an object.
    pub fn of(text: &'b str) -> Result<Self, Problem> {
        match Self::at(String::new(), text) {
            Ok(fields) => Ok(fields),
            // What is no JSON at all has the first word. Only here is a text read twice.
            Err(place) => Err(json::check(text).err().unwrap_or_else(|| Problem::invalid(vec![place]))),
        }
    }

    fn at(at: String, text: &'b str) -> Result<Self, Place> {
        if !json::is(text, b'{') {
            return Err(Place::pointer(at, "must be an object"));
        }
        match json::members(text) {
            Some(members) => Ok(Self { at, members, errors: Vec::new() }),
            None => Err(Place::pointer(at, "must have at most 32 fields, named in Unicode text")),
        }
    }

    /// The field's value if it is there and keeps the rule.
    pub fn take<T>(&mut self, key: &str, rule: impl FnOnce(&'b RawValue) -> Result<T, Rule>) -> Option<T> {
        let value = self.pull(key)?;
        match rule(value) {
            Ok(value) => Some(value),
            Err(broken) => self.blame(key, broken),
        }
    }

    /// Like [`take`](Self::take), for a field that must be there.
    pub fn need<T>(&mut self, key: &str, rule: impl FnOnce(&'b RawValue) -> Result<T, Rule>) -> Option<T> {
        if !self.has(key) {
            return self.blame(key, "is required");
        }
        self.take(key, rule)
    }

    /// An object within this one, read by the same means.
    pub fn object<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let value = self.pull(key)?;
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

    /// A list of so many values, each by the rule and none twice.
    pub fn list<T: PartialEq>(
        &mut self,
        key: &str,
        count: RangeInclusive<usize>,
        rule: impl Fn(&RawValue) -> Result<T, Rule>,
    ) -> Option<Vec<T>> {
        let elements = self.take(key, |raw| match json::elements(raw.get(), *count.end()) {
            Some(Some(elements)) if elements.len() >= *count.start() => Ok(elements),
            _ => Err(format!("must be an array of {} to {}", count.start(), count.end()).into()),
        })?;
        let mut list = Vec::with_capacity(elements.len());
        for (i, element) in elements.into_iter().enumerate() {
            let broken = match rule(element) {
                Ok(value) if list.contains(&value) => "is named before".into(),
                Ok(value) => {
                    list.push(value);
                    continue;
                }
                Err(broken) => broken,
            };
            self.blame::<()>(&format!("{key}/{i}"), broken);
        }
        Some(list)
    }

    /// A list of so many objects, each read like this one. Who makes mistakes by the thousand is told of the first.
    ///
    /// # Errors
    /// A problem, when there are too many.
    pub fn objects<T>(
        &mut self,
        key: &str,
        count: RangeInclusive<usize>,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<Option<Vec<T>>, Problem> {
        let (least, most) = count.into_inner();
        let elements = self.take(key, |raw| match json::elements(raw.get(), most) {
            Some(Some(elements)) if elements.len() < least => Err(format!("must have at least {least}").into()),
            Some(elements) => Ok(elements),
            None => Err("must be an array".into()),
        });
        let Some(elements) = elements else { return Ok(None) };
        let elements = elements.ok_or_else(|| Problem::too_many_items(most))?;
        let mut list = Vec::with_capacity(elements.len());
        for (i, element) in elements.into_iter().enumerate() {
            list.extend(self.inner(format!("{}/{i}", self.pointer(key)), element, &mut read));
            if self.errors.len() >= MOST_MISTAKES {
                break;
            }
        }
        Ok(Some(list))
    }

    /// Takes a field that is `null`; leaves it when it is anything else.
    pub fn null(&mut self, key: &str) -> bool {
        let mut same = self.members.iter().filter(|(name, _)| name == key);
        let null = same.next().is_some_and(|(_, value)| value.get() == "null") && same.next().is_none();
        null && self.pull(key).is_some()
    }

    pub fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    /// Notes that a field breaks a rule which takes more than its own value to see.
    pub fn blame<T>(&mut self, key: &str, rule: impl Into<Rule>) -> Option<T> {
        let pointer = format!("{}/{key}", self.at);
        self.errors.push(Place::pointer(pointer, rule));
        None
    }

    /// What was read, if nothing was wrong and nothing is left over.
    ///
    /// # Errors
    /// A problem with every place.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Problem> {
        let errors = self.close();
        match value {
            Some(value) if errors.is_empty() => Ok(value),
            _ => Err(Problem::invalid(errors)),
        }
    }

    fn close(mut self) -> Vec<Place> {
        for (name, _) in std::mem::take(&mut self.members) {
            let pointer = self.pointer(&name);
            self.errors.push(Place::pointer(pointer, "is not a field of this request"));
        }
        self.errors
    }

    fn pull(&mut self, key: &str) -> Option<&'b RawValue> {
        let first = self.members.iter().position(|(name, _)| name == key)?;
        let (_, value) = self.members.remove(first);
        if self.has(key) {
            self.members.retain(|(name, _)| name != key);
            return self.blame(key, "is given twice");
        }
        Some(value)
    }

    fn pointer(&self, key: &str) -> String {
        format!("{}/{}", self.at, key.replace('~', "~0").replace('/', "~1"))
    }
}

#[cfg(test)]
mod tests {
    use super::{json::MOST_FIELDS, *};
    use crate::http::request::rules;

    fn errors(problem: Problem) -> String {
        let problem: serde_json::Value = serde_json::to_value(problem).expect("JSON");
        let places = problem["errors"].as_array().expect("errors").iter();
        let words = |place: &serde_json::Value, key: &str| place[key].as_str().expect("text").to_owned();
        places.map(|place| words(place, "pointer") + " " + &words(place, "detail")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn every_mistake_is_named_at_once() {
        let mut fields = Fields::of(r#"{"a":"x","a":1,"b":-1,"c/~":0,"d":{"e":[],"f":2}}"#).expect("an object");
        let a = fields.take("a", rules::whole(0..=9));
        let b = fields.take("b", rules::whole(0..=9));
        let d = fields.object("d", |inner| inner.need("g", rules::flag));
        let h = fields.need("h", rules::flag);
        assert_eq!((a, b, d, h), (None, None, None, None));
        assert_eq!(
            errors(fields.finish(Some(())).expect_err("mistakes")),
            "/a is given twice, /b must be a whole number from 0 to 9, /d/g is required, \
             /d/e is not a field of this request, /d/f is not a field of this request, /h is required, \
             /c~1~0 is not a field of this request"
        );
    }

    #[test]
    fn escaped_names_are_the_same_names() {
        let mut fields = Fields::of(r#"{ "\u0061" : [ 1 , 1.0 ] }"#).expect("an object");
        assert_eq!(fields.take("a", |raw| Ok(raw.get())), Some("[ 1 , 1.0 ]"));
        assert!(fields.finish(Some(())).is_ok());
    }

    #[test]
    fn only_objects_of_a_size_that_makes_sense_are_read() {
        let wide = format!("{{{}}}", vec![r#""a":1"#; MOST_FIELDS + 1].join(","));
        for text in ["null", "3", "[]", r#""{}""#, r#"{"\ud800":1}"#, &wide] {
            assert!(Fields::of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_say_which_element_is_wrong() {
        let list = |text: &'static str| {
            let mut fields = Fields::of(text).expect("an object");
            let list = fields.list("q", 1..=2, rules::whole(0..=9));
            fields.finish(list).map_err(errors)
        };
        assert_eq!(list(r#"{"q":[3,4]}"#), Ok(vec![3, 4]));
        assert_eq!(list(r#"{"q":[3,"4"]}"#), Err("/q/1 must be a whole number from 0 to 9".to_owned()));
        assert_eq!(list(r#"{"q":[3,3]}"#), Err("/q/1 is named before".to_owned()));
        for text in [r#"{"q":[]}"#, r#"{"q":[1,2,3]}"#, r#"{"q":3}"#] {
            assert_eq!(list(text), Err("/q must be an array of 1 to 2".to_owned()));
        }
    }

    #[test]
    fn mistakes_in_a_list_of_objects_have_their_places_and_the_first_are_enough() {
        let read = |text: &str| {
            let mut fields = Fields::of(text).expect("an object");
            let list = fields.objects("q", 1..=30, |item| item.need("n", rules::whole(0..=9)))?;
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
        assert_eq!(errors(read(&many(30)).expect_err("mistakes")).split(", ").count(), MOST_MISTAKES);
        assert_eq!(serde_json::to_value(read(&many(31)).expect_err("too many")).expect("JSON")["status"], 413);
    }

    #[test]
    fn null_is_taken_only_when_it_is_there_once() {
        let mut fields = Fields::of(r#"{"a":null,"b":0,"c":null,"c":null}"#).expect("an object");
        assert!(fields.null("a") && !fields.has("a"));
        assert!(!fields.null("b") && fields.has("b"));
        assert!(!fields.null("c") && fields.has("c"));
    }
}
