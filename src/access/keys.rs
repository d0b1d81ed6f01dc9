//! API keys. The file holds only their hashes: a key is long and random, so a fast hash is enough.

use subtle::ConstantTimeEq;

use super::{Caller, CredentialExpiry, InvalidCredential, Pattern, Role};
use crate::{
    files::Describe,
    job::{Invalid, QueueName},
    sha256::{Hash, Sha256, hex},
};

/// The name of a key's owner, in the file and in metrics. Two keys of one name count as one credential, so that a key can be rotated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyName(String);

impl KeyName {
    const RULE: Invalid = Invalid("must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-'");

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for KeyName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let clean = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if (1..=64).contains(&text.len()) && clean { Ok(Self(text.to_owned())) } else { Err(Self::RULE) }
    }
}

/// The first digits of a key's hash, as the file has them: they distinguish keys of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashStart(String);

/// Digits of a hash that are shown to an operator.
const SHOWN_HASH_DIGITS: usize = 8;

impl std::str::FromStr for HashStart {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let clean = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let rule = Invalid("must be the first 4 to 64 hex digits of the hash in the key's line");
        if (4..=64).contains(&text.len()) && clean { Ok(Self(text.to_ascii_lowercase())) } else { Err(rule) }
    }
}

/// The parsed keys file.
pub(super) struct ApiKeys {
    keys: Vec<ApiKey>,
    /// The distinct patterns of the keys, the narrowest first.
    patterns: Vec<Pattern>,
}

pub(super) struct ApiKey {
    hash: Hash,
    pub(super) caller: Caller,
}

impl ApiKeys {
    /// One key a line: `<name> <role> <pattern> <sha256 in hex> [until <date>]`. Empty lines and lines that begin with `#` are ignored.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut keys: Vec<ApiKey> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // The error never quotes the line: an operator may have put the key itself there.
            let key = parse_line(line).map_err(|rule| format!("line {}: {rule}", index + 1))?;
            if keys.iter().any(|other| other.hash == key.hash) {
                return Err(format!("line {}: the same key is on an earlier line", index + 1));
            }
            keys.push(key);
        }
        let mut patterns: Vec<_> = keys.iter().flat_map(|key| key.caller.patterns()).cloned().collect();
        patterns.sort_by(|a, b| (b.letters(), a.as_str()).cmp(&(a.letters(), b.as_str())));
        patterns.dedup();
        Ok(Self { keys, patterns })
    }

    /// Whether keys have different patterns.
    pub(super) fn has_partitions(&self) -> bool {
        self.patterns.len() > 1
    }

    /// The index of the narrowest pattern that matches a queue, if there are different patterns.
    pub(super) fn partition(&self, queue: &QueueName) -> Option<usize> {
        let nth = || self.patterns.iter().position(|pattern| pattern.matches(queue)).unwrap_or(self.patterns.len());
        self.has_partitions().then(nth)
    }

    /// The narrowest key pattern that covers all of these.
    pub(super) fn covering(&self, queues: &[Pattern]) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| queues.iter().all(|queue| pattern.covers(queue)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Compares every hash, each in constant time. An expired key is reported apart from an unknown one.
    pub(super) fn find(&self, key: &str) -> Option<Result<Caller, InvalidCredential>> {
        let hash = Sha256::digest(key);
        let mut found = None;
        for key in &self.keys {
            if bool::from(key.hash.ct_eq(&hash)) {
                found = Some(&key.caller);
            }
        }
        found.map(|caller| if caller.has_expired() { Err(InvalidCredential::Ended) } else { Ok(caller.clone()) })
    }
}

impl Describe for ApiKeys {
    fn describe(&self) -> String {
        match self.keys.iter().filter(|key| key.caller.has_expired()).count() {
            0 => format!("{} keys", self.keys.len()),
            ended => format!("{} keys, {ended} of them past their end", self.keys.len()),
        }
    }
}

