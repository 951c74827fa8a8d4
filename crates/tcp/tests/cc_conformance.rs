//! Tests the rules that every registered controller must obey under random events.

mod cc_path;

use aqmlab_core::{Args, Duration, Instant, Value};
use aqmlab_tcp::cc::kinds;
use aqmlab_tcp::cc::{Ack, CcEvent, Congestion, CongestionControl, RateSample, Signal, Window};
use cc_path::{MSS, Path, Run, controller, fresh_window};
use proptest::prelude::*;

/// An event of a connection.
#[derive(Clone, Debug)]
enum Happening {
    /// Segments are acknowledged and lost after a delay, with or without a round-trip sample.
    Ack { segments: u64, losses: u64, after_us: u64, rtt_us: Option<u64>, limited: bool },
    /// The path is congested, and the connection reduces its window.
    Congestion(Signal),
    /// The current recovery is complete.
    Repaired,
    /// The reduction was spurious.
    Undo,
    /// The sender was idle.
    Idle { us: u64, restart: bool },
}

fn happening() -> impl Strategy<Value = Happening> {
    let ack = (
        0_u64..40,
        prop_oneof![9 => Just(0_u64), 1 => 0_u64..20],
        prop_oneof![0_u64..2_000, 0_u64..300_000],
        proptest::option::weighted(0.9, 0_u64..2_000_000),
        prop::bool::weighted(0.9),
    )
        .prop_map(|(segments, losses, after_us, rtt_us, limited)| Happening::Ack {
            segments,
            losses,
            after_us,
            rtt_us,
            limited,
        });
    let signal = prop_oneof![Just(Signal::Loss), Just(Signal::EcnEcho), Just(Signal::Rto)];
    prop_oneof![
        30 => ack,
        2 => signal.prop_map(Happening::Congestion),
        2 => Just(Happening::Repaired),
        1 => Just(Happening::Undo),
        1 => (0_u64..20_000_000, any::<bool>())
            .prop_map(|(us, restart)| Happening::Idle { us, restart }),
    ]
}

/// A connection that is driven by events.
struct Connection {
    cc: Box<dyn CongestionControl>,
    window: Window,
    now: Instant,
    repair: Option<Signal>,
    prior_cwnd: u64,
    delivered: u64,
    lost: u64,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
}

impl Connection {
    fn new(cc: Box<dyn CongestionControl>, segment: u64, clamp: u64) -> Self {
        let window = Window { clamp: clamp * segment, ..fresh_window(segment) };
        let mut connection = Self {
            cc,
            window,
            now: Instant::from_micros(123_456),
            repair: None,
            prior_cwnd: 10 * segment,
            delivered: 0,
            lost: 0,
            srtt: None,
            min_rtt: None,
        };
        connection.cc.on_established(&mut connection.window, connection.now, None);
        connection
    }

    fn tell(&mut self, event: CcEvent) {
        self.cc.on_event(&mut self.window, event, self.now);
    }

    fn happen(&mut self, happening: &Happening) {
        match *happening {
            Happening::Ack { segments, losses, after_us, rtt_us, limited } => {
                self.now += Duration::from_micros(after_us);
                self.acknowledge(segments, losses, rtt_us, limited);
            }
            Happening::Congestion(signal) => self.congest(signal),
            Happening::Repaired => {
                if self.repair.take().is_some() {
                    self.tell(CcEvent::RecoveryLeft);
                }
            }
            Happening::Undo => {
                if self.repair.take().is_some() {
                    let cwnd = self.cc.undo_cwnd(&self.window, self.prior_cwnd);
                    self.window.cwnd = cwnd.min(self.window.clamp);
                    self.tell(CcEvent::Undone);
                }
            }
            Happening::Idle { us, restart } => {
                self.now += Duration::from_micros(us);
                if restart {
                    self.window.cwnd = self.window.cwnd.min(10 * self.window.segment);
                    self.tell(CcEvent::IdleRestart);
                }
                self.tell(CcEvent::TransmitStart {
                    idle: Duration::from_micros(us),
                    app_limited: true,
                });
            }
        }
    }

    fn congest(&mut self, signal: Signal) {
        if self.repair.is_some() && signal != Signal::Rto {
            return;
        }
        let in_flight = self.window.cwnd;
        let congestion = Congestion { now: self.now, in_flight, signal, srtt: self.srtt };
        self.prior_cwnd = self.window.cwnd;
        self.window.ssthresh = self.cc.ssthresh(&self.window, &congestion);
        let unit = self.window.segment;
        assert!(self.window.ssthresh > 0, "a threshold of {}", self.window.ssthresh);
        self.repair = Some(signal);
        if signal == Signal::Rto {
            self.window.cwnd = unit;
            self.tell(CcEvent::RtoEntered);
        } else {
            if !self.cc.controls_cwnd() {
                self.window.cwnd = self.window.ssthresh.min(self.window.cwnd);
            }
            self.tell(CcEvent::RecoveryEntered);
        }
    }

