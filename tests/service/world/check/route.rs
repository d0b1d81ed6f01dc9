//! An entry of `routes`, as the checks read it.

/// When the job expires, when its SLA is over, and who may have it.
#[derive(Default)]
pub(super) struct Route {
    pub(super) expires: Option<f64>,
    sla: Option<f64>,
    marks: u8,
    assignees: Vec<String>,
    skill: Option<String>,
    fallback_at: Option<f64>,
    /// Until when, and the line.
    handed: Option<(f64, String)>,
}

const NEVER: f64 = 281_474_976_710_655.0;
const BREACHED: u8 = 1;
const FELL_BACK: u8 = 4;

impl Route {
    pub(super) fn read(mut raw: &[u8]) -> Self {
        let mut route = Self::default();
        while let [tag, high, low, rest @ ..] = raw {
            let (value, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
            match tag {
                1 => route.expires = Some(number(value)),
                2 => route.sla = Some(number(value)),
                3 => route.marks = value[0],
                4 => route.assignees = names(value),
                6 => route.skill = Some(String::from_utf8_lossy(value).into_owned()),
                8 => route.fallback_at = Some(number(value)),
                9 => route.handed = Some((number(&value[..6]), names(&value[12..])[0].clone())),
                _ => {}
            }
            raw = rest;
        }
        route
    }

    /// What was handed over is not taken out of the hands of who has it: that alarm never rings.
    pub(super) fn alarm(&self, is_held: bool) -> Option<f64> {
        let is_marked = |mark| self.marks & mark != 0;
        let sla = self.sla.filter(|_| !is_marked(BREACHED));
        let fallback = self.fallback_at.filter(|_| !is_marked(FELL_BACK));
        let handed = self.handed.as_ref().map(|(until, _)| if is_held { NEVER } else { *until });
        [self.expires, sla, fallback, handed].into_iter().flatten().reduce(f64::min)
    }

    /// The lines of a job that is not for everybody.
    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            Self { handed: Some((_, line)), .. } => vec![line.clone()],
            Self { marks, .. } if marks & FELL_BACK != 0 => Vec::new(),
            Self { assignees, .. } if !assignees.is_empty() => {
                assignees.iter().map(|name| format!("@{name}")).collect()
            }
            Self { skill, .. } => skill.iter().map(|skill| format!("+{skill}")).collect(),
        }
    }
}

fn number(bytes: &[u8]) -> f64 {
    bytes.iter().fold(0.0, |number, &byte| number * 256.0 + f64::from(byte))
}

/// Texts after their lengths, as far as these are whole.
fn names(mut packed: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let [length, rest @ ..] = packed {
        let Some((name, rest)) = rest.split_at_checked(usize::from(*length)) else { break };
        names.push(String::from_utf8_lossy(name).into_owned());
        packed = rest;
    }
    names
}