/// Whether a line belongs to the key of that name and hash. The line may be invalid otherwise.
pub(super) fn is_line_of(line: &str, name: &KeyName, hash: Option<&HashStart>) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some(name.as_str())
        && hash.is_none_or(|start| words.nth(2).is_some_and(|hash| hash.to_ascii_lowercase().starts_with(&start.0)))
}

/// What an operator is shown of the hash in a line.
pub(super) fn shown_hash(line: &str) -> String {
    line.split_whitespace().nth(3).unwrap_or_default().chars().take(SHOWN_HASH_DIGITS).collect()
}

pub(super) fn parse_line(line: &str) -> Result<ApiKey, String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let (name, role, pattern, hash, until) = match *words.as_slice() {
        [name, role, pattern, hash] => (name, role, pattern, hash, None),
        [name, role, pattern, hash, "until", date] => (name, role, pattern, hash, Some(date)),
        _ => {
            let form = "must be a name, a role, a pattern and the SHA-256 of a key, and may end with `until <date>`";
            return Err(form.to_owned());
        }
    };
    let name: KeyName = name.parse().map_err(|rule| format!("the name {rule}"))?;
    let role = Role::parse(role).ok_or("the role must be worker, asker, producer, viewer or operator")?;
    let pattern = Pattern::parse(pattern).map_err(|rule| format!("the pattern {rule}"))?;
    let mut key_hash = Hash::default();
    hex::decode_to_slice(hash, &mut key_hash).map_err(|_| "the SHA-256 must be 64 hex digits")?;
    let until = until.map(str::parse::<CredentialExpiry>).transpose().map_err(|rule| format!("the end {rule}"))?;
    Ok(ApiKey { hash: key_hash, caller: Caller::of_key(name.as_str(), role, pattern, until) })
}

/// A new key, and its line for the file.
pub struct MadeKey {
    pub key: String,
    pub line: String,
}

