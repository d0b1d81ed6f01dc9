//! Who may have a job: its assignees, its skill, who is excluded, when it falls back to all workers, and to whom it was handed over.
//! The twin is `lua/jobs/route.lua`.

use intray_redis::Fault;
use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::record::Bytes;
use crate::{
    job::{Line, Millis, Name, Skill},
    record_fields::{
        SHORT, TIME,
        reserve_fields::MORE,
        route_parts::{ASSIGNEES, EXCLUDED, FALLBACK, FALLBACK_MS, OVERLAP, SKILL, put},
    },
    redis::read::broken,
    sha256::Sha256,
};

/// Who may have a job, as its producer says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    /// Only these workers; any if empty.
    pub assignees: Vec<Name>,
    /// Never these.
    pub excluded: Vec<Name>,
    /// Only workers with this skill.
    pub skill: Option<Skill>,
    /// How long after it is first ready the assignees and the skill count.
    pub fallback_ms: Option<u32>,
    /// The jobs of its batch, of which each worker is given one at most; 0 for other jobs.
    pub overlap: u8,
}

impl Routing {
    /// Says who may have the job: jobs with equal payloads for other workers are no duplicates.
    pub(crate) fn hash(&self, hash: &mut Sha256) {
        let names = |names: &[Name]| names.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>();
        let skill = self.skill.iter().map(|skill| skill.as_str().to_owned()).collect();
        // A tag and a count before each list, so that no name is taken for the begin of another list.
        for (tag, mut list) in [("a", names(&self.assignees)), ("x", names(&self.excluded)), ("s", skill)] {
            list.sort_unstable();
            if !list.is_empty() {
                hash.update(format!("\0{tag}{}\0{}", list.len(), list.join("\0")));
            }
        }
    }
}

/// What a call changes of it; an inner `None` takes it away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoutingPatch {
    pub assignees: Option<Option<Vec<Name>>>,
    pub excluded: Option<Option<Vec<Name>>>,
    pub skill: Option<Option<Skill>>,
    pub fallback_ms: Option<Option<u32>>,
}

/// A job that its holder has handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedTo {
    pub line: Line,
    pub until: Millis,
    /// Who handed it over, and when; `None` for an unnamed worker.
    pub from: Option<Name>,
    pub at: Millis,
    pub note: Option<String>,
}

impl Serialize for HandedTo {
    /// Its note is for the worker who gets the job.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (worker, skill) = match &self.line {
            Line::Worker(name) => (Some(name), None),
            Line::Skill(skill) => (None, Some(skill)),
        };
        let mut handed = serializer.serialize_struct("HandedTo", 4)?;
        handed.serialize_field("worker", &worker)?;
        handed.serialize_field("skill", &skill)?;
        handed.serialize_field("from", &self.from)?;
        handed.serialize_field("until", &self.until)?;
        handed.end()
    }
}

impl Routing {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As the scripts read it.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        let names = |names: &[Name]| (!names.is_empty()).then(|| Some(names.to_vec()));
        let patch = RoutingPatch {
            assignees: names(&self.assignees),
            excluded: names(&self.excluded),
            skill: self.skill.clone().map(Some),
            fallback_ms: self.fallback_ms.map(Some),
        };
        patch.pack(out);
        if self.overlap > 0 {
            put(OVERLAP, &[self.overlap], out);
        }
    }
}

impl RoutingPatch {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As the scripts read it.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        let names = |names: &Option<Vec<Name>>| pack_names(names.as_deref().unwrap_or_default());
        let skill = |skill: &Option<Skill>| skill.as_ref().map_or("", Skill::as_str).as_bytes().to_vec();
        let fallback = |ms: &Option<u32>| {
            let mut value = Vec::new();
            ms.iter().for_each(|ms| FALLBACK_MS.put(u64::from(*ms), &mut value));
            value
        };
        let parts = [
            (ASSIGNEES, self.assignees.as_ref().map(names)),
            (EXCLUDED, self.excluded.as_ref().map(names)),
            (SKILL, self.skill.as_ref().map(skill)),
            (FALLBACK, self.fallback_ms.as_ref().map(fallback)),
        ];
        for (tag, value) in parts {
            let Some(value) = value else { continue };
            put(tag, &value, out);
        }
    }
}

