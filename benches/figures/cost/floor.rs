//! The floor: the commands of the scripts without the scripts. They are recorded at one Redis and sent to another,
//! those of a script in one MULTI.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::Command,
};

use super::{
    callgrind::{Callgrind, Profile},
    crowd::{Crowd, Shape},
    redis::CYCLES,
    server::{Form, Server},
};

type Words = Vec<Vec<u8>>;
/// The commands of each script.
type Scripts = Vec<Vec<Words>>;

pub async fn measure(engine: &str, shape: Shape, profiles: &Path) -> (u64, Profile) {
    let (before, measured) = heard(engine, shape).await;
    let callgrind = Callgrind::new(profiles);
    let server = Server::start(callgrind.command(engine), Form::Preferred);
    let mut connection = server.connect();
    say(&mut connection, &before);
    callgrind.begin(server.process());
    say(&mut connection, &measured);
    let profile = callgrind.end(server.process());
    (profile.instructions / CYCLES, profile)
}

/// The warm-up cycles, and the measured ones.
async fn heard(engine: &str, shape: Shape) -> (Scripts, Scripts) {
    let server = Server::start(Command::new(engine), Form::Preferred);
    let mut ear = server.connect();
    ear.write_all(b"MONITOR\r\n").expect("sent");
    let lines = BufReader::new(ear.try_clone().expect("a socket"));
    let hearing = std::thread::spawn(move || {
        let mut lines = lines.split(b'\n').map_while(Result::ok).filter_map(|line| line_of(&line));
        (until("begin", &mut lines), until("end", &mut lines))
    });
    let mut crowd = Crowd::ready(&server.queues().await, shape).await.expect("a Redis that is well");
    mark(&server, "begin");
    crowd.work(CYCLES).await.expect("a Redis that is well");
    mark(&server, "end");
    hearing.join().expect("all that was said")
}

fn mark(server: &Server, word: &str) {
    let mut stream = server.connect();
    write!(stream, "ECHO {word}\r\nQUIT\r\n").expect("sent");
    std::io::copy(&mut stream, &mut std::io::sink()).expect("an answer");
}

/// The scripts up to a mark.
fn until(mark: &str, lines: &mut impl Iterator<Item = (bool, Words)>) -> Scripts {
    let mut scripts = Scripts::new();
    for (is_of_script, words) in lines {
        if words.first().is_some_and(|name| name == b"ECHO") && words.get(1).is_some_and(|word| word == mark.as_bytes())
        {
            break;
        }
        match scripts.last_mut().filter(|_| is_of_script) {
            Some(script) => script.push(words),
            None => scripts.push(Vec::new()),
        }
    }
    scripts.retain(|script| !script.is_empty());
    scripts
}

/// `1795322220.123456 [0 lua] "HSET" "key" …`: whether a script said it, and its words.
fn line_of(line: &[u8]) -> Option<(bool, Words)> {
    let from = line.iter().position(|byte| *byte == b']')?;
    let (mut words, mut word) = (Words::new(), None::<Vec<u8>>);
    let mut bytes = line[from + 1..].iter().copied();
    while let Some(byte) = bytes.next() {
        match (&mut word, byte) {
            (None, b'"') => word = Some(Vec::new()),
            (None, _) => {}
            (Some(_), b'"') => words.extend(word.take()),
            (Some(text), b'\\') => text.push(escaped(&mut bytes)?),
            (Some(text), byte) => text.push(byte),
        }
    }
    Some((line[..from].ends_with(b" lua"), words))
}

fn escaped(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    Some(match bytes.next()? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'a' => 7,
        b'b' => 8,
        b'x' => {
            let digits = [bytes.next()?, bytes.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        }
        itself => itself,
    })
}

/// Each script as one MULTI, which waits for its answer before the next.
fn say(connection: &mut UnixStream, scripts: &Scripts) {
    let mut answers = BufReader::new(connection.try_clone().expect("a socket"));
    for script in scripts {
        let mut bytes = b"*1\r\n$5\r\nMULTI\r\n".to_vec();
        for words in script {
            write!(bytes, "*{}\r\n", words.len()).expect("memory");
            for word in words {
                write!(bytes, "${}\r\n", word.len()).expect("memory");
                bytes.extend_from_slice(word);
                bytes.extend_from_slice(b"\r\n");
            }
        }
        bytes.extend_from_slice(b"*1\r\n$4\r\nEXEC\r\n");
        connection.write_all(&bytes).expect("sent");
        for _ in 0..script.len() + 2 {
            skip_answer(&mut answers);
        }
    }
}

fn skip_answer(answers: &mut impl BufRead) {
    let mut line = String::new();
    answers.read_line(&mut line).expect("an answer");
    let number = || line[1..].trim().parse::<i64>().expect("a length");
    match line.as_bytes().first() {
        Some(b'*') => (0..number()).for_each(|_| skip_answer(answers)),
        Some(b'$') if number() >= 0 => {
            let length = number().unsigned_abs() + 2;
            std::io::copy(&mut answers.by_ref().take(length), &mut std::io::sink()).expect("an answer");
        }
        Some(b'+' | b':' | b'$') => {}
        _ => panic!("Redis refused a command that it had done before: {line}"),
    }
}
