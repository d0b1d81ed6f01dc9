//! Shell completions and the man page.

use crate::world::{output, program, run, tool};

/// The completions that a shell would offer.
fn offered(words: &str, at: usize) -> String {
    let script = format!(
        "source <('{}' completions bash); COMP_WORDS=({words}); COMP_CWORD={at}; _intray intray \"${{COMP_WORDS[{at}]}}\" \
         \"${{COMP_WORDS[{at} - 1]}}\"; echo \"${{COMPREPLY[*]}}\"",
        env!("CARGO_BIN_EXE_intray")
    );
    let mut bash = tool("bash");
    bash.args(["-eu", "-c", &script]);
    let output = output(bash);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[test]
fn shell_completes_commands_and_flags() {
    assert_eq!(offered("intray he", 1), "healthcheck help");
    assert_eq!(offered("intray serve --durab", 2), "--durability");
    assert_eq!(offered("intray serve --log-format j", 3), "json");
}

#[tokio::test]
async fn man_page_lists_every_flag_and_no_environment_value() {
    let mut command = program(["man"]);
    command.env("INTRAY_TOKEN_SECRET", "a-secret-of-more-than-thirty-two-bytes");
    let end = run(command).await;
    assert!(end.status.success() && end.stdout.starts_with(".ie \\n(.g"), "{end:?}");
    let page = end.stdout.replace("\\-", "-");
    let help = run(program(["serve", "--help"])).await.stdout;
    let flags: Vec<_> = help.split_whitespace().filter(|word| word.starts_with("--")).collect();
    assert!(flags.len() > 20, "{help}");
    for flag in flags {
        assert!(page.contains(flag.trim_end_matches([',', ';', '.', ':'])), "{flag}");
    }
    assert!(!page.contains("a-secret"), "{page}");
}

#[tokio::test]
async fn man_page_has_its_sections_and_lists_shared_flags_once() {
    let page = run(program(["man"])).await.stdout.replace("\\-", "-");
    let sections: Vec<_> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    for section in
        ["OPTIONS", "REDIS", "ACCESS", "LIMITS", "COMMANDS", "\"EXIT STATUS\"", "SIGNALS", "FILES", "EXAMPLES"]
    {
        assert!(sections.contains(&section), "{section}: {sections:?}");
    }
    for once in ["NAME", "OPTIONS"] {
        assert_eq!(sections.iter().filter(|section| **section == once).count(), 1, "{once}: {sections:?}");
    }
    assert_eq!(page.matches("The prefix of every key in Redis").count(), 1);
    let part =
        |command: &str| page.split(&format!(".SS \"intray {command}\"\n")).nth(1).expect("a part").split(".SS ").next();
    assert!(part("move").expect("text").contains("--dry-run"));
    assert!(part("backup").is_some_and(|text| text.contains("--data-dir") && !text.contains("--redis-url")));
}

#[tokio::test]
async fn help_lists_flags_by_heading_and_only_those_of_the_command() {
    let help = async |words: &[&str]| run(program([words, &["--help"]].concat())).await.stdout;
    let part = |help: &str, heading: &str| {
        let below = help.lines().skip_while(|line| *line != format!("{heading}:")).skip(1);
        below.take_while(|line| line.is_empty() || line.starts_with(' ')).collect::<String>()
    };
    let serve = help(&["serve"]).await;
    for (heading, flag) in [
        ("Redis", "--redis-url"),
        ("Access", "--keys-file"),
        ("HTTPS", "--tls-cert-file"),
        ("Limits", "--threads"),
        ("Options", "--log-format"),
        ("Options", "--webhooks-file"),
        ("Options", "--demo"),
    ] {
        assert!(part(&serve, heading).contains(flag), "{heading}: {serve}");
    }
    for (command, flag) in [("check", "--acl"), ("migrate", "--dry-run"), ("move", "--cancel")] {
        assert!(part(&help(&[command]).await, "Options").contains(flag), "{command} {flag}");
    }
    assert!(serve.contains("redis+cluster://") && serve.contains("redis+sentinel://") && serve.contains("unix://"));
    for command in ["backup", "restore"] {
        let help = help(&[command]).await;
        let flags: Vec<_> = help.lines().filter_map(|line| line.trim().strip_prefix("--")).collect();
        assert_eq!(flags.len(), 1, "{help}");
    }
    for command in ["migrate", "move"] {
        assert!(!help(&[command]).await.contains("--log-format"), "{command}");
    }
}
