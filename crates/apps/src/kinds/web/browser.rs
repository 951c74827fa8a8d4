//! A browser and the servers that it communicates with.

use aqmlab_core::{Duration, Instant, Side};

use super::MOST_MS;
use super::page::{self, Model, Object};
use crate::datagrams;
use crate::pipe::Pipe;
use crate::quantiles::{Quantiles, Summary};
use crate::tls::{CERTIFICATES, FINISH, FINISHED, HELLO};
use crate::{ConnId, Datagram, Io, Notice, Open};

const DNS_QUERY: u32 = 45;
const DNS_ANSWER: u32 = 110;
const DNS_RETRY: Duration = Duration::from_secs(5);

/// The version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    Http3 {
        /// Whether connections resume earlier connections (0-RTT).
        zero_rtt: bool,
    },
}

impl Protocol {
    /// Returns the protocol that the parameter `protocol` names.
    pub(crate) fn named(word: &str) -> Self {
        match word {
            "http2" => Self::Http2,
            "http3" => Self::Http3 { zero_rtt: false },
            "http3_0rtt" => Self::Http3 { zero_rtt: true },
            _ => Self::Http1,
        }
    }

    /// Returns whether the protocol uses QUIC.
    pub(crate) const fn uses_quic(self) -> bool {
        matches!(self, Self::Http3 { .. })
    }
}

/// The configuration of a browser.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) model: Model,
    pub(crate) protocol: Protocol,
    pub(crate) hosts: usize,
    /// The maximum number of connections to one host.
    pub(crate) connections: usize,
    pub(crate) depth: usize,
    pub(crate) request: u64,
    pub(crate) header: u64,
    pub(crate) tls_rtts: u32,
    pub(crate) dns: bool,
    pub(crate) server_time: Duration,
    pub(crate) think: Duration,
    pub(crate) pages: u64,
}

/// A message of the browser or of a server.
#[derive(Clone, Copy, Debug)]
enum Say {
    /// A message of the TLS handshake. The value is the number of further round trips of the
    /// handshake.
    Tls(u32),
    /// A request or a response for the object of this number.
    Object(usize),
}

#[derive(Debug)]
struct Link {
    conn: ConnId,
    host: usize,
    /// Whether requests may be sent.
    ready: bool,
    /// The messages of the connection, or of each stream in HTTP/3.
    exchanges: Vec<Exchange>,
    /// The objects that were requested and not yet received.
    asked: Vec<usize>,
}

/// The two directions of a connection or of a stream.
#[derive(Debug)]
struct Exchange {
    conn: ConnId,
    up: Pipe<Say>,
    down: Pipe<Say>,
}

impl Exchange {
    const fn new(conn: ConnId) -> Self {
        Self { conn, up: Pipe::new(conn, Side::Home), down: Pipe::new(conn, Side::Wan) }
    }
}

#[derive(Debug, Default)]
struct Host {
    resolved: bool,
    looking: bool,
    /// The objects found but not yet requested. The next object to request is the last in the list.
    found: Vec<usize>,
}

/// The purpose of a wake-up.
#[derive(Clone, Copy, Debug)]
enum Due {
    NextPage,
    /// The lookup of a host is due again, unless it has been answered.
    Lookup(usize),
    /// The main object has been parsed.
    Parsed,
    /// A server has prepared the response, on this connection, for the object of this number.
    Answer(ConnId, usize),
}

/// A browser that loads one page after another.
pub(crate) struct Browser {
    config: Config,
    running: bool,
    stopped: Option<Instant>,
    resolver: Option<ConnId>,
    /// The number of pages begun. Wake-ups and lookups of earlier pages are ignored.
    begun: u64,
    started: Instant,
    objects: Vec<Object>,
    left: usize,
    hosts: Vec<Host>,
    links: Vec<Link>,
    opened: u64,
    opened_now: u64,
    load: Quantiles,
    first: Quantiles,
    /// The requested wake-ups. A token contains the index of its wake-up.
    due: Vec<Option<Due>>,
}

