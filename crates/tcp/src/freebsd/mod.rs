//! FreeBSD 10's TCP: a window in bytes, SACK recovery by holes, go-back-N after a timeout, and
//! reassembly segment by segment.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_input.c`, `tcp_output.c`, `tcp_sack.c`, `tcp_reass.c`,
//! `tcp_timer.c`. The receive buffer grows as in 10.0 to 10.3, and duplicate acknowledgements are
//! recognised as in 10.2 or as in 10.3 (`Profile::sack_news`).
//!
//! Difference: the host cache (`tcp_hostcache.c`) is always empty, so no connection starts with
//! values of earlier connections.

mod ack;
mod dupack;
mod handshake;
mod input;
mod output;
mod plain_output;
mod rcvbuf;
mod reass;
mod recovery;
mod rtt;
mod sackholes;
mod sockbuf;
#[cfg(test)]
mod testing;
mod timer;

use aqmlab_core::{Bytes, Instant, TcpFlags, TcpHeader};

use crate::cc::EcnNeed;
use crate::common::clock::Expiry;
use crate::common::ecn::Offer;
use crate::segment::Transmission;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;
use crate::{Config, Event, Profile};
use rcvbuf::ReceiveBuffer;
use reass::ReassemblyQueue;
use recovery::{BeforeTimeout, Recovery};
use rtt::RttEstimator;
use sackholes::SackHoles;
use sockbuf::SendBuffer;

/// The acknowledgement that the receiver has yet to send, at once or after a delay.
#[derive(Debug, Default)]
struct OwedAck {
    /// Whether an acknowledgement must be sent at once (`TF_ACKNOW`).
    now: bool,
    /// Whether an acknowledgement is delayed (`TF_DELACK`).
    delayed: bool,
}

/// The state of FreeBSD's stack.
#[derive(Debug)]
pub(crate) struct FreeBsd {
    recovery: Recovery,
    holes: SackHoles,
    rtt: RttEstimator,
    send_buffer: SendBuffer,
    receive_buffer: ReceiveBuffer,
    reassembly: ReassemblyQueue,
    owed_ack: OwedAck,
    /// Whether every segment is acknowledged at once.
    quickack: bool,
    /// The number of consecutive timeouts, or of consecutive probes of a closed window
    /// (`t_rxtshift`).
    shift: u32,
    /// The state before a timeout that may be spurious.
    before_timeout: Option<BeforeTimeout>,
    /// The tick of the last segment received (`t_rcvtime`).
    last_received: u64,
    /// The segment that is being timed, for samples without timestamps: the tick of its
    /// transmission, and its first byte (`t_rtttime`, `t_rtseq`).
    timed: Option<(u64, u64)>,
    /// The acknowledgement number of the segment that last updated the window (`snd_wl2`).
    wl2: u64,
    /// Whether the peer's FIN has arrived in order and the application has not been notified.
    peer_finished: bool,
}

impl FreeBsd {
    pub(crate) fn new(config: &Config) -> Self {
        let profile = &config.profile;
        Self {
            recovery: Recovery::default(),
            holes: SackHoles::default(),
            rtt: RttEstimator::new(profile),
            send_buffer: SendBuffer::new(profile, config.send_buffer),
            receive_buffer: ReceiveBuffer::new(profile, config.receive_buffer),
            reassembly: ReassemblyQueue::default(),
            owed_ack: OwedAck::default(),
            quickack: config.quickack,
            shift: 0,
            before_timeout: None,
            last_received: 0,
            timed: None,
            wl2: 0,
            peer_finished: false,
        }
    }

    /// Returns the expiry rule of FreeBSD's callouts.
    pub(crate) fn expiry(&self, _profile: &Profile) -> Expiry {
        Expiry::Callout
    }

    /// Returns the ECN that the host requests and accepts. FreeBSD 10 has classic ECN only, and
    /// does not know the needs of controllers.
    pub(crate) fn ecn_offer(&self, config: &Config) -> Offer {
        Offer::new(config.ecn, 0, EcnNeed::None)
    }

    /// Responds to a segment for a closed port with a reset, unless the segment is a reset.
    pub(crate) fn process_closed(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        if !header.flags.has(TcpFlags::RST) {
            tcb.emit_reset(header.ack, None);
        }
    }

