//! The heading row of a table.

/// Skips the heading row, for a table that is appended to a file which already has one.
#[derive(Default)]
pub struct Heading {
    is_quoted: bool,
    is_over: bool,
}

impl Heading {
    /// Returns the part of a piece that follows the heading row.
    pub fn after<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        if self.is_over {
            return piece;
        }
        for (n, byte) in piece.iter().enumerate() {
            match byte {
                b'"' => self.is_quoted = !self.is_quoted,
                b'\n' if !self.is_quoted => {
                    self.is_over = true;
                    return &piece[n + 1..];
                }
                _ => {}
            }
        }
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_after_the_heading_do_not_depend_on_chunks() {
        let table = b"id,\"a\r\n\"\"b\"\"\n\"\r\n1,\"x\r\ny\"\r\n";
        let whole = Heading::default().after(table).to_vec();
        assert_eq!(whole, b"1,\"x\r\ny\"\r\n");
        let mut heading = Heading::default();
        let by_bytes: Vec<u8> = table.chunks(1).flat_map(|byte| heading.after(byte).to_vec()).collect();
        assert_eq!(by_bytes, whole);
    }
}