/// Makes a key of 256 random bits. The prefix lets secret scanners recognize a leaked key.
pub fn make(name: &KeyName, role: Role, pattern: &Pattern, until: Option<CredentialExpiry>) -> MadeKey {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).expect("the operating system has randomness");
    let key = format!("intray_{}", hex(bits));
    let end = until.map(|until| format!(" until {until}")).unwrap_or_default();
    let line = format!("{} {} {} {}{end}", name.as_str(), role.word(), pattern.as_str(), hex(Sha256::digest(&key)));
    MadeKey { key, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, role: Role, pattern: &str) -> MadeKey {
        make(&name.parse().expect("a name"), role, &Pattern::parse(pattern).expect("a pattern"), None)
    }

    fn refusal(text: &str) -> String {
        ApiKeys::parse(text).err().expect("a refusal")
    }

    #[test]
    fn made_key_is_found_by_its_line() {
        let (web, old) = (made("web", Role::Producer, "reviews*"), made("web", Role::Producer, "*"));
        assert_ne!(web.key, old.key);
        let file = format!(
            "# ours\n\n  {}\n{}\n",
            web.line.replace(' ', "\t"),
            old.line.to_uppercase().replace("WEB PRODUCER", "web producer")
        );
        let keys = ApiKeys::parse(&file).expect("a file");
        let caller = keys.find(&web.key).expect("known").expect("not over");
        assert_eq!((caller.role, caller.credential()), (Role::Producer, "key\nweb"));
        assert!(
            caller.may_see(&QueueName::parse("reviews-de").expect("a queue")) && !caller.may_see(&QueueName::default())
        );
        assert!(keys.find(&old.key).is_some(), "two keys of one name, while one replaces the other");
        let until = made("queue", Role::Worker, "until");
        assert!(ApiKeys::parse(&until.line).expect("a file").find(&until.key).is_some(), "so may a queue be called");
        for wrong in ["", "web", &web.line, &web.key[1..], &format!("{} ", web.key), &web.key.to_uppercase()] {
            assert!(keys.find(wrong).is_none(), "{wrong}");
        }
        assert!(ApiKeys::parse("# empty\n").expect("a file").find(&web.key).is_none());
    }

    #[test]
    fn queue_belongs_to_the_narrowest_matching_pattern() {
        let file = |lines: &[(&str, &str)]| {
            let lines: Vec<_> = lines.iter().map(|(name, pattern)| made(name, Role::Producer, pattern).line).collect();
            ApiKeys::parse(&lines.join("\n")).expect("a file")
        };
        let keys = file(&[("root", "*"), ("a", "a-*"), ("more", "a-*"), ("b", "b-*"), ("one", "a-1")]);
        let part = |queue: &str| keys.partition(&QueueName::parse(queue).expect("a queue"));
        assert!(keys.has_partitions() && part("a-2") == part("a-3") && part("c") == part("d"));
        for (one, other) in [("a-1", "a-2"), ("a-2", "b-2"), ("b-2", "c"), ("a-2", "c")] {
            assert_ne!(part(one), part(other), "{one} {other}");
        }
        let covering = |texts: &[&str]| {
            let patterns: Vec<_> = texts.iter().map(|text| Pattern::parse(text).expect("a pattern")).collect();
            keys.covering(&patterns).map(|pattern| pattern.as_str().to_owned())
        };
        assert_eq!(covering(&["a-7", "a-8"]).as_deref(), Some("a-*"));
        assert_eq!(covering(&["a-7", "b-8"]).as_deref(), Some("*"));
        let alike = file(&[("a", "a-*"), ("more", "a-*")]);
        assert!(!alike.has_partitions() && alike.partition(&QueueName::parse("a-1").expect("a queue")).is_none());
    }

    #[test]
    fn expired_key_is_reported_apart_from_an_unknown_one() {
        let (over, ahead) =
            ("1970-01-02".parse().expect("a date"), "2999-12-31T23:59:59.5+01:00".parse().expect("a time"));
        let of = |until| make(&"web".parse().expect("a name"), Role::Viewer, &Pattern::all(), until);
        let (old, new, other) = (of(Some(over)), of(Some(ahead)), of(None));
        assert!(old.line.ends_with(" until 1970-01-03T00:00:00Z"), "{}", old.line);
        let keys = ApiKeys::parse(&format!("{}\n{}\n{}", old.line, new.line, other.line)).expect("a file");
        assert_eq!(keys.find(&old.key), Some(Err(InvalidCredential::Ended)));
        let until = |key: &str| keys.find(key).expect("known").expect("not over").until;
        assert_eq!((until(&new.key), until(&other.key)), (Some(ahead), None));
        assert_eq!(keys.describe(), "3 keys, 1 of them past their end");
    }

    #[test]
    fn invalid_line_is_named_by_number_and_not_quoted() {
        let good = made("a", Role::Operator, "*");
        let hash = good.line.rsplit(' ').next().expect("a hash");
        for (line, word) in [
            (format!("secret operator {hash}"), "must be a name"),
            (format!("secret operator * {hash} more"), "must be a name"),
            (format!("sécret operator * {hash}"), "name"),
            (format!("a secret * {hash}"), "role"),
            (format!("a Operator * {hash}"), "role"),
            (format!("a operator secret? {hash}"), "pattern"),
            ("a operator * secret".to_owned(), "SHA-256"),
            (format!("a operator * {hash} until"), "must be a name"),
            (format!("a operator * {hash} until secret"), "the end must be a date"),
            (format!("a operator * {hash} until 2026-12-31 secret"), "must be a name"),
            (format!("a operator * {hash} since 2026-12-31"), "must be a name"),
            (format!("a operator * {}", &hash[1..]), "SHA-256"),
            (format!("a operator * {}é", &hash[2..]), "SHA-256"),
            (good.key.clone(), "must be a name"),
        ] {
            let message = refusal(&format!("{}\n# comment\n{line}\n", made("b", Role::Worker, "*").line));
            assert!(message.starts_with("line 3: ") && message.contains(word), "{line}: {message}");
            assert!(
                !message.contains("secret") && !message.contains(&good.key) && !message.contains(hash),
                "{message}"
            );
        }
        assert_eq!(refusal(&format!("{0}\n{0}", good.line)), "line 2: the same key is on an earlier line");
    }
}
