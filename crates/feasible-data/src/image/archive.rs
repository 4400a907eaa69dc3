//! Files out of a tar archive, in one pass and without unpacking to disk.
//!
//! Only what CIFAR-10's archive needs: regular files by their last name, with the checksum of
//! every header verified. Links, long names and sparse files are stepped over.

use std::io::{Error, Read};

use super::error::ImageError;
use crate::error::Result;

/// A member larger than this is not what we look for.
const LARGEST: u64 = 1 << 28;

/// The contents of the members of these names (the part after the last slash), in the order of
/// `names`; `None` for those that are not there.
pub(super) fn members(
    file: &str,
    source: impl Read,
    names: &[&str],
) -> Result<Vec<Option<Vec<u8>>>> {
    let damaged = |reason: Error| ImageError::Archive {
        file: file.to_string(),
        reason: format!("{reason}: it is damaged or not a tar archive: download it again"),
    };
    let mut found: Vec<Option<Vec<u8>>> = vec![None; names.len()];
    let mut archive = tar::Archive::new(source);
    // Raw: a long name is else read to memory, whatever its length.
    for member in archive.entries().map_err(damaged)?.raw(true) {
        let mut member = member.map_err(damaged)?;
        let path = member.path_bytes();
        let last = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let wanted = names.iter().position(|name| name.as_bytes() == last);
        let size = member.size();
        if let Some(at) = wanted
            && member.header().entry_type().is_file()
            && size <= LARGEST
        {
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).map_err(damaged)?;
            if bytes.len() as u64 != size {
                return Err(damaged(Error::other(format!("{} ends too early", names[at]))).into());
            }
            found[at] = Some(bytes);
        }
    }
    Ok(found)
}
