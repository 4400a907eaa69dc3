//! Files out of a tar archive, in one pass and without unpacking to disk.
//!
//! Only what CIFAR-10's archive needs: regular files by their last name, with the checksum of
//! every header verified. Links, long names and sparse files are stepped over.

use std::io::Read;

use super::error::ImageError;
use crate::error::Result;

const BLOCK: usize = 512;
/// A member larger than this is not what we look for.
const LARGEST: u64 = 1 << 28;

/// The contents of the members of these names (the part after the last slash), in the order of
/// `names`; `None` for those that are not there.
pub(super) fn members(
    file: &str,
    mut source: impl Read,
    names: &[&str],
) -> Result<Vec<Option<Vec<u8>>>> {
    let damaged = |reason: &str| ImageError::Archive {
        file: file.to_string(),
        reason: format!("{reason}: it is damaged or no tar archive, fetch it again"),
    };
    let mut found: Vec<Option<Vec<u8>>> = vec![None; names.len()];
    loop {
        let mut header = [0; BLOCK];
        source.read_exact(&mut header).map_err(|_| damaged("it ends too early"))?;
        if header.iter().all(|&byte| byte == 0) {
            return Ok(found);
        }
        // The sum of the header's bytes, its own checksum field read as spaces.
        let sum: u64 = (0..BLOCK)
            .map(|at| if (148..156).contains(&at) { 32 } else { u64::from(header[at]) })
            .sum();
        if octal(&header[148..156]) != Some(sum) {
            return Err(damaged("a header's checksum is wrong").into());
        }
        let size = octal(&header[124..136]).ok_or_else(|| damaged("a header has no size"))?;
        let name = text(&header[..100]);
        let last = name.rsplit('/').next().unwrap_or_default();
        let regular = matches!(header[156], b'0' | 0);
        let wanted = names.iter().position(|&n| n == last).filter(|_| regular);
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        match wanted {
            Some(at) if size <= LARGEST => {
                let mut bytes = Vec::new();
                let read = source.by_ref().take(size).read_to_end(&mut bytes);
                if read.is_err() || bytes.len() as u64 != size {
                    return Err(damaged(&format!("{last} ends too early")).into());
                }
                found[at] = Some(bytes);
                skip(&mut source, padding).ok_or_else(|| damaged("it ends too early"))?;
            }
            _ => {
                skip(&mut source, size.saturating_add(padding))
                    .ok_or_else(|| damaged("it ends too early"))?;
            }
        }
    }
}

fn skip(source: &mut impl Read, count: u64) -> Option<()> {
    let skipped = std::io::copy(&mut source.by_ref().take(count), &mut std::io::sink()).ok()?;
    (skipped == count).then_some(())
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = text(field);
    let digits = text.trim_matches(' ');
    (!digits.is_empty()).then(|| u64::from_str_radix(digits, 8).ok()).flatten()
}
