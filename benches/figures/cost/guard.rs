//! The guard: figures that do not depend on the machine must match a file; a change of a figure is a change of the
//! file.

mod figures;
mod file;

use self::{
    figures::Found,
    file::{Functions, Kept},
};
use super::{
    Options, Part,
    kept::{Figure, grown, short},
};

/// Max growing functions that are named.
const NAMED: usize = 12;

pub async fn run(options: &Options) {
    let found = measure(options).await;
    let (mut kept, mut functions) = (Kept::read(), Functions::read());
    let versions = file::versions(&options.engine);
    if options.update {
        kept.take(&found.figures, &versions, options.only.is_none());
        kept.write();
        if found.functions.iter().any(|(_, of)| !of.keys().any(|function| function.contains("::"))) {
            eprintln!("The service has no symbols: which functions take how much stays as it was kept.");
            return;
        }
        found.functions.into_iter().for_each(|(name, of)| functions.take(name, of));
        functions.write();
        return;
    }
    let complaints = complaints(&found, &kept, &functions, options.only.is_none());
    if complaints.is_empty() {
        return;
    }
    eprintln!("\n{}\n\nIf the change is intended, run `make guard UPDATE=1`.", complaints.join("\n"));
    if versions != kept.versions {
        eprintln!("It is not held against anybody: kept with {}, and here is {versions}.", kept.versions);
        return;
    }
    std::process::exit(1);
}

async fn measure(options: &Options) -> Found {
    let folder = tempfile::tempdir().expect("a folder");
    let mut found = Found::default();
    if options.wants(Part::Redis) {
        found.of_the_files();
        found.of_redis(&options.engine, folder.path()).await;
    }
    if options.wants(Part::Service) {
        found.of_the_service(folder.path()).await;
    }
    found
}

fn complaints(found: &Found, kept: &Kept, functions: &Functions, is_all: bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for figure in &found.figures {
        let Some(line) = kept.line(&figure.name) else {
            complaints.push(format!("{}: {} has no line", figure.name, short(figure.value)));
            continue;
        };
        let Some(mut complaint) = line.complaint(figure) else { continue };
        if figure.value > line.value {
            line.grown(figure).for_each(|script| complaint += &of_script(script, &found.figures, kept));
            complaint += &of_functions(&figure.name, found, functions);
        }
        complaints.push(complaint);
    }
    let is_measured = |name: &str| found.figures.iter().any(|figure| figure.name == name);
    let unknown = kept.lines().filter(|line| is_all && !is_measured(&line.name));
    complaints.extend(unknown.map(|line| format!("{}: no part measures it", line.name)));
    complaints
}

/// What a growing script does now, and did before.
fn of_script(script: &str, figures: &[Figure], kept: &Kept) -> String {
    let its = |figure: &&Figure| figure.name.strip_prefix(script).is_some_and(|rest| rest.starts_with(", "));
    let lines = figures.iter().filter(its).map(|figure| {
        let was = kept.line(&figure.name).map_or("nothing".to_owned(), |line| short(line.value));
        let parts: Vec<_> = figure.parts.iter().map(|(name, value)| format!("{name} {}", short(*value))).collect();
        format!("\n  {}: {} (was {was}) {}", figure.name, short(figure.value), parts.join(", "))
    });
    lines.collect()
}

/// Functions of the service that take more than before.
fn of_functions(name: &str, found: &Found, functions: &Functions) -> String {
    let Some((_, now)) = found.functions.iter().find(|(of, _)| of == name) else { return String::new() };
    let grown = grown(functions.of(name), now).into_iter().take(NAMED);
    let lines =
        grown.map(|(function, was, is)| format!("\n  {:>+8.0}  {function:.160}, {is:.0} (was {was:.0})", is - was));
    format!("\n  instructions a cycle, function by function:{}", lines.collect::<String>())
}
