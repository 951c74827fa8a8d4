//! A path between two connections, with a rate, a delay and chosen losses and marks.

use std::collections::VecDeque;

use aqmlab_core::{Args, BitRate, Bytes, Duration, Ecn, Instant, QuicFrame, QuicPacket, QuicSpace};
use aqmlab_quic::{Config, Connection, Event, Transmit};
use aqmlab_tcp::cc::kinds;

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Server,
}

/// A sent datagram.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) from: End,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
    pub(crate) packets: Vec<QuicPacket>,
}

impl Sent {
    /// Returns whether a frame of the datagram has the property `is`.
    pub(crate) fn has(&self, is: impl Fn(&QuicFrame) -> bool) -> bool {
        self.packets.iter().any(|packet| packet.frames.iter().any(&is))
    }

    /// Returns whether the datagram has bytes of a stream.
    pub(crate) fn is_data(&self) -> bool {
        self.has(|frame| matches!(frame, QuicFrame::Stream { .. }))
    }
}

/// The fate of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    Marked,
    Lost,
}

/// A function that decides the fate of a datagram, given its number and the datagram.
pub(crate) type Decide = Box<dyn FnMut(u64, &Sent) -> Fate>;

/// Two connections and the path between them.
pub(crate) struct Path {
    pub(crate) now: Instant,
    pub(crate) ends: [Connection; 2],
    pub(crate) one_way: Duration,
    /// Whether the path clears the ECN field.
    pub(crate) clear_ecn: bool,
    rate: Option<BitRate>,
    free: [Instant; 2],
    flying: VecDeque<(Instant, End, Transmit)>,
    /// Decides about each datagram; the number counts the datagrams of its sender.
    pub(crate) fate: Decide,
    sent_by: [u64; 2],
    pub(crate) log: Vec<Sent>,
    pub(crate) events: Vec<(Instant, End, Event)>,
}

/// Returns a configuration with the controller `cc`.
pub(crate) fn config(cc: &str) -> Config {
    let kind = kinds::find(cc).expect("the controller exists");
    Config::new((kind.build)(&Args::defaults(kind.params)))
}

impl Path {
    /// Returns a path of 20 ms in each direction, between ends with NewReno and `change`.
    pub(crate) fn new(change: impl Fn(&mut Config)) -> Self {
        let made = || {
            let mut config = config("reno");
            change(&mut config);
            config
        };
        Self {
            now: Instant::ZERO,
            ends: [Connection::client(made(), Instant::ZERO), Connection::server(made())],
            one_way: Duration::from_millis(20),
            clear_ecn: false,
            rate: None,
            free: [Instant::ZERO; 2],
            flying: VecDeque::new(),
            fate: Box::new(|_, _| Fate::Arrives),
            sent_by: [0; 2],
            log: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn with_rate(mut self, bps: u64) -> Self {
        self.rate = BitRate::new(bps);
        self
    }

    pub(crate) fn with_fate(mut self, fate: impl FnMut(u64, &Sent) -> Fate + 'static) -> Self {
        self.fate = Box::new(fate);
        self
    }

    pub(crate) fn client(&mut self) -> &mut Connection {
        &mut self.ends[0]
    }

    /// Runs the connections until `ms` milliseconds after the start.
    pub(crate) fn run_until(&mut self, ms: u64) {
        let end = Instant::from_millis(ms);
        let mut steps = 0;
        loop {
            steps += 1;
            assert!(steps < 1_000_000, "time stands still at {:?}", self.now);
            for at in [End::Client, End::Server] {
                self.poll(at);
            }
            let arrival = self.flying.iter().map(|(at, ..)| *at).min();
            let timers = self.ends.iter().filter_map(Connection::poll_timeout);
            let Some(next) = timers.chain(arrival).min().filter(|at| *at <= end) else { break };
            self.now = next.max(self.now);
            let now = self.now;
            while let Some(place) = self.flying.iter().position(|(at, ..)| *at <= now) {
                let (_, to, sent) = self.flying.remove(place).expect("it was found");
                self.ends[to as usize].handle_datagram(&sent.datagram, sent.bytes, sent.ecn, now);
            }
            for connection in &mut self.ends {
                if connection.poll_timeout().is_some_and(|at| at <= now) {
                    connection.handle_timeout(now);
                }
            }
        }
        self.now = end;
    }

    fn poll(&mut self, from: End) {
        let index = from as usize;
        while let Some(mut sent) = self.ends[index].poll_transmit(self.now) {
            let record = Sent {
                at: self.now,
                from,
                bytes: sent.bytes,
                ecn: sent.ecn,
                packets: sent.datagram.packets.clone(),
            };
            let fate = (self.fate)(self.sent_by[index], &record);
            self.sent_by[index] += 1;
            self.log.push(record);
            let span = self.rate.map_or(Duration::ZERO, |rate| {
                rate.transmit_time(Bytes(28 + u64::from(sent.bytes)))
            });
            self.free[index] = self.free[index].max(self.now) + span;
            if fate == Fate::Marked {
                sent.ecn = Ecn::Ce;
            }
            if self.clear_ecn {
                sent.ecn = Ecn::NotEct;
            }
            if fate != Fate::Lost {
                let to = if from == End::Client { End::Server } else { End::Client };
                self.flying.push_back((self.free[index] + self.one_way, to, sent));
            }
        }
        while let Some(event) = self.ends[index].poll_event() {
            self.events.push((self.now, from, event));
        }
    }

    /// Returns the datagrams of an end.
    pub(crate) fn of(&self, end: End) -> impl Iterator<Item = &Sent> {
        self.log.iter().filter(move |sent| sent.from == end)
    }

    /// Returns the time of the first event that `is` accepts at an end, if there was one.
    pub(crate) fn time_of(&self, end: End, is: impl Fn(&Event) -> bool) -> Option<Instant> {
        self.events.iter().find(|(_, at, event)| *at == end && is(event)).map(|(at, ..)| *at)
    }

    /// Returns the bytes of a stream that an end has read.
    pub(crate) fn read(&self, end: End, of: u32) -> u64 {
        let bytes = |event: &Event| match event {
            Event::Readable { stream, bytes } if *stream == of => *bytes,
            _ => 0,
        };
        self.events.iter().filter(|(_, at, _)| *at == end).map(|(.., event)| bytes(event)).sum()
    }
}

/// Returns whether a datagram carries only packets of the application space.
pub(crate) fn is_short(sent: &Sent) -> bool {
    sent.packets.iter().all(|packet| packet.space == QuicSpace::Application)
}
