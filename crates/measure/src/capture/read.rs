//! Reads captures, in pcap or pcapng format, one packet at a time.
//!
//! Sources: draft-ietf-opsawg-pcap (both byte orders, micro- and nanoseconds) and
//! draft-ietf-opsawg-pcapng. In pcapng, this module reads sections, interfaces with their time
//! resolution and offset, and the enhanced and the obsolete packet blocks. It refuses simple packet
//! blocks, which have no time, and skips other blocks. The framing is read without a library.
//! Errors can therefore name the wrong byte and the values allowed, and no length in the file
//! determines the memory used.

use std::io::Read;

use super::error::CaptureError;
use super::input::{ByteOrder, Input};

/// The maximum number of captured bytes of a packet, as in Wireshark
/// (`WTAP_MAX_PACKET_SIZE_STANDARD`).
const MAX_PACKET: u32 = 262_144;
/// The length in bytes of the longest interface description that is read.
const MAX_DESCRIPTION: u32 = 65_536;
/// The maximum number of interfaces of one section.
const MAX_INTERFACES: usize = 4_096;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// A packet as the capture holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw<'a> {
    /// Nanoseconds since 1970 by the capture's clock, below 2⁶³.
    pub(super) at: u64,
    /// The number of the link type.
    pub(super) link: u32,
    /// The original length of the packet in bytes.
    pub(super) length: u32,
    /// The bytes of the packet that were captured.
    pub(super) data: &'a [u8],
}

/// The link type and the time format of an interface.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u32,
    ticks_per_second: u64,
    offset_seconds: i64,
}

enum Format {
    Classic { order: ByteOrder, interface: Interface },
    Blocks { order: ByteOrder, interfaces: Vec<Interface> },
}

/// A reader of one capture.
pub(super) struct CaptureReader<R> {
    input: Input<R>,
    format: Format,
    data: Vec<u8>,
}

impl<R: Read> CaptureReader<R> {
    /// Returns a reader of `bytes`. Errors call the capture `file`.
    pub(super) fn new(bytes: R, file: &str) -> Result<Self, CaptureError> {
        let mut input = Input::new(bytes, file);
        if input.at_end()? {
            return Err(input.error("the file is empty"));
        }
        let mut magic = [0; 4];
        input.fill(&mut magic, "the magic number")?;
        let classic = |order, ticks| Some((order, ticks));
        let found = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => classic(ByteOrder::Little, 1_000_000),
            [0xa1, 0xb2, 0xc3, 0xd4] => classic(ByteOrder::Big, 1_000_000),
            [0x4d, 0x3c, 0xb2, 0xa1] => classic(ByteOrder::Little, 1_000_000_000),
            [0xa1, 0xb2, 0x3c, 0x4d] => classic(ByteOrder::Big, 1_000_000_000),
            [0x0a, 0x0d, 0x0d, 0x0a] => None,
            [0x1f, 0x8b, ..] => return Err(input.error("is compressed: unpack it with gunzip")),
            other => {
                let problem = format!("begins with {other:02x?}: allowed are pcap and pcapng");
                return Err(input.error(problem));
            }
        };
        let format = match found {
            Some((order, ticks)) => classic_header(&mut input, order, ticks)?,
            None => Format::Blocks {
                order: section(&mut input, "the section header")?,
                interfaces: Vec::new(),
            },
        };
        Ok(Self { input, format, data: Vec::new() })
    }

    /// Returns the next packet, or `None` at the end of the capture.
    pub(super) fn next(&mut self) -> Result<Option<Raw<'_>>, CaptureError> {
        let header = match &mut self.format {
            Format::Classic { order, interface } => {
                classic_record(&mut self.input, *order, interface, &mut self.data)?
            }
            Format::Blocks { order, interfaces } => loop {
                if self.input.at_end()? {
                    break None;
                }
                let found = block(&mut self.input, order, interfaces, &mut self.data)?;
                if found.is_some() {
                    break found;
                }
            },
        };
        Ok(header.map(|(at, link, length)| Raw { at, link, length, data: &self.data }))
    }

    /// Returns an error at the last packet.
    pub(super) fn error(&self, problem: impl Into<String>) -> CaptureError {
        self.input.error(problem)
    }
}

/// The time, link type and original length of a packet.
type Seen = (u64, u32, u32);

