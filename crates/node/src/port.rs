//! An output port: a queue discipline in front of a link of finite rate.
//!
//! `Port::compute_transmission` computes the transmission time of a packet with the link's
//! overhead.

use aqmlab_core::delivery_trace::TUN_HEADER;
use aqmlab_core::hint::rare;
use aqmlab_core::{BitRate, Bytes, Duration, Instant, Overhead, Packet, Rng};
use aqmlab_qdisc::{Backlog, Discipline, Parent, Qdisc};

use crate::Shaper;
use crate::pipe::Pipe;
use crate::port_log::PortLog;
use crate::varying::VaryingRate;

/// The times of a packet that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The time that the packet waited in the queue.
    pub sojourn: Duration,
    /// The time at which the packet has left the port.
    pub done: Instant,
}

/// The number of lengths whose transmissions a port keeps. It is a power of two.
const RECENT: usize = 16;

/// The size of a packet, and the time that its transmission takes.
#[derive(Clone, Copy, Debug, Default)]
struct Transmission {
    /// The IP length, or zero if the next packet needs a new computation.
    ip_len: u32,
    /// The size with the link's overhead.
    on_link: Bytes,
    time: Duration,
}

impl Transmission {
    /// Returns the place in [`Port::recent`] of packets of `ip_len` bytes. The multiplication
    /// separates lengths that differ by a few bytes, as well as the usual lengths.
    const fn place(ip_len: u32) -> usize {
        let high_bits = u32::BITS - RECENT.trailing_zeros();
        (ip_len.wrapping_mul(0x9e37_79b9) >> high_bits) as usize % RECENT
    }
}

/// An output port: a queue discipline and its link.
///
/// # Driving it
///
/// After every [`offer`](Self::offer), and whenever [`poll_timeout`](Self::poll_timeout) falls due,
/// call [`poll_transmit`](Self::poll_transmit) until it returns `None`. Only then ask for the next
/// timeout. No call blocks.
pub struct Port {
    qdisc: Discipline,
    rate: BitRate,
    shaper: Shaper,
    /// The maximum credit for the next packets: the longest time by which `free` may lie in the
    /// past.
    credit: Duration,
    /// Whether the discipline has a shaper of its own.
    is_paced: bool,
    overhead: Overhead,
    rng: Rng,
    /// The time from which the link can send again.
    free: Instant,
    /// The pipe, if dummynet limits the rate.
    pipe: Option<Pipe>,
    /// The rate over time, if it varies.
    varying: Option<VaryingRate>,
    /// Whether the shaper lets a packet pass an idle port at once; see [`Self::may_pass`].
    can_pass: bool,
    /// The transmissions of packets of recent lengths, by [`Transmission::place`]. Comparing
    /// lengths is cheaper than dividing. If only the last length were kept, the processor could not
    /// predict whether the next packet has the same length.
    recent: [Transmission; RECENT],
    /// The counters of the port, and its drops and marks.
    pub log: PortLog,
}

impl Port {
    /// Returns an idle port; `rng` is the random stream of the discipline.
    pub fn new(mut qdisc: Box<dyn Qdisc>, rate: BitRate, overhead: Overhead, rng: Rng) -> Self {
        qdisc.attach(Parent { rate, never_polls_empty: false });
        Self {
            is_paced: qdisc.has_shaper(),
            qdisc: qdisc.into(),
            rate,
            shaper: Shaper::Line,
            credit: Duration::ZERO,
            overhead,
            rng,
            free: Instant::ZERO,
            pipe: None,
            varying: None,
            can_pass: true,
            recent: [Transmission::default(); RECENT],
            log: PortLog::default(),
        }
    }

    /// Returns the port with its rate limited by `shaper`.
    #[must_use]
    pub fn shaped_by(mut self, shaper: Shaper) -> Self {
        if shaper == Shaper::Htb {
            self.qdisc.attach(Parent { rate: self.rate, never_polls_empty: true });
        }
        let pipe = (shaper == Shaper::Dummynet).then(|| Pipe::new(self.rate));
        // HTB never polls an empty discipline.
        let can_pass = shaper != Shaper::Htb;
        Self { shaper, credit: shaper.credit(self.rate), pipe, can_pass, ..self }
    }

