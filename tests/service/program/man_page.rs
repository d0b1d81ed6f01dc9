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