    /// Sends an acknowledgement at once.
    pub(crate) fn send_ack(&mut self, tcb: &mut Tcb) {
        if tcb.state.is_synchronized() {
            self.ack_now(tcb);
        } else {
            let seq = tcb.snd.max.max(tcb.snd.nxt);
            self.emit(tcb, (seq, 0), TcpFlags::default(), Transmission::Original);
        }
    }

    /// Marks an acknowledgement as due at once, and sends it through `tcp_output`.
    fn ack_now(&mut self, tcb: &mut Tcb) {
        self.owed_ack.now = true;
        self.output(tcb);
    }

    /// Sends a segment, which also carries every pending acknowledgement. `seq` is its sequence
    /// number, and `payload` its number of payload bytes.
    #[inline(never)]
    fn emit(
        &mut self,
        tcb: &mut Tcb,
        (seq, payload): (u64, u32),
        flags: TcpFlags,
        transmission: Transmission,
    ) {
        self.emit_inline(tcb, (seq, payload), flags, transmission);
    }

    /// Does what [`Self::emit`] does, inlined into its caller.
    #[expect(clippy::inline_always, reason = "most segments pass; a call costs 0.4 % of a run")]
    #[inline(always)]
    fn emit_inline(
        &mut self,
        tcb: &mut Tcb,
        (seq, payload): (u64, u32),
        flags: TcpFlags,
        transmission: Transmission,
    ) {
        self.receive_buffer.start_counting(tcb.clock.timestamp());
        let window = self.select_window(tcb);
        let header = tcb.header(window);
        let flags = header.flags.with(flags);
        tcb.emit(TcpHeader { seq, payload, flags, ..header }, transmission);
        self.owed_ack = OwedAck::default();
        tcb.timers.delayed_ack = Instant::NEVER;
    }

    /// Returns false. FreeBSD does not limit the queue of the host, so the report is ignored.
    pub(crate) fn note_waiting(&mut self, _tcb: &mut Tcb, _memory: Bytes) -> bool {
        false
    }

    /// Sends pending data, and fills the send buffer or wakes an application that waits for space.
    pub(crate) fn serve_application(&mut self, tcb: &mut Tcb) {
        self.output(tcb);
        self.check_space(tcb);
    }

    /// Changes the state when the application closes the sending direction (`tcp_usrclosed`).
    pub(crate) fn on_close(&mut self, tcb: &mut Tcb) {
        tcb.close_half();
    }

    /// Starts to wake the application. An application that never sleeps acts at once.
    #[expect(clippy::inline_always, reason = "most data passes; a call costs 0.6 % of a run")]
    #[inline(always)]
    pub(crate) fn wake(&mut self, tcb: &mut Tcb) {
        if tcb.start_wakeup() {
            self.on_awake(tcb);
        }
    }

    /// Lets the application read all data, without an event.
    #[inline]
    pub(crate) fn read(&mut self, tcb: &mut Tcb) {
        let has_data = !tcb.wakeup.unread.is_empty();
        tcb.take_unread();
        if has_data {
            self.output(tcb);
        }
    }

    /// Runs the application, which has woken. It reads all data, and learns of new space in the
    /// send buffer.
    #[expect(clippy::inline_always, reason = "most data passes; a call costs 0.1 % of a run")]
    #[inline(always)]
    pub(crate) fn on_awake(&mut self, tcb: &mut Tcb) {
        tcb.timers.wakeup = Instant::NEVER;
        let reads = !tcb.wakeup.unread.is_empty();
        tcb.announce_open();
        tcb.deliver_unread();
        if reads {
            self.output(tcb);
        }
        if std::mem::take(&mut tcb.wakeup.has_space) {
            tcb.writer.waits_for_space = false;
            if !tcb.writer.is_unlimited && !tcb.snd.fin_wanted {
                tcb.events.push_back(Event::Writable);
            }
        }
    }

    /// Returns the number of outstanding payload bytes.
    pub(crate) fn flight_bytes(&self, tcb: &Tcb) -> u64 {
        tcb.snd.max.saturating_sub(tcb.snd.una)
    }

    /// Returns the name of the state of loss recovery.
    pub(crate) const fn recovery_name(&self) -> &'static str {
        if self.recovery.is_active() {
            "recovery"
        } else if self.recovery.is_reduced() {
            "cwr"
        } else if self.shift > 0 {
            "loss"
        } else {
            "open"
        }
    }

    /// Returns whether the retransmission timer is running.
    fn awaits_ack(tcb: &Tcb) -> bool {
        tcb.timers.xmit == XmitTimer::Retransmit
    }
}
