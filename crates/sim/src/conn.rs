//! Connections: each is a five-tuple, its two TCPs, and the packets that they send.

use aqmlab_apps::{ConnId, Notice, Open, Transport};
use aqmlab_core::{Ecn, FiveTuple, Header, Instant, PacketFields, Side, UdpHeader};
use aqmlab_tcp::{Connection, Event, Segment};

use crate::agenda::{Order, Slot};

/// A five-tuple in use.
pub(crate) struct Conn {
    pub(crate) app: u32,
    /// The number that the application assigned to the connection.
    pub(crate) id: ConnId,
    pub(crate) transport: Transport,
    pub(crate) opener: Side,
    /// The tuple of the home's packets. The tuple of the internet's packets is the reverse.
    pub(crate) tuple: FiveTuple,
    /// What the packets of each end have in common, home first.
    pub(crate) labels: [Label; 2],
    /// The ECN field of datagrams.
    pub(crate) ecn: Ecn,
    /// Whether the packets of each end enter that host's own link first.
    pub(crate) own_link: [bool; 2],
    /// Whether the application subscribes to reads.
    pub(crate) reads: bool,
    /// The two TCPs, home first, until both have finished.
    pub(crate) ends: Option<Box<[End; 2]>>,
    pub(crate) opened: Instant,
    pub(crate) established: Option<Instant>,
    pub(crate) closed: Option<Instant>,
    /// Bytes read in order, at home and on the internet.
    pub(crate) read: [u64; 2],
    /// The counters of the ends, after the ends were removed.
    pub(crate) stats: Option<[aqmlab_tcp::Stats; 2]>,
}

impl Conn {
    /// Returns the counters of one end, whether it still exists or not.
    pub(crate) fn stats_of(&self, side: Side) -> Option<aqmlab_tcp::Stats> {
        match (&self.stats, &self.ends) {
            (Some(stats), _) => Some(stats[side.index()]),
            (None, Some(ends)) => Some(*ends[side.index()].tcp.stats()),
            (None, None) => None,
        }
    }
}

/// The fields that all packets from one end of a connection have in common.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    tuple_hash: u32,
    source: u32,
    destination: u32,
    priority: u8,
}

impl Label {
    /// Returns the fields of both ends of a connection whose home sends packets of `tuple`.
    pub(crate) fn of(tuple: FiveTuple, priority: u8) -> [Self; 2] {
        [tuple, tuple.reversed()].map(|tuple| Self {
            tuple_hash: tuple.hash(),
            source: tuple.source,
            destination: tuple.destination,
            priority,
        })
    }
}

/// One TCP and its slot in the agenda.
pub(crate) struct End {
    pub(crate) tcp: Connection,
    pub(crate) slot: Slot,
    /// The place of its next call.
    pub(crate) next: Order,
    /// Whether that call is a silent read, which waits outside the agenda. The agenda may then hold
    /// a later call, which the read replaces.
    pub(crate) is_silent: bool,
    pub(crate) finished: bool,
}

/// Returns the notice to the application for an event at one end.
pub(crate) fn notice(event: Event, conn: ConnId, at: Side) -> Option<Notice> {
    match event {
        Event::Established => Some(Notice::Opened(conn)),
        Event::Readable(bytes) => Some(Notice::Read { conn, at, bytes }),
        Event::Writable => Some(Notice::Writable { conn, at }),
        Event::PeerFinished => Some(Notice::Finished { conn, at }),
        // A single notice follows when both ends are closed.
        Event::Closed | Event::Aborted => None,
    }
}

/// Returns a packet of `ip_len` bytes from `side` without an identity.
pub(crate) fn blank(conn: u32, flow: u32, side: Side, label: Label, ip_len: u32) -> PacketFields {
    PacketFields {
        id: 0,
        enqueued: Instant::ZERO,
        flow,
        conn,
        tuple_hash: label.tuple_hash,
        source: label.source,
        destination: label.destination,
        ip_len,
        len: ip_len,
        direction: side.sends(),
        hop: 0,
        ecn: Ecn::NotEct,
        dscp: 0,
        priority: label.priority,
        header: Header::Udp(UdpHeader { tag: 0 }),
    }
}

/// Returns the packet that carries a segment.
#[inline]
pub(crate) fn packet_of(
    segment: Segment,
    conn: u32,
    flow: u32,
    side: Side,
    label: Label,
) -> PacketFields {
    let ip_len = 40 + u32::from(segment.header.options_len) + segment.header.payload;
    PacketFields {
        ecn: segment.ecn,
        header: Header::Tcp(segment.header),
        ..blank(conn, flow, side, label, ip_len)
    }
}

/// Returns the five-tuple of a connection. Addresses and ports are those of TEACUP's testbed: the
/// home is 172.16.10.0/24 and the internet 172.16.11.0/24, with one host for each application.
pub(crate) fn tuple_of(index: u32, app: u32, open: Open) -> FiveTuple {
    let host = 2 + app % 250;
    let protocol = match open.transport {
        Transport::Tcp => 6,
        Transport::Udp => 17,
        Transport::Icmp => 1,
    };
    // These ports belong to no known protocol, so that no dissector interprets the payload.
    let ephemeral = 10_000 + (index % 30_000) as u16;
    let service = 61_000 + (app % 1_000) as u16;
    let ports = match (open.transport, open.from) {
        (Transport::Icmp, _) => (0, 0),
        (_, Side::Home) => (ephemeral, service),
        (_, Side::Wan) => (service, ephemeral),
    };
    FiveTuple {
        protocol,
        source: 0xac10_0a00 | host,
        destination: 0xac10_0b00 | host,
        source_port: ports.0,
        destination_port: ports.1,
    }
}
