//! What a shell and a reader can know of the flags, made of their definition.

use clap_complete::Shell;

use super::definition;

/// What a shell needs to complete `intray`, as text to be sourced.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), "intray", &mut text);
    text
}

/// The manual page, as roff; the commands have theirs in it.
///
/// # Errors
/// None that memory would not have: it is written there.
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
