//! Linux's TCP.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c`, `tcp_recovery.c`, `tcp_output.c`, `tcp_timer.c`, with
//! the corrections of the stable series up to 6.1.192. The same stack models Windows, with its
//! newer parts switched off.

mod ack;
mod burst;
mod cwnd;
mod data_queue;
mod delack;
mod ecn;
mod feedback;
mod handshake;
mod input;
mod loss;
mod next_data;
mod ooo_queue;
mod output;
mod pacing_rate;
mod prr;
mod rack;
mod rcv_autotune;
mod rcv_window;
mod recovery;
mod reordering;
mod retransmit;
mod rto;
mod rtt;
mod rtx_queue;
mod sack;
mod sendmsg;
mod sndbuf;
#[cfg(test)]
mod testing;
mod tlp;
mod tso;
mod tsq;
mod undo;
mod zero_window;

pub use tsq::queued_memory;

use aqmlab_core::{Duration, Instant, TcpHeader};

use crate::common::clock::{Clock, Expiry};
use crate::common::ecn::Offer;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;
use crate::{Config, Profile};
use cwnd::CwndUsage;
use delack::DelayedAck;
use ooo_queue::OooQueue;
use prr::Prr;
use rack::Rack;
use rcv_autotune::RcvAutotune;
use rcv_window::RcvWindow;
use recovery::Recovery;
use reordering::Reordering;
use rtt::RttEstimator;
use sndbuf::SendBuffer;
use tlp::Tlp;
use tsq::Tsq;
use undo::Undo;
use zero_window::ZeroWindow;

/// The margin of the reordering timer, and of the loss-probe timer if several segments are
/// outstanding (`TCP_TIMEOUT_MIN_US`).
const TIMEOUT_MIN: Duration = Duration::from_millis(2);

/// The part of a connection's state that belongs to Linux's stack.
#[derive(Debug)]
pub(crate) struct Linux {
    recovery: Recovery,
    undo: Undo,
    reordering: Reordering,
    prr: Prr,
    rack: Rack,
    tlp: Tlp,
    zero_window: ZeroWindow,
    rtt: RttEstimator,
    usage: CwndUsage,
    tsq: Tsq,
    sndbuf: SendBuffer,
    delack: DelayedAck,
    rcv_window: RcvWindow,
    autotune: RcvAutotune,
    ooo: OooQueue,
}

impl Linux {
    pub(crate) fn new(config: &Config) -> Self {
        let profile = &config.profile;
        // This clock only converts times to ticks, so its expiry rule has no effect.
        let clock = Clock::new(profile.tick, Expiry::Tick);
        Self {
            recovery: Recovery::default(),
            undo: Undo::default(),
            reordering: Reordering::new(profile),
            prr: Prr::default(),
            rack: Rack::default(),
            tlp: Tlp::default(),
            zero_window: ZeroWindow::default(),
            rtt: RttEstimator::new(profile),
            usage: CwndUsage::default(),
            tsq: Tsq::default(),
            sndbuf: SendBuffer::new(profile, config.send_buffer),
            delack: DelayedAck::new(profile, config.quickack, &clock),
            rcv_window: RcvWindow::new(profile, config.receive_buffer),
            autotune: RcvAutotune::new(profile, config.receive_buffer),
            ooo: OooQueue::default(),
        }
    }

    /// Returns the expiry rule: the timer wheel, or whole ticks on a host without a wheel.
    pub(crate) fn expiry(&self, profile: &Profile) -> Expiry {
        if profile.timer_wheel { Expiry::Wheel } else { Expiry::Tick }
    }

    /// Returns the forms of ECN that the host requests and accepts.
    pub(crate) fn ecn_offer(&self, config: &Config) -> Offer {
        Offer::new(config.ecn, config.profile.tcp_ecn, config.cc.ecn_need())
    }

    /// Ignores a segment for a closed connection.
    pub(crate) fn process_closed(&mut self, _tcb: &mut Tcb, _header: &TcpHeader) {}

    /// Sends pending data. First fills the buffer for an application that writes without limit, and
    /// retransmits lost segments if the host's queue has released the connection. Finally wakes an
    /// application that waits for space, if enough space is free.
    pub(crate) fn serve_application(&mut self, tcb: &mut Tcb) {
        self.fill(tcb);
        if self.tsq.take_release() && tcb.board.has_lost_to_send() {
            self.retransmit_lost(tcb);
        }
        self.push_pending(tcb);
        self.check_space(tcb);
    }

    /// Does nothing when the application closes, because the sending direction ends when the FIN is
    /// sent.
    pub(crate) fn on_close(&mut self, _tcb: &mut Tcb) {}

    /// Handles the expiry of the transmission timer, which was set for `purpose`.
    pub(crate) fn on_xmit_timer(&mut self, tcb: &mut Tcb, purpose: XmitTimer) {
        match purpose {
            XmitTimer::Off => {}
            XmitTimer::Retransmit => self.on_retransmission_timer(tcb),
            XmitTimer::Reorder => self.on_reorder_timer(tcb),
            XmitTimer::LossProbe => self.send_loss_probe(tcb),
            XmitTimer::Persist => self.on_persist_timer(tcb),
        }
    }

    /// Sends the segments whose departure is due, lost segments first.
    pub(crate) fn on_pacing_timer(&mut self, tcb: &mut Tcb) {
        if tcb.board.has_lost_to_send() && tcb.has_cwnd_space() {
            self.retransmit_lost(tcb);
        }
        self.push_pending(tcb);
    }

    /// Starts to wake the application. An application that never sleeps acts at once.
    #[inline]
    pub(crate) fn wake(&mut self, tcb: &mut Tcb) {
        if tcb.start_wakeup() {
            self.on_awake(tcb);
        }
    }

    /// Runs the woken application. The application reads all data, which may enlarge the receive
    /// buffer and cause an acknowledgement. If the send buffer has space again, the application
    /// also writes.
    pub(crate) fn on_awake(&mut self, tcb: &mut Tcb) {
        tcb.timers.wakeup = Instant::NEVER;
        let end = tcb.wakeup.unread.first_end();
        self.deliver(tcb);
        if let Some(end) = end {
            self.on_application_read(tcb, end);
        }
        if std::mem::take(&mut tcb.wakeup.has_space) {
            self.use_space(tcb);
        }
    }

    /// Lets the application read all data, without an event. Does what [`Self::on_awake`] does for
    /// an application that only reads.
    #[expect(clippy::inline_always, reason = "most data passes; a call costs 0.4 % of a run")]
    #[inline(always)]
    pub(crate) fn read(&mut self, tcb: &mut Tcb) {
        let end = tcb.wakeup.unread.first_end();
        tcb.take_unread();
        if let Some(end) = end {
            self.on_application_read(tcb, end);
        }
    }

    /// Passes all unread data to the application. The first call also notifies the application that
    /// the connection is open, and adds its early data to the send buffer.
    fn deliver(&mut self, tcb: &mut Tcb) {
        if tcb.announce_open() {
            self.write_early(tcb);
        }
        tcb.deliver_unread();
    }

    /// Returns the number of payload bytes estimated to be in the network. Every segment counts as
    /// full-sized.
    pub(crate) fn flight_bytes(&self, tcb: &Tcb) -> u64 {
        u64::from(tcb.board.in_flight()) * u64::from(tcb.window.mss)
    }

    /// Returns the name of the state of loss recovery.
    pub(crate) const fn recovery_name(&self) -> &'static str {
        self.recovery.ca().name()
    }
}
