//! `intray check`.

use std::path::Path;

use anyhow::anyhow;
use intray_cli::terminal::clean_lines;
use intray_embedded::FolderUsage;
use intray_webhook::Sender;

use super::{backend::Backend, clock::clock};
use crate::{
    config::{RedisUrl, Serve},
    store::Check,
    text::ByteSize,
    webhooks::{Webhooks, test_all},
};

/// Tests the configuration, Redis and the webhooks, and prints a line for each test.
///
/// # Errors
/// How many tests failed, or why Redis cannot be looked at.
pub async fn check(mut options: Serve) -> anyhow::Result<()> {
    let data_dir = options.store.data_dir.clone();
    let is_private = options.store.redis_url() == RedisUrl::Embedded;
    // A check leaves no store where there is none, unless there is no place for another.
    let is_new = is_private && intray_embedded::is_new(&data_dir);
    let trial = is_new.then(tempfile::tempdir).and_then(Result::ok);
    if let Some(trial) = &trial {
        trial.path().clone_into(&mut options.store.data_dir);
    }
    let refusal = options.exposure().err();
    let is_warning = refusal.is_none();
    let exposure = Check { name: "listen", problem: refusal.or_else(|| options.exposure_warning()), is_warning };
    let access = check_access(&options);
    let certificate = Check { name: "certificate", problem: super::certificate(&options).err(), is_warning: false };
    let webhooks = super::webhooks(&options);
    let file = Check { name: "webhooks", problem: webhooks.as_ref().err().cloned(), is_warning: false };
    let secrets = Check { name: "secrets", problem: options.world_readable_secrets(), is_warning: true };
    let backend = Backend::look(&options.store).await?;
    let mut checks = vec![exposure, access, certificate, secrets, file];
    checks.extend(backend.queues.allowed().await);
    checks.extend(backend.queues.ready().await);
    checks.extend(backend.queues.durable().await);
    checks.extend(clock(&backend.queues).await);
    let (mut wrong, mut warnings) = print(checks);
    if is_private {
        warnings += check_folder(&data_dir).await;
    }
    backend.close().await;
    if let Ok(Some((webhooks, sender))) = webhooks {
        wrong += check_webhooks(&sender, &webhooks.current()).await;
    }
    match (wrong, warnings) {
        (0, 0) => println!("all is well"),
        (0, 1) => println!("all is well, except for 1 warning"),
        (0, more) => println!("all is well, except for {more} warnings"),
        _ => {}
    }
    match wrong {
        0 => Ok(()),
        1 => Err(anyhow!("1 check failed")),
        more => Err(anyhow!("{more} checks failed")),
    }
}

fn check_access(options: &Serve) -> Check {
    let (problem, is_warning) = match super::access(options).map(|access| access.warnings()) {
        Ok(warnings) => (Some(warnings.join("; ")).filter(|line| !line.is_empty()), true),
        Err(refusal) => (Some(refusal), false),
    };
    Check { name: "access", problem, is_warning }
}

/// Prints a line for each. Returns how many failed, and how many warn.
fn print(checks: Vec<Check>) -> (usize, usize) {
    let (mut wrong, mut warnings) = (0, 0);
    for Check { name, problem, is_warning } in checks {
        match problem {
            None => println!("ok       {name}"),
            Some(problem) if is_warning => {
                warnings += 1;
                println!("warning  {name}: {}", clean_lines(&problem));
            }
            Some(problem) => {
                wrong += 1;
                println!("wrong    {name}: {}", clean_lines(&problem));
            }
        }
    }
    (wrong, warnings)
}

/// Prints where the private server's data is, its size and the room for it. Returns how many warnings.
async fn check_folder(data_dir: &Path) -> usize {
    let problem = match intray_embedded::usage(data_dir).await {
        Ok(FolderUsage { folder, data, free, shortage: None }) => {
            println!(
                "ok       folder: {}: {} of data, {} free on its disk",
                folder.display(),
                ByteSize(data),
                ByteSize(free)
            );
            return 0;
        }
        Ok(FolderUsage { folder, shortage: Some(line), .. }) => format!("{}: {line}", folder.display()),
        Err(error) => format!("{}: {error}", data_dir.display()),
    };
    println!("warning  folder: {}", clean_lines(&problem));
    1
}

/// Sends a test to each webhook, and counts those that were not taken.
async fn check_webhooks(sender: &Sender, webhooks: &Webhooks) -> usize {
    let reports = test_all(sender, webhooks).await;
    for report in &reports {
        let word = if report.attempt.is_taken() { "ok" } else { "wrong" };
        println!("{word:<8} {}", clean_lines(&report.to_string()));
    }
    reports.iter().filter(|report| !report.attempt.is_taken()).count()
}
