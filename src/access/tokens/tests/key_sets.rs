use serde_json::json;

use super::*;
use crate::files::Describe;

/// The keys of `tests/keys/`: one for RS256, one for ES256, one for EdDSA, and two for other uses.
fn keys() -> [Value; 5] {
    let jwks: Value = serde_json::from_str(JWKS).expect("JSON");
    std::array::from_fn(|index| jwks["keys"][index].clone())
}

fn set(keys: &[Value]) -> Result<KeySet, String> {
    KeySet::parse(&json!({ "keys": keys }).to_string())
}

fn but(key: &Value, changes: Value) -> Value {
    let mut key = key.clone();
    for (name, value) in changes.as_object().expect("members") {
        match value {
            Value::Null => drop(key.as_object_mut().expect("members").remove(name)),
            value => key[name] = value.clone(),
        }
    }
    key
}

/// The modulus with `bytes` in front: a larger number.
fn longer(n: &Value, bytes: usize) -> Value {
    let front = "gICA".repeat(bytes / 3);
    json!(format!("{front}{}", n.as_str().expect("a modulus")))
}

/// Entries that cannot be used, each with a word of the reason.
fn unusable() -> Vec<(Value, &'static str)> {
    let [rsa, ec, ed, enc, curve] = keys();
    vec![
        (json!(7), "not an object"),
        (json!(null), "not an object"),
        (json!({}), "missing"),
        (json!({ "kty": "AKP", "kid": "a", "alg": "ML-DSA-44", "pub": "AQAB" }), "type"),
        (enc, "not for signatures"),
        (curve, "type"),
        (but(&rsa, json!({ "kid": null })), "no kid"),
        (but(&rsa, json!({ "kid": 7 })), "another type"),
        (but(&rsa, json!({ "kty": null })), "missing"),
        (but(&rsa, json!({ "kty": "rsa" })), "type"),
        (but(&rsa, json!({ "alg": "RS512" })), "alg"),
        (but(&rsa, json!({ "alg": "HS256" })), "alg"),
        (but(&rsa, json!({ "use": "enc" })), "not for signatures"),
        (but(&rsa, json!({ "key_ops": ["encrypt"] })), "not for signatures"),
        (but(&rsa, json!({ "key_ops": "verify" })), "another type"),
        (but(&rsa, json!({ "n": null })), "missing"),
        (but(&rsa, json!({ "e": null })), "missing"),
        (but(&rsa, json!({ "n": "AQAB" })), "2048 bits"),
        (but(&rsa, json!({ "n": format!("{}AQAB", "A".repeat(400)) })), "2048 bits"),
        (but(&rsa, json!({ "n": longer(&rsa["n"], 258) })), "4096"),
        (but(&rsa, json!({ "n": format!("{}!", "x".repeat(343)) })), "base64url"),
        (but(&rsa, json!({ "e": "AQAA" })), "exponent"),
        (but(&rsa, json!({ "e": "AQ" })), "exponent"),
        (but(&rsa, json!({ "e": "" })), "exponent"),
        (but(&rsa, json!({ "e": "AQAAAAAAAAAB" })), "exponent"),
        (but(&ec, json!({ "y": null })), "missing"),
        (but(&ec, json!({ "x": "AQAB" })), "point"),
        (but(&ec, json!({ "y": ec["x"] })), "point"),
        (but(&ed, json!({ "x": "AQAB" })), "point"),
        (but(&ed, json!({ "x": "A".repeat(86) })), "point"),
        (but(&ed, json!({ "x": "h u n t e r 2" })), "base64url"),
        (json!({ "kty": "oct", "kid": "a", "k": "hunter2" }), "shared secret"),
        (json!({ "kty": "oct", "kid": "a" }), "shared secret"),
        (but(&rsa, json!({ "d": "hunter2" })), "private part"),
        (but(&rsa, json!({ "oth": [] })), "private part"),
        (but(&rsa, json!({ "k": "hunter2" })), "private part"),
        (but(&ec, json!({ "d": "hunter2" })), "private part"),
        (but(&ed, json!({ "d": "" })), "private part"),
    ]
}

