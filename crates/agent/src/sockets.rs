//! Connections and datagram sockets of applications, as kernel sockets.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use aqmlab_apps::{ConnId, Open, Transport};
use aqmlab_core::{Ecn, Instant, Side};
use aqmlab_trial::Spec;
use aqmlab_trial::spec::TcpSpec;

use crate::{sys, tcp_settings, testbed};

/// The bytes of one write. Only the number of bytes matters.
static ZEROS: [u8; 64 * 1_024] = [0; 64 * 1_024];
/// The maximum of [`End::pending`], for example before the connection is established.
const EARLY: u64 = 64 * 1_024;

/// A connection or datagram flow of an application.
pub(crate) struct Conn {
    pub(crate) app: usize,
    pub(crate) id: ConnId,
    pub(crate) open: Open,
    /// The port of the end that opened the connection; for a ping, the ICMP identifier.
    pub(crate) port: u16,
    pub(crate) ends: [End; 2],
    pub(crate) opened: Instant,
    pub(crate) established: Option<Instant>,
    pub(crate) closed: Option<Instant>,
}

impl Conn {
    pub(crate) fn is_tcp(&self) -> bool {
        self.open.transport == Transport::Tcp
    }

    pub(crate) fn is_icmp(&self) -> bool {
        self.open.transport == Transport::Icmp
    }
}

/// One end of a connection.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "half-closed TCPs are in any combination")]
pub(crate) struct End {
    pub(crate) fd: Option<OwnedFd>,
    pub(crate) established: bool,
    /// The number of bytes that the agent accepted from the application and that the kernel has not
    /// yet accepted.
    pub(crate) pending: u64,
    pub(crate) unlimited: bool,
    /// Whether the application waits for space in the send buffer.
    pub(crate) short: bool,
    pub(crate) closing: bool,
    pub(crate) shut: bool,
    pub(crate) peer_done: bool,
    pub(crate) gone: bool,
    pub(crate) read: u64,
    /// The `TCP_INFO` that was read last.
    pub(crate) info: Info,
}

/// A change at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Established,
    Read(u64),
    Writable,
    PeerFinished,
    Gone,
}

impl End {
    /// Accepts up to `bytes` bytes from the application. Returns the number of bytes accepted.
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        if self.gone || self.closing {
            return 0;
        }
        if !self.established || self.pending > 0 {
            let taken = bytes.min(EARLY.saturating_sub(self.pending));
            self.pending += taken;
            self.short |= taken < bytes;
            return taken;
        }
        let taken = self.push(bytes);
        self.short |= taken < bytes;
        taken
    }

    /// Writes up to `bytes` bytes to the socket. Returns the number of bytes that the kernel
    /// accepted.
    fn push(&mut self, bytes: u64) -> u64 {
        let mut taken = 0;
        while let (Some(fd), true) = (&self.fd, taken < bytes) {
            let some = (bytes - taken).min(ZEROS.len() as u64) as usize;
            match sys::send(fd, &ZEROS[..some]) {
                Ok(sent) => taken += sent as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.gone = true;
                    break;
                }
            }
        }
        taken
    }

    /// Sends the pending bytes. Once none is pending, sends as many more bytes as possible if the
    /// end sends without limit. Then closes the sending direction if the end is closing. If the end
    /// is not closing and the application waited for space, adds [`Change::Writable`] to `changes`.
    pub(crate) fn flush(&mut self, changes: &mut Vec<Change>) {
        if !self.established || self.gone {
            return;
        }
        if self.pending > 0 {
            self.pending -= self.push(self.pending);
            if self.pending > 0 {
                return;
            }
        }
        if self.unlimited && !self.closing {
            while self.push(ZEROS.len() as u64) == ZEROS.len() as u64 {}
        }
        if self.closing && !self.shut {
            self.shut = true;
            if let Some(fd) = &self.fd {
                // If the connection is already closed, the next read reports it.
                let _ = sys::shut_down(fd);
            }
        }
        if std::mem::take(&mut self.short) && !self.closing {
            changes.push(Change::Writable);
        }
    }

    /// Reads and discards all available bytes. Adds their number, and the end of the stream or of
    /// the connection, to `changes`.
    pub(crate) fn drain(&mut self, changes: &mut Vec<Change>) {
        let mut total = 0;
        while let (Some(fd), false) = (&self.fd, self.peer_done || self.gone) {
            match sys::discard(fd, 1 << 20) {
                Ok(0) => self.peer_done = true,
                Ok(some) => total += some as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.gone = true,
            }
        }
        self.read += total;
        if total > 0 {
            changes.push(Change::Read(total));
        }
        if self.gone {
            changes.push(Change::Gone);
        } else if self.peer_done {
            changes.push(Change::PeerFinished);
        }
    }

    /// Checks whether a pending connection attempt has succeeded or failed, and adds this change,
    /// if any, to `changes`.
    pub(crate) fn check_connect(&mut self, changes: &mut Vec<Change>) {
        let Some(fd) = self.fd.as_ref().filter(|_| !self.established && !self.gone) else { return };
        let mut error = [0; 4];
        let known = sys::get_bytes(fd, libc::SOL_SOCKET, libc::SO_ERROR, &mut error);
        if known.is_err() || error != [0; 4] {
            self.gone = true;
            changes.push(Change::Gone);
        } else if Info::of(fd).is_some_and(|info| !matches!(info.state, SYN_SENT | CLOSED)) {
            self.established = true;
            changes.push(Change::Established);
        }
    }
}

