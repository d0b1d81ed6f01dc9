//! The store of the jobs, and its faults: one Redis, a cluster, or a primary behind sentinels.

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
    /// The flags with which an instance finds it through its own connections.
    fn reach(&self, instance: usize) -> Work<'_, Reach>;

    /// Injects a fault and repairs it; returns its name, or nothing while another one lasts.
    fn strike<'t>(&'t self, chance: &'t mut Chance) -> Work<'t, Option<String>>;

    /// Advances the clock of Redis.
    fn pass(&self, ms: u64) -> Work<'_>;

    fn stop(&self) -> Work<'_>;
}

/// How an instance reaches the store.
pub struct Reach {
    pub flags: Vec<String>,
    pub wires: Vec<Wire>,
}

/// The address at which an instance finds, through its proxies, the servers of 127.0.0.1: one address each, the same
/// ports.
fn host_of(instance: usize) -> String {
    format!("127.0.0.{}", 10 + instance)
}

/// A proxy from each of these ports to a port of 127.0.0.1.
async fn wires(host: &str, from: &[u16], to: &[u16]) -> Vec<Wire> {
    let mut wires = Vec::new();
    for (from, to) in from.iter().zip(to) {
        let here = Place::Port(host.to_owned(), *from);
        wires.push(Wire::start(&here, Place::Port("127.0.0.1".to_owned(), *to)).await);
    }
    wires
}

/// Faults of any healthy server.
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
    let _ = ask(&mut connection, words).await; // a server that was just demoted refuses
    if matches!(what, Trouble::Fill) {
        chance.rest(1_500).await;
        is_empty_again(&mut connection).await;
    }
}

/// Repeats until it succeeds: a filled server must not stay full.
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
