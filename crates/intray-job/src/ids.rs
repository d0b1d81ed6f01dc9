//! Makes ids, nonces and secrets before the call that uses them, so that a script may run twice.

use super::{BatchId, Code, JobId, QueueName, chance::random};
use intray_base::sha256::Sha256;

/// Identifies one reserve call: 16 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonce {
    digits: [u8; 16],
    is_fresh: bool,
}

impl Nonce {
    pub fn random() -> Self {
        Self::from_bits(u64::from_be_bytes(random()))
    }

    /// For a call that was not made before, so that the script need not look for its jobs.
    pub fn fresh() -> Self {
        Self { is_fresh: true, ..Self::random() }
    }

    /// For the repeat of a call that may have had an effect.
    #[must_use]
    pub fn again(self) -> Self {
        Self { is_fresh: false, ..self }
    }

    pub fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// The same parts identify the same call.
    pub fn derived(parts: &[&[u8]]) -> Self {
        let digest = digest(parts);
        Self::from_bits(u64::from_be_bytes(std::array::from_fn(|i| digest[i])))
    }

    fn from_bits(bits: u64) -> Self {
        let digits = std::array::from_fn(|i| b"0123456789abcdef"[(bits >> (60 - 4 * i)) as usize & 15]);
        Self { digits, is_fresh: false }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.digits
    }
}

/// A random id. Ids have no order: the order of jobs comes from Redis.
pub fn random_id(queue: QueueName) -> JobId {
    JobId { queue, code: random_code() }
}

/// The same parts make the same id, so that a retried enqueue finds its job.
pub fn derived_id(queue: QueueName, parts: &[&[u8]]) -> JobId {
    let digest = digest(parts);
    let bits = u128::from_be_bytes(std::array::from_fn(|i| digest[i]));
    JobId { queue, code: Code::from_bits(bits) }
}

/// A random batch id.
pub fn random_batch(queue: QueueName) -> BatchId {
    random_id(queue).batch()
}

/// The same parts make the same batch id.
pub fn derived_batch(queue: QueueName, parts: &[&[u8]]) -> BatchId {
    derived_id(queue, parts).batch()
}

/// 128 unguessable bits.
pub fn random_code() -> Code {
    Code::from_bits(u128::from_be_bytes(random()))
}

/// Bytes of the digest of a secret.
pub const DIGEST_LEN: usize = 8;

/// The digest that the record keeps of a secret after its reservation has ended.
pub fn secret_digest(secret: &Code) -> [u8; DIGEST_LEN] {
    let digest = Sha256::digest(secret.as_bytes());
    std::array::from_fn(|i| digest[i])
}

/// Includes the lengths, so that two lists of parts cannot have the same input.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::default();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize()
}
