//! A bulk transfer: a file, a backup, an update, or iperf.
//!
//! Source: iperf 2 as TEACUP starts it (`start_iperf`): TCP that sends as fast as it can, for a
//! time or for a number of bytes. One connection or several parallel connections (`-P`) each carry
//! the whole number of bytes. The sender opens the connection. A transfer over QUIC has the same
//! form: a stream from the end that opens the connection.

use aqmlab_core::{Args, Bounds, Duration, Instant, Kind, Param, Side, Value};

use crate::bounds;
use crate::needs::{BULK_MS, Measure, Need, Needs};
use crate::params::{self, bytes};
use crate::quantiles::Summary;
use crate::{App, Carries, ConnId, Io, Notice, Open};

/// Registers `bulk`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "bulk",
    summary: "A transfer at full speed over TCP or QUIC",
    source: "TEACUP v1.1 start_iperf (iperf 2)",
    params: &[
        params::direction("down"),
        Param {
            name: "size",
            default: bytes(0),
            bounds: bounds::TRANSFER_OR_NONE,
            doc: "Bytes to transfer on each connection; 0 sets no limit.",
        },
        Param {
            name: "duration",
            default: Value::MaybeDuration(None),
            bounds: bounds::SPAN,
            doc: "Time to send; off continues until the application's stop.",
        },
        Param {
            name: "parallel",
            default: Value::Count(1),
            bounds: Bounds::Whole(1, 1_000),
            doc: "Number of parallel connections.",
        },
        Param {
            name: "transport",
            default: Value::Word("tcp", &["tcp", "quic", "quic_0rtt"]),
            bounds: Bounds::Any,
            doc: "Transport: TCP, QUIC, or QUIC connections that resume earlier ones (0-RTT).",
        },
    ],
    build: |args: &Args| {
        let size = args.bytes("size").0;
        let parallel = args.count("parallel") as usize;
        Box::new(Bulk {
            sender: params::sender(args),
            is_quic: args.word("transport") != "tcp",
            zero_rtt: args.word("transport") == "quic_0rtt",
            size,
            span: args.maybe_duration("duration"),
            transfers: vec![Transfer { left: size, conn: None, read: 0, done: None }; parallel],
            started: Instant::ZERO,
            stopped: false,
            over: None,
        })
    },
}];

/// The needs of `bulk`. A transfer of up to 10 MB is judged by its time if it is complete or has
/// lasted at least the tolerable time. Any other transfer is compared with its fair share of the
/// line. A flow is reasonably fair within a factor of two (RFC 5348 §1), so half of the fair share
/// is preferred. G.1010 accepts four times the preferred time, so a quarter of the preferred rate,
/// 12.5 % of the fair share, is tolerable.
pub const NEEDS: &[Needs] = &[Needs::of(
    "bulk",
    "gets its part of the line",
    &[
        Need::from("fair share reached", Measure::FairShare, [100.0, 50.0, 12.5], "%")
            .because("it is slower than its share", "RFC 5348 §1; G.1010 Table I.2"),
        Need::up_to("transferred in", Measure::TransferTime, BULK_MS, "ms")
            .because("it takes too long", "G.1010 Table I.2: bulk data, up to 10 MB"),
    ],
)];

/// The transfer over one connection.
#[derive(Clone, Debug)]
struct Transfer {
    /// The number of bytes not yet written.
    left: u64,
    conn: Option<ConnId>,
    read: u64,
    done: Option<Instant>,
}

struct Bulk {
    sender: Side,
    is_quic: bool,
    zero_rtt: bool,
    /// The number of bytes that each connection must carry; 0 sets no limit.
    size: u64,
    span: Option<Duration>,
    transfers: Vec<Transfer>,
    started: Instant,
    /// Whether the transfer has been stopped or its duration is over.
    stopped: bool,
    /// The time at which the duration was over.
    over: Option<Instant>,
}

impl Bulk {
    fn start(&mut self, io: &mut dyn Io) {
        self.started = io.now();
        for n in 0..self.transfers.len() {
            let conn = io.open(self.open());
            self.transfers[n].conn = Some(conn);
            if self.size > 0 {
                self.fill(conn, io);
            } else {
                io.send_unlimited(conn, self.sender);
            }
        }
        if let Some(span) = self.span {
            io.wake_at(self.started + span, 0);
        }
    }

    /// Returns the properties of a connection.
    fn open(&self) -> Open {
        let open = if self.is_quic { Open::quic(self.sender) } else { Open::tcp(self.sender) };
        Open { reads: self.size > 0, zero_rtt: self.zero_rtt, ..open }
    }

    fn transfer(&mut self, conn: ConnId) -> Option<&mut Transfer> {
        self.transfers.iter_mut().find(|transfer| transfer.conn == Some(conn))
    }

    fn fill(&mut self, conn: ConnId, io: &mut dyn Io) {
        let sender = self.sender;
        let Some(transfer) = self.transfer(conn).filter(|transfer| transfer.left > 0) else {
            return;
        };
        transfer.left -= io.write(conn, sender, transfer.left).min(transfer.left);
        if transfer.left == 0 {
            io.close(conn, sender);
        }
    }

