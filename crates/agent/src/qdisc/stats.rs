//! The counters of queue disciplines, read directly over netlink (rtnetlink(7)).

mod cake;

use std::os::fd::OwnedFd;

use aqmlab_core::Instant;

use crate::sys;

/// The counters of one discipline at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    pub(crate) backlog_packets: u64,
    pub(crate) backlog_bytes: u64,
    /// The number of packets dropped for any reason.
    pub(crate) drops: u64,
    /// The number of packets dropped because the queue was full.
    pub(crate) overlimit: u64,
    /// The number of redundant acknowledgements that CAKE removed. They also count as drops.
    pub(crate) filtered: u64,
    pub(crate) marks: u64,
}

/// The counters of one link's discipline at one time.
pub(crate) struct QueueSample {
    pub(crate) at: Instant,
    pub(crate) link: usize,
    pub(crate) counters: Counters,
}

/// The gauges of a discipline, under the simulator's names.
pub(crate) type Gauges = Vec<(&'static str, f64)>;

/// A reader of the kernel's counters in the namespace in which the reader was created.
pub(crate) struct StatsReader {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

const HEADER: usize = 16;
const TC_MESSAGE: usize = 20;
/// The handle of a link's discipline, `10:`.
const CHILD: u32 = 0x10_0000;
/// The handle of HTB's class, `1:1`.
const CLASS: u32 = 0x1_0001;
// These are attributes of linux/rtnetlink.h and linux/gen_stats.h.
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
const STATS_APP: u16 = 4;

impl StatsReader {
    pub(crate) fn new() -> Result<Self, String> {
        let socket = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)
            .map_err(|error| format!("netlink: {error}"))?;
        Ok(Self { socket, buffer: vec![0; 32 * 1_024] })
    }

    /// Reads the counters and gauges of the link's discipline on a device.
    pub(crate) fn read(&mut self, device: u32) -> Result<(Counters, Gauges), String> {
        let mut found = None;
        self.dump(libc::RTM_GETQDISC, [device, CHILD], |body| found = Some(counters(body)))?;
        found.ok_or_else(|| format!("the discipline of device {device} is gone"))
    }

    /// Reads the `tc_htb_opt` of HTB's class on a device.
    pub(crate) fn class(&mut self, device: u32) -> Result<Vec<u8>, String> {
        let mut found = None;
        self.dump(libc::RTM_GETTCLASS, [device, CLASS], |body| {
            let options = attributes(body).find(|(name, _)| *name == TCA_OPTIONS);
            let inner = options.and_then(|(_, inner)| attributes(inner).next());
            found = inner.map(|(_, parameters)| parameters.to_vec());
        })?;
        found.ok_or_else(|| format!("there is no class on device {device}"))
    }

    /// Requests a dump of all disciplines or classes, and passes the attributes of the object with
    /// the given device and handle, if there is one, to `found`.
    fn dump(
        &mut self,
        kind: u16,
        [device, handle]: [u32; 2],
        mut found: impl FnMut(&[u8]),
    ) -> Result<(), String> {
        let mut request = Vec::with_capacity(HEADER + TC_MESSAGE);
        let dump = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        request.extend(((HEADER + TC_MESSAGE) as u32).to_ne_bytes());
        request.extend(kind.to_ne_bytes());
        request.extend(dump.to_ne_bytes());
        request.extend([0; 8]);
        request.extend([0; 4]);
        request.extend(device.to_ne_bytes());
        request.extend([0; 12]);
        sys::send(&self.socket, &request).map_err(|error| format!("netlink: {error}"))?;
        // The kernel replies synchronously, during the request and during each read.
        while let Ok(len) = sys::receive(&self.socket, &mut self.buffer) {
            if self.scan(len, [device, handle], &mut found) {
                break;
            }
        }
        Ok(())
    }

    /// Passes the attributes of each object in one part of the response to `found`, if the object
    /// has the device and the handle `which`. Returns whether this part is the last or reports an
    /// error.
    fn scan(&self, len: usize, which: [u32; 2], found: &mut impl FnMut(&[u8])) -> bool {
        let mut rest = &self.buffer[..len];
        while rest.len() >= HEADER {
            let size = (word(rest, 0) as usize).clamp(HEADER, rest.len());
            let kind = half(rest, 4);
            if i32::from(kind) == libc::NLMSG_DONE || i32::from(kind) == libc::NLMSG_ERROR {
                return true;
            }
            let body = &rest[HEADER..size];
            if body.len() >= TC_MESSAGE && [word(body, 4), word(body, 8)] == which {
                found(&body[TC_MESSAGE..]);
            }
            rest = &rest[size.next_multiple_of(4).min(rest.len())..];
        }
        false
    }
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]]))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    // The halves are in the host's byte order, as is everything in netlink.
    let (first, second) = (u64::from(word(bytes, at)), u64::from(word(bytes, at + 4)));
    if cfg!(target_endian = "little") { second << 32 | first } else { first << 32 | second }
}

