//! Shell completions and the manual page, generated from the definition of the flags.

use std::collections::BTreeMap;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::definition;

/// What the definition of the flags does not say.
const MORE: &str = include_str!("manual.roff");

/// The completion script of a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), "intray", &mut text);
    text
}

/// The manual page in roff. A command lists the flags that it does not share with `serve`, and names the others.
///
/// # Errors
/// Only when memory runs out.
pub fn manual() -> std::io::Result<Vec<u8>> {
    let mut definition = definition();
    definition.build();
    let (mut text, man, shared) = (Vec::new(), Man::new(definition.clone()), flags(&definition));
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let mut commands = Roff::default();
    commands.control("SH", ["COMMANDS"]);
    commands.to_writer(&mut text)?;
    for command in definition.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        render(command, &shared, &mut text)?;
    }
    text.extend(MORE.as_bytes());
    man.render_version_section(&mut text)?;
    Ok(text)
}

fn render(command: &Command, above: &BTreeMap<String, String>, text: &mut Vec<u8>) -> std::io::Result<()> {
    let mut head = Roff::default();
    head.control("SS", [format!("intray {}", command.get_name()).as_str()]);
    head.text([roman(command.get_about().map(ToString::to_string).unwrap_or_default())]);
    head.to_writer(text)?;
    let shared: Vec<_> = flags(command).into_iter().filter(|(flag, help)| above.get(flag) == Some(help)).collect();
    let own = command.clone().mut_args(|arg| {
        let is_shared = arg.get_long().is_some_and(|long| shared.iter().any(|(flag, _)| flag == long));
        let is_of_clap = matches!(arg.get_long(), Some("help" | "version"));
        let is_hidden = is_shared || is_of_clap || arg.is_hide_set();
        arg.hide(is_hidden).help_heading(None::<&str>)
    });
    let mut options = Vec::new();
    Man::new(own).render_options_section(&mut options)?;
    let options = String::from_utf8_lossy(&options).into_owned();
    // Without the preamble and the heading of a section of its own.
    text.extend(options.split_once(".SH OPTIONS\n").map(|(_, options)| options.as_bytes()).unwrap_or_default());
    let mut rest = Roff::default();
    rest.control("PP", []);
    match shared.len() {
        0 => return Ok(()),
        len if len == above.len() => rest.text([roman("It takes all options above.")]),
        _ => {
            let names = shared.iter().flat_map(|(flag, _)| [roman(" "), bold(format!("--{flag}"))]);
            rest.text([roman("Options as above:")].into_iter().chain(names).collect::<Vec<_>>())
        }
    };
    rest.to_writer(text)
}

/// The flags that help lists, except those of clap, with their help.
fn flags(command: &Command) -> BTreeMap<String, String> {
    let listed = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let flags = listed.filter_map(|arg| Some((arg.get_long()?, arg.get_help()?.to_string())));
    flags.filter(|(flag, _)| !matches!(*flag, "help" | "version")).map(|(flag, help)| (flag.to_owned(), help)).collect()
}
