//! What keeps the jobs, and how that can break: one Redis, a cluster, or a primary that sentinels watch.

mod cluster;
mod one;
mod places;
mod sentinel;

pub use self::{cluster::Cluster, one::One, sentinel::Sentinel};

use std::{future::Future, path::Path, pin::Pin, time::Duration};

use redis::aio::MultiplexedConnection;

use crate::{
    load::Chance,
    wire::{Place, Wire},
};

pub type Work<'t, T = ()> = Pin<Box<dyn Future<Output = T> + 't>>;

pub trait Topology: Send + Sync + 'static {
    /// What an instance needs to find it, by wires of its own.
    fn reach(&self, instance: usize) -> Work<'_, Reach>;

    /// Breaks something, and mends it; answers what, or nothing while it is broken anyway.
    fn strike<'t>(&'t self, chance: &'t mut Chance) -> Work<'t, Option<String>>;

    /// So many ms pass on the clock that counts.
    fn pass(&self, ms: u64) -> Work<'_>;

    fn stop(&self) -> Work<'_>;
}

/// How an instance comes to what keeps the jobs.
pub struct Reach {
    pub flags: Vec<String>,
    pub wires: Vec<Wire>,
}

/// Where an instance finds by its wires what others find at 127.0.0.1: each has an address of its own, and the ports are the same.
fn host_of(instance: usize) -> String {
    format!("127.0.0.{}", 10 + instance)
}

/// A wire from each of these ports to a port of 127.0.0.1.
async fn wires(host: &str, from: &[u16], to: &[u16]) -> Vec<Wire> {
    let mut wires = Vec::new();
    for (from, to) in from.iter().zip(to) {
        let here = Place::Port(host.to_owned(), *from);
        wires.push(Wire::start(&here, Place::Port("127.0.0.1".to_owned(), *to)).await);
    }
    wires
}

/// What can be done to any server that is well.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    KillClients,
    FlushFunctions,
    FlushScripts,
    Fill,
}

/// As often against the others.
const TROUBLES: [Trouble; 6] = [
    Trouble::KillClients,
    Trouble::KillClients,
    Trouble::FlushFunctions,
    Trouble::FlushFunctions,
    Trouble::FlushScripts,
    Trouble::Fill,
];

async fn trouble(mut connection: MultiplexedConnection, what: Trouble, chance: &mut Chance) {
    let words = match what {
        Trouble::KillClients => "CLIENT KILL TYPE normal",
        Trouble::FlushFunctions => "FUNCTION FLUSH",
        Trouble::FlushScripts => "SCRIPT FLUSH",
        Trouble::Fill => "CONFIG SET maxmemory 1mb",
    };
    let _ = ask(&mut connection, words).await; // one that has just lost its place refuses
    if matches!(what, Trouble::Fill) {
        chance.rest(1_500).await;
        is_empty_again(&mut connection).await;
    }
}

/// Until it is done: what was filled must not stay full.
async fn is_empty_again(connection: &mut MultiplexedConnection) {
    for _ in 0..100 {
        if ask(connection, "CONFIG SET maxmemory 0").await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("Redis stays full")
}

async fn ask(connection: &mut MultiplexedConnection, words: &str) -> redis::RedisResult<redis::Value> {
    let mut command = redis::Cmd::new();
    for word in words.split(' ') {
        command.arg(word);
    }
    command.query_async(connection).await
}

fn temporary() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("intray-").tempdir().expect("a temporary folder")
}

fn socket(folder: &Path, instance: usize) -> Place {
    Place::Socket(folder.join(format!("wire-{instance}.sock")))
}
