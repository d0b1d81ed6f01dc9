//! `docs/forms.md` has the keywords that the gate takes, and its example is a form.

use intray_form::{Form, Keyword, Owner, SchemaKind, keywords};

use super::{pages, tree::read};

const ALL_KINDS: [SchemaKind; 11] = [
    SchemaKind::Root,
    SchemaKind::Object,
    SchemaKind::Text,
    SchemaKind::Choice,
    SchemaKind::Option,
    SchemaKind::Number,
    SchemaKind::Boolean,
    SchemaKind::List,
    SchemaKind::Reference,
    SchemaKind::Nullable,
    SchemaKind::Null,
];
/// A keyword of more kinds is described by those that do not have it.
const FEW_KINDS: usize = 2;

fn places(keyword: &Keyword) -> String {
    let named = |kinds: Vec<SchemaKind>| kinds.into_iter().map(SchemaKind::name).collect::<Vec<_>>().join(", ");
    if keyword.kinds.len() <= FEW_KINDS {
        return named(keyword.kinds.to_vec());
    }
    let others = ALL_KINDS.into_iter().filter(|kind| !keyword.kinds.contains(kind));
    format!("all but {}", named(others.collect()))
}

#[test]
fn forms_page_has_the_table_of_keywords() {
    let row = |keyword: &Keyword| {
        let Keyword { name, value, meaning, drawn, .. } = keyword;
        format!("| `{name}` | {} | {} | {meaning} | {drawn} |", places(keyword), value.rule())
    };
    let expected: Vec<_> = keywords().iter().map(row).collect();
    assert_eq!(pages::table("| keyword | where | its value | for a result | on a page |"), expected);
}

#[test]
fn example_of_the_forms_page_is_a_form() {
    let page = read("docs/forms.md");
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let form = Form::parse(example, Owner::Queue).expect("a form");
    assert!(form.check(r#"{"verdict":"harmless","score":5}"#).is_empty());
    assert_eq!(form.check(r#"{"score":6}"#).len(), 2);
}