    fn acknowledge(&mut self, segments: u64, losses: u64, rtt_us: Option<u64>, limited: bool) {
        let unit = self.window.segment;
        let rtt = rtt_us.map(Duration::from_micros);
        if let Some(rtt) = rtt {
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let prior = self.delivered.saturating_sub(self.window.cwnd);
        self.delivered += segments * unit;
        self.lost += losses * unit;
        let per_unit = u64::from(MSS) / unit;
        let ack = Ack {
            now: self.now,
            acked: segments * unit,
            bytes: segments * u64::from(MSS),
            in_flight: self.window.cwnd.saturating_sub(segments * unit),
            until_departure: Duration::ZERO,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            cwnd_limited: limited,
            snd_una: self.delivered * per_unit,
            snd_nxt: self.delivered.saturating_add(self.window.cwnd).saturating_mul(per_unit),
            rate: RateSample {
                delivered: self.delivered - prior,
                interval: rtt.unwrap_or_default(),
                prior_delivered: prior,
                total_delivered: self.delivered,
                losses: losses * unit,
                total_lost: self.lost,
                acked_sacked: segments * unit,
                app_limited: !limited,
                retransmitted: false,
            },
        };
        self.cc.on_sample(&mut self.window, &ack);
        let repairing = matches!(self.repair, Some(Signal::Loss | Signal::EcnEcho));
        if self.cc.controls_cwnd() {
            let in_recovery = matches!(self.repair, Some(Signal::Loss | Signal::Rto));
            self.cc.control(&mut self.window, &ack, in_recovery);
        } else if !repairing {
            self.cc.on_ack(&mut self.window, &ack);
        }
    }

    fn check(&self, name: &str) {
        let Window { cwnd, ssthresh, segment, clamp, .. } = self.window;
        // FreeBSD's CUBIC has no bounds on a window in bytes, and no minimum threshold.
        if name == "cubic_freebsd" {
            assert!(segment > 1 || (1..=clamp).contains(&cwnd), "{name}: a window of {cwnd}");
            return;
        }
        assert!(cwnd >= segment, "{name}: a window of {cwnd}, less than a segment of {segment}");
        assert!(cwnd <= clamp, "{name}: a window of {cwnd}, more than the clamp {clamp}");
        assert!(ssthresh >= 2 * segment, "{name}: a threshold of {ssthresh}");
        for (gauge, value) in self.cc.gauges() {
            assert!(value.is_finite(), "{name}: {gauge} is {value}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_window_stays_within_its_bounds(
        happenings in prop::collection::vec(happening(), 1..400),
        bytes in any::<bool>(),
        clamp in prop_oneof![10_u64..60, Just(1_000_000)],
    ) {
        let segment = if bytes { u64::from(MSS) } else { 1 };
        for kind in kinds::all() {
            let mut connection = Connection::new(controller(kind.name, &[]), segment, clamp);
            for happening in &happenings {
                connection.happen(happening);
                connection.check(kind.name);
            }
        }
    }
}

#[test]
fn every_controller_fills_a_path_within_seconds() {
    for kind in kinds::all() {
        for segment in [1, u64::from(MSS)] {
            let path = Path { mbit: 12, rtt: Duration::from_millis(40), buffer: 60 };
            let mut run = Run::new(controller(kind.name, &[]), path, segment);
            let mut delivered = 0;
            run.run(Duration::from_secs(20), |view| delivered = view.delivered);
            let share = delivered as f64 * 12_000.0 / (20.0 * 12e6);
            assert!((0.85..=1.0).contains(&share), "{} in {segment}s: {share}", kind.name);
        }
    }
}

#[test]
fn a_repeated_run_is_the_same() {
    for kind in kinds::all() {
        let trace = || {
            let path = Path { mbit: 10, rtt: Duration::from_millis(30), buffer: 40 };
            let mut run = Run::new(controller(kind.name, &[]), path, 1);
            let mut windows = vec![];
            run.run(Duration::from_secs(5), |view| windows.push((view.now, view.window.cwnd)));
            windows
        };
        assert!(trace() == trace(), "{}", kind.name);
    }
}

#[test]
fn an_unused_window_does_not_grow() {
    for kind in kinds::all() {
        let mut connection = Connection::new(controller(kind.name, &[]), 1, 1_000);
        if connection.cc.controls_cwnd() {
            continue;
        }
        for _ in 0..500 {
            let rtt = Some(50_000);
            let ack = Happening::Ack {
                segments: 1,
                losses: 0,
                after_us: 5_000,
                rtt_us: rtt,
                limited: false,
            };
            connection.happen(&ack);
        }
        assert_eq!(connection.window.cwnd, 10, "{}", kind.name);
    }
}

#[test]
fn every_word_of_every_parameter_builds_a_controller() {
    for kind in kinds::all() {
        for param in kind.params {
            if let Value::Word(_, words) = param.default {
                for word in words {
                    let args = Args::defaults(kind.params).with(param.name, Value::Word(word, &[]));
                    let mut connection = Connection::new((kind.build)(&args), 1, 1_000);
                    connection.acknowledge(2, 0, Some(1_000), true);
                    connection.check(kind.name);
                }
            }
        }
    }
}

#[test]
fn declarations_are_complete() {
    let mut names = vec![];
    for kind in kinds::all() {
        let name = kind.name;
        assert!(!names.contains(&name), "{name} is declared twice");
        names.push(name);
        assert!(kinds::find(name).is_some());
        let tidy = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(name.chars().all(tidy), "{name}: names are written in lower case");
        assert!(!kind.source.is_empty(), "{name}: say which document it follows");
        assert!(!kind.summary.is_empty(), "{name}: say what it does");
        assert!(!kind.summary.ends_with('.'), "{name}: a summary is a phrase");
        for param in kind.params {
            assert!(param.doc.ends_with('.'), "{name}.{}: a sentence", param.name);
            if let Value::Word(word, words) = param.default {
                assert!(words.contains(&word), "{name}.{}: the default is listed", param.name);
            }
        }
    }
    for name in ["reno", "cubic", "cubic_rfc", "cubic_freebsd", "compound", "bbr"] {
        assert!(names.contains(&name), "{name} is registered");
    }
}