fn classic_header<R: Read>(
    input: &mut Input<R>,
    order: ByteOrder,
    ticks_per_second: u64,
) -> Result<Format, CaptureError> {
    let mut header = [0; 20];
    input.fill(&mut header, "the file header")?;
    let major = order.u16(&header, 0);
    if major != 2 {
        return Err(input.error(format!("pcap version {major}: allowed is 2")));
    }
    // The upper bits describe the frame check sequence.
    let link = order.u32(&header, 16) & 0xffff;
    Ok(Format::Classic {
        order,
        interface: Interface { link, ticks_per_second, offset_seconds: 0 },
    })
}

fn classic_record<R: Read>(
    input: &mut Input<R>,
    order: ByteOrder,
    interface: &Interface,
    data: &mut Vec<u8>,
) -> Result<Option<Seen>, CaptureError> {
    if input.at_end()? {
        return Ok(None);
    }
    input.begin();
    input.packet += 1;
    let mut header = [0; 16];
    input.fill(&mut header, "the packet's header")?;
    let [seconds, fraction, captured, length] = [0, 4, 8, 12].map(|at| order.u32(&header, at));
    if u64::from(fraction) >= interface.ticks_per_second {
        let most = interface.ticks_per_second - 1;
        return Err(
            input.error(format!("a fraction of a second of {fraction}: allowed are 0 to {most}"))
        );
    }
    keep(input, data, captured)?;
    let ticks = u64::from(seconds) * interface.ticks_per_second + u64::from(fraction);
    Ok(Some((time(input, interface, ticks)?, interface.link, length.max(captured))))
}

/// Reads the captured bytes of a packet into `data`.
fn keep<R: Read>(
    input: &mut Input<R>,
    data: &mut Vec<u8>,
    captured: u32,
) -> Result<(), CaptureError> {
    if captured > MAX_PACKET {
        return Err(
            input.error(format!("a packet of {captured} bytes: allowed are up to {MAX_PACKET}"))
        );
    }
    data.resize(captured as usize, 0);
    input.fill(data, "the packet")
}

fn time<R: Read>(input: &Input<R>, interface: &Interface, ticks: u64) -> Result<u64, CaptureError> {
    let per_second = i128::from(interface.ticks_per_second);
    let nanos = i128::from(ticks) * 1_000_000_000 / per_second
        + i128::from(interface.offset_seconds) * 1_000_000_000;
    i64::try_from(nanos)
        .ok()
        .and_then(|nanos| u64::try_from(nanos).ok())
        .ok_or_else(|| input.error("its time is outside the years 1970 to 2262"))
}

