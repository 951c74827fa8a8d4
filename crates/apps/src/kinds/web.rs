//! Web browsing: pages with pauses between them.
//!
//! Sources: HTTP/1.1 (RFC 9112), HTTP/2 (RFC 9113) and HTTP/3 (RFC 9114). With HTTP/1.1, a browser
//! uses up to six connections per host, with one request at a time on each. With HTTP/2 and HTTP/3,
//! one connection per host carries all requests. In HTTP/3 each request has its own stream. The
//! page load time ends with the last object. It consists of a DNS lookup, the handshakes, one round
//! trip for each step that discovers objects, and the transfers. The module `page` defines the
//! pages. The pause is exponential, by default with a mean of 30 s, as in the 3GPP model.
//!
//! Differences: servers of HTTP/2 and HTTP/3 respond in the order of requests, without priorities,
//! and the flow control of HTTP/2 and of QUIC never limits them. An unanswered lookup is repeated
//! every 5 s, the default of resolv.conf(5). The sizes of TLS messages are typical values, not
//! taken from an RFC.

use aqmlab_core::{Args, Bounds, Direction, Instant, Kind, Param, Value};

use crate::needs::{Measure, Need, Needs};
use crate::params::{bytes, ms};
use crate::quantiles::Summary;
use crate::{App, Carries, Datagram, Io, Notice, bounds, http, requirements};

mod browser;
mod page;

use browser::{Browser, Config, Protocol};
use page::Model;

/// Registers `web`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "web",
    summary: "Web browsing: page after page, with page load times",
    source: "RFC 9112, RFC 9113, RFC 9114; httparchive.org 2016; 3GPP HTTP model (ns-3)",
    params: &[
        Param {
            name: "page",
            default: Value::Word("archive2016", page::PAGES),
            bounds: Bounds::Any,
            doc: "Source of a page's objects and their sizes.",
        },
        Param {
            name: "protocol",
            default: Value::Word("http1", &["http1", "http2", "http3", "http3_0rtt"]),
            bounds: Bounds::Any,
            doc: "HTTP version. HTTP/1.1 uses several connections to each host, HTTP/2 uses one, and \
                  HTTP/3 uses one over QUIC. With 0-RTT, HTTP/3 resumes an earlier connection.",
        },
        Param {
            name: "hosts",
            default: Value::Count(6),
            bounds: Bounds::Whole(1, 1_000),
            doc: "Number of hosts that serve a page's objects.",
        },
        Param {
            name: "connections",
            default: Value::Count(6),
            bounds: Bounds::Whole(1, 1_000),
            doc: "Maximum number of connections to one host in HTTP/1.1.",
        },
        Param {
            name: "depth",
            default: Value::Count(3),
            bounds: Bounds::Whole(2, 1_000),
            doc: "Number of steps in which a page's objects are found, including the page.",
        },
        Param {
            name: "objects",
            default: Value::Count(30),
            bounds: Bounds::Whole(1, page::MOST_OBJECTS as u64),
            doc: "Number of objects of a `custom` page, including the page itself.",
        },
        Param {
            name: "size",
            default: bytes(1_000_000),
            bounds: bounds::TRANSFER,
            doc: "Bytes of a `custom` page.",
        },
        http::REQUEST,
        http::HEADER,
        http::TLS_RTTS,
        Param {
            name: "dns",
            default: Value::Flag(true),
            bounds: Bounds::Any,
            doc: "Whether the browser looks up each host in DNS.",
        },
        Param {
            name: "server_time",
            default: ms(0),
            bounds: bounds::WAIT,
            doc: "Processing time of a request at the server.",
        },
        Param {
            name: "think",
            default: ms(30_000),
            bounds: bounds::WAIT,
            doc: "Mean time between pages.",
        },
        Param {
            name: "pages",
            default: Value::Count(0),
            bounds: bounds::TIMES_OR_ENDLESS,
            doc: "Number of pages; 0 sets no limit.",
        },
    ],
    build: |args: &Args| {
        let model =
            Model::named(args.word("page"), args.bytes("size").0, args.count("objects") as usize);
        let protocol = Protocol::named(args.word("protocol"));
        let is_first = protocol == Protocol::Http1;
        Box::new(Web {
            browser: Browser::new(Config {
                model,
                protocol,
                hosts: args.count("hosts") as usize,
                connections: if is_first { args.count("connections") as usize } else { 1 },
                depth: args.count("depth") as usize,
                request: args.bytes("request").0,
                header: args.bytes("header").0,
                tls_rtts: args.count("tls_rtts") as u32,
                dns: args.flag("dns"),
                server_time: args.duration("server_time"),
                think: args.duration("think"),
                pages: args.count("pages"),
            }),
        })
    },
}];

/// The tolerable load time of a page, in milliseconds.
pub(crate) const MOST_MS: f64 = 4_000.0;

/// The needs of `web`. Three of four pages must load in time. A page that is still loading counts
/// once it has taken longer than the tolerable time.
pub const NEEDS: &[Needs] = &[Needs::of(
    "web",
    "pages open at once",
    &[Need::up_to("page loads", Measure::Own(&["page_p75_ms"]), [2_000.0, MOST_MS], "ms")
        .because("pages open slowly", "G.1010 Table I.2: web pages")],
)
.with(&requirements::WEB)];

struct Web {
    browser: Browser,
}

impl App for Web {
    fn most_connections(&self) -> u64 {
        self.browser.most_connections()
    }

    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        self.browser.handle(notice, io);
    }

    /// Returns the datagram of the lookups, beside which the browser opens connections.
    fn datagram(&self) -> Option<Datagram> {
        self.browser.datagram()
    }

    fn uses_tcp(&self) -> bool {
        !self.uses_quic()
    }

    fn carries(&self) -> Carries {
        Carries::One(Direction::Down)
    }

    fn uses_quic(&self) -> bool {
        self.browser.uses_quic()
    }

    fn summary(&self, now: Instant) -> Summary {
        self.browser.summary(now)
    }
}

#[cfg(test)]
mod tests;
