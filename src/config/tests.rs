use std::{fs, process, time::SystemTime};

use super::*;

mod desk;
mod exposure;
mod key;
mod moving;
mod redis_timeout;
mod sentinel;
mod threads;
mod token;

/// What this command line means to a process without environment.
fn parse(line: &str) -> Result<Command, clap::Error> {
    parse_words(line.split_whitespace())
}

fn parse_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Command, clap::Error> {
    let bare = each_argument(definition(), |arg| arg.env(None::<&str>));
    let cli = Cli::from(bare, std::iter::once("intray").chain(words).map(OsString::from))?;
    Ok(cli.command.unwrap_or(Command::Serve(cli.serve)))
}

fn serve(line: &str) -> Serve {
    match parse(line).expect("a valid line") {
        Command::Serve(serve) => serve,
        other => panic!("not serve: {other:?}"),
    }
}

fn refusal(line: &str) -> String {
    parse(line).expect_err("a refusal").to_string()
}

fn file(name: &str, text: &str) -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock").as_nanos();
    let path = std::env::temp_dir().join(format!("intray-config-{}-{now}-{name}", process::id()));
    fs::write(&path, text).expect("a file in the temporary folder");
    path
}

#[test]
fn defaults_are_a_private_server_on_loopback() {
    let serve = serve("");
    assert_eq!(serve.listen.to_string(), "127.0.0.1:7070");
    assert_eq!(serve.store.redis_url(), RedisUrl::Embedded);
    assert_eq!(serve.store.data_dir, PathBuf::from("./intray-data"));
    assert_eq!(serve.store.prefix.as_str(), "intray");
    assert_eq!(serve.log_format, LogFormat::Text);
    assert_eq!((serve.sweep_interval_ms, serve.max_connections, serve.max_payload_bytes), (1_000, None, 262_144));
    assert!(serve.cors_origin.is_empty() && serve.allowed_host.is_empty() && !serve.insecure);
}

#[test]
fn serve_is_the_default_command() {
    for line in ["--listen [::1]:1 --prefix a:b", "serve --listen [::1]:1 --prefix a:b"] {
        let serve = serve(line);
        assert_eq!(serve.listen.address(), ("::1", 1));
        assert_eq!(serve.store.prefix.as_str(), "a:b");
    }
}

#[test]
fn the_commands_share_where_the_jobs_are() {
    let Ok(Command::Migrate(migrate)) = parse("migrate --dry-run --prefix p") else { panic!("migrate") };
    assert!(migrate.dry_run);
    assert_eq!(migrate.store.prefix.as_str(), "p");
    assert!(matches!(parse("check --redis-url unix:///r.sock"), Ok(Command::Check(check))
        if matches!(check.serve.store.redis_url(), RedisUrl::Url(_))));
    assert!(matches!(parse("healthcheck --listen 0.0.0.0:80"), Ok(Command::Healthcheck(asked))
        if asked.listen.from_here().to_string() == "127.0.0.1:80"));
}

#[test]
fn lists_are_repeated_or_separated_by_commas() {
    let serve = serve("--cors-origin https://A.example:443,http://b:8080 --cors-origin * --allowed-host desk,[::2],*");
    let exact = |text: &str| Origin::Exact(text.to_owned());
    assert_eq!(serve.cors_origin, [exact("https://a.example"), exact("http://b:8080"), Origin::Any]);
    let hosts: Vec<_> = serve.allowed_host.iter().map(HostName::as_str).collect();
    assert_eq!(hosts, ["desk", "[::2]", "*"]);
}

#[test]
fn header_names_are_lower_case() {
    let headers = serve("--cors-header Sentry-Trace,b3 --cors-header x_y").cors_header;
    assert_eq!(headers.iter().map(HeaderName::as_str).collect::<Vec<_>>(), ["sentry-trace", "b3", "x_y"]);
}

