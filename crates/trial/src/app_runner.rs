//! The driver of a trial's applications, used by the simulator and by the kernel engine.
//!
//! An engine provides a clock, sockets and an agenda as [`Engine`]. The driver owns the
//! applications with their random streams, wake-ups, notices, records and read marks. With the same
//! seed, both engines therefore start an application at the same time and draw the same numbers for
//! the application.
//!
//! The driver is generic over the engine, so its calls of the engine are direct.

mod io;
mod marks;
#[cfg(test)]
mod tests;
mod wakes;

use std::collections::VecDeque;

use aqmlab_apps::{App, ConnId, Notice, Open, ShaperStatus};
use aqmlab_core::{BitRate, Direction, Instant, Rng, Side};
use aqmlab_measure::FlowReport;

use self::io::AppIo;
use self::marks::ReadMarks;
use self::wakes::{Wake, Wakes};
use crate::error::SpecError;
use crate::findings::FlowFindings;
use crate::notes::Notes;
use crate::resolve;
use crate::spec::Spec;
use crate::streams::Stream;

/// The clock, the sockets and the agenda that an engine provides.
///
/// `app` is the index of an application in the trial. `conn` is the engine's number of a
/// connection: connections are numbered in the order in which the engine opens them. `at` is an end
/// of a connection, except in [`Engine::call_at`].
pub trait Engine {
    /// Returns the time since the start of the trial.
    fn now(&self) -> Instant;

    /// Returns the driver that this engine owns.
    fn runner(&mut self) -> &mut AppRunner;

    /// Requests a call of [`AppRunner::wake`] for `app` at the time `at`, unless an earlier call is
    /// already scheduled.
    fn call_at(&mut self, app: u32, at: Instant);

    /// Opens the socket that `app` knows as `id`. Returns the connection's number within the
    /// engine.
    fn open(&mut self, app: u32, id: ConnId, open: Open) -> u32;

    /// Writes up to `bytes` at one end; returns the number of bytes that the send buffer accepted.
    fn write(&mut self, conn: u32, at: Side, bytes: u64) -> u64;

    /// Writes without limit at one end, until that end is closed.
    fn send_unlimited(&mut self, conn: u32, at: Side);

    /// Closes the sending direction of one end, or both ends of a datagram flow.
    fn close(&mut self, conn: u32, at: Side);

    /// Resets a connection from one end.
    fn abort(&mut self, conn: u32, at: Side);

    /// Sends a datagram of `payload` bytes with the tag `tag` from one end.
    fn send(&mut self, conn: u32, at: Side, payload: u32, tag: u64);

    /// Returns the payload bytes that the two ends of a connection have read, home first.
    fn bytes_read(&self, conn: u32) -> [u64; 2];

    /// Returns the gateway's shaper of a direction on the route of an application that sets
    /// shapers.
    fn shaper(&self, app: u32, direction: Direction) -> ShaperStatus;

    /// Sets the rate of the gateway's shaper of a direction on the route of an application that
    /// sets shapers.
    fn set_shaper_rate(&mut self, app: u32, direction: Direction, rate: BitRate);

    /// Records that an application has ended, by itself or at its stop time. The driver may call
    /// this function again for the same application.
    fn ended(&mut self, app: u32);
}

/// The applications of a trial, with their wake-ups, notices and read marks.
pub struct AppRunner {
    apps: Vec<Slot>,
    wakes: Wakes,
    /// The notices not yet delivered.
    notices: VecDeque<(u32, Notice)>,
    marks: ReadMarks,
}

/// An application and its state.
struct Slot {
    /// The application; `None` only during a call.
    app: Option<Box<dyn App>>,
    rng: Rng,
    /// The engine's number of each connection, by [`ConnId`].
    conns: Vec<u32>,
    notes: Notes,
}

impl AppRunner {
    /// Returns the driver of `apps`, the applications of the trial `spec`. Schedules their starts
    /// and stops.
    pub fn new(spec: &Spec, apps: Vec<Box<dyn App>>) -> Self {
        let mut wakes = Wakes::new(apps.len());
        for app in 0..apps.len() {
            wakes.push(app, spec.start(app), Wake::Start);
            if let Some(stop) = spec.stop(app) {
                wakes.push(app, stop, Wake::Stop);
            }
        }
        let slots = spec.apps.iter().zip(apps).map(|(of, app)| Slot {
            app: Some(app),
            rng: Stream::App(&of.name).rng(spec.seed),
            conns: Vec::new(),
            notes: Notes::of(spec),
        });
        let (apps, notices) = (slots.collect(), VecDeque::new());
        Self { apps, wakes, notices, marks: ReadMarks::new(spec) }
    }