/// Names, each after its length in a byte.
pub(crate) fn pack_names<'n>(names: impl IntoIterator<Item = &'n Name>) -> Vec<u8> {
    let mut packed = Vec::new();
    for name in names {
        packed.push(name.as_str().len() as u8);
        packed.extend(name.as_str().as_bytes());
    }
    packed
}

/// Reads what [`pack_names`] writes.
pub(crate) fn names(packed: &[u8]) -> Result<Vec<Name>, Fault> {
    let (mut bytes, mut names) = (Bytes(packed), Vec::new());
    while !bytes.0.is_empty() {
        names.push(Name::parse(&short(&mut bytes)?).map_err(|_| broken("a name"))?);
    }
    Ok(names)
}

/// A text after its length in a byte.
pub(crate) fn short(bytes: &mut Bytes<'_>) -> Result<String, Fault> {
    let length = bytes.uint(SHORT.width)? as usize;
    let (text, rest) = bytes.0.split_at_checked(length).ok_or_else(|| broken("a text in a route"))?;
    bytes.0 = rest;
    String::from_utf8(text.to_vec()).map_err(|_| broken("UTF-8 in a route"))
}

impl HandedTo {
    /// Reads until and since when, the line and who handed the job over, then the note.
    pub(crate) fn parse(packed: &[u8]) -> Result<Self, Fault> {
        let mut bytes = Bytes(packed);
        let (until, at) = (Millis(bytes.uint(TIME.width)?), Millis(bytes.uint(TIME.width)?));
        let line = Line::parse(&short(&mut bytes)?).map_err(|_| broken("a line"))?;
        let from = short(&mut bytes)?;
        let from = if from.is_empty() { None } else { Some(Name::parse(&from).map_err(|_| broken("a name"))?) };
        let note = String::from_utf8(bytes.0.to_vec()).map_err(|_| broken("UTF-8 in a note"))?;
        Ok(Self { line, until, from, at, note: Some(note).filter(|note| !note.is_empty()) })
    }
}

/// The skills as the scripts read them: after their number and whether more follows them; nothing for none.
pub(crate) fn pack_skills(skills: &[Skill], has_more: bool, out: &mut Vec<u8>) {
    if skills.is_empty() {
        return;
    }
    out.push(skills.len() as u8 | if has_more { MORE } else { 0 });
    for skill in skills {
        out.push(skill.as_str().len() as u8);
        out.extend(skill.as_str().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn handed(line: &str, from: &str, note: &str) -> HandedTo {
        let mut packed = [&7_u64.to_be_bytes()[2..], &5_u64.to_be_bytes()[2..]].concat();
        for text in [line, from] {
            packed.push(text.len() as u8);
            packed.extend(text.as_bytes());
        }
        packed.extend(note.as_bytes());
        HandedTo::parse(&packed).expect("a hand-over")
    }

    #[test]
    fn names_are_read_as_they_are_packed() {
        let each = ["ann", "Ann Smith", "x"].map(|name| Name::parse(name).expect("a name"));
        assert_eq!(names(&pack_names(&each)).ok(), Some(each.to_vec()));
        assert!(names(b"\x05ann").is_err());
    }

    #[test]
    fn handed_over_job_names_its_receiver_and_not_the_note() {
        let shown = |handed: &HandedTo| serde_json::to_value(handed).expect("JSON");
        let until = "1970-01-01T00:00:00.007Z";
        assert_eq!(
            shown(&handed("@bob", "ann", "please")),
            json!({ "worker": "bob", "skill": null, "from": "ann", "until": until })
        );
        let unnamed = handed("+de", "", "");
        assert_eq!((unnamed.at, unnamed.note.as_ref()), (Millis(5), None));
        assert_eq!(shown(&unnamed), json!({ "worker": null, "skill": "de", "from": null, "until": until }));
    }
}
