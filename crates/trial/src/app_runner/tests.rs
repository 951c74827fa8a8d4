use std::sync::{Arc, Mutex};

use aqmlab_apps::{Carries, Io};
use aqmlab_core::Duration;

use super::*;

/// An application that requests wake-ups, opens one connection, and ends at the wake-up with token
/// 9.
struct Probe {
    log: Arc<Mutex<Vec<(Instant, Notice, u64)>>>,
    ended: Option<Instant>,
}

impl App for Probe {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        let drawn = io.rng().next_u64();
        self.log.lock().unwrap().push((io.now(), notice, drawn));
        match notice {
            Notice::Start => {
                io.open(Open::tcp(Side::Home));
                io.wake_at(io.now() + Duration::from_millis(5), 2);
                io.wake_at(io.now() + Duration::from_millis(5), 1);
                io.wake_at(Instant::ZERO, 3);
                io.note("metric", 1.0);
            }
            Notice::Wake(9) => self.ended = Some(io.now()),
            _ => {}
        }
    }

    fn carries(&self) -> Carries {
        Carries::One(Direction::Up)
    }

    fn ended(&self) -> Option<Instant> {
        self.ended
    }
}

/// An engine whose connections read ten bytes per millisecond at home.
struct Fake {
    now: Instant,
    runner: AppRunner,
    opened: u32,
    ended: Vec<(Instant, u32)>,
}

impl Engine for Fake {
    fn now(&self) -> Instant {
        self.now
    }

    fn runner(&mut self) -> &mut AppRunner {
        &mut self.runner
    }

    fn call_at(&mut self, _: u32, at: Instant) {
        assert!(at >= self.now, "no call is in the past");
    }

    fn open(&mut self, _: u32, _: ConnId, _: Open) -> u32 {
        self.opened += 1;
        self.opened - 1
    }

    fn write(&mut self, _: u32, _: Side, bytes: u64) -> u64 {
        bytes
    }

    fn send_unlimited(&mut self, _: u32, _: Side) {}
    fn close(&mut self, _: u32, _: Side) {}
    fn abort(&mut self, _: u32, _: Side) {}
    fn send(&mut self, _: u32, _: Side, _: u32, _: u64) {}

    fn bytes_read(&self, _: u32) -> [u64; 2] {
        [self.now.as_nanos() / 100_000, 0]
    }

    fn shaper(&self, _: u32, _: Direction) -> ShaperStatus {
        ShaperStatus::default()
    }

    fn set_shaper_rate(&mut self, _: u32, _: Direction, _: BitRate) {}

    fn ended(&mut self, app: u32) {
        self.ended.push((self.now, app));
    }
}

impl Fake {
    fn run(&mut self, end: Instant) {
        while let Some(at) =
            [self.runner.next_wake(), self.runner.next_mark()].into_iter().flatten().min()
        {
            if at > end {
                break;
            }
            self.now = self.now.max(at);
            set_marks(self, self.now);
            while self.runner.wake_all(self.now) {
                while deliver_one(self) {}
            }
        }
    }
}

fn spec() -> Spec {
    let app = |name: &str| {
        format!(
            r#"{{"name": "{name}", "app": {{"kind": "bulk"}}, "start_ns": 10000000,
            "stop_ns": 90000000, "up": {{"links": [], "delay_ns": 0}},
            "down": {{"links": [], "delay_ns": 0}}}}"#
        )
    };
    let json = format!(
        r#"{{"seed": 7, "duration_ns": 100000000, "links": [], "start_jitter_ns": 1000000,
        "apps": [{}, {}], "measure": {{"to_ns": 80000000}}}}"#,
        app("a"),
        app("b")
    );
    crate::parse(&json).expect("it is a trial")
}

type Log = Arc<Mutex<Vec<(Instant, Notice, u64)>>>;

fn run(spec: &Spec) -> (Fake, Vec<Log>) {
    let logs: Vec<Log> = spec.apps.iter().map(|_| Log::default()).collect();
    let probe = |log: &Log| Box::new(Probe { log: log.clone(), ended: None }) as Box<dyn App>;
    let runner = AppRunner::new(spec, logs.iter().map(probe).collect());
    (Fake { now: Instant::ZERO, runner, opened: 0, ended: Vec::new() }, logs)
}

#[test]
fn wakes_come_in_the_order_of_their_times_and_requests() {
    let spec = spec();
    let (mut fake, logs) = run(&spec);
    fake.run(spec.end());
    let (start, later) = (spec.start(0), spec.start(0) + Duration::from_millis(5));
    assert!(start > Instant::from_millis(10) && start <= Instant::from_millis(11));
    let log = logs[0].lock().unwrap();
    let got: Vec<_> = log.iter().map(|(at, notice, _)| (*at, *notice)).collect();
    let want = [
        (start, Notice::Start),
        (start, Notice::Wake(3)),
        (later, Notice::Wake(2)),
        (later, Notice::Wake(1)),
        (spec.stop(0).unwrap(), Notice::Stop),
    ];
    assert_eq!(got, want);
    let mut stream = Stream::App("a").rng(spec.seed);
    assert!(log.iter().all(|(.., drawn)| *drawn == stream.next_u64()), "its own stream");
}

#[test]
fn the_bytes_read_are_those_of_the_measured_interval() {
    let mut spec = spec();
    spec.measure.from = Instant::from_millis(20);
    let (mut fake, _) = run(&spec);
    fake.run(spec.end());
    let found = fake.runner.findings(&spec, 0, FlowReport::default());
    assert_eq!(found.read, [600, 0], "from 20 to 80 ms");
    assert_eq!(found.notes.iter().count(), 1);
}

#[test]
fn an_application_that_ends_sets_its_second_mark() {
    let spec = spec();
    let (mut fake, _) = run(&spec);
    let at = Instant::from_millis(40);
    fake.runner.wakes.push(1, at, Wake::Token(9));
    fake.run(spec.end());
    // The stop reports the end a second time; the mark stays unchanged.
    assert_eq!(fake.ended.first(), Some(&(at, 1)));
    assert_eq!(fake.runner.findings(&spec, 1, FlowReport::default()).read, [400, 0]);
    assert_eq!(fake.runner.findings(&spec, 0, FlowReport::default()).read, [800, 0]);
}