/// Values that no start gets past.
const IMPOSSIBLE: &[&str] = &[
    "--listen 7070",
    "--listen :7070",
    "--listen ::1:7070",
    "--listen a:70000",
    "--prefix {a}",
    "--prefix=",
    "--cors-origin null",
    "--cors-origin https://a/",
    "--cors-origin a.example",
    "--cors-origin https://a:b",
    "--cors-header *",
    "--cors-header=",
    "--cors-header a:b",
    "--cors-header sentry-trace,",
    "--cors-header ä",
    "--allowed-host http://a",
    "--allowed-host a:80",
    "--allowed-host *.example",
    "--sweep-interval-ms 0",
    "--redis-timeout-ms 1s",
    "--max-connections 0",
    "--max-payload-bytes 0",
    "--max-payload-bytes 9000000",
    "--log-format xml",
    "migrate --insecure",
    "--token-secret short",
    "--token-secret-file /nowhere",
    "--jwt-issuer=",
    "--rate-limit -1",
    "--jwt-max-age 0",
    "--jwt-max-age 1h",
    "token --worker .. --queue q",
    "key",
    "key web",
    "key web admin",
    "key a/b operator",
    "key web operator a?",
    "token --worker ann",
    "token --queue q",
    "token --worker ann --queue ?",
    "token --worker ann --queue q --ttl-ms 86400001",
    "--redis-url localhost",
    "--redis-url redis://",
    "--redis-url redis://h:x",
    "--redis-url redis://h/zero",
    "--redis-url unix://",
    "--redis-url-file /nowhere",
    "unknown",
];

#[test]
fn values_that_cannot_work_are_refused() {
    for line in IMPOSSIBLE {
        assert_eq!(parse(line).map_err(|refusal| refusal.exit_code()).expect_err(line), 2, "{line}");
    }
}

#[test]
fn memory_is_bytes_or_a_number_with_its_unit() {
    assert_eq!(serve("").store.max_memory, None);
    for (text, bytes) in [("0", 0), ("1048576", 1 << 20), ("2048K", 2 << 20), ("30m", 30 << 20), ("4G", 4 << 30)] {
        assert_eq!(serve(&format!("--max-memory {text}")).store.max_memory, Some(MemorySize(bytes)), "{text}");
    }
    for text in ["5", "1023K", "-1", "+2M", "1.5G", "2T", "M", "99999999999G", "2 MB"] {
        let args = ["intray", "--max-memory", text].map(OsString::from);
        let refused = Cli::from(definition(), args.into_iter()).expect_err("a refusal").to_string();
        assert!(refused.contains("at least 1M") || text.starts_with('-'), "{text}: {refused}");
    }
}

#[test]
fn kinds_of_redis_that_are_not_spoken_are_named() {
    assert!(refusal("--redis-url rediss://h/#insecure").contains("--redis-ca-file"));
    assert!(refusal("--redis-url rediss+cluster://h/#insecure").contains("--redis-ca-file"));
}

#[test]
fn durability_levels_are_parsed() {
    for (line, level) in [
        ("", DurabilityLevel::Async),
        ("--durability async", DurabilityLevel::Async),
        ("--durability replicated:1", DurabilityLevel::Replicated(1)),
        ("--durability replicated:16", DurabilityLevel::Replicated(16)),
        ("--durability synced", DurabilityLevel::Synced),
    ] {
        assert_eq!(serve(line).store.durability, level, "{line}");
    }
    for wrong in
        ["replicated", "replicated:0", "replicated:17", "replicated:+1", "replicated:1x", "sync", "replicated:"]
    {
        assert!(refusal(&format!("--durability {wrong}")).contains("must be async, replicated:N"), "{wrong}");
    }
}

#[test]
fn a_password_is_never_printed() {
    for wrong in ["redis://u:hunter2@h:x", "http://u:hunter2@h", "rediss://:hunter2@h/#insecure", "redis://:hunter2/@h"]
    {
        let message = refusal(&format!("--redis-url {wrong}"));
        assert!(!message.contains("hunter2") && message.contains("--redis-url"), "{message}");
        let path = file("wrong", wrong);
        assert!(!refusal(&format!("--redis-url-file {}", path.display())).contains("hunter2"));
        fs::remove_file(path).expect("our file");
    }
    for (right, shown) in [
        ("redis://u:hunter2@h:6379/3", "redis://h:6379/3"),
        ("rediss://u:hunter2@h:6379/3", "rediss://h:6379/3"),
        ("redis://h?password=hunter2", "redis://h"),
        ("rediss+cluster://u:hunter2@h:1,i:2", "rediss+cluster://h:1,i:2"),
        ("unix:///run/a@b.sock?db=1&pass=hunter2", "unix:///run/a@b.sock"),
    ] {
        let serve = serve(&format!("--redis-url {right}"));
        assert!(!format!("{serve:?}").contains("hunter2"));
        assert_eq!(serve.store.redis_url().to_string(), shown);
        let RedisUrl::Url(url) = serve.store.redis_url() else { panic!("{shown}") };
        assert_eq!(url.expose(), right);
    }
}

