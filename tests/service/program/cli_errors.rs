//! Every command-line mistake is reported, and only once.

use std::{fs, path::Path};

use futures_util::future::join_all;

use crate::world::{Exit, program, run};

/// The words of a command line, and the text that its error must contain. The files `short`, `junk` and `keys` and the
/// directory `folder` exist.
const MISTAKES: &[(&str, &str)] = &[
    ("--listen x", "must be host:port"),
    ("--listen 0.0.0.0:0", "no access control"),
    ("--redis-url http://x", "must be redis://"),
    ("migrate --redis-url redis://127.0.0.1:1", "127.0.0.1:1"),
    ("migrate --redis-url unix:///nowhere/r.sock", "/nowhere/r.sock"),
    ("migrate --redis-url redis+cluster://127.0.0.1:1", "no node of the cluster says who has what: 127.0.0.1:1"),
    (
        "migrate --redis-url redis+sentinel://127.0.0.1:1/x",
        "Redis is not available: x: no sentinel answers: 127.0.0.1:1",
    ),
    ("--redis-url-file nowhere", "nowhere: No such file"),
    ("--redis-url-file folder", "not a regular file"),
    ("--redis-url-file junk", "must be redis://"),
    ("--redis-url rediss://h --redis-ca-file nowhere", "nowhere: No such file"),
    ("--redis-url rediss://h --redis-ca-file junk", "no certificate"),
    ("--redis-url rediss://h --redis-cert-file junk", "no certificate"),
    ("--sentinel-map a=b", "host:port=host:port"),
    ("--sentinel-password-file nowhere", "nowhere: No such file"),
    ("--tls-cert-file junk --tls-key-file junk", "no certificate"),
    ("--data-dir junk", "the data folder junk"),
    ("--max-memory 1X", "must be bytes"),
    ("--durability x", "must be async"),
    ("--durability replicated:1", "the private server has none"),
    ("--prefix {", "must be 1 to 64 characters"),
    ("--sweep-interval-ms 1", "10..=3600000"),
    ("--cors-origin null", "not null"),
    ("--cors-origin *", "name the origins"),
    ("--desk-image-origin https://cdn.example/photos", "ends with /"),
    ("--desk-image-origin http://cdn.example/", "must be https://"),
    ("--desk-token-url http://site.example/t", "http:// for 127.0.0.0/8"),
    ("--keys-file nowhere", "nowhere: No such file"),
    ("--keys-file folder", "not a regular file"),
    ("--keys-file keys", "keys: line 1: the role must be"),
    ("--webhooks-file nowhere", "nowhere: No such file"),
    ("--webhooks-file folder", "not a regular file"),
    ("--webhooks-file keys", "keys: line 1: must be a name, a URL"),
    ("--token-secret short", "at least 32 bytes"),
    ("--token-secret-file short", "short: a secret for tokens"),
    ("--jwks-file junk", "not a JSON Web Key Set"),
    ("--jwt-issuer=", "a value is required"),
    ("--allowed-host http://x", "without scheme"),
    ("--trusted-proxy foo", "10.0.0.0/8"),
    ("--max-payload-bytes 0", "1..="),
    ("--log-format x", "possible values"),
    ("--nope", "unexpected argument"),
    ("nope", "unrecognized subcommand"),
    ("token --worker a", "--queue"),
    ("token --worker a --queue q", "nothing to sign with"),
    ("token --worker a --queue ???", "must be 1 to 64 characters"),
    ("key a boss", "must be worker"),
    ("webhook shop https://u:hunter2@x * all", "must not name a user"),
    ("webhook shop", "<URL>"),
    ("healthcheck --listen 127.0.0.1:1", "no answer from 127.0.0.1:1"),
    ("move", "--to"),
    ("move --to redis://127.0.0.1:1 --redis-url redis://127.0.0.1:1", "127.0.0.1:1"),
    ("check --redis-url redis://127.0.0.1:1", "1 check failed"),
    ("completions csh", "possible values"),
    ("top --url ftp://x", "must be http://"),
    ("top --url http://root:hunter2@x", "INTRAY_KEY_FILE"),
    ("top --once --url http://127.0.0.1:1", "no answer from http://127.0.0.1:1"),
    ("top --key-file nowhere", "nowhere: No such file"),
    ("top --key-file keys", "several words"),
    ("top --ca-file junk --url https://x", "no certificate"),
    ("import junk --dry-run", "--csv"),
    ("import junk --csv --payloads", "cannot be used with"),
    ("import junk --csv --map id=priorty", "must be COLUMN=TARGET"),
    ("import junk --csv --separator ,,", "must be one character"),
    ("import junk --csv --overlap 1", "2..=9"),
    ("import junk --csv --map id=priority", "junk has no column id: its columns are hello world"),
    ("top --interval 0", "0.1 to 3600"),
    ("top --sort size", "possible values"),
    ("top --queue ???", "must be 1 to 64 characters"),
];

#[tokio::test]
async fn each_cli_mistake_is_reported_once_without_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("short", "short"), ("junk", "hello world"), ("keys", "web nosuchrole * 00\n")] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    fs::create_dir(folder.path().join("folder")).expect("a folder");
    let ends = MISTAKES.iter().map(|(words, _)| make(words, folder.path()));
    for ((words, expected), end) in MISTAKES.iter().zip(join_all(ends).await) {
        assert!(!end.status.success(), "{words}: {end:?}");
        assert!(end.stderr.contains(expected), "{words}: {end:?}");
        assert!(!end.stderr.contains("hunter2"), "{words}: {end:?}");
        end.assert_no_repetition();
    }
}

async fn make(words: &str, folder: &Path) -> Exit {
    let mut command = program(words.split(' '));
    // Port 0, because some mistakes are found only after the service listens.
    command.current_dir(folder).env("INTRAY_LISTEN", "127.0.0.1:0");
    run(command).await
}
