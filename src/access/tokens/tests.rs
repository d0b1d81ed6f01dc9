use jsonwebtoken::jwk::ThumbprintHash;
use serde_json::{Value, json};

use super::*;
use crate::job::{QueueName, Role};

mod key_sets;
mod one_job;
mod skills;

const DAY: Duration = Duration::from_secs(86_400);
const SECRET: &[u8] = b"a secret of two and thirty bytes";
const JWKS: &str = include_str!("../../../tests/keys/jwks.json");

fn tokens() -> Tokens {
    Tokens::new(&[SECRET.to_vec(), b"the one before, which still counts".to_vec()], "intray".to_owned(), DAY)
}

fn issuers() -> KeySet {
    KeySet::parse(JWKS).expect("a key set")
}

fn hs() -> EncodingKey {
    EncodingKey::from_secret(SECRET)
}

fn rsa() -> EncodingKey {
    EncodingKey::from_rsa_der(include_bytes!("../../../tests/keys/rsa.der"))
}

fn ec() -> EncodingKey {
    EncodingKey::from_ec_der(include_bytes!("../../../tests/keys/ec.der"))
}

fn ed() -> EncodingKey {
    EncodingKey::from_ed_der(include_bytes!("../../../tests/keys/ed.der"))
}

fn claims() -> Value {
    let exp = get_current_timestamp() + 60;
    json!({ "iss": "intray", "sub": "ann", "aud": "intray", "exp": exp, "queues": ["reviews", "calls-*"] })
}

fn token(algorithm: Algorithm, kid: Option<&str>, claims: &Value, key: &EncodingKey) -> String {
    let header = Header { kid: kid.map(str::to_owned), ..Header::new(algorithm) };
    encode(&header, claims, key).expect("signed")
}

fn taken(token: &str) -> Option<Caller> {
    tokens().verify(token, Some(&issuers())).ok()
}

#[test]
fn a_token_says_who_works_and_where() {
    for (algorithm, kid, key) in [
        (Algorithm::HS256, None, hs()),
        (Algorithm::RS256, Some("r"), rsa()),
        (Algorithm::ES256, Some("e"), ec()),
        (Algorithm::EdDSA, Some("d"), ed()),
    ] {
        let caller = taken(&token(algorithm, kid, &claims(), &key)).unwrap_or_else(|| panic!("{algorithm:?}"));
        assert_eq!((caller.role, caller.worker.as_ref().map(Name::as_str)), (Role::Worker, Some("ann")));
        assert_eq!(caller.credential(), "token\nintray\nann");
        for (queue, sees) in [("reviews", true), ("calls-de", true), ("calls", false), ("default", false)] {
            assert_eq!(caller.may_see(&QueueName::parse(queue).expect("a queue")), sees, "{queue}");
        }
        assert_eq!(caller.named_queues(), None, "not all of them are named");
    }
    let many = json!({ "aud": ["other", "intray"], "nbf": 1, "role": "operator", "more": [1] });
    assert_eq!(taken(&token(Algorithm::HS256, None, &with(many), &hs())).expect("taken").role, Role::Worker);
}

#[test]
fn key_that_made_a_token_is_believed_of_own_secrets_only() {
    let own = |made: Value| taken(&token(Algorithm::HS256, None, &with(made), &hs())).expect("taken").access.clone();
    assert_eq!(own(json!({ "minted_by": "site" })), WorkerAccess::Token(Some("site".into())));
    for other in [json!({}), json!({ "minted_by": 1 }), json!({ "minted_by": "" }), json!({ "minted_by": "a b" })] {
        assert_eq!(own(other.clone()), WorkerAccess::Token(None), "{other}");
    }
    let outside = token(Algorithm::EdDSA, Some("d"), &with(json!({ "minted_by": "site" })), &ed());
    assert_eq!(taken(&outside).expect("taken").access, WorkerAccess::Issued("intray".into()));
}

