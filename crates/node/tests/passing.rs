//! Compares `Port::pass` with `Port::offer` and `Port::take`, for every discipline and shaper.

use aqmlab_core::{
    Args, BitRate, Duration, Ecn, Instant, Kind, Overhead, Packet, RateStep, RateSteps, Rng, Value,
};
use aqmlab_node::{Port, Shaper, VaryingRate};
use aqmlab_qdisc::{Qdisc, kinds};

const RATE_BPS: u64 = 10_000_000;

/// Returns a port, or `None` if the discipline has no such shaper, or if the shaper does not
/// support a rate that changes.
fn port(kind: &Kind<dyn Qdisc>, shaper: Shaper, varies: bool) -> Option<Port> {
    let rate = BitRate::new(RATE_BPS).unwrap();
    let mut args = Args::defaults(kind.params);
    if shaper == Shaper::Own {
        if kind.name != "cake" {
            return None;
        }
        args = args.with("bandwidth", Value::Rate(rate));
    }
    let overhead = Overhead { bytes: 14, counted: 14, ..Overhead::default() };
    let port = Port::new((kind.build)(&args), rate, overhead, Rng::stream(1, "port"));
    let mut port = port.shaped_by(shaper).delayed_by(Duration::from_millis(3));
    if varies {
        let steps = [(700, 2_000_000), (1_500, 30_000_000)]
            .map(|(ms, bps)| RateStep { at: Instant::from_millis(ms), bps });
        let rate = VaryingRate::Steps(RateSteps::new(RATE_BPS, &steps).unwrap());
        if !rate.supports(shaper) {
            return None;
        }
        port = port.varied_by(rate);
    }
    port.warm_up(0x1234_5678_9abc_def0);
    port.log.events = Some(Vec::new());
    Some(port)
}

/// A port with its driver, which calls the port as the simulator does.
struct Driver {
    port: Port,
    /// The time of the next call.
    called: Instant,
    passed: u64,
    /// The packets that left, each as a text.
    sent: Vec<String>,
}

impl Driver {
    fn new(port: Port) -> Self {
        Self { port, called: Instant::NEVER, passed: 0, sent: Vec::new() }
    }

    fn serve(&mut self, packet: Option<Packet>, now: Instant) {
        if let Some(packet) = packet {
            let departure = self.port.start(&packet, now);
            self.sent.push(format!("{packet:?} {departure:?}"));
        }
        self.called = self.port.poll_timeout().map_or(Instant::NEVER, |due| due.max(now));
    }

    fn advance(&mut self, now: Instant) {
        while self.called <= now {
            let at = self.called;
            let packet = self.port.take(at);
            self.serve(packet, at);
        }
    }

    fn offer(&mut self, packet: Packet, now: Instant, passes: bool) {
        if passes && self.port.may_pass(now) {
            self.passed += 1;
            let packet = self.port.pass(packet, now);
            return self.serve(packet, now);
        }
        self.port.offer(packet, now);
        if self.called == Instant::NEVER || !self.port.is_busy(now) {
            let packet = self.port.take(now);
            self.serve(packet, now);
        }
    }

    fn report(&self, now: Instant) -> String {
        format!("{:?} {:?} {:?}", self.port.log, self.port.busy_until(now), self.port.gauges())
    }
}

/// Offers packets at random times: some at once, most within the service of a packet or two, and
/// some after a pause that empties the queue.
fn compare(mut one: Driver, mut other: Driver, seed: u64, about: &str) -> u64 {
    let mut rng = Rng::stream(seed, "packets");
    let mut now = Instant::ZERO;
    for id in 0..2_000 {
        now += Duration::from_nanos(match rng.below(10) {
            0 => rng.below(80_000_000),
            1..4 => 0,
            _ => rng.below(2_500_000),
        });
        let mut packet = Packet::plain(id, rng.below(6) as u32, 40 + rng.below(1_461) as u32);
        packet.ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][rng.below(3) as usize];
        for (driver, passes) in [(&mut one, true), (&mut other, false)] {
            driver.advance(now);
            driver.offer(packet.clone(), now, passes);
        }
        assert_eq!(one.sent, other.sent, "{about}, packet {id}");
        one.sent.clear();
        other.sent.clear();
    }
    assert_eq!(one.report(now), other.report(now), "{about}");
    one.passed
}

#[test]
fn a_packet_passes_an_idle_port_as_if_it_was_offered_and_taken() {
    for kind in kinds::all() {
        for shaper in [Shaper::Line, Shaper::Htb, Shaper::Dummynet, Shaper::Own] {
            for varies in [false, true] {
                for seed in 0..3 {
                    let ports = [(); 2].map(|()| port(kind, shaper, varies).map(Driver::new));
                    let [Some(one), Some(other)] = ports else { continue };
                    let about = format!("{} {shaper:?}, varies: {varies}, {seed}", kind.name);
                    let passed = compare(one, other, seed, &about);
                    let may_pass = matches!(shaper, Shaper::Line | Shaper::Dummynet);
                    assert!(passed > 50 || !may_pass, "{about}: {passed} packets pass");
                }
            }
        }
    }
}
