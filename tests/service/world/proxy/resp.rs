//! Redis's protocol, as far as it takes to tell one command or reply from the next.

/// How long the value at the beginning is, if all of it is there.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let (line, end) = line(bytes)?;
    let parts = match bytes[0] {
        b'$' | b'!' | b'=' => {
            let whole = usize::try_from(number(line)?).map_or(end, |length| end + length + 2);
            return (bytes.len() >= whole).then_some(whole);
        }
        b'*' | b'~' | b'>' => number(line)?,
        b'%' => number(line)? * 2,
        _ => 0,
    };
    (0..parts).try_fold(end, |at, _| Some(at + length(bytes.get(at..)?)?))
}

/// The words of a command.
pub(super) fn words(command: &[u8]) -> Vec<&[u8]> {
    let (mut words, mut rest) = (Vec::new(), command);
    if let Some((_, begin)) = line(rest) {
        rest = &rest[begin..];
    }
    while let Some((word, after)) = word(rest) {
        words.push(word);
        rest = after;
    }
    words
}

/// And what follows it.
fn word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, begin) = line(bytes).filter(|_| bytes[0] == b'$')?;
    let end = begin + usize::try_from(number(length)?).ok()?;
    Some((bytes.get(begin..end)?, bytes.get(end + 2..)?))
}

/// The first line without its kind, and where the next begins.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[1..end], end + 2))
}

fn number(line: &[u8]) -> Option<i64> {
    std::str::from_utf8(line).ok()?.parse().ok()
}