    /// Returns the driver of the trial `spec`, for an engine that needs no other resolved parts.
    ///
    /// # Errors
    ///
    /// If a parameter of an application does not exist, or its value has another type or is out of
    /// bounds.
    pub fn of(spec: &Spec) -> Result<Self, SpecError> {
        let apps = spec.apps.iter().enumerate();
        let apps = apps.map(|(index, app)| resolve::app(&format!("apps[{index}]"), app));
        Ok(Self::new(spec, apps.collect::<Result<_, _>>()?))
    }

    /// Returns application number `app`.
    ///
    /// # Panics
    ///
    /// If there is no such application, or if the application is being called.
    pub fn app(&self, app: usize) -> &dyn App {
        self.apps[app].app.as_deref().expect("an application is absent only during a call")
    }

    /// Returns the numbers that the engine gave to the connections of application `app`.
    pub fn conns(&self, app: usize) -> &[u32] {
        &self.apps[app].conns
    }

    /// Adds a notice for an application.
    #[inline]
    pub fn notify(&mut self, app: u32, notice: Notice) {
        self.notices.push_back((app, notice));
    }

    /// Returns whether a notice is pending.
    #[inline]
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Turns the due wake-ups of an application into notices. Returns the time of its next wake-up,
    /// if there is one.
    pub fn wake(&mut self, app: u32, now: Instant) -> Option<Instant> {
        while let Some(notice) = self.wakes.pop(app as usize, now) {
            self.notify(app, notice);
        }
        self.wakes.next_of(app as usize)
    }

    /// Turns the due wake-ups of all applications into notices, ordered by time and at equal times
    /// by the order of the requests. Returns whether there was a due wake-up.
    pub fn wake_all(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((app, notice)) = self.wakes.pop_any(now) {
            self.notify(app, notice);
            any = true;
        }
        any
    }

    /// Returns the time of the next wake-up of an application, if there is one.
    pub fn next_wake_of(&self, app: u32) -> Option<Instant> {
        self.wakes.next_of(app as usize)
    }

    /// Returns the time of the next wake-up of any application, if there is one.
    pub fn next_wake(&self) -> Option<Instant> {
        self.wakes.next()
    }

    /// Returns the scheduled time of the next read mark, if there is one.
    pub fn next_mark(&self) -> Option<Instant> {
        self.marks.next()
    }

    /// Returns the findings on application number `app`: its own metrics, its bytes read, its
    /// notes, and `report`, the findings of the taps. Moves the notes out of the driver.
    ///
    /// # Panics
    ///
    /// If there is no such application.
    pub fn findings(&mut self, spec: &Spec, app: usize, report: FlowReport) -> FlowFindings {
        let notes = std::mem::take(&mut self.apps[app].notes);
        FlowFindings {
            read: self.marks.read(app),
            notes,
            ..FlowFindings::new(spec, app, self.app(app), report)
        }
    }
}

/// Delivers one notice; returns false if there is none.
#[inline]
pub fn deliver_one<E: Engine>(engine: &mut E) -> bool {
    let Some((app, notice)) = engine.runner().notices.pop_front() else { return false };
    deliver(engine, app, notice);
    true
}

fn deliver<E: Engine>(engine: &mut E, index: u32, notice: Notice) {
    let Some(mut app) = engine.runner().apps[index as usize].app.take() else {
        unreachable!("an application is never called during a call")
    };
    // An application ends by a timer, by its stop, or with its last connection.
    let may_end = matches!(notice, Notice::Wake(_) | Notice::Stop | Notice::Finished { .. });
    app.handle(notice, &mut AppIo { engine, app: index });
    let ended = may_end && app.ended().is_some();
    engine.runner().apps[index as usize].app = Some(app);
    if ended {
        set_mark(engine, index as usize, marks::END);
        engine.ended(index);
    }
}

/// Sets the read marks that are due at `now`.
pub fn set_marks<E: Engine>(engine: &mut E, now: Instant) {
    while let Some((app, mark)) = engine.runner().marks.pop(now) {
        set_mark(engine, app, mark);
    }
}

/// Sets one read mark of an application, unless the mark is already set.
fn set_mark<E: Engine>(engine: &mut E, app: usize, mark: usize) {
    let mut read = [0; 2];
    for place in 0..engine.runner().conns(app).len() {
        let conn = engine.runner().conns(app)[place];
        let [home, wan] = engine.bytes_read(conn);
        read = [read[0] + home, read[1] + wan];
    }
    engine.runner().marks.set(app, mark, read);
}
