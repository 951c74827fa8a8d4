//! A packet: its headers without its bytes.
//!
//! A discipline reads these headers and not the wire image. One implementation of a discipline
//! therefore handles both simulated packets, which have no bytes, and real packets, whose bytes the
//! driver keeps.

use std::ops::{Deref, DerefMut};
use std::slice;

use crate::hint::rare;
use crate::{Bytes, Instant, QuicDatagram};

/// A packet in a link, a queue or a host.
///
/// Its fields stay at one address in memory. Enqueue and dequeue move only a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet(Box<PacketFields>);

impl Packet {
    /// Returns a UDP packet of connection and flow number `conn`, for tests and tools. Fields that
    /// no argument sets have defaults.
    pub fn plain(id: u64, conn: u32, ip_len: u32) -> Self {
        PacketFields::plain(id, conn, ip_len).into()
    }
}

impl Default for Packet {
    /// Returns a packet of zero bytes, as a placeholder where there is no packet.
    #[cold]
    fn default() -> Self {
        Self::plain(0, 0, 0)
    }
}

impl From<PacketFields> for Packet {
    #[inline]
    fn from(fields: PacketFields) -> Self {
        Self(Box::new(fields))
    }
}

impl Deref for Packet {
    type Target = PacketFields;

    #[inline]
    fn deref(&self) -> &PacketFields {
        &self.0
    }
}

impl DerefMut for Packet {
    #[inline]
    fn deref_mut(&mut self) -> &mut PacketFields {
        &mut self.0
    }
}

/// The fields of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketFields {
    /// The packet's number, unique within a run and increasing in the order of transmission. The
    /// taps of a real network identify a packet by its contents instead.
    pub id: u64,
    /// The time at which the packet entered its current queue.
    pub enqueued: Instant,
    /// The index of the application to which the packet belongs.
    pub flow: u32,
    /// The index of the packet's connection (its five-tuple) among the connections of the run.
    pub conn: u32,
    /// A hash of the packet's five-tuple in its direction. Disciplines mix in their own salt.
    pub tuple_hash: u32,
    /// The IPv4 address of the sender.
    pub source: u32,
    /// The IPv4 address of the receiver.
    pub destination: u32,
    /// The size of the IP packet in bytes, including its headers.
    pub ip_len: u32,
    /// The size in bytes as the current discipline counts it: the IP packet, or the IP packet and a
    /// link header.
    pub len: u32,
    /// The packet's direction through the access line.
    pub direction: Direction,
    /// The number of hops that the packet has completed on its route.
    pub hop: u8,
    /// The ECN field of the IP header (RFC 3168 §5).
    pub ecn: Ecn,
    /// The Differentiated Services codepoint of the IP header (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// Linux's `skb->priority`, 0 to 15, which `pfifo_fast` maps to a band.
    pub priority: u8,
    /// The transport header.
    pub header: Header,
}

impl PacketFields {
    /// Returns the size as the current discipline counts it.
    #[inline]
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.len as u64)
    }

    /// Returns the fields of a UDP packet of connection and flow number `conn`, for tests and
    /// tools. Fields that no argument sets have defaults.
    pub fn plain(id: u64, conn: u32, ip_len: u32) -> Self {
        let tuple = FiveTuple::nth(conn);
        Self {
            id,
            enqueued: Instant::ZERO,
            flow: conn,
            conn,
            tuple_hash: tuple.hash(),
            source: tuple.source,
            destination: tuple.destination,
            ip_len,
            len: ip_len,
            direction: Direction::Up,
            hop: 0,
            ecn: Ecn::NotEct,
            dscp: 0,
            priority: 0,
            header: Header::Udp(UdpHeader { tag: id }),
        }
    }
}

/// The direction of a packet through the access line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the home to the internet.
    Up,
    /// From the internet to the home.
    Down,
}

impl Direction {
    /// Both directions; the first is [`Direction::Up`].
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Returns the other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    /// Returns the side that receives packets of this direction.
    #[inline]
    pub const fn receiver(self) -> Side {
        match self {
            Self::Up => Side::Wan,
            Self::Down => Side::Home,
        }
    }

    /// Returns the side that sends packets of this direction.
    #[inline]
    pub const fn sender(self) -> Side {
        self.receiver().peer()
    }

    /// Returns the direction's index in [`Direction::BOTH`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the direction's name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// An end of the access line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The home, which sends upstream packets.
    Home,
    /// The internet, which sends downstream packets.
    Wan,
}

