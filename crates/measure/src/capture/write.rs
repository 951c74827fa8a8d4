//! Writes the packets at the taps as captures that Wireshark and tshark open.
//!
//! Source: draft-ietf-opsawg-pcap, the classic format with nanoseconds and link type
//! `LINKTYPE_RAW`. Only headers are kept. The record states the true length of the packet, as in
//! captures of `tcpdump -s`.

use std::io::{self, Write};

use aqmlab_core::{Direction, Duration, FiveTuple, Instant, Side, TcpFlags};

use crate::record::{PacketRecord, RecordedHeader};
use crate::wire::{Guise, encode};

/// The magic number of captures with nanosecond timestamps.
const MAGIC: u32 = 0xa1b2_3c4d;
/// The link type of IP packets without a link header.
const LINKTYPE_RAW: u32 = 101;
/// The snapshot length, which is longer than the headers of any packet here.
const SNAPLEN: u32 = 128;

/// The addresses and ports of a connection in its upstream packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// The addresses at the tap in the home, before address translation at the gateway.
    pub home: FiveTuple,
    /// The addresses at the tap on the internet.
    pub wan: FiveTuple,
    /// The direction of the first packet. Pings are requests in this direction and replies in the
    /// other direction.
    pub opened_by: Direction,
}

impl Endpoints {
    /// Returns the endpoints of a connection from the home, without address translation.
    pub const fn plain(tuple: FiveTuple) -> Self {
        Self { home: tuple, wan: tuple, opened_by: Direction::Up }
    }

    /// Returns the addresses of a packet at a tap.
    fn tuple(&self, side: Side, direction: Direction) -> FiveTuple {
        let up = match side {
            Side::Home => self.home,
            Side::Wan => self.wan,
        };
        match direction {
            Direction::Up => up,
            Direction::Down => up.reversed(),
        }
    }
}

/// A writer of the capture of one tap, packet by packet.
pub struct CaptureWriter<'a, W> {
    out: W,
    side: Side,
    endpoints: &'a [Endpoints],
    /// The time from 1970 to the start of the run, which is added to every time.
    epoch: Duration,
    /// The window scale in each SYN, by connection and direction.
    scales: Vec<[Option<u8>; 2]>,
    buffer: Vec<u8>,
}

impl<'a, W: Write> CaptureWriter<'a, W> {
    /// Begins the capture of the tap at `side`, for connections with the given `endpoints`. The run
    /// began `epoch` after 1970.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to.
    pub fn new(
        mut out: W,
        side: Side,
        endpoints: &'a [Endpoints],
        epoch: Duration,
    ) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend(MAGIC.to_le_bytes());
        header.extend([2, 0, 4, 0]);
        header.extend([0; 8]);
        header.extend(SNAPLEN.to_le_bytes());
        header.extend(LINKTYPE_RAW.to_le_bytes());
        out.write_all(&header)?;
        let scales = vec![[None; 2]; endpoints.len()];
        Ok(Self { out, side, endpoints, epoch, scales, buffer: Vec::with_capacity(256) })
    }

    /// Writes a packet that passes the tap at `at`. Callers pass packets in time order.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to, or the record describes no possible packet.
    pub fn packet(&mut self, record: &PacketRecord, at: Instant) -> io::Result<()> {
        let impossible = |problem: String| {
            let packet = format!("packet {} of connection {}", record.id, record.conn);
            io::Error::new(io::ErrorKind::InvalidInput, format!("{packet}: {problem}"))
        };
        let conn = record.conn as usize;
        let endpoints = self.endpoints.get(conn).ok_or_else(|| {
            impossible(format!("no endpoints; there are {}", self.endpoints.len()))
        })?;
        let guise = self.guise(record, endpoints);
        self.buffer.clear();
        self.buffer.extend([0; 16]);
        encode(&mut self.buffer, record, &guise).map_err(impossible)?;
        let time = self.epoch.as_nanos().saturating_add(at.as_nanos());
        let seconds = u32::try_from(time / 1_000_000_000)
            .map_err(|_| impossible("its time is after 2106".into()))?;
        let captured = self.buffer.len() as u32 - 16;
        let fields = [seconds, (time % 1_000_000_000) as u32, captured, record.ip_len];
        for (place, field) in self.buffer.chunks_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        self.out.write_all(&self.buffer)
    }

    /// Flushes the capture and returns the output.
    ///
    /// # Errors
    ///
    /// If the last bytes cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn guise(&mut self, record: &PacketRecord, endpoints: &Endpoints) -> Guise {
        let leaves = self.side.sends() == record.direction;
        let scales = &mut self.scales[record.conn as usize];
        let mine = record.direction.index();
        if let RecordedHeader::Tcp(tcp) = &record.header
            && tcp.flags.has(TcpFlags::SYN)
        {
            scales[mine] = (tcp.window_scale <= 14).then_some(tcp.window_scale);
        }
        // RFC 7323 §2.2: windows are scaled only if both ends offered the option.
        let scale = scales[1 - mine].and(scales[mine]).unwrap_or(0);
        // Address translation does not change sequence numbers, so they follow from the addresses
        // in the home.
        let isn = |direction| endpoints.tuple(Side::Home, direction).hash();
        Guise {
            tuple: endpoints.tuple(self.side, record.direction),
            isn: [isn(record.direction), isn(record.direction.reverse())],
            scale,
            ecn: if leaves { record.ecn_sent } else { record.ecn },
            // A gateway and a router lie between the taps.
            ttl: if leaves { 64 } else { 62 },
            opened_by: endpoints.opened_by,
        }
    }
}

/// Writes two captures, one at the tap in the home and one at the tap on the internet, and returns
/// the outputs. `endpoints` holds the endpoints of each connection. The run began `epoch` after
/// 1970.
///
/// # Errors
///
/// If an output cannot be written to, or a record describes no possible packet.
pub fn write_captures<W: Write>(
    records: &[PacketRecord],
    endpoints: &[Endpoints],
    epoch: Duration,
    [home, wan]: [W; 2],
) -> io::Result<[W; 2]> {
    Ok([
        write_capture(records, CaptureWriter::new(home, Side::Home, endpoints, epoch)?)?,
        write_capture(records, CaptureWriter::new(wan, Side::Wan, endpoints, epoch)?)?,
    ])
}

fn write_capture<W: Write>(
    records: &[PacketRecord],
    mut writer: CaptureWriter<'_, W>,
) -> io::Result<W> {
    let leaves = |record: &PacketRecord| writer.side.sends() == record.direction;
    // Several packets may pass a tap at one instant. A simulated host can answer in zero time, and
    // a packet that must keep its order waits for the packets before it.
    let mut seen: Vec<(Instant, u32, usize)> = records
        .iter()
        .enumerate()
        .filter_map(|(place, record)| {
            let [sent, received] = record.passages;
            if leaves(record) {
                return Some((record.sent, sent, place));
            }
            record.received().map(|at| (at, received, place))
        })
        .collect();
    seen.sort_unstable();
    for (at, _, place) in seen {
        writer.packet(&records[place], at)?;
    }
    writer.finish()
}
