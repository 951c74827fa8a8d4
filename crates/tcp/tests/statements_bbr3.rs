//! Tests the conformance statements on BBRv3 that hold on a whole path. `bbr3/main.rs` compares the
//! module with Google's code; the module's unit tests cover the statements on single steps.

#![allow(unreachable_pub, dead_code, reason = "the modules serve several tests")]

#[path = "authors/module.rs"]
mod module;
#[path = "authors/play.rs"]
mod play;

use aqmlab_tcp::cc::EcnMode;
use module::Module;
use play::{Change, Conn, Controller, Decision, Facts, Lost, Recipe};

const STARTUP: u8 = 0;
const DRAIN: u8 = 1;
const PROBE_BW: u8 = 2;
const PROBE_RTT: u8 = 3;
const UP: u8 = 0;
const DOWN: u8 = 1;
const CRUISE: u8 = 2;
const REFILL: u8 = 3;

/// A path of 12 Mbit/s and 40 ms, which holds 40 packets.
const HOME: Recipe = Recipe {
    seed: 1,
    kbit: 12_000,
    step: 100,
    rtt_us: 40_000,
    buffer: 1_000,
    mark_us: 0,
    loss: 0,
    batch_us: 0,
    pauses: false,
    outage: false,
    spurious: false,
    seconds: 12,
};

/// The state after an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: u64,
    mode: u8,
    phase: u8,
    /// The bandwidth in packets of 1448 bytes per second.
    bw: f64,
    inflight_hi: u64,
    cwnd: u64,
    burst: u64,
    in_flight: u64,
    /// The time at which the next packet may depart.
    departure: u64,
    rtt: u64,
    /// BBR's own minimum of the round-trip time.
    min_rtt_ms: f64,
    lost: u64,
    delivered: u64,
}

struct Watched {
    module: Module,
    seen: Vec<Seen>,
}

impl Controller for Watched {
    fn start(&mut self, conn: &Conn) {
        self.module.start(conn);
    }

    fn sample(&mut self, conn: &Conn) {
        self.module.sample(conn);
    }

    fn lost(&mut self, conn: &Conn, lost: &Lost) {
        self.module.lost(conn, lost);
    }

    fn reduce(&mut self, conn: &Conn, by_timeout: bool) {
        self.module.reduce(conn, by_timeout);
    }

    fn change(&mut self, conn: &Conn, change: Change) {
        self.module.change(conn, change);
    }

    fn set_cwnd(&mut self, cwnd: u64) {
        self.module.set_cwnd(cwnd);
    }

    fn ack(&mut self, conn: &Conn, facts: &Facts) {
        self.module.ack(conn, facts);
        let (gauge, decision) = (|name| self.module.gauge(name), self.module.decision());
        self.seen.push(Seen {
            at: conn.now,
            mode: gauge("mode") as u8,
            phase: gauge("phase") as u8,
            bw: gauge("bw_mbit") / 0.99 * 1e6 / (8.0 * 1_448.0),
            inflight_hi: gauge("inflight_hi") as u64,
            cwnd: decision.cwnd,
            burst: decision.burst,
            in_flight: conn.in_flight,
            departure: conn.departure,
            rtt: facts.rtt,
            min_rtt_ms: gauge("min_rtt_ms"),
            lost: conn.lost,
            delivered: conn.delivered,
        });
    }

    fn decision(&self) -> Decision {
        self.module.decision()
    }
}

fn watch(recipe: Recipe) -> Vec<Seen> {
    let module = Module::new("bbr3", &[], EcnMode::Off);
    let mut watched = Watched { module, seen: Vec::new() };
    play::play(recipe, &mut watched);
    watched.seen
}

/// Returns the state at the first acknowledgement of each mode and phase, in order.
fn changes(seen: &[Seen]) -> Vec<Seen> {
    let state = |one: &Seen| (one.mode, if one.mode == PROBE_BW { one.phase } else { 0 });
    let mut changes: Vec<Seen> = vec![seen[0]];
    for one in seen {
        if changes.last().is_some_and(|last| state(last) != state(one)) {
            changes.push(*one);
        }
    }
    changes
}

fn is_in(one: &Seen, phase: u8) -> bool {
    one.mode == PROBE_BW && one.phase == phase
}

impl Seen {
    /// Returns the bandwidth-delay product in packets.
    fn product(&self) -> f64 {
        self.bw * self.min_rtt_ms / 1e3
    }

    /// Returns the bandwidth-delay product, rounded up as in the source (`bbr_bdp`).
    fn bdp(&self) -> u64 {
        self.product().ceil() as u64
    }

    /// Returns the packets that are still in the network when the next packet may depart
    /// (`bbr_packets_in_net_at_edt`).
    fn in_network(&self) -> u64 {
        let micros = self.departure.saturating_sub(self.at);
        self.in_flight.saturating_sub((self.bw * micros as f64 / 1e6) as u64)
    }
}

