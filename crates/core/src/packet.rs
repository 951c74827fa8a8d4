//! A packet: its headers, never its bytes.
//!
//! A discipline reads these headers and not the wire image. One implementation therefore serves
//! simulated packets, which have no bytes, and real ones, whose bytes the driver keeps.

use std::ops::{Deref, DerefMut};

use crate::{Bytes, Instant};

/// A packet in a link, a queue or a host.
///
/// Its fields have one place in memory for as long as it exists. A queue that takes or gives a
/// packet moves a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet(Box<PacketFields>);

impl Packet {
    /// Returns a UDP packet for tests and tools, with defaults for all other fields.
    pub fn plain(id: u64, conn: u32, ip_len: u32) -> Self {
        PacketFields::plain(id, conn, ip_len).into()
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
    /// The packet's number, unique within a run and in order of transmission. In a real network,
    /// the packet's contents identify it at both ends of a path.
    pub id: u64,
    /// The time at which the packet entered its present queue.
    pub enqueued: Instant,
    /// The index of the application to which it belongs.
    pub flow: u32,
    /// The index of its connection (its five-tuple) among those of the run.
    pub conn: u32,
    /// A hash of its five-tuple in its direction; disciplines mix in a salt of their own.
    pub tuple_hash: u32,
    /// Size of the IP packet, headers included.
    pub ip_len: u32,
    /// Size as the discipline that holds it counts it: IP, or IP and a link header.
    pub len: u32,
    /// The packet's direction.
    pub direction: Direction,
    /// The packet's hop on its route.
    pub hop: u8,
    /// The ECN field of the IP header (RFC 3168 §5).
    pub ecn: Ecn,
    /// Linux's `skb->priority`, 0 to 15, which `pfifo_fast` maps to a band.
    pub priority: u8,
    /// The transport's header.
    pub header: Header,
}

impl PacketFields {
    /// Size as the discipline that holds it counts it.
    #[inline]
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.len as u64)
    }

    /// Returns a UDP packet for tests and tools, with defaults for all other fields.
    pub fn plain(id: u64, conn: u32, ip_len: u32) -> Self {
        Self {
            id,
            enqueued: Instant::ZERO,
            flow: conn,
            conn,
            tuple_hash: FiveTuple::nth(conn).hash(),
            ip_len,
            len: ip_len,
            direction: Direction::Up,
            hop: 0,
            ecn: Ecn::NotEct,
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
    /// Both, up first.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Returns the other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    /// The side that receives packets of this direction.
    #[inline]
    pub const fn receiver(self) -> Side {
        match self {
            Self::Up => Side::Wan,
            Self::Down => Side::Home,
        }
    }

    /// Its place in [`Direction::BOTH`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The word that scenarios and tables use.
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
    /// The home, where packets going up are sent.
    Home,
    /// The internet, where packets going down are sent.
    Wan,
}

impl Side {
    /// The direction of the packets that this side sends.
    #[inline]
    pub const fn sends(self) -> Direction {
        match self {
            Self::Home => Direction::Up,
            Self::Wan => Direction::Down,
        }
    }

    /// The other end.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Home => Self::Wan,
            Self::Wan => Self::Home,
        }
    }

    /// 0 for the home, 1 for the internet.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not take part: congestion can only be signalled by a drop.
    #[default]
    NotEct,
    /// ECT(0): classic ECN-capable transport.
    Ect0,
    /// ECT(1): L4S-capable transport (RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Whether a queue may mark this packet instead of dropping it.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// The two bits of the IP header (RFC 3168 §5).
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// The transport's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// A UDP datagram.
    Udp(UdpHeader),
    /// An ICMP echo request or its reply.
    Icmp(UdpHeader),
}

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// The application's own number for it, in its first eight bytes where it has as many.
    pub tag: u64,
}

/// A TCP segment, with sequence numbers that do not wrap.
///
/// `seq` and `ack` count from the initial sequence number, so a SYN has `seq` 0 and the first
/// byte of data is number 1. They are cut to 32 bits only where a packet meets a wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Number of the first byte (or of the SYN or FIN).
    pub seq: u64,
    /// The next byte expected from the peer; meaningful with [`TcpFlags::ACK`].
    pub ack: u64,
    /// Bytes of data.
    pub payload: u32,
    /// The receive window in bytes, already scaled.
    pub window: u32,
    /// Timestamp value and echo (RFC 7323), in the sender's clock ticks; zero where absent.
    pub ts_val: u32,
    /// See [`TcpHeader::ts_val`].
    pub ts_ecr: u32,
    /// Up to four selective acknowledgements, or on a SYN none.
    pub sack: SackBlocks,
    /// Control bits.
    pub flags: TcpFlags,
    /// Bytes of options on the wire, padding included; the header is 20 more.
    pub options_len: u8,
    /// On a SYN: the maximum segment size offered.
    pub mss: u16,
    /// On a SYN: the window scale offered (RFC 7323), or 255 for none.
    pub window_scale: u8,
    /// On a SYN: whether SACK is permitted and timestamps are offered.
    pub sack_permitted: bool,
    /// Whether a timestamp option is present.
    pub timestamps: bool,
}

impl TcpHeader {
    /// The first byte after this segment, counting SYN and FIN.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.seq
            + self.payload as u64
            + self.flags.has(TcpFlags::SYN) as u64
            + self.flags.has(TcpFlags::FIN) as u64
    }
}

/// TCP's control bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Abort.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number counts.
    pub const ACK: Self = Self(0x10);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These bits and those of `other`.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Selective acknowledgements (RFC 2018), stored relative to the cumulative one.
///
/// A duplicate-SACK block (RFC 2883) lies wholly or partly below `ack`, hence signed offsets. The
/// blocks are outside the packet, because most packets have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks(Option<Box<Blocks>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Blocks {
    len: u8,
    blocks: [(i32, i32); 4],
}

impl SackBlocks {
    /// Adds `[start, end)`, given the segment's cumulative acknowledgement; ignored if full.
    pub fn push(&mut self, ack: u64, start: u64, end: u64) {
        let inner = self.0.get_or_insert_default();
        if let Some(slot) = inner.blocks.get_mut(usize::from(inner.len)) {
            *slot = (relative(start, ack), relative(end, ack));
            inner.len += 1;
        }
    }

    /// Returns the number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |inner| usize::from(inner.len))
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The blocks as absolute `[start, end)`, given the segment's cumulative acknowledgement.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().flat_map(|inner| &inner.blocks[..usize::from(inner.len)]).map(
            move |&(start, end)| {
                (ack.wrapping_add_signed(start.into()), ack.wrapping_add_signed(end.into()))
            },
        )
    }
}

/// Returns the offset of `byte` from `ack`; windows are far below 2 GiB.
const fn relative(byte: u64, ack: u64) -> i32 {
    byte.wrapping_sub(ack) as i32
}

/// The fields that a classifier reads: protocol, addresses and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiveTuple {
    /// The IP protocol number: 6 TCP, 17 UDP, 1 ICMP.
    pub protocol: u8,
    /// IPv4 address of the sender.
    pub source: u32,
    /// IPv4 address of the receiver.
    pub destination: u32,
    /// Port of the sender; zero for protocols without ports (RFC 8290 §4.1.1).
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
}

impl FiveTuple {
    /// The tuple of the `n`-th UDP flow of a test.
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

    /// A well-spread 32-bit hash (the finaliser of `MurmurHash3` over the packed tuple).
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