impl Browser {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            running: false,
            stopped: None,
            resolver: None,
            begun: 0,
            started: Instant::ZERO,
            objects: Vec::new(),
            left: 0,
            hosts: Vec::new(),
            links: Vec::new(),
            opened: 0,
            opened_now: 0,
            load: Quantiles::default(),
            first: Quantiles::default(),
            due: Vec::new(),
        }
    }

    /// Returns the largest number of connections at one time. Each of them has requested an object.
    pub(crate) fn most_connections(&self) -> u64 {
        let Config { hosts, connections, .. } = self.config;
        (hosts * connections).min(page::MOST_OBJECTS) as u64
    }

    /// Returns the largest datagram of the lookups, if hosts are looked up.
    pub(crate) fn datagram(&self) -> Option<Datagram> {
        self.config.dns.then_some(Datagram { bytes: DNS_ANSWER, headers: 0, set_by: "dns" })
    }

    pub(crate) const fn uses_quic(&self) -> bool {
        self.config.protocol.uses_quic()
    }

    pub(crate) fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            // The server ends a stream after its response.
            Notice::Finished { conn, .. } if self.is_stream(conn) => {}
            Notice::Finished { conn, at } => io.close(conn, at),
            Notice::Start => {
                self.running = true;
                self.resolver = self.config.dns.then(|| io.open(Open::udp(Side::Home)));
                self.begin(io);
            }
            Notice::Stop => self.stop(io),
            _ if !self.running => {}
            Notice::Wake(token) => self.wake(token, io),
            Notice::Opened(conn) => self.opened(conn, io),
            Notice::Read { conn, at, bytes } => self.read(conn, at, bytes, io),
            Notice::Writable { conn, at } => {
                if let Some(of) = self.exchange(conn) {
                    if at == Side::Home {
                        of.up.flush(io);
                    } else {
                        of.down.flush(io);
                    }
                }
            }
            Notice::Closed(conn) => self.lost(conn, io),
            Notice::Datagram { conn, at: Side::Wan, tag, .. } => {
                io.send(conn, Side::Wan, DNS_ANSWER, tag);
            }
            Notice::Datagram { at: Side::Home, tag, .. } => self.resolved(tag, io),
        }
    }

    /// Requests a wake-up for `due` after `span`. A token consists of the page's number and the
    /// index of `due` in the list.
    fn wake_for(&mut self, due: Due, span: Duration, io: &mut dyn Io) {
        let token = self.begun << 32 | self.due.len() as u64;
        self.due.push(Some(due));
        io.wake_at(io.now() + span, token);
    }

    fn wake(&mut self, token: u64, io: &mut dyn Io) {
        if token >> 32 != self.begun {
            return;
        }
        let Some(due) = self.due.get_mut((token & 0xffff_ffff) as usize).and_then(Option::take)
        else {
            return;
        };
        match due {
            Due::NextPage => self.begin(io),
            Due::Lookup(host) => {
                if !self.hosts[host].resolved {
                    self.look_up(host, io);
                }
            }
            Due::Parsed => self.discover(0, io),
            Due::Answer(conn, object) => self.answer(conn, object, io),
        }
    }

    fn begin(&mut self, io: &mut dyn Io) {
        let Config { model, hosts, depth, .. } = self.config;
        self.begun += 1;
        self.due.clear();
        self.opened_now = 0;
        self.started = io.now();
        self.objects = page::page(model, hosts, depth, io.rng());
        self.left = self.objects.len();
        self.hosts = (0..hosts).map(|_| Host::default()).collect();
        self.find(0, io);
    }

    /// Adds a discovered object, to be requested as soon as a connection is free.
    fn find(&mut self, object: usize, io: &mut dyn Io) {
        let host = self.objects[object].host;
        self.hosts[host].found.insert(0, object);
        self.dispatch(host, io);
    }

    /// Requests the objects found on `host` over free connections, and opens further connections up
    /// to the limit. If the host must first be looked up, only begins the lookup.
    fn dispatch(&mut self, host: usize, io: &mut dyn Io) {
        if self.config.dns && !self.hosts[host].resolved {
            if !self.hosts[host].looking {
                self.hosts[host].looking = true;
                self.look_up(host, io);
            }
            return;
        }
        let protocol = self.config.protocol;
        let shares = protocol != Protocol::Http1;
        while let Some(&object) = self.hosts[host].found.last() {
            let free = |link: &&mut Link| {
                link.host == host && link.ready && (shares || link.asked.is_empty())
            };
            let Some(link) = self.links.iter_mut().find(free) else { break };
            self.hosts[host].found.pop();
            link.asked.push(object);
            if protocol.uses_quic() {
                let stream = io.open(Open::stream(Side::Home, link.conn));
                link.exchanges.push(Exchange::new(stream));
            }
            let Some(of) = link.exchanges.last_mut() else { break };
            of.up.push(self.config.request, Say::Object(object), io);
            if protocol.uses_quic() {
                // QUIC has accepted the whole request.
                io.close(of.conn, Side::Home);
            }
        }
        let of_host = || self.links.iter().filter(|link| link.host == host);
        let coming = of_host().filter(|link| !link.ready).count();
        let room = self.config.connections.saturating_sub(of_host().count());
        for _ in 0..room.min(self.hosts[host].found.len().saturating_sub(coming)) {
            self.connect(host, io);
        }
    }

    fn look_up(&mut self, host: usize, io: &mut dyn Io) {
        if let Some(resolver) = self.resolver {
            io.send(resolver, Side::Home, DNS_QUERY, self.begun << 32 | host as u64);
            self.wake_for(Due::Lookup(host), DNS_RETRY, io);
        }
    }

    fn resolved(&mut self, tag: u64, io: &mut dyn Io) {
        let host = (tag & 0xffff_ffff) as usize;
        if tag >> 32 == self.begun && host < self.hosts.len() && !self.hosts[host].resolved {
            self.hosts[host].resolved = true;
            self.dispatch(host, io);
        }
    }

    fn connect(&mut self, host: usize, io: &mut dyn Io) {
        let open = match self.config.protocol {
            Protocol::Http3 { zero_rtt } => Open { zero_rtt, ..Open::quic(Side::Home) },
            Protocol::Http1 | Protocol::Http2 => Open { nodelay: true, ..Open::tcp(Side::Home) },
        };
        let conn = io.open(open);
        self.opened_now += 1;
        let exchanges = match self.config.protocol {
            Protocol::Http3 { .. } => Vec::new(),
            Protocol::Http1 | Protocol::Http2 => vec![Exchange::new(conn)],
        };
        self.links.push(Link { conn, host, ready: false, exchanges, asked: Vec::new() });
    }

    fn exchange(&mut self, conn: ConnId) -> Option<&mut Exchange> {
        let mut all = self.links.iter_mut().flat_map(|link| &mut link.exchanges);
        all.find(|of| of.conn == conn)
    }

    /// Returns whether `conn` is a stream of the present page.
    fn is_stream(&self, conn: ConnId) -> bool {
        let mut links = self.links.iter().filter(|link| link.conn != conn);
        links.any(|link| link.exchanges.iter().any(|of| of.conn == conn))
    }

    fn opened(&mut self, conn: ConnId, io: &mut dyn Io) {
        // The handshake of QUIC includes that of TLS.
        let tls = if self.config.protocol.uses_quic() { 0 } else { self.config.tls_rtts };
        let Some(link) = self.links.iter_mut().find(|link| link.conn == conn) else { return };
        if let (1.., Some(of)) = (tls, link.exchanges.first_mut()) {
            of.up.push(HELLO, Say::Tls(tls - 1), io);
        } else {
            link.ready = true;
            let host = link.host;
            self.dispatch(host, io);
        }
    }

    fn read(&mut self, conn: ConnId, at: Side, bytes: u64, io: &mut dyn Io) {
        if let Some(of) = self.exchange(conn) {
            if at == Side::Wan { of.up.advance(bytes) } else { of.down.advance(bytes) }
        }
        while let Some(say) = self.pop(conn, at) {
            if at == Side::Wan { self.serve(conn, say, io) } else { self.hear(conn, say, io) }
        }
    }

    fn pop(&mut self, conn: ConnId, at: Side) -> Option<Say> {
        let of = self.exchange(conn)?;
        if at == Side::Wan { of.up.pop() } else { of.down.pop() }
    }

    /// Lets the server process a message that it has read.
    fn serve(&mut self, conn: ConnId, say: Say, io: &mut dyn Io) {
        match say {
            Say::Tls(left) => {
                let size = if left + 1 == self.config.tls_rtts { CERTIFICATES } else { FINISHED };
                self.reply(conn, size, say, io);
            }
            Say::Object(object) if self.config.server_time > Duration::ZERO => {
                self.wake_for(Due::Answer(conn, object), self.config.server_time, io);
            }
            Say::Object(object) => self.answer(conn, object, io),
        }
    }

    fn answer(&mut self, conn: ConnId, object: usize, io: &mut dyn Io) {
        let size = self.objects[object].size + self.config.header;
        self.reply(conn, size, Say::Object(object), io);
    }

    fn reply(&mut self, conn: ConnId, size: u64, say: Say, io: &mut dyn Io) {
        let ends = self.config.protocol.uses_quic();
        if let Some(of) = self.exchange(conn) {
            of.down.push(size, say, io);
            if ends {
                io.close(of.conn, Side::Wan);
            }
        }
    }

    /// Lets the browser process a message that it has read.
    fn hear(&mut self, conn: ConnId, say: Say, io: &mut dyn Io) {
        let carries = |link: &&mut Link| link.exchanges.iter().any(|of| of.conn == conn);
        let Some(link) = self.links.iter_mut().find(carries) else { return };
        let host = link.host;
        match say {
            Say::Tls(0) => {
                link.ready = true;
                self.dispatch(host, io);
            }
            Say::Tls(left) => {
                if let Some(of) = link.exchanges.first_mut() {
                    of.up.push(FINISH, Say::Tls(left - 1), io);
                }
            }
            Say::Object(object) => {
                link.asked.retain(|&asked| asked != object);
                self.arrived(object, io);
                // The last object ends the page and therefore closes this connection.
                if self.left > 0 {
                    self.dispatch(host, io);
                }
            }
        }
    }

    fn arrived(&mut self, object: usize, io: &mut dyn Io) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            if object == 0 {
                self.first.add_ms(io.now().since(self.started));
            }
            self.finish(io);
        } else if object == 0 {
            self.first.add_ms(io.now().since(self.started));
            let parsing = self.config.model.parsing(io.rng());
            if parsing > Duration::ZERO {
                self.wake_for(Due::Parsed, parsing, io);
            } else {
                self.discover(0, io);
            }
        } else {
            self.discover(object, io);
        }
    }

    /// Finds the objects to which `parent` refers.
    fn discover(&mut self, parent: usize, io: &mut dyn Io) {
        for object in parent + 1..self.objects.len() {
            if self.objects[object].parent == parent {
                self.find(object, io);
            }
        }
    }

    fn finish(&mut self, io: &mut dyn Io) {
        let took = io.now().since(self.started);
        self.load.add_ms(took);
        self.opened += self.opened_now;
        io.note("page_load_ms", took.as_secs_f64() * 1e3);
        self.close_all(io);
        if self.config.pages == 0 || self.begun < self.config.pages {
            let think = io.rng().exponential(self.config.think.as_secs_f64());
            self.wake_for(Due::NextPage, Duration::from_secs_f64(think), io);
        }
    }

    fn close_all(&mut self, io: &mut dyn Io) {
        for link in self.links.drain(..) {
            io.close(link.conn, Side::Home);
        }
    }

    /// Removes a closed connection, and repeats its pending requests over other connections.
    fn lost(&mut self, conn: ConnId, io: &mut dyn Io) {
        let Some(at) = self.links.iter().position(|link| link.conn == conn) else { return };
        let link = self.links.remove(at);
        self.hosts[link.host].found.extend(link.asked);
        self.dispatch(link.host, io);
    }

    /// Returns the 75th percentile of the page load times in milliseconds; `None` if no page
    /// counts. A page that is still loading counts, with its age, only if its age exceeds the
    /// tolerable time.
    fn usual_ms(&self, now: Instant) -> Option<f64> {
        let mut times = self.load.clone();
        let age = self.stopped.unwrap_or(now).since(self.started);
        if self.left > 0 && age.as_secs_f64() * 1e3 > MOST_MS {
            times.add_ms(age);
        }
        times.at(0.75)
    }

    fn stop(&mut self, io: &mut dyn Io) {
        if std::mem::take(&mut self.running) {
            self.stopped = Some(io.now());
            self.close_all(io);
            if let Some(resolver) = self.resolver {
                datagrams::close(resolver, io);
            }
        }
    }

    pub(crate) fn summary(&self, now: Instant) -> Summary {
        let mut out = vec![
            ("pages_count", self.load.count() as f64),
            ("unfinished_pages_count", (self.begun - self.load.count()) as f64),
        ];
        if self.load.count() > 0 {
            let connections = self.opened as f64 / self.load.count() as f64;
            out.push(("connections_per_page_mean", connections));
        }
        if self.left > 0 && self.running {
            out.push(("loading_s", now.since(self.started).as_secs_f64()));
        }
        self.load.report(
            ["page_load_p50_ms", "page_load_p95_ms", "page_load_p99_ms", "page_load_max_ms"],
            &mut out,
        );
        out.extend(self.usual_ms(now).map(|ms| ("page_p75_ms", ms)));
        self.first.report(
            [
                "first_object_p50_ms",
                "first_object_p95_ms",
                "first_object_p99_ms",
                "first_object_max_ms",
            ],
            &mut out,
        );
        out
    }
}