/// C-196, C-198: start-up finds the bandwidth within 2 %, then drains the queue down to the
/// bandwidth-delay product. As in `bbr_check_drain`, the product counts as at least three bursts,
/// and packets that leave the network before the next departure do not count.
#[test]
fn start_up_finds_the_bandwidth_and_draining_empties_the_queue() {
    for kbit in [2_000, 12_000, 50_000] {
        let seen = watch(Recipe { kbit, ..HOME });
        let changes = changes(&seen);
        assert_eq!([changes[0].mode, changes[1].mode], [STARTUP, DRAIN], "{kbit}");
        let link = kbit as f64 / 12.0;
        let share = changes[1].bw / link;
        assert!((0.98..=1.02).contains(&share), "{kbit}: {share}");
        assert_eq!(changes[2].mode, PROBE_BW, "{kbit}");
        let target = |one: &Seen| one.bdp().max(3 * one.burst);
        let drained = &changes[2];
        assert!(drained.in_network() <= target(drained), "{kbit}: {drained:?}");
        let draining = seen.iter().take_while(|one| one.at < drained.at);
        for one in draining.filter(|one| one.mode == DRAIN) {
            assert!(one.in_network() > target(one), "{kbit}: {one:?}");
        }
    }
}

/// C-200: a probe at a constant rate without loss ends after three rounds without growth.
#[test]
fn a_probe_ends_on_a_plateau() {
    let changes = changes(&watch(HOME));
    let ups: Vec<_> = changes.windows(2).filter(|pair| is_in(&pair[0], UP)).collect();
    assert!(ups.len() >= 2, "{changes:?}");
    for pair in ups {
        let rounds = (pair[1].at - pair[0].at) as f64 / 40_000.0;
        assert!(is_in(&pair[1], DOWN) && (3.0..7.0).contains(&rounds), "{rounds}");
    }
}

/// C-205: after five seconds without a shorter round-trip time, half of the bandwidth-delay product
/// is in flight for 200 ms and a round.
///
/// The bounds follow from `bbr_update_min_rtt` with jiffies of 4 ms. First the data in flight falls
/// to the window, at a packet per millisecond. Then 200 ms pass, which is longer than a round. A
/// deadline in jiffies is up to two jiffies late, and the next acknowledgement comes up to 2 ms
/// later.
#[test]
fn the_round_trip_time_is_probed_every_five_seconds() {
    let seen = watch(Recipe { seconds: 24, ..HOME });
    let changes = changes(&seen);
    let visits: Vec<_> = changes.windows(2).filter(|pair| pair[0].mode == PROBE_RTT).collect();
    // Four periods of 5.2 s are shorter than 24 s, and five are longer.
    assert_eq!(visits.len(), 4);
    let late = 2 * 4 + 2;
    for pair in &visits {
        let millis = (pair[1].at - pair[0].at) / 1_000;
        let drain = pair[0].in_flight - pair[0].cwnd;
        assert!((200..=drain + 200 + late).contains(&millis), "{millis} ms, {drain} packets");
        assert!(is_in(&pair[1], CRUISE), "{:?}", pair[1]);
    }
    for pair in visits.windows(2) {
        let millis = (pair[1][0].at - pair[0][1].at) / 1_000;
        assert!((5_000..=5_000 + late).contains(&millis), "{millis} ms apart");
    }
    // The bandwidth here includes the short-term bound, which losses lower.
    for one in seen.iter().filter(|one| one.mode == PROBE_RTT) {
        assert_eq!(one.cwnd, (one.product() / 2.0).ceil() as u64, "{one:?}");
    }
}

/// C-207: acknowledgements that arrive together raise the window above twice the bandwidth-delay
/// product, and the full rate is used.
///
/// Ten packets are acknowledged together, so the window grows by ten packets, or by nine if the
/// estimate of the bandwidth rounds down (`bbr_update_ack_aggregation`). The rate has a margin of 1
/// % (`bbr_pacing_margin_percent`). At worst nothing is sent while the round-trip time is probed,
/// for 0.3 s of 5 s.
#[test]
fn aggregation_raises_the_window() {
    let seen = watch(Recipe { batch_us: 10_000, rtt_us: 10_000, ..HOME });
    let late: Vec<_> = seen.iter().filter(|one| one.at > 4_000_000).collect();
    let cruise = late.iter().filter(|one| is_in(one, CRUISE)).max_by_key(|one| one.cwnd);
    let cruise = cruise.expect("it cruises");
    assert!(cruise.cwnd >= 2 * cruise.bdp() + 9, "{cruise:?}");
    let (first, last) = (late[0], late[late.len() - 1]);
    let rate = (last.delivered - first.delivered) as f64 * 1e6 / (last.at - first.at) as f64;
    assert!(rate >= 1_000.0 * 0.99 * (1.0 - 0.3 / 5.0), "{rate} of 1000 packets per second");
    assert!((980.0..=1_020.0).contains(&last.bw), "{} of 1000 packets per second", last.bw);
}

