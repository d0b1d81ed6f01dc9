//! Stories of jobs and people, told against the real service over real HTTP on a real Redis, and each ended by a check of
//! the world. Nobody sleeps until a lease is over: the clock is moved. Every answer is held against `openapi.yaml`.

mod world;

mod harness;

mod enqueue;
mod payloads;
mod line;
mod people;
mod deadline;
mod giving_back;
mod late;
mod withdrawing;
mod operating;
mod repeats;
mod races;

mod browsers;
mod contract;
mod outage;
mod crash;
mod probes;
mod program;
mod readme;
mod refusals;
mod sockets;
