# `make run` serves on 127.0.0.1:7070, `make demo` shows a desk there, `make test` and `make test-web` test. Everything
# except Rust is installed on demand.
export PATH := $(CURDIR)/.engine:$(PATH):$(HOME)/.cargo/bin
built := $(abspath $(or $(CARGO_TARGET_DIR),target))

.PHONY: run demo test test-all test-cluster test-sentinel history failovers test-upgrade differential test-hostile test-power test-ways service test-web test-contract test-deploy packages test-packages dist test-dist cost guard bench protocol fmt lint graph deny image engine curl rust

run: rust engine
	cargo build --profile quick --locked
	exec $(built)/quick/intray

# With a data folder of its own, so that nobody's queue is full of examples.
demo: rust engine
	cargo build --profile quick --locked
	exec web/demo/run.sh $(built)/quick/intray serve --demo --data-dir $(built)/demo-data

# Stories wait more than they compute, so four times as many as processors run at once.
test: export RUST_TEST_THREADS ?= $(shell expr 4 \* $$(getconf _NPROCESSORS_ONLN))
test: rust engine curl
	scripts/tests.sh --locked --workspace

# The same with scripts in place of the library: the stories of what moves a job. And all of what takes turns, of which `make test` takes
# this commit's share.
moving := jobs:: ordering:: leases:: asking:: routing:: opinions:: locks:: batches:: waiting:: events:: queues:: faults::
test-all: export INTRAY_ROTATION := all
test-all: test test-web test-contract test-cluster test-sentinel test-deploy test-packages
	INTRAY_SLOW_WIRE_MS=400 INTRAY_BIN=$(built)/debug/intray tests/web/run.sh
	INTRAY_RESTARTS=100 cargo test --locked --test service rolling -- --nocapture
	INTRAY_READERS=3400 cargo test --locked --test service -- --nocapture --test-threads 1 events::mass_resume queues::many_readers
	INTRAY_LOST_REPLIES=10000 cargo test --locked --test service lost_replies_under_load -- --nocapture
	INTRAY_OTHERS=100000 INTRAY_ANSWERED=10000 cargo test --locked --test service -- jobs_for_others_cost answered_batches_of_ann
	INTRAY_PARTITIONS=20 cargo test --locked --test service store::partitions -- --nocapture
	scripts/engine.sh latest
	cargo test --locked --test service -- store::fsync_acks store::cluster::durability
	INTRAY_SLOT_MOVES=20 cargo test --locked --test service -- --nocapture slot_moved
	cargo test --locked --features scripts-only --test service -- $(moving)
	cargo test --locked --features scripts-only --test model -- queue_behaves

# The history checker: everything is broken all the time, and all answers and events must hold together.
# `make history SECONDS=600 SEED=7 TOPOLOGY=one`, or `cluster`, or `sentinel`; with `FROM=COMMIT` half of the instances are of an
# older commit, and then all of them for a quarter of that time; `make history CHECK=FILE` checks once more what a run has written, and
# `PROFILE=test` runs what `make test` has built.
history: rust engine
	$(if $(filter cluster,$(TOPOLOGY)),scripts/engine.sh latest)
	$(if $(FROM),binary=$$(scripts/older.sh $(FROM)) && INTRAY_OLDER_PROGRAM=$$binary) HISTORY_SECONDS=$(or $(SECONDS),120) HISTORY_SEED=$(or $(SEED),random) HISTORY_TOPOLOGY=$(or $(TOPOLOGY),one) \
	HISTORY_CHECK=$(abspath $(CHECK)) cargo test --profile $(or $(PROFILE),release) --locked --test history -- --nocapture \
	$(if $(CHECK),recorded_history_file,no_job_is_lost)

# The same on a cluster of three primaries. Left out are the stories that the script names.
test-cluster: rust engine
	scripts/on_a_cluster.sh cargo test --locked --test service -- $(moving)

# The same with each Redis behind a sentinel. Left out are the stories that the script names.
test-sentinel: rust engine
	scripts/behind_a_sentinel.sh cargo test --locked --test service -- $(moving)

# What a failover loses of what was acknowledged, and how long no call is served: a table, by three rounds of each way.
failovers: rust engine
	INTRAY_FAILOVERS=3 cargo test --release --locked --test service failovers -- --nocapture

# Instances of an older commit and of this one replace each other under load: `make test-upgrade FROM=COMMIT`.
test-upgrade: rust engine
	binary=$$(scripts/older.sh $(FROM)) && INTRAY_OLDER_PROGRAM=$$binary INTRAY_RESTARTS=$(or $(RESTARTS),20) \
	cargo test --locked --test service rolling_update -- --nocapture

