//! Many walks on a few threads, each with a Redis of its own; and the smallest walk that fails.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env, fmt,
    hash::{BuildHasher, RandomState},
    iter::{repeat, repeat_n},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tokio::runtime::{Builder, Runtime};

use crate::{
    chance::{self, Theme},
    library::Library,
    operations::Op,
    patch_scripts::{Edit, Editor},
    real::Real,
    rotation::Rotation,
    shrink,
    walk::Walk,
};

/// How much, and from where.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    /// Only this one, if it is variable.
    pub case: Option<u64>,
    pub cases: u64,
    /// Those of them that run.
    pub share: Rotation,
    pub steps: usize,
    pub threads: usize,
    /// The theme of all; otherwise they take turns.
    pub theme: Option<Theme>,
    /// A script looks at a few jobs of the line only.
    pub is_short_sighted: bool,
    /// The scripts of a second server, with which each call is compared.
    pub other: Option<Arc<Library>>,
    /// What the scripts say otherwise than their files.
    pub edits: Vec<Edit>,
}

impl Plan {
    /// What runs when nobody says otherwise.
    pub fn fixed() -> Self {
        Self {
            seed: 7,
            case: None,
            cases: 1_200,
            share: Rotation::ALL,
            steps: 60,
            threads: 2,
            theme: None,
            is_short_sighted: false,
            other: None,
            edits: Vec::new(),
        }
    }

    pub fn from_environment() -> Self {
        let variable = |name: &str| env::var(name).ok().map(|text| number(name, &text));
        let fixed = Self::fixed();
        let is_asked = env::vars().any(|(name, _)| name.starts_with("MODEL_"));
        Self {
            share: if is_asked { Rotation::ALL } else { Rotation::of("model-sequences") },
            seed: match env::var("MODEL_SEED").as_deref() {
                Ok("random") => RandomState::new().hash_one(0),
                _ => variable("MODEL_SEED").unwrap_or(fixed.seed),
            },
            case: variable("MODEL_CASE"),
            cases: variable("MODEL_CASES").unwrap_or(fixed.cases),
            steps: variable("MODEL_STEPS").map_or(fixed.steps, |steps| steps as usize),
            threads: variable("MODEL_THREADS").map_or(fixed.threads, |threads| threads as usize),
            ..fixed
        }
    }
}

fn number(name: &str, text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text}"))
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MODEL_SEED={} MODEL_STEPS={}", self.seed, self.steps)?;
        match self.case {
            Some(case) => write!(f, " MODEL_CASE={case}"),
            None => write!(f, " MODEL_CASES={}", self.cases),
        }
    }
}

/// The name in a tally for the calls that two servers have answered alike.
pub const COMPARED: &str = "calls compared";

/// The themes of so many sequences in a row are those of all.
const THEMES: u64 = 12;

/// How often what was met.
pub type Tally = BTreeMap<String, u64>;

/// On one Redis, whose clock each of them moves by weeks: a stamp of the queue's own clock has six bytes.
const MAX_WALKS: u32 = 1_000;

