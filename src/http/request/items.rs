//! Calls that take one object or an array; each item is read, executed and answered by itself.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures_util::future::join_all;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    http::{
        request::rules,
        response::{
            field_error::FieldError,
            json::JsonResponse,
            problem::{Attempts, Problem},
        },
    },
    store::{Applied, Fault},
};

/// The items of a body.
pub enum Items<'b> {
    One(&'b str),
    Many(Vec<&'b str>),
}

/// The items after parsing: a note or a problem for each, and the calls of the valid ones.
pub enum ReadItems<N, C> {
    One(Result<(N, C), Problem>),
    Many(Vec<Result<N, Problem>>, Vec<C>),
}

/// The answers, in the order of the items.
pub enum ItemAnswers<T> {
    One(Result<T, Problem>),
    Many(Vec<Result<T, Problem>>),
}

impl<'b> Items<'b> {
    /// Anything but an array is one item, which its parser judges.
    ///
    /// # Errors
    /// A problem, when an array is empty or too long.
    pub fn of(body: &'b str, max: usize) -> Result<Self, Problem> {
        match rules::elements(body, max) {
            None => Ok(Self::One(body)),
            Some(Some(list)) if list.is_empty() => {
                Err(Problem::invalid(vec![FieldError::pointer("", "must be an object, or an array with at least one")]))
            }
            Some(Some(list)) => Ok(Self::Many(list.into_iter().map(RawValue::get).collect())),
            Some(None) => Err(Problem::too_many_items(max)),
        }
    }

    /// Parses, executes and answers each item in order. The note that `read` returns with a call is passed to
    /// `answer` with its outcome.
    pub async fn each<N, C, O, T, F: Future<Output = Result<O, Fault>>>(
        self,
        read: impl FnMut(&'b str) -> Result<(N, C), Problem>,
        call: impl Fn(C) -> F,
        answer: impl Fn(N, O) -> Result<T, Problem>,
    ) -> ItemAnswers<T> {
        self.read(read).each(call, answer).await
    }

    /// Parses each item, for calls that are made later.
    pub fn read<N, C>(self, mut read: impl FnMut(&'b str) -> Result<(N, C), Problem>) -> ReadItems<N, C> {
        let list = match self {
            Self::One(item) => return ReadItems::One(read(item)),
            Self::Many(list) => list,
        };
        let mut calls = Vec::with_capacity(list.len());
        let notes = list.into_iter().map(|item| {
            read(item).map(|(note, item)| {
                calls.push(item);
                note
            })
        });
        ReadItems::Many(notes.collect(), calls)
    }
}

impl<N, C> ReadItems<N, C> {
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Many(..))
    }

    /// The valid items.
    pub fn calls(&self) -> impl Iterator<Item = &C> {
        let (one, many) = match self {
            Self::One(item) => (item.as_ref().ok().map(|(_, call)| call), &[][..]),
            Self::Many(_, calls) => (None, calls.as_slice()),
        };
        one.into_iter().chain(many)
    }

    /// Executes the valid items at once, which keep their order if they come into one batch of calls, and answers every item.
    pub async fn each<O, T, F: Future<Output = Result<O, Fault>>>(
        self,
        call: impl Fn(C) -> F,
        answer: impl Fn(N, O) -> Result<T, Problem>,
    ) -> ItemAnswers<T> {
        match self {
            Self::One(item) => ItemAnswers::One(one(item, call, answer).await),
            Self::Many(notes, calls) => {
                ItemAnswers::Many(many(notes, join_all(calls.into_iter().map(call)).await, answer))
            }
        }
    }

    /// Executes each valid item after the one before it, and answers every item. After a fault of Redis no other is tried.
    pub async fn in_turn<O, T, F: Future<Output = Result<O, Fault>>>(
        self,
        call: impl Fn(C) -> F,
        answer: impl Fn(N, O) -> Result<T, Problem>,
    ) -> ItemAnswers<T> {
        let (notes, calls) = match self {
            Self::One(item) => return ItemAnswers::One(one(item, call, answer).await),
            Self::Many(notes, calls) => (notes, calls),
        };
        let (mut outcomes, mut fault) = (Vec::with_capacity(calls.len()), None::<Fault>);
        for item in calls {
            let outcome = match fault.clone() {
                Some(fault) => Err(fault.with(Applied::No)),
                None => call(item).await,
            };
            if let Err(unavailable @ Fault::Unavailable { .. }) = &outcome {
                fault = Some(unavailable.clone());
            }
            outcomes.push(outcome);
        }
        ItemAnswers::Many(many(notes, outcomes, answer))
    }
}

/// Executes an item that is no array, which needs no lists.
async fn one<N, C, O, T, F: Future<Output = Result<O, Fault>>>(
    item: Result<(N, C), Problem>,
    call: impl Fn(C) -> F,
    answer: impl Fn(N, O) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let (note, item) = item?;
    answer(note, call(item).await?)
}

fn many<N, O, T>(
    notes: Vec<Result<N, Problem>>,
    outcomes: Vec<Result<O, Fault>>,
    answer: impl Fn(N, O) -> Result<T, Problem>,
) -> Vec<Result<T, Problem>> {
    let mut outcomes = outcomes.into_iter();
    let answers = notes.into_iter().map(|note| {
        let note = note?;
        answer(note, outcomes.next().ok_or_else(Problem::internal)??)
    });
    answers.collect()
}

#[derive(Serialize)]
struct ItemList<T> {
    jobs: Vec<ItemAnswer<T>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ItemAnswer<T> {
    Answer(T),
    Refusal { error: Problem },
}

#[derive(Serialize)]
struct BatchItems<T> {
    batches: Vec<ItemAnswer<T>>,
}

impl<T> ItemAnswers<T> {
    /// The answers to an array of batches: `201`, or `200` when every one was refused.
    ///
    /// # Errors
    /// A problem, when it is no array.
    pub fn batches_response<'a, B: Serialize>(&'a self, body: impl Fn(&'a T) -> B) -> Result<Response, Problem> {
        let answers = match self {
            Self::One(Err(problem)) => return Err(problem.clone()),
            Self::One(answer) => std::slice::from_ref(answer),
            Self::Many(answers) => answers,
        };
        let status = if answers.iter().any(Result::is_ok) { StatusCode::CREATED } else { StatusCode::OK };
        let aim = Attempts::of(answers);
        let batches = answers.iter().map(|answer| entry(answer.as_ref().map(&body).map_err(Clone::clone))).collect();
        let mut response = (status, JsonResponse(BatchItems { batches })).into_response();
        response.extensions_mut().insert(aim);
        Ok(response)
    }
}

fn entry<T>(answer: Result<T, Problem>) -> ItemAnswer<T> {
    match answer {
        Ok(answer) => ItemAnswer::Answer(answer),
        Err(error) => ItemAnswer::Refusal { error },
    }
}

/// `200`, even when every item was refused.
impl<T: Serialize> IntoResponse for ItemAnswers<T> {
    fn into_response(self) -> Response {
        match self {
            Self::One(Ok(answer)) => JsonResponse(answer).into_response(),
            Self::One(Err(problem)) => problem.into_response(),
            Self::Many(answers) => {
                let aim = Attempts::of(&answers);
                let mut response =
                    JsonResponse(ItemList { jobs: answers.into_iter().map(entry).collect() }).into_response();
                response.extensions_mut().insert(aim);
                response
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        http::request::{fields::JsonFields, rules},
        store::Shortage,
    };

    /// Doubles numbers; the store fails at 13.
    async fn double(body: &str) -> Result<String, Problem> {
        let read = |item| {
            let mut fields = JsonFields::of(item)?;
            let n = fields.require("n", rules::whole(0..=99));
            fields.finish(n).map(|n| (n, n))
        };
        let call = async |n: u32| if n == 13 { Err(Fault::Full(Shortage::Memory)) } else { Ok(n * 2) };
        let answers = Items::of(body, 4)?.each(read, call, |n, twice| Ok((n, twice))).await;
        let body = axum::body::to_bytes(answers.into_response().into_body(), usize::MAX).await.expect("a body");
        Ok(String::from_utf8(body.into()).expect("text"))
    }

    #[tokio::test]
    async fn items_are_answered_separately() {
        assert_eq!(double(r#"{"n":1}"#).await.expect("read"), "[1,2]");
        let many = double(r#"[{"n":1},3,{"n":13},{"n":4}]"#).await.expect("read");
        let many: serde_json::Value = serde_json::from_str(&many).expect("JSON");
        assert_eq!(many["jobs"][0].to_string(), "[1,2]");
        assert_eq!(many["jobs"][1]["error"]["status"], 422);
        assert_eq!(many["jobs"][2]["error"]["status"], 507);
        assert_eq!(many["jobs"][3].to_string(), "[4,8]");
    }

    #[tokio::test]
    async fn empty_and_oversized_arrays_are_refused() {
        assert!(double("[]").await.is_err());
        assert!(double("[1,2,3,4]").await.is_ok());
        assert!(double("[1,2,3,4,5]").await.is_err());
        for broken in ["[1,2,3", "[1]]", "{", r#"{"n":1}]"#] {
            assert!(double(broken).await.expect("an answer").contains("/problems/not-json"), "{broken}");
        }
    }
}