# Random calls to the scripts of an older commit and of this one: the same replies, and the same keys after each.
# `make differential FROM=COMMIT`; CASES=1200 sequences of 60 steps, some 100,000 calls.
differential: rust engine
	binary=$$(scripts/older.sh $(FROM)) && INTRAY_OLDER_PROGRAM=$$binary MODEL_CASES=$(or $(CASES),1200) \
	cargo test --locked --test model -- scripts_answer --nocapture

# A million requests by a hostile caller, and a minute's rest.
test-hostile: rust engine
	INTRAY_HOSTILE=1000000 cargo test --release --locked --test service hostile -- --nocapture

# Two hundred simulated power cuts at each level of durability: synced loses nothing, async says how much.
test-power: rust engine
	INTRAY_POWER_CUTS=200 cargo test --release --locked --test service power -- --nocapture

# The stories of the program however the run is started: under nohup, in a background, without a terminal, as another user …
test-ways: rust engine curl
	scripts/started_ways.sh

# What the tests of pages, contract, files and packages start: the program that INTRAY_BIN names, or one that is built for them.
service: rust
	$(if $(INTRAY_BIN),@echo "the service is $(INTRAY_BIN)",cargo build --locked)

# The browser module and the pages, in a real Chromium: brings Node, Chromium and their packages.
test-web: service engine
	INTRAY_BIN=$(or $(INTRAY_BIN),$(built)/debug/intray) tests/web/run.sh

# The contract and the figures as tools read them: a linter, generated clients, promtool. Brings Node, Python and their packages.
test-contract: service engine curl
	INTRAY_BIN=$(or $(INTRAY_BIN),$(built)/debug/intray) tests/contract/run.sh

# The files of deploy/, each by the tool that it is for, and then as it says: brings Python, Caddy, nginx, Prometheus and kubectl.
test-deploy: service engine
	INTRAY_BIN=$(or $(INTRAY_BIN),$(built)/debug/intray) tests/deploy/run.sh

# The packages for npm and PyPI, in a folder of target/; a service serves the same ones.
packages: rust
	scripts/packages.sh $(built)/packages

# They are installed into an empty folder and used: a page in a real Chromium, programs in Python. Brings Node, Chromium, Python and
# their packages.
test-packages: service engine curl packages
	INTRAY_BIN=$(or $(INTRAY_BIN),$(built)/debug/intray) PACKAGES=$(built)/packages tests/packages/run.sh

# The files of a release, the same byte for byte from the same commit by the same compilers: docs/release.md. Cargo has a folder `dist`
# of its own in target/, so these have another.
dist: rust
	scripts/reproducible.sh scripts/dist.sh $(built)/artifacts

# What `make dist` has made, as a stranger uses it: needs root, and brings an empty Debian.
test-dist: engine
	tests/release/run.sh $(built)/artifacts

# Instructions that a cycle costs, Redis's and the service's: `make cost`, `make cost OPTIONS='--only redis --profile'`.
cost: rust engine
	scripts/profilers.sh
	cargo bench --locked --profile dev --bench figures -- cost $(OPTIONS)

# What does not depend on the machine, against the lines that are kept of it; `make guard UPDATE=1` writes these. The program that
# measures is that of the tests; the service that is measured is built as it is given away.
guard: rust engine
	scripts/profilers.sh
	cargo bench --locked --profile dev --bench figures -- guard $(if $(UPDATE),--update) $(OPTIONS)

# What the service does compared with what people would use instead, and what it costs as things grow: brings those, measures, and writes
# docs/figures.md. `make bench OPTIONS='closed open'` for parts, which are shown only; with --page they take the place of those in the
# page, as long as machine and commit are the same: `make bench SIZE=full OPTIONS='waiting --page'` for up to five million jobs.
bench: rust engine
	scripts/yardsticks.sh
	cargo bench --locked --bench compare -- --size $(or $(SIZE),usual) $(OPTIONS)

# docs/protocol.md says what openapi.yaml says.
protocol: rust
	INTRAY_WRITE_PROTOCOL=1 cargo test --locked --quiet --test documents protocol_page

fmt: rust
	cargo fmt --all

lint: rust
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	scripts/luacheck.sh

# Which module uses which, and which file.
graph: rust
	cargo test --locked --quiet --test documents walls -- --nocapture --test-threads=1

deny: rust
	cargo deny --locked check --hide-inclusion-graph bans licenses sources

# The container image, built and run without a container engine: see the script for what it needs.
image: rust
	tests/image.sh

# The README's calls and the tour are run as they are printed, and need a curl that knows --json: 7.82 or newer.
curl:
	@curl --help all 2>/dev/null | grep -q -- --json || scripts/curl.sh

engine:
	@scripts/engine.sh

rust:
	@command -v cargo >/dev/null || { echo "cargo is missing: get Rust from https://rustup.rs, then try again" >&2; exit 1; }
