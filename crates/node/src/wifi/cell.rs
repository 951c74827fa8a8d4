//! Access to a medium that stations share, and the result of each exchange.
//!
//! Sources: IEEE Std 802.11-2012, 9.19.2 (EDCA), with the access category of best effort, and
//! 9.3.2.8 (the timeout of a response). Table 8-105 gives an AIFSN of 3, windows of 15 to 1023
//! slots, and a TXOP limit of zero, which permits one exchange per access. Table 18-17 gives slots
//! of 9 us and a SIFS of 16 us. If two stations count down to the same slot, both send, and neither
//! receives a response. The hardware sends an unanswered frame up to seven times in all
//! (`dot11ShortRetryLimit`, 9.19.2.6), each time with a window twice as large. The hardware then
//! returns the frame to the driver.

use aqmlab_core::{Duration, Instant, Packet};

use super::radio::Radio;

const SLOT: Duration = Duration::from_micros(9);
const SIFS: Duration = Duration::from_micros(16);
/// The idle time between exchanges before slots are counted.
const AIFS: Duration = Duration::from_micros(16 + 3 * 9);
/// The response timeout: SIFS, a slot, and the 25 us that a receiver needs to detect a preamble.
const ANSWER_TIMEOUT: Duration = Duration::from_micros(16 + 9 + 25);
const LEAST_WINDOW: u32 = 15;
const MOST_WINDOW: u32 = 1_023;
/// The number of unanswered attempts after which the hardware returns a frame
/// (`dot11ShortRetryLimit`).
const MOST_ATTEMPTS: u32 = 7;

/// Whether a packet was delivered or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver delivered the packet.
    Delivered,
    /// The sender gave the packet up.
    GivenUp,
}

/// A packet that has left the cell.
#[derive(Debug)]
pub struct Delivery {
    /// The number of the radio that sent the packet.
    pub radio: usize,
    /// The packet delivered or given up.
    pub packet: Packet,
    /// Whether the packet was delivered or given up.
    pub fate: Fate,
}

/// An exchange on the air.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    began: Instant,
    ends: Instant,
    /// Whether a response follows.
    answered: bool,
}

/// A medium and the radios that share it.
///
/// # Driving it
///
/// After every [`accept`](Self::accept) and every [`handle_timeout`](Self::handle_timeout), ask
/// [`poll_timeout`](Self::poll_timeout) for the next timeout. When the timeout is due, call
/// [`handle_timeout`](Self::handle_timeout).
#[derive(Debug, Default)]
pub struct Cell {
    radios: Vec<Radio>,
    /// The time from which backoff slots are counted.
    contention: Instant,
    on_air: Option<Exchange>,
    /// The radios that are sending or that sent last.
    senders: Vec<usize>,
}

impl Cell {
    /// Adds a radio, draws its backoff, and returns its number.
    pub fn join(&mut self, mut radio: Radio) -> usize {
        radio.draw_backoff(LEAST_WINDOW);
        self.radios.push(radio);
        self.radios.len() - 1
    }

    /// Returns the radio with the given number.
    #[inline]
    pub fn radio(&self, number: usize) -> &Radio {
        &self.radios[number]
    }

    /// Returns the number of packets in all drivers and receivers.
    pub fn len(&self) -> usize {
        self.radios.iter().map(Radio::len).sum()
    }

    /// Returns whether no radio holds a packet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives a packet to a radio, which must have room. If the medium is busy, or the wait after
    /// the last exchange has not ended, a radio that had nothing to send and has no backoff draws a
    /// backoff.
    pub fn accept(&mut self, number: usize, packet: Packet, now: Instant) {
        let radio = &mut self.radios[number];
        // A radio that finds the medium busy backs off, even if it has waited long enough since its
        // last frame.
        let busy = self.on_air.is_some() || now < self.contention;
        if radio.accept(packet, now) && busy && radio.backoff == 0 {
            radio.draw_backoff(LEAST_WINDOW);
        }
    }

    /// Returns the time of the next event, if no packet is accepted before that time. Returns
    /// `None` if no exchange is under way and no radio has a frame.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.on_air {
            Some(exchange) => Some(exchange.ends),
            None => self.radios.iter().filter_map(|radio| self.access(radio)).min(),
        }
    }

    /// Returns the time at which a radio sends, unless another radio sends first. This time is the
    /// end of the radio's backoff. If the backoff ended before the radio had a frame, the time is
    /// the start of the next slot. Returns `None` for a radio without a frame.
    fn access(&self, radio: &Radio) -> Option<Instant> {
        let waited = radio.ready_since.since(self.contention).as_nanos().div_ceil(SLOT.as_nanos());
        let slots = waited.max(u64::from(radio.backoff));
        radio.wants().then(|| self.contention + SLOT * slots)
    }

    /// Begins or ends an exchange, if either is due at `now`, and appends to `out` the packets that
    /// have left the cell. Returns the duration of an exchange if one ended;
    /// [`senders`](Self::senders) then names its radios.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Delivery>) -> Option<Duration> {
        if self.poll_timeout().is_none_or(|due| due > now) {
            return None;
        }
        let Some(exchange) = self.on_air.take() else {
            self.begin(now);
            return None;
        };
        self.end(exchange, out);
        Some(exchange.ends.since(exchange.began))
    }

    /// Returns the radios that are sending or that sent last. After a collision, there are several.
    pub fn senders(&self) -> &[usize] {
        &self.senders
    }

    fn begin(&mut self, now: Instant) {
        let first = |cell: &Self, number: &usize| {
            cell.access(&cell.radios[*number]).is_some_and(|at| at <= now)
        };
        let mut senders = std::mem::take(&mut self.senders);
        senders.clear();
        senders.extend((0..self.radios.len()).filter(|number| first(self, number)));
        let passed = now.since(self.contention).as_nanos() / SLOT.as_nanos();
        for radio in &mut self.radios {
            radio.backoff = radio.backoff.saturating_sub(passed.min(1 << 20) as u32);
        }
        let collided = senders.len() > 1;
        let mut ends = now;
        let mut answered = false;
        for &number in &senders {
            let radio = &mut self.radios[number];
            ends = ends.max(now + radio.airtime());
            if radio.send(collided) {
                answered = true;
                ends += SIFS + radio.answer();
            }
        }
        self.senders = senders;
        self.on_air = Some(Exchange { began: now, ends, answered });
    }

    fn end(&mut self, exchange: Exchange, out: &mut Vec<Delivery>) {
        let Exchange { ends, answered, .. } = exchange;
        self.contention = ends + if answered { AIFS } else { ANSWER_TIMEOUT };
        for &number in &self.senders {
            let radio = &mut self.radios[number];
            radio.unanswered = if answered { 0 } else { radio.unanswered + 1 };
            if answered || radio.unanswered >= MOST_ATTEMPTS {
                radio.unanswered = 0;
                radio.complete(ends, |packet, delivered| {
                    let fate = if delivered { Fate::Delivered } else { Fate::GivenUp };
                    out.push(Delivery { radio: number, packet, fate });
                });
            }
            let window = ((LEAST_WINDOW + 1) << radio.unanswered) - 1;
            radio.draw_backoff(window.min(MOST_WINDOW));
        }
    }
}