/// Runs all of it. An error is the first difference that was found, at its smallest.
pub fn run(plan: &Plan) -> Result<Tally, String> {
    let (next, found) = (AtomicU64::new(0), Mutex::new(Ok(Tally::new())));
    let work = || {
        let mut bench = Bench::new(plan);
        let mut walks = 0;
        loop {
            if walks == MAX_WALKS {
                assert!(bench.is_edited(), "no script holds the text of an edit");
                (bench, walks) = (Bench::new(plan), 0);
            }
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= plan.cases || plan.case.is_some() && case > 0 {
                break;
            }
            if !plan.share.takes(case / THEMES) {
                continue;
            }
            let plan = Plan { case: plan.case.or(Some(case)), ..plan.clone() };
            let outcome = bench.case(&plan);
            walks += 1;
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            match (outcome, found.as_mut()) {
                (Ok(met), Ok(all)) => met.into_iter().for_each(|(what, n)| *all.entry(what).or_default() += n),
                (Err(difference), Ok(_)) => {
                    next.store(u64::MAX / 2, Ordering::Relaxed);
                    *found = Err(difference);
                }
                (_, Err(_)) => {}
            }
        }
        const ENOUGH: u32 = 10;
        assert!(walks < ENOUGH || bench.is_edited(), "no script holds the text of an edit");
    };
    thread::scope(|scope| {
        for _ in 0..plan.threads {
            scope.spawn(work);
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Sequences within which a planted fault must be found.
pub const MAX_CASES: u64 = 1_500;

/// Which sequence is the first that fails, and why; the one of the hint goes first. An error: the fault could not be planted.
pub fn first_failure(plan: &Plan, hint: Option<u64>) -> Result<Option<(u64, String)>, &'static str> {
    let bench = Bench::new(plan);
    let failure = hint.filter(|case| *case < plan.cases).into_iter().chain(0..plan.cases).find_map(|case| {
        let trees = draw(&Plan { case: Some(case), ..plan.clone() });
        Some((case, bench.walk(&trees.iter().map(ValueTree::current).collect::<Vec<_>>()).err()?))
    });
    if bench.is_edited() { Ok(failure) } else { Err("no script holds the text") }
}

/// The number of operations at the start that make sure that there are jobs.
const START: usize = 2;

fn draw(plan: &Plan) -> Vec<impl ValueTree<Value = Op> + use<>> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&plan.seed.to_be_bytes());
    seed[8..16].copy_from_slice(&plan.case.unwrap_or(0).to_be_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng);
    let by_turns = match plan.case.map(|case| case % THEMES) {
        Some(2 | 5 | 8 | 11) => Theme::Routing,
        Some(1 | 9) => Theme::Desk,
        Some(3 | 7) => Theme::FewJobs,
        Some(10) => Theme::Lists,
        _ => Theme::Everything,
    };
    let theme = plan.theme.unwrap_or(by_turns);
    let (op, start) = (chance::op(theme), chance::start(theme).boxed());
    let ops = repeat_n(start, START).chain(repeat(op)).take(plan.steps);
    ops.map(|op| op.new_tree(&mut runner).expect("an operation")).collect()
}

/// For one sequence: a queue that goes round in circles fails too. Two servers are compared for hours, beside all else that a machine does.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_WITH_TWO: Duration = Duration::from_secs(600);

/// One thread's Redis and the runtime that speaks to it.
struct Bench {
    runtime: Runtime,
    real: RefCell<Real>,
    is_short_sighted: bool,
    patience: Duration,
}

impl Bench {
    fn new(plan: &Plan) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let real = RefCell::new(runtime.block_on(Real::start(&plan.edits, plan.other.as_ref())));
        let patience = if plan.other.is_some() { PATIENCE_WITH_TWO } else { PATIENCE };
        Self { runtime, real, is_short_sighted: plan.is_short_sighted, patience }
    }

    fn is_edited(&self) -> bool {
        self.real.borrow().editor.as_ref().is_none_or(Editor::has_edited)
    }

    fn walk(&self, ops: &[Op]) -> Result<Tally, String> {
        let mut real = self.real.borrow_mut();
        let walk = Walk::new(&mut real, self.is_short_sighted).run(ops);
        let in_time = async { tokio::time::timeout(self.patience, walk).await.unwrap_or(Err("no end".to_owned())) };
        self.runtime.block_on(in_time)
    }

    /// One sequence; if it fails, the smallest of it that does.
    fn case(&self, plan: &Plan) -> Result<Tally, String> {
        let whole = draw(plan);
        let ops: Vec<_> = whole.iter().map(ValueTree::current).collect();
        self.walk(&ops).map_err(|_| {
            let smallest = shrink::smallest(whole, |ops| self.walk(ops).is_err());
            let mut real = self.real.borrow_mut();
            let story = self.runtime.block_on(Walk::new(&mut real, self.is_short_sighted).tell(&smallest));
            let steps = smallest.len();
            format!("{plan} cargo test --test model\n\nin {steps} steps of {}:\n{story}", plan.steps)
        })
    }
}
