//! Connections: their five-tuples, their two ends, and the fields that the packets of an end share.

use aqmlab_apps::{ConnId, Notice, Open, Transport};
use aqmlab_core::hint::rare;
use aqmlab_core::{Ecn, FiveTuple, Instant, Side};
use aqmlab_tcp::{Connection, Event};

use crate::agenda::{Agenda, HostActor, Place, Slot};
use crate::quic::{Carrier, Quic};

/// The bytes of the IPv4 header and of the TCP header without options.
pub(crate) const TCP_HEADERS: u32 = 20 + 20;
/// The bytes of the IPv4 header and of the UDP or ICMP header.
pub(crate) const DATAGRAM_HEADERS: u32 = 20 + 8;

/// A connection, a stream of a QUIC connection, or a pair of datagram sockets.
pub(crate) struct Conn {
    pub(crate) app: u32,
    /// The number that the application assigned to the connection.
    pub(crate) id: ConnId,
    pub(crate) transport: Transport,
    pub(crate) opener: Side,
    /// The tuple of the home's packets. The tuple of the internet's packets is the reverse.
    pub(crate) tuple: FiveTuple,
    /// The fields that the packets of each end share, home first.
    pub(crate) sources: [Source; 2],
    /// The ECN field of datagrams.
    pub(crate) ecn: Ecn,
    /// Whether the application is notified of its reads.
    pub(crate) notifies_reads: bool,
    /// The two TCPs, home first, until both have finished.
    pub(crate) ends: Option<Box<[End; 2]>>,
    /// The two ends of a QUIC connection; `None` for other connections.
    pub(crate) quic: Option<Box<Quic>>,
    /// The connection that carries this connection, if this connection is a stream.
    pub(crate) carrier: Option<Carrier>,
    pub(crate) opened: Instant,
    pub(crate) established: Option<Instant>,
    pub(crate) closed: Option<Instant>,
    /// The number of bytes read at the home and on the internet. If a TCP's reads are not events,
    /// only the TCP counts them; see [`Self::bytes_read`].
    pub(crate) read: [u64; 2],
    /// The counters of the two TCPs, after the TCPs were removed.
    pub(crate) stats: Option<[aqmlab_tcp::Stats; 2]>,
}

impl Conn {
    /// Returns the number of bytes read at the home and on the internet.
    pub(crate) fn bytes_read(&self) -> [u64; 2] {
        if self.notifies_reads {
            return self.read;
        }
        Side::BOTH.map(|side| {
            self.stats_of(side).map_or(self.read[side.index()], |stats| stats.bytes_delivered)
        })
    }

    /// Returns the counters of one end of a TCP connection, whether the end still exists or not.
    /// Returns `None` for other connections.
    pub(crate) fn stats_of(&self, side: Side) -> Option<aqmlab_tcp::Stats> {
        match (&self.stats, &self.ends) {
            (Some(stats), _) => Some(stats[side.index()]),
            (None, Some(ends)) => Some(*ends[side.index()].tcp.stats()),
            (None, None) => None,
        }
    }
}

/// One TCP and its slot in the agenda.
pub(crate) struct End {
    pub(crate) tcp: Connection,
    pub(crate) source: Source,
    /// Whether the packets enter the host's own link first.
    pub(crate) is_on_own_link: bool,
    pub(crate) slot: Slot<HostActor>,
    /// The place of the end's next call, or [`Place::NEVER`].
    pub(crate) next: Place,
    /// Whether the next call is a read, which the agenda stores outside its wheel.
    pub(crate) reads_next: bool,
    /// The place of the end's entry in the agenda's wheel. If the next call is not a read, the
    /// entry is not later than this call.
    pub(crate) entry: Place,
    pub(crate) finished: bool,
}

impl End {
    /// Sets the place of the next call. If the agenda already has an entry of this end that is not
    /// later, the entry stays, and [`Self::is_called_at`] moves it when the agenda reaches it. Most
    /// calls are postponed again before that.
    #[expect(clippy::inline_always, reason = "most segments pass; a call costs 0.3 % of a run")]
    #[inline(always)]
    pub(crate) fn call_at(&mut self, next: Place, agenda: &mut Agenda) {
        self.next = next;
        self.reads_next = false;
        if next < self.entry {
            rare();
            self.enter(next, agenda);
        }
    }

    /// Returns whether the entry at `place`, which the agenda has reached, is for the next call. If
    /// the entry is for an earlier call, replaces the entry by one for the next call, or removes
    /// the entry if the next call is a read or does not exist.
    #[inline]
    pub(crate) fn is_called_at(&mut self, place: Place, agenda: &mut Agenda) -> bool {
        let is_next = self.next == place;
        if !is_next {
            self.enter(if self.reads_next { Place::NEVER } else { self.next }, agenda);
        }
        is_next
    }

    /// Replaces the entry in the agenda. [`Place::NEVER`] removes it.
    #[inline(never)]
    pub(crate) fn enter(&mut self, place: Place, agenda: &mut Agenda) {
        self.entry = place;
        agenda.set_at(self.slot, place);
    }
}

/// Returns the notice to the application for an event at one end, if the event has one.
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

/// The fields that all packets of one end share.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) flow: u32,
    pub(crate) conn: u32,
    pub(crate) tuple_hash: u32,
    /// The IPv4 address of the end.
    pub(crate) address: u32,
    /// The IPv4 address of the peer.
    pub(crate) peer_address: u32,
    /// The first link of the packets' route, if there is one.
    pub(crate) first_link: Option<u32>,
    pub(crate) side: Side,
    pub(crate) priority: u8,
    pub(crate) dscp: u8,
}

/// Returns the five-tuple of connection number `index` between the hosts with the numbers `hosts`,
/// home first. The host on the internet has the number of the application. As on TEACUP's testbed,
/// the home is 172.16.10.0/24 and the internet is 172.16.11.0/24.
pub(crate) fn tuple_of(index: u32, hosts: [u32; 2], open: Open) -> FiveTuple {
    let [home, wan] = hosts.map(|host| 2 + host % 250);
    let protocol = match open.transport {
        Transport::Tcp => 6,
        Transport::Udp | Transport::Quic => 17,
        Transport::Icmp => 1,
    };
    // Port 443 is that of QUIC. Its dissector finds nothing to read, because captures omit
    // payloads. The other ports belong to no known protocol, so no dissector interprets them.
    let ephemeral = 10_000 + (index % 30_000) as u16;
    let service = match open.transport {
        Transport::Quic => 443,
        _ => 61_000 + (hosts[1] % 1_000) as u16,
    };
    let ports = match (open.transport, open.from) {
        (Transport::Icmp, _) => (0, 0),
        (_, Side::Home) => (ephemeral, service),
        (_, Side::Wan) => (service, ephemeral),
    };
    FiveTuple {
        protocol,
        source: 0xac10_0a00 | home,
        destination: 0xac10_0b00 | wan,
        source_port: ports.0,
        destination_port: ports.1,
    }
}