/// The kernel's TCP state `TCP_SYN_SENT`.
const SYN_SENT: u8 = 2;
/// The kernel's TCP state `TCP_CLOSE`.
const CLOSED: u8 = 7;

/// Fields of `TCP_INFO` (linux/tcp.h).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Info {
    pub(crate) state: u8,
    pub(crate) mss: u64,
    pub(crate) unacked: u64,
    pub(crate) sacked: u64,
    pub(crate) lost: u64,
    pub(crate) retrans: u64,
    pub(crate) srtt_us: u64,
    pub(crate) ssthresh: u64,
    pub(crate) cwnd: u64,
    pub(crate) total_retrans: u64,
    pub(crate) segs_out: u64,
    pub(crate) data_segs_out: u64,
}

impl Info {
    /// Reads the information on a socket; `None` if the kernel has none.
    pub(crate) fn of(fd: &OwnedFd) -> Option<Self> {
        let mut bytes = [0; 256];
        sys::get_bytes(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).ok()?;
        let word = |at: usize| {
            let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            u64::from(u32::from_ne_bytes(word))
        };
        Some(Self {
            state: bytes[0],
            mss: word(16),
            unacked: word(24),
            sacked: word(28),
            lost: word(32),
            retrans: word(36),
            srtt_us: word(68),
            ssthresh: word(76),
            cwnd: word(80),
            total_retrans: word(100),
            segs_out: word(136),
            data_segs_out: word(156),
        })
    }

    /// Returns the number of segments estimated to be in the network.
    pub(crate) const fn in_flight(&self) -> u64 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

/// Returns the port of the end that did not open the connection, as in the simulator.
pub(crate) const fn service(app: usize) -> u16 {
    61_000 + (app % 1_000) as u16
}

/// The application of a socket: its addresses (home first), the port of its service, and its DSCP.
pub(crate) struct Owner {
    addresses: [Ipv4Addr; 2],
    service: u16,
    dscp: u8,
}

impl Owner {
    pub(crate) fn of(spec: &Spec, app: usize) -> Self {
        Self {
            addresses: [Side::Home, Side::Wan].map(|side| testbed::address(spec, app, side)),
            service: service(app),
            dscp: spec.apps[app].dscp.unwrap_or(0),
        }
    }

    const fn address(&self, side: Side) -> Ipv4Addr {
        self.addresses[side.index()]
    }