/// C-208: on a path that holds less than a packet, the window is at least four packets. The sender
/// reaches the rate of the link.
#[test]
fn a_path_of_less_than_a_packet_gets_four() {
    let seen = watch(Recipe { kbit: 500, rtt_us: 500, ..HOME });
    assert!(seen.iter().all(|one| one.cwnd >= 4));
    let rate = seen.len() as f64 / 12.0;
    assert!(rate > 0.95 * 500.0 / 12.0, "{rate} packets per second");
}

/// C-209: after the link becomes ten times faster, a few probes find its rate.
#[test]
fn a_faster_link_is_found_by_growth_in_powers() {
    let seen = watch(Recipe { kbit: 2_000, step: 1_000, seconds: 16, ..HOME });
    let step = 1_000_000 + 8_000_000;
    let found = seen.iter().find(|one| one.at > step && one.bw > 0.9 * 20_000.0 / 12.0);
    let seconds = found.map_or(f64::INFINITY, |one| (one.at - step) as f64 / 1e6);
    assert!(seconds < 6.0, "{seconds} s");
}

/// C-210: after the link becomes ten times slower, the bandwidth follows within two cycles. The
/// maximum of the bandwidth covers the present and the previous cycle, and a cycle ends a round
/// after its probe. The old bandwidth is therefore forgotten a round after the second probe.
#[test]
fn a_slower_link_is_found_within_two_cycles() {
    let seen = watch(Recipe { step: 10, buffer: 50, seconds: 44, ..HOME });
    let step = 1_000_000 + 22_000_000;
    let (old, new) = (1_000.0, 100.0);
    let before = seen.iter().rfind(|one| one.at < step).expect("it runs");
    assert!(is_in(before, CRUISE) && before.bw >= 0.98 * old, "{before:?}");
    let after: Vec<_> = seen.into_iter().filter(|one| one.at > step).collect();
    // Losses lower the short-term bound of the bandwidth, which a probe raises again.
    let high = after.iter().rposition(|one| one.bw > 1.02 * new).expect("it is known from before");
    let probes = changes(&after[..=high]).iter().filter(|one| is_in(one, UP)).count();
    assert!(probes <= 2, "{probes} probes");
    assert!(after.len() > high + 1 && after[high + 1..].iter().all(|one| one.bw >= 0.98 * new));
}

/// C-211: with a buffer of only three packets, the sender settles near the rate of the link and
/// loses little.
#[test]
fn a_path_without_a_buffer_loses_little() {
    let seen = watch(Recipe { buffer: 3, seconds: 30, ..HOME });
    let late: Vec<_> = seen.iter().filter(|one| one.at > 10_000_000).collect();
    let (first, last) = (late[0], late[late.len() - 1]);
    let delivered = (last.delivered - first.delivered) as f64;
    let share = (last.lost - first.lost) as f64 / delivered;
    assert!(share < 0.03, "{share}");
    let rate = delivered * 1e6 / (last.at - first.at) as f64;
    assert!(rate > 700.0, "{rate} of 1000 packets per second");
}

/// C-216: at 25 Mbit/s and 30 ms the path holds 62 packets, so a probe follows after 62 rounds.
#[test]
fn rounds_decide_on_probes_where_reno_would_be_fast() {
    let seen = watch(Recipe { kbit: 25_000, rtt_us: 30_000, seconds: 16, ..HOME });
    let starts: Vec<_> =
        changes(&seen).iter().filter(|one| is_in(one, REFILL)).map(|one| one.at).collect();
    let mut waits: Vec<_> =
        starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
    waits.sort_by(f64::total_cmp);
    let median = waits[waits.len() / 2];
    assert!((1.7..2.4).contains(&median), "{waits:?}");
}

/// C-219: while a lone flow cruises, the queue is empty.
#[test]
fn a_lone_flow_cruises_without_a_queue() {
    let seen = watch(HOME);
    let mut since = 0;
    let mut waits: Vec<u64> = Vec::new();
    for one in &seen {
        if !is_in(one, CRUISE) {
            since = one.at;
        } else if one.at - since > 500_000 {
            waits.push(one.rtt - HOME.rtt_us);
        }
    }
    waits.sort_unstable();
    assert!(waits.len() > 1_000, "{}", waits.len());
    let most = waits[waits.len() * 9 / 10];
    assert!(most <= 4_000, "{most} us, and a packet takes 1000 us");
}
