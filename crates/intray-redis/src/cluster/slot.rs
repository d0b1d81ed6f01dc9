//! The slots of a cluster: each key belongs to one of them, each of them to a node.

use crc::{CRC_16_XMODEM, Crc};
use redis::{Arg, Cmd};

/// The number of slots of every cluster.
pub(crate) const SLOTS: usize = 16_384;
const CHECKSUM: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// The slot of a key, which is that of the hash tag in its first braces, if there is one.
pub(crate) fn of_key(key: &[u8]) -> u16 {
    CHECKSUM.checksum(hash_tag(key).unwrap_or(key)) % SLOTS as u16
}

fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')? + 1;
    let length = key[open..].iter().position(|byte| *byte == b'}')?;
    (length > 0).then(|| &key[open..open + length])
}

/// The slot of a plain command's first key; a command without a key goes to any node.
pub(crate) fn of_command(command: &Cmd) -> Option<u16> {
    let words: Vec<_> = command.args_iter().take(4).collect();
    let word = |nth: usize| match words.get(nth) {
        Some(Arg::Simple(word)) => Some(*word),
        _ => None,
    };
    let key = match word(0)? {
        b"CLUSTER" | b"CONFIG" | b"FUNCTION" | b"INFO" | b"PING" | b"TIME" => None,
        b"EVAL" | b"EVALSHA" | b"FCALL" => word(2).filter(|keys| *keys != b"0").and_then(|_| word(3)),
        b"XINFO" => word(2),
        _ => word(1),
    };
    key.map(of_key)
}

#[cfg(test)]
mod tests {
    use redis::cmd;

    use super::*;

    /// The expected slots are the answers of `CLUSTER KEYSLOT`.
    #[test]
    fn key_slots_equal_those_of_redis() {
        for (key, slot) in [("123456789", 12_739), ("foo", 12_182), ("bar", 5_061), ("", 0), ("foo{}{bar}", 8_363)] {
            assert_eq!(of_key(key.as_bytes()), slot, "{key}");
        }
        assert_eq!(of_key(b"intray:{foo}:2:jobs"), of_key(b"foo"));
        assert_eq!(of_key(b"foo{{bar}}zap"), of_key(b"{bar"));
    }

    #[test]
    fn slot_of_a_command_is_that_of_its_key() {
        let slot = Some(of_key(b"foo"));
        assert_eq!(of_command(cmd("GET").arg("foo")), slot);
        assert_eq!(of_command(cmd("ZADD").arg("foo").arg(1).arg("m")), slot);
        assert_eq!(of_command(cmd("XINFO").arg("STREAM").arg("foo")), slot);
        assert_eq!(of_command(cmd("EVAL").arg("return 1").arg(2).arg("foo").arg("bar")), slot);
        assert_eq!(of_command(cmd("EVAL").arg("return 1").arg(0).arg("foo")), None);
        assert_eq!(of_command(&cmd("TIME")), None);
        assert_eq!(of_command(cmd("FUNCTION").arg("DELETE").arg("foo")), None);
    }
}
