//! Tests `dualpi2` with two responsive senders, one classic and one scalable. The coupling must
//! give them similar rates, and the L4S queue must stay short.
//!
//! The senders are the textbook models. Reno increases its window by one packet per round trip and
//! halves it after a loss. RFC 8257's sender multiplies its window by `1 − α/2`, where `α` is the
//! moving average of the fraction of marked packets. Both send a packet for each acknowledgement.

mod rig;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use aqmlab_core::{BitRate, Bytes, Duration, Ecn, Instant, Packet};
use rig::Rig;

const FRAME: u32 = 1_514;
const RTT: Duration = Duration::from_millis(25);
const END: Instant = Instant::from_millis(120_000);
const WARM: Instant = Instant::from_millis(40_000);

/// A sender. Its window is in packets.
struct Sender {
    scalable: bool,
    window: f64,
    in_flight: u64,
    /// The end of the current round trip.
    round: Instant,
    acked: u32,
    marked: u32,
    /// The moving average of the fraction of marked packets.
    alpha: f64,
    delays_ms: Vec<f64>,
}

impl Sender {
    fn new(scalable: bool) -> Self {
        Self {
            scalable,
            window: 10.0,
            in_flight: 0,
            round: Instant::ZERO,
            acked: 0,
            marked: 0,
            alpha: 1.0,
            delays_ms: Vec::new(),
        }
    }

    fn on_ack(&mut self, now: Instant, ce: bool) {
        self.in_flight -= 1;
        self.acked += 1;
        self.marked += u32::from(ce);
        if !ce {
            self.window += 1.0 / self.window;
        }
        if self.scalable && now >= self.round {
            self.alpha += (f64::from(self.marked) / f64::from(self.acked) - self.alpha) / 16.0;
            if self.marked > 0 {
                self.window = (self.window * (1.0 - self.alpha / 2.0)).max(2.0);
            }
            (self.acked, self.marked) = (0, 0);
            self.round = now + RTT;
        }
    }

    fn on_loss(&mut self, now: Instant) {
        self.in_flight -= 1;
        if now >= self.round || self.scalable {
            self.window = (self.window / 2.0).max(2.0);
            self.round = now + RTT;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ack { sender: usize, ce: bool },
    Loss { sender: usize },
    Free,
}

/// Senders behind one link under `dualpi2`.
struct Loop {
    rig: Rig,
    rate: BitRate,
    senders: Vec<Sender>,
    agenda: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    sent: u64,
    busy: bool,
}

impl Loop {
    fn run(rate_mbps: u64, scalable: &[bool]) -> Vec<Sender> {
        let mut this = Self {
            rig: Rig::new("dualpi2", &[]),
            rate: BitRate::new(rate_mbps * 1_000_000).expect("not zero"),
            senders: scalable.iter().map(|&scalable| Sender::new(scalable)).collect(),
            agenda: BinaryHeap::new(),
            sent: 0,
            busy: false,
        };
        let mut now = Instant::from_millis(1);
        while now < END {
            this.send(now);
            let Some(Reverse((at, _, event))) = this.agenda.pop() else { break };
            now = at;
            match event {
                Event::Ack { sender, ce } => this.senders[sender].on_ack(now, ce),
                Event::Loss { sender } => this.senders[sender].on_loss(now),
                Event::Free => this.busy = false,
            }
        }
        this.senders
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.sent += 1;
        self.agenda.push(Reverse((at, self.sent, event)));
    }

    /// Sends packets until every window is full, and starts a transmission if the link is free.
    fn send(&mut self, now: Instant) {
        for sender in 0..self.senders.len() {
            while (self.senders[sender].in_flight as f64) < self.senders[sender].window.floor() {
                self.senders[sender].in_flight += 1;
                let mut packet = Packet::plain(sender as u64, sender as u32, FRAME);
                packet.ecn = if self.senders[sender].scalable { Ecn::Ect1 } else { Ecn::NotEct };
                self.rig.offer(now, packet);
            }
        }
        if !self.busy {
            self.transmit(now);
        }
        for sender in std::mem::take(&mut self.rig.ledger.dropped) {
            self.at(now + RTT, Event::Loss { sender: sender.0 as usize });
        }
    }

    fn transmit(&mut self, now: Instant) {
        let Some(packet) = self.rig.take(now) else { return };
        self.busy = true;
        let done = now + self.rate.transmit_time(Bytes(FRAME.into()));
        let (sender, ce) = (packet.id as usize, packet.ecn == Ecn::Ce);
        if now > WARM {
            let delay = now.since(packet.enqueued).as_secs_f64() * 1e3;
            self.senders[sender].delays_ms.push(delay);
        }
        self.at(done, Event::Free);
        self.at(done + RTT, Event::Ack { sender, ce });
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn p99(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() * 99 / 100]
}

/// A classic and a scalable sender after a run at 40 Mbit/s, which two tests read.
static PAIR: LazyLock<Vec<Sender>> = LazyLock::new(|| Loop::run(40, &[false, true]));

/// Tests statement C-133 (RFC 9332 Appendix C).
#[test]
fn a_classic_and_a_scalable_sender_get_similar_rates() {
    let [classic, scalable] = [0, 1].map(|sender| PAIR[sender].delays_ms.len() as f64);
    let ratio = scalable / classic;
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
    let used =
        (classic + scalable) * f64::from(FRAME) * 8.0 / (END.since(WARM).as_secs_f64() * 40e6);
    assert!(used > 0.95, "{used} of the link is used");
}

/// Tests statement C-134 (RFC 9332 §1.4).
#[test]
fn a_scalable_sender_alone_waits_for_about_a_millisecond() {
    for rate_mbps in [12, 40, 100] {
        let senders = Loop::run(rate_mbps, &[true]);
        let delays = &senders[0].delays_ms;
        let (mean, p99) = (mean(delays), p99(delays));
        assert!(mean < 1.0 && p99 <= 2.0, "{rate_mbps} Mbit/s: mean {mean} ms, P99 {p99} ms");
    }
}

/// Tests that the delay of the classic queue stays near its target, and the L4S queue stays short.
#[test]
fn each_queue_has_its_own_delay() {
    let (classic, l4s) = (mean(&PAIR[0].delays_ms), mean(&PAIR[1].delays_ms));
    assert!((7.5..30.0).contains(&classic), "{classic} ms");
    assert!(l4s < 1.5, "{l4s} ms");
}