fn with(more: Value) -> Value {
    let mut claims = claims();
    for (name, value) in more.as_object().expect("claims") {
        match value {
            Value::Null => drop(claims.as_object_mut().expect("claims").remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

#[test]
fn token_with_a_missing_or_wrong_claim_is_refused() {
    let now = get_current_timestamp();
    for wrong in [
        json!({ "exp": null }),
        json!({ "exp": now - 6 }),
        json!({ "exp": 0 }),
        json!({ "exp": -1 }),
        json!({ "exp": "tomorrow" }),
        json!({ "exp": (now + 60).to_string() }),
        json!({ "exp": [now + 60] }),
        json!({ "nbf": now + 30 }),
        json!({ "nbf": "soon" }),
        json!({ "iss": null }),
        json!({ "iss": "another" }),
        json!({ "iss": "Intray" }),
        json!({ "iss": ["intray"] }),
        json!({ "aud": null }),
        json!({ "aud": "another" }),
        json!({ "aud": [] }),
        json!({ "aud": ["another"] }),
        json!({ "aud": 1 }),
        json!({ "sub": null }),
        json!({ "sub": "" }),
        json!({ "sub": "ann " }),
        json!({ "sub": "\u{a0}ann" }),
        json!({ "sub": "a\nb" }),
        json!({ "sub": "x".repeat(129) }),
        json!({ "sub": 1 }),
        json!({ "queues": null }),
        json!({ "queues": [] }),
        json!({ "queues": "*" }),
        json!({ "queues": ["a b"] }),
        json!({ "queues": ["reviews", ""] }),
        json!({ "queues": vec!["a"; limits::TOKEN_QUEUES + 1] }),
    ] {
        for (algorithm, kid, key) in [(Algorithm::HS256, None, hs()), (Algorithm::EdDSA, Some("d"), ed())] {
            assert!(taken(&token(algorithm, kid, &with(wrong.clone()), &key)).is_none(), "{algorithm:?} {wrong}");
        }
    }
    let just = with(json!({ "exp": get_current_timestamp() - 2 }));
    assert!(taken(&token(Algorithm::HS256, None, &just, &hs())).is_some(), "clocks differ a little");
}

/// A JWT without a signature, or with a made-up one.
fn forged(header: &Value, claims: &Value, signature: &str) -> String {
    // The crate signs over anything, so its encoder is the base64 at hand.
    let part = |value: &Value| {
        let jwt = encode(&Header::default(), value, &hs()).expect("encoded");
        jwt.split('.').nth(1).expect("the claims").to_owned()
    };
    format!("{}.{}.{signature}", part(header), part(claims))
}

#[test]
fn no_algorithm_is_believed_because_the_token_says_so() {
    for none in ["none", "None", "NONE", "nOnE", "", "HS999", "hs256"] {
        assert!(taken(&forged(&json!({ "alg": none, "typ": "JWT" }), &claims(), "")).is_none(), "{none}");
    }
    // The public key, in any form that a verifier might hold it, as the secret of a symmetric algorithm.
    let jwks: Value = serde_json::from_str(JWKS).expect("JSON");
    for (index, kid) in ["r", "e", "d"].iter().enumerate() {
        let jwk = &jwks["keys"][index];
        let part = |name: &str| jwk[name].as_str().map(|text| text.as_bytes().to_vec());
        let texts = [Some(jwk.to_string().into_bytes()), part("n"), part("x"), Some(JWKS.as_bytes().to_vec())];
        for public in texts.into_iter().flatten() {
            for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
                let key = EncodingKey::from_secret(&public);
                assert!(taken(&token(algorithm, Some(kid), &claims(), &key)).is_none(), "{kid} {algorithm:?}");
            }
        }
    }
    // The right key by another algorithm of its own family, and another's key.
    for (algorithm, kid, key) in [
        (Algorithm::RS384, "r", rsa()),
        (Algorithm::RS512, "r", rsa()),
        (Algorithm::PS256, "r", rsa()),
        (Algorithm::RS256, "e", rsa()),
        (Algorithm::RS256, "d", rsa()),
        (Algorithm::ES256, "r", ec()),
        (Algorithm::EdDSA, "e", ed()),
        (Algorithm::HS384, "r", hs()),
        (Algorithm::HS512, "r", hs()),
        (Algorithm::RS256, "encrypts", rsa()),
    ] {
        assert!(taken(&token(algorithm, Some(kid), &claims(), &key)).is_none(), "{algorithm:?} as {kid}");
    }
}

#[test]
fn a_key_is_found_by_its_kid_and_by_nothing_else() {
    for kid in [None, Some(""), Some("unknown"), Some("R"), Some("another curve"), Some("../r")] {
        assert!(taken(&token(Algorithm::RS256, kid, &claims(), &rsa())).is_none(), "{kid:?}");
    }
    // A key that the token brings along.
    let mut header = Header::new(Algorithm::HS256);
    let own = EncodingKey::from_secret(b"whatever the attacker likes best");
    let jwk = jsonwebtoken::jwk::Jwk::from_encoding_key(&own, Algorithm::HS256).expect("a key");
    assert!(jwk.thumbprint(ThumbprintHash::SHA256).is_ok());
    header.jwk = Some(jwk);
    header.jku = Some("https://evil.example/jwks.json".to_owned());
    assert!(taken(&encode(&header, &claims(), &own).expect("signed")).is_none());
    // A header parameter that must be understood and is not.
    let critical = Header { crit: Some(vec!["exp".to_owned()]), ..Header::new(Algorithm::HS256) };
    assert!(taken(&encode(&critical, &claims(), &hs()).expect("signed")).is_none());
    assert!(tokens().verify(&token(Algorithm::RS256, Some("r"), &claims(), &rsa()), None).is_err(), "no file");
    let without_secrets = Tokens::new(&[], "intray".to_owned(), DAY);
    assert!(
        without_secrets.verify(&token(Algorithm::HS256, None, &claims(), &hs()), Some(&issuers())).is_err(),
        "no secret"
    );
    let empty = EncodingKey::from_secret(b"");
    assert!(without_secrets.verify(&token(Algorithm::HS256, None, &claims(), &empty), Some(&issuers())).is_err());
}

#[test]
fn changed_token_is_refused() {
    let right = token(Algorithm::EdDSA, Some("d"), &claims(), &ed());
    let parts: Vec<_> = right.split('.').collect();
    let other = token(Algorithm::EdDSA, Some("d"), &with(json!({ "sub": "bob" })), &ed());
    let others: Vec<_> = other.split('.').collect();
    for wrong in [
        format!("{}.{}.{}", parts[0], others[1], parts[2]),
        format!("{}.{}.{}", parts[0], parts[1], others[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{right}."),
        format!("{right}.{}", parts[2]),
        format!("{right}="),
        format!(" {right}"),
        right[1..].to_owned(),
        "..".to_owned(),
        "a.b.c".to_owned(),
        String::new(),
    ] {
        assert!(taken(&wrong).is_none(), "{wrong}");
    }
    assert!(taken(&right).is_some());
}

#[test]
fn secrets_are_replaced_one_after_the_other() {
    let (old, new) = (b"an old secret, of forty bytes or about so", b"the new secret, which is as long or longer");
    let sign = |secret: &[u8]| {
        let queues = TokenScope::Queues(vec![Pattern::parse("reviews").expect("a pattern")]);
        let signer = Signer::new(secret, "intray".to_owned());
        signer
            .sign(&Name::parse("ann").expect("a name"), &queues, &[], Duration::from_millis(1_500), None, None)
            .expect("signed")
    };
    let of = |secrets: &[&[u8]]| {
        Tokens::new(&secrets.iter().map(|secret| secret.to_vec()).collect::<Vec<_>>(), "intray".to_owned(), DAY)
    };
    let (by_old, by_new) = (sign(old), sign(new));
    for (secrets, old_counts, new_counts) in
        [(vec![&old[..]], true, false), (vec![&new[..], &old[..]], true, true), (vec![&new[..]], false, true)]
    {
        let tokens = of(&secrets);
        assert_eq!(tokens.verify(&by_old.token, None).is_ok(), old_counts);
        assert_eq!(tokens.verify(&by_new.token, None).is_ok(), new_counts);
    }
    let caller = of(&[new]).verify(&by_new.token, None).expect("ours");
    assert_eq!(caller.named_queues(), Some(vec![QueueName::parse("reviews").expect("a queue")]));
    let another = Tokens::new(&[new.to_vec()], "https://login.example".to_owned(), DAY);
    assert!(another.verify(&by_new.token, None).is_err(), "another issuer's name");
    let ms = by_new.expires_at.0 - get_current_timestamp() * 1_000;
    assert!((1_000..=2_000).contains(&ms), "to the second, and never too short: {ms}");
}

#[test]
fn a_token_ends_with_the_key_that_it_was_asked_for_with() {
    let signer = Signer::new(SECRET, "intray".to_owned());
    let (worker, queues) = (Name::parse("ann").expect("a name"), TokenScope::Queues(vec![Pattern::all()]));
    let tokens = Tokens::new(&[SECRET.to_vec()], "intray".to_owned(), DAY);
    let now = get_current_timestamp() * 1_000;
    let sign = |ahead: i64| {
        let until = CredentialExpiry::from_millis(now.saturating_add_signed(ahead));
        let token = signer.sign(&worker, &queues, &[], Duration::from_secs(60), Some(until), None).expect("signed");
        (i64::try_from(token.expires_at.0 - now).expect("ahead"), tokens.verify(&token.token, None))
    };
    let (ends, caller) = sign(30_500);
    assert_eq!(ends, 30_500);
    assert_eq!(caller.expect("it is one").until, Some(CredentialExpiry::from_millis(now + 30_500)));
    let (ends, caller) = sign(90_000);
    assert!((60_000..=62_000).contains(&ends), "{ends}: it is for a minute, and the key for longer");
    assert!(caller.is_ok());
    let ended = signer
        .sign(&worker, &queues, &[], Duration::from_secs(60), Some(CredentialExpiry::from_millis(now)), None)
        .expect("signed");
    assert_eq!(tokens.verify(&ended.token, None).err(), Some(InvalidCredential::Expired), "and not five seconds later");
}