#[test]
fn key_set_takes_what_it_can_use_and_names_the_rest() {
    let [_, ec, ..] = keys();
    let ec = but(&ec, json!({ "kid": "good" }));
    let good = token(Algorithm::ES256, Some("good"), &claims(), &super::ec());
    for (entry, word) in unusable() {
        let refused = set(std::slice::from_ref(&entry)).err().unwrap_or_else(|| panic!("{entry}"));
        assert!(refused.contains("no key") && refused.contains("key 1 is not used: "), "{entry}: {refused}");
        for (entries, named) in [([entry.clone(), ec.clone()], "key 1 "), ([ec.clone(), entry.clone()], "key 2 ")] {
            let set = set(&entries).unwrap_or_else(|why| panic!("{entry}: {why}"));
            let [warning] = set.warnings() else { panic!("{entry}: {:?}", set.warnings()) };
            assert!(warning.starts_with(named) && warning.contains(word), "{entry}: {warning}");
            assert!(!warning.contains("hunter2") && !refused.contains("hunter2"), "{warning}");
            assert_eq!(set.describe(), "1 keys", "{entry}");
            assert!(tokens().verify(&good, Some(&set)).is_ok(), "{entry}");
            for (algorithm, kid, key) in [(Algorithm::RS256, "r", rsa()), (Algorithm::EdDSA, "d", ed())] {
                let other = token(algorithm, Some(kid), &claims(), &key);
                assert!(tokens().verify(&other, Some(&set)).is_err(), "{entry}");
            }
        }
    }
}

#[test]
fn unknown_members_of_a_key_are_ignored() {
    let [rsa, ec, ed, ..] = keys();
    let more = json!({ "x5c": ["AQAB"], "key_ops": ["sign", "verify"], "exp": 1, "nested": { "d": 1 } });
    let text = json!({ "keys": [but(&rsa, more.clone()), but(&ec, more.clone()), but(&ed, more)], "more": 1 });
    let text = text.to_string().replace("\"exp\":1", "\"exp\":1e999");
    let set = KeySet::parse(&text).expect("a key set");
    assert_eq!((set.describe().as_str(), set.warnings()), ("3 keys", &[][..]));
}

#[test]
fn entries_of_one_kid_are_one_key_or_several() {
    let [rsa, ec, ..] = keys();
    let set_of = |keys: &[Value]| set(keys).expect("a key set");
    assert_eq!(set_of(&[rsa.clone(), rsa.clone()]).describe(), "1 keys", "the same key twice");
    let other = but(&rsa, json!({ "n": format!("{}Q", "tZ3f0Qp0Vd0".repeat(31)) }));
    let by_rsa = token(Algorithm::RS256, Some("r"), &claims(), &super::rsa());
    for keys in [[other.clone(), rsa.clone()], [rsa.clone(), other]] {
        let both = set_of(&keys);
        assert_eq!((both.describe().as_str(), both.warnings()), ("2 keys", &[][..]));
        assert!(tokens().verify(&by_rsa, Some(&both)).is_ok(), "one of both has signed it");
    }
    let two_types = set_of(&[rsa, but(&ec, json!({ "kid": "r" }))]);
    assert!(tokens().verify(&by_rsa, Some(&two_types)).is_ok());
    let by_ec = token(Algorithm::ES256, Some("r"), &claims(), &super::ec());
    assert!(tokens().verify(&by_ec, Some(&two_types)).is_ok());
    let by_ed = token(Algorithm::EdDSA, Some("r"), &claims(), &ed());
    assert_eq!(tokens().verify(&by_ed, Some(&two_types)).err(), Some(InvalidCredential::UnknownSigner));
    let forged = format!("{}x", &by_rsa[..by_rsa.len() - 1]);
    assert!(tokens().verify(&forged, Some(&two_types)).is_err());
}

#[test]
fn text_that_is_no_key_set_is_refused() {
    for (text, word) in [
        ("", "line 1"),
        ("{}", "not a JSON Web Key Set"),
        (r#"{"keys":{}}"#, "not a JSON Web Key Set"),
        (r#"{"keys":[],"keys":[]}"#, "not a JSON Web Key Set"),
        (r#"{"keys":[]}"#, "no key"),
    ] {
        let message = KeySet::parse(text).err().unwrap_or_else(|| panic!("{text}"));
        assert!(message.contains(word), "{text}: {message}");
    }
    assert_eq!(issuers().describe(), "3 keys");
    assert_eq!(issuers().warnings().len(), 2, "what is for something else is named");
}
