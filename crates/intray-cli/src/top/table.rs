//! Lays out rows and columns as lines of text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Spaces between two columns.
const GAP: usize = 2;
/// The first column gets this width before other columns get room, so that queues and workers can be told apart.
const MIN_FIRST_WIDTH: usize = 12;

/// The first column is text, the others are numbers. Columns that do not fit the width are left out, the last ones first.
pub(super) fn lines<const N: usize>(heads: [&str; N], rows: &[[String; N]], width: usize) -> Vec<String> {
    let widths: [usize; N] = std::array::from_fn(|nth| {
        let cells = rows.iter().map(|row| row[nth].width());
        cells.chain([heads[nth].width()]).max().unwrap_or_default()
    });
    let mut room = width.saturating_sub(widths[0].min(MIN_FIRST_WIDTH));
    let fits = |wide: &&usize| {
        let fits = room >= **wide + GAP;
        room = room.saturating_sub(**wide + GAP);
        fits
    };
    let shown = widths[1..].iter().take_while(fits).count();
    let figures: usize = widths[1..=shown].iter().map(|wide| wide + GAP).sum();
    let first = widths[0].min(width.saturating_sub(figures));
    let line = |cells: &[&str]| {
        let mut line = padded(cells[0], first);
        for (cell, wide) in cells[1..].iter().zip(&widths[1..=shown]) {
            line.push_str(&format!("{:>1$}", cell, wide + GAP));
        }
        line.trim_end().to_owned()
    };
    let head = line(&heads);
    std::iter::once(head).chain(rows.iter().map(|row| line(&row.each_ref().map(String::as_str)))).collect()
}

/// Pads or cuts text to exactly this width. A mark shows where text was cut.
pub(super) fn padded(text: &str, width: usize) -> String {
    let cut = cut(text, width);
    let missing = width.saturating_sub(cut.width());
    cut + &" ".repeat(missing)
}

/// Cuts text to at most this width.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let wide = c.width().unwrap_or_default();
        let fits = wide <= room;
        room = room.saturating_sub(wide);
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    if width == 0 { kept } else { kept + "…" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [[String; 3]; 2] {
        [["moderation-of-photos", "12", "3"], ["日本", "1234567", ""]].map(|row| row.map(str::to_owned))
    }

    #[test]
    fn each_column_is_as_wide_as_what_is_in_it() {
        let wide = lines(["QUEUE", "WAITING", "HELD"], &rows(), usize::MAX);
        assert_eq!(
            wide,
            [
                "QUEUE                 WAITING  HELD",
                "moderation-of-photos       12     3",
                "日本                  1234567"
            ]
        );
    }

    #[test]
    fn columns_without_room_are_left_out() {
        assert_eq!(lines(["QUEUE", "WAITING", "HELD"], &rows(), 22)[1], "moderation-o…       12");
        assert_eq!(lines(["QUEUE", "WAITING", "HELD"], &rows(), 15)[1], "moderation-of-…");
        for width in 0..60 {
            for line in lines(["QUEUE", "WAITING", "HELD"], &rows(), width) {
                assert!(line.width() <= width, "{width}: {line:?}");
            }
        }
    }
}
