//! Traffic generators: models of the applications in a home.
//!
//! An [`App`] is both ends of one application, the client and its server, as one state machine
//! without I/O. Its interface consists of connections, bytes and datagrams, and does not depend on
//! an implementation of TCP. The same model therefore runs over simulated connections and over real
//! sockets. Data reach an end only with a [`Notice`] for that end. A server therefore answers when
//! it has read the request, never when the client wrote it.
//!
//! **Invariant:** no code in this crate depends on an implementation of TCP, on packets or on
//! queues. Payload has length but no content; applications frame their messages by counting bytes.

pub mod autorate;
mod bounds;
#[cfg(test)]
mod contract;
pub mod datagrams;
pub mod emodel;
mod http;
pub mod kinds;
pub mod needs;
mod pacer;
mod params;
pub mod pipe;
mod playout;
mod prober;
pub mod quantiles;
pub mod requirements;
mod schedule;
#[cfg(test)]
mod testing;
mod tls;

use aqmlab_core::{BitRate, Direction, Ecn, Instant, Rng, Side};

/// Both ends of one application.
///
/// # Driving it
///
/// The driver delivers [`Notice::Start`] once, at the application's start time. If the scenario has
/// a stop time, the driver delivers [`Notice::Stop`] once. After the stop, the application opens,
/// writes and sends nothing more, and closes its connections. Every other notice is the result of a
/// request that the application made of its [`Io`].
pub trait App: Send {
    /// Processes a notice and acts on it through `io`.
    fn handle(&mut self, notice: Notice, io: &mut dyn Io);

    /// Returns the direction of the application's data, or both directions.
    fn carries(&self) -> Carries;

    /// Returns the time at which the application ended by itself, if its kind records the end: its
    /// transfer was complete, or its duration was over. A stop is not such an end.
    fn ended(&self) -> Option<Instant> {
        None
    }

    /// Returns the largest datagram whose size a parameter determines; `None` if there is none.
    /// Datagrams are not fragmented, so the driver refuses an application whose datagrams exceed
    /// the MTU of its hosts.
    fn datagram(&self) -> Option<Datagram> {
        None
    }

    /// Returns whether the application opens TCP connections. TCP settings do not affect an
    /// application without TCP connections.
    fn uses_tcp(&self) -> bool {
        self.datagram().is_none() && !self.uses_quic()
    }

    /// Returns whether the application opens QUIC connections.
    fn uses_quic(&self) -> bool {
        false
    }

    /// Returns the number of connections that the parameters of the application permit at one time.
    /// A trial with too many is refused. Connections that overlap only because the line is too slow
    /// for them do not count.
    fn most_connections(&self) -> u64 {
        1
    }

    /// Returns whether the application runs on the gateway and changes the rates of its shapers.
    /// The driver refuses such an application if the gateway has no shaper whose rate can change.
    fn sets_shapers(&self) -> bool {
        false
    }

    /// Returns the parameter that contradicts another parameter, if there is one. The driver
    /// refuses the application.
    fn misfit(&self) -> Option<Misfit> {
        None
    }

    /// Returns the application's metrics at the end of the run. Each metric has a name, which ends
    /// with the unit if there is one, and a value.
    fn summary(&self, now: Instant) -> Vec<(&'static str, f64)> {
        let _ = now;
        Vec::new()
    }
}

/// The largest datagram of an application, and the parameter that determines its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The length of the payload in bytes, including the headers that the application adds.
    pub bytes: u32,
    /// The number of payload bytes that the application adds: headers of protocols above UDP.
    pub headers: u32,
    /// The name of the parameter that determines the size.
    pub set_by: &'static str,
}

impl Datagram {
    /// Returns a datagram of `bytes` without headers, whose size the parameter `payload`
    /// determines.
    pub(crate) const fn of_payload(bytes: u32) -> Self {
        Self { bytes, headers: 0, set_by: "payload" }
    }
}

/// A parameter that contradicts another parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The name of the parameter.
    pub set_by: &'static str,
    /// The contradiction, without the name of the parameter.
    pub problem: String,
}

/// A shaper of the gateway, as a program on the gateway sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaperStatus {
    /// The bytes that its network interface has sent, with Ethernet headers.
    pub sent_bytes: u64,
    /// The length of a full packet with the overhead that `tc qdisc show` states.
    pub packet_bytes: u32,
}

/// The direction of an application's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Data in one direction; the other direction carries acknowledgements or requests.
    One(Direction),
    /// Data in both directions.
    Both,
}

/// The number of a socket, which is a connection, a stream or a datagram socket. The sockets of an
/// application are numbered 0, 1, 2, … in the order of opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub u32);

/// An event that the driver reports to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The application's start time has come.
    Start,
    /// The application must stop.
    Stop,
    /// A wake-up requested with [`Io::wake_at`]; the value is its token.
    Wake(u64),
    /// The connection is established at the end that opened it.
    Opened(ConnId),
    /// The application has read `bytes` more bytes, in order, at the end `at`.
    Read {
        /// The connection or stream that was read.
        conn: ConnId,
        /// The end that has read the bytes.
        at: Side,
        /// The number of bytes read since the last notice.
        bytes: u64,
    },
    /// The send buffer has space again after a write that was cut short.
    Writable {
        /// The connection or stream of the write.
        conn: ConnId,
        /// The end whose send buffer has space.
        at: Side,
    },
    /// The peer closed its sending direction, and everything that it sent has been read at the end
    /// `at`.
    Finished {
        /// The connection or stream that the peer closed.
        conn: ConnId,
        /// The end that has read everything.
        at: Side,
    },
    /// The connection has ended: both directions are closed, or it was aborted or given up.
    Closed(ConnId),
    /// A datagram arrived.
    Datagram {
        /// The socket of the datagram.
        conn: ConnId,
        /// The end at which the datagram arrived.
        at: Side,
        /// The number of payload bytes.
        payload: u32,
        /// The tag with which the datagram was sent.
        tag: u64,
    },
}