    /// Sets the DSCP and the ECN field of a socket's packets. TCP ignores the ECN field.
    fn set_services(&self, fd: &OwnedFd, ecn: Ecn) -> io::Result<()> {
        match self.dscp << 2 | ecn.bits() {
            0 => Ok(()),
            services => sys::set(fd, libc::IPPROTO_IP, libc::IP_TOS, services.into()),
        }
    }
}

/// Opens a listening socket for an application, in the namespace of this process.
pub(crate) fn listener(of: &Owner, at: Side, tcp: &TcpSpec) -> io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    sys::set(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    tcp_settings::apply(&fd, tcp)?;
    of.set_services(&fd, Ecn::NotEct)?;
    sys::bind(&fd, of.address(at), of.service)?;
    sys::listen(&fd)?;
    Ok(fd)
}

/// Opens a connection from `open.from`, in the namespace of this process.
pub(crate) fn client(of: &Owner, port: u16, open: Open, tcp: &TcpSpec) -> io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    tcp_settings::apply(&fd, tcp)?;
    accepted(&fd, open, tcp)?;
    of.set_services(&fd, Ecn::NotEct)?;
    sys::bind(&fd, of.address(open.from), port)?;
    sys::connect(&fd, of.address(open.from.peer()), of.service)?;
    Ok(fd)
}

/// Applies an application's options to an accepted socket, or to a socket that is not yet
/// connected.
pub(crate) fn accepted(fd: &OwnedFd, open: Open, tcp: &TcpSpec) -> io::Result<()> {
    if tcp.nodelay.unwrap_or(open.nodelay) {
        sys::set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    }
    quickly(fd, open, tcp)?;
    if open.priority > 0 {
        sys::set(fd, libc::SOL_SOCKET, libc::SO_PRIORITY, open.priority.into())?;
    }
    Ok(())
}

/// Enables quick acknowledgements if requested. The kernel clears the option after a while.
pub(crate) fn quickly(fd: &OwnedFd, open: Open, tcp: &TcpSpec) -> io::Result<()> {
    if tcp.quickack.unwrap_or(open.quickack) {
        sys::set(fd, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 1)?;
    }
    Ok(())
}

/// Opens the socket at one end of a datagram flow, in the namespace of this process.
pub(crate) fn datagrams(of: &Owner, at: Side, port: u16, open: Open) -> io::Result<OwnedFd> {
    if open.transport == Transport::Icmp {
        let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP)?;
        // An ICMP socket's port is the identifier of its echo requests.
        of.set_services(&fd, Ecn::NotEct)?;
        sys::bind(&fd, of.address(at), port)?;
        sys::connect(&fd, of.address(at.peer()), 0)?;
        return Ok(fd);
    }
    let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    sys::set(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    let (own, peer) = if at == open.from { (port, of.service) } else { (of.service, port) };
    sys::bind(&fd, of.address(at), own)?;
    sys::connect(&fd, of.address(at.peer()), peer)?;
    if open.priority > 0 {
        sys::set(&fd, libc::SOL_SOCKET, libc::SO_PRIORITY, open.priority.into())?;
    }
    of.set_services(&fd, open.ecn)?;
    Ok(fd)
}

/// The length of an ICMP header in bytes.
const ECHO: usize = 8;

/// Sends a datagram of `payload` bytes. The first bytes of the payload, up to eight, carry `tag`.
pub(crate) fn send(
    fd: &OwnedFd,
    transport: Transport,
    payload: u32,
    tag: u64,
    buffer: &mut Vec<u8>,
) {
    let head = if transport == Transport::Icmp { ECHO } else { 0 };
    buffer.clear();
    buffer.resize(head + payload as usize, 0);
    if head > 0 {
        buffer[0] = 8;
        buffer[6..8].copy_from_slice(&((tag >> 48) as u16).to_be_bytes());
    }
    for (to, from) in buffer[head..].iter_mut().zip(tag.to_be_bytes()) {
        *to = from;
    }
    // A datagram that the kernel refuses is lost, as on any host.
    let _ = sys::send(fd, buffer);
}

/// Receives the next datagram, if there is one. Returns the length of its payload and its tag.
pub(crate) fn receive(
    fd: &OwnedFd,
    transport: Transport,
    buffer: &mut Vec<u8>,
) -> Option<(u32, u64)> {
    buffer.resize(64 * 1_024, 0);
    let head = if transport == Transport::Icmp { ECHO } else { 0 };
    let len = sys::receive(fd, buffer).ok()?.checked_sub(head)?;
    let mut tag = [0; 8];
    for (to, from) in tag.iter_mut().zip(&buffer[head..head + len]) {
        *to = *from;
    }
    Some((len as u32, u64::from_be_bytes(tag)))
}