/// Reads the rest of a section header, and returns the section's byte order.
fn section<R: Read>(input: &mut Input<R>, what: &str) -> Result<ByteOrder, CaptureError> {
    let mut header = [0; 8];
    input.fill(&mut header, what)?;
    let order = match header[4..] {
        [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
        [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
        _ => return Err(input.error("a section header without its byte-order magic")),
    };
    let length = order.u32(&header, 0);
    if length < 28 || length % 4 != 0 {
        return Err(
            input.error(format!("a section header of {length} bytes: allowed are 28, 32 …"))
        );
    }
    // Type, length and magic number have been read; version, section length and options follow.
    input.skip(u64::from(length) - 12 - 4, what)?;
    footer(input, order, length)?;
    Ok(order)
}

/// Reads one block; returns `Some` if the block held a packet.
fn block<R: Read>(
    input: &mut Input<R>,
    order: &mut ByteOrder,
    interfaces: &mut Vec<Interface>,
    data: &mut Vec<u8>,
) -> Result<Option<Seen>, CaptureError> {
    input.begin();
    let mut header = [0; 4];
    input.fill(&mut header, "a block's header")?;
    let kind = order.u32(&header, 0);
    if kind == SECTION {
        *order = section(input, "a section header")?;
        interfaces.clear();
        return Ok(None);
    }
    input.fill(&mut header, "a block's header")?;
    let length = order.u32(&header, 0);
    if length < 12 || !length.is_multiple_of(4) {
        return Err(input.error(format!("a block of {length} bytes: allowed are 12, 16 …")));
    }
    let body = length - 12;
    let seen = match kind {
        INTERFACE => {
            interfaces.push(interface(input, *order, body, interfaces.len())?);
            None
        }
        ENHANCED_PACKET | OBSOLETE_PACKET => {
            Some(packet(input, kind, *order, body, interfaces, data)?)
        }
        SIMPLE_PACKET => {
            input.packet += 1;
            return Err(input.error("a simple packet block, which has no time"));
        }
        _ => {
            input.skip(u64::from(body), "a block")?;
            None
        }
    };
    footer(input, *order, length)?;
    Ok(seen)
}

fn footer<R: Read>(
    input: &mut Input<R>,
    order: ByteOrder,
    length: u32,
) -> Result<(), CaptureError> {
    let mut footer = [0; 4];
    input.fill(&mut footer, "a block's end")?;
    let again = order.u32(&footer, 0);
    if again == length {
        return Ok(());
    }
    Err(input.error(format!("a block says {length} bytes at its start and {again} at its end")))
}

fn packet<R: Read>(
    input: &mut Input<R>,
    kind: u32,
    order: ByteOrder,
    body: u32,
    interfaces: &[Interface],
    data: &mut Vec<u8>,
) -> Result<Seen, CaptureError> {
    input.packet += 1;
    let mut header = [0; 20];
    if body < 20 {
        return Err(input.error(format!("a packet block of {} bytes: at least 32", body + 12)));
    }
    input.fill(&mut header, "a packet block")?;
    let number = match kind {
        OBSOLETE_PACKET => u32::from(order.u16(&header, 0)),
        _ => order.u32(&header, 0),
    };
    let interface = interfaces.get(number as usize).ok_or_else(|| {
        input.error(format!("interface {number}: the section has described {}", interfaces.len()))
    })?;
    let [high, low, captured, length] = [4, 8, 12, 16].map(|at| order.u32(&header, at));
    let padded = u64::from(captured).next_multiple_of(4);
    let Some(rest) = u64::from(body - 20).checked_sub(padded) else {
        return Err(input.error(format!(
            "a packet of {captured} bytes in a block that has {} for it",
            body - 20
        )));
    };
    keep(input, data, captured)?;
    input.skip(padded - u64::from(captured) + rest, "a packet block")?;
    let ticks = u64::from(high) << 32 | u64::from(low);
    Ok((time(input, interface, ticks)?, interface.link, length.max(captured)))
}

fn interface<R: Read>(
    input: &mut Input<R>,
    order: ByteOrder,
    body: u32,
    known: usize,
) -> Result<Interface, CaptureError> {
    if !(8..=MAX_DESCRIPTION).contains(&body) || known >= MAX_INTERFACES {
        return Err(input.error(format!(
            "interface {known}, described in {body} bytes: \
             allowed are {MAX_INTERFACES} interfaces, and 8 to {MAX_DESCRIPTION} bytes"
        )));
    }
    let mut description = vec![0; body as usize];
    input.fill(&mut description, "an interface description")?;
    let mut interface = Interface {
        link: u32::from(order.u16(&description, 0)),
        ticks_per_second: 1_000_000,
        offset_seconds: 0,
    };
    let mut options = &description[8..];
    while options.len() >= 4 {
        let (code, length) = (order.u16(options, 0), usize::from(order.u16(options, 2)));
        let Some(value) = options.get(4..4 + length) else {
            return Err(input.error("an option that is longer than its interface description"));
        };
        match (code, value) {
            (0, _) => break,
            (9, &[resolution]) => interface.ticks_per_second = ticks(input, resolution)?,
            (14, value) if length == 8 => {
                let [first, second] = [order.u32(value, 0), order.u32(value, 4)].map(u64::from);
                let offset = match order {
                    ByteOrder::Little => second << 32 | first,
                    ByteOrder::Big => first << 32 | second,
                };
                interface.offset_seconds = i64::from_ne_bytes(offset.to_ne_bytes());
            }
            _ => {}
        }
        options = options.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(interface)
}

/// Returns the ticks per second of `if_tsresol`: a negative power of ten, or of two if the highest
/// bit is set.
fn ticks<R: Read>(input: &Input<R>, resolution: u8) -> Result<u64, CaptureError> {
    let power = u32::from(resolution & 0x7f);
    let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(power).ok_or_else(|| {
        input.error(format!("a time resolution of {base}^-{power} s: allowed are 10^-19 and 2^-63"))
    })
}

#[cfg(test)]
mod tests;