/// The kind of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A reliable byte stream.
    Tcp,
    /// UDP datagrams.
    Udp,
    /// A QUIC connection with its first stream, or a further stream of a QUIC connection.
    Quic,
    /// ICMP echo requests and replies.
    Icmp,
}

/// The properties of a socket to open.
#[expect(clippy::struct_excessive_bools, reason = "independent properties")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// The kind of the socket.
    pub transport: Transport,
    /// The end that opens the socket. For datagrams, this is the end with the ephemeral port.
    pub from: Side,
    /// Whether small segments leave at once (`TCP_NODELAY`), without Nagle's algorithm.
    pub nodelay: bool,
    /// Whether the receiver acknowledges every segment at once (`TCP_QUICKACK`).
    pub quickack: bool,
    /// Whether the application needs [`Notice::Read`]. A bulk transfer without a size does not need
    /// it.
    pub reads: bool,
    /// Linux's `skb->priority`, 0 to 15.
    pub priority: u8,
    /// The ECN field of datagrams. TCP and QUIC connections set the field of their own packets.
    pub ecn: Ecn,
    /// The QUIC connection that carries the stream to open; `None` for a new connection. Only the
    /// end that opened the connection opens its streams.
    pub over: Option<ConnId>,
    /// Whether a QUIC connection resumes an earlier one, so that data leave in the first flight
    /// (0-RTT).
    pub zero_rtt: bool,
}

impl Open {
    /// Returns the properties of a TCP connection with the defaults of a socket: Nagle's algorithm
    /// and delayed acknowledgements.
    pub const fn tcp(from: Side) -> Self {
        Self {
            transport: Transport::Tcp,
            from,
            nodelay: false,
            quickack: false,
            reads: true,
            priority: 0,
            ecn: Ecn::NotEct,
            over: None,
            zero_rtt: false,
        }
    }

    /// Returns the properties of a UDP socket.
    pub const fn udp(from: Side) -> Self {
        Self { transport: Transport::Udp, ..Self::tcp(from) }
    }

    /// Returns the properties of a QUIC connection without 0-RTT.
    pub const fn quic(from: Side) -> Self {
        Self { transport: Transport::Quic, ..Self::tcp(from) }
    }

    /// Returns the properties of a stream of the QUIC connection `over`, which `from` opened.
    pub const fn stream(from: Side, over: ConnId) -> Self {
        Self { over: Some(over), ..Self::quic(from) }
    }

    /// Returns the properties of a socket for ICMP echo requests from `from`.
    pub const fn icmp(from: Side) -> Self {
        Self { transport: Transport::Icmp, ..Self::tcp(from) }
    }
}

/// The network, the clock and the random numbers of an application.
pub trait Io {
    /// Returns the current time.
    fn now(&self) -> Instant;

    /// Returns this application's own stream of random numbers.
    fn rng(&mut self) -> &mut Rng;

    /// Opens a socket. The application may write to a connection or stream at once. The bytes are
    /// sent when the connection is established, or in the first flight with 0-RTT. A stream of an
    /// open connection ([`Open::over`]) has no [`Notice::Opened`] and no [`Notice::Closed`].
    fn open(&mut self, open: Open) -> ConnId;

    /// Writes up to `bytes` at the end `at` of a connection. Returns the number of bytes that the
    /// send buffer accepted. After a write that was cut short, [`Notice::Writable`] reports new
    /// space. A closed connection accepts nothing.
    fn write(&mut self, conn: ConnId, at: Side, bytes: u64) -> u64;

    /// Writes without limit at `at`, as fast as the connection accepts data, until the end is
    /// closed.
    fn send_unlimited(&mut self, conn: ConnId, at: Side);

    /// Closes the direction of the connection in which `at` sends, after all written bytes have
    /// been sent. Ends [`Io::send_unlimited`]. A datagram socket is closed as a whole.
    fn close(&mut self, conn: ConnId, at: Side);

    /// Resets the connection at once from `at`, and discards unsent bytes.
    fn abort(&mut self, conn: ConnId, at: Side);

    /// Sends a datagram of `payload` bytes from `at`, with the tag `tag`.
    fn send(&mut self, conn: ConnId, at: Side, payload: u32, tag: u64);

    /// Requests [`Notice::Wake`] with `token` at `at`. Every call leads to one notice. For a past
    /// time the notice comes at once.
    fn wake_at(&mut self, at: Instant, token: u64);

    /// Returns the gateway's shaper of a direction. Only an application that
    /// [sets shapers](App::sets_shapers) may call this function.
    fn shaper(&self, direction: Direction) -> ShaperStatus;

    /// Sets the rate of the gateway's shaper of a direction. The shaper keeps its queues. Only an
    /// application that [sets shapers](App::sets_shapers) may call this function.
    fn set_shaper_rate(&mut self, direction: Direction, rate: BitRate);

    /// Adds a row to the application's own time series: a metric, whose name ends with the unit if
    /// there is one, and a value.
    fn note(&mut self, metric: &'static str, value: f64);
}
