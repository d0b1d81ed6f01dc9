//! A call of a script, as both servers get it.

use crate::library::{Library, ScriptKeys};

/// What is called.
pub struct Call {
    pub script: String,
    /// The first argument, and of each other that is given, its number: `argument-3`.
    pub words: Vec<String>,
    /// The position of the first argument.
    at: usize,
}

impl Call {
    pub fn of(words: &[Vec<u8>]) -> Self {
        let plain = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
        let at = 3 + plain(&words[2]).parse::<usize>().expect("the number of keys");
        let others = words.iter().enumerate().skip(at + 1).filter(|(_, word)| !word.is_empty());
        let others = others.map(|(n, _)| format!("argument-{}", n + 1 - at));
        Self {
            script: plain(Library::plain_name(&words[1])),
            words: words.get(at).map(|word| plain(word)).into_iter().chain(others).collect(),
            at,
        }
    }

    /// The same call of the scripts of an older program.
    pub fn for_other(&self, words: &[Vec<u8>], other: &Library, names: &ScriptKeys) -> Vec<Vec<u8>> {
        let keys = other.keys(&self.script, &names[&self.script], &words[3..self.at]);
        let mut args = words[self.at..].to_vec();
        other.allowed.take_arguments(&self.script, &mut args);
        let head = vec![words[0].clone(), other.named(&words[1]), keys.len().to_string().into_bytes()];
        [head, keys, args].concat()
    }
}