    /// Returns the port with a rate that varies. The rate of [`Self::new`] is then the rate that
    /// the discipline knows. Under a trace, the link's utilisation is also computed with this rate.
    ///
    /// # Panics
    ///
    /// If the port has a shaper that [`VaryingRate`] does not support.
    #[must_use]
    pub fn varied_by(self, varying: VaryingRate) -> Self {
        assert!(varying.supports(self.shaper), "{:?} with a rate that varies", self.shaper);
        let is_trace = matches!(varying, VaryingRate::Trace(_));
        let shaper = if is_trace { Shaper::Trace } else { self.shaper };
        // A packet waits for its opportunity, so no packet passes a trace at once.
        let can_pass = self.can_pass && !is_trace;
        Self { shaper, can_pass, varying: Some(varying), ..self }
    }

    /// Returns the port with the delay of its dummynet pipe. The path after the port applies the
    /// delay. The pipe needs the delay only because a pipe that delays packets is not idle. Other
    /// shapers ignore the delay.
    #[must_use]
    pub fn delayed_by(self, delay: Duration) -> Self {
        Self { pipe: self.pipe.map(|pipe| pipe.delayed_by(delay)), ..self }
    }

    /// Puts a new port into the state of a port that has long been in service and is idle. `phase`,
    /// as a fraction of 2⁶⁴, sets the position of each timer and of dummynet's garbage collector
    /// within its period.
    pub fn warm_up(&mut self, phase: u64) {
        self.qdisc.visit_timers(&mut |timer| timer.warm_up(phase));
        if let Some(pipe) = &mut self.pipe {
            pipe.set_phase(phase);
        }
    }