#[test]
fn the_url_itself_wins_over_the_file() {
    let path = file("url", "redis://:pw@inside:1\n");
    let from = |line: &str| serve(line).store.redis_url().to_string();
    assert_eq!(from(&format!("--redis-url-file {}", path.display())), "redis://inside:1");
    assert_eq!(from(&format!("--redis-url-file {} --redis-url redis://named", path.display())), "redis://named");
    fs::remove_file(path).expect("our file");
}

#[test]
fn service_with_access_control_may_listen_on_all_addresses() {
    let (secret, folder) = ("x".repeat(32), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("secrets");
    fs::write(&path, format!("{}\n\n  {}\n", "a".repeat(32), "b".repeat(40))).expect("written");
    let open = |line: &str| serve(&format!("--listen 0.0.0.0:1 {line}"));
    for line in [
        "--keys-file /keys",
        "--jwks-file /jwks",
        &format!("--token-secret {secret}"),
        &format!("--token-secret-file {}", path.display()),
    ] {
        assert!(open(line).has_access_control() && open(line).exposure().is_ok(), "{line}");
    }
    assert!(!open("--rate-limit 5 --jwt-issuer me").has_access_control());
    let both = open(&format!("--token-secret-file {} --token-secret {secret},{}", path.display(), "y".repeat(33)));
    let first: Vec<_> = both.signing.secrets().map(|secret| (secret.expose()[0], secret.expose().len())).collect();
    assert_eq!(first, [(b'x', 32), (b'y', 33), (b'a', 32), (b'b', 40)], "the first signs");
    assert!(!format!("{both:?}").contains("xxx") && !format!("{both:?}").contains("bbb"));
}

#[test]
fn a_secret_that_is_refused_is_not_printed() {
    let short = "hunter2-hunter2-hunter2-hunter2";
    for line in [format!("--token-secret {short}"), format!("token --worker w --queue q --token-secret {short}")] {
        let message = refusal(&line);
        assert!(
            message.contains("--token-secret") && message.contains("32 bytes") && !message.contains("hunter2"),
            "{message}"
        );
    }
    for (text, word) in [(short, "32 bytes"), ("\n \n", "no secret")] {
        let path = file("short", text);
        let message = refusal(&format!("--token-secret-file {}", path.display()));
        assert!(message.contains(word) && !message.contains("hunter2"), "{message}");
        fs::remove_file(path).expect("our file");
    }
}

#[test]
fn help_names_every_flag_with_its_variable() {
    let help = definition().render_help().to_string();
    for argument in Cli::command().get_arguments().filter(|arg| arg.get_env().is_some()) {
        let variable = argument.get_env().and_then(|name| name.to_str()).expect("a name");
        assert!(help.contains(&format!("[env: {variable}]")), "{variable} in {help}");
        let flag = argument.get_long().expect("a long flag");
        let expected = format!("INTRAY_{}", flag.to_uppercase().replace('-', "_"));
        assert!(variable == expected || variable == expected.replace("INTRAY_", ""), "{variable} for --{flag}");
    }
}

/// The environment belongs to the whole process, so this test asks a process of its own.
#[test]
fn the_environment_sets_what_flags_do_not() {
    let expected = [
        ("INTRAY_TEST_CHILD", "1"),
        ("INTRAY_LISTEN", "[::1]:2"),
        ("REDIS_URL", ""),
        ("INTRAY_CORS_ORIGIN", ""),
        ("INTRAY_INSECURE", "yes"),
        ("INTRAY_ALLOWED_HOST", "a,b"),
    ];
    if std::env::var_os("INTRAY_TEST_CHILD").is_none() {
        let this = "config::tests::the_environment_sets_what_flags_do_not";
        let mut child = process::Command::new(std::env::current_exe().expect("this program"));
        let done = child.args(["--exact", this]).env_clear().envs(expected).output().expect("a child");
        let message = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && message.contains("1 passed"), "{message}");
        return;
    }
    let cli = Cli::from(definition(), ["intray", "--allowed-host", "c"].map(OsString::from).into_iter());
    let serve = cli.expect("a valid environment").serve;
    assert_eq!(serve.listen.to_string(), "[::1]:2");
    assert_eq!(serve.store.redis_url(), RedisUrl::Embedded);
    assert!(serve.cors_origin.is_empty() && serve.insecure);
    assert_eq!(serve.allowed_host.len(), 1);
}
