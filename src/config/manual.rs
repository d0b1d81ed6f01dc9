//! Shell completions and the manual page, generated from the definition of the flags.

use clap_complete::Shell;

use super::definition;

/// The completion script of a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), "intray", &mut text);
    text
}

/// The manual page in roff, with a section for each command.
///
/// # Errors
/// Only when memory runs out.
pub fn manual() -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut definition = definition();
    definition.build();
    clap_mangen::Man::new(definition.clone()).render(&mut text)?;
    for command in definition.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        let man = clap_mangen::Man::new(command.clone());
        man.render_name_section(&mut text)?;
        man.render_options_section(&mut text)?;
    }
    Ok(text)
}
