//! The layout of kernel structures, from the type information (BTF) of the running kernel:
//! `/sys/kernel/btf/vmlinux`.
//!
//! Source: Documentation/bpf/btf.rst of the kernel. Numbers are in native byte order.

use std::fs;

const FILE: &str = "/sys/kernel/btf/vmlinux";
const STRUCT: u32 = 4;
const UNION: u32 = 5;

/// The types of a kernel.
pub(crate) struct Types {
    bytes: Vec<u8>,
    strings: usize,
    /// The offset of each type; types are numbered from one.
    starts: Vec<usize>,
}

impl Types {
    /// Reads the types of the running kernel.
    pub(crate) fn read() -> Result<Self, String> {
        let bytes = fs::read(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(bytes).ok_or_else(|| format!("{FILE}: this is not type information (BTF)"))
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        if word(&bytes, 0)? & 0xffff != 0xeb9f {
            return None;
        }
        let header = word(&bytes, 4)? as usize;
        let (start, len) = (word(&bytes, 8)? as usize, word(&bytes, 12)? as usize);
        let strings = header + word(&bytes, 16)? as usize;
        let mut at = header + start;
        let end = at + len;
        let mut starts = Vec::new();
        while at < end {
            starts.push(at);
            let info = word(&bytes, at + 4)?;
            at += 12 + extra(info >> 24 & 0x1f, (info & 0xffff) as usize)?;
        }
        Some(Self { bytes, strings, starts })
    }

    /// Returns the offset in bytes of `field` in the structure `name`. The field may be in an
    /// unnamed member.
    pub(crate) fn offset(&self, name: &str, field: &str) -> Result<u32, String> {
        let found = self.starts.iter().find(|&&at| self.is_structure(at) && self.called(at, name));
        found
            .and_then(|&at| self.bit(at, field))
            .map(|bit| bit / 8)
            .ok_or_else(|| format!("{FILE}: this kernel has no {name}.{field}"))
    }

    fn is_structure(&self, at: usize) -> bool {
        let info = word(&self.bytes, at + 4).unwrap_or(0);
        matches!(info >> 24 & 0x1f, STRUCT | UNION) && info & 0xffff > 0
    }

    /// Returns whether the type or member at `at` has this name.
    fn called(&self, at: usize, name: &str) -> bool {
        let start = self.strings + word(&self.bytes, at).unwrap_or(0) as usize;
        let text = self.bytes.get(start..).unwrap_or(&[]);
        text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0)
    }

    fn bit(&self, at: usize, field: &str) -> Option<u32> {
        let info = word(&self.bytes, at + 4)?;
        for member in (0..(info & 0xffff) as usize).map(|n| at + 12 + 12 * n) {
            // In structures with bit fields, the upper byte of an offset is a width.
            let place = word(&self.bytes, member + 8)?;
            let place = if info >> 31 == 1 { place & 0x00ff_ffff } else { place };
            if self.called(member, field) {
                return Some(place);
            }
            let inner = word(&self.bytes, member + 4)? as usize;
            let inner = self.starts.get(inner.wrapping_sub(1)).copied();
            let unnamed = inner.filter(|&at| self.called(member, "") && self.is_structure(at));
            if let Some(found) = unnamed.and_then(|at| self.bit(at, field)) {
                return Some(place + found);
            }
        }
        None
    }
}

/// Returns the length of the data after the first twelve bytes of a type, for this kind and number
/// of members. Returns `None` for an unknown kind.
fn extra(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,
        2 | 7..=12 | 16 | 18 => 0,
        3 => 12,
        STRUCT | UNION | 15 | 19 => 12 * members,
        6 | 13 => 8 * members,
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes([four[0], four[1], four[2], four[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn btf() -> Types {
        // The type is `struct s { int a; struct { int b : 3; int c; }; }`. The inner structure has
        // bit fields.
        let strings = b"\0int\0s\0a\0b\0c\0";
        let types: [&[u32]; 3] = [
            &[1, 1 << 24, 4, 32],
            &[0, 1 << 31 | STRUCT << 24 | 2, 8, 9, 1, 3 << 24, 11, 1, 32],
            &[5, STRUCT << 24 | 2, 12, 7, 1, 0, 0, 2, 32],
        ];
        let body: Vec<u8> =
            types.iter().copied().flatten().flat_map(|word| word.to_ne_bytes()).collect();
        let mut bytes: Vec<u8> =
            [0x0001_eb9f, 24, 0, body.len() as u32, body.len() as u32, strings.len() as u32]
                .iter()
                .flat_map(|word| word.to_ne_bytes())
                .collect();
        bytes.extend(body);
        bytes.extend(strings);
        Types::parse(bytes).expect("it is type information")
    }

    #[test]
    fn fields_of_unnamed_parts_are_found_where_they_lie() {
        let types = btf();
        assert_eq!(types.offset("s", "a"), Ok(0));
        assert_eq!(types.offset("s", "b"), Ok(4));
        assert_eq!(types.offset("s", "c"), Ok(8));
        assert!(types.offset("s", "d").unwrap_err().ends_with("no s.d"));
    }

    #[test]
    fn anything_else_is_not_taken_for_types() {
        assert!(Types::parse(vec![0; 64]).is_none());
    }
}