    /// Offers a packet to the discipline, which keeps or drops it.
    #[expect(clippy::inline_always, reason = "queued packets pass; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn offer(&mut self, mut packet: Packet, now: Instant) {
        if self.log.waiting == 0 && (self.pipe.is_some() || self.shaper == Shaper::Trace) {
            self.catch_up_pipe(now);
            self.skip_opportunities(now);
        }
        self.log.offered += 1;
        self.log.waiting += 1;
        packet.len = packet.ip_len + self.overhead.counted;
        self.qdisc.enqueue(packet, now, &mut self.rng, &mut self.log);
        if self.log.waiting > self.log.backlog_max_packets {
            rare();
            self.log.backlog_max_packets = self.log.waiting;
        }
    }

    /// Returns whether a packet that arrives at `now` may use [`Self::pass`]. The link must be
    /// free, no packet may wait, the packet must not be the first, and the link must be neither
    /// HTB's nor a trace's.
    #[inline]
    pub fn may_pass(&self, now: Instant) -> bool {
        let log = &self.log;
        // `pass` does not record the largest backlog, so the first packet must be offered.
        let is_first = log.backlog_max_packets == 0;
        log.waiting == 0 && now >= self.free && !is_first && self.can_pass
    }

    /// Does what [`Self::offer`] and then [`Self::take`] do at an idle port, in one call of the
    /// discipline, but does not record the largest backlog. Returns `None` if the packet was
    /// dropped or waits. The caller must call [`Self::start`] with a packet returned.
    #[expect(clippy::inline_always, reason = "unqueued packets pass; a call costs 0.5 % of a run")]
    #[inline(always)]
    pub fn pass(&mut self, mut packet: Packet, now: Instant) -> Option<Packet> {
        if self.pipe.is_some() {
            self.catch_up_pipe(now);
        }
        self.log.offered += 1;
        self.log.waiting += 1;
        packet.len = packet.ip_len + self.overhead.counted;
        let packet = self.qdisc.pass(packet, now, &mut self.rng, &mut self.log);
        if packet.is_none() {
            self.note_empty_poll(now);
        }
        packet
    }

    /// Returns whether the link cannot send yet.
    #[inline]
    pub fn is_busy(&self, now: Instant) -> bool {
        now < self.free
    }

    /// Starts to send the next packet, if the link is free and a packet may leave.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Packet, Departure)> {
        let packet = self.take(now)?;
        let departure = self.start(&packet, now);
        Some((packet, departure))
    }

    /// Removes and returns the next packet, if the link is free and a packet may leave. The caller
    /// must then call [`Self::start`] with the packet. Together, the two functions do what
    /// [`Self::poll_transmit`] does; separate calls save a move of the packet.
    #[inline]
    pub fn take(&mut self, now: Instant) -> Option<Packet> {
        if now < self.free {
            rare();
            return None;
        }
        if self.shaper == Shaper::Htb {
            rare();
            if self.log.waiting == 0 {
                return None;
            }
        }
        let packet = self.qdisc.dequeue(now, &mut self.rng, &mut self.log);
        if packet.is_none() {
            self.note_empty_poll(now);
        }
        packet
    }

    /// Records in the port's pipe, if there is one, that a poll found the discipline empty.
    #[cold]
    fn note_empty_poll(&mut self, now: Instant) {
        if let Some(pipe) = self.pipe.as_mut().filter(|_| self.qdisc.backlog().packets == 0) {
            pipe.note_empty_poll(now);
        }
    }

    /// Starts to send the packet just taken; returns its times.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn start(&mut self, packet: &Packet, now: Instant) -> Departure {
        let place = Transmission::place(packet.ip_len);
        if packet.ip_len != self.recent[place].ip_len {
            rare();
            self.compute_transmission(packet.ip_len, now);
        }
        let Transmission { on_link, time, .. } = self.recent[place];
        let log = &mut self.log;
        log.sent += 1;
        log.waiting -= 1;
        log.sent_bytes += u64::from(packet.ip_len);
        log.busy += time;
        let sojourn = now.since(packet.enqueued);
        // `charge` would do the same. Most packets meet one of these two shapers.
        if self.shaper == Shaper::Line {
            self.free = self.free.max(now) + time;
            return Departure { sojourn, done: self.free };
        }
        let is_pipe = self.shaper == Shaper::Dummynet;
        let done =
            if is_pipe { self.charge_pipe(on_link, now) } else { self.charge(on_link, time, now) };
        Departure { sojourn, done }
    }

    /// Charges the shaper for the packet that is being sent, which takes `on_link` and `time` on
    /// the link. Returns the time at which the packet has left the port.
    #[inline(never)]
    fn charge(&mut self, on_link: Bytes, time: Duration, now: Instant) -> Instant {
        match self.shaper {
            Shaper::Line => {
                self.free = self.free.max(now) + time;
                self.free
            }
            Shaper::Htb => {
                let oldest = now.as_nanos().saturating_sub(self.credit.as_nanos());
                self.free = self.free.max(Instant::from_nanos(oldest)) + time;
                now
            }
            Shaper::Dummynet => self.charge_pipe(on_link, now),
            Shaper::Own => {
                self.free = now;
                now
            }
            Shaper::Trace => self.use_opportunities(on_link, now),
        }
    }

    /// Sends a packet over the opportunities of the trace. Returns the time at which it has left.
    fn use_opportunities(&mut self, on_link: Bytes, now: Instant) -> Instant {
        let Some(VaryingRate::Trace(uses)) = &mut self.varying else { return now };
        let done = uses.send(on_link).max(now);
        self.free = uses.at();
        done
    }

    /// Discards the opportunities of the trace, if there is one, at which no packet waited.
    #[inline(never)]
    fn skip_opportunities(&mut self, now: Instant) {
        if let Some(VaryingRate::Trace(uses)) = &mut self.varying {
            uses.skip_to(now);
            self.free = uses.at();
        }
    }

    /// Charges dummynet's pipe, as [`Self::charge`] does.
    #[expect(
        clippy::inline_always,
        reason = "every packet of a pipe passes; a call costs 0.4 % of a run"
    )]
    #[inline(always)]
    fn charge_pipe(&mut self, on_link: Bytes, now: Instant) -> Instant {
        if let Some(pipe) = &mut self.pipe {
            pipe.charge(on_link, now);
            self.free = pipe.wakes_after_charge();
        }
        self.free.max(now)
    }

    /// Catches up with a pipe that had nothing to send, before a packet arrives at the empty
    /// discipline. The pipe polled the discipline, which must see the poll before the packet. The
    /// pipe may also have been freed, together with its discipline.
    #[inline(never)]
    fn catch_up_pipe(&mut self, now: Instant) {
        let Some(pipe) = &mut self.pipe else { return };
        if let Some(then) = pipe.empty_poll(now) {
            self.qdisc.dequeue(then, &mut self.rng, &mut self.log);
            pipe.note_empty_poll(then);
        }
        if pipe.free_if_visited(now) {
            self.qdisc.reset();
        }
    }

    /// Computes the transmission of a packet of `ip_len` bytes that is taken at `now`. If the rate
    /// has steps, stores an IP length of zero, so that this function is called for each packet.
    #[inline(never)]
    fn compute_transmission(&mut self, ip_len: u32, now: Instant) {
        let on_link = self.overhead.on_link(ip_len);
        let place = Transmission::place(ip_len);
        let Some(VaryingRate::Steps(steps)) = &self.varying else {
            let header = if self.varying.is_some() { TUN_HEADER } else { Bytes(0) };
            let time = self.rate.transmit_time(on_link + header);
            self.recent[place] = Transmission { ip_len, on_link, time };
            return;
        };
        if self.shaper == Shaper::Htb {
            // `steps` of HTB have no rate of zero.
            self.rate = BitRate::new(steps.bps_at(now)).unwrap_or(self.rate);
            self.credit = self.shaper.credit(self.rate);
            let time = self.rate.transmit_time(on_link);
            self.recent[place] = Transmission { ip_len: 0, on_link, time };
        } else {
            let begin = self.free.max(now);
            let time = steps.sent_at(begin, on_link).since(begin);
            self.recent[place] = Transmission { ip_len: 0, on_link, time };
        }
    }

    /// Removes and returns the next packet, if there is one, with its sojourn time. This function
    /// is for a driver that itself decides when the link is free.
    pub fn pull(&mut self, now: Instant) -> Option<(Packet, Duration)> {
        let packet = self.qdisc.dequeue(now, &mut self.rng, &mut self.log)?;
        self.log.sent += 1;
        self.log.waiting -= 1;
        self.log.sent_bytes += u64::from(packet.ip_len);
        let sojourn = now.since(packet.enqueued);
        Some((packet, sojourn))
    }

    /// Returns the time of the next poll, if no packet is offered before that time: the time at
    /// which the link is free and the discipline ready. If credit is left, the time is in the past.
    /// Returns `None` if no packet waits.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.log.waiting == 0 {
            return None;
        }
        if self.is_paced {
            rare();
            return Some(self.free.max(self.qdisc.ready_at()));
        }
        Some(self.free)
    }

    /// Returns the time from which the discipline releases its packets, if it has packets and that
    /// time is after `now`. A driver that calls [`Self::pull`] needs this time.
    pub fn ready_after(&self, now: Instant) -> Option<Instant> {
        let ready = if self.is_paced { self.qdisc.ready_at() } else { Instant::ZERO };
        (ready > now && self.log.waiting > 0).then_some(ready)
    }

    /// Returns the time that the link spent sending until `end`, which must be the current time. A
    /// packet still being sent counts up to `end`.
    pub fn busy_until(&self, end: Instant) -> Duration {
        // With dummynet, `free` is the tick of the next poll, which is later than the end of the
        // transmission.
        let paid = self.pipe.as_ref().map_or(self.free, Pipe::paid);
        // Under a trace, `free` is the next opportunity.
        let is_trace = self.shaper == Shaper::Trace;
        let ahead = if is_trace { 0 } else { paid.as_nanos().saturating_sub(end.as_nanos()) };
        let busy = self.log.busy.as_nanos().saturating_sub(ahead);
        // The credit of a pipe is exact, but the transmission time of each packet is rounded up to
        // a nanosecond. The sum of the transmission times may therefore exceed `end`.
        Duration::from_nanos(busy.min(end.as_nanos()))
    }

    /// Moves the dropped packets that the port keeps to `into`. The driver can reuse their memory.
    /// The port keeps only a few of them, and frees the others, unless [`Port::keep_all_drops`] was
    /// called.
    pub fn reclaim(&mut self, into: &mut Vec<Packet>) {
        into.append(&mut self.log.discarded);
    }

    /// Lets the port keep every packet that it drops. The driver must call [`Port::reclaim`] after
    /// each call that may drop packets.
    pub fn keep_all_drops(&mut self) {
        self.log.keeps_all = true;
    }

    /// Changes the rate of the discipline's own shaper. The packet that was just sent remains
    /// charged at the old rate.
    pub fn change_shaper_rate(&mut self, rate: BitRate) {
        self.qdisc.change_rate(rate);
        self.rate = rate;
        self.recent = [Transmission::default(); RECENT];
    }

    /// Returns whether the packets of one connection and direction leave in the order in which they
    /// arrived.
    pub fn keeps_order(&self) -> bool {
        self.qdisc.keeps_order()
    }

    /// Returns the length of a packet of `ip_len` bytes with the overhead that `tc qdisc show`
    /// states for the discipline.
    pub fn stated_len(&self, ip_len: u32) -> u32 {
        self.qdisc.stated_len(ip_len)
    }

    /// Returns the backlog of the discipline.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.qdisc.backlog()
    }

    /// Returns the discipline's own gauges.
    pub fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.qdisc.gauges()
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::delivery_trace::{DeliveryTrace, Opportunities};
    use aqmlab_core::{Args, RateStep, RateSteps, Value};

    use super::*;
    use crate::port_log::KEPT;

    fn port(rate_bps: u64, overhead: Overhead) -> Port {
        let kind = aqmlab_qdisc::kinds::find("pfifo").unwrap();
        let qdisc = (kind.build)(&Args::defaults(kind.params));
        Port::new(qdisc, BitRate::new(rate_bps).unwrap(), overhead, Rng::stream(1, "port"))
    }

    #[test]
    fn the_first_packet_leaves_at_once_and_the_next_when_the_link_is_free() {
        let mut port = port(12_000_000, Overhead::default());
        for id in 0..2 {
            port.offer(Packet::plain(id, 0, 1_500), Instant::ZERO);
        }
        let first = port.poll_transmit(Instant::ZERO).unwrap();
        assert_eq!((first.0.id, first.1.done), (0, Instant::from_millis(1)));
        assert_eq!(port.poll_transmit(Instant::ZERO), None);
        assert_eq!(port.poll_timeout(), Some(Instant::from_millis(1)));
        let second = port.poll_transmit(Instant::from_millis(1)).unwrap();
        assert_eq!(second.1.sojourn, Duration::from_millis(1));
        assert_eq!(port.poll_timeout(), None);
    }

    /// Tests that a port distinguishes lengths that share a place of its table of transmissions.
    #[test]
    fn each_length_takes_its_own_time() {
        let mut port = port(8_000_000_000, Overhead::default());
        let (mut rng, mut now) = (Rng::stream(1, "lengths"), Instant::ZERO);
        for id in 0..5_000 {
            let bytes = 20 + rng.below(60) as u32 * 25;
            port.offer(Packet::plain(id, 0, bytes), now);
            let done = port.poll_transmit(now).unwrap().1.done;
            assert_eq!(done.since(now), Duration::from_nanos(bytes.into()), "{bytes} bytes");
            now = done;
        }
    }

    #[test]
    fn ip_accounting_carries_the_whole_rate_and_ethernet_accounting_less() {
        for (counted, want_us) in [(0, 1_000), (14, 1_010)] {
            let overhead = Overhead { bytes: counted, counted, ..Overhead::default() };
            let mut port = port(12_000_000, overhead);
            port.offer(Packet::plain(0, 0, 1_500), Instant::ZERO);
            assert_eq!(port.backlog().bytes.0, 1_500 + u64::from(counted));
            let done = port.poll_transmit(Instant::ZERO).unwrap().1.done;
            assert_eq!(done.as_nanos().div_ceil(1_000).div_euclid(10) * 10, want_us);
        }
    }

    /// Tests the credit of HTB (`htb_class_mode`, `htb_charge_class`). After a pause, 1600 bytes of
    /// credit allow two packets, and the second packet leaves a debt. Each later packet leaves once
    /// the packet before it is paid for.
    #[test]
    fn htb_lets_a_packet_go_before_it_is_paid_for_and_one_more_after_a_pause() {
        let mut port = port(12_000_000, Overhead::default()).shaped_by(Shaper::Htb);
        let start = Instant::from_millis(10_000);
        for id in 0..4 {
            port.offer(Packet::plain(id, 0, 1_500), start);
        }
        let mut now = start;
        let mut left_us = Vec::new();
        while let Some(due) = port.poll_timeout() {
            now = now.max(due);
            let (_, departure) = port.poll_transmit(now).unwrap();
            assert_eq!(departure.done, now);
            left_us.push(now.since(start).as_micros());
        }
        // A credit of 1600 B is worth 1067 us; two packets cost 2000 us.
        assert_eq!(left_us, [0, 0, 933, 1_933]);
    }

    /// Tests that the link's busy time does not exceed the elapsed time. At 3 Mbit/s a packet of
    /// 1490 bytes takes 3 973 333⅓ ns, which is not a whole number.
    #[test]
    fn no_link_sends_for_longer_than_time_goes_by() {
        for shaper in [Shaper::Line, Shaper::Htb, Shaper::Dummynet] {
            let mut port = port(3_000_000, Overhead::default()).shaped_by(shaper);
            (0..900).for_each(|id| port.offer(Packet::plain(id, 0, 1_490), Instant::ZERO));
            let end = Instant::from_nanos(2_999_500_000);
            while let Some(due) = port.poll_timeout().filter(|&due| due < end) {
                port.poll_transmit(due);
            }
            let busy = port.busy_until(end);
            assert!(busy <= end.since(Instant::ZERO), "{shaper:?}: {busy}");
            assert!(busy >= Duration::from_millis(2_995), "{shaper:?}: {busy}");
        }
    }

    fn leaves(port: &mut Port, packets: u64, start: Instant) -> Vec<u64> {
        (0..packets).for_each(|id| port.offer(Packet::plain(id, 0, 1_500), start));
        let mut now = start;
        let mut left_us = Vec::new();
        while let Some(due) = port.poll_timeout() {
            now = now.max(due);
            let departure = port.poll_transmit(now).unwrap().1;
            left_us.push(departure.done.as_nanos() / 1_000);
        }
        left_us
    }

    fn steps(rates: &[(u64, u64)]) -> VaryingRate {
        let later = rates.iter().map(|&(ms, bps)| RateStep { at: Instant::from_millis(ms), bps });
        VaryingRate::Steps(RateSteps::new(12_000_000, &later.collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn c247_a_line_sends_the_rest_of_a_packet_at_the_new_rate() {
        // The third packet has sent half of its bits at 2.5 ms.
        let rates = [RateStep { at: Instant::from_nanos(2_500_000), bps: 1_000_000 }];
        let varying = VaryingRate::Steps(RateSteps::new(12_000_000, &rates).unwrap());
        let mut port = port(12_000_000, Overhead::default()).varied_by(varying);
        assert_eq!(leaves(&mut port, 4, Instant::ZERO), [1_000, 2_000, 8_500, 20_500]);
    }

    /// Tests that the packet in debt is paid for at the old rate. `htb_change_class` sets the rate
    /// and the bucket, and keeps the tokens, which are a time.
    #[test]
    fn c246_htb_pays_for_a_packet_at_the_rate_at_which_it_was_sent() {
        let mut port = port(12_000_000, Overhead::default()).shaped_by(Shaper::Htb);
        port = port.varied_by(steps(&[(11, 1_000_000)]));
        let start = Instant::from_millis(10);
        // The first two packets use the bucket of 1600 B, which is worth 1067 us.
        assert_eq!(leaves(&mut port, 5, start), [10_000, 10_000, 10_933, 11_933, 23_933]);
        // The bucket is now worth 12 800 us, and a packet costs 12 000 us.
        let later = Instant::from_millis(500);
        assert_eq!(leaves(&mut port, 4, later), [500_000, 500_000, 511_200, 523_200]);
    }

    #[test]
    fn a_packet_waits_for_its_opportunity() {
        let trace = DeliveryTrace::new(&[10, 0, 10]).unwrap();
        let varying = VaryingRate::Trace(Opportunities::new(trace));
        let mut port = port(12_000_000, Overhead::default()).varied_by(varying);
        assert_eq!(leaves(&mut port, 3, Instant::from_millis(3)), [10_000, 10_000, 20_000]);
        assert!(!port.may_pass(Instant::from_millis(25)));
        assert_eq!(leaves(&mut port, 1, Instant::from_millis(30)), [30_000]);
    }

    #[test]
    fn a_discipline_with_a_shaper_of_its_own_is_polled_when_it_is_ready() {
        let kind = aqmlab_qdisc::kinds::find("cake").unwrap();
        let rate = Value::Rate(BitRate::new(12_000_000).unwrap());
        let args = Args::defaults(kind.params).with("bandwidth", rate);
        let (line, rng) = (BitRate::new(100_000_000).unwrap(), Rng::stream(1, "port"));
        let mut port = Port::new((kind.build)(&args), line, Overhead::default(), rng);
        for id in 0..3 {
            port.offer(Packet::plain(id, 0, 1_500), Instant::ZERO);
        }
        let mut left = Vec::new();
        let mut now = Instant::ZERO;
        while let Some(due) = port.poll_timeout() {
            now = now.max(due);
            left.push(now.as_nanos() / 1_000);
            assert!(port.poll_transmit(now).is_some(), "it is ready at {now}");
            assert!(port.poll_transmit(now).is_none());
            assert_eq!(port.ready_after(now).is_some(), port.backlog().packets > 0);
        }
        // CAKE rounds the time of a packet down.
        assert_eq!(left, [0, 999, 1_999]);
    }

    #[test]
    fn some_dropped_packets_can_be_reused() {
        let mut port = port(1_000_000, Overhead::default());
        (0..1_000 + 10).for_each(|id| port.offer(Packet::plain(id, 0, 1_500), Instant::ZERO));
        let mut former = vec![Packet::plain(9_999, 0, 40)];
        port.reclaim(&mut former);
        let ids: Vec<u64> = former.iter().map(|packet| packet.id).collect();
        assert!(ids.iter().copied().eq([9_999].into_iter().chain(1_000..1_010)), "{ids:?}");
        (0..1_000).for_each(|id| port.offer(Packet::plain(id, 0, 1_500), Instant::ZERO));
        port.reclaim(&mut former);
        assert_eq!(former.len(), ids.len() + KEPT, "the other packets are freed");
        port.reclaim(&mut former);
        assert_eq!(former.len(), ids.len() + KEPT, "no packet is moved twice");
    }

    #[test]
    fn what_is_offered_is_sent_dropped_or_waiting() {
        let mut port = port(1_000_000, Overhead::default());
        for id in 0..2_000 {
            port.offer(Packet::plain(id, 0, 1_500), Instant::ZERO);
        }
        port.poll_transmit(Instant::ZERO).unwrap();
        let log = &port.log;
        let waiting = port.backlog().packets as u64;
        assert_eq!((log.offered, log.waiting), (log.sent + log.dropped + waiting, waiting));
        assert_eq!(log.flow_drops[0], log.dropped);
    }
}
