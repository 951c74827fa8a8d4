//! The calls that a discipline's machine code makes, found in the memory of the running kernel.
//!
//! Sources: `/proc/kallsyms` lists the addresses of functions, and `/proc/kcore` contains the
//! memory as an ELF core file (`fs/proc/kcore.c`). A direct call on x86-64 is the byte E8 and the
//! distance from the next instruction to the called function.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use super::record;

const SYMBOLS: &str = "/proc/kallsyms";
const MEMORY: &str = "/proc/kcore";
const CALL: u8 = 0xe8;
const CALL_LEN: usize = 5;
/// The size of the ELF header in bytes.
const ELF_HEADER: usize = 64;
/// The maximum number of bytes that are read of a function.
const MOST: u64 = 1 << 16;
/// The type of a program header that describes memory.
const PT_LOAD: u64 = 1;

/// A function of the kernel. Its label has the form of a probe: "module:name" or "name".
#[derive(Debug, PartialEq, Eq)]
struct Function {
    label: String,
    start: u64,
    len: u64,
}

/// The code of a discipline's own functions.
pub(crate) struct Code {
    symbols: String,
    functions: Vec<(Function, Vec<u8>)>,
}

impl Code {
    /// Reads the functions of the running kernel whose names begin with `own`
    /// ([`record::is_own`]). The modules of the discipline must be loaded.
    pub(crate) fn read(own: &str) -> Result<Self, String> {
        let symbols = fs::read_to_string(SYMBOLS).map_err(|error| at(SYMBOLS, &error))?;
        let memory = Memory::open().map_err(|error| at(MEMORY, &error))?;
        let bytes = |one: Function| {
            let mut bytes = vec![0; one.len as usize];
            memory.read(one.start, &mut bytes).map(|()| (one, bytes))
        };
        let functions: io::Result<_> =
            own_functions(&symbols, own).into_iter().map(bytes).collect();
        Ok(Self { functions: functions.map_err(|error| at(MEMORY, &error))?, symbols })
    }

    /// Returns the places in the discipline's functions to which calls of `callee` return, in the
    /// form of a probe.
    pub(crate) fn returns(&self, callee: &str) -> Result<Vec<String>, String> {
        let target = texts(&self.symbols).find(|text| text.name == callee);
        let target = target.ok_or_else(|| format!("{SYMBOLS}: there is no function {callee}"))?;
        let places = |(function, bytes): &(Function, Vec<u8>)| {
            let found = returns(function.start, bytes, target.start);
            let place = |offset| format!("{}+{offset:#x}", function.label);
            found.into_iter().map(place).collect::<Vec<_>>()
        };
        Ok(self.functions.iter().flat_map(places).collect())
    }
}

fn at(path: &str, error: &io::Error) -> String {
    format!("{path}: {error}")
}

/// A line of `/proc/kallsyms` that describes a function.
struct Text<'a> {
    start: u64,
    name: &'a str,
    /// The module in brackets; `None` if the function is built in.
    module: Option<&'a str>,
}

/// Returns the functions in the text of `/proc/kallsyms`.
fn texts(symbols: &str) -> impl Iterator<Item = Text<'_>> {
    symbols.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
        let start = u64::from_str_radix(address, 16).ok()?;
        let text = Text { start, name, module: words.next() };
        matches!(kind, "t" | "T" | "w" | "W").then_some(text)
    })
}

/// Returns the functions whose names begin with `own`. A function ends where the next function
/// starts.
fn own_functions(symbols: &str, own: &str) -> Vec<Function> {
    let mut starts: Vec<u64> = texts(symbols).map(|text| text.start).collect();
    starts.sort_unstable();
    let function = |Text { start, name, module }: Text<'_>| {
        let next = starts[starts.partition_point(|&one| one <= start)..].first();
        let len = next.map_or(MOST, |&next| (next - start).min(MOST));
        let module = module.map(|module| module.trim_matches(['[', ']']));
        let label = module.map_or(name.into(), |module| format!("{module}:{name}"));
        Function { label, start, len }
    };
    texts(symbols).filter(|text| record::is_own(text.name, own)).map(function).collect()
}

