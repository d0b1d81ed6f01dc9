//! Time passes.

use super::prelude::*;

#[derive(Debug, Clone)]
pub enum Pass {
    Ms(u32),
    /// To something that time will bring about: exactly, or a millisecond off.
    Moment(Nth, i8),
    Hour,
    Week,
}

impl Operation for Pass {
    const OFTEN: Often = Often { everything: 24, few_jobs: 30, desk: 40, routing: 30, many: 3 };

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let few = (1..3_000_u32).prop_map(Self::Ms);
        // To what comes next, mostly: the smaller of two shares.
        let nth = (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Nth(a.min(b)));
        let moment = (nth, select(&[0, 0, -1, 1])).prop_map(|(nth, off)| Self::Moment(nth, off));
        match theme {
            Theme::Everything | Theme::Lists | Theme::Many => {
                prop_oneof![12 => few, 20 => moment, 1 => Just(Self::Hour), 1 => Just(Self::Week)].boxed()
            }
            // Nothing so long that all would be forgotten.
            Theme::FewJobs | Theme::Desk | Theme::Routing => prop_oneof![few, moment].boxed(),
        }
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let now = walk.model.now;
        let ms = match self {
            Self::Ms(ms) => (*ms).into(),
            Self::Moment(nth, off) => {
                let ahead: Vec<_> = walk.model.moments().into_iter().filter(|&moment| moment > now).collect();
                let moment = nth.of(&ahead).copied().unwrap_or(now + 1);
                moment.saturating_add_signed((*off).into()) - now
            }
            Self::Hour => 3_600_000,
            Self::Week => 604_800_000,
        };
        walk.real.pass(ms);
        walk.model.now += ms;
        walk.note(|| format!("  {ms} ms pass"));
        Ok(())
    }
}