impl Side {
    /// Both ends; the first is [`Side::Home`].
    pub const BOTH: [Self; 2] = [Self::Home, Self::Wan];

    /// Returns the direction of the packets that this side sends.
    #[inline]
    pub const fn sends(self) -> Direction {
        match self {
            Self::Home => Direction::Up,
            Self::Wan => Direction::Down,
        }
    }

    /// Returns the other end.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Home => Self::Wan,
            Self::Wan => Self::Home,
        }
    }

    /// Returns the index of the end in [`Side::BOTH`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport is not ECN-capable. Only a drop can signal congestion.
    #[default]
    NotEct,
    /// ECT(0): a classic ECN-capable transport.
    Ect0,
    /// ECT(1): an L4S-capable transport (RFC 9331).
    Ect1,
    /// CE: congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns whether a queue may mark a packet with this field instead of dropping it.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// Returns the field's two bits in the IP header (RFC 3168 §5).
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// The transport header of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// A UDP datagram.
    Udp(UdpHeader),
    /// A UDP datagram of QUIC. The contents are boxed, because few packets have them.
    Quic(Box<QuicDatagram>),
    /// An ICMP echo request or reply.
    Icmp(UdpHeader),
}

/// The header of a UDP datagram or of an ICMP echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// The number that the application gives to the datagram. The first eight bytes of the payload
    /// hold this number, if the payload is long enough.
    pub tag: u64,
}

/// A TCP segment, with sequence numbers that do not wrap.
///
/// `seq` counts from the sender's initial sequence number and `ack` from the peer's, so a SYN has
/// `seq` 0 and the first byte of data is number 1. Both numbers are truncated to 32 bits only in
/// the wire format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// The sequence number of the first byte (or of the SYN or FIN).
    pub seq: u64,
    /// The next sequence number expected from the peer; valid with [`TcpFlags::ACK`].
    pub ack: u64,
    /// The length of the data in bytes.
    pub payload: u32,
    /// The receive window in bytes, after scaling.
    pub window: u32,
    /// The timestamp value (RFC 7323) in ticks of the sender's clock; zero without the option.
    pub ts_val: u32,
    /// The echoed timestamp of the peer; see [`TcpHeader::ts_val`].
    pub ts_ecr: u32,
    /// Up to four SACK blocks; a SYN has none.
    pub sack: SackBlocks,
    /// The control bits.
    pub flags: TcpFlags,
    /// The length of the options in bytes, including padding. The whole header is 20 bytes longer.
    pub options_len: u8,
    /// In a SYN: the maximum segment size offered.
    pub mss: u16,
    /// In a SYN: the window scale offered (RFC 7323), or 255 for none.
    pub window_scale: u8,
    /// In a SYN: whether SACK is permitted.
    pub sack_permitted: bool,
    /// Whether a timestamp option is present.
    pub timestamps: bool,
}

impl TcpHeader {
    /// Copies the fields of `from` into this header, one by one, but moves the SACK blocks.
    /// Afterwards `from` has no SACK blocks.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn take_from(&mut self, from: &mut Self) {
        // Without `..`, the compiler reports a new field, which would keep its former value.
        let Self {
            seq,
            ack,
            payload,
            window,
            ts_val,
            ts_ecr,
            sack,
            flags,
            options_len,
            mss,
            window_scale,
            sack_permitted,
            timestamps,
        } = self;
        (*seq, *ack, *payload, *window) = (from.seq, from.ack, from.payload, from.window);
        (*ts_val, *ts_ecr) = (from.ts_val, from.ts_ecr);
        if !sack.is_empty() | !from.sack.is_empty() {
            rare();
            *sack = std::mem::take(&mut from.sack);
        }
        (*flags, *options_len, *mss) = (from.flags, from.options_len, from.mss);
        (*window_scale, *sack_permitted) = (from.window_scale, from.sack_permitted);
        *timestamps = from.timestamps;
    }

    /// Returns the sequence number after this segment. SYN and FIN count as one each.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.seq
            + self.payload as u64
            + self.flags.has(TcpFlags::SYN) as u64
            + self.flags.has(TcpFlags::FIN) as u64
    }
}