/// Returns the type and the value of each attribute in `bytes`.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let size = usize::from(half(bytes, 0));
        if size < 4 || size > bytes.len() {
            return None;
        }
        let found = (half(bytes, 2) & 0x3fff, &bytes[4..size]);
        bytes = &bytes[size.next_multiple_of(4).min(bytes.len())..];
        Some(found)
    })
}

fn counters(bytes: &[u8]) -> (Counters, Gauges) {
    let mut result = Counters::default();
    let mut gauges = Vec::new();
    let mut kind = "";
    for (name, value) in attributes(bytes) {
        if name == TCA_KIND {
            kind = std::str::from_utf8(value).unwrap_or("").trim_end_matches('\0');
        }
        if name != TCA_STATS2 {
            continue;
        }
        for (name, value) in attributes(value) {
            match name {
                STATS_BASIC => {
                    result.bytes = long(value, 0);
                    result.packets = word(value, 8).into();
                }
                STATS_QUEUE => {
                    result.backlog_packets = word(value, 0).into();
                    result.backlog_bytes = word(value, 4).into();
                    result.drops = word(value, 8).into();
                }
                STATS_APP if kind == "cake" => {
                    (result.filtered, result.marks, gauges) = cake::own(value);
                }
                STATS_APP => (result.overlimit, result.marks, gauges) = own(kind, value),
                _ => {}
            }
        }
    }
    // These disciplines drop packets only at their limit.
    if kind.starts_with("pfifo") || kind == "bfifo" || kind == "sfq" {
        result.overlimit = result.drops;
    }
    (result, gauges)
}

/// Returns the number of drops at the limit, the number of marks, and the gauges, from a
/// discipline's own counters (`linux/pkt_sched.h`). RED does not report its average queue length,
/// and FQ-PIE does not report the probabilities of flows.
fn own(kind: &str, value: &[u8]) -> (u64, u64, Gauges) {
    let at = |place: usize| u64::from(word(value, 4 * place));
    let gauge = |name: &'static str, place: usize| (name, at(place) as f64);
    match kind {
        "codel" => (at(5), at(6), vec![gauge("count", 1), gauge("dropping", 7)]),
        "fq_codel" => (at(2), at(3), vec![gauge("new_flows", 5), gauge("old_flows", 6)]),
        // A 64-bit probability comes first, then delay, rate, whether the rate is estimated,
        // packets, and drops.
        "pie" => {
            // A probability of 1 is 2^64, and the delay is in microseconds (`pie_dump_stats`).
            let probability = long(value, 0) as f64 / 2_f64.powi(64);
            let delay = at(2) as f64 / 1e3;
            let gauges = vec![("drop_probability", probability), ("queue_delay_ms", delay)];
            (at(7), at(9), gauges)
        }
        // Packets beyond the memory limit are counted separately and are not dropped
        // (`fq_pie_qdisc_enqueue`).
        "fq_pie" => (at(2), at(4), vec![gauge("new_flows", 6), gauge("old_flows", 7)]),
        // The first counter, `early`, is the sum of the early and the forced drops.
        "red" => (at(1), at(3), Vec::new()),
        _ => (0, 0, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(name.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn counters_are_found_in_a_message() {
        let mut inner = attribute(STATS_QUEUE, &words(&[3, 4_500, 7, 0, 0]));
        inner.extend(attribute(STATS_APP, &words(&[0, 1_514, 2, 5, 1, 0, 0, 0, 0, 1])));
        let mut message = attribute(TCA_KIND, b"fq_codel\0");
        message.extend(attribute(TCA_STATS2, &inner));
        let (got, gauges) = counters(&message);
        assert_eq!((got.backlog_packets, got.backlog_bytes, got.drops), (3, 4_500, 7));
        assert_eq!((got.overlimit, got.marks), (2, 5));
        assert_eq!(gauges, [("new_flows", 0.0), ("old_flows", 0.0)]);
    }

    #[test]
    fn disciplines_show_themselves_in_the_simulators_words_and_units() {
        let gauges = |kind, values: &[u32]| own(kind, &words(values)).2;
        assert_eq!(
            gauges("codel", &[1_514, 3, 1, 9, 0, 0, 0, 1, 0]),
            [("count", 3.0), ("dropping", 1.0)]
        );
        // The probability of a quarter is 2^62, in the machine's byte order.
        let quarter: Vec<u32> = [[0, 1 << 30], [1 << 30, 0]]
            [usize::from(cfg!(target_endian = "big"))]
        .into_iter()
        .chain([12_500, 0, 0, 0, 0, 4, 0, 2])
        .collect();
        assert_eq!(gauges("pie", &quarter), [("drop_probability", 0.25), ("queue_delay_ms", 12.5)]);
        assert_eq!(own("pie", &words(&quarter)).0, 4);
        let fq_pie = [9, 8, 2, 5, 1, 0, 3, 4, 0];
        assert_eq!(gauges("fq_pie", &fq_pie), [("new_flows", 3.0), ("old_flows", 4.0)]);
        assert_eq!(own("fq_pie", &words(&fq_pie)).0, 2);
    }
}
