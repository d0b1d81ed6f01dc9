//! Stories of jobs and people, told against the real service over real HTTP on a real Redis, and each ended by a check of
//! the world. Nobody sleeps until a lease is over: the clock is moved. Every answer is held against `openapi.yaml`.

mod world;

mod harness;

mod coming_back;
mod deadline;
mod demo;
mod desk;
mod ended;
mod enqueue;
mod feed;
mod giving_back;
mod holding;
mod in_bulk;
mod late;
mod line;
mod operating;
mod overdue;
mod pages;
mod payloads;
mod people;
mod races;
mod repeats;
mod seeing;
mod several_queues;
mod skipping;
mod sweeping;
mod ties;
mod together;
mod turns;
mod twins;
mod who_did_it;
mod withdrawing;

mod waiting;
mod waiting_causes;
mod waiting_crowds;
mod waiting_faults;
mod waiting_leavers;
mod waiting_refused;
mod waiting_until;

mod events;
mod events_ahead;
mod events_kept;
mod events_resumed;

mod baton;
mod behind_a_lock;
mod endings;
mod lock_names;
mod lock_races;
mod locks;

mod batch_cancel;
mod batch_crashes;
mod batch_creation;
mod batch_races;
mod batch_rules;
mod batch_streams;
mod batch_times;
mod batches;

mod bounds;
mod choosing;
mod strays;

mod access;
mod access_ends;
mod access_tokens;

mod adopting;
mod browsers;
mod contract;
mod counted;
mod crash;
mod cursors;
mod examples;
mod full;
mod full_disk;
mod hanging;
mod hostile;
mod hosts;
mod leaving;
mod malformed;
mod migrating;
mod outage;
mod prefixes;
mod probes;
mod program;
mod readme;
mod redis_away;
mod redis_rights;
mod refusals;
mod refused_early;
mod registry;
mod sockets;
mod strangers;
mod torn;
mod warnings;
