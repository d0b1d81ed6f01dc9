//! Stories of jobs and people, told against the real service on a real Redis. Nobody sleeps: the clock is moved.

mod world;
mod harness;
