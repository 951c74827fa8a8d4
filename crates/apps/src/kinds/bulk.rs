//! A bulk transfer: a file, a backup, an update, or iperf.
//!
//! Source: iperf 2 as TEACUP starts it (`start_iperf`): one TCP connection that sends as fast
//! as it can, for a time or for a number of bytes. The sender opens the connection.

use aqmlab_core::{Args, Bytes, Instant, Kind, Param, Side, Value};

use crate::{App, Carries, ConnId, Io, Notice, Open};

/// Registers `bulk`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "bulk",
    summary: "A TCP transfer as fast as it will go",
    source: "TEACUP v1.1 start_iperf (iperf 2)",
    params: &[
        Param {
            name: "direction",
            default: Value::Word("down", &["up", "down"]),
            doc: "Which way the data flows.",
        },
        Param {
            name: "size",
            default: Value::Bytes(Bytes(0)),
            doc: "Bytes to transfer; 0 goes on until the application is told to stop.",
        },
    ],
    build: |args: &Args| {
        let sender = if args.word("direction") == "up" { Side::Home } else { Side::Wan };
        Box::new(Bulk {
            sender,
            left: args.bytes("size").0,
            limited: args.bytes("size").0 > 0,
            conn: None,
            read: 0,
            started: Instant::ZERO,
            done: None,
        })
    },
}];

struct Bulk {
    sender: Side,
    /// Bytes not yet written.
    left: u64,
    /// Whether there is an end to the data.
    limited: bool,
    conn: Option<ConnId>,
    read: u64,
    started: Instant,
    done: Option<Instant>,
}

impl Bulk {
    fn fill(&mut self, conn: ConnId, io: &mut dyn Io) {
        if self.left > 0 {
            self.left -= io.write(conn, self.sender, self.left);
            if self.left == 0 {
                io.close(conn, self.sender);
            }
        }
    }
}

impl App for Bulk {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => {
                self.started = io.now();
                let conn = io.open(Open { reads: self.limited, ..Open::tcp(self.sender) });
                self.conn = Some(conn);
                if self.limited {
                    self.fill(conn, io);
                } else {
                    io.pour(conn, self.sender);
                }
            }
            Notice::Writable { conn, .. } => self.fill(conn, io),
            Notice::Read { bytes, .. } => self.read += bytes,
            Notice::Finished { conn, at } => {
                self.done = self.done.or(Some(io.now()));
                io.close(conn, at);
            }
            Notice::Stop => {
                self.left = 0;
                if let Some(conn) = self.conn {
                    io.close(conn, self.sender);
                }
            }
            Notice::Opened(_) | Notice::Wake(_) | Notice::Closed(_) | Notice::Datagram { .. } => {}
        }
    }

    fn carries(&self) -> Carries {
        Carries::One(self.sender.sends())
    }

    fn summary(&self, _now: Instant) -> Vec<(&'static str, f64)> {
        let took = self.done.filter(|_| self.limited).map(|done| done.since(self.started));
        took.map(|took| ("completion_time_s", took.as_secs_f64())).into_iter().collect()
    }
}