/// The control bits of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// The sender has no more data.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push the data to the application.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);
    /// Accurate ECN (RFC 9768 §3.1).
    pub const AE: Self = Self(0x100);
    /// The three bits of the ACE field (RFC 9768 §3.2.2): AE, CWR and ECE.
    pub const ACE: Self = Self(0x1c0);

    /// Returns whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether at least one bit of `other` is set.
    #[inline]
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the bits of `self` and `other` together.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the value of the ACE field: AE counts four, CWR two and ECE one.
    #[inline]
    pub const fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }

    /// Returns the flags whose ACE field holds the low three bits of `value`.
    #[inline]
    #[must_use]
    pub const fn of_ace(value: u64) -> Self {
        Self(((value & 7) << 6) as u16)
    }
}

/// Selective acknowledgements (RFC 2018), stored relative to the cumulative acknowledgement.
///
/// A duplicate-SACK block (RFC 2883) may begin below `ack`, so the offsets are signed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks(Blocks);

/// The blocks. Several blocks are boxed, because most packets have no block, and most others have
/// one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Blocks {
    #[default]
    None,
    One((i32, i32)),
    Several(Box<List>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct List {
    len: u8,
    blocks: [(i32, i32); 4],
}

impl SackBlocks {
    /// Adds the block `[start, end)`. `ack` is the segment's cumulative acknowledgement. A full
    /// list ignores the block.
    pub fn push(&mut self, ack: u64, start: u64, end: u64) {
        let block = (relative(start, ack), relative(end, ack));
        match &mut self.0 {
            Blocks::None => self.0 = Blocks::One(block),
            Blocks::One(first) => {
                let blocks = [*first, block, (0, 0), (0, 0)];
                self.0 = Blocks::Several(Box::new(List { len: 2, blocks }));
            }
            Blocks::Several(list) => {
                if let Some(slot) = list.blocks.get_mut(usize::from(list.len)) {
                    *slot = block;
                    list.len += 1;
                }
            }
        }
    }

    /// Returns the number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets().len()
    }

    /// Returns whether there are no blocks.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        matches!(self.0, Blocks::None)
    }

    /// Returns the offsets of the blocks from the segment's cumulative acknowledgement.
    #[inline]
    fn offsets(&self) -> &[(i32, i32)] {
        match &self.0 {
            Blocks::None => &[],
            Blocks::One(block) => slice::from_ref(block),
            Blocks::Several(list) => &list.blocks[..usize::from(list.len)],
        }
    }

    /// Returns the blocks as absolute ranges `[start, end)`. `ack` is the segment's cumulative
    /// acknowledgement.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.offsets().iter().map(move |&(start, end)| {
            (ack.wrapping_add_signed(start.into()), ack.wrapping_add_signed(end.into()))
        })
    }
}

/// Returns the offset of `byte` from `ack`. The offset fits into 32 bits, because windows are below
/// 2 GiB.
const fn relative(byte: u64, ack: u64) -> i32 {
    byte.wrapping_sub(ack) as i32
}

/// The fields that a classifier reads: protocol, addresses and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiveTuple {
    /// The IP protocol number: 6 for TCP, 17 for UDP, 1 for ICMP.
    pub protocol: u8,
    /// The IPv4 address of the sender.
    pub source: u32,
    /// The IPv4 address of the receiver.
    pub destination: u32,
    /// The port of the sender; zero for protocols without ports (RFC 8290 §4.1).
    pub source_port: u16,
    /// The port of the receiver; zero for protocols without ports.
    pub destination_port: u16,
}

impl FiveTuple {
    /// Returns the tuple of the `n`-th UDP flow of a test.
    pub const fn nth(n: u32) -> Self {
        Self {
            protocol: 17,
            source: 0xac10_0a02,
            destination: 0xac10_0b02,
            source_port: 10_000 + (n % 50_000) as u16,
            destination_port: 5_000 + (n / 50_000) as u16,
        }
    }

    /// Returns the tuple of packets in the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            protocol: self.protocol,
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }

    /// Returns a well-distributed 32-bit hash (the finaliser of `MurmurHash3` over the packed
    /// tuple).
    pub const fn hash(self) -> u32 {
        let addresses = (self.source as u64) << 32 | self.destination as u64;
        let ports = (self.source_port as u64) << 32
            | (self.destination_port as u64) << 16
            | self.protocol as u64;
        (spread(addresses ^ spread(ports)) >> 32) as u32
    }
}

const fn spread(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

#[cfg(test)]
mod tests;