/// Returns the offsets of the instructions that follow the calls of `target`, in code that starts
/// at `start`.
fn returns(start: u64, code: &[u8], target: u64) -> Vec<u64> {
    let calls = code.windows(CALL_LEN).enumerate().filter(|(_, bytes)| bytes[0] == CALL);
    let ends = calls.filter_map(|(place, bytes)| {
        let distance = i32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        let end = (place + CALL_LEN) as u64;
        ((start + end).wrapping_add_signed(distance.into()) == target).then_some(end)
    });
    ends.collect()
}

/// The memory of the kernel.
struct Memory {
    file: File,
    segments: Vec<Segment>,
}

/// A part of the memory: its address, its length and its offset in the file.
#[derive(Debug, PartialEq, Eq)]
struct Segment {
    address: u64,
    len: u64,
    offset: u64,
}

impl Memory {
    fn open() -> io::Result<Self> {
        let file = File::open(MEMORY)?;
        let mut header = [0; ELF_HEADER];
        file.read_exact_at(&mut header, 0)?;
        let (start, size, count) =
            (number(&header, 32, 8), number(&header, 54, 2), number(&header, 56, 2));
        let mut table = vec![0; (size * count) as usize];
        file.read_exact_at(&mut table, start)?;
        let segments = table.chunks_exact(size as usize).filter_map(segment).collect();
        Ok(Self { file, segments })
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let holds = |one: &&Segment| {
            address
                .checked_sub(one.address)
                .is_some_and(|into| into + bytes.len() as u64 <= one.len)
        };
        let segment = self.segments.iter().find(holds).ok_or(io::ErrorKind::NotFound)?;
        self.file.read_exact_at(bytes, segment.offset + (address - segment.address))
    }
}

/// Parses a program header; returns `None` if the header does not describe memory.
fn segment(header: &[u8]) -> Option<Segment> {
    let field = |place| number(header, place, 8);
    (number(header, 0, 4) == PT_LOAD).then(|| Segment {
        offset: field(8),
        address: field(16),
        len: field(32),
    })
}

/// Returns the little-endian number of `len` bytes at `place`.
fn number(bytes: &[u8], place: usize, len: usize) -> u64 {
    bytes[place..place + len].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "ffffffff81000000 T ktime_get\n\
        ffffffff81000100 t cake_built_in\n\
        ffffffff81000180 D cake_data\n\
        ffffffff81000200 T other\n\
        ffffffffc0000000 t cake_dequeue\t[sch_cake]\n\
        ffffffffc0000040 t cobalt_cache\t[sch_cake]\n";

    #[test]
    fn own_functions_end_where_the_next_one_starts() {
        let function = |label: &str, start, len| Function { label: label.into(), start, len };
        let wanted = [
            function("cake_built_in", 0xffff_ffff_8100_0100, 0x100),
            function("sch_cake:cake_dequeue", 0xffff_ffff_c000_0000, 0x40),
        ];
        assert_eq!(own_functions(SYMBOLS, "cake_"), wanted);
    }

    #[test]
    fn calls_of_a_function_are_found_and_other_calls_are_not() {
        let target = 0xffff_ffff_8100_0000_u64;
        let start = 0xffff_ffff_c000_0000_u64;
        let call = |place: u64, target: u64| {
            let distance = target.wrapping_sub(start + place + 5) as u32;
            [&[CALL], &distance.to_le_bytes()[..]].concat()
        };
        let code = [vec![0x90], call(1, target), vec![CALL], call(7, target + 1), call(12, target)];
        assert_eq!(returns(start, &code.concat(), target), [6, 17]);
    }

    #[test]
    fn a_program_header_of_memory_is_a_segment() {
        let mut header = [0; 56];
        header[0] = 1;
        header[8..16].copy_from_slice(&0x1000_u64.to_le_bytes());
        header[16..24].copy_from_slice(&0xffff_u64.to_le_bytes());
        header[32..40].copy_from_slice(&7_u64.to_le_bytes());
        let wanted = Segment { address: 0xffff, len: 7, offset: 0x1000 };
        assert_eq!(segment(&header), Some(wanted));
        header[0] = 4;
        assert_eq!(segment(&header), None);
    }
}
