//! The stack-specific state of a connection. Only this module distinguishes between the stacks.

use aqmlab_core::{Bytes, Ecn, Instant, TcpHeader};

use crate::common::clock::Expiry;
use crate::common::ecn::Offer;
use crate::common::handshake::{Handshake, RepeatedSyn};
use crate::freebsd::FreeBsd;
use crate::linux::Linux;
use crate::segment::SynKind;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;
use crate::{Config, Profile, Stack};

/// The stack that runs a connection, with its state.
pub(crate) enum StackState {
    Linux(Box<Linux>),
    FreeBsd(Box<FreeBsd>),
}

/// Defines methods that call the stack's method of the same name.
macro_rules! dispatch {
    ($($(#[$attribute:meta])* fn $name:ident(&$($mut:ident)? $(, $arg:ident: $type:ty)*) $(-> $return:ty)?;)+) => {
        $($(#[$attribute])*
        pub(crate) fn $name(&$($mut)? self $(, $arg: $type)*) $(-> $return)? {
            match self {
                Self::Linux(stack) => stack.$name($($arg),*),
                Self::FreeBsd(stack) => stack.$name($($arg),*),
            }
        })+
    };
}

impl StackState {
    pub(crate) fn new(config: &Config) -> Self {
        match config.profile.stack {
            Stack::Linux => Self::Linux(Box::new(Linux::new(config))),
            Stack::FreeBsd => Self::FreeBsd(Box::new(FreeBsd::new(config))),
        }
    }

    dispatch! {
        /// Returns the rule for the expiry of timers.
        fn expiry(&, profile: &Profile) -> Expiry;
        /// Returns the ECN that the host requests and accepts.
        fn ecn_offer(&, config: &Config) -> Offer;
        /// Processes a segment that arrives in ESTABLISHED.
        #[inline]
        fn process_established(&mut, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn);
        /// Processes a segment of an open connection that arrives in a state other than
        /// ESTABLISHED.
        fn process_segment(&mut, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn);
        /// Responds to a segment that arrives in CLOSED.
        fn process_closed(&mut, tcb: &mut Tcb, header: &TcpHeader);
        /// Sends an acknowledgement at once.
        fn send_ack(&mut, tcb: &mut Tcb);
        /// Sends the data that the application has written since the connection last ran.
        fn serve_application(&mut, tcb: &mut Tcb);
        /// Adds up to `bytes` to the send buffer, and returns the number of bytes accepted.
        fn write(&mut, tcb: &mut Tcb, bytes: u64) -> u64;
        /// Handles the application's close of the sending direction.
        fn on_close(&mut, tcb: &mut Tcb);
        /// Updates the memory of this connection's segments in the queue of its host. Returns
        /// whether segments that were held back may be sent.
        fn note_waiting(&mut, tcb: &mut Tcb, memory: Bytes) -> bool;

        /// Sets the receive window and its scale for a SYN.
        fn init_receive_window(&mut, tcb: &mut Tcb);
        /// Limits the offered window to `limit`.
        fn limit_window(&mut, limit: u64);
        /// Prepares for the first SYN or SYN-ACK, which is about to be sent.
        fn on_first_syn(&mut, tcb: &mut Tcb, kind: SynKind);
        /// Returns the time for the timestamp of a SYN-ACK.
        fn syn_ack_time(&, handshake: &Handshake, now: Instant) -> Instant;
        /// Handles a SYN that the peer repeats.
        fn on_repeated_syn(&mut, tcb: &mut Tcb, header: &TcpHeader) -> RepeatedSyn;
        /// Handles the retransmission of a SYN or SYN-ACK.
        fn on_syn_timeout(&mut, tcb: &mut Tcb, kind: SynKind, retransmits: u32);
        /// Handles a SYN-ACK that completes the handshake.
        fn on_syn_ack(&mut, tcb: &mut Tcb, header: &TcpHeader);
        /// Handles an acknowledgement that completes the handshake.
        fn on_handshake_ack(&mut, tcb: &mut Tcb, header: &TcpHeader);
        /// Sets the sizes of segments, windows and buffers for the transfer. `header` belongs to
        /// the segment that completes the handshake.
        fn init_transfer(&mut, tcb: &mut Tcb, header: &TcpHeader, handshake: &Handshake);
        /// Updates the state after a SYN-ACK has opened the connection.
        fn on_active_open(&mut, tcb: &mut Tcb, handshake: &Handshake);
        /// Updates the state after an acknowledgement of the SYN-ACK has opened the connection.
        fn on_passive_open(&mut, tcb: &mut Tcb);

        /// Starts to wake the application.
        fn wake(&mut, tcb: &mut Tcb);
        /// Lets the application read, without an event.
        #[inline(always)]
        fn read(&mut, tcb: &mut Tcb);
        /// Handles the wakeup of the application.
        fn on_awake(&mut, tcb: &mut Tcb);
        /// Sends a delayed acknowledgement that is due.
        fn on_delayed_ack_timer(&mut, tcb: &mut Tcb);
        /// Sends a compressed acknowledgement that is due.
        fn on_compressed_ack_timer(&mut, tcb: &mut Tcb);
        /// Sends the segments whose departure is due.
        fn on_pacing_timer(&mut, tcb: &mut Tcb);
        /// Handles the expiry of the transmission timer.
        fn on_xmit_timer(&mut, tcb: &mut Tcb, purpose: XmitTimer);

        /// Returns the number of payload bytes estimated to be in the network.
        fn flight_bytes(&, tcb: &Tcb) -> u64;
        /// Returns the name of the state of loss recovery.
        fn recovery_name(&) -> &'static str;
    }
}