    fn stop(&mut self, io: &mut dyn Io) {
        self.stopped = true;
        for transfer in &mut self.transfers {
            transfer.left = 0;
            if let Some(conn) = transfer.conn {
                io.close(conn, self.sender);
            }
        }
    }
}

impl App for Bulk {
    fn most_connections(&self) -> u64 {
        self.transfers.len() as u64
    }

    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.start(io),
            Notice::Writable { conn, .. } => self.fill(conn, io),
            Notice::Read { conn, bytes, .. } => {
                if let Some(transfer) = self.transfer(conn) {
                    transfer.read = transfer.read.saturating_add(bytes);
                }
            }
            Notice::Finished { conn, at } => {
                let now = io.now();
                if let Some(transfer) = self.transfer(conn) {
                    transfer.done = transfer.done.or(Some(now));
                }
                io.close(conn, at);
            }
            Notice::Wake(_) if !self.stopped => {
                self.over = Some(io.now());
                self.stop(io);
            }
            Notice::Stop => self.stop(io),
            Notice::Wake(_) | Notice::Opened(_) | Notice::Closed(_) | Notice::Datagram { .. } => {}
        }
    }

    fn carries(&self) -> Carries {
        Carries::One(self.sender.sends())
    }

    fn uses_quic(&self) -> bool {
        self.is_quic
    }

    fn ended(&self) -> Option<Instant> {
        let last = self.transfers.iter().filter_map(|transfer| transfer.done).max();
        last.filter(|_| self.size > 0 && self.is_done()).or(self.over)
    }

    fn summary(&self, _now: Instant) -> Summary {
        let mut out = Summary::new();
        if self.size > 0 {
            out.push(("read_bytes", self.transfers.iter().map(|t| t.read).sum::<u64>() as f64));
            let done = self.transfers.iter().map(|transfer| transfer.done);
            if let Some(last) = done.max().flatten().filter(|_| self.is_done()) {
                out.push(("completion_time_s", last.since(self.started).as_secs_f64()));
            }
        }
        out
    }
}

impl Bulk {
    /// Returns whether every connection has ended with at least `size` bytes delivered. A
    /// connection that is stopped early ends with fewer.
    fn is_done(&self) -> bool {
        self.transfers.iter().all(|transfer| transfer.done.is_some() && transfer.read >= self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Net, build, close, known, value};

    #[test]
    fn a_transfer_of_a_size_ends_and_says_when() {
        let mut net = Net::new(1).with_delay(Duration::from_millis(5));
        let summary = net.run_secs(&mut *build("bulk", &[("size", bytes(1_448_000))]), 20);
        // The expected time is the time of 1000 segments of 1500 bytes at 10 Mbit/s, plus a
        // handshake and the one-way delay.
        close(known(&summary, "completion_time_s"), 1.2 + 0.010 + 0.005, 0.01);
        close(known(&summary, "read_bytes"), 1_448_000.0, 0.0);
    }

    #[test]
    fn a_transfer_without_a_size_fills_the_line_until_its_time_is_over() {
        let span = ("duration", Value::MaybeDuration(Some(Duration::from_secs(5))));
        let mut net = Net::new(1).with_delay(Duration::from_millis(5));
        let summary = net.run_secs(&mut *build("bulk", &[span]), 20);
        close(net.ip_bytes[1] as f64 * 8.0 / 1e6, 50.0, 1.0);
        assert!(summary.is_empty());
    }

    #[test]
    fn parallel_connections_each_carry_the_whole_size() {
        let changes = [
            ("size", bytes(100_000)),
            ("parallel", Value::Count(4)),
            ("direction", Value::Word("up", &[])),
        ];
        let summary = Net::new(1).run_secs(&mut *build("bulk", &changes), 20);
        close(known(&summary, "read_bytes"), 400_000.0, 0.0);
        assert!(value(&summary, "completion_time_s").is_some());
    }

    #[test]
    fn a_transfer_ends_with_its_duration_or_its_bytes_but_not_with_its_stop() {
        let of = |changes: &[(&'static str, Value)], stop_s| {
            let mut app = build("bulk", changes);
            Net::new(1).run_secs(&mut *app, stop_s);
            app.ended()
        };
        let span = |secs| ("duration", Value::MaybeDuration(Some(Duration::from_secs(secs))));
        assert_eq!(of(&[], 5), None);
        assert_eq!(of(&[span(9)], 5), None);
        assert_eq!(of(&[span(3)], 5), Some(Instant::from_millis(3_000)));
        assert_eq!(of(&[("size", bytes(1 << 30))], 5), None);
        assert!(of(&[("size", bytes(1_000)), span(3)], 5).is_some_and(|at| at.as_secs_f64() < 1.0));
    }

    #[test]
    fn a_transfer_that_was_cut_short_has_no_completion_time() {
        let summary = Net::new(1).run_secs(&mut *build("bulk", &[("size", bytes(1 << 30))]), 2);
        assert_eq!(value(&summary, "completion_time_s"), None);
    }
}
