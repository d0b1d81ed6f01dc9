//! The program: arguments, signals, run.

use std::{
    io::{ErrorKind, Write},
    process::ExitCode,
    time::Duration,
};

use anyhow::anyhow;
use intray::{
    access::{self, Rotated, Signer},
    config::{
        self, Backup, CheckOptions, Cli, Command, KeyCommand, KeyTask, LogFormat, Migrate, Move, Restore, Serve,
        TokenOptions, WebhookCommand,
    },
    healthcheck,
    service::{self, Backend, Host},
    store::{self, Moved, Queues},
    webhooks::NewWebhook,
};
use intray_cli::{
    bulk,
    terminal::{clean, clean_lines},
    top,
};
use intray_embedded::Copied;
use tokio::runtime::Builder;
use tracing_subscriber::{Layer, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Exit code of an import that ran to its end and had refused lines.
const EXIT_SOME_REFUSED: u8 = 3;

fn main() -> ExitCode {
    let command = Cli::read();
    // A service logs these instead, and a probe that runs every few seconds would repeat them.
    if !matches!(command, Command::Serve(_) | Command::Healthcheck(_)) {
        config::unknown_variables().iter().for_each(|line| eprintln!("intray: {}", clean(line)));
    }
    if matches!(command, Command::Serve(_))
        && let Some(status) = reap_as_first_process()
    {
        return ExitCode::from(status);
    }
    let outcome = match command {
        Command::Healthcheck(options) => {
            healthcheck::run(&options.listen, options.tls.files().is_some()).map_err(anyhow::Error::msg)
        }
        Command::Top(options) => block_on(async move { print(top::run(&options).await?.as_bytes()) }),
        Command::Token(options) => token(&options),
        Command::Key(options) => key(options),
        Command::Webhook(options) => webhook(&options),
        Command::Completions { shell } => print(&config::completions(shell)),
        Command::Man => config::manual().map_err(Into::into).and_then(|page| print(&page)),
        Command::Serve(options) => init_logging(options.log_format)
            .and_then(|()| run(Builder::new_multi_thread().worker_threads(options.threads()), serve(options))),
        Command::Migrate(options) => block_on(migrate(options)),
        Command::Move(options) => block_on(move_queues(options)),
        Command::Backup(options) => backup(&options),
        Command::Restore(options) => restore(&options),
        Command::Import(options) => match block_on(async move { bulk::import(&options).await }) {
            Ok(0) => Ok(()),
            Ok(_) => return ExitCode::from(EXIT_SOME_REFUSED),
            Err(error) => Err(error),
        },
        Command::Export(options) => block_on(async move { bulk::export(&options).await }),
        Command::Check(CheckOptions { serve, acl: true }) => print_rights(&serve),
        Command::Check(CheckOptions { serve, acl: false }) => block_on(service::check(serve)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // It may quote a file, an answer or Redis.
            eprintln!("intray: {}", clean_lines(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

/// The exit status of the child that serves, in the first process of a container. `None`: serve here.
fn reap_as_first_process() -> Option<u8> {
    service::reap_as_first_process().unwrap_or_else(|error| {
        eprintln!("intray: cannot start a child, so processes without a parent are not reaped: {error}");
        None
    })
}

/// Prints the line that makes a user of Redis to standard output, and what the user `default` needs to standard error.
fn print_rights(serve: &Serve) -> anyhow::Result<()> {
    println!("{}", store::needed_rights(serve.store.prefix.as_str(), serve.store.redis_url().is_of_a_cluster()));
    eprintln!(
        "If the user default is to be off, it must keep its rights, or a restart of Redis throws away what scripts have changed \
         (docs/scale.md):\n{}",
        store::DEFAULT_USER
    );
    Ok(())
}

/// Writes to standard output. A reader that closes the pipe early is no error.
fn print(text: &[u8]) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    run(&mut Builder::new_multi_thread(), work)
}

fn run<T>(runtime: &mut Builder, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = runtime.enable_all().build()?;
    let outcome = runtime.block_on(work);
    // Does not wait for a thread that hangs in a file on a dead disk.
    runtime.shutdown_background();
    outcome
}

fn init_logging(format: LogFormat) -> anyhow::Result<()> {
    let (filter, odd) = config::levels();
    let logs = fmt::layer().with_target(false);
    let logs = match format {
        LogFormat::Text => logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stdout())).boxed(),
        LogFormat::Json => logs.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(logs).try_init()?;
    odd.into_iter().chain(config::unknown_variables()).for_each(|line| tracing::warn!("{line}"));
    Ok(())
}

async fn serve(options: Serve) -> anyhow::Result<()> {
    let stop = service::shutdown_signal()?;
    let format = options.log_format;
    let host = Host { announce: move |url: &str| service::announce(url, format), drain: service::DRAIN_NOTICE };
    service::serve(options, host, stop).await
}

/// Prints the token alone to standard output.
fn token(options: &TokenOptions) -> anyhow::Result<()> {
    let secret = options.signing.secrets().next();
    let secret =
        secret.ok_or_else(|| anyhow!("there is nothing to sign with: --token-secret or --token-secret-file"))?;
    let signer = Signer::new(secret.expose(), options.signing.jwt_issuer.clone());
    let ttl = Duration::from_millis(options.ttl_ms.into());
    let skills = options.skills().map_err(anyhow::Error::msg)?;
    let token = signer.sign(&options.worker, &options.scope(), skills, ttl, None, None);
    let token = token.ok_or_else(|| anyhow!("it cannot be signed"))?;
    println!("{}", token.token);
    Ok(())
}

/// Prints the key and its line to standard output, and what they are to standard error.
fn key(options: KeyCommand) -> anyhow::Result<()> {
    match options.task().ok_or_else(|| anyhow!("a name and a role, or --revoke or --rotate and --keys-file"))? {
        KeyTask::Make { name, role, pattern, until } => {
            let made = access::make(&name, role, &pattern, until);
            eprintln!("The key, which is not kept anywhere, and its line for the keys file:");
            println!("{}\n{}", made.key, made.line);
        }
        KeyTask::Revoke { name, hash, keys_file } => {
            let gone = access::revoke(&name, hash.as_ref(), &keys_file).map_err(anyhow::Error::msg)?;
            let keys = if gone.len() == 1 { "1 key".to_owned() } else { format!("{} keys", gone.len()) };
            let hashes = gone.join(", ");
            println!("{keys} of {} taken out of {}; hashes begin with {hashes}", name.as_str(), keys_file.display());
        }
        KeyTask::Rotate { name, hash, until, overlap, keys_file } => {
            let rotated = access::rotate(&name, hash.as_ref(), until, overlap, &keys_file);
            let Rotated { made, old } = rotated.map_err(anyhow::Error::msg)?;
            for (hash, until) in old {
                eprintln!("The key whose hash begins with {hash} ends at {until}.");
            }
            eprintln!("The new key, which is not kept anywhere, and its line, which is in {}:", keys_file.display());
            println!("{}\n{}", made.key, made.line);
        }
    }
    Ok(())
}

/// Prints the line to standard output, and what it is to standard error.
fn webhook(options: &WebhookCommand) -> anyhow::Result<()> {
    let WebhookCommand { name, url, pattern, types, plain } = options;
    let line = NewWebhook { name, url, pattern, types, is_plain: *plain }.line().map_err(anyhow::Error::msg)?;
    eprintln!("The line for the webhooks file; its receiver gets the secret, which begins with whsec_:");
    println!("{line}");
    Ok(())
}

fn backup(options: &Backup) -> anyhow::Result<()> {
    let data = options.store.data_dir().map_err(anyhow::Error::msg)?;
    let Copied { files, bytes } = intray_embedded::backup(data, &options.to)?;
    println!("{} is copied to {}: {files} files, {bytes} bytes", data.display(), options.to.display());
    Ok(())
}

fn restore(options: &Restore) -> anyhow::Result<()> {
    let data = options.store.data_dir().map_err(anyhow::Error::msg)?;
    let Copied { files, bytes } = intray_embedded::restore(&options.from, data)?;
    println!("{} is restored to {}: {files} files, {bytes} bytes", options.from.display(), data.display());
    Ok(())
}

async fn migrate(options: Migrate) -> anyhow::Result<()> {
    let backend = Backend::open(&options.store).await?;
    let outcome = migrate_with(&backend, &options).await;
    backend.close().await;
    outcome
}

async fn migrate_with(backend: &Backend, options: &Migrate) -> anyhow::Result<()> {
    let would = if options.dry_run { "would be " } else { "" };
    let steps = backend.queues.migrate(&store::STEPS, options.dry_run).await?;
    if steps.is_empty() {
        println!("the layout is current");
    }
    for step in steps {
        println!("{step}: {would}applied");
    }
    Ok(())
}

/// Moves all queues to another Redis. Progress goes to standard error, the result to standard output.
async fn move_queues(options: Move) -> anyhow::Result<()> {
    let there = options.to().map_err(anyhow::Error::msg)?;
    let certificates = options.to_tls().map_err(anyhow::Error::msg)?;
    let target = there.as_ref().map(|(url, _)| Backend::elsewhere(url, certificates, &options.store)).transpose()?;
    let backend = Backend::look(&options.store).await?;
    let outcome = match (target, there) {
        (target, _) if options.cancel => cancel_move(&backend.queues, target.as_ref()).await,
        (Some(target), Some((_, place))) => move_to(&backend.queues, &target, &place, options.dry_run).await,
        _ => Err(anyhow!("--to says where they go")),
    };
    backend.close().await;
    outcome
}

async fn move_to(queues: &Queues, target: &Queues, place: &str, dry_run: bool) -> anyhow::Result<()> {
    let place_is_wrong = |error: anyhow::Error| {
        anyhow!("{place}: {}; nothing was moved", format!("{error:#}").replace("--redis-ca-file", "--to-ca-file"))
    };
    if dry_run {
        let Moved { queues, .. } = queues.look_before_moving(target).await?;
        queues.iter().for_each(|queue| println!("{queue}: would be moved to {place}"));
        return Ok(());
    }
    service::check_store(target).await.map_err(place_is_wrong)?;
    let moved = queues.move_to(target, place, &|line| eprintln!("{line}")).await?;
    match moved.queues.len() {
        0 if moved.was_done => println!("the queues had already moved to {place}"),
        count => {
            println!("{count} queues have moved to {place}: serve them with --redis-url, this Redis is no longer used")
        }
    }
    Ok(())
}

async fn cancel_move(queues: &Queues, target: Option<&Queues>) -> anyhow::Result<()> {
    match queues.cancel_move(target).await?.len() {
        0 => println!("no queue is on its way"),
        count => println!("{count} queues are served where they were"),
    }
    Ok(())
}
