//! Stories of jobs and people, told against the real service over real HTTP on a real Redis, and each ended by a check of
//! the world. Nobody sleeps until a lease is over: the clock is moved. Every answer is held against `openapi.yaml`.

mod world;

mod harness;

mod deadline;
mod enqueue;
mod giving_back;
mod late;
mod line;
mod operating;
mod payloads;
mod people;
mod races;
mod repeats;
mod seeing;
mod twins;
mod withdrawing;

mod browsers;
mod contract;
mod crash;
mod full;
mod leaving;
mod malformed;
mod outage;
mod probes;
mod program;
mod readme;
mod refusals;
mod sockets;
